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
  // A verification whose script says nothing of itself is the real one; another is a program like any other.
  if (job.verification && job.script.find("#SIM") == std::string::npos)
    plan_verification(job);
  else
    plan_program(job);
  job.paced_at = loop_.now();
  job.pace = 0;
  set_pace(job);
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
  job.out += fmt::format("run {} on {}\n", job.run_number, job.info.nodes);
  const bool its_turn =
      does.fail_runs.empty() || std::count(does.fail_runs.begin(), does.fail_runs.end(), job.run_number) > 0;
  const bool fails =
      (does.signal != 0 || does.exit_code != 0 || does.killed != 0) && its_turn && chance(does.flaky);
  for (std::size_t task = 0; task < job.on.size(); ++task) {
    const Node& node = nodes_[job.on[task]];
    if (node.faults.kill_signal != 0 && chance(node.faults.kill_share))
      return kill_rank(job, task, node.faults.kill_signal, kKilledAfter_s);
    if (node.name == does.crash_node) return kill_rank(job, task, does.crash_signal, half);
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
  if (!fails) return;
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
  job.work_left_s = kVerifyWork_s;
  std::vector<VerifiedNode> nodes;
  bool wrong = false, slow = false;
  for (const NodeIndex index : job.on) {
    const Node& node = nodes_[index];
    const bool killed = node.faults.kill_signal != 0 && chance(node.faults.kill_share);
    nodes.push_back({.name = node.name,
                     .killed = killed,
                     .bad_memory = node.faults.bad_memory,
                     .speed = node.faults.speed,
                     .loss = node.faults.loss});
    wrong = wrong || killed || node.faults.bad_memory;
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
  if (job.pace <= 0) return;
  const auto left = Micros(static_cast<std::int64_t>(std::ceil(job.work_left_s / job.pace * 1e6)));
  job.work_timer =
      loop_.at(loop_.now() + left, [this, job_id = job.info.job_id] { work_done(*jobs_.at(job_id)); });
}

void SimCluster::work_done(Job& job) {
  if (job.ending.crashes_nodes == 0) return end(job, Ending(job.ending));
  const auto count = std::min(static_cast<std::size_t>(job.ending.crashes_nodes), job.on.size());
  const std::vector<NodeIndex> victims(job.on.end() - static_cast<std::ptrdiff_t>(count), job.on.end());
  for (const NodeIndex node : victims) crash_node(nodes_[node].name);
}

void SimCluster::write_outputs(const Job& job) {
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
