// SPDX-License-Identifier: Apache-2.0
// What runs on the nodes: how a run goes, when it ends, and what it has written by then.
//
// A run has an amount of work and a pace.  The slowest node sets the pace, a silent node stops it; a fault on
// the way changes the pace or the ending, and the timer of the end moves with it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "adapters/sim/sim_state.h"
#include "adapters/sim/verify_lines.h"

namespace sickbay::sim {
namespace {

constexpr double kVerifyWork_s = 20;
constexpr double kKilledAfter_s = 1;
constexpr double kNotReachedAfter_s = 10;
// Three years: longer than any scenario.
constexpr double kForGood_s = 1e8;
/// Tried in the lab: NPB SP on 4 nodes took 1.6 times as long at 5 % loss, 3.7 times at 10 %.
double slowness_of_loss(double loss) { return 1 + 12 * loss + 150 * loss * loss; }

}  // namespace

bool SimCluster::chance(double share) {
  if (share >= 1) return true;
  if (share <= 0) return false;
  return static_cast<double>(random_() >> 11) * 0x1p-53 < share;
}

void SimCluster::plan(Job& job) {
  job.ending = {};
  job.derived_exit_code = job.derived_exit_signal = 0;
  // In the order in which a start meets them: slurmd's spool, the output, the program, srun on the other
  // nodes.
  if (not_launched(job) || never_begins(job) || finds_no_program(job) || parts_do_not_meet(job)) {
    job.paced_at = loop_.now();
    job.pace = 0;
    return set_pace(job);
  }
  // A verification whose script says nothing of itself is the real one; another is a program like any other.
  if (job.verification && job.script.find("#SIM") == std::string::npos)
    plan_verification(job);
  else
    plan_program(job);
  // set_pace() must not take off work at the pace of the run before.
  job.paced_at = loop_.now();
  job.pace = 0;
  set_pace(job);
}

/// slurmd on the first node refuses to start it, and Slurm drains that node with its words.
bool SimCluster::not_launched(Job& job) {
  Node& node = nodes_[job.on.front()];
  const bool twice = node.runs_still == job.info.job_id;
  if (!twice && !node.faults.spool_full) return false;
  // By then the run before has been found and ended, on all its nodes.
  if (twice)
    for (Node& each : nodes_)
      if (each.runs_still == job.info.job_id) each.runs_still = 0;
  job.ending = {
      .began = false, .refusal = twice ? "Duplicate jobid" : "SlurmdSpoolDir is full", .is_there = twice};
  job.work_left_s = 0;
  return true;
}

/// Tried on 22.05: where the first node cannot open the output, the job ends in the second it starts, with
/// 0:53, JobLaunchFailure and no output.
bool SimCluster::never_begins(Job& job) {
  const auto folder_is_there = [this](const std::string& path) {
    return folders_.is_there(path.substr(0, path.rfind('/')));
  };
  if (!nodes_[job.on.front()].faults.storage_away && folder_is_there(job.info.std_out) &&
      folder_is_there(job.info.std_err))
    return false;
  job.ending = {.state = "FAILED", .exit_signal = 53, .reason = "JobLaunchFailure", .began = false};
  job.work_left_s = 0;
  return true;
}

/// The script begins, and its program is nowhere: on another node than the first, or since the folder is
/// gone.
bool SimCluster::finds_no_program(Job& job) {
  const bool gone = !folders_.is_there(job.info.work_dir);
  const auto away = std::find_if(job.on.begin(), job.on.end(),
                                 [&](NodeIndex node) { return gone || nodes_[node].faults.storage_away; });
  if (away == job.on.end()) return false;
  const std::string& node = nodes_[*away].name;
  job.err += fmt::format(
      "slurmstepd-{0}: error: couldn't chdir to `{1}': No such file or directory: going to /tmp instead\n"
      "slurmstepd-{0}: error: execve(): /tmp/./{2}: No such file or directory\n"
      "srun: error: {0}: task {3}: Exited with exit code 2\n",
      node, job.info.work_dir, job.info.name.substr(0, job.info.name.find('.')), away - job.on.begin());
  job.ending = {.state = "FAILED", .exit_code = 2, .reason = "NonZeroExitCode"};
  job.work_left_s = kKilledAfter_s;
  return true;
}

/// Two of its nodes do not reach each other.  Where srun runs on one of them it cannot launch on the other;
/// else the ranks wait for each other for good.  (A verification finds its own way round.)
bool SimCluster::parts_do_not_meet(Job& job) {
  if (job.verification && job.script.find("#SIM") == std::string::npos) return false;
  for (std::size_t i = 0; i < job.on.size(); ++i)
    for (std::size_t j = i + 1; j < job.on.size(); ++j) {
      if (!cut_off(job.on[i], job.on[j])) continue;
      if (i > 0) {
        job.work_left_s = kForGood_s;
        return true;
      }
      job.err += fmt::format(
          "srun: error: Task launch for StepId={}.0 failed on node {}: Communication connection failure\n"
          "srun: error: Application launch failed: Communication connection failure\n"
          "srun: Job step aborted\n",
          job.info.job_id, nodes_[job.on[j]].name);
      job.ending = {.state = "FAILED", .exit_code = 1, .reason = "NonZeroExitCode"};
      job.work_left_s = kNotReachedAfter_s;
      return true;
    }
  return false;
}

/// One rank dies and srun takes the others down: what the user's error file and exit code show.
void SimCluster::kill_rank(Job& job, std::size_t task, int signal, double after_s) {
  const std::string& node = nodes_[job.on[task]].name;
  job.err += fmt::format("srun: error: {}: task {}: {}\n", node, task, signal_words(signal));
  job.err += fmt::format("srun: launch/slurm: _step_signal: Terminating StepId={}.0\n", job.info.job_id);
  job.ending = {.state = "FAILED", .exit_code = 128 + signal, .reason = "NonZeroExitCode"};
  job.work_left_s = std::min(job.work_left_s, after_s);
}

void SimCluster::plan_program(Job& job) {
  const SimBehaviour& does = job.behaviour;
  job.work_left_s = std::chrono::duration<double>(does.run).count();
  const double half = job.work_left_s / 2;
  if (std::count(does.never_begins.begin(), does.never_begins.end(), job.run_number) > 0) {
    // slurmd could not open its output: nothing was run, and nothing is written.
    job.work_left_s = 0;
    job.ending = {.state = "FAILED", .exit_signal = 53, .reason = "NonZeroExitCode"};
    return;
  }
  job.out += fmt::format("run {} on {}\n", job.run_number, job.info.nodes);
  const bool its_turn =
      does.fail_runs.empty() || std::count(does.fail_runs.begin(), does.fail_runs.end(), job.run_number) > 0;
  const auto task_id = TaskIds::parse(job.info.array_task_id);
  const bool one_of_them = does.fail_tasks.empty() || (task_id && does.fail_tasks.contains(task_id->first()));
  const bool fails =
      one_of_them &&
      (does.signal != 0 || does.exit_code != 0 || does.killed != 0 || !does.other_ends.empty()) && its_turn &&
      chance(does.flaky);
  for (std::size_t task = 0; task < job.on.size(); ++task) {
    const Node& node = nodes_[job.on[task]];
    if (node.faults.kill_signal != 0 && chance(node.faults.kill_share))
      return kill_rank(job, task, node.faults.kill_signal, kKilledAfter_s);
    if (node.name == does.crash_node) return kill_rank(job, task, does.crash_signal, half);
    if (node.faults.full && does.writes) {
      job.err += fmt::format("solver: cannot write /tmp/part.{}: No space left on device\n", task);
      job.ending = {.state = "FAILED", .exit_code = 1, .reason = "NonZeroExitCode"};
      return;
    }
    if (node.faults.bad_memory) {
      job.out += "verification failed: the residual is nan\n";
      job.ending = {.state = "FAILED", .exit_code = 1, .reason = "NonZeroExitCode"};
      return;
    }
  }
  if (does.takes_down > 0) {
    job.work_left_s = half;
    job.ending.crashes_nodes = does.takes_down;
    return;
  }
  if (!does.says.empty()) job.out += does.says + "\n";
  if (does.step_exit != 0) {
    const bool signal = does.step_exit > 128;
    (signal ? job.derived_exit_signal : job.derived_exit_code) = does.step_exit - (signal ? 128 : 0);
    const std::string how =
        signal ? signal_words(does.step_exit - 128) : fmt::format("Exited with exit code {}", does.step_exit);
    job.err += fmt::format("srun: error: {}: task 0: {}\n", nodes_[job.on[0]].name, how);
  }
  if (static_cast<int>(job.info.restart_cnt) < does.requeue_self) {
    if (job.may_requeue) {
      job.ending.requeues = true;
      return;
    }
    job.err += fmt::format("Requested operation is presently disabled for job {}\n", job.info.job_id);
    job.ending = {.state = "FAILED", .exit_code = 1, .reason = "NonZeroExitCode"};
    return;
  }
  if (!fails) return;
  for (const SimOtherEnd& other : does.other_ends)
    if (other.run == job.run_number) {
      job.err += other.says + "\n";
      job.ending = {.state = "FAILED", .exit_code = other.exit_code, .reason = "NonZeroExitCode"};
      return;
    }
  if (does.killed != 0) {
    job.ending = {.state = "FAILED", .exit_signal = does.killed, .reason = "NonZeroExitCode"};
    return;
  }
  if (does.signal != 0) return kill_rank(job, 0, does.signal, job.work_left_s);
  job.err += fmt::format("srun: error: {}: task 0: Exited with exit code {}\n", nodes_[job.on[0]].name,
                         does.exit_code);
  job.ending = {.state = "FAILED", .exit_code = does.exit_code, .reason = "NonZeroExitCode"};
}

void SimCluster::plan_verification(Job& job) {
  job.work_left_s = std::max(kVerifyWork_s, job.hold_s);
  std::vector<VerifiedNode> nodes;
  bool wrong = false, slow = false;
  for (const NodeIndex index : job.on) {
    const Node& node = nodes_[index];
    const bool killed = node.faults.kill_signal != 0 && chance(node.faults.kill_share);
    nodes.push_back({.name = node.name,
                     .killed = killed,
                     .bad_memory = node.faults.bad_memory,
                     .speed = node.faults.speed,
                     .loss = node.faults.loss,
                     .full = node.faults.full,
                     .bad_disk = node.faults.bad_disk});
    for (const NodeIndex other : job.on)
      if (cut_off(index, other)) nodes.back().cut_from.insert(nodes_[other].name);
    wrong = wrong || !nodes.back().cut_from.empty();
    wrong = wrong || killed || node.faults.bad_memory || node.faults.full || node.faults.bad_disk;
    slow = slow || node.faults.speed < 1 || node.faults.loss > 0;
    // Its ranks make no MPI calls in this part, so the others finish, and srun reports the one.
    if (killed)
      job.err += fmt::format("srun: error: {}: task {}: {}\n", node.name, nodes.size() - 1,
                             signal_words(node.faults.kill_signal));
  }
  job.out = verify_lines(nodes);
  if (wrong || slow)
    job.ending = {.state = "FAILED", .exit_code = wrong ? 1 : 3, .reason = "NonZeroExitCode"};
}

void SimCluster::set_pace(Job& job) {
  // First what was done since the last change, at the pace of then; the rest goes on at the new one.
  const double ran_s = std::chrono::duration<double>(loop_.now() - job.paced_at).count();
  job.work_left_s = std::max(0.0, job.work_left_s - ran_s * job.pace);
  job.paced_at = loop_.now();
  job.pace = 1;
  for (const NodeIndex index : job.on) {
    const Node& node = nodes_[index];
    double pace =
        node.silent ? 0 : node.faults.speed / slowness_of_loss(job.on.size() > 1 ? node.faults.loss : 0);
    if (node.name == job.behaviour.slow_node && !job.verification) pace /= job.behaviour.slow_factor;
    job.pace = std::min(job.pace, pace);
  }
  if (job.behaviour.hang && !job.verification) job.pace = 0;
  loop_.cancel(job.work_timer);
  // No end is in sight: a fault that is healed sets the timer again.
  if (job.pace <= 0) return;
  // (Rounded up: a rest of work would be left when the timer comes.)
  const auto left = Micros(static_cast<std::int64_t>(std::ceil(job.work_left_s / job.pace * 1e6)));
  job.work_timer =
      loop_.at(loop_.now() + left, [this, job_id = job.info.job_id] { work_done(*jobs_.at(job_id)); });
}

void SimCluster::work_done(Job& job) {
  if (!job.ending.refusal.empty()) return fail_launch(job);
  if (job.ending.requeues) {
    requeue(job.info.job_id);
    return;
  }
  if (job.ending.crashes_nodes == 0) return end(job, Ending(job.ending));
  const auto count = std::min(static_cast<std::size_t>(job.ending.crashes_nodes), job.on.size());
  const std::vector<NodeIndex> victims(job.on.end() - static_cast<std::ptrdiff_t>(count), job.on.end());
  // The job itself ends later: when slurmctld has these nodes DOWN.
  for (const NodeIndex node : victims) crash_node(nodes_[node].name);
}

void SimCluster::write_outputs(const Job& job) {
  if (!job.ending.began) return;
  const auto write = [this](const std::string& path, const std::string& text) {
    outputs_[path] = text;
    if (!options_.write_outputs) return;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    std::ofstream(path, std::ios::binary) << text;
  };
  if (job.info.std_err == job.info.std_out) return write(job.info.std_out, job.out + job.err);
  write(job.info.std_out, job.out);
  write(job.info.std_err, job.err);
}

}  // namespace sickbay::sim
