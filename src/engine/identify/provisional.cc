// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/provisional.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/hostlist.h"
#include "engine/identify/evidence.h"
#include "engine/identify/failure_words.h"
#include "engine/identify/fingerprints.h"
#include "engine/identify/launch.h"
#include "engine/identify/rerun.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

constexpr std::string_view kRule = "P:";
constexpr int kFewFailures = 5;  // of fewer nothing is said: it would be no figure

// How far a run is.  What queues again and again without beginning stays where it is, so that it is told
// once.
enum class Progress : std::uint8_t { waits, runs, over };
constexpr std::string_view to_string(Progress stage) {
  return stage == Progress::waits ? "waits" : stage == Progress::runs ? "runs" : "over";
}
Progress progress_of(const Run* run) {
  if (run == nullptr) return Progress::waits;
  // One that was cancelled before it began is about to go again.
  if (ended(run->outcome)) return run->job.start == kNoTime ? Progress::waits : Progress::over;
  return run->outcome == Outcome::pending ? Progress::waits : Progress::runs;
}

// The two ways to an answer.
struct Ways {
  bool runs_again = false;
  Progress again = Progress::over, checks = Progress::waits;
};
Ways ways_of(const Case& c) {
  const bool runs_again = why_no_rerun(c).empty();
  return {runs_again, runs_again ? progress_of(c.program(2)) : Progress::over, progress_of(c.check_of(1))};
}

std::string since(const Known& known, TimePoint when) {
  if (when == kNoTime || known.now < when + std::chrono::seconds(1)) return "";
  return " since " + describe_duration(std::chrono::floor<std::chrono::seconds>(known.now - when));
}

std::string name_of(const Run& run) {
  return run.bound ? fmt::format("{} (job {})", run.id.text(), run.job.job_id) : run.id.text();
}

std::string on_nodes(const Run& run) {
  return run.nodes.empty() ? "" : " on " + compress_hostlist(run.nodes);
}

std::string waits_line(const Known& known, const Run& run) {
  // (One of ours is held while it is being submitted.)
  const bool ours = run.id.n > 1 || !run.is_program();
  if (const std::string held = hold_words(run); !held.empty() && (!ours || run.release_done))
    return fmt::format("{} waits: {}", name_of(run), held);
  std::string text =
      fmt::format("{} waits for {}{}", name_of(run),
                  run.is_verification() && !run.nodes.empty() ? compress_hostlist(run.nodes) : "free nodes",
                  since(known, run.released_at == kNoTime ? run.wanted_at : run.released_at));
  if (run.job.expected_start > known.now)
    text += fmt::format(
        "; Slurm expects to start it in {}",
        describe_duration(std::chrono::floor<std::chrono::seconds>(run.job.expected_start - known.now)));
  return text;
}

// Nothing for a run that is over: its result stands elsewhere.
void add_run(const Known& known, const Run& run, std::vector<std::string>& lines) {
  if (ended(run.outcome)) return;
  // Slurm requeues what lost a node, unless told not to: its owner would ask why it waits again.
  if (!run.earlier.empty() && !run.earlier.back().down_nodes.empty())
    lines.push_back(fmt::format("{} lost {}, and Slurm put it back into the queue", run.id.text(),
                                compress_hostlist(run.earlier.back().down_nodes)));
  if (run.outcome == Outcome::pending)
    lines.push_back(waits_line(known, run));
  else if (run.outcome == Outcome::checking)
    lines.push_back(run.id.text() + " completed; the --check of its result is under way");
  else
    lines.push_back(fmt::format("{} runs{}{}", name_of(run), on_nodes(run), since(known, run.job.start)));
}

// What stands against nodes of the failed run: each says of one node what a reader would ask about next.
void add_nodes(const Known& known, const Case& c, const Run& first, std::vector<std::string>& lines) {
  std::vector<std::string> down, drained, reserved;
  for (const std::string& name : first.nodes) {
    const cluster::Node* node = known.view.node(name);
    if (node == nullptr) continue;
    if (node->down)
      down.push_back(name);
    else if (node->drained)
      drained.push_back(name);
    else if (node->only_reserved() && first.job.reservation.empty())
      reserved.push_back(name);
  }
  const auto say = [&lines](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty())
      lines.push_back(
          fmt::format("{} {} {} now", compress_hostlist(names), names.size() == 1 ? "is" : "are", what));
  };
  say(down, "down");
  say(drained, "drained");
  say(reserved, "in a reservation that this job is not in");
  for (const Suspect& s : c.suspects)
    if (s.run == first.id)
      lines.push_back(fmt::format("{} did not answer Slurm during {}{}", s.node, s.run.text(),
                                  s.cleared_at == kNoTime ? "" : " for a while"));
  for (const CaseSign& s : c.signs)
    if (s.run == first.id)
      lines.push_back(fmt::format("{}: {} {}: {}", s.node, s.sign.source, s.sign.rule, s.sign.text));
}

// Failures look alike in what ended them.
std::string kind_of(const Run& run) {
  if (run.trace && !run.trace->signal_name.empty()) return run.trace->signal_name;
  // (Without its numbers: two failures of one kind differ in them.)
  if (says_why(run)) return normalised(run.trace->cause, run.nodes);
  if (run.symptom == Symptom::abnormal_exit && run.job.exit_signal == 0)
    return fmt::format("exit code {}", run.job.exit_code);
  return std::string(to_string(run.symptom));
}

// What cases of this cluster came to, counted and not guessed.
std::string experience(const Known& known, const Case& c) {
  const std::string kind = kind_of(c.programs.front());
  int all = 0, program = 0, node = 0;
  for (const auto& [no, other] : known.state.cases) {
    if (no == c.no || !other.verdict || !other.verdict->final || other.programs.empty()) continue;
    if (other.programs.front().outcome != Outcome::failed || kind_of(other.programs.front()) != kind)
      continue;
    ++all;
    const Cause cause = other.verdict->cause;
    program += cause == Cause::program || cause == Cause::sometimes_program;
    node += names_nodes(cause);
  }
  if (all < kFewFailures) return "";
  return fmt::format("of the last {} cases of this kind ({}) here, {} were the program's and {} a node's",
                     all, kind, program, node);
}

std::string second_run_line(const Case& c) {
  if (const std::string why = why_no_rerun(c); !why.empty())
    return fmt::format("the program is not run again: {}", why);
  const std::string wait = waits_for(c);
  return wait.empty() ? "the second run is about to be submitted" : "the second run waits for " + wait;
}

}  // namespace

bool is_provisional_rule(std::string_view rule) { return rule.starts_with(kRule); }

// The rule spells out how far the case is: say() compares rules, so a new answer is written when one of
// these has changed, and at no other time.
std::string provisional_rule(const Case& c) {
  const Ways ways = ways_of(c);
  // What stays once it is there: nodes that come and go shall not write an answer each time.
  const bool evidence = !c.suspects.empty() || !c.signs.empty() || !c.programs.front().down_nodes.empty();
  return fmt::format("{}r2 {},v1 {}{}{}", kRule, to_string(ways.again), to_string(ways.checks),
                     evidence ? ",evidence" : "", c.programs.front().output_read ? ",output" : "");
}

Verdict provisional_verdict(const Known& known, const Case& c) {
  const Run& first = c.programs.front();
  Verdict v;
  v.cause = Cause::inconclusive;
  v.confidence = Confidence::low;
  v.at = known.now;
  v.sentence = "The job failed; not decided yet whether the program or a node is the cause.";
  v.why.push_back(fmt::format("{}{} {}", first.id.text(), on_nodes(first), failure_words(first)));
  // Who says why it ended says more than who tells of the end; and then it has been said in the line before.
  if (first.trace && !first.trace->message.empty() && !first.trace->knows_cause())
    v.why.push_back("its output says: " + first.trace->message);
  add_nodes(known, c, first, v.why);
  if (std::string line = experience(known, c); !line.empty()) v.why.push_back(std::move(line));
  const Ways ways = ways_of(c);
  if (ways.runs_again)
    v.missing.push_back(
        fmt::format("a second run of the program, on other nodes ({})", to_string(ways.again)));
  v.missing.push_back(
      fmt::format("the verification of {} ({})", compress_hostlist(first.nodes), to_string(ways.checks)));
  v.rule = provisional_rule(c);
  return v;
}

// For each reader anew, and in no event: it hangs on the clock.  What runs, who is silent, what V waits for,
// what becomes of the second run, and until when.
std::vector<std::string> under_way(const Known& known, const Case& c) {
  std::vector<std::string> lines;
  if (c.array) return lines;  // its tasks are told one by one
  if (c.is_closed()) return {"the case is closed"};
  if (c.programs.empty()) return {"no job belongs to this case yet"};
  const Run& first = c.programs.front();
  for (const auto* runs : {&c.programs, &c.verifications, &c.result_checks})
    for (const Run& run : *runs) add_run(known, run, lines);
  for (const Suspect& s : c.suspects)
    if (s.cleared_at == kNoTime && !known.view.is_down(s.node))
      lines.push_back(fmt::format("{} does not answer Slurm{}", s.node, since(known, s.at)));
  if (first.outcome == Outcome::failed && !(c.verdict && c.verdict->final)) {
    std::vector<std::string> out;
    const std::vector<std::string> askable = nodes_to_verify(known, c, 1);
    for (const std::string& name : hosts_without(first.nodes, judged_nodes(c, 1)))
      if (!std::binary_search(askable.begin(), askable.end(), name)) out.push_back(name);
    if (!out.empty() && check_of(known, c, 1) != Check::failed)
      lines.push_back(fmt::format("{} {} out of service: verified when back", compress_hostlist(out),
                                  out.size() == 1 ? "is" : "are"));
    if (const std::string other = asked_by_another(known.state, c, first, askable, known.now);
        !askable.empty() && !c.check_of(1) && !other.empty())
      lines.push_back(fmt::format("{} verifies {} for another case: its answer counts here too", other,
                                  compress_hostlist(askable)));
    if (!c.program(2)) lines.push_back(second_run_line(c));
    lines.push_back(fmt::format("the best answer stands at the latest {} after the failure",
                                describe_duration(known.policy.case_limit)));
  }
  if (lines.empty()) lines.push_back("the last runs are being wound up");
  return lines;
}

}  // namespace sickbay::identify
