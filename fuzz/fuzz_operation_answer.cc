// SPDX-License-Identifier: Apache-2.0
// What an operation wrote: the first byte is its exit code, a NUL parts output and error.
#include "model/operation_answer.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  if (size == 0) return 0;
  const int exit_code = bytes[0] == '0' ? 0 : bytes[0] == '1' ? 1 : bytes[0];
  const std::string_view text = fuzz::as_text(bytes + 1, size - 1);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const OperationAnswer answer =
      parse_operation_answer(exit_code, text.substr(0, cut), text.substr(std::min(cut + 1, text.size())));
  using Said = OperationAnswer::Result;
  SB_CHECK(answer.text.size() <= kMaxAnswerText, "the text is bounded");
  SB_CHECK(answer.outputs.is_object(), "outputs are an object");
  SB_CHECK((answer.result == Said::ok) <= (exit_code == 0), "ok needs exit code 0");
  SB_CHECK((answer.result == Said::fault) <= (exit_code == 1), "a fault needs exit code 1");
  if (answer.result == Said::unknown) {
    SB_CHECK(!answer.text.empty(), "unknown says why");
    SB_CHECK(answer.outputs.size() == 0, "unknown has no outputs");
  }
  for (const auto& [name, value] : answer.outputs.members())
    SB_CHECK(!value.is_array() && !value.is_object(), "outputs are single values");
  return 0;
}
