// SPDX-License-Identifier: Apache-2.0
// The words of a case: one table per enumeration.
#include "engine/identify/case.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "model/rank_report.h"

namespace sickbay::identify {
namespace {

constexpr auto kOutcomes =
    std::to_array<std::string_view>({"pending", "running", "checking", "ok", "failed", "cancelled",
                                     "out_of_memory", "deadline", "no_failure", "lost", "not_started"});
constexpr auto kSymptoms = std::to_array<std::string_view>(
    {"", "node_dead", "abnormal_exit", "stall", "abnormal_time", "wrong_result", "steps_failed"});
// By Cause, in its order. "a" to "d" are the letters of doc/design/identify.md: program, nodes, and either
// of them now and then. They stand in journals, so they stay.
constexpr auto kCauses =
    std::to_array<std::string_view>({"", "normal", "a", "b", "non_deterministic", "inconclusive", "cancelled",
                                     "out_of_memory", "deadline", "expired", "mixed", "c", "d"});
constexpr auto kConfidences = std::to_array<std::string_view>({"low", "medium", "high"});
static_assert(kOutcomes.size() == static_cast<std::size_t>(Outcome::not_started) + 1);
static_assert(kSymptoms.size() == static_cast<std::size_t>(Symptom::steps_failed) + 1);
static_assert(kCauses.size() == static_cast<std::size_t>(Cause::sometimes_node) + 1);

template <class Enum, std::size_t N>
// A word of a newer version is the first of its enumeration, which says least.
Enum from_word(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return Enum{};
}

}  // namespace

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }
std::string_view to_string(Symptom symptom) { return kSymptoms[static_cast<std::size_t>(symptom)]; }
std::string_view to_string(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }
std::string_view to_string(Confidence confidence) {
  return kConfidences[static_cast<std::size_t>(confidence)];
}
Cause cause_from(std::string_view name) { return from_word<Cause>(kCauses, name); }

// (The order of Outcome: what still goes on stands first.)
bool ended(Outcome outcome) { return outcome > Outcome::checking; }
bool has_spoken(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::failed; }

std::vector<Run>& Case::runs(RunKind kind) {
  return kind == RunKind::program ? programs : kind == RunKind::verification ? verifications : result_checks;
}

Json Verdict::to_json() const {
  Json json = Json::object({{"cause", to_string(cause)},
                            {"final", final},
                            {"sentence", sentence},
                            {"nodes", nodes},
                            {"confidence", to_string(confidence)},
                            {"why", why},
                            {"missing", missing},
                            {"next", next},
                            {"rule", rule},
                            {"at", to_micros(at)}});
  if (!lost.empty()) json.set("lost", lost);
  if (!further.is_null()) json.set("further", further);
  if (!faulty) return json;
  Json list = Json::array();
  for (const Faulty& f : *faulty)
    list.push(Json::object({{"node", f.node},
                            {"peer", f.peer},
                            {"by", f.by},
                            {"what", f.what},
                            {"reason", f.reason},
                            {"drains", f.drains}}));
  return std::move(json.set("faulty", std::move(list)));
}

Verdict Verdict::from_json(const Json& json) {
  Verdict v;
  v.cause = cause_from(json["cause"].as_string());
  v.final = json["final"].as_bool();
  v.sentence = json["sentence"].as_string();
  v.nodes = json["nodes"].as_strings();
  v.confidence = from_word<Confidence>(kConfidences, json["confidence"].as_string());
  v.why = json["why"].as_strings();
  v.missing = json["missing"].as_strings();
  v.next = json["next"].as_strings();
  v.lost = json["lost"].as_strings();
  if (json.has("faulty")) {
    v.faulty.emplace();
    for (const Json& f : json["faulty"].items())
      v.faulty->push_back({f["node"].as_string(), f["peer"].as_string(), f["by"].as_string(),
                           f["what"].as_string(), f["reason"].as_string(), f["drains"].as_bool()});
  }
  v.further = json["further"];
  v.rule = json["rule"].as_string();
  v.at = from_micros(json["at"].as_int());
  return v;
}

int Run::tries() const {
  // One that we took out of the queue waited in vain, and costs no attempt.
  const bool counts = ended(outcome) && (job.start != kNoTime || !cancel_wanted);
  return spent + (counts ? 1 : 0);
}

std::vector<std::string> Run::never_began_on() const {
  return never_began() ? hosts_in_either(not_begun_on, nodes) : not_begun_on;
}

bool Run::hangs_at_its_end() const {
  if (!hangs()) return false;
  const auto& groups = hang["groups"].items();
  // Of ranks that are not shown nobody knows where they stand.
  if (hang["left_out"].as_int() > 0) return false;
  const auto in_finalize = [](const Json& group) { return group["call"].as_string() == "MPI_Finalize"; };
  const auto has_ended = [](const Json& group) {
    return group["standing"].as_string() == to_string(sickbay::Standing::ended);
  };
  return std::any_of(groups.begin(), groups.end(), in_finalize) &&
         std::all_of(groups.begin(), groups.end(),
                     [&](const Json& group) { return in_finalize(group) || has_ended(group); });
}

bool Run::was_taken() const {
  return outcome == Outcome::failed && symptom == Symptom::node_dead && down_nodes.empty() &&
         std::any_of(node_notes.begin(), node_notes.end(), [](const NodeNote& note) {
           return note.what == NodeNote::What::taken && note.while_it_ran;
         });
}

std::vector<std::string> Run::lost_nodes() const {
  // Slurm's "Node failure on n2" is a clue without a signal, and the heaviest.
  if (was_taken()) return {};
  if (down_nodes.empty() && symptom == Symptom::node_dead && trace && trace->signal == 0 &&
      has_host(nodes, trace->node))
    return {trace->node};
  return down_nodes;
}

const Run* Case::result_check_of(int n) const {
  for (auto it = result_checks.rbegin(); it != result_checks.rend(); ++it)
    if (it->checks == n) return &*it;
  return nullptr;
}

const Run* Case::check_of(int n) const {
  const Run* judged = program(n);
  for (auto it = verifications.rbegin(); it != verifications.rend(); ++it) {
    if (it->checks != n) continue;
    // One that is older than the run's last submission speaks of other nodes.
    return judged && it->wanted_at < judged->wanted_at ? nullptr : &*it;
  }
  return nullptr;
}

}  // namespace sickbay::identify
