// SPDX-License-Identifier: Apache-2.0
#include "model/lease_message.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostNameBytes = 255;  // of a host

bool is_count(const Json& json) { return json.is_int() && json.as_int() >= 0; }
bool is_name(const Json& json) { return json.is_string() && json.as_string().size() <= kMostNameBytes; }

tl::unexpected<Error> no_lease_message(std::string_view what) {
  return fail(ErrorCode::bad_input, std::string("this is no word about a lease: ") + std::string(what));
}

}  // namespace

Json to_json(const SoleWord& word) {
  if (word.term == 0) return {};
  return Json::object({{"term", word.term}, {"change", word.change}, {"name", word.name}});
}

Result<SoleWord> sole_word_from(const Json& json) {
  if (json.is_null()) return SoleWord{};
  if (!is_count(json["term"]) || !is_count(json["change"]) || !is_name(json["name"]))
    return no_lease_message("'sole' has {term, change, name}");
  return SoleWord{json["term"].as_int(), json["change"].as_int(), json["name"].as_string()};
}

Json to_json(const LeaseAsk& ask) {
  return Json::object({{"serial", ask.serial},
                       {"look", ask.look},
                       {"term", ask.term},
                       {"who", ask.who},
                       {"length_us", ask.length.count()},
                       {"sole", to_json(ask.sole)}});
}

Json to_json(const LeaseAnswer& answer) {
  return Json::object({{"serial", answer.serial},
                       {"granted", answer.granted},
                       {"term", answer.term},
                       {"who", answer.who},
                       {"left_us", answer.left.count()},
                       {"sole", to_json(answer.sole)}});
}

Result<LeaseAsk> lease_ask_from(const Json& json) {
  auto sole = sole_word_from(json["sole"]);
  if (!sole) return fail(std::move(sole.error()));
  if (!is_count(json["serial"]) || !json["look"].is_bool() || !is_count(json["length_us"]))
    return no_lease_message("an ask has {serial, look, length_us}");
  if (!is_count(json["term"]) || json["term"].as_int() == 0 || !is_name(json["who"]) ||
      json["who"].as_string().empty())
    return no_lease_message("an ask has {term, who}, a term from 1 on and a name");
  const Micros length(json["length_us"].as_int());
  if (length > kLongestLease) return no_lease_message("no lease is as long as this");
  return LeaseAsk{
      json["serial"].as_int(), json["look"].as_bool(), json["term"].as_int(), json["who"].as_string(), length,
      std::move(*sole)};
}

Result<LeaseAnswer> lease_answer_from(const Json& json) {
  auto sole = sole_word_from(json["sole"]);
  if (!sole) return fail(std::move(sole.error()));
  if (!is_count(json["serial"]) || !json["granted"].is_bool() || !is_count(json["term"]) ||
      !is_name(json["who"]) || !is_count(json["left_us"]))
    return no_lease_message("an answer has {serial, granted, term, who, left_us}");
  return LeaseAnswer{json["serial"].as_int(), json["granted"].as_bool(),        json["term"].as_int(),
                     json["who"].as_string(), Micros(json["left_us"].as_int()), std::move(*sole)};
}

}  // namespace sickbay
