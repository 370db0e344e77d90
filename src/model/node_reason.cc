// SPDX-License-Identifier: Apache-2.0
#include "model/node_reason.h"

#include <algorithm>

#include "base/text.h"

namespace sickbay {
namespace {

// From the strings of slurmctld and slurmd 22.05.8 and the sources up to 25.11.  Reasons that only drain are
// among them: a node that was drained so and is lost later keeps them.
constexpr auto kReasons = std::to_array<SlurmReasonRow>({
    {"Not responding", "slurmctld: no answer to its pings for SlurmdTimeout"},
    {"Node unexpectedly rebooted", "slurmctld: it registered with a boot that nobody asked for"},
    {"Kill task failed", "slurmd: processes of a job did not end within UnkillableStepTimeout"},
    {"batch job complete failure", "slurmctld: slurmd could not start a batch job, or not tell of its end",
     true},
    // (Not the node's own: what slurmctld has forgotten runs there still.)
    {"Duplicate jobid", "slurmctld: the node says that a job runs there already"},
    {"Job env setup error", "slurmd: the environment of a job could not be made", true},
    {"Prolog error", "slurmctld: the prolog failed", true},
    {"Epilog error", "slurmctld: the epilog failed"},
    {"SlurmdSpoolDir is full", "slurmd: no room for the job's script", true},
    {"Low RealMemory", "slurmctld: it registered with less memory than configured"},
    {"Low TmpDisk", "slurmctld: it registered with less disk than configured"},
    {"Low socket*core", "slurmctld: it registered with fewer cores than configured"},
    {"Low CPUs", "slurmctld: it registered with fewer processors than configured"},
    {"gres/", "slurmctld: it registered with other generic resources than configured"},
    {"NO NETWORK ADDRESS FOUND", "slurmctld: its name has no address"},
    {"ResumeTimeout reached", "slurmctld: it did not come back from power saving"},
    {"reboot timed out", "slurmctld: it did not come back from a reboot that Slurm was asked for"},
});

constexpr auto kNoSpaceWords =
    std::to_array<std::string_view>({"no space left on device", "disk quota exceeded", "enospc", "edquot"});
constexpr auto kWriteWords = std::to_array<std::string_view>(
    {"disk is full", "disk full", "system full", "cannot write", "can't write", "could not write",
     "unable to write", "write error", "error writing", "write failed", "failed to write"});

const SlurmReasonRow* row_of(std::string_view text) {
  // By its beginning: Slurm puts figures behind some of its words.
  text = trimmed(text);
  const auto row = std::find_if(kReasons.begin(), kReasons.end(),
                                [&](const SlurmReasonRow& each) { return text.starts_with(each.begins); });
  return row == kReasons.end() ? nullptr : &*row;
}

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  std::string lower(text);
  for (char& c : lower) c = to_lower(c);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

std::span<const SlurmReasonRow> slurm_reasons() { return kReasons; }

bool is_slurms_reason(std::string_view text) { return row_of(text) != nullptr; }

bool says_no_launch(std::string_view text) {
  const SlurmReasonRow* row = row_of(text);
  return row != nullptr && row->no_launch;
}

DownBy who_set_down(std::string_view now, std::string_view before, bool silent) {
  if (is_slurms_reason(now)) return DownBy::slurm;
  // Tried on 22.05: Slurm never replaces a reason that is there, so on a node that was drained before it was
  // lost the reason still speaks of the drain.  A person would have written his own.
  if (silent && now == before) return DownBy::slurm;
  return DownBy::operators;
}

bool says_no_space(std::string_view text) { return has_any(text, kNoSpaceWords); }
bool speaks_of_writing(std::string_view text) { return says_no_space(text) || has_any(text, kWriteWords); }

}  // namespace sickbay
