// SPDX-License-Identifier: Apache-2.0
#include "model/sbatch_array.h"

#include "model/sbatch_options.h"

namespace sickbay {
namespace {

std::optional<std::string> asked_for(const Submission& submission) {
  const auto line = parse_sbatch_line(submission.sbatch_options);
  if (!line) return std::nullopt;
  // sbatch's order: the command line, then its variables, then the script's lines.
  if (const GivenOption* given = line->last("array")) return given->value.value_or("");
  constexpr std::string_view kVariable = "SBATCH_ARRAY_INX=";
  for (const std::string& one : submission.environment)
    if (one.starts_with(kVariable)) return one.substr(kVariable.size());
  const auto script = parse_script_options(submission.script);
  if (!script) return std::nullopt;
  std::optional<std::string> last;
  for (const GivenOption& given : *script)
    if (given.name == "array") last = given.value.value_or("");
  return last;
}

}  // namespace

std::optional<std::string> array_of(const Submission& submission) {
  auto expression = asked_for(submission);
  return expression && !expression->empty() ? expression : std::nullopt;
}

}  // namespace sickbay
