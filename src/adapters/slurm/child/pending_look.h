// SPDX-License-Identifier: GPL-2.0-or-later
// What slurmctld knows of why a job waits: the job, its partitions, their nodes, and reservations on these.
//
// A question costs one query of the job; nodes, partitions and reservations are asked for "if changed since",
// and not again within two seconds, so that a user who asks in a loop loads slurmctld with one small query at
// a time.  What leaves this process is the sorted answer (model/pending_facts.h), not the nodes.
#pragma once
#include <slurm/slurm.h>

#include <chrono>
#include <memory>

#include "adapters/slurm/child/records.h"
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

struct FreeReservations {
  void operator()(reserve_info_msg_t* p) const { slurm_free_reservation_info_msg(p); }
};
using Reservations = std::unique_ptr<reserve_info_msg_t, FreeReservations>;

class PendingLook {
 public:
  /// Args {job_id}; answers the PendingFacts.  Of an array's number: its tasks that wait.  Errors: not_found.
  Result<Json> explain(const Json& args);

 private:
  /// An answer of slurmctld's and when it was last known to hold.
  template <class T>
  struct Kept {
    T answer;
    std::chrono::steady_clock::time_point looked{};
  };
  template <class T, class Load>
  Status renew(Kept<T>& kept, const char* doing, Load load);

  Kept<Nodes> nodes_;
  Kept<Partitions> partitions_;
  Kept<Reservations> reservations_;
  Kept<Conf> configuration_;  ///< only where there are reservations: whether they are private
};

}  // namespace sickbay::slurm
