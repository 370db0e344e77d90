// SPDX-License-Identifier: Apache-2.0
#include "model/operation_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay {
namespace {

using Said = OperationAnswer::Result;
struct ResultRow {
  Said result;
  std::string_view name;
  int exit_code;  // that goes with it; -1: any other
};
constexpr auto kResults = std::to_array<ResultRow>(
    {{Said::ok, "ok", 0}, {Said::fault, "fault", 1}, {Said::unknown, "unknown", -1}});

OperationAnswer no_answer(std::string why) {
  if (why.size() > kMaxAnswerText) why.resize(kMaxAnswerText);
  return {Said::unknown, Json::object(), std::move(why)};
}

std::string last_line(std::string_view text) {
  text = trimmed(text);
  return std::string(trimmed(text.substr(text.rfind('\n') + 1)));  // npos + 1 is 0
}

// Why the program ended as it did, where the answer does not say.
std::string ended_with(int exit_code, std::string_view err) {
  const std::string line = last_line(err);
  return fmt::format("ended with exit code {}{}", exit_code,
                     line.empty() ? "" : ": " + quote_for_message(line, 200));
}

}  // namespace

OperationAnswer parse_operation_answer(int exit_code, std::string_view out, std::string_view err) {
  OperationAnswer answer;
  if (trimmed(out).empty()) {
    // Nothing to say and no complaint: a repair, or a check without outputs.
    if (exit_code == 0)
      answer.result = Said::ok;
    else if (exit_code == 1)
      return no_answer(ended_with(exit_code, err) +
                       ", without an answer: a fault must say {\"result\": \"fault\"}");
    else
      return no_answer(ended_with(exit_code, err));
    return answer;
  }
  auto json = Json::parse(out);
  if (!json) return no_answer(fmt::format("its answer is no JSON: {}", json.error().what));
  if (!json->is_object()) return no_answer(fmt::format("its answer is no object but {}", json->type_name()));
  const ResultRow* said = nullptr;
  for (const auto& [key, value] : json->members()) {
    if (key == "result") {
      const auto row = std::find_if(kResults.begin(), kResults.end(), [&v = value](const ResultRow& r) {
        return v.is_string() && r.name == v.as_string();
      });
      if (row == kResults.end())
        return no_answer(fmt::format(
            "its `result` must be \"ok\", \"fault\" or \"unknown\", not {}",
            value.is_string() ? quote_for_message(value.as_string()) : std::string(value.type_name())));
      said = &*row;
    } else if (key == "outputs") {
      if (!value.is_object())
        return no_answer(fmt::format("its `outputs` must be an object, not {}", value.type_name()));
      answer.outputs = value;
    } else if (key == "text") {
      if (!value.is_string())
        return no_answer(fmt::format("its `text` must be a string, not {}", value.type_name()));
      answer.text = value.as_string().substr(0, kMaxAnswerText);
    } else {
      const std::string near = did_you_mean(key, {"result", "outputs", "text"});
      return no_answer(fmt::format("its answer has an unknown member {}{}", quote_for_message(key),
                                   near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
    }
  }
  for (const auto& [name, value] : answer.outputs.members())
    if (value.is_array() || value.is_object())
      return no_answer(fmt::format("its output {} must be a single value, not {}", quote_for_message(name),
                                   value.type_name()));
  if (exit_code != 0 && exit_code != 1)
    return no_answer(answer.text.empty() ? ended_with(exit_code, err) : answer.text);
  if (said != nullptr && said->result == Said::unknown)
    return no_answer(answer.text.empty() ? "it says unknown" : answer.text);
  const int expected = said == nullptr ? 0 : said->exit_code;
  // Said twice, or not at all (doc/formats/operation.md): a script that dies of an error of its own ends
  // with 1, too.
  if (expected != exit_code)
    return no_answer(said == nullptr ? ended_with(exit_code, err) + ", but its answer does not say \"fault\""
                                     : fmt::format("its answer says \"{}\", but it ended with exit code {}",
                                                   said->name, exit_code));
  answer.result = exit_code == 0 ? Said::ok : Said::fault;
  return answer;
}

}  // namespace sickbay
