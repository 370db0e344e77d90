// SPDX-License-Identifier: Apache-2.0
#include "service/ledger.h"

#include <algorithm>

namespace sickbay {
namespace {

Event about(const Command& command, std::string_view kind) {
  return new_event(command.subject, kind, Json::object({{"key", command.key}, {"verb", command.verb}}));
}

}  // namespace

Event Ledger::intent(const Command& command) {
  Event event = about(command, kIntent);
  event.body.set("args", command.args);
  if (!command.draws.empty()) event.body.set("draws", command.draws);
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
  if (event.kind == kIntent) {
    const std::string& key = event.body["key"].as_string();
    if (!entries_.try_emplace(key, Entry{event.subject}).second) return;
    subjects_[event.subject].keys.push_back(key);
    ++ever_;
    open_.push_back({key, event.subject, event.body["verb"].as_string(), event.body["args"],
                     event.body["draws"].as_strings()});
  } else if (event.kind == kDone || event.kind == kFailed) {
    end(event.body["key"].as_string(), event.at);
  } else if (closes_subject(event.kind)) {
    forget(event.subject);
  }
}

void Ledger::end(const std::string& key, TimePoint at) {
  std::erase_if(open_, [&](const Command& c) { return c.key == key; });
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  it->second.ended = true;
  ended_.emplace_back(at, key);
  if (const auto subject = subjects_.find(it->second.subject);
      subject != subjects_.end() && subject->second.closed)
    forget(subject->first);
  while (!ended_.empty() && ended_.front().first < at - kKept) {
    if (const auto old = entries_.find(ended_.front().second); old != entries_.end()) {
      if (const auto subject = subjects_.find(old->second.subject); subject != subjects_.end()) {
        std::erase(subject->second.keys, old->first);
        if (subject->second.keys.empty()) subjects_.erase(subject);
      }
      entries_.erase(old);
    }
    ended_.pop_front();
  }
}

void Ledger::forget(const std::string& subject) {
  const auto it = subjects_.find(subject);
  if (it == subjects_.end()) return;
  it->second.closed = true;  // what is still under way goes when it ends
  std::erase_if(it->second.keys, [&](const std::string& key) {
    const auto entry = entries_.find(key);
    const bool ended = entry == entries_.end() || entry->second.ended;
    if (ended && entry != entries_.end()) entries_.erase(entry);
    return ended;
  });
  if (it->second.keys.empty()) subjects_.erase(it);
}

std::vector<Command> Ledger::unfinished() const { return open_; }

}  // namespace sickbay
