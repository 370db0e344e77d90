// SPDX-License-Identifier: Apache-2.0
#include "service/watch_all.h"

#include <algorithm>
#include <map>

#include "model/job_outcome.h"

namespace sickbay {

std::optional<Event> outcome_news(const std::vector<JobInfo>& begun, TimePoint now, Micros lives) {
  std::vector<JobOutcome> all;
  for (const JobInfo& job : begun) {
    if (job.comment.find("sickbay:") != std::string::npos) continue;
    auto outcome = outcome_of(job, now);
    if (!outcome || (!outcome->ended && outcome->lived < lives)) continue;
    all.push_back(std::move(*outcome));
  }
  if (all.empty()) return std::nullopt;
  // Failures first: of a user with many jobs they are what is asked about.
  std::ranges::stable_sort(all, [](const JobOutcome& a, const JobOutcome& b) {
    return std::pair(!a.failed, a.job) < std::pair(!b.failed, b.job);
  });
  // In turns: the first of each user, then the second of each.
  std::map<std::uint32_t, std::size_t> said;
  std::vector<std::pair<std::size_t, const JobOutcome*>> turns;
  for (const JobOutcome& outcome : all)
    if (const std::size_t turn = said[outcome.uid]++; turn < kMostOutcomesOfUser)
      turns.emplace_back(turn, &outcome);
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  if (turns.size() > kMostOutcomes) turns.resize(kMostOutcomes);
  Json list = Json::array();
  for (const auto& [turn, outcome] : turns) list.push(outcome->to_json());
  Event event = new_event("jobs", kJobsEnded, Json::object());
  event.body.set("outcomes", std::move(list));
  if (const std::size_t left_out = all.size() - turns.size(); left_out > 0)
    event.body.set("left_out", left_out);
  return event;
}

}  // namespace sickbay
