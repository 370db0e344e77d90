// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/archivist.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adapters/sqlite/journal.h"
#include "apps/daemon/daemon_log.h"
#include "model/event_kinds.h"
#include "model/ids.h"
#include "service/controller.h"

namespace sickbay {
namespace {

constexpr std::chrono::hours kDay{24}, kKeep{30 * 24};
constexpr std::chrono::seconds kSoon{1};
constexpr std::size_t kCasesAtOnce = 20;  // two commits each
// Each may name some hundred jobs: a portion is some megabytes, and the loop waits for it.
constexpr std::size_t kJobsAtOnce = 200;

}  // namespace

void Archivist::work() {
  const auto cases = archive_cases();
  if (!cases) return give_up(cases.error());
  const auto jobs = archive_jobs();
  if (!jobs) return give_up(jobs.error());
  again(*cases || *jobs ? kSoon : kDay);
}

Result<bool> Archivist::archive_cases() {
  const TimePoint before = loop_.now() - kKeep;
  std::vector<std::string> subjects;
  for (const auto& [no, subject] : controller_.seats().cases().state().cases)
    // (A day more: something may still have been said of a case after its end.)
    if (subject.is_closed() && subject.closed < before - kDay && subjects.size() < kCasesAtOnce)
      subjects.push_back(case_name(no));
  if (subjects.empty()) return false;
  auto done = journal_.compact(before, subjects);
  if (!done) return fail(std::move(done.error()));
  for (const std::string& subject : subjects) controller_.forget(subject);
  say(fmt::format("event=archived cases={} events={}", done->subjects, done->events));
  return subjects.size() == kCasesAtOnce;
}

Result<bool> Archivist::archive_jobs() {
  const blackhole::State& state = controller_.seats().blackholes().state();
  const TimePoint now = loop_.now();
  const bool something = state.recent.kinds() > 0 || !state.nodes.empty();
  if (something && now >= state.kept_at + kKeep) {
    // (What is told in the same round before it is not in it, and is lost to live state as to a replay.)
    controller_.take({new_event("jobs", kJobsKept, blackhole::summary(state, now))});
    return false;
  }
  auto done = journal_.compact_before(std::min(now - kKeep, state.kept_at), "jobs", kJobsAtOnce);
  if (!done) return fail(std::move(done.error()));
  if (done->events > 0) say(fmt::format("event=archived subject=jobs events={}", done->events));
  return done->events == static_cast<std::int64_t>(kJobsAtOnce);
}

void Archivist::give_up(const Error& error) {
  say(error.message("sickbayd"));
  again(kDay);
}

void Archivist::again(std::chrono::seconds in) {
  loop_.at(loop_.now() + in, [this] { work(); });
}

}  // namespace sickbay
