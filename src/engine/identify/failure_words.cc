// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/failure_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/fingerprints.h"
#include "model/srun_message.h"

namespace sickbay::identify {
namespace {

// The signal or the code, as Slurm has it; before it that of the rank which began it (`first`), where it is
// another.
std::string end_words(const Run& run, const std::optional<FirstExit>& first) {
  const std::string slurms = run.job.exit_signal != 0 ? fmt::format("signal {}", run.job.exit_signal)
                                                      : fmt::format("exit code {}", run.job.exit_code);
  if (!first) return slurms;
  return fmt::format("exit code {}{}; {} is of those that srun then ended", first->code,
                     first->task < 0 ? "" : fmt::format(" of task {}", first->task), slurms);
}

// What the output says goes before Slurm's exit code, which a batch script or srun may have made.
std::string exit_words(const Run& run, const std::string& death) {
  if (run.never_began()) return "never began: the node could not open its output (exit code 0:53)";
  const auto first = hidden_exit(run);
  // (The launcher's signal for those that it swept away is no cause.)
  const bool own = run.trace && is_own_fault(run.trace->signal) && !death.empty();
  if (run.trace && run.trace->knows_cause()) {
    return fmt::format("failed: {} ({})", run.trace->cause,
                       !own ? end_words(run, first) : death.substr(std::string_view("died of ").size()));
  }
  std::string text = !death.empty() ? death
                     : run.job.exit_signal != 0 && !first
                         ? "was killed by " + end_words(run, first)
                         : fmt::format("ended as {} with {}", run.job.state, end_words(run, first));
  // Connections that were lost then are no news beside the signal of the one who was at their other end.
  if (run.trace && !own && !run.trace->cause.empty()) text += "; its output says: " + run.trace->cause;
  return text;
}

}  // namespace

bool says_why(const Run& run) { return run.trace && run.trace->cause_tells == Telling::says; }

std::string words_in_brackets(const Run& run) {
  if (!run.trace) return {};
  if (run.trace->knows_cause()) return run.trace->cause;
  return is_own_fault(run.trace->signal) ? run.trace->signal_name : std::string();
}

std::string failure_words(const Run& run) {
  std::string first;  // what the output says of how it began
  if (run.trace && !run.trace->signal_name.empty())
    first = fmt::format("died of {}{}", run.trace->signal_name,
                        run.trace->node.empty() ? "" : " on " + run.trace->node);
  const std::string death = first;
  // (A rank that was swept away, as at the time limit, is no beginning of anything.)
  if (says_why(run) && !is_own_fault(run.trace->signal)) first = fmt::format("said \"{}\"", run.trace->cause);
  const std::string then = first.empty() ? "" : first + ", then ";
  switch (run.symptom) {
    case Symptom::node_dead:
      if (run.was_taken()) return "was ended by Slurm, since a person set its node DOWN";
      if (run.lost_nodes().empty()) return "lost a node, as Slurm says";
      return fmt::format("lost {} {}", run.lost_nodes().size() == 1 ? "node" : "nodes",
                         compress_hostlist(run.lost_nodes()));
    case Symptom::stall:
      if (run.hangs())
        return fmt::format("{}hung ({}) {}", then, run.hang["text"].as_string(),
                           run.cancel_wanted ? "and was ended" : "until its time limit");
      return then + "ran into its time limit";
    case Symptom::abnormal_time:
      return then + "took longer than expected";
    case Symptom::wrong_result:
      return then + "gave a wrong result";
    case Symptom::steps_failed:
      return then + "ended with 0 though a step of it failed";
    default:
      break;
  }
  return exit_words(run, death);
}

std::string words_of_hang_at_its_end(const Run& run) {
  const auto& groups = run.hang["groups"].items();
  const bool some_ended = std::any_of(groups.begin(), groups.end(), [](const Json& group) {
    return group["call"].as_string() != "MPI_Finalize";
  });
  return fmt::format("its work was done, and the MPI library did not end ({} in MPI_Finalize)",
                     some_ended ? "some ranks have ended, the others hang" : "all its ranks hang");
}

}  // namespace sickbay::identify
