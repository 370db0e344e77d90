// SPDX-License-Identifier: Apache-2.0
// Parsing and running fault scripts.
#include "lab/fault_script.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "base/text.h"

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;

constexpr const char* kShape =
    "write: at TIME NODE KIND[=VALUE] [OPTION=VALUE]..., or: at TIME NODE heal [KIND]";

// The words of one line that is not empty.
Result<ScriptLine> parse_line(const std::vector<std::string>& words) {
  ScriptLine line;
  if (words[0] != "at" || words.size() < 4)
    return fail(Error(ErrorCode::bad_input, "this is no timed fault").remedied_by(kShape));
  auto seconds = parse_seconds(words[1]);
  if (!seconds) return tl::unexpected(seconds.error());
  line.at = milliseconds(static_cast<std::int64_t>(*seconds * 1000 + 0.5));
  if (words[3] == "heal") {
    line.heal = true;
    line.wish.node = words[2] == "all" ? "" : words[2];
    if (words.size() > 5)
      return fail(
          Error(ErrorCode::bad_input, quote_for_message(words[5]) + " is too much").remedied_by(kShape));
    if (words.size() == 5) {
      line.wish.kind = words[4];
      if (auto kind = parse_fault_kind(words[4].substr(0, words[4].find('='))); !kind)
        return tl::unexpected(kind.error());
    }
    return line;
  }
  auto fault = parse_fault(words[2], words[3]);
  if (!fault) return tl::unexpected(fault.error());
  line.fault = *fault;
  for (std::size_t i = 4; i < words.size(); ++i) {
    const std::size_t eq = words[i].find('=');
    if (eq == std::string::npos)
      return fail(Error(ErrorCode::bad_input, quote_for_message(words[i]) + " is not OPTION=VALUE")
                      .remedied_by(kShape));
    if (auto set = set_fault_option(line.fault, words[i].substr(0, eq), words[i].substr(eq + 1)); !set)
      return tl::unexpected(set.error());
  }
  return line;
}

Error at_line(Error error, const std::string& file, int number) {
  error.what = fmt::format("{}:{}: {}", file, number, error.what);
  return error;
}

}  // namespace

Result<std::vector<ScriptLine>> parse_fault_script(std::string_view text, const std::string& file) {
  std::vector<ScriptLine> script;
  std::istringstream lines{std::string(text)};
  std::string raw;
  for (int number = 1; std::getline(lines, raw); ++number) {
    std::istringstream split(raw.substr(0, raw.find('#')));
    std::vector<std::string> words;
    for (std::string word; split >> word;) words.push_back(word);
    if (words.empty()) continue;
    auto line = parse_line(words);
    if (!line) {
      line.error().code = ErrorCode::bad_input;  // a file, not a command line
      return fail(at_line(std::move(line.error()), file, number));
    }
    line->number = number;
    script.push_back(std::move(*line));
  }
  std::stable_sort(script.begin(), script.end(),
                   [](const ScriptLine& a, const ScriptLine& b) { return a.at < b.at; });
  return script;
}

Status run_fault_script(const Layout& l, const std::vector<ScriptLine>& script, const std::string& file,
                        const std::function<void(const std::string&)>& tell) {
  for (const ScriptLine& line : script) {
    const std::string& node = line.heal ? line.wish.node : line.fault.node;
    if (auto known = node.empty() ? Result<Machine>(Machine{}) : l.machine(node); !known)
      return fail(at_line(std::move(known.error()), file, line.number));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const ScriptLine& line : script) {
    std::this_thread::sleep_until(begin + line.at);
    const double at = static_cast<double>(line.at.count()) / 1000;
    if (line.heal) {
      auto healed = heal_faults(l, line.wish);
      if (!healed) return fail(at_line(std::move(healed.error()), file, line.number));
      tell(fmt::format("{:g}s {} heal {}", at, line.wish.node.empty() ? "all" : line.wish.node,
                       line.wish.kind));
    } else {
      auto id = inject_fault(l, line.fault);
      if (!id) return fail(at_line(std::move(id.error()), file, line.number));
      tell(fmt::format("{:g}s {} {} ({})", at, line.fault.node, line.fault.text(), *id));
    }
  }
  return {};
}

}  // namespace sickbay::lab
