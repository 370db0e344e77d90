// SPDX-License-Identifier: Apache-2.0
#include "service/failures_api.h"

#include <fmt/format.h>

#include <set>

#include "base/hostlist.h"
#include "engine/identify/signs.h"
#include "engine/identify/unasked.h"
#include "model/ids.h"

namespace sickbay {
namespace {

using identify::unasked::Evidence;

// What "at the time" is: so long before its start others may have started, or its own kind elsewhere.
constexpr std::chrono::hours kBefore{1};

// What engines know, put together as the table wants it (engine/identify/unasked.h).
Evidence evidence_of(const JobOutcome& job, const Seats& seats) {
  Evidence e;
  e.job = job;
  const TimePoint from = job.start - kBefore, end = job.start + job.lived;
  const blackhole::State& holes = seats.blackholes().state();
  for (const std::string& node : job.nodes) {
    if (seats.cluster().view.is_lost(node)) e.lost.push_back(node);
    const auto hole = holes.nodes.find(node);
    if (hole != holes.nodes.end() && hole->second.black && job.failed_early() &&
        job.start >= hole->second.told.since)
      e.holes.emplace_back(node, blackhole::sentence(node, hole->second.told));
    const auto& records = seats.cases().state().records;
    if (const auto record = records.find(node); record != records.end())
      for (const identify::Sign& sign : record->second.signs)
        if (identify::was_there(sign, job.start, end))
          e.findings.emplace_back(node, sign.source + " " + sign.rule + ": " + sign.text);
  }
  std::set<std::uint32_t> failed_users;
  for (const blackhole::Kept& kept : holes.recent.all()) {
    const JobOutcome& other = kept.outcome;
    if (other.uid == job.uid || other.start < from || hosts_in_both(other.nodes, job.nodes).empty()) continue;
    if (other.failed_early())
      ++e.others_failed, failed_users.insert(other.uid);
    else if (other.passed_early())
      ++e.others_passed;
  }
  e.others_failed_users = failed_users.size();
  for (const blackhole::Kept& kept : holes.recent.of({job.uid, job.program})) {
    const JobOutcome& other = kept.outcome;
    if (other.start < from || other.nodes.empty() || !hosts_in_both(other.nodes, job.nodes).empty()) continue;
    if (other.failed)
      ++e.kin_failed;
    else if (other.passed_early())
      ++e.kin_passed;
  }
  return e;
}

}  // namespace

void FailureEndpoints::explain(Api& api, Api::Call& c) {
  const auto asked = parse_job_id(c.part);
  if (!asked) return c.refuse(asked.error());
  const Seats& seats = api.controller_.seats();
  const blackhole::Kept* kept = seats.blackholes().state().recent.job(*asked);
  if (kept == nullptr)
    return c.refuse(
        Error(ErrorCode::not_found, fmt::format("nothing is kept of job {}", c.part))
            .because(
                seats.cases().policy().all_jobs
                    ? "jobs are kept for three days, of one user and program the last 32"
                    : "it was not submitted through Sickbay, and 'identify.jobs' is \"submitted\" here"));
  const JobOutcome& job = kept->outcome;
  if (!c.by_operator && job.uid != c.request.caller.uid)
    return c.refuse(Error(ErrorCode::denied, fmt::format("job {} belongs to another user", c.part))
                        .remedied_by("its owner and operators may ask why it failed"));
  if (job.state.empty())
    return c.refuse(
        Error(ErrorCode::conflict, fmt::format("job {} did not fail", c.part))
            .because(job.ended ? "it ended well, or was cancelled" : "it ran when it was seen last"));
  const Evidence evidence = evidence_of(job, seats);
  c.answer(200, Json::object({{"job_id", job.job},
                              {"uid", job.uid},
                              {"unasked", job.to_json()},
                              {"state", "closed"},
                              {"verdict", identify::unasked::judge(evidence, kept->at).to_json()}}));
}

}  // namespace sickbay
