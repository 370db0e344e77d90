// SPDX-License-Identifier: Apache-2.0
#include "service/standby/cases_message.h"

#include <algorithm>

namespace sickbay {
namespace {

bool is_number(const Json& json) { return json.is_int() && json.as_int() > 0; }

Json to_list(const std::vector<std::int64_t>& numbers) {
  Json list = Json::array();
  for (const std::int64_t no : numbers) list.push(no);
  return list;
}

bool read_list(const Json& json, std::vector<std::int64_t>& numbers) {
  if (!json.is_array() || json.items().size() > kMostCases || !std::ranges::all_of(json.items(), is_number))
    return false;
  for (const Json& no : json.items()) numbers.push_back(no.as_int());
  return true;
}

}  // namespace

Json to_json(const CasesAsk& ask) {
  return Json::object({{"format", kCasesFormat}, {"cases", to_list(ask.cases)}, {"after", ask.after}});
}

Json to_json(const CasesAnswer& answer) {
  Json submitted = Json::array();
  for (const auto& [no, submission] : answer.submitted)
    submitted.push(Json::object({{"case", no}, {"submission", submission.to_json()}}));
  return Json::object({{"format", kCasesFormat},
                       {"name", answer.name},
                       {"term", answer.term},
                       {"submitted", std::move(submitted)},
                       {"gone", to_list(answer.gone)},
                       {"unreadable", to_list(answer.unreadable)},
                       {"listed", to_list(answer.listed)},
                       {"end", answer.is_end}});
}

Result<CasesAsk> cases_ask_from(const Json& json) {
  CasesAsk ask;
  if (json["format"].as_int() != kCasesFormat)
    return fail(ErrorCode::too_new,
                "the standby is of another version of Sickbay, and speaks of cases otherwise");
  if (!read_list(json["cases"], ask.cases) || !json["after"].is_int() || json["after"].as_int() < 0)
    return fail(ErrorCode::bad_input, "the standby asks with {cases, after}");
  ask.after = json["after"].as_int();
  return ask;
}

Result<CasesAnswer> cases_answer_from(const Json& json) {
  CasesAnswer answer;
  if (json["format"].as_int() != kCasesFormat)
    return fail(ErrorCode::too_new,
                "the active is of another version of Sickbay, and speaks of cases otherwise");
  if (!json["name"].is_string() || !json["term"].is_int() || !json["submitted"].is_array() ||
      !read_list(json["gone"], answer.gone) || !read_list(json["unreadable"], answer.unreadable) ||
      !read_list(json["listed"], answer.listed) || !json["end"].is_bool())
    return fail(ErrorCode::bad_input,
                "the active answers with {name, term, submitted, gone, unreadable, listed, end}");
  answer.name = json["name"].as_string();
  answer.term = json["term"].as_int();
  answer.is_end = json["end"].as_bool();
  for (const Json& one : json["submitted"].items()) {
    auto submission = Submission::from_json(one["submission"]);
    if (!submission) return fail(std::move(submission.error()).in("reading what was submitted"));
    if (!is_number(one["case"])) return fail(ErrorCode::bad_input, "what was submitted is of no case");
    answer.submitted.emplace_back(one["case"].as_int(), std::move(*submission));
  }
  return answer;
}

}  // namespace sickbay
