// SPDX-License-Identifier: Apache-2.0
#include "service/standby/rows_message.h"

namespace sickbay {
namespace {

Json row_to_json(const JournalRow& row) {
  return Json::array({row.seq, row.at, row.v, row.subject, row.kind, row.body, row.sum});
}

// Whether it is what was written its sum tells, where it is taken in.
bool read_row(const Json& json, JournalRow& row) {
  constexpr std::size_t kColumns = 7;
  const Json::Array& of = json.items();
  if (of.size() != kColumns) return false;
  for (const std::size_t i : {0, 1, 2, 6})
    if (!of[i].is_int()) return false;
  for (const std::size_t i : {3, 4, 5})
    if (!of[i].is_string()) return false;
  row = {of[0].as_int(),    of[1].as_int(),    of[2].as_int(), of[3].as_string(),
         of[4].as_string(), of[5].as_string(), of[6].as_int()};
  return true;
}

}  // namespace

Json to_json(const RowsAsk& ask) {
  return Json::object({{"format", kRowsFormat},
                       {"after", ask.after.seq},
                       {"sum", ask.after.sum},
                       {"anew", ask.anew},
                       {"mark", ask.mark}});
}

Json to_json(const RowsAnswer& answer) {
  Json rows = Json::array();
  for (const JournalRow& row : answer.rows) rows.push(row_to_json(row));
  return Json::object({{"format", kRowsFormat},
                       {"name", answer.name},
                       {"term", answer.term},
                       {"fits", answer.fits},
                       {"last", answer.last},
                       {"rows", std::move(rows)},
                       {"mark", answer.mark}});
}

Result<RowsAsk> rows_ask_from(const Json& json) {
  if (!json["after"].is_int() || json["after"].as_int() < 0 || !json["sum"].is_int() ||
      !json["anew"].is_bool() || !json["mark"].is_bool())
    return fail(ErrorCode::bad_input, "the standby asks with {after, sum, anew, mark}");
  if (json["format"].as_int() != kRowsFormat)
    return fail(ErrorCode::too_new,
                "the standby is of another version of Sickbay, and speaks of rows otherwise");
  return RowsAsk{
      {json["after"].as_int(), json["sum"].as_int()}, json["anew"].as_bool(), json["mark"].as_bool()};
}

Result<RowsAnswer> rows_answer_from(const Json& json) {
  if (json["format"].as_int() != kRowsFormat)
    return fail(ErrorCode::too_new,
                "the active is of another version of Sickbay, and speaks of rows otherwise");
  if (!json["name"].is_string() || !json["term"].is_int() || !json["fits"].is_bool() ||
      !json["last"].is_int() || !json["rows"].is_array() || !json["mark"].is_string())
    return fail(ErrorCode::bad_input, "the active answers with {name, term, fits, last, rows, mark}");
  RowsAnswer answer;
  answer.name = json["name"].as_string();
  answer.term = json["term"].as_int();
  answer.fits = json["fits"].as_bool();
  answer.last = json["last"].as_int();
  answer.mark = json["mark"].as_string();
  for (const Json& row : json["rows"].items())
    if (!read_row(row, answer.rows.emplace_back()))
      return fail(ErrorCode::bad_input, "a row is [seq, at, v, subject, kind, body, sum]");
  return answer;
}

}  // namespace sickbay
