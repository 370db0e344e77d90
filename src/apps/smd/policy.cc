// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::smd {
namespace {

using Kind = PolicyStep::Kind;

struct WordRow {
  std::string_view word;
  Kind kind;                         // the step, or the one that the value belongs to
  std::uint32_t PolicyStep::*value;  // null: the word is the step itself
  std::string_view of;               // the word of the step
};
constexpr auto kWords = std::to_array<WordRow>({
    {"REPLACE", Kind::replace, nullptr, "REPLACE"},
    {"TIME_LIMIT_DELAY", Kind::replace, &PolicyStep::delay, "REPLACE"},
    {"TIME_LIMIT_EXTEND", Kind::replace, &PolicyStep::extend, "REPLACE"},
    {"DROP", Kind::drop, nullptr, "DROP"},
    {"TIME_LIMIT_DROP", Kind::drop, &PolicyStep::extend, "DROP"},
    {"EXIT_JOB", Kind::exit_job, nullptr, "EXIT_JOB"},
});

constexpr std::string_view kExample = "REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10";

tl::unexpected<Error> wrong(std::string_view variable, std::string what, std::string cause,
                            std::string remedy) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{}: {}", variable, what))
                  .because(std::move(cause))
                  .remedied_by(std::move(remedy)));
}

std::optional<std::uint32_t> minutes_of(std::string_view text) {
  // ("4min" as the paper writes TIME_LIMIT_DELAY=Xmin.)
  if (text.size() > 3 && equal_ignoring_case(text.substr(text.size() - 3), "min"))
    text = trimmed(text.substr(0, text.size() - 3));
  // (Six digits fit a u32; what is more than kMostPolicyMinutes is refused below.)
  if (text.empty() || text.size() > 6 || !std::ranges::all_of(text, is_digit)) return {};
  std::uint32_t minutes = 0;
  for (const char c : text) minutes = minutes * 10 + static_cast<std::uint32_t>(c - '0');
  if (minutes > kMostPolicyMinutes) return {};
  return minutes;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string_view variable) {
  struct Value {
    const WordRow* row;
    std::uint32_t minutes;
  };
  Policy policy;
  std::vector<Value> values;
  std::vector<const WordRow*> seen;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string_view whole = trimmed(rest.substr(0, colon));
    rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
    if (whole.empty()) continue;
    const std::size_t equals = whole.find('=');
    const std::string_view word = trimmed(whole.substr(0, equals));
    const auto row =
        std::ranges::find_if(kWords, [word](const WordRow& r) { return equal_ignoring_case(r.word, word); });
    if (row == kWords.end()) {
      std::vector<std::string> known;
      for (const WordRow& r : kWords) known.emplace_back(r.word);
      const std::string meant = did_you_mean(word, known);
      return wrong(
          variable, fmt::format("unknown word {}", quote_for_message(word)),
          "the words are REPLACE, TIME_LIMIT_DELAY=MIN, TIME_LIMIT_EXTEND=MIN, DROP, TIME_LIMIT_DROP=MIN "
          "and EXIT_JOB, with colons between them",
          meant.empty() ? fmt::format("write it as in {}={}", variable, kExample)
                        : fmt::format("did you mean {}?", meant));
    }
    if (std::ranges::find(seen, &*row) != seen.end())
      return wrong(variable, fmt::format("{} is there twice", row->word),
                   "each word says one thing about the whole policy", "leave one of them out");
    seen.push_back(&*row);
    if (!policy.steps.empty() && policy.steps.back().kind == Kind::exit_job && row->value == nullptr)
      return wrong(variable, fmt::format("{} stands behind EXIT_JOB", row->word),
                   "the list is worked from left to right, and EXIT_JOB ends it", "move EXIT_JOB to the end");
    if (row->value == nullptr) {
      if (equals != whole.npos)
        return wrong(variable, fmt::format("{} has a value", quote_for_message(whole)),
                     fmt::format("{} takes none", row->word), fmt::format("write {}", row->word));
      policy.steps.push_back({row->kind, 0, 0});
      continue;
    }
    const auto minutes = equals == whole.npos ? std::nullopt : minutes_of(trimmed(whole.substr(equals + 1)));
    if (!minutes)
      return wrong(variable, fmt::format("{} has no number of minutes", quote_for_message(whole)),
                   fmt::format("minutes are a whole number up to {}, as 4 or 4min", kMostPolicyMinutes),
                   fmt::format("write {}=4", row->word));
    values.push_back({&*row, *minutes});
  }
  if (seen.empty())
    return wrong(variable, "it says nothing", "it is empty",
                 fmt::format("unset it, or write it as in {}={}", variable, kExample));
  // When all is read: a value belongs to its word wherever it stands.
  for (const Value& value : values) {
    const auto step = std::ranges::find(policy.steps, value.row->kind, &PolicyStep::kind);
    if (step == policy.steps.end())
      return wrong(variable, fmt::format("{} without {}", value.row->word, value.row->of),
                   fmt::format("{} says how {} is done", value.row->word, value.row->of),
                   fmt::format("add {}, or leave {} out", value.row->of, value.row->word));
    (*step).*(value.row->value) = value.minutes;
  }
  return policy;
}

std::string format_policy(const Policy& policy) {
  std::string text;
  for (const PolicyStep& step : policy.steps)
    for (const WordRow& row : kWords) {
      if (row.kind != step.kind || (row.value != nullptr && step.*(row.value) == 0)) continue;
      if (!text.empty()) text += ':';
      text += row.word;
      if (row.value != nullptr) text += fmt::format("={}", step.*(row.value));
    }
  return text;
}

std::vector<std::string> describe_policy(const Policy& policy) {
  std::vector<std::string> lines;
  for (const PolicyStep& step : policy.steps) {
    std::string line = step.kind == Kind::replace ? "replace the nodes"
                       : step.kind == Kind::drop  ? "drop the nodes"
                                                  : "end the job";
    if (step.delay > 0) line += fmt::format(", waiting up to {} minutes", step.delay);
    if (step.extend > 0)
      line += fmt::format(", and extend the time limit by {} minutes for each", step.extend);
    lines.push_back(line);
  }
  // An end that the list does not have is said, for it is what happens.
  if (policy.steps.empty() || policy.steps.back().kind != Kind::exit_job)
    lines.emplace_back("where nodes are still left: end the job");
  return lines;
}

}  // namespace sickbay::smd
