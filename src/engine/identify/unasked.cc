// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/unasked.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/result.h"

namespace sickbay::identify::unasked {
namespace {

using enum Confidence;

// The order is part of the table: what speaks against a node by itself stands first, then what acquits it.
constexpr auto kUnaskedRows = std::to_array<Row>({
    {"U1", e_lost, n_any, o_any, k_any, Cause::node, medium, "Slurm lost a node under it"},

    // --- a black hole: jobs of several users convict the node; that this job was one of them is likely.
    {"U2", e_any, n_hole, o_any, k_unknown | k_passes, Cause::node, medium,
     "its node is one on which whatever starts fails"},
    {"U3", e_any, n_hole, o_any, k_fails, Cause::inconclusive, low,
     "its node is one on which whatever starts fails, but jobs of its kind fail on other nodes, too"},

    // --- its output could not be opened: the folder may be missing as well as the storage.
    {"U4", e_never, n_finding, o_unknown | o_failed, k_unknown | k_passes, Cause::node, low,
     "it never began, and a fault was found on its node"},
    {"U5", e_never, n_nothing, o_failed, k_passes, Cause::node, low,
     "it never began; others' jobs failed on its nodes, too, and its own kind passes elsewhere"},
    {"U6", e_never, n_any, o_any, k_any, Cause::inconclusive, low,
     "it never began: its output could not be opened; the folder may be missing, or the node's storage"},

    // --- a finding on its node.
    {"U7", e_any, n_finding, o_unknown | o_failed, k_passes, Cause::node, low,
     "a fault was found on its node, and jobs of its kind pass on others"},
    {"U8", e_any, n_finding, o_failed, k_unknown, Cause::node, low,
     "a fault was found on its node, and others' jobs failed there, too"},
    {"U9", e_any, n_finding, o_any, k_fails, Cause::program, low,
     "jobs of its kind fail on other nodes as well; the fault found on its node need not be why"},
    {"U10", e_any, n_finding, o_any, k_any, Cause::inconclusive, low,
     "a fault was found on its node, and nothing says whether that is why it failed"},

    // --- nothing known against its nodes.
    {"U11", e_any, n_nothing, o_passed, k_fails, Cause::program, medium,
     "jobs of its kind fail on other nodes as well, and others' jobs passed on its own"},
    {"U12", e_any, n_nothing, o_unknown, k_fails, Cause::program, low,
     "jobs of its kind fail on other nodes as well"},
    {"U13", e_any, n_nothing, o_failed, k_fails, Cause::inconclusive, low,
     "jobs of its kind fail on other nodes, and others' jobs fail on its own: something that all need may be "
     "away"},
    {"U14", e_any, n_nothing, o_failed, k_passes, Cause::node, low,
     "others' jobs failed on its nodes, too, and jobs of its kind pass on other nodes"},
    {"U15", e_any, n_nothing, o_failed, k_unknown, Cause::inconclusive, low,
     "others' jobs failed on its nodes, too, but jobs of its kind ran nowhere else"},
    {"U16", e_crashed, n_nothing, o_any, k_any, Cause::program, low,
     "it died as programs die of their own faults, and nothing speaks against its nodes"},
    {"U17", e_exited, n_nothing, o_passed, k_unknown, Cause::program, low,
     "it ended with an exit code of its own, and others' jobs passed on its nodes"},
    {"U18", e_any, n_nothing, o_passed, k_passes, Cause::inconclusive, low,
     "jobs of its kind pass on other nodes, and others' jobs on its own: something was different this time"},
    {"U19", e_any, n_any, o_any, k_any, Cause::inconclusive, low, "nothing is known that could tell"},
});

// kNoOutput: Slurm's exit code 0:53, a signal that no program dies of (Run::never_began).
constexpr int kSegv = 11, kAbrt = 6, kFpe = 8, kIll = 4, kNoOutput = 53;
bool is_crash(int signal) { return signal == kSegv || signal == kAbrt || signal == kFpe || signal == kIll; }

// The signal that ended it: srun and shells tell one by an exit code of 128 and more.
int signal_of(const JobOutcome& job) {
  if (job.exit_signal != 0) return job.exit_signal;
  // Linux has signals 1 to 64.
  return job.exit_code > 128 && job.exit_code < 128 + 65 ? job.exit_code - 128 : 0;
}

std::vector<std::string> blamed(const Evidence& e, const Facts& facts) {
  std::vector<std::string> names;
  const auto add = [&](const auto& list) {
    for (const auto& [node, words] : list) names.push_back(node);
  };
  if (facts.end == e_lost)
    names = e.lost.empty() && e.job.nodes.size() == 1 ? e.job.nodes : e.lost;
  else if (facts.node == n_hole)
    add(e.holes);
  else if (facts.node == n_finding)
    add(e.findings);
  else if (e.job.nodes.size() == 1)  // of several nodes none is named by what others did on some of them
    names = e.job.nodes;
  return sorted_hosts(std::move(names));
}

std::string end_text(const JobOutcome& job) {
  std::string text = fmt::format("job {} ended as {}", job.job, job.state.empty() ? "FAILED" : job.state);
  if (job.exit_signal != 0)
    text += fmt::format(", signal {}", job.exit_signal);
  else if (job.exit_code != 0)
    text += fmt::format(", exit code {}", job.exit_code);
  text += fmt::format(", {} s after its start", job.lived.count());
  if (!job.nodes.empty()) text += " on " + compress_hostlist(job.nodes);
  return text;
}

std::string sentence_of(const Row& row, const std::vector<std::string>& nodes, const JobOutcome& job) {
  const std::string names = compress_hostlist(nodes);
  switch (row.cause) {
    case Cause::node:
      if (nodes.empty()) return "A node of the job seems to be the cause; which one is not known.";
      return fmt::format("Node{} {} seem{} to be the cause, not the program.", nodes.size() == 1 ? "" : "s",
                         names, nodes.size() == 1 ? "s" : "");
    case Cause::program:
      return "The program or its input seems to be the cause.";
    default:
      return fmt::format("Not decided: job {} was not tried again anywhere.", job.job);
  }
}

// What Slurm's own word explains.
struct Explained {
  std::string_view state;
  Cause cause;
  std::string_view sentence, next;
};
constexpr auto kExplained = std::to_array<Explained>({
    {"OUT_OF_MEMORY", Cause::out_of_memory, "The job used more memory than it was given.",
     "ask for more memory (--mem, --mem-per-cpu), or use more nodes"},
    {"DEADLINE", Cause::deadline, "The job could not end before its --deadline.", ""},
    {"TIMEOUT", Cause::inconclusive,
     "The job ran into its time limit: the program or its input, a limit that is too short, or a slow node.",
     "give it a longer limit (--time), or see what it was doing when it ended"},
});

}  // namespace

std::span<const Row> rows() { return kUnaskedRows; }

const Row& row_for(const Facts& facts) {
  const auto row = std::ranges::find_if(kUnaskedRows, [&](const Row& r) {
    return (r.end & facts.end) != 0 && (r.node & facts.node) != 0 && (r.others & facts.others) != 0 &&
           (r.kin & facts.kin) != 0;
  });
  SB_CHECK(row != kUnaskedRows.end(), "the last row fits all");
  return *row;
}

End end_of(const JobOutcome& job) {
  if (job.state == "NODE_FAIL" || job.state == "BOOT_FAIL") return e_lost;
  if (job.exit_code == 0 && job.exit_signal == kNoOutput) return e_never;
  const int signal = signal_of(job);
  if (is_crash(signal)) return e_crashed;
  return signal != 0 ? e_killed : e_exited;
}

Facts facts_of(const Evidence& e) {
  Facts facts;
  facts.end = end_of(e.job);
  facts.node = !e.holes.empty() ? n_hole : !e.findings.empty() ? n_finding : n_nothing;
  // One pass acquits: a node that does work well for others is not broken. Failures need two users, for
  // those of one may be his bug.
  facts.others = e.others_passed > 0 ? o_passed : e.others_failed_users >= 2 ? o_failed : o_unknown;
  facts.kin = e.kin_passed > 0 ? k_passes : e.kin_failed > 0 ? k_fails : k_unknown;
  return facts;
}

// No experiment stands behind it, so it is never of high confidence, and always says what is missing for
// more.
Verdict judge(const Evidence& e, TimePoint now) {
  Verdict v;
  v.final = true;
  v.at = now;
  // Empty, and not absent: nobody is drained by an answer that no experiment stands behind.
  v.faulty.emplace();
  v.why.push_back(end_text(e.job));
  // Slurm's own word comes first: of a job that ran out of memory no node is asked.
  const auto explained = std::ranges::find(kExplained, e.job.state, &Explained::state);
  if (explained != kExplained.end()) {
    v.cause = explained->cause;
    v.rule = "end";
    v.confidence = v.cause == Cause::inconclusive ? low : medium;
    v.sentence = explained->sentence;
    if (!explained->next.empty()) v.next.emplace_back(explained->next);
  } else {
    const Facts facts = facts_of(e);
    const Row& row = row_for(facts);
    v.cause = row.cause;
    v.rule = row.rule;
    v.confidence = row.confidence;
    if (row.cause == Cause::node) v.nodes = blamed(e, facts);
    v.sentence = sentence_of(row, v.nodes, e.job);
    v.why.insert(v.why.begin(), std::string(row.why));
  }
  for (const std::string& node : e.lost) v.why.push_back(fmt::format("{} is DOWN", node));
  for (const auto& [node, words] : e.holes) v.why.push_back(words);
  for (const auto& [node, words] : e.findings) v.why.push_back(fmt::format("on {}: {}", node, words));
  if (e.others_passed + e.others_failed > 0)
    v.why.push_back(fmt::format(
        "of jobs of other users that started on its nodes at the time {} passed and {} failed early",
        e.others_passed, e.others_failed));
  if (e.kin_passed + e.kin_failed > 0)
    v.why.push_back(fmt::format("on other nodes {} of its kind passed at the time, and {} failed",
                                counted(e.kin_passed, "job"), e.kin_failed));
  v.missing.emplace_back(
      "the program was not run again, and its nodes were not verified: the job was not submitted through "
      "Sickbay");
  v.next.emplace_back(
      "submit it with 'sickbay submit': if it fails again, it is run elsewhere and its nodes are verified");
  if (!v.nodes.empty()) v.next.push_back(fmt::format("meanwhile: --exclude={}", compress_hostlist(v.nodes)));
  return v;
}

}  // namespace sickbay::identify::unasked
