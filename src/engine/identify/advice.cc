// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "base/hostlist.h"
#include "engine/identify/evidence.h"
#include "engine/identify/lossy.h"
#include "engine/identify/rerun.h"
#include "engine/identify/starved.h"
#include "model/srun_message.h"

namespace sickbay::identify {
namespace {

// sbatch's patterns, as far as the job itself tells them: the batch script is task 0 on its first node.
// Nothing for one that we cannot tell: a name that is half right is no help.
std::optional<std::string> pattern_value(char pattern, const Run& run) {
  const JobInfo& job = run.job;
  switch (pattern) {
    case '%':
      return "%";
    case 'j':
    case 'A':
      return std::to_string(job.job_id);
    case 'x':
      return job.name;
    case 'N':
      return run.nodes.empty() ? std::optional<std::string>() : run.nodes.front();
    case 'n':
    case 't':
      return "0";
    case 's':
      return "batch";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string written_name(const std::string& path, const Run& run) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      text += path[i];
      continue;
    }
    std::size_t width = 0, at = i + 1;
    while (at < path.size() && std::isdigit(static_cast<unsigned char>(path[at])))
      // sbatch pads to 10 places at most.
      width = std::min<std::size_t>(width * 10 + static_cast<std::size_t>(path[at++] - '0'), 10);
    if (at >= path.size()) return "";
    auto value = pattern_value(path[at], run);
    if (!value) return "";
    // It pads what is a number by its kind: %5N is the name as it is (sbatch(1), filename pattern).
    const bool number = std::string_view("jAnt").find(path[at]) != std::string_view::npos;
    if (number && value->size() < width) value->insert(0, width - value->size(), '0');
    text += *value;
    i = at;
  }
  return text;
}

std::string completed_sentence(const Run& first) {
  if (first.symptom != Symptom::steps_failed) {
    // Nobody failed, and nobody is blamed; who wonders why it took so long is told.
    if (const Starved* one = held_up_by(first))
      return fmt::format("The job completed, held up: {}.", words_of(*one));
    if (first.lossy) return fmt::format("The job completed, held up: {}.", words_of(*first.lossy));
    return "The job completed; nothing to explain.";
  }
  const int code = first.job.step_exit_code;
  const int signal = first.job.step_exit_signal != 0 ? first.job.step_exit_signal
                     : code > 128                    ? code - 128
                                                     : 0;
  const std::string name = signal != 0 ? signal_name(signal) : "";
  return fmt::format(
      "The job completed, but a step failed with {}{}.",
      first.job.step_exit_signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", code),
      name.empty() ? "" : " (" + name + ")");
}

std::string output_to_look_at(const Run& run) {
  // MPI's words go to the error output; where there is no such file, both are in one.
  for (const std::string& name : {run.job.std_err, run.job.std_out}) {
    std::string path = written_name(name, run);
    if (!path.empty() && path != "/dev/null") return path;
  }
  return "";
}

std::string dependents_advice(const Case& c) {
  if (!c.options.deliver || c.programs.empty()) return "";
  for (auto run = c.programs.rbegin(); run != c.programs.rend() && run->id.n > 1; ++run) {
    if (!run->bound || (ended(run->outcome) && run->outcome != Outcome::ok)) continue;
    const JobId failed = c.programs.front().job.job_id, result = run->job.job_id;
    return fmt::format(
        "job {} ({}) {}: jobs that wait for job {} with afterok stay in the queue "
        "(DependencyNeverSatisfied) until you point them to it: scontrol update JobId=JOB "
        "Dependency=afterok:{}",
        result, run->id.text(),
        run->outcome == Outcome::ok ? "is your result" : "is to be your result, once it has completed",
        failed, result);
  }
  return "";
}

std::string undelivered_note(const Case& c) {
  // With another cause none was promised.
  if (!c.options.deliver || c.array || c.programs.empty() || !c.verdict || c.verdict->cause != Cause::node)
    return "";
  const Run& last = c.programs.back();
  for (const Run& run : c.programs)
    if (run.id.n > 1 && run.outcome == Outcome::ok) return "";
  std::string why;
  if (last.id.n > 1)
    why = fmt::format("{} {}{}", last.id.text(), to_string(last.outcome),
                      last.refusal.empty() ? "" : " (" + last.refusal + ")");
  else if (c.reruns.asking)
    why = "nobody had answered whether the program may run again";
  else if (why = why_no_rerun(c); why.empty())
    why = "no second run was started before the verdict";
  return "nothing was delivered: " + why + "; submit the job again";
}

}  // namespace sickbay::identify
