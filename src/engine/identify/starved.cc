// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/starved.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// With as much of the processors as the good run had, the failed one must have been as quick, but for so many
// hundredths more: the time of a healthy run scatters, and so does what is seen of it.  A program that hung
// had in its time more than the good run needed in all, and other work is not why it did not end.
constexpr int kAsQuick = 125;
constexpr std::int64_t kTooMuch = 333;  // thousandths of a re-run's time
constexpr std::size_t kMostOfRun = 16;

std::int64_t thousandths(const Json& json) { return std::clamp<std::int64_t>(json.as_int(), 0, 1000); }

// Which part of `ran` the processes of a node lost, in thousandths.  More than half as much again as was told
// they have not lost: that would have been told, too (service/starved_watch.h).
std::int64_t share_of(const Starved& one, Micros ran) {
  return std::min(one.lost_permille(), one.lost() * 1500 / std::max(ran, Micros(1)));
}

// How long the failed run would have taken, had it lost no more of its time than the good one did.
Micros without_loss(const Starved& cause, Micros slow, const Run& good, Micros good_ran) {
  std::int64_t usual = 0;
  for (const Starved& one : good.starved) usual = std::max(usual, share_of(one, good_ran));
  const std::int64_t lost = share_of(cause, slow);
  return lost <= usual ? slow : slow * (1000 - lost) / (1000 - usual);
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
  const Starved* cause = held_up_by(*first);
  if (cause == nullptr || !has_host(first->nodes, cause->node) || has_host(second->nodes, cause->node))
    return nullptr;
  const JobInfo &slow = first->job, &good = second->job;
  if (slow.start == kNoTime || slow.end == kNoTime || good.start == kNoTime || good.end == kNoTime)
    return nullptr;
  const Micros slow_ran = slow.end - slow.start, good_ran = good.end - good.start;
  const Micros else_ran = without_loss(*cause, slow_ran, *second, good_ran);
  return else_ran < slow_ran && else_ran * 100 <= good_ran * kAsQuick ? cause : nullptr;
}

const Starved* held_up_by(const Run& run) {
  const Starved* node = nullptr;
  for (const Starved& one : run.starved) {
    if (!one.apart) continue;
    if (node != nullptr) return nullptr;  // two nodes at once: the program, or the time of day
    node = &one;
  }
  return node;
}

bool starved_each_time(const Case& subject) {
  int failures = 0;
  for (const Run& run : subject.programs) {
    if (run.outcome != Outcome::failed) continue;
    if (!time_matters(run) || run.starved.empty()) return false;
    ++failures;
  }
  return failures >= 2;
}

bool starved_in_rerun(const Case& subject) {
  const Run* run = subject.program(2);
  if (run == nullptr || run->outcome != Outcome::failed || !time_matters(*run)) return false;
  if (run->job.start == kNoTime || run->job.end == kNoTime) return false;
  const Micros ran = run->job.end - run->job.start;
  return std::ranges::any_of(run->starved,
                             [&](const Starved& one) { return share_of(one, ran) >= kTooMuch; });
}

bool speaks_against_node(const Run& run, const Starved& starved) {
  return starved.apart && !run.hangs_however_fast();
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
                                speaks_against_node(run, one) ? "" : ": that speaks against no node"));
}

}  // namespace sickbay::identify
