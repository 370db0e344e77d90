// SPDX-License-Identifier: Apache-2.0
#include "model/task_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace sickbay {
namespace {

tl::unexpected<Error> bad(std::string_view text) {
  return fail(
      Error(ErrorCode::bad_input, fmt::format("{} names no tasks of an array", quote_for_message(text, 60)))
          .because("it is not a list of numbers and ranges below 4000001")
          .remedied_by("write it as sbatch takes it: 0-5,7 or 0-15:4 or 1-19%4"));
}

bool take_number(std::string_view& text, TaskId& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<TaskIds> TaskIds::parse(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (take_char(rest, '[')) {
    if (!rest.ends_with(']')) return bad(text);
    rest.remove_suffix(1);
  }
  TaskIds ids;
  do {
    TaskId from = 0, step = 1;
    if (!take_number(rest, from)) return bad(text);
    TaskId to = from;
    if (take_char(rest, '-') && !take_number(rest, to)) return bad(text);
    if (take_char(rest, ':') && (!take_number(rest, step) || step == 0)) return bad(text);
    if (to < from || to > kMostTaskId) return bad(text);
    if (step == 1) {
      ids.add(from, to);
      continue;
    }
    // (64 bits: the sum may pass what a TaskId holds.)
    for (std::uint64_t id = from; id <= to; id += step) ids.add(static_cast<TaskId>(id));
  } while (take_char(rest, ','));
  TaskId throttle = 0;
  // How many may run at one time: read, and of no interest to a set.
  if (take_char(rest, '%') && !take_number(rest, throttle)) return bad(text);
  if (!rest.empty()) return bad(text);
  return ids;
}

void TaskIds::add(TaskId from, TaskId to) {
  // The first range that it reaches or touches; those that it swallows go.
  auto at =
      std::ranges::lower_bound(ranges_, from, {}, [](const auto& r) { return std::uint64_t{r.second} + 1; });
  auto end = at;
  while (end != ranges_.end() && end->first <= std::uint64_t{to} + 1) {
    from = std::min(from, end->first);
    to = std::max(to, end->second);
    ++end;
  }
  at = ranges_.erase(at, end);
  ranges_.insert(at, {from, to});
}

void TaskIds::add(const TaskIds& others) {
  for (const auto& [from, to] : others.ranges_) add(from, to);
}

void TaskIds::remove(const TaskIds& others) {
  std::vector<std::pair<TaskId, TaskId>> left;
  auto other = others.ranges_.begin();
  for (auto [from, to] : ranges_) {
    while (other != others.ranges_.end() && other->second < from) ++other;
    bool gone = false;
    for (auto cut = other; cut != others.ranges_.end() && cut->first <= to && !gone; ++cut) {
      if (cut->first > from) left.emplace_back(from, cut->first - 1);
      gone = cut->second >= to;
      from = cut->second + 1;
    }
    if (!gone) left.emplace_back(from, to);
  }
  ranges_ = std::move(left);
}

bool TaskIds::contains(TaskId id) const {
  const auto at = std::ranges::lower_bound(ranges_, id, {}, &std::pair<TaskId, TaskId>::second);
  return at != ranges_.end() && at->first <= id;
}

std::size_t TaskIds::size() const {
  std::size_t count = 0;
  for (const auto& [from, to] : ranges_) count += to - from + 1;
  return count;
}

std::vector<TaskId> TaskIds::list() const {
  std::vector<TaskId> all;
  all.reserve(size());
  for (const auto& [from, to] : ranges_)
    for (TaskId id = from; id <= to; ++id) all.push_back(id);
  return all;
}

std::string TaskIds::text() const {
  std::string text;
  for (const auto& [from, to] : ranges_) {
    if (!text.empty()) text += ',';
    text += from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
  }
  return text;
}

}  // namespace sickbay
