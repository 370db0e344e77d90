// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/witness.h"

#include <algorithm>

namespace sickbay::succession {

Witness::Witness(Record record, Micros started)
    : record_(std::move(record)), durable_(record_), silent_until_(started + kLongestLease) {}

bool Witness::would_grant(const LeaseAsk& ask, Micros now) const {
  if (now < silent_until_ || ask.who.empty() || ask.length > kLongestLease) return false;
  if (ask.term < record_.term) return false;
  if (ask.term == record_.term) return ask.who == record_.who;
  // A higher term: of the same name it is a process that began anew, whose journal nobody else writes.
  return ask.who == record_.who || now >= until_;
}

LeaseAnswer Witness::take(const LeaseAsk& ask, Micros now) {
  const bool granted = would_grant(ask, now);
  if (granted && !ask.look) {
    record_.term = ask.term;
    record_.who = ask.who;
    until_ = std::max(until_, now + ask.length);
    if (ask.sole.is_newer_than(record_.sole)) record_.sole = ask.sole;
  }
  const Micros ends = std::max(now < silent_until_ ? silent_until_ : Micros(0), until_);
  return {ask.serial, granted, record_.term, record_.who, std::max(ends - now, Micros(0)), record_.sole};
}

Json Witness::to_json(const Record& record) {
  return Json::object({{"term", record.term}, {"who", record.who}, {"sole", sickbay::to_json(record.sole)}});
}

Witness::Record Witness::record_from(const Json& json) {
  auto sole = sole_word_from(json["sole"]);
  if (!sole || json["term"].as_int(-1) < 0 || !json["who"].is_string()) return {};
  return {json["term"].as_int(), json["who"].as_string(), std::move(*sole)};
}

}  // namespace sickbay::succession
