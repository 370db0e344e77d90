// SPDX-License-Identifier: Apache-2.0
#include "service/ledger.h"

#include <algorithm>

namespace sickbay {
namespace {

Event about(const Command& command, std::string_view kind) {
  Event event;
  event.subject = command.subject;
  event.kind = kind;
  event.body = Json::object({{"key", command.key}, {"verb", command.verb}});
  return event;
}

}  // namespace

Event Ledger::intent(const Command& command) {
  Event event = about(command, kIntent);
  event.body.set("args", command.args);
  return event;
}

Event Ledger::done(const Command& command, Json result) {
  Event event = about(command, kDone);
  event.body.set("result", std::move(result));
  return event;
}

Event Ledger::failed(const Command& command, const Error& error) {
  Event event = about(command, kFailed);
  Json told =
      Json::object({{"code", error_row(error.code).name}, {"what", error.line()}, {"cause", error.cause}});
  if (!error.remedy_text.empty()) told.set("remedy", error.remedy_text);
  event.body.set("error", std::move(told));
  return event;
}

void Ledger::apply(const Event& event) {
  if (event.kind != kIntent && event.kind != kDone && event.kind != kFailed) return;
  const std::string& key = event.body["key"].as_string();
  if (event.kind == kIntent) {
    if (!entries_.try_emplace(key, Standing::intended).second) return;
    open_.push_back({key, event.subject, event.body["verb"].as_string(), event.body["args"]});
    return;
  }
  entries_[key] = event.kind == kDone ? Standing::done : Standing::failed;
  std::erase_if(open_, [&](const Command& c) { return c.key == key; });
}

std::vector<Command> Ledger::unfinished() const { return open_; }

}  // namespace sickbay
