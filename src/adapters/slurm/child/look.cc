// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/look.h"

#include <slurm/slurm_errno.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "adapters/slurm/child/slurm_error.h"

namespace sickbay::slurm {
namespace {

using Clock = std::chrono::steady_clock;

/// Few jobs are read one by one without asking what a full load would cost.
constexpr std::size_t kFewJobs = 8;
/// A cost measured longer ago than this is measured anew: the number of live jobs changes over a day.
constexpr auto kCostLife = std::chrono::minutes(10);
/// Partitions change by hand only.
constexpr auto kPartitionLife = std::chrono::seconds(30);
/// A slurmctld that restarts faster than we can look is not one to act on.
constexpr int kMostTries = 3;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

template <class T>
Json to_array(const std::vector<T>& items) {
  Json::Array array;
  for (const T& item : items) array.push_back(item.to_json());
  return Json(std::move(array));
}

}  // namespace

// One call for each job, or one for all: by what each cost when it was measured last.
bool Look::one_by_one(std::size_t watched) const {
  if (watched <= kFewJobs && (all_us_ == 0 || each_us_ == 0)) return true;
  const auto now = Clock::now();
  if (all_us_ == 0) return false;
  if (each_us_ == 0) return true;
  const bool cheaper = each_us_ * static_cast<double>(watched) <= all_us_;
  // The dearer way is tried again now and then: jobs come and go by the thousand.
  if (cheaper && watched > kFewJobs && now - all_tried_ > kCostLife) return false;
  if (!cheaper && now - each_tried_ > kCostLife) return true;
  return cheaper;
}

Result<Look::JobsSeen> Look::read_each(const std::vector<JobId>& ids, const std::vector<JobId>& arrays) {
  JobsSeen seen;
  const auto start = Clock::now();
  // The number of an array answers with all its tasks.
  for (const JobId id : arrays) {
    job_info_msg_t* raw = nullptr;
    if (load_job(&raw, id, kJobs) != SLURM_SUCCESS) {
      const int number = errno;
      if (number == ESLURM_INVALID_JOB_ID) continue;
      return fail(slurm_error(number, CallKind::look, "reading a job array"));
    }
    const Jobs answer(raw);
    for (std::uint32_t i = 0; i < answer->record_count; ++i)
      if (answer->job_array[i].array_job_id == id) seen.tasks.push_back(job_info(answer->job_array[i]));
  }
  for (const JobId id : ids) {
    job_info_msg_t* raw = nullptr;
    if (load_job(&raw, id, kJobs) != SLURM_SUCCESS) {
      const int number = errno;
      if (number == ESLURM_INVALID_JOB_ID) {
        seen.absent.push_back(id);
        continue;
      }
      return fail(slurm_error(number, CallKind::look, "reading a job"));
    }
    const Jobs answer(raw);
    bool found = false;
    // A job array answers with all its tasks.
    for (std::uint32_t i = 0; i < answer->record_count && !found; ++i)
      if ((found = answer->job_array[i].job_id == id)) seen.jobs.push_back(job_info(answer->job_array[i]));
    if (!found) seen.absent.push_back(id);
  }
  each_us_ = us_since(start) / static_cast<double>(ids.size() + arrays.size());
  each_tried_ = Clock::now();
  return seen;
}

// A record is made a JobInfo only where it is news: most of a full cluster runs, and was told of.
void Look::add_begun(const job_info_msg_t& all, JobsSeen& seen) {
  for (std::uint32_t i = 0; i < all.record_count; ++i) {
    slurm_job_info_t& record = all.job_array[i];
    const std::uint32_t base = record.job_state & JOB_STATE_BASE;
    if (base == JOB_PENDING || base == JOB_SUSPENDED || record.start_time <= 0) continue;
    const bool ended = base > JOB_SUSPENDED;
    // slurmctld takes nodes off the list of a completing job as they come free: it is told when it is
    // through.
    if (ended && (record.job_state & JOB_COMPLETING) != 0) continue;
    const time_t till = ended ? record.end_time : all.last_update;
    if (told_lives_.is_news(record.job_id, from_unix_seconds(record.start_time), ended,
                            std::chrono::seconds(till - record.start_time)))
      seen.begun.push_back(job_info(record));
  }
  told_lives_.end_look();
}

Result<Look::JobsSeen> Look::read_all(const std::vector<JobId>& ids, const std::vector<JobId>& arrays,
                                      bool begun) {
  const auto start = Clock::now();
  job_info_msg_t* raw = nullptr;
  if (slurm_load_jobs(0, &raw, kJobs) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading all jobs"));
  const Jobs answer(raw);
  std::unordered_map<JobId, slurm_job_info_t*> by_id;
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    by_id.emplace(answer->job_array[i].job_id, &answer->job_array[i]);
  JobsSeen seen;
  if (const std::unordered_set<JobId> wanted(arrays.begin(), arrays.end()); !wanted.empty())
    for (std::uint32_t i = 0; i < answer->record_count; ++i)
      if (wanted.contains(answer->job_array[i].array_job_id))
        seen.tasks.push_back(job_info(answer->job_array[i]));
  for (const JobId id : ids) {
    if (const auto it = by_id.find(id); it != by_id.end())
      seen.jobs.push_back(job_info(*it->second));
    else
      seen.absent.push_back(id);
  }
  if (begun) add_begun(*answer, seen);
  all_us_ = us_since(start);
  all_tried_ = Clock::now();
  return seen;
}

Result<Look::JobsSeen> Look::read_jobs(const std::vector<JobId>& ids, const std::vector<JobId>& arrays,
                                       bool begun) {
  // Who wants to know of all jobs has asked for all, the watched ones among them.
  if (begun) return read_all(ids, arrays, true);
  if (ids.empty() && arrays.empty()) return JobsSeen();
  return one_by_one(ids.size() + arrays.size()) ? read_each(ids, arrays) : read_all(ids, arrays, false);
}

Status Look::read_partitions() {
  if (partitions_ && Clock::now() - partitions_read_ < kPartitionLife) return {};
  partition_info_msg_t* raw = nullptr;
  const time_t seen = partitions_ ? partitions_->last_update : 0;
  if (slurm_load_partitions(seen, &raw, SHOW_ALL) == SLURM_SUCCESS) {
    partitions_.reset(raw);
    nodes_seen_ = 0;  // a node's partitions may have changed though the node did not
  } else if (errno != SLURM_NO_CHANGE_IN_DATA) {
    return fail(slurm_error(errno, CallKind::look, "reading the partitions"));
  }
  partitions_read_ = Clock::now();
  return {};
}

Result<std::optional<Look::NodeMap>> Look::read_nodes() {
  if (auto read = read_partitions(); !read) return fail(std::move(read.error()));
  node_info_msg_t* raw = nullptr;
  // (SHOW_MIXED: the word that sinfo shows, else a node with free CPUs reads ALLOCATED.)
  if (slurm_load_node(nodes_known_ ? nodes_seen_ : 0, &raw, SHOW_ALL | SHOW_MIXED) != SLURM_SUCCESS) {
    if (errno == SLURM_NO_CHANGE_IN_DATA) return std::optional<NodeMap>();
    return fail(slurm_error(errno, CallKind::look, "reading the nodes"));
  }
  const Nodes answer(raw);
  slurm_populate_node_partitions(answer.get(), partitions_.get());
  NodeMap map;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    const node_info_t& record = answer->node_array[i];
    if (!record.name || !*record.name) continue;  // a hole in slurmctld's table (a deleted dynamic node)
    map.emplace(record.name, node_info(record));
  }
  nodes_seen_ = answer->last_update;
  return std::optional<NodeMap>(std::move(map));
}

Result<TimePoint> Look::read_boot_time() {
  slurm_conf_t* raw = nullptr;
  if (slurm_load_ctl_conf(conf_seen_, &raw) != SLURM_SUCCESS) {
    if (errno == SLURM_NO_CHANGE_IN_DATA) return boot_;
    return fail(slurm_error(errno, CallKind::look, "reading slurmctld's boot time"));
  }
  const Conf conf(raw);
  conf_seen_ = conf->last_update;
  return from_unix_seconds(conf->boot_time);
}

Result<Json> Look::refresh(const Json& args) {
  auto answer = look_once(args);
  // What was read is lost with the answer; "not changed since" would hide it for ever.
  if (!answer) {
    nodes_seen_ = 0;
    told_lives_ = {};
  }
  return answer;
}

Result<Json> Look::look_once(const Json& args) {
  std::vector<JobId> ids, arrays;
  for (const Json& id : args["jobs"].items()) ids.push_back(static_cast<JobId>(id.as_int()));
  for (const Json& id : args["arrays"].items()) arrays.push_back(static_cast<JobId>(id.as_int()));
  const bool want_nodes = args["nodes"].as_bool(true);
  const bool want_begun = args["begun"].as_bool();

  JobsSeen seen;
  std::optional<NodeMap> nodes;
  // slurmctld's boot time is read last: if it is another one, jobs and nodes may be of two different lives of
  // it, and all is read anew.
  for (int tries = 1;; ++tries) {
    auto jobs = read_jobs(ids, arrays, want_begun);
    if (!jobs) return fail(std::move(jobs.error()));
    if (want_nodes) {
      auto read = read_nodes();
      if (!read) return fail(std::move(read.error()));
      nodes = std::move(*read);
    }
    auto boot = read_boot_time();
    if (!boot) return fail(std::move(boot.error()));
    seen = std::move(*jobs);
    const bool same = *boot == boot_;
    const bool first = boot_ == kNoTime;
    boot_ = *boot;
    if (same || first) break;
    nodes_seen_ = 0;
    told_lives_ = {};
    if (tries == kMostTries)
      return fail(ErrorCode::slurm_away, "slurmctld restarts again and again while it is looked at");
  }

  Json answer = Json::object({{"controller_boot", to_micros(boot_)},
                              {"jobs", to_array(seen.jobs)},
                              {"tasks", to_array(seen.tasks)},
                              {"begun", to_array(seen.begun)}});
  Json::Array absent;
  for (const JobId id : seen.absent) absent.push_back(id);
  answer.set("absent", std::move(absent));
  std::vector<NodeInfo> changed;
  std::vector<std::string> gone;
  // `full` tells the other side that this is everything, whatever it knew: the first look of this process.
  answer.set("full", nodes && !nodes_known_);
  if (nodes) {
    for (const auto& [name, node] : *nodes)
      if (const auto it = nodes_.find(name); it == nodes_.end() || !(it->second == node))
        changed.push_back(node);
    for (const auto& [name, node] : nodes_)
      if (!nodes->contains(name)) gone.push_back(name);
    nodes_ = std::move(*nodes);
    nodes_known_ = true;
  }
  answer.set("nodes", to_array(changed));
  answer.set("gone", gone);
  return answer;
}

}  // namespace sickbay::slurm
