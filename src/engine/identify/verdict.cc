// SPDX-License-Identifier: Apache-2.0
// The facts that the verdict table is asked with, and the verdict that comes of its row.
#include "engine/identify/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/explains.h"
#include "engine/identify/fingerprints.h"
#include "engine/identify/launch.h"
#include "engine/identify/placement.h"
#include "engine/identify/rerun.h"
#include "engine/identify/starved.h"
#include "engine/identify/suspects.h"
#include "engine/identify/usual_time.h"
#include "engine/identify/verdict_text.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

A outcome_column(const Run* run) {
  if (run == nullptr) return a_open;
  switch (run->outcome) {
    case Outcome::ok:
      return a_ok;
    case Outcome::failed:
      // A re-run's output goes to a folder of ours: where it never began the node is at fault, and nothing
      // was run.  Nor does one say anything that a person ended.
      if (run->never_began()) return run->id.n > 1 ? a_none : a_never;
      if (run->was_taken()) return run->id.n > 1 ? a_none : a_taken;
      // Slurm's word that a node failed counts, also where nobody saw it DOWN.
      return run->down_nodes.empty() && run->symptom != Symptom::node_dead ? a_fail : a_down;
    case Outcome::pending:
    case Outcome::running:
    case Outcome::checking:
      return a_open;
    default:
      return a_none;
  }
}

// A re-run counts only where it was one of the same job (rerun.h).
A rerun_column(const Case& c, int n) {
  const Standing is = standing(c, n);
  return is == Standing::counts ? outcome_column(c.program(n)) : is == Standing::open ? a_open : a_none;
}

// Two runs are compared when what both left behind was read, or nobody will.
L likeness_column(const Run* a, const Run* b) {
  if (!a || !b || a->outcome != Outcome::failed || b->outcome != Outcome::failed) return l_open;
  if (!a->output_read || !b->output_read) return l_open;
  switch (likeness_of(*a, *b)) {
    case Likeness::same:
      return l_same;
    case Likeness::unclear:
      return l_unclear;
    default:
      return l_different;
  }
}

Confidence lower(Confidence c) { return c == Confidence::high ? Confidence::medium : Confidence::low; }

// What V convicts on the nodes of the first run that is the cause by this row.
std::vector<const NodeResult*> guilty_results(const Known& known, const Case& subject, Blame blame) {
  std::vector<const NodeResult*> results;
  // Where a lost node makes the row, V's word beside it may be one that convicts nobody: it passed nowhere.
  if (check_of(known, subject, 1) != Check::failed) return results;
  const Run* p = subject.program(1);
  const Run* v = subject.check_of(1);
  if (p && v)
    for (const NodeResult& r : v->results)
      if (blame == Blame::s1_full ? is_full(r) && concerns(r, *p) : explains(r, *p)) results.push_back(&r);
  return results;
}

// Nodes that are the cause: V was not run on those that went down, and they need no other witness.
std::vector<std::string> guilty_nodes(const Case& subject, const std::vector<const NodeResult*>& results) {
  std::vector<std::string> names = subject.programs.front().lost_nodes();
  for (const NodeResult* r : results)
    if (r->peer.empty()) names.push_back(r->node);
  return sorted_hosts(std::move(names));
}

// Nodes of earlier runs on which a re-run ran again.  It may use all that it was given back; Slurm chooses
// which of them it does use.  Nothing where it gave no outcome, for then it weighs nothing.
std::vector<std::string> used_again(const Run& run) {
  if (run.id.n == 1 || !has_spoken(run.outcome)) return {};
  return hosts_in_both(run.reused, run.nodes);
}

// V's word on the nodes of run `n`, or on the control node without which it convicts nobody, is under way.
bool word_may_come(const Case& subject, int n) {
  return std::any_of(subject.verifications.begin(), subject.verifications.end(), [&](const Run& v) {
    if (v.checks != n && v.checks != 0) return false;
    return !ended(v.outcome) || is_unread(v);
  });
}

// When the time of the case is over nothing is started any more: what is not under way will never be, and the
// best row that can do without it is the answer.
void close_columns(const Case& subject, Facts& f) {
  for (auto [n, column] : {std::pair(1, &f.c1), std::pair(2, &f.c2), std::pair(3, &f.c3)})
    if (*column == c_open && !word_may_come(subject, n)) *column = c_unknown;
  if (f.a2 == a_open && subject.program(2) == nullptr) f.a2 = a_none;
  if (f.a3 == a_open && subject.program(3) == nullptr) f.a3 = a_none;
}

}  // namespace

bool time_matters(const Run& program) {
  if (program.hangs_however_fast()) return false;
  return program.symptom == Symptom::stall || program.symptom == Symptom::abnormal_time;
}

bool tries_again(const Known& known, const Case& subject, const Run& run) {
  if (no_more_runs(subject)) return false;
  // Lost, preempted, taken off its node, or on one that could not begin it: the same order may well succeed.
  // The first run is the user's, and never begins anew by our hand.
  if (run.outcome == Outcome::lost || run.outcome == Outcome::no_failure ||
      (run.id.n > 1 && (run.never_began() || run.was_taken() || failed_to_launch(known, run))))
    return run.attempt < known.policy.submit_attempts;
  if (!run.refused_its_nodes() || run.refusals() > kMostRefusals) return false;
  // Worth it only where the next list gives back a node that this one kept away.
  const Placement relaxed = place_rerun(known, subject, run.id.n, run.refusals());
  return !hosts_without(run.excluded, relaxed.exclude).empty();
}

Facts facts_of(const Known& known, const Case& subject) {
  Facts f;
  f.a1 = outcome_column(subject.program(1));
  f.c1 = check_column(known, subject, 1);
  // A run that will never be is "none", not "open": else its case would stay open for good.
  f.a2 = rerun_column(subject, 2);
  f.c2 = check_column(known, subject, 2);
  f.a3 = known.policy.max_reruns >= 2 ? rerun_column(subject, 3) : a_none;
  f.c3 = check_column(known, subject, 3);
  f.l12 = likeness_column(subject.program(1), subject.program(2));
  f.l13 = likeness_column(subject.program(1), subject.program(3));
  f.l23 = likeness_column(subject.program(2), subject.program(3));
  // No answer is final only when there is no other attempt.
  const bool over = time_is_over(known, subject);
  for (auto [n, column] : {std::pair(2, &f.a2), std::pair(3, &f.a3)})
    if (const Run* run = subject.program(n);
        *column == a_none && run && !over && tries_again(known, subject, *run))
      *column = a_open;
  if (over) close_columns(subject, f);
  if (starved_cause(subject) != nullptr) f.starved = s_yes;
  if (starved_in_rerun(subject)) f.starved = s_rerun;
  // A node that went down under a re-run convicts itself as V would (the paper's C2).
  if (f.a2 == a_down) f.c2 = c_failed;
  if (f.a3 == a_down) f.c3 = c_failed;
  return f;
}

bool wants_third(const Known& known, const Case& subject) {
  if (known.policy.max_reruns < 2) return false;
  const Row* row = row_for(facts_of(known, subject));
  return row != nullptr && row->stage == Stage::third;
}

// The row gives cause, stage and a first confidence.  After that things only lower it: a bad link without a
// third node, a full disk, nodes that were used twice, a node that may yet be lost.
std::optional<Verdict> judge(const Known& known, const Case& subject) {
  if (subject.programs.empty()) return std::nullopt;
  const Facts facts = facts_of(known, subject);
  const Row* row = row_for(facts);
  if (row == nullptr) return std::nullopt;
  const bool may_hear_more = row->stage == Stage::waits && may_verify_more(known, subject);
  Verdict v;
  v.cause = row->cause;
  v.rule = row->rule;
  v.final = row->stage == Stage::final || (row->stage == Stage::waits && !may_hear_more);
  v.confidence = row->confidence;
  v.at = known.now;
  Told told;
  if (row->blame == Blame::s1_starved) {
    const Starved& cause = *starved_cause(subject);
    v.nodes = {cause.node};
    told.starved = words_of(cause);
  } else if (row->blame != Blame::nobody) {
    const auto results = guilty_results(known, subject, row->blame);
    v.nodes = guilty_nodes(subject, results);
    // Blame without a conviction by V comes from a lost node, also where Slurm did not say which.
    told.lost = !subject.programs.front().lost_nodes().empty() || results.empty();
    for (const NodeResult* r : results)
      // A link is no node: neither of its two ends is blamed for it, and none is drained.
      if (!r->peer.empty()) told.links.push_back(r->node + " and " + r->peer);
    if (!told.links.empty() && v.nodes.empty() && !ends_without_witness(subject, 1).empty()) {
      told.unwitnessed = true;
      v.confidence = std::min(v.confidence, Confidence::medium);
    }
    const bool only_full =
        !told.lost && std::all_of(results.begin(), results.end(), [](auto* r) { return is_full(*r); });
    if (only_full) {
      // Who filled it is for people to say: no machine is at fault for it.
      told.full = full_folder(*results.front());
      v.confidence = std::min(v.confidence, Confidence::medium);
    }
  }
  told.acquitted = facts.c1 == c_ok;
  // Its work was done: a library that does not end lets correct programs hang so, too.  That it did not the
  // second time makes the one no surer of the program, and the other no surer of chance.
  if ((row->cause == Cause::program || row->cause == Cause::non_deterministic) &&
      subject.programs.front().hangs_at_its_end())
    v.confidence = std::min(v.confidence, Confidence::medium);
  // Where other work took the processors each time, no run has shown what the program does when it has them.
  if (row->cause == Cause::program && starved_each_time(subject)) {
    told.starved_each_time = true;
    v.confidence = std::min(v.confidence, Confidence::medium);
  }
  // And where they took those of the second, one run alone has shown it.
  if (row->cause == Cause::program && facts.starved == s_rerun)
    v.confidence = std::min(v.confidence, Confidence::medium);
  // The table supposes two sets of nodes that share none.  What they share was tried once, not twice; that a
  // job completed needs no second set.
  if (row->cause != Cause::normal && row->cause != Cause::cancelled) {
    bool whole = false;
    for (const Run& run : subject.programs)
      if (auto nodes = used_again(run); !nodes.empty()) {
        whole = whole || nodes.size() >= run.nodes.size();
        told.reused.emplace(run.id.n, std::move(nodes));
      }
    // One step where some nodes were used again, two where the re-run had no other.
    if (!told.reused.empty()) v.confidence = lower(v.confidence);
    if (whole) v.confidence = lower(v.confidence);
  }
  v.faulty = faulty_of(known, subject, v);
  // Something that is over: it is told, and takes no node out.
  if (row->blame == Blame::s1_starved)
    v.faulty->push_back(
        {v.nodes.front(), "", subject.programs.front().id.text(), "starved", told.starved, false});
  // Slurm's own requeue asks for no more than that a node was lost.  A program that seems to take nodes down
  // does not get more of them.
  if (v.cause == Cause::inconclusive && facts.a1 == a_down && row->lack != Lack::safe_place)
    v.lost = subject.programs.front().lost_nodes();
  put_in_words(subject, *row, told, v);
  if (const auto doubt = facts.a1 == a_fail ? nodes_in_doubt(known, subject) : std::vector<std::string>();
      !doubt.empty()) {
    // Slurm may set them DOWN yet, and then it was no failure on good nodes.
    v.final = false;
    v.missing.push_back(fmt::format("whether {}, which {} not answer Slurm, {} lost",
                                    compress_hostlist(doubt), doubt.size() == 1 ? "does" : "do",
                                    doubt.size() == 1 ? "is" : "are"));
  }
  if (row->cause == Cause::normal) add_usual_time(known.state, subject, v);
  return v;
}

}  // namespace sickbay::identify
