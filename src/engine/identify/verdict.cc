// SPDX-License-Identifier: Apache-2.0
// The verdict table, the facts that it is asked with, and the verdict that comes of them.
#include "engine/identify/verdict.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict_text.h"

namespace sickbay::identify {
namespace {

using enum Confidence;
constexpr bool kFinal = true, kOpen = false, kWaits = true;
// A run that lost a node has failed, too.  Rows that rest on V's word alone do not ask which it was.
constexpr std::uint8_t kFailDown = a_fail | a_down;
constexpr std::uint8_t kEnded = a_ok | a_fail | a_down | a_none;

// The order is part of the table.  Rows with a sure answer stand above those that fit the same facts with
// less; a row that is open stands above the final row that it turns into.
//
// rule   A1         C1         A2         C2         A3        C3       cause                   blame
// confidence
constexpr auto kRows = std::to_array<Row>({
    // Paper 000, 2.4, items 1 and 2.  V2 does not wait for A2: nodes on which V fails are at fault, whatever
    // P
    // does elsewhere.
    {"V1", a_ok, c_any, a_any, c_any, a_any, c_any, Cause::normal, Blame::nobody, high, kFinal,
     "the job completed"},
    {"V2", kFailDown, c_failed, a_any, c_any, a_any, c_any, Cause::node, Blame::s1, high, kFinal,
     "the known-good program fails on these nodes too"},
    // A node that is down convicts itself, but only A2 shows that P was not what took it down (decisions.md
    // 22).
    {"V3", a_down, c_any, a_ok, c_any, a_any, c_any, Cause::node, Blame::down1, high, kFinal,
     "the node went down during the run, and the same program completed on other nodes"},
    {"V4", a_down, c_any, a_down, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, medium, kFinal,
     "nodes went down in two runs on different nodes: the program may be what takes them down",
     Lack::safe_place},
    {"V5", a_down, c_any, a_open, c_any, a_any, c_any, Cause::node, Blame::down1, medium, kOpen,
     "the node went down during the run; the program is being run on other nodes to confirm"},
    // Item 3, its good half.
    {"V6", a_fail, c_ok, a_fail, c_ok, a_any, c_any, Cause::program, Blame::nobody, high, kFinal,
     "it fails on two sets of nodes on which the known-good program passes"},
    // Its bad half: the paper blames S2.  That leaves A1 unexplained, so a third run decides (V7, else V8).
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
    // The paper has no unknown C.  One set that V acquits or convicts is enough to say something, with less
    // confidence; these rows do not wait for V to be tried again.
    {"V9", a_fail, c_ok, kFailDown, c_unknown, a_any, c_any, Cause::program, Blame::nobody, medium, kFinal,
     "it fails on nodes on which the known-good program passes, and on others that could not be verified"},
    {"V10", kFailDown, c_unknown, a_fail, c_ok, a_any, c_any, Cause::program, Blame::nobody, medium, kFinal,
     "it fails on nodes on which the known-good program passes; the nodes of the first run could not be "
     "acquitted"},
    {"V11", kFailDown, c_unknown, kFailDown, c_failed, a_any, c_any, Cause::node, Blame::s2, medium, kFinal,
     "the known-good program fails on the nodes of the second run; those of the first could not be verified"},
    // Item 4.
    {"V12", a_fail, c_ok, a_ok, c_any, a_any, c_any, Cause::non_deterministic, Blame::nobody, high, kFinal,
     "it failed once and completed once, and the known-good program passes on the nodes where it failed"},
    // Without a word on S1 nothing can be told apart.  V may only have found no room, so they wait for it.
    {"V13", kFailDown, c_unknown, kEnded, c_unknown | c_ok, a_any, c_any, Cause::inconclusive, Blame::nobody,
     low, kFinal, "the nodes of the failed run could not be verified", Lack::verification, kWaits},
    {"V15", kFailDown, c_unknown, a_ok | a_none, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, low,
     kFinal, "the nodes of the failed run could not be verified", Lack::verification, kWaits},
    {"V14", a_fail, c_ok, a_none, c_any, a_any, c_any, Cause::inconclusive, Blame::nobody, medium, kFinal,
     "the nodes of the failed run are acquitted, but the program could not be run a second time",
     Lack::second_run},
});

// Where the script never began, a second run that did says little: it wrote to another place.  The cause may
// be the folder (the user's) or a node that has lost its shared storage; V, which uses neither, cannot tell.
// These two stand beside the table: they take the place of a row that would say too much.
constexpr Row never_began_row(std::string_view why) {
  return {.rule = "V16",
          .a1 = a_any,
          .c1 = c_any,
          .a2 = a_any,
          .c2 = c_any,
          .a3 = a_any,
          .c3 = c_any,
          .cause = Cause::inconclusive,
          .blame = Blame::nobody,
          .confidence = medium,
          .final = kFinal,
          .why = why,
          .lack = Lack::output_place};
}
constexpr Row kNeverBegan =
    never_began_row("the failed run never began, and the second one, with its output elsewhere, did");
constexpr Row kNothingBegan =
    never_began_row("neither the failed run nor one with its output elsewhere began");

A outcome_column(const Run* run) {
  if (run == nullptr) return a_open;
  switch (run->outcome) {
    case Outcome::ok:
      return a_ok;
    case Outcome::failed:
      // A re-run's output goes to a folder of ours: where it never began the node is at fault, and nothing
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
// Nodes that went down are among them: V was not run there, and they need no other witness.
std::vector<std::string> guilty_nodes(const Case& subject, int n) {
  std::vector<std::string> names;
  const Run* p = subject.program(n);
  if (const Run* v = subject.check_of(n))
    for (const NodeResult& r : v->results)
      if (r.peer.empty() && (r.result == "failed" || (p && time_matters(*p) && r.result == "slow")))
        names.push_back(r.node);
  if (p) names.insert(names.end(), p->down_nodes.begin(), p->down_nodes.end());
  return sorted_hosts(std::move(names));
}

// A link is no node: neither of its two ends is blamed for it, and none is drained.
std::vector<std::string> guilty_links(const Case& subject, int n) {
  std::vector<std::string> links;
  if (const Run* v = subject.check_of(n))
    for (const NodeResult& r : v->results)
      if (!r.peer.empty() && r.result != "ok" && r.result != "unknown")
        links.push_back(r.node + " - " + r.peer);
  return links;
}

// The row of the table, or one that says less where the first run never began.
const Row* fitting_row(const Case& subject, const Facts& facts) {
  const Row* row = row_for(facts);
  if (row == nullptr || !subject.programs.front().never_began()) return row;
  // "Fails once, completes once" would be true of any job with a missing folder.
  if (row->cause == Cause::non_deterministic) return &kNeverBegan;
  const Run* r2 = subject.program(2);
  const bool again = r2 && r2->never_began();
  return row->final && row->cause == Cause::inconclusive && again ? &kNothingBegan : row;
}

// Nodes of the first run on which the second ran again.  It may use all that it was given back; Slurm chooses
// which of them it does use.  Nothing where it gave no outcome, for then it weighs nothing.
std::vector<std::string> used_again(const Case& subject) {
  const Run* r2 = subject.program(2);
  if (r2 == nullptr || (r2->outcome != Outcome::ok && r2->outcome != Outcome::failed)) return {};
  return hosts_in_both(r2->reused, r2->nodes);
}

}  // namespace

const Row* row_for(const Facts& f) {
  for (const Row& row : kRows)
    if ((row.a1 & f.a1) && (row.c1 & f.c1) && (row.a2 & f.a2) && (row.c2 & f.c2) && (row.a3 & f.a3) &&
        (row.c3 & f.c3))
      return &row;
  return nullptr;
}

bool time_matters(const Run& program) {
  return program.symptom == Symptom::stall || program.symptom == Symptom::abnormal_time;
}

bool tries_again(const Known& known, const Case& subject, const Run& run) {
  // Lost, preempted, or on a node that could not begin it: the same order may well succeed.  The first run is
  // the user's, and never begins anew by our hand.
  if (run.outcome == Outcome::lost || run.outcome == Outcome::no_failure ||
      (run.id.n > 1 && run.never_began()))
    return run.attempt < known.policy.submit_attempts;
  if (!run.refused_its_nodes() || run.attempt >= known.policy.submit_attempts) return false;
  // Worth it only where the next list gives back a node that this one kept away.
  const Placement relaxed = place_rerun(known, subject, run.id.n, true);
  return !hosts_without(run.excluded, relaxed.exclude).empty();
}

bool verifies_again(const Policy& policy, const Case& subject, const Run& v) {
  if (!ended(v.outcome) || v.attempt >= policy.verification_attempts) return false;
  // Nobody asks about the nodes of a re-run that completed.  Those of the first run matter in any case.
  if (const Run* p = subject.program(v.checks); p && v.checks > 1 && p->outcome == Outcome::ok) return false;
  // One that ran has its answer in its output: not before that was read.
  const bool ran =
      v.outcome != Outcome::not_started && v.outcome != Outcome::lost && v.outcome != Outcome::cancelled;
  if (ran && !v.output_read) return false;
  return std::none_of(v.results.begin(), v.results.end(),
                      [](const NodeResult& r) { return r.result != "unknown"; });
}

Facts facts_of(const Known& known, const Case& subject) {
  Facts f;
  f.a1 = outcome_column(subject.program(1));
  f.c1 = check_column(check_of(known, subject, 1));
  // A run that will never be is "none", not "open": else its case would stay open for good.
  f.a2 = subject.options.rerun ? outcome_column(subject.program(2)) : a_none;
  f.c2 = check_column(check_of(known, subject, 2));
  f.a3 = known.policy.max_reruns >= 2 ? outcome_column(subject.program(3)) : a_none;
  f.c3 = check_column(check_of(known, subject, 3));
  // No answer is final only when there is no other attempt.
  for (auto [n, column] : {std::pair(2, &f.a2), std::pair(3, &f.a3)})
    if (const Run* run = subject.program(n); *column == a_none && run && tries_again(known, subject, *run))
      *column = a_open;
  // V cannot speak for a node that is down: what it says of the others does not acquit the set.
  if (f.a1 == a_down && f.c1 == c_ok) f.c1 = c_unknown;
  // A node that went down under the second run convicts itself as V would (the paper's C2).
  if (f.a2 == a_down && f.a1 == a_fail) f.c2 = c_failed;
  return f;
}

std::optional<Verdict> judge(const Known& known, const Case& subject) {
  if (subject.programs.empty()) return std::nullopt;
  const Row* row = fitting_row(subject, facts_of(known, subject));
  if (row == nullptr) return std::nullopt;
  const bool may_hear_more =
      row->waits_for_verification &&
      std::any_of(subject.verifications.begin(), subject.verifications.end(),
                  [&](const Run& run) { return verifies_again(known.policy, subject, run); });
  Verdict v;
  v.cause = row->cause;
  v.rule = row->rule;
  v.final = row->final && !may_hear_more;
  v.confidence = row->confidence;
  v.at = known.now;
  Told told;
  if (row->blame == Blame::s1 || row->blame == Blame::s2) {
    const int n = row->blame == Blame::s1 ? 1 : 2;
    v.nodes = guilty_nodes(subject, n);
    told.links = guilty_links(subject, n);
  } else if (row->blame == Blame::down1) {
    v.nodes = sorted_hosts(subject.programs.front().down_nodes);
  }
  // The table supposes two sets of nodes that share none.  What they share was tried once, not twice; that a
  // job completed needs no second set.
  if (row->cause != Cause::normal) told.reused = used_again(subject);
  if (!told.reused.empty()) {
    v.confidence = lower(v.confidence);
    if (told.reused.size() >= subject.programs[1].nodes.size()) v.confidence = lower(v.confidence);
  }
  put_in_words(subject, *row, told, v);
  return v;
}

}  // namespace sickbay::identify
