// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/pending_look.h"

#include <fmt/format.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <set>

#include "adapters/slurm/child/fields.h"
#include "adapters/slurm/child/slurm_error.h"
#include "base/hostlist.h"
#include "model/job.h"
#include "model/pending_facts.h"

namespace sickbay::slurm {
namespace {

/// An answer that is no older is good enough: the scheduler itself looks at the queue every few seconds.
constexpr std::chrono::seconds kFresh{2};

std::int64_t seconds_or_none(std::uint32_t minutes) { return std::int64_t{number_or_none(minutes)} * 60; }

std::vector<std::string> hosts(const char* hostlist) {
  return sorted_hosts(expand_hostlist(text(hostlist)).value_or(std::vector<std::string>()));
}

struct PartitionState {
  std::uint16_t value;
  std::string_view name;
};
constexpr auto kPartitionStates = std::to_array<PartitionState>({
    {PARTITION_UP, "UP"},
    {PARTITION_DOWN, "DOWN"},
    {PARTITION_DRAIN, "DRAIN"},
    {PARTITION_INACTIVE, "INACTIVE"},
});

PendingPartition partition_of(const partition_info_t& record) {
  PendingPartition partition;
  partition.name = text(record.name);
  for (const PartitionState& row : kPartitionStates)
    if (row.value == record.state_up) partition.state = row.name;
  partition.max_time_s = seconds_or_none(record.max_time);
  partition.min_nodes = number_or_none(record.min_nodes);
  partition.max_nodes = number_or_none(record.max_nodes);
  partition.max_cpus_per_node = number_or_none(record.max_cpus_per_node);
  partition.total_nodes = record.total_nodes;
  partition.allow_accounts = text(record.allow_accounts);
  partition.deny_accounts = text(record.deny_accounts);
  partition.allow_qos = text(record.allow_qos);
  partition.deny_qos = text(record.deny_qos);
  partition.allow_groups = text(record.allow_groups);
  return partition;
}

std::int64_t memory_of_node(const slurm_job_info_t& record) {
  const std::uint64_t memory = record.pn_min_memory;
  if (memory == NO_VAL64) return 0;
  // Of each CPU: a node gives at least one to the job.
  if ((memory & MEM_PER_CPU) != 0)
    return static_cast<std::int64_t>((memory & ~MEM_PER_CPU) *
                                     std::max<std::uint64_t>(1, number_or_none(record.pn_min_cpus)));
  return static_cast<std::int64_t>(memory);
}

PendingRequest request_of(const slurm_job_info_t& record) {
  PendingRequest request;
  request.min_nodes = std::max(1U, number_or_none(record.num_nodes));
  request.max_nodes = number_or_none(record.max_nodes);
  request.cpus = number_or_none(record.num_cpus);
  request.cpus_per_node = number_or_none(record.pn_min_cpus);
  request.memory_mib = memory_of_node(record);
  request.disk_mib = number_or_none(record.pn_min_tmp_disk);
  request.features = text(record.features);
  request.devices = text(record.tres_per_node);
  request.licenses = text(record.licenses);
  request.required = hosts(record.req_nodes);
  request.excluded = hosts(record.exc_nodes);
  request.reservation = text(record.resv_name);
  request.dependency = text(record.dependency);
  request.account = text(record.account);
  request.qos = text(record.qos);
  request.time_limit_s = limit_seconds(number_or_none(record.time_limit));
  request.begin = time_or_none(record.eligible_time);
  request.deadline = time_or_none(record.deadline);
  request.array_job = number_or_none(record.array_job_id);
  request.array_tasks = text(record.array_task_str);
  request.array_throttle = number_or_none(record.array_max_tasks);
  return request;
}

/// The record that is meant: of an array's number the tasks that still wait, where that is not the first one.
slurm_job_info_t* record_of(job_info_msg_t& answer, JobId id) {
  slurm_job_info_t* found = nullptr;
  for (std::uint32_t i = 0; i < answer.record_count; ++i) {
    slurm_job_info_t& record = answer.job_array[i];
    const bool waits = (record.job_state & JOB_STATE_BASE) == JOB_PENDING;
    if (record.job_id == id && (waits || record.array_job_id != id)) return &record;
    if (record.job_id == id || (waits && record.array_job_id == id && found == nullptr)) found = &record;
  }
  return found;
}

/// The reservations that are no use to this job: others' that have not ended, with what they take of `fit`.
std::vector<PendingReservation> reservations_on(const reserve_info_msg_t& answer, const std::string& own,
                                                const std::vector<std::string>& fit) {
  std::vector<PendingReservation> list;
  const time_t now = ::time(nullptr);
  for (std::uint32_t i = 0; i < answer.record_count; ++i) {
    const reserve_info_t& record = answer.reservation_array[i];
    if (record.end_time <= now || text(record.name) == own) continue;
    const auto taken = hosts_in_both(fit, hosts(record.node_list));
    if (taken.empty()) continue;
    list.push_back({.name = text(record.name),
                    .start = time_or_none(record.start_time),
                    .end = time_or_none(record.end_time),
                    .nodes = compress_hostlist(taken),
                    .count = static_cast<std::uint32_t>(taken.size()),
                    .maintenance = (record.flags & RESERVE_FLAG_MAINT) != 0});
  }
  std::ranges::sort(list, {}, &PendingReservation::start);
  return list;
}

}  // namespace

template <class T, class Load>
Status PendingLook::renew(Kept<T>& kept, const char* doing, Load load) {
  const auto now = std::chrono::steady_clock::now();
  if (kept.answer && now - kept.looked < kFresh) return {};
  typename T::pointer raw = nullptr;
  // With the time of the last answer slurmctld sends nothing where nothing has changed.
  if (load(kept.answer ? kept.answer->last_update : 0, &raw) == SLURM_SUCCESS)
    kept.answer.reset(raw);
  else if (errno != SLURM_NO_CHANGE_IN_DATA)
    return fail(slurm_error(errno, CallKind::look, doing));
  kept.looked = now;
  return {};
}

Result<Json> PendingLook::explain(const Json& args) {
  const auto id = static_cast<JobId>(args["job_id"].as_int());
  job_info_msg_t* raw = nullptr;
  if (load_job(&raw, id, kJobs) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, fmt::format("reading job {}", id)));
  const Jobs jobs(raw);
  slurm_job_info_t* record = record_of(*jobs, id);
  if (record == nullptr) return fail(ErrorCode::not_found, fmt::format("slurmctld knows no job {}", id));

  const JobInfo job = job_info(*record);
  PendingFacts facts;
  facts.job_id = id;
  facts.uid = job.uid;
  facts.user = text(record->user_name);
  facts.state = job.state;
  facts.request = request_of(*record);
  if (job.state != "PENDING") return facts.to_json();
  facts.reason = job.reason;
  facts.reason_detail = text(record->state_desc);
  facts.held = job.held;
  facts.expected_start = time_or_none(record->start_time);
  facts.partition_names = job.partition;

  auto looked = renew(nodes_, "reading the nodes", [](time_t since, node_info_msg_t** into) {
    return slurm_load_node(since, into, SHOW_ALL | SHOW_MIXED);
  });
  if (looked)
    looked = renew(partitions_, "reading the partitions", [](time_t since, partition_info_msg_t** into) {
      return slurm_load_partitions(since, into, SHOW_ALL);
    });
  if (looked)
    looked = renew(reservations_, "reading the reservations", [](time_t since, reserve_info_msg_t** into) {
      return slurm_load_reservations(since, into);
    });
  if (!looked) return fail(std::move(looked.error()));

  std::set<std::string, std::less<>> names;  // of the nodes in its partitions
  for (std::string_view rest = job.partition; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    for (std::uint32_t i = 0; i < partitions_.answer->record_count; ++i) {
      const partition_info_t& partition = partitions_.answer->partition_array[i];
      if (text(partition.name) != rest.substr(0, comma)) continue;
      facts.partitions.push_back(partition_of(partition));
      for (std::string& name : hosts(partition.nodes)) names.insert(std::move(name));
    }
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  std::vector<std::string> reserved;  // to this job
  for (std::uint32_t i = 0; i < reservations_.answer->record_count; ++i)
    if (const reserve_info_t& r = reservations_.answer->reservation_array[i];
        !facts.request.reservation.empty() && text(r.name) == facts.request.reservation)
      reserved = hosts(r.node_list);

  std::vector<NodeOffer> offers;
  for (std::uint32_t i = 0; i < nodes_.answer->record_count; ++i) {
    const node_info_t& node = nodes_.answer->node_array[i];
    if (!node.name || !names.contains(node.name)) continue;
    NodeOffer offer;
    offer.name = node.name;
    if (const auto state = node_state_from_word(node.node_state)) offer.state = *state;
    // (Efctv: without the cores that the site has set aside; older slurmctlds do not tell it.)
    offer.cpus = node.cpus_efctv != 0 ? node.cpus_efctv : node.cpus;
    offer.memory_mib = static_cast<std::int64_t>(node.real_memory);
    offer.disk_mib = node.tmp_disk;
    offer.features = text(node.features);
    offer.devices = text(node.gres);
    offer.reason = text(node.reason);
    offer.in_reservation = has_host(reserved, node.name);
    offers.push_back(std::move(offer));
  }
  facts.nodes = sort_nodes(facts.request, offers);
  std::vector<std::string> fit;
  for (const PendingNodes& group : facts.nodes)
    if (group.hurdle != NodeHurdle::unfit) fit = hosts_in_either(fit, hosts(group.nodes.c_str()));
  facts.reservations = reservations_on(*reservations_.answer, facts.request.reservation, fit);
  // Names of private reservations are not for everybody: whether they are private is asked only where there
  // are any.
  if (!facts.reservations.empty()) {
    looked = renew(configuration_, "reading slurmctld's configuration", slurm_load_ctl_conf);
    if (!looked) return fail(std::move(looked.error()));
    facts.private_reservations = (configuration_.answer->private_data & PRIVATE_DATA_RESERVATIONS) != 0;
  }
  return facts.to_json();
}

}  // namespace sickbay::slurm
