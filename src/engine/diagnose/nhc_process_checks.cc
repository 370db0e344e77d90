// SPDX-License-Identifier: Apache-2.0
// Checks of NHC 1.5 that look through the processes of a node: services, processes that must or must not be,
// what they use, and whose they are.  One row each.  What such a check does to a process is left out, but for
// what a built-in repair does.  Source: as nhc_checks.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "engine/diagnose/nhc_check_parts.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose::nhc {
namespace {

constexpr std::string_view kNoActions = "what it does to the process is left out";

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
  if (o.has('k') || o.has('s')) add_note(note, kNoActions);
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
  std::string note = actions.kills ? std::string(kNoActions) : "";
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
  return taken(std::move(rule), acts ? std::string(kNoActions) : "");
}
NhcTranslation by_cpu(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::cpu); }
NhcTranslation by_address_space(const Words& w, const NhcSettings& s) {
  return resources(w, s, Resource::address_space);
}
NhcTranslation by_memory(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::memory); }
NhcTranslation by_time(const Words& w, const NhcSettings& s) { return resources(w, s, Resource::time); }

constexpr CheckRow kProcessChecks[] = {
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

const CheckRow* process_check_row(std::string_view name) {
  const auto* row = std::ranges::find(kProcessChecks, name, &CheckRow::name);
  return row == std::end(kProcessChecks) ? nullptr : row;
}

}  // namespace sickbay::diagnose::nhc
