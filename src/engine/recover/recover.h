// SPDX-License-Identifier: Apache-2.0
// Recoveries: restart as little as cures.
//
// A recovery ("r3") is of one fault: a component of a node, a node, a process of a parallel job, the network.
// It is opened by a person, or by the engine: from a finding that asks for a restart, or at the end of a case
// that blames nodes where the job's owner asked for it (asked.cc).  First comes the plan,
// in the journal: the cells from the fault to the root (tree.h), what each restart takes and how likely it
// cures (rates.h), and where to begin (choose.h).  Then one step after another: a restart, a look whether the
// fault is gone, and the parent where it is not, up to a bound.  The cluster is never restarted: a person's
// word.  By default the engine only observes what findings ask for: it plans, says so, and does nothing.
//
// A node is restarted by the drain engine, which alone takes nodes out: it hears `leave_wanted`.
//
// apply() and decide() as in engine/identify; the subjects of decisions are recoveries, and kRecoveries for
// those that findings ask for.  No I/O, no clock.  Source: doc/design/recover.md.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/recover/choose.h"
#include "engine/recover/rates.h"
#include "engine/recover/tree.h"
#include "model/event.h"
#include "model/ids.h"
#include "model/job.h"

namespace sickbay::recover {

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "recover";
/// The subject that decide() is asked about for recoveries that are not there yet.
inline constexpr std::string_view kRecoveries = "recoveries";

/// What a site may set (configuration `recover`).
struct Policy {
  bool act = false;     ///< findings that ask for a restart get it; false: they are planned and shown
  bool reboot = false;  ///< the drain engine acts and reboots: the level of the node can be done
  bool requeue = true;  ///< jobs are put back into the queue: domains and groups can be done
  int most_steps = 3;
  int most_a_day = 5;  ///< recoveries of one cell that findings may have in kDay; then a person must look
  std::chrono::seconds person{3600};      ///< what comes after the last step takes about so long
  std::chrono::seconds node_wait{14400};  ///< until a node is empty and has booted
  cluster::BreakerPolicy breaker;         ///< of all engines
  std::vector<std::vector<std::string>>
      dependent;  ///< sets of nodes that are restarted together, each sorted
};

inline constexpr std::chrono::hours kDay{24};

/// The job of a fault, as who opened the recovery saw it.
struct FaultJob {
  static constexpr int kFields = 11;  ///< base/state_archive.h
  JobId job_id = 0;                   ///< 0: none
  std::uint32_t uid = 0, restart_cnt = 0;
  std::vector<std::string> nodes;                 ///< sorted
  std::vector<std::vector<std::string>> domains;  ///< nodes of its process groups
  bool alone = false;                             ///< it goes on while one of its nodes is restarted alone
  TimePoint submit = kNoTime;        ///< by which Slurm's job is known; kNoTime: not told, and none is found
  std::string partition;             ///< one, or several with commas between; "": not told
  std::vector<std::string> exclude;  ///< nodes that it is to get no more; sorted
  bool over = false;                 ///< it had ended before the recovery was opened
  bool ended = false;                ///< it is not what it was then: nothing is left to restart

  /// As Slurm shows it; of its process groups it knows nothing.
  static FaultJob of(const JobInfo& job);
  Json to_json() const;  ///< (the last four but `ended` only where they are set)
  static FaultJob from_json(const Json& json);
};

/// What is wrong, and who said so.
struct Fault {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  FaultClass of = FaultClass::component;
  std::string node;       ///< "": of class job, of none
  std::string component;  ///< "": of the node as a whole; of class network: a part of its hardware
  std::string source;     ///< "f9", "c17", "by alice"
  std::string text;       ///< for people
  std::string rule;       ///< of a finding: "node/slurmd"; an `ok` of it ends the fault
  FaultJob job;           ///< of class job

  /// Of a job as Slurm shows it; `node`, where it is not empty, is to blame, and the job is to get it no
  /// more.
  static Fault of_job(const JobInfo& job, const std::string& node, bool alone, std::string source);
  /// Of the network, and of no software: a part that only people can change.
  bool of_hardware() const { return of == FaultClass::network && component.empty(); }
  bool by_person() const { return source.starts_with("by "); }
  /// The job's owner asked for it when he submitted the job (`--recover`).
  bool by_owner() const { return of == FaultClass::job && parse_case_name(source).has_value(); }
  /// Of a job as such, and no node would be restarted for it: it is over, or nobody named one.
  bool of_whole_job() const { return of == FaultClass::job && (job.over || node.empty()); }
  std::string kind() const { return fault_kind(of, component); }
  Json to_json() const;
  static Fault from_json(const Json& json);
};

/// A cell of a plan, lowest first.
struct PlannedCell {
  static constexpr int kFields = 8;  ///< base/state_archive.h
  std::string cell, kind;            ///< Cell::name, Cell::kind()
  Level level = Level::component;
  std::vector<std::string> nodes, components;
  Seconds takes{0};
  double cures = 0;
  std::string left_to_people{};  ///< why we do not restart it; "": we do
};
struct Plan {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  std::vector<PlannedCell> path;
  int start = -1;  ///< index into the path; -1: no cell is ours to restart
  Seconds expected{0};
  std::string refused;  ///< why there is nothing to restart
};

/// One restart.
struct StepTaken {
  static constexpr int kFields = 16;  ///< base/state_archive.h
  int n = 1;                          ///< of key "r3.s1"
  std::size_t cell = 0;               ///< of the plan
  TimePoint began = kNoTime, ended = kNoTime;
  bool handed = false;                       ///< the drain engine has it: a reboot
  std::map<std::string, TimePoint> boots{};  ///< of its nodes: their boot before; kNoTime: not known yet
  std::set<std::string> back{};              ///< of these, those that have booted anew
  std::string overdue{};                     ///< why nobody waits for them any more
  TimePoint rebooting = kNoTime;             ///< when Slurm was asked for the boot
  bool checking = false;
  bool restarted = false, cured = false;
  bool kept_away = false;  ///< the job gets none of FaultJob::exclude any more
  bool unknown = false;    ///< no answer came: whether it was restarted nobody knows, so it is looked
  Micros took{0};          ///< 0: not measured
  std::string said{};

  std::string key(std::int64_t recovery) const;  ///< "r3.s1"
};

enum class Outcome : std::uint8_t { cured, given_up, refused, gone };
std::string_view to_string(Outcome outcome);

struct Recovery {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  std::int64_t no = 0;
  Fault fault;
  TimePoint opened_at = kNoTime, closed_at = kNoTime;
  bool planned = false;
  bool acts = false;  ///< the plan is to be done
  Plan plan;
  std::vector<StepTaken> steps;
  bool source_gone = false;  ///< who saw the fault says that it is gone
  std::string stopped_by;    ///< a person; "": nobody
  Outcome outcome = Outcome::gone;
  std::string why;  ///< it closed

  std::string name() const { return recovery_name(no); }
  bool open() const { return closed_at == kNoTime; }
  /// The step that has no end yet, or null.
  const StepTaken* under_way() const;
};

/// A job whose owner asked that it be recovered, while its case is open.
struct Asked {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  FaultJob job;                      ///< as last seen
  std::vector<std::string> blamed;   ///< nodes that are the cause, by the final verdict; sorted
  std::string sentence;              ///< of the verdict
  bool put_off = false;              ///< it began anew, and Slurm has it wait for nothing but a while
};

struct State {
  static constexpr int kFields = 11;  ///< base/state_archive.h
  std::map<std::int64_t, Recovery> recoveries;
  std::int64_t last = 0;  ///< number of the last recovery
  std::set<std::int64_t> open;
  std::map<std::int64_t, Fault> wanted;       ///< findings without a recovery, by number
  std::map<std::int64_t, Asked> asked;        ///< by case
  std::map<std::int64_t, Fault> wanted_jobs;  ///< of cases that are closed, without a recovery; by case
  std::map<std::string, std::vector<Component>> components;  ///< by node
  std::vector<std::vector<std::string>> dependent;           ///< sets of nodes, as last declared
  Rates rates;
  /// The last cure of a cell, by its name: what fails again soon takes it back.
  struct LastCure {
    static constexpr int kFields = 5;  ///< base/state_archive.h
    TimePoint at = kNoTime;
    std::string cell, kind, fault;
    Level level = Level::component;
  };
  std::map<std::string, LastCure> last_cures;
  std::map<std::string, std::vector<TimePoint>> opened;  ///< by the cell of the fault, of the last kDay
};

/// Total; `view` has taken in the event before.  Gives the subjects about which decide() must be asked again.
std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<cluster::Claim> claims;  ///< on the nodes of a step, and on a job that is requeued
  std::vector<Command> commands;       ///< restart_component, check_component, requeue_job, begin_now
  std::vector<Event>
      records;  ///< recovery_opened, _planned, _closed, leave_wanted, of the breaker, claim_released
  TimePoint wake_at = kNever;
};
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& subject, TimePoint now);

/// What would be done about a fault: also for `sickbay recover --plan`, which opens nothing.
Plan make_plan(const cluster::View& view, const State& state, const Policy& policy, const Fault& fault);
Json plan_view(const Plan& plan);  ///< {path [{cell, level, ...}], start, expected_us, refused}

/// The tree of what is known, with these jobs: all nodes of the view, their components, what depends on what.
RestartTree tree_of(const cluster::View& view, const State& state, const std::vector<JobParts>& jobs);
/// The cell that a fault is counted for ("n3/slurmd", "n3", "job:17"), its kind and its level.
std::string cell_of(const Fault& fault);
std::string kind_of(const Fault& fault);
Level level_of(const Fault& fault);

/// A recovery for people.
Json recovery_view(const Recovery& recovery);

/// Nodes of which boots matter, and the look after which each must be told of once more.
std::map<std::string, std::int64_t> looked_at(const State& state);
/// Whether a restart waits for nothing but that one of these boots, or is seen to have booted.
bool waits_for_boot(const State& state, const cluster::View& view);
/// Jobs whose end matters.
struct Watched {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string subject, run;  ///< "r3", "r3.job"
};
std::vector<Watched> watched(const State& state);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

// Words of the journal (doc/formats/journal.md); those that others hear are in model/event_kinds.h.
inline constexpr std::string_view kRecoveryPlanned = "recovery_planned";  ///< r3 {acts, path, start, ...}
inline constexpr std::string_view kRecoveryStop = "recovery_stop";        ///< r3 {by}
inline constexpr std::string_view kStepFailed =
    "step_failed";  ///< r3 {step, why}: its nodes are not waited for any more

}  // namespace sickbay::recover
