// SPDX-License-Identifier: Apache-2.0
// Forms of messages as a table; the first that fits is taken.
#include "model/srun_message.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"

namespace sickbay {
namespace {

struct SignalRow {
  int number;
  std::string_view name;
  std::string_view words;  ///< strsignal(3) of glibc, which srun prints
  bool own_fault;
};

constexpr auto kSignals = std::to_array<SignalRow>({
    {1, "SIGHUP", "Hangup", false},
    {2, "SIGINT", "Interrupt", false},
    {3, "SIGQUIT", "Quit", false},
    {4, "SIGILL", "Illegal instruction", true},
    {5, "SIGTRAP", "Trace/breakpoint trap", true},
    {6, "SIGABRT", "Aborted", true},
    {7, "SIGBUS", "Bus error", true},
    {8, "SIGFPE", "Floating point exception", true},
    {9, "SIGKILL", "Killed", false},
    {10, "SIGUSR1", "User defined signal 1", false},
    {11, "SIGSEGV", "Segmentation fault", true},
    {12, "SIGUSR2", "User defined signal 2", false},
    {13, "SIGPIPE", "Broken pipe", false},
    {14, "SIGALRM", "Alarm clock", false},
    {15, "SIGTERM", "Terminated", false},
    {16, "SIGSTKFLT", "Stack fault", true},
    {24, "SIGXCPU", "CPU time limit exceeded", false},
    {25, "SIGXFSZ", "File size limit exceeded", true},
    {31, "SIGSYS", "Bad system call", true},
});

std::vector<std::string> names_in(std::string_view hostlist, std::size_t most) {
  auto names = expand_hostlist(trimmed(hostlist), most);
  return names ? std::move(*names) : std::vector<std::string>();
}

/// "0-2,5": task numbers.
std::vector<int> tasks_in(std::string_view list, std::size_t most) {
  std::vector<int> tasks;
  // (Task numbers are written as a hostlist's: its reader, and its bound, do for them.)
  for (const std::string& name : names_in("[" + std::string(list) + "]", most))
    if (!name.empty() && name.size() < 9 && std::all_of(name.begin(), name.end(), is_digit))
      tasks.push_back(std::stoi(name));
  return tasks;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// "n[2-3]: tasks 1-2: Killed"
std::optional<SrunMessage> read_task_line(std::string_view text, std::size_t most) {
  const auto colon = text.find(": task");
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(colon + 6);
  if (starts_with(rest, "s")) rest.remove_prefix(1);
  const auto end = rest.find(": ");
  if (!starts_with(rest, " ") || end == std::string_view::npos) return std::nullopt;
  SrunMessage message;
  message.nodes = names_in(text.substr(0, colon), most);
  message.tasks = tasks_in(trimmed(rest.substr(0, end)), most);
  message.text = std::string(trimmed(rest.substr(end + 2)));
  if (message.nodes.empty() || message.tasks.empty()) return std::nullopt;
  constexpr std::string_view kExited = "Exited with exit code ";
  if (starts_with(message.text, kExited)) {
    message.kind = SrunMessage::Kind::task_exit;
    for (const char c : message.text.substr(kExited.size())) {
      if (!is_digit(c) || message.number > 1'000'000) break;
      message.number = message.number * 10 + (c - '0');
    }
  } else if (starts_with(message.text, "Out Of Memory")) {
    message.kind = SrunMessage::Kind::task_oom;
    message.number = 9;
  } else {
    message.kind = SrunMessage::Kind::task_signal;
    message.number = signal_of_words(message.text);
    if (message.number == 0) return std::nullopt;  // "running", "unknown"
  }
  return message;
}

struct Form {
  std::string_view mark;      ///< found anywhere in the message
  std::string_view and_mark;  ///< and this too; "" for none
  SrunMessage::Kind kind;
  std::string_view names_after;  ///< "" when the form names no node
};

using Kind = SrunMessage::Kind;
// The more special form first: "CANCELLED ... DUE TO TIME LIMIT" is also one of " CANCELLED".
constexpr auto kForms = std::to_array<Form>({
    {"Task launch for ", "failed on node ", Kind::launch_failed, "failed on node "},
    {"Node failure on ", "", Kind::node_failure, "Node failure on "},
    {"CANCELLED", "DUE TO TIME LIMIT", Kind::time_limit, ""},
    {"CANCELLED", "DUE TO NODE FAILURE", Kind::lost_node, ""},
    {"CANCELLED AT ", "", Kind::cancelled, ""},
    {" CANCELLED", "***", Kind::cancelled, ""},
    {"oom_kill event", "", Kind::oom_kill, ""},
    {"oom-kill event", "", Kind::oom_kill, ""},
    {"exceeded memory limit", "", Kind::oom_kill, ""},
    {"execve(): ", "", Kind::cannot_exec, ""},
    {"Job step aborted: ", "", Kind::cancelled, ""},
    {"Unable to create step for job ", "", Kind::refused, ""},
    {"Unable to confirm allocation for job ", "", Kind::refused, ""},
    {"Application launch failed: ", "", Kind::refused, ""},
});

/// The line without "srun: error: ", "slurmstepd-n3: error: " and the like; nothing when it is not theirs.
std::optional<std::string_view> spoken_by_slurm(std::string_view line) {
  line = trimmed(line);
  const bool srun = starts_with(line, "srun: ");
  if (!srun && !starts_with(line, "slurmstepd")) return std::nullopt;
  const auto colon = line.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  line.remove_prefix(colon + 2);
  for (const std::string_view level : {"error: ", "fatal: ", "warning: "})
    if (starts_with(line, level)) line.remove_prefix(level.size());
  return line;
}

}  // namespace

std::optional<SrunMessage> read_srun_message(std::string_view line, std::size_t most) {
  const auto text = spoken_by_slurm(line);
  if (!text) return std::nullopt;
  if (auto message = read_task_line(*text, most)) return message;
  for (const Form& form : kForms) {
    if (text->find(form.mark) == std::string_view::npos) continue;
    if (!form.and_mark.empty() && text->find(form.and_mark) == std::string_view::npos) continue;
    SrunMessage message;
    message.kind = form.kind;
    message.text = std::string(*text);
    if (!form.names_after.empty()) {
      const std::string_view tail = *text_after(*text, form.names_after);
      const auto colon = tail.find(": ");
      // "failed on node n3: REASON"; "Node failure on n3"
      message.nodes = names_in(tail.substr(0, std::min(tail.find(' '), colon)), most);
      if (colon != std::string_view::npos) message.text = std::string(trimmed(tail.substr(colon + 2)));
      if (message.nodes.empty()) return std::nullopt;
    }
    return message;
  }
  return std::nullopt;
}

int signal_of_words(std::string_view words) {
  words = trimmed(words);
  constexpr std::string_view kCore = " (core dumped)";
  if (words.size() > kCore.size() && words.substr(words.size() - kCore.size()) == kCore)
    words.remove_suffix(kCore.size());
  for (const SignalRow& row : kSignals)
    if (row.words == words) return row.number;
  return 0;
}

std::string signal_name(int number) {
  for (const SignalRow& row : kSignals)
    if (row.number == number) return std::string(row.name);
  return "signal " + std::to_string(number);
}

bool says_unreached(std::string_view text) {
  // slurm_strerror's words for its own errors of communication (22.05 to 25.11), and errno's.
  constexpr auto kWords = std::to_array<std::string_view>(
      {"Communication connection failure", "Communication shutdown failure", "Message send failure",
       "Message receive failure", "Socket timed out", "Zero Bytes were transmitted", "Connection refused",
       "Connection timed out", "Connection reset", "No route to host", "Network is unreachable",
       "Host is down"});
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view words) { return text.find(words) != std::string_view::npos; });
}

bool is_own_fault(int signal) {
  return std::any_of(kSignals.begin(), kSignals.end(),
                     [&](const SignalRow& row) { return row.number == signal && row.own_fault; });
}

}  // namespace sickbay
