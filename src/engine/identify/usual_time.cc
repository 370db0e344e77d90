// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/usual_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/hostlist.h"

namespace sickbay::identify {
namespace {

// Of fewer good runs nobody knows what is usual.
constexpr std::size_t kFewRuns = 3;
// Beside that, by more than the whole seconds of Slurm's stamps and a slow start.
constexpr double kMuchLonger = 1.5;
constexpr std::chrono::seconds kMoreThan{10};

std::optional<std::chrono::seconds> good_time(const Case& c) {
  if (c.programs.empty()) return std::nullopt;
  const Run& first = c.programs.front();
  if (first.outcome != Outcome::ok || first.job.start == kNoTime || first.job.end < first.job.start)
    return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(first.job.end - first.job.start);
}

bool same_job(const Case& a, const Case& b) {
  return a.script_digest == b.script_digest && a.owner.uid == b.owner.uid && a.inputs == b.inputs &&
         a.programs.front().nodes.size() == b.programs.front().nodes.size() &&
         a.programs.front().job.partition == b.programs.front().job.partition;
}

}  // namespace

std::optional<UsualTime> slower_than_usual(const State& state, const Case& c) {
  const auto took = good_time(c);
  if (!took || c.script_digest.empty()) return std::nullopt;
  std::vector<std::chrono::seconds> before;
  for (const auto& [no, other] : state.cases)
    if (no < c.no)
      if (const auto time = good_time(other); time && same_job(c, other)) before.push_back(*time);
  if (before.size() < kFewRuns) return std::nullopt;
  std::sort(before.begin(), before.end());
  const std::chrono::seconds longest = before.back();
  // Against the longest, not the median: what has been so long before is usual.
  if (*took <= longest + kMoreThan || *took < kMuchLonger * longest) return std::nullopt;
  return UsualTime{*took, before[before.size() / 2], longest, static_cast<int>(before.size())};
}

void add_usual_time(const State& state, const Case& c, Verdict& v) {
  const auto time = slower_than_usual(state, c);
  if (!time) return;
  v.why.push_back(
      fmt::format("it took {} on {}; the same job took {} in {} good runs before (median, at most {}): a "
                  "slow node looks so",
                  describe_duration(time->took), compress_hostlist(c.programs.front().nodes),
                  describe_duration(time->median), time->runs, describe_duration(time->longest)));
  v.next.push_back(
      fmt::format("submit with --expect-time={}s: a run that takes longer is then looked into",
                  static_cast<std::int64_t>(kMuchLonger * static_cast<double>(time->longest.count()))));
}

}  // namespace sickbay::identify
