// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "engine/identify/apply.h"
#include "engine/identify/explains.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// As long as V's word keeps re-runs away from a node (Policy::control_age's default): a fault that is found a
// day before or after a run may well have been there in it.
constexpr std::chrono::hours kShown{24}, kConvicts{24};
// A pass says that the node is well now.  The longer after the run, the less it says of the run: a reboot or
// an exchanged part may lie between.
constexpr std::chrono::hours kAcquits{1};
constexpr std::size_t kWordsOfANode = 4;

bool near(const Word& word, const Run& run) {
  if (run.job.start == kNoTime || word.began == kNoTime) return false;
  const TimePoint end = run.job.end == kNoTime ? run.job.start : run.job.end;
  return word.began > run.job.start - kShown && word.began < end + kShown;
}

void show(Case& subject, const Run& run, const std::string& node, const Word& word) {
  if (word.case_no == subject.no || word.result != "failed" || !near(word, run)) return;
  const bool known = std::any_of(subject.signs.begin(), subject.signs.end(), [&](const CaseSign& s) {
    return s.node == node && s.run == run.id && s.sign.source == word.run;
  });
  if (!known)
    subject.signs.push_back(
        {node, run.id, {word.run, "verification", "failed: " + word.reason, word.began, kNoTime}});
}

// V has found fault with a link of that node, or could not judge one.  The node may be what is wrong with it,
// so V's "ok" for the node by itself is no word to others.
bool has_bad_link(const Run& v, const std::string& node) {
  return std::any_of(v.results.begin(), v.results.end(), [&](const NodeResult& r) {
    return !r.peer.empty() && r.result != "ok" && (r.node == node || r.peer == node);
  });
}

// The V of `word` has left a word on each of `nodes`.  Links between them are judged by no two V's of one
// each.
bool covers(const State& state, const Word& word, const std::vector<std::string>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& name) {
    const auto words = state.words.find(name);
    return words != state.words.end() &&
           std::any_of(words->second.begin(), words->second.end(),
                       [&](const Word& other) { return other.run == word.run && other.began == word.began; });
  });
}

}  // namespace

namespace {

// `name`: of the run, to people.
void keep_words(State& state, const Case& subject, const Run& v, const std::string& name) {
  if (!v.is_verification() || v.job.start == kNoTime) return;
  for (const NodeResult& r : v.results) {
    // Not a link, which says nothing of one node; not "unknown"; not what was taken over from another case,
    // where the word stands already.
    if (!r.peer.empty() || r.result == "unknown" || !r.from.empty()) continue;
    if (r.result == "ok" && has_bad_link(v, r.node)) continue;
    auto& words = state.words[r.node];
    words.push_back({name, subject.no, v.job.start, v.alone, r.result, r.reason, r.fault});
    if (words.size() > kWordsOfANode) words.erase(words.begin());
    for (const std::int64_t no : state.open) {
      Case& other = state.cases.at(no);
      for (const Run& run : other.programs)
        if (std::find(run.nodes.begin(), run.nodes.end(), r.node) != run.nodes.end())
          show(other, run, r.node, words.back());
    }
  }
}

}  // namespace

void remember_words(State& state, const Case& subject, const Run& v) {
  keep_words(state, subject, v, v.id.text());
}

void on_verified(State& state, const Event& event) {
  Case none;
  Run v;
  v.id.kind = RunKind::verification;
  v.job.start = from_micros(event.body["began"].as_int());
  v.alone = event.body["alone"].as_bool(true);
  for (const Json& r : event.body["results"].items()) {
    v.results.push_back({r["node"].as_string(), r["peer"].as_string(), r["result"].as_string(),
                         r["reason"].as_string(), r["fault"].as_string()});
    const NodeResult& heard = v.results.back();
    if (r["figures"].is_object()) state.speeds.keep(r["kind"].as_string(), heard.node, r["figures"]);
    if (!heard.peer.empty()) continue;
    NodeRecord& node = state.records[heard.node];
    // A slow node did all its work rightly: V itself is sound.
    if (heard.result == "ok" || heard.result == "slow") node.passed_at = event.at;
    if (heard.result == "failed") node.failed_at = event.at, node.failed_case = 0;
  }
  keep_words(state, none, v, event.body["run"].as_string());
}

void gather_words(const State& state, Case& subject, const Run& run) {
  if (!run.is_program() || run.outcome != Outcome::failed) return;
  for (const std::string& node : run.nodes)
    if (const auto words = state.words.find(node); words != state.words.end())
      for (const Word& word : words->second) show(subject, run, node, word);
}

std::optional<Word> word_for(const State& state, const Case& subject, const Run& run, const std::string& node,
                             const std::vector<std::string>& asked) {
  const auto words = state.words.find(node);
  if (words == state.words.end() || run.job.end == kNoTime) return std::nullopt;
  const bool slow_counts = time_matters(run);
  // What V has found well since may have been repaired: an older failure convicts nobody any more.  (The
  // record knows of passes that left no word.)
  const auto record = state.records.find(node);
  bool well_since = record != state.records.end() && record->second.passed_at > record->second.failed_at;
  bool fast_since = false;
  for (auto word = words->second.rbegin(); word != words->second.rend(); ++word) {
    const bool mended = word->result == "slow" ? fast_since : well_since;
    well_since = well_since || word->result == "ok";
    fast_since = fast_since || (word->result == "ok" && word->alone);
    // Its own V is in the case already; one that began before the run's end saw the node before the failure.
    if (word->case_no == subject.no || word->began < run.job.end) continue;
    // One that shared its nodes cannot speak of speed, for or against.
    if (slow_counts && !word->alone) continue;
    const bool convicts = explains({node, "", word->result, word->reason, word->fault}, run);
    if (convicts && mended) continue;
    if (!convicts && !covers(state, *word, asked)) continue;
    if (word->began <= (convicts ? run.job.end + kConvicts : acquits_until(run))) return *word;
  }
  return std::nullopt;
}

TimePoint acquits_until(const Run& run) { return run.job.end + kAcquits; }

std::string asked_by_another(const State& state, const Case& subject, const Run& run,
                             const std::vector<std::string>& nodes, TimePoint now) {
  if (run.job.end == kNoTime) return "";
  for (const std::int64_t no : state.open) {
    if (no == subject.no) continue;
    for (const Run& v : state.cases.at(no).verifications) {
      // One that has ended and is not read yet answers in a moment.
      const bool unread = v.bound && ended(v.outcome) && v.job.start != kNoTime && !v.output_read;
      if (!(v.live() || unread) || v.cancel_wanted || (time_matters(run) && !v.alone)) continue;
      if (v.job.start != kNoTime && v.job.start < run.job.end) continue;
      // What begins too late to acquit would leave the case as it is, and the next one waiting in turn.
      if ((v.job.start != kNoTime ? v.job.start : now) > acquits_until(run)) continue;
      if (hosts_without(nodes, v.nodes).empty()) return v.id.text();
    }
  }
  return "";
}

void on_verified_elsewhere(State&, const cluster::View&, Case* c, const Event& e) {
  const auto id = parse_run_id(e.body["run"].as_string());
  if (c == nullptr || !id || id->kind != RunKind::verification) return;
  Run& run = put_run(*c, *id);
  run.checks = static_cast<int>(e.body["checks"].as_int());
  run.wanted_at = e.at;
  run.output_read = true;
  run.job.start = from_micros(e.body["began"].as_int());
  std::map<std::string, std::vector<std::string>> said;  // one note for all nodes of one word
  for (const Json& r : e.body["results"].items()) {
    NodeResult result{r["node"].as_string(),   "",
                      r["result"].as_string(), r["reason"].as_string(),
                      r["fault"].as_string(),  r["from"].as_string()};
    run.nodes.push_back(result.node);
    said[result.from + " found it " + result.result].push_back(result.node);
    run.results.push_back(std::move(result));
  }
  for (const auto& [words, nodes] : said)
    c->notes.push_back(
        fmt::format("{} was not verified once more: {} after the run", compress_hostlist(nodes), words));
  finish(run, Outcome::ok, e.at);
}

void note_reservation(Case& subject, const Run& v) {
  note_once(
      subject,
      fmt::format(
          "{} is in reservation {}: the verification may not run there ({}); operators: let its user use the "
          "reservation (scontrol update reservation={} users+=...)",
          compress_hostlist(v.nodes), v.job.reservation, v.refusal, v.job.reservation));
}

bool has_failed_step(const Run& run) {
  const JobInfo& job = run.job;
  if (job.step_exit_code == 0 && job.step_exit_signal == 0) return false;
  if (run.earlier.empty()) return true;
  const Incarnation& before = run.earlier.back();
  return job.step_exit_code != before.step_exit_code || job.step_exit_signal != before.step_exit_signal;
}

}  // namespace sickbay::identify
