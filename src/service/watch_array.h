// SPDX-License-Identifier: Apache-2.0
// How the watch sees a job array: many records of Slurm's become few events.
//
// slurmctld has one record, under the array's own number, for all tasks that wait, and one for each that has
// started; the last to start takes over the array's number (tried on 22.05).  An array may have thousands of
// tasks, so none has an event of its own: `array_seen` tells what has ended since it was last told, and comes
// at the first look, when the first task runs, when one has failed, with each tenth of the array, and at the
// end.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "model/event.h"
#include "model/job.h"
#include "service/seat.h"

namespace sickbay {

/// What one look says of an array.
struct ArrayLook {
  std::optional<Event> news;
  TaskIds missing;       ///< expected, and in no record
  bool nothing = false;  ///< no record at all
};

/// What `records` (slurmctld's, and accounting's of tasks that it has forgotten) say of a watched array.
/// `nodes_before`: nodes of tasks as last seen running, by job id, for slurmctld takes those that come free
/// off a completing job.  `now`: a preempted task that is not requeued has ended after a while.
ArrayLook look_at_array(const WatchedJob& watched, std::span<const JobInfo> records,
                        const std::map<JobId, std::string>& nodes_before, TimePoint now);

/// The nodes of the tasks that run, by job id.
std::map<JobId, std::string> nodes_of_running(std::span<const JobInfo> records);

}  // namespace sickbay
