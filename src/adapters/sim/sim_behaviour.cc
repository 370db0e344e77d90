// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_behaviour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "base/duration.h"

namespace sickbay::sim {
namespace {

struct SignalRow {
  int number;
  std::string_view name, words;
};
constexpr auto kSignals = std::to_array<SignalRow>({
    {SIGHUP, "SIGHUP", "Hangup"},
    {SIGINT, "SIGINT", "Interrupt"},
    {SIGILL, "SIGILL", "Illegal instruction"},
    {SIGABRT, "SIGABRT", "Aborted"},
    {SIGBUS, "SIGBUS", "Bus error"},
    {SIGFPE, "SIGFPE", "Floating point exception"},
    {SIGKILL, "SIGKILL", "Killed"},
    {SIGSEGV, "SIGSEGV", "Segmentation fault"},
    {SIGTERM, "SIGTERM", "Terminated"},
});

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// "n3:2.0" -> both sides of the last colon.
bool split_at_colon(std::string_view text, std::string& left, std::string_view& right) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  left = text.substr(0, colon);
  right = text.substr(colon + 1);
  return true;
}

bool read_runs(std::string_view text, std::vector<int>& into) {
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    int n = 0;
    if (!read_number(text.substr(0, comma), n) || n < 1) return false;
    into.push_back(n);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return !into.empty();
}

/// One word of the line: its name, and how its value is read.
struct Word {
  std::string_view name;
  bool (*read)(std::string_view value, SimBehaviour& into);
};
constexpr auto kWords = std::to_array<Word>({
    {"run",
     [](std::string_view v, SimBehaviour& b) {
       const auto t = parse_duration(v);
       if (t) b.run = *t;
       return t.has_value();
     }},
    {"exit", [](std::string_view v, SimBehaviour& b) { return read_number(v, b.exit_code); }},
    {"signal", [](std::string_view v, SimBehaviour& b) { return (b.signal = signal_number(v)) != 0; }},
    {"killed", [](std::string_view v, SimBehaviour& b) { return (b.killed = signal_number(v)) != 0; }},
    {"hang", [](std::string_view v, SimBehaviour& b) { return b.hang = v.empty(); }},
    {"crash-on",
     [](std::string_view v, SimBehaviour& b) {
       std::string_view name;
       return split_at_colon(v, b.crash_node, name) && (b.crash_signal = signal_number(name)) != 0;
     }},
    {"flaky", [](std::string_view v, SimBehaviour& b) { return read_number(v, b.flaky); }},
    {"fail-runs", [](std::string_view v, SimBehaviour& b) { return read_runs(v, b.fail_runs); }},
    {"fail-tasks",
     [](std::string_view v, SimBehaviour& b) {
       auto tasks = TaskIds::parse(v);
       if (tasks) b.fail_tasks = std::move(*tasks);
       return tasks.has_value();
     }},
    {"slow-with",
     [](std::string_view v, SimBehaviour& b) {
       std::string_view factor;
       return split_at_colon(v, b.slow_node, factor) && read_number(factor, b.slow_factor) &&
              b.slow_factor > 0;
     }},
    {"takes-down", [](std::string_view v, SimBehaviour& b) { return read_number(v, b.takes_down); }},
    {"fails-otherwise",
     [](std::string_view v, SimBehaviour& b) {
       SimOtherEnd end;
       const auto first = v.find(':');
       if (first == std::string_view::npos) return false;
       const auto second = std::min(v.find(':', first + 1), v.size());
       if (second < v.size()) end.says = v.substr(second + 1);
       // Words of the line are parted by blanks, so "_" stands for one.
       std::replace(end.says.begin(), end.says.end(), '_', ' ');
       b.other_ends.push_back(end);
       return read_number(v.substr(0, first), b.other_ends.back().run) &&
              read_number(v.substr(first + 1, second - first - 1), b.other_ends.back().exit_code) &&
              b.other_ends.back().exit_code != 0;
     }},
    {"never-begins", [](std::string_view v, SimBehaviour& b) { return read_runs(v, b.never_begins); }},
    {"writes", [](std::string_view v, SimBehaviour& b) { return b.writes = v.empty(); }},
    {"step-exit", [](std::string_view v, SimBehaviour& b) { return read_number(v, b.step_exit); }},
    {"requeue-self", [](std::string_view v, SimBehaviour& b) { return read_number(v, b.requeue_self); }},
    {"says",
     [](std::string_view v, SimBehaviour& b) {
       b.says = v;
       std::replace(b.says.begin(), b.says.end(), '_', ' ');
       return true;
     }},
});

}  // namespace

int signal_number(std::string_view name) {
  for (const auto& row : kSignals)
    if (row.name == name) return row.number;
  return 0;
}

std::string signal_words(int signal) {
  for (const auto& row : kSignals)
    if (row.number == signal) return std::string(row.words);
  return fmt::format("Unknown signal {}", signal);
}

Result<SimBehaviour> behaviour_of_script(std::string_view script) {
  SimBehaviour behaviour;
  constexpr std::string_view kMark = "#SIM";
  std::size_t at = 0;
  // At the start of a line alone, and the first such line alone.
  while (at < script.size() && script.substr(at, kMark.size()) != kMark) {
    at = script.find('\n', at);
    if (at != std::string_view::npos) ++at;
  }
  if (at >= script.size()) return behaviour;
  const auto line = script.substr(at, script.find('\n', at) - at);
  std::string_view rest = line.substr(kMark.size());
  while (!rest.empty()) {
    if (rest.front() == ' ' || rest.front() == '\t') {
      rest.remove_prefix(1);
      continue;
    }
    const auto word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    const auto equals = word.find('=');
    const auto value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    const auto row = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Word& w) { return w.name == word.substr(0, equals); });
    // A misspelt word must not make a scenario that means something else.
    if (row == kWords.end() || !row->read(value, behaviour))
      return fail(Error(ErrorCode::bad_input, fmt::format("'{}' says no behaviour", word))
                      .because(fmt::format("the line is: {}", line)));
  }
  return behaviour;
}

}  // namespace sickbay::sim
