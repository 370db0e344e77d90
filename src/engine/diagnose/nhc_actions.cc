// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/nhc_actions.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sickbay::diagnose {
namespace {

// A program that acts: always, where `verbs` is empty, else with one of them before its next command.
struct Program {
  std::string_view name;
  std::string_view verbs;  // blanks around each
};
constexpr auto kPrograms = std::to_array<Program>({
    {"reboot", ""},
    {"shutdown", ""},
    {"poweroff", ""},
    {"halt", ""},
    {"telinit", ""},
    {"init", " 0 1 6 "},
    {"kexec", ""},

    {"kill", ""},  // (but not kill -0, which asks)
    {"pkill", ""},
    {"killall", ""},
    {"skill", ""},
    {"renice", ""},

    {"rm", ""},
    {"rmdir", ""},
    {"unlink", ""},
    {"mv", ""},
    {"truncate", ""},
    {"chmod", ""},
    {"chown", ""},
    {"dd", ""},
    {"tee", ""},

    {"mount", ""},  // (but not mount alone, which lists)
    {"umount", ""},
    {"swapon", ""},
    {"swapoff", ""},
    {"fsck", ""},
    {"fstrim", ""},

    {"modprobe", ""},
    {"insmod", ""},
    {"rmmod", ""},
    {"depmod", ""},

    {"systemctl",
     " start stop restart try-restart reload reload-or-restart condrestart isolate kill mask unmask enable "
     "disable reboot poweroff halt kexec daemon-reload set-default "},
    {"service", " start stop restart reload condrestart "},
    {"chkconfig", " on off "},
    {"scontrol",
     " update reboot reboot_nodes requeue requeuehold create delete release hold suspend resume "
     "reconfigure shutdown takeover cancel_reboot power setdebug "},
    {"scancel", ""},
    {"sacctmgr", " add modify delete create remove "},

    {"ipmitool", " on off cycle reset soft raw bootdev "},
    {"nvidia-smi", " -r --gpu-reset -pm -pl -e -c -mig "},
    {"ip", " add del delete set flush change replace "},
    {"ifconfig", " up down "},
    {"ifup", ""},
    {"ifdown", ""},
    {"sysctl", " -w -p --write --load --system "},
    {"ibportstate", " disable enable reset "},
});

// Where a shell, or a list of words of a command, parts one word from the next; `ends` where a command ends.
bool parts(char c) { return std::string_view(" \t\n'\"(){}`").find(c) != std::string_view::npos; }
bool ends(char c) { return std::string_view(";|&`)}").find(c) != std::string_view::npos; }

// The commands of a line, roughly: an operator within quotes parts them as well, which finds more, not less.
std::vector<std::vector<std::string_view>> commands_of(std::string_view line) {
  std::vector<std::vector<std::string_view>> commands(1);
  std::size_t from = 0;
  const auto word_until = [&](std::size_t to) {
    if (to > from) commands.back().push_back(line.substr(from, to - from));
    from = to + 1;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!parts(line[i]) && !ends(line[i])) continue;
    word_until(i);
    if (ends(line[i]) && !commands.back().empty()) commands.emplace_back();
  }
  word_until(line.size());
  return commands;
}

// "/sbin/reboot" and "$(reboot" are reboot; "/reboot/" is a pattern.
std::string_view program_of(std::string_view word) {
  while (word.starts_with('$') || word.starts_with('!')) word.remove_prefix(1);
  if (word.starts_with('/')) word.remove_prefix(word.rfind('/') + 1);
  return word;
}

// > FILE, but not > /dev/null or >&2.
bool writes_a_file(std::string_view line) {
  for (std::size_t at = 0; (at = line.find('>', at)) != std::string_view::npos; ++at) {
    std::string_view behind = line.substr(at + 1);
    // ([[ a > b ]], -> and => are none; a pattern may hold one, and is held for a redirection.)
    if (at > 0 && (line[at - 1] == '-' || line[at - 1] == '=')) continue;
    while (!behind.empty() && (behind.front() == '>' || behind.front() == '|' || behind.front() == ' '))
      behind.remove_prefix(1);
    if (behind.starts_with('&') || behind.starts_with("/dev/null") || behind.starts_with("/dev/stderr") ||
        behind.starts_with("/dev/stdout"))
      continue;
    if (behind.starts_with('/') || behind.starts_with("\"/") || behind.starts_with("'/")) return true;
  }
  return false;
}

}  // namespace

std::string nhc_action(std::string_view line) {
  for (const auto& words : commands_of(line))
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view name = program_of(words[i]);
      const auto row = std::ranges::find(kPrograms, name, &Program::name);
      const bool makes_fs = name.starts_with("mkfs") || name.starts_with("fsck.");
      if (makes_fs) return std::string(name);
      if (row == kPrograms.end()) continue;
      const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view();
      if (row->verbs.empty()) {
        if ((name == "kill" && (next == "-0" || next == "-l")) ||
            (name == "mount" && (next.empty() || next == "-l" || next == "-t")))
          continue;
        return std::string(name);
      }
      for (std::size_t j = i + 1; j < words.size(); ++j)
        if (row->verbs.find(" " + std::string(words[j]) + " ") != std::string_view::npos)
          return std::string(name) + " " + std::string(words[j]);
    }
  return writes_a_file(line) ? "a file is written" : "";
}

}  // namespace sickbay::diagnose
