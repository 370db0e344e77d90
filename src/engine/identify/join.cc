// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/identify/look.h"
#include "engine/identify/rerun.h"

namespace sickbay::identify {
namespace {

constexpr std::chrono::hours kStillHolds{24};  // a verdict of an experiment that is over
// How soon it looks again while an output is being read, which alone shows whether failures are alike.
constexpr std::chrono::seconds kReadSoon{2};

// Not when a file was written, but what is in it.
std::string inputs_text(const Json& inputs) {
  std::string text;
  for (const Json& one : inputs.items())
    text += one["path"].as_string() + "=" + one["digest"].as_string() + ";";
  return text;
}

// All that must be alike and is known when the job ends.  Empty: a case that shares nothing.
std::string kind_of_failure(const Case& c) {
  if (c.script_digest.empty() || c.programs.empty()) return "";
  const Run& first = c.programs.front();
  // A node that went down is evidence of its own.
  if (first.outcome != Outcome::failed || first.symptom == Symptom::node_dead) return "";
  // The number of nodes and not their names: alike failures are to be found on whatever nodes they were.
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", c.owner.uid, c.script_digest, first.nodes.size(),
                     first.job.partition, first.job.state, to_string(first.symptom), first.job.exit_code,
                     first.job.exit_signal, c.options.check, c.work_dir, inputs_text(c.inputs));
}

std::pair<TimePoint, std::int64_t> place_in_line(const Case& c) {
  return {c.programs.front().ended_at, c.no};
}

bool same_trace(const Run& a, const Run& b) {
  if (a.trace.has_value() != b.trace.has_value()) return false;
  return !a.trace || (a.trace->signal == b.trace->signal &&
                      without_numbers(a.trace->message) == without_numbers(b.trace->message));
}

// A blamed node may have been mended since: whatever failed there after that needs an experiment of its own.
bool blame_holds_for(const Known& known, const Case& leader, const Run& failed) {
  if (failed.ended_at > leader.closed) return false;
  return std::ranges::none_of(leader.verdict->nodes, [&](const std::string& name) {
    return known.record(name).passed_at > leader.closed;
  });
}

// Whether its own experiment answers, or may still answer, `follower`.
bool may_lead(const Known& known, const Case& c, const Case& follower) {
  // No chains: who follows another case leads nobody, so all follow the one that experiments.
  if (c.joined != 0 || c.cancel_requested || !c.programs.front().down_nodes.empty()) return false;
  if (c.programs.front().outcome != Outcome::failed) return false;
  if (!c.is_closed()) return true;
  if (!c.verdict || !c.verdict->final || known.now >= c.closed + kStillHolds) return false;
  if (c.verdict->cause == Cause::node) return blame_holds_for(known, c, follower.programs.front());
  // An experiment that told nothing may tell more today.
  return c.verdict->cause == Cause::program || c.verdict->cause == Cause::non_deterministic ||
         c.verdict->cause == Cause::sometimes_program;
}

std::string job_and_case(const Case& c) {
  return fmt::format("job {} ({})", c.programs.front().job.job_id, c.name());
}

// The follower's user wants another way to run again than the leader's experiment goes.  Where that has its
// second run, it has what he wants, unless he was asked himself.
bool wants_another_way(const Case& leader, const Case& c) {
  const RerunWay theirs = leader.reruns.way(), own = c.reruns.way();
  if (theirs == own) return false;
  if (c.reruns.answer) return own != RerunWay::never || theirs == RerunWay::ask;
  const bool stands_still = leader.reruns.asking || no_more_runs(leader) || theirs == RerunWay::ask;
  return leader.programs.size() == 1 && stands_still;
}

bool is_answer(Cause cause) {
  return cause == Cause::program || names_nodes(cause) || cause == Cause::non_deterministic ||
         cause == Cause::inconclusive || cause == Cause::sometimes_program;
}

std::string with_path(std::string text, const std::string& theirs, const std::string& own) {
  const auto at = theirs.empty() || own.empty() ? std::string::npos : text.find(theirs);
  return at == std::string::npos ? text : text.replace(at, theirs.size(), own);
}

}  // namespace

std::string without_numbers(std::string_view message) {
  std::string text;
  for (std::size_t i = 0; i < message.size();) {
    if (!is_digit(message[i])) {
      text += message[i++];
      continue;
    }
    const bool hex = message[i] == '0' && i + 1 < message.size() && to_lower(message[i + 1]) == 'x';
    if (hex) i += 2;
    while (i < message.size() && (hex ? is_hex_digit(message[i]) : is_digit(message[i]))) ++i;
    text += '#';
  }
  return text;
}

Leader leader_for(const Known& known, const Case& c) {
  // A run elsewhere that the user asked for is made in any case.
  const std::string kind = c.options.deliver ? "" : kind_of_failure(c);
  const auto alike = kind.empty() ? known.state.alike.end() : known.state.alike.find(kind);
  if (alike == known.state.alike.end()) return {};
  const Run& first = c.programs.front();
  if (!first.down_nodes.empty()) return {};
  Leader found;
  // By the time of their failures, so that all followers find the same leader.
  for (const auto& place : alike->second) {
    if (place >= place_in_line(c)) break;  // the older one leads
    const Case* other = case_of(known.state, place.second);
    if (other == nullptr || c.left.contains(other->no) || !may_lead(known, *other, c)) continue;
    // One that it would have to leave at once is not worth to be joined.
    if (!reason_to_leave(other, c).empty()) continue;
    // Slurm's end is the same; whether the message is, only both outputs together say.
    if (!first.output_read || !other->programs.front().output_read) {
      found.unknown_yet = true;
    } else if (same_trace(first, other->programs.front())) {
      found.leader = other;
      return found;
    }
  }
  return found;
}

std::string reason_to_leave(const Case* leader, const Case& c) {
  if (leader == nullptr) return "its case is no more";
  if (leader->joined != 0) return fmt::format("{} has joined another case itself", leader->name());
  if (const auto& down = c.programs.front().down_nodes; !down.empty())
    return fmt::format("{} went down under this job", compress_hostlist(down));
  const bool decided = leader->verdict && leader->verdict->final;
  if (!decided && leader->is_closed()) return leader->name() + " was closed without a verdict";
  if (!decided && wants_another_way(*leader, c))
    return fmt::format("{} is run again as --rerun={} says, and this job as --rerun={} does", leader->name(),
                       to_string(leader->reruns.way()), to_string(c.reruns.way()));
  if (!decided) return "";
  if (!is_answer(leader->verdict->cause))
    return fmt::format("{} ended as {}, without an answer", leader->name(),
                       to_string(leader->verdict->cause));
  if (names_nodes(leader->verdict->cause) &&
      hosts_in_both(sorted_hosts(leader->verdict->nodes), c.programs.front().nodes).empty())
    return fmt::format("{} blames {}, where this job did not run", leader->name(),
                       leader->verdict->nodes.empty() ? "a link" : compress_hostlist(leader->verdict->nodes));
  return "";
}

// The leader's verdict in the follower's words: its own nodes, its own files, and whose experiment it was.
Verdict shared_verdict(const Case& leader, const Case& c) {
  Verdict v;
  v.rule = kRuleJoin;
  const std::string whom = job_and_case(leader);
  v.why.push_back(
      fmt::format("the same failure as {}: the same script, arguments and inputs on as many nodes, the "
                  "same end and the same message; one experiment answers for both",
                  whom));
  if (!leader.verdict || !leader.verdict->final) {
    v.cause = Cause::inconclusive;
    v.confidence = Confidence::low;
    v.sentence =
        fmt::format("Not decided yet: it is the same failure as {}, which is being looked into.", whom);
    v.next.push_back("sickbay why " + leader.name() + " shows how far that is");
    return v;
  }
  const Verdict& theirs = *leader.verdict;
  v.final = true;
  v.cause = theirs.cause;
  v.confidence = theirs.confidence;
  v.sentence = fmt::format("The same failure as {}. {}", whom, theirs.sentence);
  if (names_nodes(v.cause)) v.nodes = hosts_in_both(sorted_hosts(theirs.nodes), c.programs.front().nodes);
  // Of a failure that no experiment explains each one more is a fact.
  if (v.cause == Cause::non_deterministic || v.cause == Cause::inconclusive)
    v.why.push_back(
        fmt::format("this is a further failure of that kind: {} so far", leader.followers.size() + 1));
  v.why.insert(v.why.end(), theirs.why.begin(), theirs.why.end());
  v.missing = theirs.missing;
  // Their output is another file than this job's.
  const JobInfo &own = c.programs.front().job, &other = leader.programs.front().job;
  for (const std::string& line : theirs.next)
    v.next.push_back(with_path(with_path(line, other.std_err, own.std_err), other.std_out, own.std_out));
  v.next.push_back("sickbay why " + leader.name() + " shows the runs that this rests on");
  return v;
}

Json shared_view(const Case& c) {
  if (c.joined == 0 && c.left.empty() && c.followers.empty()) return {};
  const auto names = [](const std::set<std::int64_t>& numbers) {
    std::vector<std::string> list;
    for (const std::int64_t no : numbers) list.push_back(case_name(no));
    return list;
  };
  return Json::object({{"joined", c.joined == 0 ? Json() : Json(case_name(c.joined))},
                       {"left", names(c.left)},
                       {"followers", names(c.followers)}});
}

std::set<std::int64_t> waiting_for(const State& state, const Event& event) {
  // Also what may part their ways.
  static constexpr auto kKinds = std::to_array<std::string_view>(
      {kVerdict, kCaseClosed, kArchived, kRerunAsked, kRerunAnswered, kRerunGivenUp});
  if (std::ranges::find(kKinds, event.kind) == kKinds.end()) return {};
  const auto no = parse_case_name(event.subject);
  const Case* leader = no ? case_of(state, *no) : nullptr;
  return leader ? leader->followers : std::set<std::int64_t>();
}

// --- steps

bool Look::shares_experiment() {
  const Run& first = c_.programs.front();
  if (first.outcome != Outcome::failed) return false;
  if (c_.joined != 0) return follow_leader();
  // One that has begun its own goes on with it.
  if (c_.programs.size() > 1 || !c_.verifications.empty()) return false;
  const Leader found = leader_for(known_, c_);
  if (found.leader != nullptr)
    record(kCaseJoined, Json::object({{"case", found.leader->name()},
                                      {"job_id", found.leader->programs.front().job.job_id}}));
  else if (found.unknown_yet)
    wake(known_.now + kReadSoon);
  return found.leader != nullptr || found.unknown_yet;
}

bool Look::follow_leader() {
  // What is final stays.
  if (c_.verdict && c_.verdict->final) {
    wind_up(*c_.verdict);
    return true;
  }
  const Case* leader = case_of(known_.state, c_.joined);
  if (const std::string why = reason_to_leave(leader, c_); !why.empty()) {
    record(kCaseLeft, Json::object({{"case", case_name(c_.joined)}, {"why", why}}));
    return true;
  }
  const Verdict verdict = shared_verdict(*leader, c_);
  say(verdict);
  if (verdict.final) wind_up(verdict);
  return true;
}

// --- apply

void note_failure(State& s, Case& c) {
  if (const std::string kind = kind_of_failure(c); !kind.empty()) s.alike[kind].insert(place_in_line(c));
}

void forget_failure(State& s, const Case& c) {
  if (const Case* leader = case_of(s, c.joined)) s.cases.at(leader->no).followers.erase(c.no);
  forget_kind(s, c);
}

void forget_kind(State& s, const Case& c) {
  const std::string kind = kind_of_failure(c);
  const auto it = kind.empty() ? s.alike.end() : s.alike.find(kind);
  if (it == s.alike.end()) return;
  it->second.erase(place_in_line(c));
  if (it->second.empty()) s.alike.erase(it);
}

void on_case_joined(State& s, Case* c, const Event& e) {
  const auto no = parse_case_name(e.body["case"].as_string());
  if (c == nullptr || !no || *no == c->no) return;
  c->joined = *no;
  if (const auto it = s.cases.find(*no); it != s.cases.end()) it->second.followers.insert(c->no);
}

void on_case_left(State& s, Case* c, const Event& e) {
  if (c == nullptr || c->joined == 0) return;
  if (const auto it = s.cases.find(c->joined); it != s.cases.end()) it->second.followers.erase(c->no);
  // Remembered, so that it does not join the same case again in the next round.
  c->left.insert(c->joined);
  // Its own experiment gets the whole time of a case, counted from here (Case::began_at).
  c->left_at = e.at;
  c->joined = 0;
  c->notes.push_back("did not stay with " + e.body["case"].as_string() + ": " + e.body["why"].as_string());
}

}  // namespace sickbay::identify
