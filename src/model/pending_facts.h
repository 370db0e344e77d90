// SPDX-License-Identifier: Apache-2.0
// PendingFacts: all that slurmctld can say of why one job waits, as plain values at one moment.
//
// adapters/slurm and adapters/sim fill them; engine/pending reads them.  Nodes come sorted into groups by
// what keeps them from the job, never one by one: of 10,000 nodes a few lines are left.  sort_nodes() is that
// sorting, for both.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/slurm_state.h"

namespace sickbay {

/// What the job asks for.  0 and "" are "not said".
struct PendingRequest {
  std::uint32_t min_nodes = 1, max_nodes = 0;  ///< max 0: as min
  std::uint32_t cpus = 0;                      ///< of the whole job
  std::uint32_t cpus_per_node = 0;             ///< at least
  std::int64_t memory_mib = 0;                 ///< of each node, at least
  std::int64_t disk_mib = 0;                   ///< of each node's temporary disk
  std::string features;                        ///< --constraint
  std::string devices;                         ///< GRES of each node, "gpu:2"
  std::string licenses;
  std::vector<std::string> required, excluded;  ///< --nodelist, --exclude; sorted
  std::string reservation;
  std::string dependency;  ///< as scontrol shows it: "afterok:17(unfulfilled)"
  std::string account, qos;
  std::int64_t time_limit_s = 0;  ///< 0: no limit
  TimePoint begin = kNoTime;      ///< not to start before
  TimePoint deadline = kNoTime;
  JobId array_job = 0;               ///< 0: no array
  std::string array_tasks;           ///< "3-10"
  std::uint32_t array_throttle = 0;  ///< most tasks at one time; 0: as many as fit
  friend bool operator==(const PendingRequest&, const PendingRequest&) = default;
};

/// A partition that the job may run in.
struct PendingPartition {
  std::string name;
  std::string state;                           ///< "UP", "DOWN", "DRAIN", "INACTIVE"
  std::int64_t max_time_s = 0;                 ///< 0: no limit
  std::uint32_t min_nodes = 0, max_nodes = 0;  ///< of a job; max 0: no limit
  std::uint32_t max_cpus_per_node = 0;
  std::uint32_t total_nodes = 0;
  std::string allow_accounts, deny_accounts, allow_qos, deny_qos, allow_groups;
  friend bool operator==(const PendingPartition&, const PendingPartition&) = default;
};

/// What keeps a node from the job, if anything.  Later ones are farther from running it.
enum class NodeHurdle : std::uint8_t {
  idle,      ///< nothing
  busy,      ///< other jobs have it, or a part of it
  planned,   ///< kept for a job with a higher priority
  reserved,  ///< a reservation has it now
  drained,   ///< an operator (or Sickbay) lets no new job start there
  down,      ///< failed, powered off or about to boot
  unfit,     ///< it is not what the job asks for
};
std::string_view to_string(NodeHurdle hurdle);
std::optional<NodeHurdle> parse_hurdle(std::string_view word);

/// Nodes that are kept from the job by the same thing.
struct PendingNodes {
  NodeHurdle hurdle = NodeHurdle::idle;
  std::string nodes;  ///< hostlist
  std::uint32_t count = 0;
  std::string reason;  ///< Slurm's reason text of drained and down ones; of unfit ones what they lack
  friend bool operator==(const PendingNodes&, const PendingNodes&) = default;
};

/// A reservation that holds nodes which the job could else run on, now or later.
struct PendingReservation {
  std::string name;
  TimePoint start = kNoTime, end = kNoTime;
  std::string nodes;  ///< of those that fit, hostlist
  std::uint32_t count = 0;
  bool maintenance = false;
  friend bool operator==(const PendingReservation&, const PendingReservation&) = default;
};

struct PendingFacts {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string user, state;             ///< `state`: Slurm's base state; only of "PENDING" the rest is filled
  std::string reason;                  ///< Slurm's word
  std::string reason_detail;           ///< what slurmctld adds to it; usually empty
  bool held = false;                   ///< priority 0
  TimePoint expected_start = kNoTime;  ///< slurmctld's estimate; kNoTime: it has none
  PendingRequest request;
  std::vector<PendingPartition> partitions;      ///< those named that there are, in the job's order
  std::string partition_names;                   ///< as the job names them
  std::vector<PendingNodes> nodes;               ///< of these partitions; by hurdle, then node
  bool private_reservations = false;             ///< PrivateData says so: their names are for operators
  std::vector<PendingReservation> reservations;  ///< by start

  Json to_json() const;
  static PendingFacts from_json(const Json& json);
  friend bool operator==(const PendingFacts&, const PendingFacts&) = default;
};

/// A node as slurmctld shows it, for sort_nodes().
struct NodeOffer {
  std::string name;
  NodeState state;
  std::uint32_t cpus = 0;
  std::int64_t memory_mib = 0, disk_mib = 0;
  std::string features;         ///< "gpu,ib"
  std::string devices;          ///< "gpu:a100:4(S:0-1)"
  std::string reason;           ///< of a drain
  bool in_reservation = false;  ///< in the one that the job asks for
};

/// The most groups with a reason text of their own; further nodes share one group with an empty text.
inline constexpr std::size_t kMostReasonGroups = 20;

/// `offers` in groups.  A node that is both drained and unfit is unfit: its return would not help.
std::vector<PendingNodes> sort_nodes(const PendingRequest& request, const std::vector<NodeOffer>& offers);

/// Whether a node with these features ("gpu,ib") meets `constraint` ("gpu&ib", "[a|b]", "gpu*2&ib").  Counts
/// speak of the whole job: one node then needs one of the parts.  Nothing where it cannot be read.
std::optional<bool> meets_constraint(std::string_view constraint, std::string_view features);

}  // namespace sickbay
