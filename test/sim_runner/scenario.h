// SPDX-License-Identifier: Apache-2.0
// A scenario: a cluster, what happens to it, and the timeline that must come of it, as one text.
//
//   # What this shows.
//   cluster n[1-6] slurmd-timeout=20s
//   reservation maint nodes=n[5-6] from=30s to=10m users=root
//   config  {"identify": {"verification_wait": "30m"}}
//   job solve nodes=2 limit=10m deliver does run=30s exit=1
//   job next without-case dependency=afterok:solve does run=1m
//   job sweep array=0-19%4 does run=30s exit=1 fail-tasks=3,7
//   at 12s n3 rank-kill=SIGBUS
//   at 15s job sweep cancel-task 5
//   at 20s slurmctld killed for=3s
//   at 40s cancel solve r2
//   show claims
//   until 2h
//   ----
//   (the timeline, written by `sickbay-sim --rewrite`; its diff is for people to judge)
//
// Claims, and who waits no more for the breaker, are in the timeline only where `show claims` asks for them:
// most stories are about something else.  `show answers` shows the provisional ones,
// `show history` the histories of all jobs at the end,
// `show places` what comes before a re-run also where nothing keeps it away.  The words of each line are in
// the tables of the files beside this one (of acts: scenario_acts.cc, of a node: node_acts.cc); an unknown
// word is an error with its line. What a program does is said after `does`, in the words of
// adapters/sim/sim_behaviour.h. `no-output-folder` of a job, `storage-away` of a node: a run there never
// begins (0:53).  `folder=100G`, `files=1000000` and `input=FILE` give a job a folder of its own; `edit NAME
// FILE`, `remove-folder NAME`, `storage free=1G` and `storage fills` (in the next copy) are acts on it.
// `n3 boot`: it boots by itself, and fast; `n3 hello`: its agent greets sickbayd; `n3 agent=ok|sick|silent`:
// what it comes to when it is examined for a gate; `n3 loses=LOST/SENT [asked]`: what the agents of the run
// there tell of its connections.
// `verify-fleet [NODES] [budget=N]` asks for a round of verification, `verify-fleet stop` ends it.
// `background full from=1s for=3h run=40m` fills all idle nodes with other people's jobs, whose queue is that
// long.  `recover NAME [NODE] [alone]`: an operator has the job recovered from, whose node is to blame.  A
// job's checkpoints: `checkpoint NAME N`, `restored NAME N`; going back: `rewind NAME N`, `repair
// NAME FILE` after an `edit`, and a job with `replays=NAME`.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "test/sim_runner/sim_world.h"

namespace sickbay::sim {

struct ScenarioJob {
  std::string name, user = "alice", does;
  std::vector<std::string> sbatch_options;
  Json options = Json::object();  ///< of the case
  Json more = Json::object();     ///< further members of its case_opened
  Micros at{0};
  std::string dependency;   ///< --dependency, with names of jobs for their ids
  SimFolders::Size folder;  ///< of its work folder
  bool own_folder = false;  ///< /shared/USER/NAME, not /shared/USER
  bool no_output_folder = false;
  std::vector<std::string> inputs;  ///< files of its folder that its case names
  std::string
      replays;  ///< the job in whose history its owner went back: it goes on from there, in its folder
  bool without_case = false;  ///< the user's own sbatch, of which Sickbay knows nothing
};

/// One thing that happens: its text as written, and what it does.
struct ScenarioAct {
  Micros at{0};
  std::string text;
  std::function<Status(class ScenarioRun&)> act;
};

struct Scenario {
  std::string given;     ///< the text up to and with the line of dashes
  std::string expected;  ///< the text after it
  SimOptions cluster;
  Config config;
  SimBackground background;
  std::vector<SimReservation> reservations;  ///< times since the start
  std::vector<ScenarioJob> jobs;
  std::vector<ScenarioAct> acts;
  Micros until{std::chrono::hours(12)};
  bool show_claims = false;
  bool show_answers = false;
  bool show_places = false;
  bool show_history = false;
};

/// The uid of a user of scenarios; root's is 0.
std::uint32_t uid_of(std::string_view user);

/// Errors: bad_input with the line.
Result<Scenario> parse_scenario(std::string_view text);

/// The timeline of a scenario, and what broke the rules that hold for all of them: a key that was started
/// twice, a job of ours that outlived its case, a replay that gives another state.
struct ScenarioResult {
  std::string timeline;
  std::vector<std::string> broken;
};
ScenarioResult run_scenario(const Scenario& scenario);

}  // namespace sickbay::sim
