// SPDX-License-Identifier: Apache-2.0
// Checks of commands, files, the network, SMBIOS and processes of NHC 1.5, one row each.  Source: as
// nhc_checks.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"
#include "engine/diagnose/nhc_check_parts.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose::nhc {
namespace {

constexpr std::string_view kActions = "what it does to the process is left out";
constexpr std::string_view kShellCommands = "its shell commands are left out";

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

// Processes -------------------------------------------------------------------------------------------------

NhcLook process_look(std::string builtin, Json arguments) {
  return {std::move(builtin), std::move(arguments), "processes", "processes"};
}
std::int64_t first_uid(const NhcSettings& settings) {
  return whole(settings.get("MAX_SYS_UID", "999")).value_or(999) + 1;
}
// "root nobody" -> "root,nobody"
std::string allowed_users(const NhcSettings& settings, const Words& more) {
  std::string users = settings.get("NHC_AUTH_USERS", "root nobody");
  for (const std::string& user : more) users += " " + user;
  std::string list;
  for (std::string_view rest = users; !rest.empty();)
    if (const std::string_view user = next_word(rest); !user.empty())
      list += (list.empty() ? "" : ",") + std::string(user);
  return list;
}
// log, syslog, die, kill, ignore: what a check does with what it finds.
struct Actions {
  bool dies = false, kills = false, ignores = false;
};
Actions actions_of(const Words& words) {
  Actions a;
  a.dies = words.empty();
  for (const std::string& word : words) {
    if (word == "ignore") {
      a.ignores = !a.dies && !a.kills;
      break;
    }
    a.dies = a.dies || word == "die";
    a.kills = a.kills || word == "kill";
  }
  return a;
}
NhcTranslation never_fails() {
  NhcTranslation made = not_taken("");
  made.never_fails = true;
  return made;
}

NhcTranslation service(const Words& w, const NhcSettings&) {
  const Options o = parse_options(w, "0fSVrcskvu:d:m:e:E:");
  if (o.wrong || o.rest.empty()) return not_taken("it names no service");
  std::string name;
  for (const std::string& word : o.rest) name += (name.empty() ? "" : " ") + word;
  const bool unwanted = o.has('k') || o.has('s') || o.has('E');
  const bool plain = is_literal(name) && name.find(' ') == std::string::npos;
  NhcRule rule;
  std::string note;
  if (plain && !unwanted && !o.has('m') && !o.has('f') && !o.has('u') &&
      (!o.has('d') || is_literal(o.last('d')))) {
    // systemd knows more of a service than a list of names does.
    Json arguments = Json::object({{"name", name}});
    if (o.has('d') && o.last('d') != name) arguments.set("program", o.last('d'));
    rule.looks = {{"service", std::move(arguments), "service_" + name, "service " + name}};
    rule.fault = "NOT {service_up}";
  } else {
    const std::string match = o.has('m') ? o.last('m') : "*" + (o.has('d') ? o.last('d') : name);
    if (match.size() > 256) return not_taken("its pattern is too long");
    Json arguments = Json::object({{"match", match}, {"whole", o.has('f')}});
    if (o.has('u')) arguments.set("user", o.last('u'));
    rule.looks = {process_look("process_match", std::move(arguments))};
    rule.fault = unwanted ? "{processes_matched} > 0" : "{processes_matched} == 0";
  }
  rule.description = fmt::format("Service {} {}", name, unwanted ? "runs" : "does not run");
  rule.tells_only = o.has('0');
  if (o.has('k') || o.has('s')) add_note(note, kActions);
  if (o.has('e') || o.has('E')) add_note(note, kShellCommands);
  if (!unwanted && plain && (o.has('S') || o.has('r') || o.has('c'))) {
    rule.repair = "restart_service";
    rule.repair_arguments = Json::object({{"name", name}});
  }
  return taken(std::move(rule), std::move(note));
}

NhcTranslation named_process(const Words& w, bool unwanted) {
  if (at(w, 1).empty() || w.size() > 4) return not_taken("it names no process");
  const std::string name = w[1] + (at(w, 3).empty() ? "" : " " + w[3]);
  if (name.size() > 250) return not_taken("its name is too long");
  Json arguments = Json::object({{"contains", name}});
  if (!at(w, 2).empty()) arguments.set("user", w[2]);
  const std::string owner = at(w, 2).empty() ? "" : " of " + w[2];
  return taken({{process_look("process_match", std::move(arguments))},
                unwanted ? "{processes_matched} > 0" : "{processes_matched} == 0",
                fmt::format("Process {}{} {}", name, owner, unwanted ? "runs" : "does not run")});
}
NhcTranslation daemon(const Words& w, const NhcSettings&) { return named_process(w, false); }
NhcTranslation blacklist(const Words& w, const NhcSettings&) { return named_process(w, true); }

NhcTranslation load(const Words& w, const NhcSettings&) {
  NhcRule rule;
  rule.looks = {{"load", Json::object(), "cpus", "processors"}};
  constexpr const char* kOutputs[] = {"{load_1}", "{load_5}", "{load_15}"};
  bool by_node = false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (at(w, i + 1).empty()) continue;
    const auto limit = nhc_limit(w[i + 1]);
    if (!limit) return not_taken("its limits cannot be read");
    by_node = by_node || limit->by_node;
    rule.fault += fmt::format("{}{} >= {}", rule.fault.empty() ? "" : " OR ", kOutputs[i], limit->expression);
  }
  if (rule.fault.empty()) return not_taken("it has no limit");
  if (by_node) rule.looks.push_back({"cpu_info", Json::object(), "processors", "processors"});
  rule.description = "The load of the node is too high";
  return taken(std::move(rule));
}

NhcTranslation unauthorised(const Words& w, const NhcSettings& settings) {
  Options o = parse_options(w, "c:u:n:p:");
  if (o.wrong) return not_taken("it has options that are not known");
  const Actions actions = actions_of(o.rest);
  if (actions.ignores) return never_fails();
  Words more = o.given['u'];
  more.insert(more.end(), o.given['n'].begin(), o.given['n'].end());
  NhcRule rule;
  rule.looks = {
      {"processes",
       Json::object({{"first_uid", first_uid(settings)}, {"except", allowed_users(settings, more)}}),
       "processes", "processes"}};
  rule.fault = "{foreign_processes} > 0";
  rule.description = "Users without a job on the node have processes there";
  rule.tells_only = !actions.dies;
  if (actions.kills) {
    rule.repair = "kill_leftovers";
    rule.repair_arguments = rule.looks[0].arguments;
  }
  if (o.given['c'].empty() && o.given['p'].empty()) return taken(std::move(rule));
  rule.tells_only = true;  // it may be one that is to be left out
  return taken(std::move(rule), "processes are not left out by command or number, so it tells only");
}

NhcTranslation lineage(const Words& w, const NhcSettings& settings) {
  Options o = parse_options(w, "c:u:n:p:");
  if (o.wrong) return not_taken("it has options that are not known");
  const Actions actions = actions_of(o.rest);
  if (actions.ignores) return never_fails();
  Words more = o.given['u'];
  more.insert(more.end(), o.given['n'].begin(), o.given['n'].end());
  const std::string above = settings.get("RM_DAEMON_MATCH", "/\\bslurmstepd\\b/");
  if (above.size() > 256) return not_taken("RM_DAEMON_MATCH is too long");
  NhcRule rule;
  rule.looks = {process_look("stray_processes", Json::object({{"above", above},
                                                              {"first_uid", first_uid(settings)},
                                                              {"except", allowed_users(settings, more)}}))};
  rule.fault = "{stray_processes} > 0";
  rule.description = "Processes of users do not descend from Slurm's";
  std::string note = actions.kills ? std::string(kActions) : "";
  const bool by_command = !o.given['c'].empty() || !o.given['p'].empty();
  if (by_command) add_note(note, "processes are not left out by command or number, so it tells only");
  rule.tells_only = !actions.dies || by_command;
  return taken(std::move(rule), std::move(note));
}

NhcTranslation reclaim(const Words& w, const NhcSettings&) {
  const auto most = nhc_limit(at(w, 1)), ratio = nhc_limit(at(w, 2));
  if (!most || !ratio || most->by_node || ratio->by_node) return not_taken("its limits cannot be read");
  const Actions actions = actions_of(Words(w.begin() + 3, w.end()));
  if (actions.ignores) return never_fails();
  NhcRule rule;
  rule.looks = {process_look("kswapd", Json::object())};
  // The division by 0 stands behind the question whether it is one.
  rule.fault = fmt::format(
      "{{kswapd_threads}} > 1 AND ({{kswapd_highest}} > {0} OR ({{kswapd_lowest}} == 0 AND "
      "{{kswapd_highest}} > "
      "Math.floor({0} / 2)) OR ({{kswapd_lowest}} != 0 AND {{kswapd_highest}} >= {{kswapd_lowest}} * ({1} + "
      "1)))",
      most->expression, ratio->expression);
  rule.description = "Memory is reclaimed unevenly over the NUMA nodes";
  rule.tells_only = !actions.dies;
  return taken(std::move(rule));
}

// "90", "1m30s", "20m"
std::optional<std::int64_t> cpu_time(std::string_view word) {
  std::int64_t total = 0;
  if (const std::size_t m = word.find_first_of("mM"); m != std::string_view::npos) {
    const auto minutes = whole(word.substr(0, m));
    if (!minutes) return std::nullopt;
    total = *minutes * 60;
    word.remove_prefix(m + 1);
  }
  if (word.ends_with('s') || word.ends_with('S')) word.remove_suffix(1);
  if (word.empty()) return total > 0 ? std::optional(total) : std::nullopt;
  const auto seconds = whole(word);
  return seconds ? std::optional(total + *seconds) : std::nullopt;
}

enum class Resource { cpu, address_space, memory, time };
NhcTranslation resources(const Words& w, const NhcSettings& settings, Resource which) {
  Options o = parse_options(w, "0AKafklse:m:r:u:");
  if (o.wrong || o.rest.size() != 1) return not_taken("its threshold cannot be read");
  const std::string& limit = o.rest[0];
  Json arguments = Json::object();
  const auto share = percent(limit);
  const auto size = parse_nhc_size(limit);
  if (which == Resource::cpu) {
    const auto n = whole(limit.ends_with('%') ? std::string_view(limit).substr(0, limit.size() - 1) : limit);
    if (n && *n > 0) arguments.set("cpu_percent", *n);
  } else if (which == Resource::time) {
    if (const auto n = cpu_time(limit); n && *n > 0) arguments.set("cpu_seconds", *n);
  } else if (which == Resource::memory && share && *share > 0) {
    arguments.set("memory_percent", *share);
  } else if (size && *size > 0) {
    arguments.set(which == Resource::memory ? "resident" : "virtual", *size);
  }
  if (arguments.size() == 0) return not_taken("its threshold cannot be read");
  if (o.has('m')) arguments.set("match", o.last('m'));
  if (o.has('f')) arguments.set("whole", true);
  if (o.has('u')) arguments.set("user", o.last('u'));
  arguments.set("first_uid", o.has('A') ? std::int64_t{0} : first_uid(settings));
  NhcRule rule;
  rule.looks = {process_look("process_use", std::move(arguments))};
  rule.fault = "{processes_over} > 0";
  constexpr const char* kNouns[] = {"of a processor", "of address space", "of main memory",
                                    "of processor time"};
  rule.description =
      fmt::format("A process uses {} {} or more", limit, kNouns[static_cast<std::size_t>(which)]);
  rule.tells_only = o.has('0');
  const bool acts = o.has('k') || o.has('K') || o.has('e') || o.has('r');
  return taken(std::move(rule), acts ? std::string(kActions) : "");
}
NhcTranslation by_cpu(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::cpu); }
NhcTranslation by_address_space(const Words& w, const NhcSettings& s) {
  return resources(w, s, Resource::address_space);
}
NhcTranslation by_memory(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::memory); }
NhcTranslation by_time(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::time); }

constexpr CheckRow kSiteChecks[] = {
    {"check_cmd_output", command_output},
    {"check_cmd_status", command_status},
    {"check_cmd_dmesg", command_dmesg},
    {"check_file_test", file_test},
    {"check_file_stat", file_stat},
    {"check_file_contents", file_contents},
    {"check_net_socket", net_socket},
    {"check_net_ping", net_ping},
    {"check_dmi_data_match", dmi_data},
    {"check_dmi_raw_data_match", dmi_raw},
    {"check_ps_service", service},
    {"check_ps_daemon", daemon},
    {"check_ps_blacklist", blacklist},
    {"check_ps_loadavg", load},
    {"check_ps_unauth_users", unauthorised},
    {"check_ps_userproc_lineage", lineage},
    {"check_ps_kswapd", reclaim},
    {"check_ps_cpu", by_cpu},
    {"check_ps_mem", by_address_space},
    {"check_ps_physmem", by_memory},
    {"check_ps_time", by_time},
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
