// SPDX-License-Identifier: Apache-2.0
#include "service/watch_queue.h"

#include "model/pending_reason.h"

namespace sickbay {

std::set<std::string> wanted_partitions(const std::vector<WaitingJobs>& queue) {
  std::set<std::string> partitions;
  for (const WaitingJobs& row : queue)
    if (row.jobs > 0 && waits_for_nodes(row.reason)) partitions.insert(row.partition);
  return partitions;
}

}  // namespace sickbay
