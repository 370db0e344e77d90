// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/archivist.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "adapters/sqlite/journal.h"
#include "apps/daemon/daemon_log.h"
#include "model/ids.h"
#include "service/controller.h"

namespace sickbay {

void Archivist::work() {
  constexpr std::size_t kAtOnce = 20;  // two commits each
  const TimePoint before = loop_.now() - std::chrono::hours(30 * 24);
  std::vector<std::string> subjects;
  std::vector<std::int64_t> numbers;
  for (const auto& [no, subject] : controller_.seats().cases().state().cases)
    // (A day more: something may still have been said of a case after its end.)
    if (subject.is_closed() && subject.closed < before - std::chrono::hours(24) &&
        subjects.size() < kAtOnce) {
      subjects.push_back(case_name(no));
      numbers.push_back(no);
    }
  if (!subjects.empty()) {
    auto done = journal_.compact(before, subjects);
    if (!done) {
      say(done.error().message("sickbayd"));
      return again(std::chrono::hours(24));
    }
    for (std::int64_t no : numbers) controller_.forget(case_name(no));
    say(fmt::format("event=archived cases={} events={}", done->subjects, done->events));
  }
  again(subjects.size() < kAtOnce ? std::chrono::seconds(24 * 3600) : std::chrono::seconds(1));
}

void Archivist::again(std::chrono::seconds in) {
  loop_.at(loop_.now() + in, [this] { work(); });
}

}  // namespace sickbay
