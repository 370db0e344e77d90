// SPDX-License-Identifier: Apache-2.0
// One row per check of NHC 1.5.  What each does, and what its arguments mean: NHC's README, "Built-in
// Checks".
#include "engine/diagnose/nhc_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"

namespace sickbay::diagnose {
namespace {

using Words = std::vector<std::string>;

NhcTranslation not_taken(std::string why) { return {{}, std::move(why)}; }
NhcTranslation taken(NhcRule rule, std::string note = "") { return {{std::move(rule)}, std::move(note)}; }

std::optional<std::int64_t> whole(std::string_view word) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc() || end != word.data() + word.size() || n < 0 || n > 1'000'000'000)
    return std::nullopt;
  return n;
}
// "3%"
std::optional<std::int64_t> percent(std::string_view word) {
  if (!word.ends_with('%')) return std::nullopt;
  const auto n = whole(word.substr(0, word.size() - 1));
  return n && *n <= 100 ? n : std::nullopt;
}
// A match string that is only a name.
bool is_literal(std::string_view word) {
  return !word.empty() && word[0] != '!' && word[0] != '/' && word[0] != '{' &&
         word.find_first_of("*?[") == std::string_view::npos;
}
std::string at(const Words& words, std::size_t i) { return i < words.size() ? words[i] : ""; }
void add_note(std::string& note, std::string_view text) {
  note += (note.empty() ? "" : "; ") + std::string(text);
}
std::string as_text(std::string_view text) { return Json(std::string(text)).dump(); }

// getopts: letters of `spec` with ':' take a value.
struct Options {
  std::map<char, Words> given;
  Words rest;
  bool wrong = false;
  bool has(char letter) const { return given.contains(letter); }
  std::string last(char letter) const { return has(letter) ? given.at(letter).back() : ""; }
};
Options parse_options(const Words& words, std::string_view spec) {
  Options o;
  std::size_t i = 1;
  for (; i < words.size() && words[i].size() > 1 && words[i][0] == '-'; ++i) {
    if (words[i] == "--") {
      ++i;
      break;
    }
    for (std::size_t k = 1; k < words[i].size(); ++k) {
      const char letter = words[i][k];
      const auto known = spec.find(letter);
      if (letter == ':' || known == std::string_view::npos) {
        o.wrong = true;
        return o;
      }
      if (known + 1 >= spec.size() || spec[known + 1] != ':') {
        o.given[letter].emplace_back();
        continue;
      }
      if (k + 1 < words[i].size()) {
        o.given[letter].push_back(words[i].substr(k + 1));
      } else if (i + 1 < words.size()) {
        o.given[letter].push_back(words[++i]);
      } else {
        o.wrong = true;
      }
      break;
    }
  }
  o.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(i, words.size())), words.end());
  return o;
}

// Memory -------------------------------------------------------------------------------------------------

const NhcLook kMemory = {"memory", Json::object(), "memory", "main memory"};
const NhcLook kSwap = {"swap", Json::object(), "swap", "swap space"};

// [min] [max] [fudge] of a size, the fudge a size or a share of what is there.
NhcTranslation size_between(const Words& w, std::vector<NhcLook> looks, const std::string& what,
                            const std::string& noun) {
  const auto least = parse_nhc_size(at(w, 1)), most = parse_nhc_size(at(w, 2));
  if ((!at(w, 1).empty() && !least) || (!at(w, 2).empty() && !most) || (!least && !most))
    return not_taken("its sizes cannot be read");
  std::string fudge = "0";
  if (const std::string given = at(w, 3); !given.empty()) {
    const auto share = percent(given);
    const auto size = parse_nhc_size(given);
    if (!share && !size) return not_taken("its tolerance cannot be read");
    fudge = share ? fmt::format("({}) * {} / 100", what, *share) : fmt::format("{}", *size);
  }
  NhcRule rule;
  rule.looks = std::move(looks);
  if (least) rule.fault = fmt::format("{} + {} < {}", what, fudge, *least);
  if (most) rule.fault += fmt::format("{}{} - {} > {}", least ? " OR " : "", what, fudge, *most);
  rule.description = noun + " is not of the expected size";
  return taken(std::move(rule));
}
NhcTranslation size_free(const Words& w, std::vector<NhcLook> looks, const std::string& what,
                         const std::string& noun) {
  const auto least = parse_nhc_size(at(w, 1));
  if (!least) return not_taken("its size cannot be read");
  return taken({std::move(looks), fmt::format("{} < {}", what, *least), "Too little " + noun + " is free"});
}
NhcTranslation physmem(const Words& w) { return size_between(w, {kMemory}, "{memory_total}", "Main memory"); }
NhcTranslation physmem_free(const Words& w) {
  return size_free(w, {kMemory}, "{memory_available}", "main memory");
}
NhcTranslation swap(const Words& w) { return size_between(w, {kSwap}, "{swap_total}", "Swap space"); }
NhcTranslation swap_free(const Words& w) {
  return size_free(w, {kSwap}, "{swap_total} - {swap_used}", "swap space");
}
NhcTranslation mem(const Words& w) {
  return size_between(w, {kMemory, kSwap}, "{memory_total} + {swap_total}", "Memory with swap space");
}
NhcTranslation mem_free(const Words& w) {
  return size_free(w, {kMemory, kSwap}, "{memory_available} + {swap_total} - {swap_used}",
                   "memory with swap space");
}

// Processors, devices --------------------------------------------------------------------------------------

NhcTranslation cpuinfo(const Words& w) {
  const auto threads = whole(at(w, 3));
  if (!threads) return not_taken("it names no number of threads, which are what is counted");
  return taken({{{"cpus", Json::object(), "cpus", "processors"}},
                fmt::format("{{cpus_online}} != {}", *threads),
                "The number of processors is not the expected one"},
               at(w, 1).empty() && at(w, 2).empty() ? "" : "sockets and cores are not counted, threads are");
}
NhcTranslation eth(const Words& w) {
  if (!is_literal(at(w, 1))) return not_taken("it names no device");
  return taken({{{"nic", Json::object({{"device", w[1]}}), "nic_" + w[1], "network device " + w[1]}},
                "NOT {nic_up}",
                "Network device " + w[1] + " is down"},
               "a link that is down is a fault, a device that is missing is unknown");
}
NhcTranslation infiniband(const Words& w) {
  const auto rate = whole(at(w, 1));
  if (!rate) return not_taken("its rate cannot be read");
  std::string device = at(w, 2), note;
  if (const auto colon = device.find(':'); colon != std::string::npos) {
    device.resize(colon);
    note = "all ports of the adapter are looked at";
  }
  Json arguments = Json::object();
  if (!device.empty()) arguments.set("device", device);
  return taken({{{"infiniband", std::move(arguments), "infiniband", "InfiniBand adapters"}},
                fmt::format("{{ib_ports_active}} == 0 OR {{ib_rate_lowest}} != {}", *rate),
                fmt::format("No InfiniBand link is active at {} Gbit/s", *rate)},
               std::move(note));
}
NhcTranslation gpus(const Words&) {
  return taken({{{"gpu", Json::object(), "gpus", "graphics processors"}},
                "{gpus_lost} > 0 OR {gpu_uncorrected_errors} > 0",
                "A graphics processor is lost or has memory errors"},
               "lost processors and uncorrected memory errors, not all that the vendor's tool looks at");
}

// File systems ---------------------------------------------------------------------------------------------

NhcLook filesystem(const std::string& path) {
  return {"filesystem", Json::object({{"path", path}}), "filesystem_" + path, "file system of " + path};
}

NhcTranslation mount(const Words& w, std::string_view access) {
  Options o = parse_options(w, "0rt:s:o:O:e:E:f:F:");
  if (o.wrong) return not_taken("it has options that are not known");
  NhcTranslation all;
  Words points = o.rest;
  for (const char letter : {'F', 'f'})
    if (o.has(letter)) points.insert(points.begin(), o.given[letter].begin(), o.given[letter].end());
  std::string type = o.last('t');
  if (!o.has('f') && !o.has('F')) {  // the old form: mountpoint [source] [fstype] [options]
    points = {at(o.rest, 0)};
    type = at(o.rest, 2);
    if (!at(o.rest, 1).empty() && at(o.rest, 1) != "*") add_note(all.note, "the source is not compared");
    if (!at(o.rest, 3).empty()) add_note(all.note, "mount options are not compared");
  }
  if (o.has('s')) add_note(all.note, "the source is not compared");
  if (o.has('o')) add_note(all.note, "mount options are not compared");
  if (o.has('e') || o.has('E')) add_note(all.note, "its shell commands are left out");
  if (!type.empty() && !is_literal(type)) {
    add_note(all.note, "the type is a pattern and is not compared");
    type.clear();
  }
  for (const std::string& point : points) {
    if (point.empty() || point[0] != '/') return not_taken("it names no mount point");
    NhcRule rule;
    rule.looks = {{"mount", Json::object({{"path", point}}), "mount_" + point, "mount at " + point}};
    rule.fault = "NOT {mount_present}";
    if (access == "rw") rule.fault += " OR {mount_read_only}";
    if (access == "ro") rule.fault += " OR NOT {mount_read_only}";
    if (!type.empty()) rule.fault += fmt::format(" OR {{mount_type}} != {}", as_text(type));
    rule.description = fmt::format("{} is not mounted as it should be", point);
    rule.tells_only = o.has('0');
    if (o.has('r')) {
      rule.repair = "remount";
      rule.repair_arguments = Json::object({{"path", point}});
    }
    all.rules.push_back(std::move(rule));
  }
  return all;
}
NhcTranslation mount_any(const Words& w) { return mount(w, ""); }
NhcTranslation mount_rw(const Words& w) { return mount(w, "rw"); }
NhcTranslation mount_ro(const Words& w) { return mount(w, "ro"); }

NhcTranslation fs_free(const Words& w) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto size = parse_nhc_size(at(w, 2));
  if (!share && !size) return not_taken("its size cannot be read");
  return taken({{filesystem(w[1])},
                share ? fmt::format("{{filesystem_used_percent}} > {}", 100 - *share)
                      : fmt::format("{{filesystem_free}} < {}", *size),
                w[1] + " has too little free space"});
}
NhcTranslation fs_used(const Words& w) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  if (!share) return not_taken("used space is told as a share only");
  return taken(
      {{filesystem(w[1])}, fmt::format("{{filesystem_used_percent}} >= {}", *share), w[1] + " is too full"});
}
NhcTranslation fs_size(const Words& w) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const Words sizes = {w[0], at(w, 2), at(w, 3)};
  return size_between(sizes, {filesystem(w[1])}, "{filesystem_size}", w[1]);
}
NhcTranslation fs_inodes_free(const Words& w) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto count = parse_nhc_size(at(w, 2) + "b");  // "1k" are 1024 of them
  const auto thousand = parse_nhc_size(at(w, 2));
  if (share)
    return taken({{filesystem(w[1])},
                  fmt::format("{{inodes_used_percent}} > {}", 100 - *share),
                  w[1] + " has too few free inodes"});
  if (!count && !thousand) return not_taken("its number cannot be read");
  const std::int64_t least = whole(at(w, 2)) ? *whole(at(w, 2)) : *thousand;
  return taken(
      {{filesystem(w[1])}, fmt::format("{{inodes_free}} < {}", least), w[1] + " has too few free inodes"});
}
NhcTranslation fs_inodes_used(const Words& w) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  if (!share) return not_taken("used inodes are told as a share only");
  return taken({{filesystem(w[1])},
                fmt::format("{{inodes_used_percent}} >= {}", *share),
                w[1] + " has too many inodes in use"});
}

// Processes ------------------------------------------------------------------------------------------------

NhcTranslation service_rule(const std::string& name, const std::string& program) {
  Json arguments = Json::object({{"name", name}});
  if (!program.empty() && program != name) arguments.set("program", program);
  return taken({{{"service", std::move(arguments), "service_" + name, "service " + name}},
                "NOT {service_up}",
                "Service " + name + " does not run"});
}
NhcTranslation service(const Words& w) {
  const Options o = parse_options(w, "0fSrcsku:d:m:e:E:");
  if (o.wrong || o.rest.size() != 1 || !is_literal(o.rest[0])) return not_taken("it names no single service");
  if (o.has('k') || o.has('s')) return not_taken("it wants the service not to run");
  if (o.has('m') || o.has('f')) return not_taken("it finds the process by a pattern of its command line");
  NhcTranslation t = service_rule(o.rest[0], o.last('d'));
  NhcRule& rule = t.rules.front();
  rule.tells_only = o.has('0');
  if (o.has('u')) add_note(t.note, "the owner of the process is not compared");
  if (o.has('e') || o.has('E')) add_note(t.note, "its shell commands are left out");
  if (o.has('S') || o.has('r') || o.has('c')) {
    rule.repair = "restart_service";
    rule.repair_arguments = Json::object({{"name", o.rest[0]}});
  }
  return t;
}
NhcTranslation daemon(const Words& w) {
  if (!is_literal(at(w, 1))) return not_taken("it finds the process by a pattern");
  if (w.size() > 3) return not_taken("it compares the arguments of the process");
  NhcTranslation t = service_rule(w[1], "");
  if (w.size() == 3) t.note = "the owner of the process is not compared";
  return t;
}
NhcTranslation load(const Words& w) {
  NhcRule rule;
  rule.looks = {{"load", Json::object(), "cpus", "processors"}};
  constexpr const char* kOutputs[] = {"{load_1}", "{load_5}", "{load_15}"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (at(w, i + 1).empty()) continue;
    const auto limit = whole(w[i + 1]);
    if (!limit) return not_taken("its limits cannot be read");
    rule.fault += fmt::format("{}{} > {}", rule.fault.empty() ? "" : " OR ", kOutputs[i], *limit);
  }
  if (rule.fault.empty()) return not_taken("it has no limit");
  rule.description = "The load of the node is too high";
  return taken(std::move(rule));
}
NhcTranslation unauthorised(const Words& w) {
  NhcRule rule;
  rule.looks = {{"processes", Json::object(), "processes", "processes of users"}};
  rule.fault = "{foreign_processes} > 0";
  rule.description = "Users without a job on the node have processes there";
  rule.tells_only = w.size() > 1 && std::ranges::find(w, "die") == w.end();
  if (std::ranges::find(w, "kill") != w.end()) rule.repair = "kill_leftovers";
  if (w.size() == 2 && w[1] == "ignore") return not_taken("it ignores what it finds");
  return taken(std::move(rule));
}
NhcTranslation resident(const Words& w) {
  const Options o = parse_options(w, "0afKklsu:m:e:r:");
  if (o.wrong || o.rest.size() != 1) return not_taken("its threshold cannot be read");
  if (o.has('u') || o.has('m')) return not_taken("it looks at some processes only");
  const auto share = percent(o.rest[0]);
  const auto size = parse_nhc_size(o.rest[0]);
  if (!share && !size) return not_taken("its threshold cannot be read");
  NhcRule rule;
  rule.looks = {
      {"memory_hogs",
       share ? Json::object({{"percent", *share}}) : Json::object({{"percent", 100}, {"size", *size}}),
       "memory", "main memory"}};
  rule.fault = "{memory_hogs} > 0";
  rule.description = fmt::format("A process holds over {} of main memory", o.rest[0]);
  rule.tells_only = o.has('0');
  return taken(std::move(rule), o.has('k') || o.has('K') || o.has('e') || o.has('r')
                                    ? "what it does to the process is left out"
                                    : "");
}

struct CheckRow {
  std::string_view name;
  NhcTranslation (*translate)(const Words&);
  std::string_view why_not;  // where `translate` is null
};
constexpr std::string_view kCommand =
    "it runs a command of its own; write an operation for it (doc/formats/operation.md)";
constexpr std::string_view kFile = "no built-in operation looks at files";
constexpr std::string_view kMoab = "it asks another resource manager";
constexpr std::string_view kEvery = "no built-in operation looks at all file systems of a type";
constexpr CheckRow kChecks[] = {
    {"check_hw_physmem", physmem, ""},
    {"check_hw_physmem_free", physmem_free, ""},
    {"check_hw_swap", swap, ""},
    {"check_hw_swap_free", swap_free, ""},
    {"check_hw_mem", mem, ""},
    {"check_hw_mem_free", mem_free, ""},
    {"check_hw_cpuinfo", cpuinfo, ""},
    {"check_hw_eth", eth, ""},
    {"check_hw_ib", infiniband, ""},
    {"check_nv_healthmon", gpus, ""},
    {"check_nvsmi_healthmon", gpus, ""},
    {"check_fs_mount", mount_any, ""},
    {"check_fs_mount_rw", mount_rw, ""},
    {"check_fs_mount_ro", mount_ro, ""},
    {"check_fs_free", fs_free, ""},
    {"check_fs_used", fs_used, ""},
    {"check_fs_size", fs_size, ""},
    {"check_fs_ifree", fs_inodes_free, ""},
    {"check_fs_iused", fs_inodes_used, ""},
    {"check_ps_service", service, ""},
    {"check_ps_daemon", daemon, ""},
    {"check_ps_loadavg", load, ""},
    {"check_ps_unauth_users", unauthorised, ""},
    {"check_ps_physmem", resident, ""},

    {"check_hw_gm", nullptr, "no built-in operation looks at Myrinet"},
    {"check_hw_mcelog", nullptr,
     "it asks the mcelog daemon; builtin:edac and builtin:machine_checks count in the kernel"},
    {"check_hw_topology", nullptr, "no built-in operation knows the topology"},
    {"check_dmi_data_match", nullptr, "no built-in operation reads SMBIOS strings"},
    {"check_dmi_raw_data_match", nullptr, "no built-in operation reads SMBIOS strings"},
    {"check_fs_inodes", nullptr, "the number of all inodes is not told"},
    {"check_all_fs_free", nullptr, kEvery},
    {"check_all_fs_used", nullptr, kEvery},
    {"check_all_fs_size", nullptr, kEvery},
    {"check_all_fs_inodes", nullptr, kEvery},
    {"check_all_fs_ifree", nullptr, kEvery},
    {"check_all_fs_iused", nullptr, kEvery},
    {"check_file_contents", nullptr, kFile},
    {"check_file_stat", nullptr, kFile},
    {"check_file_test", nullptr, kFile},
    {"check_cmd_output", nullptr, kCommand},
    {"check_cmd_status", nullptr, kCommand},
    {"check_cmd_dmesg", nullptr, kCommand},
    {"check_moab_sched", nullptr, kMoab},
    {"check_moab_rm", nullptr, kMoab},
    {"check_moab_torque", nullptr, kMoab},
    {"check_net_ping", nullptr, "it sends ICMP; builtin:reach opens a TCP connection"},
    {"check_net_socket", nullptr, "no built-in operation looks at sockets"},
    {"check_ps_blacklist", nullptr, "it wants a process not to run"},
    {"check_ps_cpu", nullptr, "no built-in operation looks at the CPU use of processes"},
    {"check_ps_time", nullptr, "no built-in operation looks at the CPU time of processes"},
    {"check_ps_mem", nullptr, "it counts virtual memory; builtin:memory_hogs counts resident memory"},
    {"check_ps_kswapd", nullptr, "no built-in operation looks at kswapd"},
    {"check_ps_userproc_lineage", nullptr, "no built-in operation looks at the parents of processes"},
};

}  // namespace

NhcTranslation translate_nhc_check(const std::vector<std::string>& words) {
  const auto* row = std::ranges::find(kChecks, std::string_view(words.front()), &CheckRow::name);
  if (row == std::end(kChecks)) return not_taken("it is no check of NHC's own");
  if (row->translate == nullptr) return not_taken(std::string(row->why_not));
  return row->translate(words);
}

}  // namespace sickbay::diagnose
