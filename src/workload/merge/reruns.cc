// SPDX-License-Identifier: Apache-2.0
#include "workload/merge/reruns.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <tuple>

namespace sickbay::workload {
namespace {

// The end of a run: which submission it is of, and when it was.
struct RunEnd {
  std::optional<std::int64_t> submit;
  std::int64_t at = 0;
  const Row* row = nullptr;
};

// TORQUE's R need not say ctime: then it is of the newest submission before it.
std::optional<std::int64_t> submission_of(const Row& end, const std::vector<const Row*>& jobs) {
  if (const auto told = end.find(Num::submit_time)) return told;
  std::optional<std::int64_t> newest;
  for (const Row* job : jobs)
    if (const auto submit = job->find(Num::submit_time); submit && *submit <= end.get(Num::end_time))
      newest = std::max(newest.value_or(*submit), *submit);
  return newest;
}

void begin_after(Row& row, std::int64_t at, std::int64_t restarts) {
  row.set(Num::submit_time, at);
  if (row.has(Num::eligible_time) && row.get(Num::eligible_time) < at) row.set(Num::eligible_time, at);
  row.set(Num::restarts, std::max(row.get(Num::restarts), restarts));
}

}  // namespace

void part_runs(std::vector<const Row*>& jobs, std::vector<const Row*> rows, std::vector<Row>& made) {
  std::vector<RunEnd> ends;
  for (const Row* row : rows)
    if (row->has(Num::end_time)) ends.push_back({submission_of(*row, jobs), row->get(Num::end_time), row});
  const auto key = [](const RunEnd& e) { return std::tuple(e.submit, e.at); };
  std::stable_sort(ends.begin(), ends.end(), [&](const RunEnd& a, const RunEnd& b) {
    // Of the same end told twice, the one that tells more stays.
    return std::tuple(key(a), -std::ptrdiff_t{std::popcount(a.row->nums())}) <
           std::tuple(key(b), -std::ptrdiff_t{std::popcount(b.row->nums())});
  });
  ends.erase(std::unique(ends.begin(), ends.end(),
                         [&](const RunEnd& a, const RunEnd& b) { return key(a) == key(b); }),
             ends.end());

  made.clear();
  made.reserve(jobs.size() + ends.size());  // pointers into it are kept
  const auto ends_of = [&](std::optional<std::int64_t> submit) {
    std::vector<const RunEnd*> own;
    for (const RunEnd& end : ends)
      if (end.submit == submit) own.push_back(&end);
    return own;
  };
  std::vector<bool> begun(ends.size(), false);
  for (const Row*& job : jobs) {
    const auto own = ends_of(job->find(Num::submit_time));
    const auto begin = job->find(Num::start_time);
    const std::int64_t at = begin ? *begin : job->get(Num::end_time);
    const auto behind = static_cast<std::size_t>(
        std::count_if(own.begin(), own.end(), [&](const RunEnd* end) { return end->at <= at; }));
    const bool ended_by_rerun = behind < own.size() && begin && job->kind == RowKind::part;
    if (ended_by_rerun) begun[static_cast<std::size_t>(own[behind] - ends.data())] = true;
    if (behind == 0 && !ended_by_rerun) continue;
    Row& copy = made.emplace_back(*job);
    if (ended_by_rerun) {
      copy.drop(Text::state);  // the end of the run says it
      copy.set(Num::elapsed, own[behind]->at - *begin);
    }
    if (behind > 0) begin_after(copy, own[behind - 1]->at, static_cast<std::int64_t>(behind));
    job = &copy;
  }
  // A run of which the log has no begin has no hours, and is no job: it shows in the restarts of the next.
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto own = ends_of(ends[i].submit);
    const auto place = static_cast<std::size_t>(std::find(own.begin(), own.end(), &ends[i]) - own.begin());
    if (!begun[i] && !ends[i].row->has(Num::start_time) && !jobs.empty()) continue;
    Row& copy = made.emplace_back(*ends[i].row);
    copy.kind = RowKind::part;
    if (!copy.has(Num::submit_time) && ends[i].submit) copy.set(Num::submit_time, *ends[i].submit);
    if (place > 0) begin_after(copy, own[place - 1]->at, static_cast<std::int64_t>(place));
    jobs.push_back(&copy);
  }
}

}  // namespace sickbay::workload
