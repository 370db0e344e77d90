// SPDX-License-Identifier: Apache-2.0
// What an executable's exit code and output mean: a table of both.
#include "model/operation_answer.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using Said = OperationAnswer::Result;

TEST(OperationAnswer, ExitCodeAndOutputTogether) {
  struct Row {
    int exit_code;
    std::string_view out, err;
    Said result;
    std::string_view outputs, text;
  };
  const Row rows[] = {
      {0, R"({"result": "ok", "outputs": {"a": 1}, "text": "fine"})", "", Said::ok, R"({"a":1})", "fine"},
      {0, R"({"outputs": {"a": null}})", "noise", Said::ok, R"({"a":null})", ""},
      {0, " \n", "", Said::ok, "{}", ""},
      {1, R"({"result": "fault", "outputs": {"label": "A1"}})", "", Said::fault, R"({"label":"A1"})", ""},
      // A script that stops at its own error ends with 1, and that is no fault of the node.
      {1, "", "line one\n./check: line 3: dmidecode: not found\n", Said::unknown, "{}",
       "ended with exit code 1: './check: line 3: dmidecode: not found', without an answer: a fault must say "
       R"({"result": "fault"})"},
      {1, R"({"outputs": {}})", "", Said::unknown, "{}",
       R"(ended with exit code 1, but its answer does not say "fault")"},
      {0, R"({"result": "fault"})", "", Said::unknown, "{}",
       R"(its answer says "fault", but it ended with exit code 0)"},
      {1, R"({"result": "ok"})", "", Said::unknown, "{}",
       R"(its answer says "ok", but it ended with exit code 1)"},
      {2, R"({"result": "unknown", "text": "no dmidecode"})", "", Said::unknown, "{}", "no dmidecode"},
      {0, R"({"result": "unknown", "outputs": {"a": 1}})", "", Said::unknown, "{}", "it says unknown"},
      {127, "", "", Said::unknown, "{}", "ended with exit code 127"},
      {0, "{", "", Said::unknown, "{}",
       "its answer is no JSON: line 1, column 2: not valid JSON: unexpected end of input"},
      {0, "[1]", "", Said::unknown, "{}", "its answer is no object but array"},
      {0, R"({"result": "good"})", "", Said::unknown, "{}",
       R"(its `result` must be "ok", "fault" or "unknown", not 'good')"},
      {0, R"({"result": true})", "", Said::unknown, "{}",
       R"(its `result` must be "ok", "fault" or "unknown", not bool)"},
      {0, R"({"output": {}})", "", Said::unknown, "{}",
       "its answer has an unknown member 'output' (did you mean 'outputs'?)"},
      {0, R"({"outputs": [1]})", "", Said::unknown, "{}", "its `outputs` must be an object, not array"},
      {0, R"({"outputs": {"a": [1]}})", "", Said::unknown, "{}",
       "its output 'a' must be a single value, not array"},
      {0, R"({"text": 5})", "", Said::unknown, "{}", "its `text` must be a string, not integer"},
  };
  for (const Row& row : rows) {
    const OperationAnswer answer = parse_operation_answer(row.exit_code, row.out, row.err);
    EXPECT_EQ(answer.result, row.result) << row.exit_code << " " << row.out;
    EXPECT_EQ(answer.outputs.dump(), row.outputs) << row.exit_code << " " << row.out;
    EXPECT_EQ(answer.text, row.text) << row.exit_code << " " << row.out;
  }
}

TEST(OperationAnswer, TextIsBounded) {
  const std::string out = R"({"text": ")" + std::string(10'000, 'x') + "\"}";
  EXPECT_EQ(parse_operation_answer(0, out, "").text.size(), kMaxAnswerText);
}

}  // namespace
}  // namespace sickbay
