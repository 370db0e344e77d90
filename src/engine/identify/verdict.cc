// SPDX-License-Identifier: Apache-2.0
// The verdict table and the words of a verdict.
#include "engine/identify/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/identify/placement.h"

namespace sickbay::identify {
namespace {

using enum Confidence;
constexpr bool kFinal = true, kOpen = false;
constexpr std::uint8_t kFailDown = a_fail | a_down;
constexpr std::uint8_t kEnded = a_ok | a_fail | a_down | a_none;

// rule   A1         C1         A2         C2         A3        C3       cause                   blame
// confidence
constexpr auto kRows = std::to_array<Row>({
    {"V1", a_ok, c_any, a_any, c_any, a_any, c_any, Cause::normal, Blame::nobody, high, kFinal,
     "the job completed"},
    {"V2", kFailDown, c_failed, a_any, c_any, a_any, c_any, Cause::node, Blame::s1, high, kFinal,
     "the known-good program fails on these nodes too"},
    {"V3", a_down, c_any, a_ok, c_any, a_any, c_any, Cause::node, Blame::down1, high, kFinal,
     "the node went down during the run, and the same program completed on other nodes"},
    {"V4", a_down, c_any, a_down, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, medium, kFinal,
     "nodes went down in two runs on different nodes: the program may be what takes them down"},
    {"V5", a_down, c_any, a_open, c_any, a_any, c_any, Cause::node, Blame::down1, medium, kOpen,
     "the node went down during the run; the program is being run on other nodes to confirm"},
    {"V6", a_fail, c_ok, a_fail, c_ok, a_any, c_any, Cause::program, Blame::nobody, high, kFinal,
     "it fails on two sets of nodes on which the known-good program passes"},
    {"V7", a_fail, c_ok, kFailDown, c_failed, a_fail, c_ok, Cause::program, Blame::nobody, medium, kFinal,
     "it fails on two sets of nodes on which the known-good program passes; the nodes of the second run are "
     "faulty besides"},
    {"V7p", a_fail, c_ok, kFailDown, c_failed, a_open, c_any, Cause::node, Blame::s2, low, kOpen,
     "the nodes of the second run are faulty, those of the first are not: a third run decides"},
    {"V7q", a_fail, c_ok, kFailDown, c_failed, a_fail, c_open, Cause::node, Blame::s2, low, kOpen,
     "the nodes of the second run are faulty, those of the first are not: the third run's nodes are being "
     "verified"},
    {"V8", a_fail, c_ok, kFailDown, c_failed, a_any, c_any, Cause::node, Blame::s2, medium, kFinal,
     "the known-good program fails on the nodes of the second run"},
    {"V9", a_fail, c_ok, kFailDown, c_unknown, a_any, c_any, Cause::program, Blame::nobody, medium, kFinal,
     "it fails on nodes on which the known-good program passes, and on others that could not be verified"},
    {"V10", kFailDown, c_unknown, a_fail, c_ok, a_any, c_any, Cause::program, Blame::nobody, medium, kFinal,
     "it fails on nodes on which the known-good program passes; the nodes of the first run could not be "
     "acquitted"},
    {"V11", kFailDown, c_unknown, kFailDown, c_failed, a_any, c_any, Cause::node, Blame::s2, medium, kFinal,
     "the known-good program fails on the nodes of the second run; those of the first could not be verified"},
    {"V12", a_fail, c_ok, a_ok, c_any, a_any, c_any, Cause::non_deterministic, Blame::nobody, high, kFinal,
     "it failed once and completed once, and the known-good program passes on the nodes where it failed"},
    {"V13", kFailDown, c_unknown, kEnded, c_unknown | c_ok, a_any, c_any, Cause::inconclusive, Blame::nobody,
     low, kFinal, "the nodes of the failed run could not be verified"},
    {"V15", kFailDown, c_unknown, a_ok | a_none, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, low,
     kFinal, "the nodes of the failed run could not be verified"},
    {"V14", a_fail, c_ok, a_none, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, medium, kFinal,
     "the nodes of the failed run are acquitted, but the program could not be run a second time"},
});

// Where the script never began, a second run that did says little: it wrote to another place.  The cause may
// be the folder (the user's) or a node that has lost its shared storage; V, which uses neither, cannot tell.
constexpr Row kNeverBegan{
    "V16",         a_any,
    c_any,         a_any,
    c_any,         a_any,
    c_any,         Cause::inconclusive,
    Blame::nobody, medium,
    kFinal,        "the failed run never began, and the second one, with its output elsewhere, did"};
constexpr Row kNothingBegan = [] {
  Row row = kNeverBegan;
  row.why = "neither the failed run nor one with its output elsewhere began";
  return row;
}();

A outcome_column(const Run* run) {
  if (run == nullptr) return a_open;
  switch (run->outcome) {
    case Outcome::ok:
      return a_ok;
    case Outcome::failed:
      // A re-run writes to a folder of ours: where that cannot be opened the node is at fault, and nothing
      // was run.
      if (run->id.n > 1 && run->never_began()) return a_none;
      return run->down_nodes.empty() ? a_fail : a_down;
    case Outcome::pending:
    case Outcome::running:
    case Outcome::checking:
      return a_open;
    default:
      return a_none;
  }
}

C check_column(Check check) {
  switch (check) {
    case Check::ok:
      return c_ok;
    case Check::failed:
      return c_failed;
    case Check::unknown:
      return c_unknown;
    default:
      return c_open;
  }
}

Confidence lower(Confidence c) { return c == high ? medium : low; }

// Nodes of S(n) that V convicts: those it failed on, and, where time is the symptom, those it found slow.
std::vector<std::string> guilty_nodes(const Case& subject, int n) {
  std::vector<std::string> names;
  const Run* p = subject.program(n);
  const Run* v = subject.check_of(n);
  const bool time_matters = p && (p->symptom == Symptom::stall || p->symptom == Symptom::abnormal_time);
  if (v)
    for (const NodeResult& r : v->results)
      if (r.peer.empty() && (r.result == "failed" || (time_matters && r.result == "slow")))
        names.push_back(r.node);
  if (p) names.insert(names.end(), p->down_nodes.begin(), p->down_nodes.end());
  return sorted_hosts(std::move(names));
}

std::vector<std::string> guilty_links(const Case& subject, int n) {
  std::vector<std::string> links;
  if (const Run* v = subject.check_of(n))
    for (const NodeResult& r : v->results)
      if (!r.peer.empty() && r.result != "ok" && r.result != "unknown")
        links.push_back(r.node + " - " + r.peer);
  return links;
}

std::string plural(std::size_t n, std::string_view word) {
  return fmt::format("{}{}", word, n == 1 ? "" : "s");
}

std::string symptom_words(const Run& run) {
  std::string first;  // what the output says of how it began
  if (run.trace && !run.trace->signal_name.empty())
    first = fmt::format("died of {}{}", run.trace->signal_name,
                        run.trace->node.empty() ? "" : " on " + run.trace->node);
  const std::string then = first.empty() ? "" : first + ", then ";
  switch (run.symptom) {
    case Symptom::node_dead:
      return fmt::format("lost {} {}", plural(run.down_nodes.size(), "node"),
                         compress_hostlist(run.down_nodes));
    case Symptom::stall:
      return then + "ran into its time limit";
    case Symptom::abnormal_time:
      return then + "took longer than expected";
    case Symptom::wrong_result:
      return then + "gave a wrong result";
    default:
      break;
  }
  if (!first.empty()) return first;
  if (run.never_began()) return "never began: the node could not open its output (exit code 0:53)";
  if (run.job.exit_signal != 0) return fmt::format("was killed by signal {}", run.job.exit_signal);
  return fmt::format("ended as {} with exit code {}", run.job.state, run.job.exit_code);
}

// A run that did nothing but use up its time may have been a good one with too short a limit.
bool limit_may_be_short(const Run& run) {
  return run.symptom == Symptom::stall && (!run.trace || run.trace->signal_name.empty());
}

void add_run_lines(const Case& subject, std::vector<std::string>& why) {
  for (const Run& run : subject.programs) {
    if (!ended(run.outcome)) continue;
    const std::string on = run.nodes.empty() ? "" : " on " + compress_hostlist(run.nodes);
    if (run.outcome == Outcome::ok)
      why.push_back(fmt::format("{} completed{}", run.id.text(), on));
    else if (run.outcome == Outcome::failed)
      why.push_back(fmt::format("{}{} {}", run.id.text(), on, symptom_words(run)));
    else
      why.push_back(fmt::format("{} gives no answer: {}{}", run.id.text(), to_string(run.outcome),
                                run.refusal.empty() ? "" : " (" + run.refusal + ")"));
  }
  for (const Run& run : subject.verifications) {
    if (!ended(run.outcome)) continue;
    std::vector<std::string> passed;
    for (const NodeResult& r : run.results) {
      if (r.result == "ok" && r.peer.empty())
        passed.push_back(r.node);
      else if (r.result != "ok")
        why.push_back(fmt::format("{} finds {}{} {}: {}", run.id.text(), r.node,
                                  r.peer.empty() ? "" : " - " + r.peer, r.result, r.reason));
    }
    if (!passed.empty())
      why.push_back(fmt::format("{} passed on {}", run.id.text(), compress_hostlist(passed)));
    if (run.results.empty())
      why.push_back(fmt::format("{} gives no answer: {}", run.id.text(),
                                run.refusal.empty() ? std::string(to_string(run.outcome)) : run.refusal));
  }
}

std::string sentence_for(const Case& subject, const Row& row, const std::vector<std::string>& nodes,
                         const std::vector<std::string>& links) {
  const Run& first = subject.programs.front();
  const std::string names = compress_hostlist(nodes);
  switch (row.cause) {
    case Cause::normal:
      return "The job completed; nothing to explain.";
    case Cause::program:
      return limit_may_be_short(first)
                 ? "The program or its input is the cause, or a time limit that is too short: it runs into "
                   "the limit on good nodes each time."
                 : "The program or its input is the cause: it fails on good nodes each time.";
    case Cause::node:
      if (!row.final && row.blame == Blame::down1)
        return fmt::format("{} {} down; confirming on other nodes.", names, nodes.size() == 1 ? "is" : "are");
      if (nodes.empty() && !links.empty())
        return fmt::format("The network between {} is the cause.", fmt::join(links, ", "));
      return row.final
                 ? fmt::format("{} {} {} the cause, not the program.", nodes.size() == 1 ? "Node" : "Nodes",
                               names, nodes.size() == 1 ? "is" : "are")
                 : fmt::format("{} {} faulty; a third run will tell whether the program is too.", names,
                               nodes.size() == 1 ? "is" : "are");
    case Cause::non_deterministic:
      return "The failure does not repeat: program and nodes both remain possible.";
    default:
      break;
  }
  if (row.rule == kNeverBegan.rule)
    return "Not decided: the job never began, since its node could not open its output.";
  return row.rule == "V4"
             ? "Not decided: two runs took different nodes down, so the program itself is suspected."
             : "Not decided: the experiment could not be completed.";
}

void add_advice(const Case& subject, const Row& row, Verdict& v) {
  const Run& first = subject.programs.front();
  switch (row.cause) {
    case Cause::program:
      if (!first.output_dir.empty() || !first.job.std_out.empty())
        v.next.push_back("look at the last output lines above and at " +
                         (first.job.std_err.empty() ? first.job.std_out : first.job.std_err));
      if (limit_may_be_short(first))
        v.next.push_back("if the program was still making progress, submit it with a longer --time");
      break;
    case Cause::node:
      if (!v.nodes.empty()) {
        v.next.push_back("submit again with --exclude=" + compress_hostlist(v.nodes));
        v.next.push_back("operators: sickbay nodes " + compress_hostlist(v.nodes));
      }
      break;
    case Cause::non_deterministic:
      v.missing.push_back(
          "more runs on chosen sets of nodes, to tell a program that fails now and then from a node that "
          "does");
      v.next.push_back("submit again; compare the nodes of failed and good runs (sickbay cases --all)");
      break;
    case Cause::inconclusive: {
      if (row.rule == "V4") {
        v.missing.push_back("a run under observation on a node set aside for it");
        v.next.push_back("talk to the operators before running it again: it has taken nodes down twice");
        break;
      }
      if (row.rule == kNeverBegan.rule) {
        v.missing.push_back("whether the folder of " + first.job.std_out + " is there on " +
                            compress_hostlist(first.nodes));
        v.next.push_back("check that the folder exists and that you may write to it (--chdir, --output)");
        v.next.push_back("operators: check the shared file systems of " + compress_hostlist(first.nodes));
        break;
      }
      const Run* v1 = subject.check_of(1);
      const Run* r2 = subject.program(2);
      if (v1 == nullptr || v1->results.empty() || row.rule != "V14")
        v.missing.push_back("a verification of " + compress_hostlist(first.nodes) +
                            (v1 && !v1->refusal.empty() ? " (" + v1->refusal + ")" : ""));
      if (!subject.options.rerun)
        v.missing.push_back("a second run of the program (--no-rerun was given)");
      else if (r2 && r2->outcome != Outcome::ok && r2->outcome != Outcome::failed)
        v.missing.push_back("a second run of the program" +
                            (r2->refusal.empty() ? "" : " (" + r2->refusal + ")"));
      v.next.push_back(
          "submit the job again when the nodes are free, or ask an operator to run: sickbay verify " +
          compress_hostlist(first.nodes));
      break;
    }
    default:
      break;
  }
}

}  // namespace

const Row* row_for(const Facts& f) {
  for (const Row& row : kRows)
    if ((row.a1 & f.a1) && (row.c1 & f.c1) && (row.a2 & f.a2) && (row.c2 & f.c2) && (row.a3 & f.a3) &&
        (row.c3 & f.c3))
      return &row;
  return nullptr;
}

bool tries_again(const State& state, const Policy& policy, const Case& subject, const Run& run,
                 TimePoint now) {
  if (run.outcome == Outcome::lost || run.outcome == Outcome::no_failure ||
      (run.id.n > 1 && run.never_began()))
    return run.attempt < policy.submit_attempts;
  if (!run.refused_its_nodes() || run.attempt >= policy.submit_attempts) return false;
  // Worth it only where the next list gives back a node that this one kept away.
  const Placement relaxed = place_rerun(state, policy, subject, run.id.n, true, now);
  return !hosts_without(run.excluded, relaxed.exclude).empty();
}

Facts facts_of(const State& state, const Policy& policy, const Case& subject, TimePoint now) {
  Facts f;
  f.a1 = outcome_column(subject.program(1));
  f.c1 = check_column(check_of(state, policy, subject, 1, now));
  f.a2 = subject.options.rerun ? outcome_column(subject.program(2)) : a_none;
  f.c2 = check_column(check_of(state, policy, subject, 2, now));
  f.a3 = policy.max_reruns >= 2 ? outcome_column(subject.program(3)) : a_none;
  f.c3 = check_column(check_of(state, policy, subject, 3, now));
  for (auto [n, column] : {std::pair(2, &f.a2), std::pair(3, &f.a3)})
    if (const Run* run = subject.program(n);
        *column == a_none && run && tries_again(state, policy, subject, *run, now))
      *column = a_open;
  // V cannot speak for a node that is down: what it says of the others does not acquit the set.
  if (f.a1 == a_down && f.c1 == c_ok) f.c1 = c_unknown;
  // A node that went down under the second run convicts itself as V would (the paper's C2).
  if (f.a2 == a_down && f.a1 == a_fail) f.c2 = c_failed;
  return f;
}

std::optional<Verdict> judge(const State& state, const Policy& policy, const Case& subject, TimePoint now) {
  if (subject.programs.empty()) return std::nullopt;
  const Facts facts = facts_of(state, policy, subject, now);
  const Row* row = row_for(facts);
  if (row == nullptr) return std::nullopt;
  if (subject.programs.front().never_began()) {
    const Run* r2 = subject.program(2);
    if (row->cause == Cause::non_deterministic)
      row = &kNeverBegan;
    else if (row->final && row->cause == Cause::inconclusive && r2 && r2->never_began())
      row = &kNothingBegan;
  }
  Verdict v;
  v.cause = row->cause;
  v.rule = row->rule;
  v.final = row->final;
  v.confidence = row->confidence;
  v.at = now;
  std::vector<std::string> links;
  if (row->blame == Blame::s1 || row->blame == Blame::s2) {
    const int n = row->blame == Blame::s1 ? 1 : 2;
    v.nodes = guilty_nodes(subject, n);
    links = guilty_links(subject, n);
  } else if (row->blame == Blame::down1) {
    v.nodes = sorted_hosts(subject.programs.front().down_nodes);
  }
  v.sentence = sentence_for(subject, *row, v.nodes, links);
  if (row->cause != Cause::normal) {
    v.why.push_back(std::string(row->why));
    add_run_lines(subject, v.why);
  }
  const Run* r2 = subject.program(2);
  if (r2 && (r2->outcome == Outcome::ok || r2->outcome == Outcome::failed) && row->cause != Cause::normal) {
    // It may use these nodes again; Slurm chooses which of them it does use.
    const std::vector<std::string> reused = hosts_in_both(r2->reused, r2->nodes);
    if (!reused.empty()) {
      v.confidence = lower(reused.size() >= r2->nodes.size() ? lower(v.confidence) : v.confidence);
      v.why.push_back(
          fmt::format("too few other nodes: {} ran on {} of the first run again, which lowers the confidence",
                      r2->id.text(), compress_hostlist(reused)));
    }
  }
  add_advice(subject, *row, v);
  return v;
}

}  // namespace sickbay::identify
