// SPDX-License-Identifier: Apache-2.0
// Verbs of jobs that lose nodes: donors, drops, limits, the FAIL state, spare pools.
//
// Each may be met twice (ports/node_replacement.h): a donor is looked for by its key, and the rest reads what
// is so before it acts.  Whether an order makes sense is its engine's matter; what Slurm cannot do is told in
// words that a user can act on.  Source: doc/design/nonstop_slurm.md.
#include <array>

#include "model/verbs.h"
#include "ports/node_replacement.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

JobHandle job_of(const Json& args) {
  JobHandle job = JobHandle::from_json(args);
  job.key.clear();  // in these arguments it is the donor's
  return job;
}

JobHandle donor_of(const Json& args) {
  return {static_cast<JobId>(args["donor"].as_int()), static_cast<std::uint32_t>(args["uid"].as_int()),
          from_micros(args["donor_submit"].as_int()), args["key"].as_string()};
}

/// What is answered with: the value as JSON, or the error.
template <class T>
Done<T> as_json(Answer answer, Json (*json)(const T&)) {
  return [answer = std::move(answer), json](Result<T> result) {
    if (!result) return answer(fail(std::move(result.error())));
    answer(json(*result));
  };
}

Json donor_json(const Donor& donor) {
  Json json = Json::object({{"donor", donor.job_id},
                            {"submit", to_micros(donor.submit)},
                            {"state", donor.state},
                            {"nodes", donor.nodes}});
  if (donor.expected_start != kNoTime) json.set("expected_start", to_micros(donor.expected_start));
  return json;
}

Json set_json(const NodeSet& set) {
  return Json::object({{"nodes", set.nodes}, {"cpus_per_node", cpu_groups_to_json(set.cpus_per_node)}});
}

Json changed_json(const bool& changed) { return Json::object({{"changed", changed}}); }

// The key of the comment, as that of any submission: "j17.q1.a1" of "j17.q1.a1:donor".
void allocate_donor(VerbTools& tools, const Command& command, bool again, Answer answer) {
  const Json& args = command.args;
  DonorOrder order;
  order.job = job_of(args);
  order.key = command.key.substr(0, command.key.find(':'));
  order.nodes = static_cast<std::uint32_t>(args["nodes"].as_int(1));
  for (const Json& n : args["cpus"].items()) order.cpus.push_back(static_cast<std::uint32_t>(n.as_int()));
  order.exclude = args["exclude"].as_strings();
  order.reservation = args["reservation"].as_string();
  if (args["pool_users"].size() > 0) order.pool_users = args["pool_users"].as_strings();
  order.node_list = args["node_list"].as_strings();
  order.immediate = args["immediate"].as_bool(true);
  order.again = again;
  tools.manager.node_replacement().allocate_donor(std::move(order), as_json<Donor>(answer, donor_json));
}

void give_donor(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.node_replacement().give_donor(job_of(command.args), donor_of(command.args),
                                              command.args["nodes"].as_strings(),
                                              as_json<NodeSet>(answer, set_json));
}

void cancel_donor(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.cancel(donor_of(command.args), [answer](Result<bool> r) {
    // Not there any more is what was wanted.
    if (!r && r.error().code != ErrorCode::not_found) return answer(fail(r.error()));
    answer(Json::object({{"cancelled", r.value_or(false)}}));
  });
}

void drop_nodes(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.node_replacement().drop_nodes(job_of(command.args), command.args["nodes"].as_strings(),
                                              as_json<NodeSet>(answer, set_json));
}

// Absolute minutes, so that a repeat changes nothing (doc/design/decisions.md 16).
void set_time_limit(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.node_replacement().set_time_limit(job_of(command.args), command.args["minutes"].as_int(),
                                                  as_json<std::int64_t>(
                                                      answer, +[](const std::int64_t& minutes) {
                                                        return Json::object({{"minutes", minutes}});
                                                      }));
}

// "sickbay:" in front is what makes the state ours to lift; `by` says whose wish it was.
void fail_node(VerbTools& tools, const Command& command, bool, Answer answer) {
  const std::string& by = command.args["by"].as_string();
  const std::string reason =
      "sickbay:fail " + (by.empty() ? "" : by + ": ") + command.args["reason"].as_string();
  tools.manager.node_replacement().fail_node(command.args["node"].as_string(), reason,
                                             as_json<bool>(answer, changed_json));
}

void unfail_node(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.node_replacement().unfail_node(command.args["node"].as_string(), "sickbay:fail ",
                                               as_json<bool>(answer, changed_json));
}

void set_spare_pool(VerbTools& tools, const Command& command, bool, Answer answer) {
  SparePool pool;
  pool.partition = command.args["partition"].as_string();
  pool.reservation = command.args["reservation"].as_string();
  if (pool.reservation.empty()) pool.reservation = std::string(kSparePoolPrefix) + pool.partition;
  pool.nodes = command.args["nodes"].as_strings();
  if (command.args["users"].size() > 0) pool.users = command.args["users"].as_strings();
  tools.manager.node_replacement().set_spare_pool(
      std::move(pool), as_json<SparePool>(
                           answer, +[](const SparePool& is) {
                             return Json::object({{"reservation", is.reservation}, {"nodes", is.nodes}});
                           }));
}

}  // namespace

std::span<const VerbRow> nonstop_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({
      {verb::kAllocateDonor, allocate_donor, false},
      {verb::kGiveDonor, give_donor},
      {verb::kCancelDonor, cancel_donor},
      {verb::kDropNodes, drop_nodes},
      {verb::kSetTimeLimit, set_time_limit},
      {verb::kFailNode, fail_node},
      {verb::kUnfailNode, unfail_node},
      {verb::kSetSparePool, set_spare_pool},
  });
  return kRows;
}

}  // namespace sickbay
