// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/daemon_log.h"

#include <fmt/format.h>

#include <cstdio>

#include "engine/identify/identify.h"

namespace sickbay {

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

void log_event(const Event& e) {
  if (e.kind == kJobSeen || e.kind == kNodesSeen) return;
  std::string line = fmt::format("event={} seq={} subject={}", e.kind, e.seq, e.subject);
  for (const char* key : {"key", "verb", "job_id", "node", "task", "outcome", "rule", "cause", "sentence"})
    if (const Json& value = e.body[key]; !value.is_null()) line += fmt::format(" {}={}", key, value.dump());
  if (e.kind == kFailed) line += " error=" + e.body["error"]["what"].dump();
  say(line);
}

}  // namespace sickbay
