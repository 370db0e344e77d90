// SPDX-License-Identifier: Apache-2.0
// Words only: nothing here decides what a verdict is.
#include "engine/identify/verdict_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/advice.h"
#include "engine/identify/failure_words.h"
#include "engine/identify/lossy.h"
#include "engine/identify/node_notes.h"
#include "engine/identify/rerun.h"
#include "engine/identify/resume.h"
#include "engine/identify/starved.h"

namespace sickbay::identify {
namespace {

std::string plural(std::size_t n, std::string_view word) {
  return fmt::format("{}{}", word, n == 1 ? "" : "s");
}

// A run that did nothing but use up its time may have been a good one with too short a limit.
bool limit_may_be_short(const Run& run) {
  return run.symptom == Symptom::stall && !run.hangs() &&
         (!run.trace || (run.trace->signal_name.empty() && !says_why(run)));
}

// What people did to the nodes: without it a reader would wonder why a node that is DOWN is not the cause.
void add_node_notes(const Case& subject, std::vector<std::string>& why) {
  for (const Run& run : subject.programs)
    for (const NodeNote& note : run.node_notes)
      if (note.what == NodeNote::What::taken)
        why.push_back(
            fmt::format("{} of {} {}: that convicts nobody", note.node, run.id.text(), words_of(note)));
      else if (note.what == NodeNote::What::drained)
        why.push_back(fmt::format("{} of {} {}", note.node, run.id.text(), words_of(note)));
}

// What agents found on its nodes decides nothing; where nothing else decides, it is what to look at next.
void add_signs(const Case& subject, Verdict& v) {
  std::vector<std::string> nodes;
  for (const CaseSign& s : subject.signs) {
    if (s.run != subject.programs.front().id) continue;
    v.why.push_back(fmt::format("{}: {} {}: {}", s.node, s.sign.source, s.sign.rule, s.sign.text));
    nodes.push_back(s.node);
  }
  if (nodes.empty()) return;
  nodes = sorted_hosts(std::move(nodes));
  v.next.push_back(
      fmt::format("look at what was found on {} first (sickbay nodes); submit again with --exclude={}",
                  compress_hostlist(nodes), compress_hostlist(nodes)));
}

// --- one sentence for a cause

// "each time" where V acquits the nodes of every failed run, else "too": on some of them it is acquitted.
std::string program_sentence(const Run& first, const Row& row, const Told& told) {
  const bool each_time = told.acquitted && row.confidence > Confidence::low;
  const std::string_view where = each_time ? "on good nodes each time" : "on good nodes, too";
  if (told.starved_each_time)
    return fmt::format(
        "The program or its input is the cause, or nodes that are too busy for its limit: it is too slow {}, "
        "and each time other work took the processors that it asked for.",
        where);
  if (first.hangs_at_its_end())
    return fmt::format("The program or its MPI library is the cause: {} {}.", words_of_hang_at_its_end(first),
                       where);
  if (limit_may_be_short(first))
    return fmt::format(
        "The program or its input is the cause, or a time limit that is too short: it runs into the limit "
        "{}.",
        where);
  const std::string how = words_in_brackets(first);
  return fmt::format("The program or its input is {}the cause: it {} {}{}.",
                     row.confidence == Confidence::low ? "probably " : "", first.hangs() ? "hangs" : "fails",
                     where, how.empty() ? "" : " (" + how + ")");
}

std::string node_sentence(const Row& row, const Verdict& v, const Told& told) {
  const std::string names = compress_hostlist(v.nodes);
  const bool one = v.nodes.size() == 1, is_final = row.stage == Stage::final || row.stage == Stage::waits;
  if (v.nodes.empty() && !told.links.empty())
    return fmt::format("The link between {} is the cause, and no node by itself{}.",
                       fmt::join(told.links, ", "), told.unwitnessed ? ", as far as can be told" : "");
  if (v.nodes.empty()) return "A node of the job went down, as Slurm says, without a word on which.";
  if (!is_final)
    return fmt::format("{} {} {}; {}.", names, one ? "is" : "are",
                       told.lost           ? "down"
                       : told.full.empty() ? "faulty"
                                           : "full in " + told.full,
                       row.stage == Stage::third ? "a third run will tell whether the program is at fault too"
                                                 : "confirming on other nodes");
  const std::string_view sure = v.confidence == Confidence::low ? "probably " : "";
  if (!told.starved.empty())
    return fmt::format("Node {} is {}the cause, not the program: {}. It may be over by now.", names, sure,
                       told.starved);
  if (!told.full.empty())
    return fmt::format("{} {} {} {}the cause: {} {} is full.", plural(v.nodes.size(), "Node"), names,
                       one ? "is" : "are", sure, one ? "its" : "their", told.full);
  return fmt::format("{} {} {} {}the cause, not the program.", plural(v.nodes.size(), "Node"), names,
                     one ? "is" : "are", sure);
}

// One run that nobody wanted to follow with a second: that was no experiment which went wrong.
std::string run_once_sentence(const Run& first) {
  return fmt::format("Not decided: its one run {}, and no second run was wanted.", failure_words(first));
}

std::string_view undecided_sentence(Lack lack) {
  switch (lack) {
    case Lack::output_place:
      return "Not decided: the job never began, since its node could not open its output.";
    case Lack::safe_place:
      return "Not decided: two runs took different nodes down, so the program itself is suspected.";
    case Lack::third_run:
      return "Not decided yet: a third run of the program will tell.";
    case Lack::one_way:
      return "Not decided: the program failed in more than one way.";
    case Lack::node_kept:
      return "Not decided: it lost a node, but it fails on good nodes, too.";
    case Lack::good_nodes:
      return "Not decided: the program is suspected.";
    default:
      return "Not decided: the experiment could not be completed.";
  }
}

// Nodes that were found faulty and are not the cause.
std::string besides(const Verdict& v) {
  std::vector<std::string> names;
  for (const Faulty& f : *v.faulty)
    if (f.peer.empty() && f.drains && std::find(v.nodes.begin(), v.nodes.end(), f.node) == v.nodes.end())
      names.push_back(f.node);
  names = sorted_hosts(std::move(names));
  if (names.empty()) return "";
  return fmt::format(" {} {} {} faulty besides.", plural(names.size(), "Node"), compress_hostlist(names),
                     names.size() == 1 ? "is" : "are");
}

std::string sentence_for(const Case& subject, const Row& row, const Verdict& v, const Told& told) {
  switch (row.cause) {
    case Cause::normal:
      return completed_sentence(subject.programs.front());
    case Cause::cancelled: {
      std::vector<std::string> taken;
      for (const NodeNote& note : subject.programs.front().node_notes)
        if (note.what == NodeNote::What::taken) taken.push_back(note.node);
      return fmt::format("A person set {} DOWN, and Slurm ended the job for it; it did not fail.",
                         compress_hostlist(sorted_hosts(std::move(taken))));
    }
    case Cause::program:
      return program_sentence(subject.programs.front(), row, told) + besides(v);
    case Cause::node:
      return node_sentence(row, v, told) + besides(v);
    case Cause::non_deterministic:
      if (const Run& first = subject.programs.front(); first.hangs_at_its_end())
        return fmt::format(
                   "The failure does not repeat: {} in one run; program, library and nodes all remain "
                   "possible.",
                   words_of_hang_at_its_end(first)) +
               besides(v);
      return "The failure does not repeat: program and nodes both remain possible." + besides(v);
    default:
      if (row.lack == Lack::second_run && rerun_declined(subject))
        return run_once_sentence(subject.programs.front()) + besides(v);
      if (const Run& first = subject.programs.front(); first.hangs_at_its_end())
        return fmt::format("{} In the first run {}.", undecided_sentence(row.lack),
                           words_of_hang_at_its_end(first)) +
               besides(v);
      return std::string(undecided_sentence(row.lack)) + besides(v);
  }
}

// --- what is missing, and what to do next: one function for a cause or a lack

void advise_on_program(const Case& subject, Verdict& v) {
  const Run& first = subject.programs.front();
  if (const std::string path = output_to_look_at(first); !path.empty())
    v.next.push_back("look at the last output lines above and at " + path);
  if (limit_may_be_short(first))
    v.next.push_back("if the program was still making progress, submit it with a longer --time");
  if (starved_each_time(subject) || starved_in_rerun(subject))
    v.next.push_back(
        "submit it once more with --exclusive, or when its nodes are idle: what else ran there took its "
        "time");
}

// Only nodes can be left out or looked at; a link that is blamed has no such advice.
void advise_on_links(Verdict& v) {
  for (const Faulty& f : *v.faulty) {
    if (f.peer.empty()) continue;
    v.next.push_back(
        fmt::format("submit again with --exclude={0} or --exclude={1}: a job that has not both is not "
                    "concerned",
                    f.node, f.peer));
    v.next.push_back(
        fmt::format("operators: look at cables, switch ports, routes and packet filters between {} and "
                    "{}; neither is drained for it",
                    f.node, f.peer));
    return;  // one is enough for whoever reads it; the others stand among the findings
  }
}

std::string going_back(const std::vector<std::string>& without) {
  return "the job goes back into the queue by itself (--recover), to run without " +
         compress_hostlist(without);
}

void advise_on_node(const Case& subject, Verdict& v) {
  if (v.nodes.empty()) return advise_on_links(v);
  v.next.push_back(goes_back(subject, v) ? going_back(v.nodes)
                                         : "submit again with --exclude=" + compress_hostlist(v.nodes));
  if (v.confidence == Confidence::low)
    v.next.push_back("clear away what the first run left before you run it again in the same folder");
  v.next.push_back("operators: sickbay nodes " + compress_hostlist(v.nodes));
  if (std::string line = dependents_advice(subject); !line.empty()) v.next.push_back(std::move(line));
}

void advise_on_starved_node(const Case& subject, Verdict& v) {
  advise_on_node(subject, v);
  const JobInfo& job = subject.programs.front().job;
  v.next.push_back(
      fmt::format("operators: look at what else ran on {} from {} to {}: other processes, quotas of control "
                  "groups, somebody who stops processes; the node is not drained for it",
                  compress_hostlist(v.nodes), format_time(job.start), format_time(job.end)));
}

void advise_on_non_deterministic(const Case& subject, Verdict& v) {
  v.missing.push_back(
      "more runs on chosen sets of nodes, to tell a program that fails now and then from a node that does");
  if (subject.reruns.checked && !no_more_runs(subject))
    v.next.push_back("sickbay requeue " + subject.name() +
                     " makes them: within 24 h of this verdict it runs the program again");
  v.next.push_back("submit again; compare the nodes of failed and good runs (sickbay cases --all)");
}

void ask_for_safe_place(const Case&, Verdict& v) {
  v.missing.push_back("a run under observation on a node set aside for it");
  v.next.push_back("talk to the operators before running it again: it has taken nodes down twice");
}

// A folder that is not there and a node that lost its shared storage look alike (doc/design/identify.md,
// "A job that never began").
void ask_for_output_place(const Case& subject, Verdict& v) {
  const Run& first = subject.programs.front();
  const std::string nodes = compress_hostlist(first.nodes);
  v.missing.push_back("whether the folder of " + first.job.std_out + " is there on " + nodes);
  v.next.push_back("check that the folder exists and that you may write to it (--chdir, --output)");
  v.next.push_back("operators: check the shared file systems of " + nodes);
}

void ask_for_verification(const Case& subject, Verdict& v) {
  const Run* v1 = subject.check_of(1);
  const std::string nodes = compress_hostlist(subject.programs.front().nodes);
  v.missing.push_back("a verification of " + nodes +
                      (v1 && !v1->refusal.empty() ? " (" + v1->refusal + ")" : ""));
  v.next.push_back("ask an operator to run: sickbay verify " + nodes);
}

void ask_for_runs(const Case& subject, Verdict& v) {
  const Run* r2 = subject.program(2);
  if (r2 && has_spoken(r2->outcome) && standing(subject, 2) == Standing::counts) return;
  std::string why = why_no_rerun(subject);
  if (why.empty() && r2) why = r2->refusal;
  if (r2 || !why.empty())
    v.missing.push_back("a second run of the program" + (why.empty() ? "" : " (" + why + ")"));
  v.next.push_back(rerun_declined(subject)
                       ? "submit it again without --rerun=never (--no-rerun): a second run tells the program "
                         "from its nodes"
                       : "submit the job again when nodes are free");
}

// Where the later runs were in copies, these were made of the folder as the first run left it.
void advise_on_leftovers(const Case& subject, Verdict& v) {
  const auto place = subject.reruns.copies.empty() ? "" : " (the later runs had copies of it)";
  v.next.push_back(
      fmt::format("what the first run left in {}{} may be why later ones fail (a lock, a half-written file): "
                  "look there, and clear it away before you submit again",
                  run_folder(subject), place));
}

void ask_for_one_way(const Case& subject, Verdict& v) {
  v.missing.push_back("runs that fail alike: the failures above differ");
  advise_on_leftovers(subject, v);
  if (const Run& first = subject.programs.front(); !first.job.std_out.empty())
    v.next.push_back("compare the last output lines of the runs, from " + first.job.std_out + " on");
}

void advise_on_program_and_leftovers(const Case& subject, Verdict& v) {
  ask_for_one_way(subject, v);
  advise_on_program(subject, v);
}

void ask_for_good_nodes(const Case&, Verdict& v) {
  v.missing.push_back("a run of the program on nodes that are well");
  v.next.push_back("submit the job again when the faulty nodes are out of service");
}

void ask_for_kept_node(const Case& subject, Verdict& v) {
  v.missing.push_back("a run that begins as the first did and keeps its nodes");
  if (const Run* r2 = subject.program(2); r2 != nullptr && !r2->job.std_out.empty())
    v.next.push_back("look at how the second run failed, on good nodes: " + r2->job.std_out);
  advise_on_leftovers(subject, v);
}

// Where V has no word, P's second run may lack one as well.
void ask_for_verification_and_runs(const Case& subject, Verdict& v) {
  ask_for_verification(subject, v);
  ask_for_runs(subject, v);
}

using Advice = void (*)(const Case&, Verdict&);
Advice advice_for(const Row& row) {
  switch (row.cause) {
    case Cause::program:
      return row.lack == Lack::one_way ? advise_on_program_and_leftovers : advise_on_program;
    case Cause::node:
      return row.blame == Blame::s1_starved ? advise_on_starved_node : advise_on_node;
    case Cause::non_deterministic:
      return advise_on_non_deterministic;
    default:
      break;
  }
  switch (row.lack) {
    case Lack::verification:
      return ask_for_verification_and_runs;
    case Lack::second_run:
      return ask_for_runs;
    case Lack::safe_place:
      return ask_for_safe_place;
    case Lack::output_place:
      return ask_for_output_place;
    case Lack::one_way:
      return ask_for_one_way;
    case Lack::node_kept:
      return ask_for_kept_node;
    case Lack::good_nodes:
      return ask_for_good_nodes;
    case Lack::third_run:
    case Lack::nothing:
      break;
  }
  return [](const Case&, Verdict&) {};
}

// How V's job ended says nothing of why it does not speak: a good end least of all.
std::string why_silent(const Run& v) {
  if (!v.refusal.empty()) return v.refusal;
  if (has_spoken(v.outcome)) return "its job has ended, and what it said was not read";
  return std::string(to_string(v.outcome));
}

}  // namespace

void add_run_lines(const Case& subject, std::vector<std::string>& why) {
  for (const Run& run : subject.programs) {
    if (!ended(run.outcome)) continue;
    const std::string on = run.nodes.empty() ? "" : " on " + compress_hostlist(run.nodes);
    if (run.outcome == Outcome::ok)
      why.push_back(fmt::format("{} completed{}", run.id.text(), on));
    else if (run.outcome == Outcome::failed)
      why.push_back(fmt::format("{}{} {}", run.id.text(), on, failure_words(run)));
    else
      why.push_back(fmt::format("{} gives no answer: {}{}", run.id.text(), to_string(run.outcome),
                                run.refusal.empty() ? "" : " (" + run.refusal + ")"));
  }
  for (const Run& run : subject.verifications) {
    if (!ended(run.outcome)) continue;
    // Good nodes share one line, each bad one has its own: a run on a thousand nodes must stay readable.
    std::vector<std::string> passed;
    // (One that had spoken of all nodes before it was ended is like any other.)
    const bool cut_off =
        run.outcome == Outcome::cancelled &&
        (run.results.empty() || std::any_of(run.results.begin(), run.results.end(),
                                            [](const NodeResult& r) { return r.result == "unknown"; }));
    if (cut_off)
      why.push_back(run.was_cancelled_by_us()
                        ? fmt::format("{} was cancelled by Sickbay: {}", run.id.text(), run.refusal)
                        : run.id.text() + " was cancelled, and not by Sickbay");
    for (const NodeResult& r : run.results) {
      // What it had not come to when it was ended is no word on a node.
      if (cut_off && r.result == "unknown") continue;
      if (r.result == "ok" && r.peer.empty())
        passed.push_back(r.node);
      else if (r.result != "ok")
        why.push_back(fmt::format("{} finds {}{} {}: {}", run.id.text(), r.node,
                                  r.peer.empty() ? "" : " - " + r.peer, r.result, r.reason));
    }
    if (!passed.empty())
      why.push_back(fmt::format("{} passed on {}", run.id.text(), compress_hostlist(passed)));
    if (run.results.empty() && !cut_off)
      why.push_back(fmt::format("{} gives no answer: {}", run.id.text(), why_silent(run)));
  }
}

void put_in_words(const Case& subject, const Row& row, const Told& told, Verdict& v) {
  v.sentence = sentence_for(subject, row, v, told);
  // A job that completed asked no question: its runs explain nothing.
  if (row.cause != Cause::normal) {
    v.why.push_back(std::string(row.why));
    add_run_lines(subject, v.why);
    add_node_notes(subject, v.why);
    add_starved_lines(subject, v.why);
    add_lossy_lines(subject, v.why);
    if (row.cause == Cause::inconclusive) add_signs(subject, v);
  }
  for (const auto& [n, nodes] : told.reused)
    v.why.push_back(fmt::format("too few other nodes: {} ran on {} of {} again, which lowers the confidence",
                                subject.program(n)->id.text(), compress_hostlist(nodes),
                                n == 2 ? "the first run" : "earlier runs"));
  if (told.unwitnessed)
    v.why.push_back("no third node could be asked, so one of the two ends may be at fault after all");
  if (!v.lost.empty() && goes_back(subject, v)) v.next.push_back(going_back(v.lost));
  advice_for(row)(subject, v);
}

}  // namespace sickbay::identify
