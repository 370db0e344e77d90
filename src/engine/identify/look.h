// SPDX-License-Identifier: Apache-2.0
// One look of decide() at one case; for the files of this engine only.
//
// A look collects commands and keeps nothing of its own: it is made, asked once and thrown away.  What it
// asks for a second time does no harm, for the ledger starts a key once (decisions.md 15).
//   decide.cc      the flow of a case, its ends, and what comes after the verdict
//   experiment.cc  which runs of P and V are wanted
//   verification.cc  V's own way: whom it asks about, how long it waits, what other cases know already
//   array.cc       what a case of a job array does in their place
//   follow.cc      the life of a run that we submitted, and the commands themselves
//   rerun_steps.cc what comes before a re-run: questions, the user's other jobs, its folder
//   join.cc        cases that have the experiment of another one
//   further_steps.cc  a failure that does not repeat: runs on chosen nodes, one after the other
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

class Look {
 public:
  Look(const cluster::Cluster& cluster, const Known& known, const Case& subject)
      : claims_(cluster.claims), known_(known), c_(subject) {}

  Decision result();

 private:
  // --- decide.cc
  void next_steps();
  /// Whether this case may start runs for its job; else it asks for the claim.
  bool has_claim(const Run& first);
  void await_job();
  void await_end(const Run& first);
  /// True where Slurm could not start the job, or may be about to say so.
  bool fails_to_launch(const Run& first);
  void finish_cancelled();
  void end_hangs();
  /// The case's time is over: lets end what runs, then the best answer stands.
  void run_out();
  void finish_without_experiment(const Run& first);
  void end_with(Cause cause, std::string sentence, std::vector<std::string> next = {});
  void wind_up(const Verdict& verdict);
  /// True while a run of ours is still on its way; asks for its end.
  bool cancel_own_runs(const std::string& why, bool keep_programs = false);
  void say(const Verdict& verdict);
  void close();
  void record(std::string_view kind, Json body);

  // --- array.cc
  void array_steps(const TaskArray& array);
  void cancel_task_cases(const TaskArray& array);

  // --- experiment.cc
  void experiment();
  void look_at_second_run();
  void look_at_third_run();
  void drop_idle_questions();
  void drive_program(int n);

  // --- verification.cc
  bool time_is_over() const;
  /// V on the nodes of program run `n`; 0 is the control run.
  void drive_check(int n);
  /// Takes what V said of these nodes for other cases as this case's answer; true where it did.
  bool take_words(int n);
  void give_up_waiting(const Run& verification, const Run* judged);
  /// Where V fails on the nodes of run `n` without naming one: asks for V on a part of them, or takes the
  /// answer of the search down.  True while it has something to say (locating.cc).
  bool locate_by_halves(int n);
  bool needs_control() const;

  // --- follow.cc
  void follow(const Run& run);
  void drive_result_check(const Run& run);
  void submit_program(int n, int attempt);
  void submit_verification(int checks, int n, int attempt, const std::vector<std::string>& nodes);
  void cancel(const Run& run, const std::string& why);
  void read_output(const Run& run);
  void command(std::string key, std::string_view verb, Json args);
  void wake(TimePoint when);

  // --- rerun_steps.cc
  /// Whether attempt `attempt` of program run `n` may be submitted now; else it asks for what that waits for.
  bool may_run_again(int n, int attempt);
  void ask(const std::string& reason, const std::string& text);
  void give_up_rerun(const std::string& why);
  bool nobody_holds_it();
  bool place_is_ready(int n, int attempt);
  void compare_inputs(const Run& run);
  /// True when no copy that we made is left; asks for their end.
  bool copies_are_gone();

  // --- further_steps.cc
  void further_steps();
  bool v_may_speak_soon();

  // --- join.cc
  /// True while the case has no experiment of its own, for another case of the same failure makes it.
  bool shares_experiment();
  bool follow_leader();

  bool new_verification_ = false;  ///< this look has begun one: the next look gives the next one its number
  const cluster::Claims& claims_;
  const Known known_;
  const Case& c_;
  Decision out_;
};

}  // namespace sickbay::identify
