// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/slurm_replacement.h"

namespace sickbay::slurm {
namespace {

constexpr bool kLook = false, kUpdate = true;

std::vector<RunningJob> running_jobs_from(const Json& json) {
  std::vector<RunningJob> jobs;
  for (const Json& job : json.items()) jobs.push_back(RunningJob::from_json(job));
  return jobs;
}

Donor donor_from(const Json& json) {
  return {static_cast<JobId>(json["donor"].as_int()), from_micros(json["submit"].as_int()),
          json["state"].as_string(), json["nodes"].as_strings(),
          from_micros(json["expected_start"].as_int())};
}

NodeSet node_set_from(const Json& json) {
  return {json["nodes"].as_strings(), cpu_groups_from_json(json["cpus_per_node"])};
}

SparePool pool_from(const Json& json) {
  return {json["partition"].as_string(), json["reservation"].as_string(), json["nodes"].as_strings(),
          json["users"].as_strings()};
}

std::vector<SparePool> pools_from(const Json& json) {
  std::vector<SparePool> pools;
  for (const Json& pool : json.items()) pools.push_back(pool_from(pool));
  return pools;
}

bool yes_no(const Json& json) { return json.as_bool(); }
std::int64_t number(const Json& json) { return json.as_int(); }

}  // namespace

template <class T>
void SlurmReplacement::ask(bool update, std::string call, Json args, T (*read)(const Json&), Done<T> done) {
  ask_(update, std::move(call), std::move(args), [read, done = std::move(done)](Result<Json> answer) {
    if (!answer) return done(fail(std::move(answer.error())));
    done(read(*answer));
  });
}

void SlurmReplacement::running_jobs(std::vector<JobId> also, Done<std::vector<RunningJob>> done) {
  Json::Array ids;
  for (const JobId id : also) ids.push_back(id);
  ask(kLook, "running_jobs", Json::object({{"also", std::move(ids)}}), running_jobs_from, std::move(done));
}

void SlurmReplacement::running_job(JobHandle job, Done<RunningJob> done) {
  ask(kLook, "running_job", job.to_json(), RunningJob::from_json, std::move(done));
}

void SlurmReplacement::allocate_donor(DonorOrder order, Done<Donor> done) {
  Json args = order.to_json();
  args.set("now", to_micros(loop_.now()));
  ask(kUpdate, "allocate_donor", std::move(args), donor_from, std::move(done));
}

void SlurmReplacement::give_donor(JobHandle job, JobHandle donor, std::vector<std::string> nodes,
                                  Done<NodeSet> done) {
  ask(kUpdate, "give_donor",
      Json::object({{"job", job.to_json()}, {"donor", donor.to_json()}, {"nodes", nodes}}), node_set_from,
      std::move(done));
}

void SlurmReplacement::drop_nodes(JobHandle job, std::vector<std::string> nodes, Done<NodeSet> done) {
  ask(kUpdate, "drop_nodes", Json::object({{"job", job.to_json()}, {"nodes", nodes}}), node_set_from,
      std::move(done));
}

void SlurmReplacement::set_time_limit(JobHandle job, std::int64_t minutes, Done<std::int64_t> done) {
  ask(kUpdate, "set_time_limit", Json::object({{"job", job.to_json()}, {"minutes", minutes}}), number,
      std::move(done));
}

void SlurmReplacement::fail_node(std::string node, std::string reason, Done<bool> done) {
  ask(kUpdate, "fail_node", Json::object({{"node", node}, {"reason", reason}}), yes_no, std::move(done));
}

void SlurmReplacement::unfail_node(std::string node, std::string own_reason_prefix, Done<bool> done) {
  ask(kUpdate, "unfail_node", Json::object({{"node", node}, {"prefix", own_reason_prefix}}), yes_no,
      std::move(done));
}

void SlurmReplacement::set_spare_pool(SparePool pool, Done<SparePool> done) {
  ask(kUpdate, "set_spare_pool",
      Json::object({{"partition", pool.partition},
                    {"reservation", pool.reservation},
                    {"nodes", pool.nodes},
                    {"users", pool.users}}),
      pool_from, std::move(done));
}

void SlurmReplacement::spare_pools(Done<std::vector<SparePool>> done) {
  ask(kLook, "spare_pools", Json::object(), pools_from, std::move(done));
}

}  // namespace sickbay::slurm
