// SPDX-License-Identifier: Apache-2.0
// Checks of NHC 1.5 that ask about what a site has set up: commands of its own, files, the network, SMBIOS.
// One row each.  Those of processes: nhc_process_checks.cc.  Source: as nhc_checks.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"
#include "engine/diagnose/nhc_check_parts.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose::nhc {
namespace {

// Commands --------------------------------------------------------------------------------------------------

// NHC's own limit; a longer one of the check is refused there, and shortened here.
int seconds_of(std::string_view word, const NhcSettings& settings, std::int64_t otherwise) {
  const std::int64_t most = whole(settings.get("TIMEOUT", "30")).value_or(30);
  const std::int64_t wanted = word.empty() ? otherwise : whole(word).value_or(otherwise);
  return static_cast<int>(std::clamp<std::int64_t>(most > 0 ? std::min(wanted, most) : wanted, 1, 86400));
}
// What only a shell has.
bool is_of_shell(std::string_view program) {
  constexpr std::array<std::string_view, 12> kBuiltins = {"type",   "ulimit", "declare", "set",
                                                          "source", ".",      "eval",    "command",
                                                          "local",  "shopt",  "export",  "trap"};
  return std::ranges::find(kBuiltins, program) != kBuiltins.end() || program.starts_with("nhc_") ||
         program.starts_with("check_") || program.starts_with("mcheck");
}

NhcTranslation run_command(const Words& argv, const Words& patterns, std::int64_t exit, int seconds,
                           const NhcSettings& settings) {
  if (argv.empty() || argv[0].empty()) return not_taken("it names no command");
  if (is_of_shell(argv[0])) return not_taken("its command is one of the shell");
  const auto lines = as_lines(argv), expected = as_lines(patterns);
  if (!lines || !expected) return not_taken("an argument of it has several lines, or none");
  Json arguments = Json::object({{"command", *lines}});
  if (!expected->empty()) arguments.set("expect", *expected);
  if (!settings.environment.empty()) arguments.set("environment", settings.environment);
  NhcRule rule;
  rule.looks = {{"command", std::move(arguments), "commands", "what the site's commands look at", seconds}};
  rule.fault = fmt::format("{{command_timed_out}} OR {{command_exit}} != {}", exit);
  if (!expected->empty()) rule.fault += " OR NOT {command_as_expected}";
  std::string shown;
  for (const std::string& word : argv) shown += (shown.empty() ? "" : " ") + word;
  rule.description = fmt::format("The command '{}' did not end as it should", shown.substr(0, 200));
  return taken(std::move(rule));
}
NhcTranslation command_check(const Words& w, const NhcSettings& settings, std::string_view letters,
                             Words program) {
  Options o = parse_options(w, letters);
  if (o.wrong) return not_taken("it has options that are not known");
  Words argv = program.empty() ? o.rest : std::move(program);
  if (o.has('e')) {
    argv.clear();
    const std::string text = o.last('e');
    for (std::string_view rest = text; !rest.empty();)
      if (const std::string_view word = next_word(rest); !word.empty()) argv.emplace_back(word);
  }
  const auto exit = o.has('r') ? whole(o.last('r')) : std::optional<std::int64_t>(0);
  if (!exit) return not_taken("its exit code cannot be read");
  return run_command(argv, o.given['m'], *exit, seconds_of(o.last('t'), settings, 5), settings);
}
NhcTranslation command_output(const Words& w, const NhcSettings& s) {
  return command_check(w, s, "C:O:e:m:r:t:", {});
}
NhcTranslation command_status(const Words& w, const NhcSettings& s) {
  return command_check(w, s, "C:r:t:", {});
}
NhcTranslation command_dmesg(const Words& w, const NhcSettings& s) {
  return command_check(w, s, "m:r:t:", {"dmesg"});
}

// Files -----------------------------------------------------------------------------------------------------

// What lies in one folder of the root is asked one after the other: a server that is away holds one thread.
NhcLook file_look(std::string builtin, Json arguments, std::string_view path) {
  const std::string top(path.substr(0, path.find('/', 1)));
  return {std::move(builtin), std::move(arguments), "files_" + top, "files in " + top};
}
bool are_paths(const Words& words) {
  return !words.empty() && std::ranges::all_of(words, [](const auto& w) { return w.starts_with('/'); });
}

NhcTranslation file_test(const Words& w, const NhcSettings&) {
  const Options o = parse_options(w, "!GLNOSabcdefghkprstuwx");
  if (o.wrong) return not_taken("it has options that are not known");
  if (!are_paths(o.rest)) return not_taken("it names no absolute paths");
  if (o.has('t')) return not_taken("it asks for a terminal");
  std::string letters;
  for (const auto& [letter, given] : o.given)
    if (letter != '!') letters += letter;
  const auto lines = as_lines(o.rest);
  if (letters.empty() || !lines) return not_taken("it has no test");
  return taken(
      {{file_look("file_test", Json::object({{"tests", letters}, {"paths", *lines}, {"negated", o.has('!')}}),
                  o.rest[0])},
       "NOT {file_tests_passed}",
       fmt::format("A file is not as it should be: {}", o.rest[0])});
}

// Numbers as the shell reads them: 0x1b6, 0666, 438.
std::optional<std::int64_t> shell_number(std::string_view word) {
  std::optional<std::int64_t> n;
  if (word.starts_with("0x"))
    n = to_integer(word.substr(2), 16);
  else
    n = to_integer(word, word.size() > 1 && word[0] == '0' ? 8 : 10);
  return n && *n >= 0 && *n <= (std::int64_t{1} << 40) ? n : std::nullopt;
}

NhcTranslation file_stat(const Words& w, const NhcSettings&) {
  const Options o = parse_options(w, "B:D:G:M:N:O:P:T:U:b:d:g:m:n:o:p:t:u:");
  if (o.wrong) return not_taken("it compares what builtin:file_stat does not read");
  if (!are_paths(o.rest)) return not_taken("it names no absolute paths");
  struct Row {
    char letter;
    const char* fault;  // of a number
    const char* name = nullptr;
  };
  constexpr Row kNumbers[] = {
      {'D', "{{file_device}} != {}"},     {'d', "{{file_device}} != {}"},   {'g', "{{file_gid}} != {}"},
      {'u', "{{file_uid}} != {}"},        {'t', "{{file_major}} != {}"},    {'T', "{{file_minor}} != {}"},
      {'n', "{{file_age}} > {}"},         {'o', "{{file_age}} <= {}"},      {'N', "{{file_change_age}} > {}"},
      {'O', "{{file_change_age}} <= {}"}, {'B', "{{file_birth_age}} > {}"}, {'b', "{{file_birth_age}} <= {}"},
  };
  std::string fault = "NOT {file_exists}";
  for (const Row& row : kNumbers) {
    if (!o.has(row.letter)) continue;
    const auto n = shell_number(o.last(row.letter));
    if (!n) return not_taken("its numbers cannot be read");
    fault += " OR " + fmt::format(fmt::runtime(row.fault), *n);
  }
  constexpr std::int64_t kPermissions = 07777;
  for (const char letter : {'m', 'p', 'M', 'P'}) {
    if (!o.has(letter)) continue;
    const auto n = shell_number(o.last(letter));
    if (!n) return not_taken("its mode cannot be read");
    // With the bits of a type it is meant whole.
    const char* what = *n > kPermissions ? "{file_mode}" : "{file_permissions}";
    fault += to_lower(letter) == letter ? fmt::format(" OR {} != {}", what, *n)
                                        : fmt::format(" OR ({} & {}) != {}", what, *n, *n);
  }
  for (const auto& [letter, output] : {std::pair('U', "{file_user}"), {'G', "{file_group}"}})
    if (o.has(letter)) fault += fmt::format(" OR {} != {}", output, as_text(o.last(letter)));
  NhcTranslation all = not_taken("");
  for (const std::string& path : o.rest) {
    if (path.find('\n') != std::string::npos || path.size() > 256)
      return not_taken("a path of it is no path");
    NhcRule rule;
    rule.looks = {file_look("file_stat", Json::object({{"path", path}}), path)};
    rule.fault = fault;
    rule.description = path + " is not as it should be";
    all.rules.push_back(std::move(rule));
  }
  return all;
}

NhcTranslation file_contents(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/') || w[1].size() > 256) return not_taken("it names no absolute path");
  const auto expected = as_lines(w, 2);
  if (!expected || expected->empty()) return not_taken("its patterns cannot be read");
  return taken({{file_look("file_contents", Json::object({{"path", w[1]}, {"expect", *expected}}), w[1])},
                "NOT {file_as_expected}",
                w[1] + " does not hold what it should"});
}

// Network, SMBIOS -------------------------------------------------------------------------------------------

NhcTranslation net_socket(const Words& w, const NhcSettings&) {
  const Options o = parse_options(w, "!0ad:l:n:p:r:s:t:u:e:E:");
  if (o.wrong || !o.rest.empty()) return not_taken("it has options that are not known");
  Json arguments = Json::object();
  std::string shown;
  for (const auto& [letter, name] : {std::pair('p', "protocol"),
                                     {'l', "local"},
                                     {'r', "remote"},
                                     {'s', "state"},
                                     {'t', "type"},
                                     {'u', "user"},
                                     {'d', "program"}}) {
    if (!o.has(letter)) continue;
    const std::string value = o.last(letter);
    if (value.size() > 256) return not_taken("a pattern of it is too long");
    arguments.set(name, value);
    shown += (shown.empty() ? "" : " ") + value;
  }
  if (arguments.size() == 0) return not_taken("it says nothing of the socket");
  if (o.has('n')) shown = o.last('n');
  NhcRule rule;
  rule.looks = {{"sockets", std::move(arguments), "sockets", "sockets"}};
  rule.fault = o.has('!') ? "{sockets} > 0" : "{sockets} == 0";
  rule.description = fmt::format("{} socket {}", o.has('!') ? "There is a" : "There is no", shown);
  rule.tells_only = o.has('0');
  return taken(std::move(rule), o.has('e') || o.has('E') ? std::string(kShellCommands) : "");
}

NhcTranslation net_ping(const Words& w, const NhcSettings& settings) {
  const Options o = parse_options(w, "I:W:c:i:s:t:w:");
  if (o.wrong) return not_taken("it has options that are not known");
  const auto hosts = as_lines(o.rest);
  if (!hosts || hosts->empty()) return not_taken("it names no host");
  Json arguments = Json::object({{"hosts", *hosts}});
  std::int64_t deadline = 1;
  struct Row {
    char letter;
    const char* name;
    const char* standard;
  };
  constexpr Row kRows[] = {
      {'c', "count", "1"}, {'t', "ttl", "2"}, {'w', "deadline", "1"}, {'W', "wait", ""}, {'s', "size", ""}};
  for (const Row& row : kRows) {
    const std::string given = o.has(row.letter) ? o.last(row.letter) : row.standard;
    if (given.empty()) continue;
    const auto n = whole(given);
    if (!n) return not_taken("its numbers cannot be read");
    arguments.set(row.name, *n);
    if (row.letter == 'w') deadline = *n;
  }
  if (o.has('i')) {
    const auto interval = to_fraction(o.last('i'));
    if (!interval || *interval < 0) return not_taken("its numbers cannot be read");
    arguments.set("interval", *interval);
  }
  if (o.has('I')) arguments.set("device", o.last('I'));
  const auto all = static_cast<std::int64_t>(o.rest.size()) * std::min<std::int64_t>(deadline, 600) + 5;
  NhcRule rule;
  rule.looks = {{"ping", std::move(arguments), "network", "the network",
                 seconds_of(std::to_string(all), settings, all)}};
  rule.fault = "NOT {ping_answered}";
  rule.description = fmt::format("A host does not answer: {}", o.rest[0]);
  return taken(std::move(rule));
}

NhcTranslation smbios(const Words& w, bool raw) {
  Options o = raw ? Options{} : parse_options(w, "!h:nt:");
  if (raw) o.rest.assign(w.begin() + 1, w.end());
  if (o.wrong) return not_taken("it has options that are not known");
  bool negated = o.has('!') || o.has('n');
  if (!o.rest.empty() && o.rest[0] == "!") {
    negated = true;
    o.rest.erase(o.rest.begin());
  }
  std::string match;
  for (const std::string& word : o.rest) match += (match.empty() ? "" : " ") + word;
  if (match.empty() || match.size() > 256) return not_taken("it has no pattern");
  Json arguments = Json::object({{"match", match}});
  if (raw) arguments.set("raw", true);
  if (o.has('h')) arguments.set("handle", o.last('h'));
  if (o.has('t')) arguments.set("type", o.last('t'));
  return taken({{{"dmi", std::move(arguments), "firmware", "firmware and what it tells of the machine"}},
                fmt::format("{{dmi_looked_at}} == 0 OR {{dmi_matches}} {} 0", negated ? ">" : "=="),
                fmt::format("The firmware tells {}{}", negated ? "" : "nothing of ", match)});
}
NhcTranslation dmi_data(const Words& w, const NhcSettings&) { return smbios(w, false); }
NhcTranslation dmi_raw(const Words& w, const NhcSettings&) { return smbios(w, true); }

constexpr CheckRow kSiteChecks[] = {
    {"check_cmd_output", command_output}, {"check_cmd_status", command_status},
    {"check_cmd_dmesg", command_dmesg},   {"check_file_test", file_test},
    {"check_file_stat", file_stat},       {"check_file_contents", file_contents},
    {"check_net_socket", net_socket},     {"check_net_ping", net_ping},
    {"check_dmi_data_match", dmi_data},   {"check_dmi_raw_data_match", dmi_raw},
};

}  // namespace

const CheckRow* site_check_row(std::string_view name) {
  const auto* row = std::ranges::find(kSiteChecks, name, &CheckRow::name);
  return row == std::end(kSiteChecks) ? nullptr : row;
}

NhcTranslation program_check(const Words& words, const NhcSettings& settings) {
  return run_command(words, {}, 0, seconds_of("", settings, 30), settings);
}

}  // namespace sickbay::diagnose::nhc
