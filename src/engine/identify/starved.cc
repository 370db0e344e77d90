// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/starved.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// What is told is up to a third less than what was lost when the run ended (half as much again makes news),
// and the time of a healthy run scatters.
constexpr int kExplains = 3;
constexpr std::size_t kMostOfRun = 16;

std::int64_t thousandths(const Json& json) { return std::clamp<std::int64_t>(json.as_int(), 0, 1000); }

// Half as much as on `cause` is as starved: it was a good run all the same.
bool was_as_starved(const Run& run, const Starved& cause) {
  return std::ranges::any_of(
      run.starved, [&](const Starved& one) { return one.lost_permille() * 2 >= cause.lost_permille(); });
}

}  // namespace

void take_starved(Run& run, const Json& body) {
  Starved told;
  told.node = body["node"].as_string();
  told.process = body["process"].as_string();
  told.seen = std::chrono::seconds(std::clamp<std::int64_t>(body["seconds"].as_int(), 0, 400LL * 24 * 3600));
  told.waited = thousandths(body["waited_permille"]);
  told.stopped = std::min(1000 - told.waited, thousandths(body["stopped_permille"]));
  told.others = body["others_permille"].as_int(-1);
  told.throttled = std::chrono::milliseconds(
      std::clamp<std::int64_t>(body["throttled_ms"].as_int(), 0, 400LL * 24 * 3600 * 1000));
  told.apart = body["apart"].as_bool();
  if (told.node.empty()) return;
  const auto known = std::ranges::find(run.starved, told.node, &Starved::node);
  if (known != run.starved.end())
    *known = std::move(told);
  else if (run.starved.size() < kMostOfRun)
    run.starved.push_back(std::move(told));
}

const Starved* starved_cause(const Case& subject) {
  const Run *first = subject.program(1), *second = subject.program(2);
  if (first == nullptr || second == nullptr || first->outcome != Outcome::failed || !time_matters(*first) ||
      second->outcome != Outcome::ok)
    return nullptr;
  const Starved* cause = nullptr;
  for (const Starved& one : first->starved) {
    if (!one.apart) continue;
    if (cause != nullptr) return nullptr;  // two nodes at once: the program, or the time of day
    cause = &one;
  }
  if (cause == nullptr || !has_host(first->nodes, cause->node) || has_host(second->nodes, cause->node) ||
      was_as_starved(*second, *cause))
    return nullptr;
  const JobInfo &slow = first->job, &good = second->job;
  if (slow.start == kNoTime || slow.end == kNoTime || good.start == kNoTime || good.end == kNoTime)
    return nullptr;
  const Micros longer = (slow.end - slow.start) - (good.end - good.start);
  return cause->lost() * kExplains >= longer ? cause : nullptr;
}

std::string words_of(const Starved& s) {
  const auto percent = [](std::int64_t thousandths) { return (thousandths + 5) / 10; };
  std::string text = s.process.empty() ? "a process" : s.process;
  if (s.waited > 0 || s.stopped == 0)
    text += fmt::format(" waited {} % of {} s for a processor", percent(s.waited), s.seen.count());
  if (s.stopped > 0)
    text += fmt::format("{} was stopped {} % of {}", s.waited > 0 ? " and" : "", percent(s.stopped),
                        s.waited > 0 ? "it" : fmt::format("{} s", s.seen.count()));
  text += " on " + s.node;
  if (s.others >= 0) text += fmt::format(", on the other nodes {} %", percent(s.others));
  if (s.throttled >= std::chrono::seconds(1))
    text += fmt::format("; a quota kept its control group off for {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(s.throttled).count());
  return text;
}

void add_starved_lines(const Case& subject, std::vector<std::string>& why) {
  for (const Run& run : subject.programs)
    for (const Starved& one : run.starved)
      why.push_back(fmt::format("{}: {}{}", run.id.text(), words_of(one),
                                one.apart ? "" : ": that speaks against no node"));
}

}  // namespace sickbay::identify
