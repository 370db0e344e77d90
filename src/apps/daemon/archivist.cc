// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/archivist.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "adapters/sqlite/journal.h"
#include "apps/daemon/daemon_log.h"
#include "model/event_kinds.h"
#include "model/ids.h"
#include "service/controller.h"

namespace sickbay {
namespace {

constexpr std::chrono::milliseconds kSoon{50};
constexpr int kShare = 20;                  // of the loop's time one part in so many
constexpr std::size_t kLooksAtOnce = 2000;  // at cases
constexpr std::int64_t kMostAtOnce = 2000;  // events

}  // namespace

void Archivist::Portion::note(Micros took) {
  if (took > kLongest)
    events_ = std::max<std::int64_t>(1, events_ / 2);
  else if (took < kLongest / 2)
    events_ = std::min(events_ * 2, kMostAtOnce);
}

void Archivist::work() {
  const TimePoint began = loop_.now();
  const auto cases = archive_cases();
  if (!cases) return give_up(cases.error());
  // One after the other: each of them may take the whole time.
  const auto jobs = *cases ? Result<bool>(false) : archive_jobs();
  if (!jobs) return give_up(jobs.error());
  const auto took = std::chrono::duration_cast<Micros>(loop_.now() - began);
  const bool more = *cases || *jobs;
  again(more ? std::max<Micros>(kSoon, kShare * took) : Micros(times_.every));
  if (!more && done_) done_();
}

Result<bool> Archivist::archive_cases() {
  const TimePoint began = loop_.now(), before = began - times_.keep;
  const auto& cases = controller_.seats().cases().state().cases;
  std::vector<std::string> subjects;
  std::vector<std::int64_t> numbers;
  auto it = cases.upper_bound(looked_at_);
  for (std::size_t looks = 0; it != cases.end() && looks < kLooksAtOnce; ++it, ++looks) {
    // (A round more, which is a day: something may still have been said of a case after its end.)
    if (!it->second.is_closed() || it->second.closed >= before - times_.every) continue;
    subjects.push_back(case_name(it->first));
    numbers.push_back(it->first);
  }
  bool more = it != cases.end();
  looked_at_ = more ? std::prev(it)->first : 0;
  if (subjects.empty()) return more;
  auto done = journal_.compact(before, subjects, of_cases_.events());
  if (!done) return fail(std::move(done.error()));
  if (done->looked_at < subjects.size()) {
    looked_at_ = numbers[done->looked_at - 1];
    more = true;
  }
  for (const std::string& subject : done->subjects) controller_.forget(subject);
  of_cases_.note(std::chrono::duration_cast<Micros>(loop_.now() - began));
  if (!done->subjects.empty())
    say(fmt::format("event=archived cases={} events={}", done->subjects.size(), done->events));
  return more;
}

Result<bool> Archivist::archive_jobs() {
  const blackhole::State& state = controller_.seats().blackholes().state();
  const TimePoint now = loop_.now();
  const bool something = state.recent.kinds() > 0 || !state.nodes.empty();
  if (something && now >= state.kept_at + times_.keep) {
    // (What is told in the same round before it is not in it, and is lost to live state as to a replay.)
    controller_.take({new_event("jobs", kJobsKept, blackhole::summary(state, now))});
    return false;
  }
  const std::int64_t portion = of_jobs_.events();
  auto done = journal_.compact_before(std::min(now - times_.keep, state.kept_at), "jobs",
                                      static_cast<std::size_t>(portion));
  if (!done) return fail(std::move(done.error()));
  of_jobs_.note(std::chrono::duration_cast<Micros>(loop_.now() - now));
  if (done->events > 0) say(fmt::format("event=archived subject=jobs events={}", done->events));
  return done->events == portion;
}

void Archivist::give_up(const Error& error) {
  looked_at_ = 0;
  say(error.message("sickbayd"));
  again(times_.every);
}

void Archivist::again(Micros in) {
  loop_.at(loop_.now() + in, [this] { work(); });
}

}  // namespace sickbay
