// SPDX-License-Identifier: Apache-2.0
// Checks of hardware and file systems of NHC 1.5, one row each.  What each does, and what its arguments mean:
// NHC's README, "Built-in Checks"; where a verdict turns on a detail (>= or >), NHC's behaviour.
#include "engine/diagnose/nhc_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "engine/diagnose/nhc_check_parts.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose {
namespace nhc {
namespace {

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
NhcTranslation physmem(const Words& w, const NhcSettings&) {
  return size_between(w, {kMemory}, "{memory_total}", "Main memory");
}
NhcTranslation physmem_free(const Words& w, const NhcSettings&) {
  return size_free(w, {kMemory}, "{memory_available}", "main memory");
}
NhcTranslation swap(const Words& w, const NhcSettings&) {
  return size_between(w, {kSwap}, "{swap_total}", "Swap space");
}
NhcTranslation swap_free(const Words& w, const NhcSettings&) {
  return size_free(w, {kSwap}, "{swap_total} - {swap_used}", "swap space");
}
NhcTranslation mem(const Words& w, const NhcSettings&) {
  return size_between(w, {kMemory, kSwap}, "{memory_total} + {swap_total}", "Memory with swap space");
}
NhcTranslation mem_free(const Words& w, const NhcSettings&) {
  return size_free(w, {kMemory, kSwap}, "{memory_available} + {swap_total} - {swap_used}",
                   "memory with swap space");
}

// Processors, devices --------------------------------------------------------------------------------------

const NhcLook kProcessors = {"cpu_info", Json::object(), "processors", "processors"};

NhcTranslation cpuinfo(const Words& w, const NhcSettings&) {
  NhcRule rule;
  rule.looks = {kProcessors};
  constexpr const char* kOutputs[] = {"{cpu_sockets}", "{cpu_cores}", "{cpu_threads}"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (at(w, i + 1).empty()) continue;
    const auto count = whole(w[i + 1]);
    if (!count) return not_taken("its counts cannot be read");
    rule.fault += fmt::format("{}{} != {}", rule.fault.empty() ? "" : " OR ", kOutputs[i], *count);
  }
  if (rule.fault.empty()) return not_taken("it names no count");
  rule.description = "The processors are not the expected ones";
  return taken(std::move(rule));
}
NhcLook device(const std::string& name, const std::string& module) {
  return {"net_device", Json::object({{"device", name}, {"module", module}}), "nic_" + name,
          "network device " + name};
}
NhcTranslation eth(const Words& w, const NhcSettings&) {
  if (!is_literal(at(w, 1))) return not_taken("it names no device");
  return taken({{device(w[1], "")}, "NOT {net_device_present}", "Network device " + w[1] + " is missing"});
}
NhcTranslation myrinet(const Words& w, const NhcSettings&) {
  if (!is_literal(at(w, 1))) return not_taken("it names no device");
  return taken({{device(w[1], "gm")},
                "NOT {net_device_present} OR NOT {net_module_loaded}",
                "Myrinet device " + w[1] + " or its driver is missing"});
}
NhcTranslation infiniband(const Words& w, const NhcSettings&) {
  const auto rate = at(w, 1).empty() ? std::optional(0.0) : to_fraction(at(w, 1));
  if (!rate || *rate < 0 || *rate > 1e6) return not_taken("its rate cannot be read");
  Json arguments = Json::object({{"rate", *rate}});
  std::string_view port = w.size() > 2 ? std::string_view(w[2]) : std::string_view();
  if (const std::string name(next_part(port, ':')); !name.empty()) arguments.set("device", name);
  if (!port.empty()) {
    const auto number = whole(port);
    if (!number) return not_taken("its port cannot be read");
    arguments.set("port", *number);
  }
  return taken({{{"ib_link", std::move(arguments), "infiniband", "InfiniBand adapters"}},
                "NOT {ib_user_access} OR {ib_links_up} == 0",
                *rate > 0 ? fmt::format("No InfiniBand link is active at {} Gbit/s", *rate)
                          : "No InfiniBand link is active"});
}
NhcTranslation mcelog(const Words&, const NhcSettings& settings) {
  const auto corrected = whole(settings.get("MCELOG_MAX_CORRECTED_RATE", "9")),
             uncorrected = whole(settings.get("MCELOG_MAX_UNCORRECTED_RATE", "0"));
  if (!corrected || !uncorrected) return not_taken("its limits cannot be read");
  return taken({{{"memory_errors", Json::object(), "memory", "main memory"}},
                fmt::format("{{memory_corrected_day}} > {} OR {{memory_uncorrected_day}} > {}", *corrected,
                            *uncorrected),
                "A memory module had too many errors in a day"});
}
NhcTranslation gpus(const Words&, const NhcSettings&) {
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
  Words points = o.rest, sources = o.given['s'], types = o.given['t'], options = o.given['o'];
  for (const char letter : {'F', 'f'})
    points.insert(points.begin(), o.given[letter].begin(), o.given[letter].end());
  if (at(w, 1).starts_with('/')) {  // the old form: mountpoint [source] [fstype] [options]
    points = {w[1]};
    for (const auto& [word, list] : {std::pair(at(w, 2), &sources), {at(w, 3), &types}, {at(w, 4), &options}})
      if (!word.empty()) list->push_back(word);
  }
  if (!o.given['F'].empty()) add_note(all.note, "an automounter is not woken");
  if (!o.given['e'].empty() || !o.given['E'].empty()) add_note(all.note, "its shell commands are left out");
  if (!o.given['O'].empty() && !o.given['r'].empty())
    add_note(all.note, "it is mounted again with the options of /etc/fstab");
  // What needs no pattern is asked for by its own outputs, which tell more to people.
  const bool plain =
      sources.empty() && options.empty() && (types.empty() || (types.size() == 1 && is_literal(types[0])));
  if (!plain && !access.empty()) options.push_back(fmt::format("/(^|,){}($|,)/", access));
  const auto source_lines = as_lines(sources), type_lines = as_lines(types), option_lines = as_lines(options);
  if (!source_lines || !type_lines || !option_lines) return not_taken("a pattern of it has several lines");
  for (const std::string& point : points) {
    if (!point.starts_with('/')) return not_taken("it names no mount point");
    NhcRule rule;
    const std::string component = "mount_" + point, noun = "mount at " + point;
    if (plain) {
      rule.looks = {{"mount", Json::object({{"path", point}}), component, noun}};
      rule.fault = "NOT {mount_present}";
      if (access == "rw") rule.fault += " OR {mount_read_only}";
      if (access == "ro") rule.fault += " OR NOT {mount_read_only}";
      if (!types.empty()) rule.fault += fmt::format(" OR {{mount_type}} != {}", as_text(types[0]));
    } else {
      Json arguments = Json::object({{"path", point}});
      for (const auto& [name, lines] :
           {std::pair("source", &source_lines), {"type", &type_lines}, {"options", &option_lines}})
        if (!(*lines)->empty()) arguments.set(name, **lines);
      rule.looks = {{"mount_match", std::move(arguments), component, noun}};
      rule.fault = "NOT {mounted_as_expected}";
    }
    rule.description = fmt::format("{} is not mounted as it should be", point);
    rule.tells_only = !o.given['0'].empty();
    if (!o.given['r'].empty()) {
      rule.repair = "remount";
      rule.repair_arguments = Json::object({{"path", point}});
    }
    all.rules.push_back(std::move(rule));
  }
  if (all.rules.empty()) return not_taken("it names no mount point");
  return all;
}
NhcTranslation mount_any(const Words& w, const NhcSettings&) { return mount(w, ""); }
NhcTranslation mount_rw(const Words& w, const NhcSettings&) { return mount(w, "rw"); }
NhcTranslation mount_ro(const Words& w, const NhcSettings&) { return mount(w, "ro"); }

NhcTranslation of_filesystem(const Words& w, std::string fault, const char* what) {
  return taken({{filesystem(w[1])}, std::move(fault), w[1] + what});
}
// A number of inodes, of which "1k" are 1024.
std::optional<std::int64_t> count_of(std::string_view word) {
  if (const auto n = whole(word)) return n;
  return parse_nhc_size(word);
}
NhcTranslation fs_free(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto size = parse_nhc_size(at(w, 2));
  if (!share && !size) return not_taken("its size cannot be read");
  return of_filesystem(w,
                       share ? fmt::format("{{filesystem_used_percent}} > {}", 100 - *share)
                             : fmt::format("{{filesystem_free}} < {}", *size),
                       " has too little free space");
}
NhcTranslation fs_used(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto size = parse_nhc_size(at(w, 2));
  if (!share && !size) return not_taken("its size cannot be read");
  return of_filesystem(w,
                       share ? fmt::format("{{filesystem_used_percent}} >= {}", *share)
                             : fmt::format("{{filesystem_used}} >= {}", *size),
                       " is too full");
}
NhcTranslation fs_size(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const Words sizes = {w[0], at(w, 2), at(w, 3)};
  return size_between(sizes, {filesystem(w[1])}, "{filesystem_size}", w[1]);
}
NhcTranslation fs_inodes(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto least = count_of(at(w, 2)), most = count_of(at(w, 3));
  if ((!at(w, 2).empty() && !least) || (!at(w, 3).empty() && !most) || (!least && !most))
    return not_taken("its numbers cannot be read");
  std::string fault = least ? fmt::format("{{inodes}} < {}", *least) : "";
  if (most) fault += fmt::format("{}{{inodes}} > {}", least ? " OR " : "", *most);
  return of_filesystem(w, std::move(fault), " has not the expected number of inodes");
}
NhcTranslation fs_inodes_free(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto count = count_of(at(w, 2));
  if (!share && !count) return not_taken("its number cannot be read");
  return of_filesystem(w,
                       share ? fmt::format("{{inodes_used_percent}} > {}", 100 - *share)
                             : fmt::format("{{inodes_free}} < {}", *count),
                       " has too few free inodes");
}
NhcTranslation fs_inodes_used(const Words& w, const NhcSettings&) {
  if (!at(w, 1).starts_with('/')) return not_taken("it names no mount point");
  const auto share = percent(at(w, 2));
  const auto count = count_of(at(w, 2));
  if (!share && !count) return not_taken("its number cannot be read");
  return of_filesystem(w,
                       share ? fmt::format("{{inodes_used_percent}} >= {}", *share)
                             : fmt::format("{{inodes_used}} >= {}", *count),
                       " has too many inodes in use");
}

constexpr CheckRow kChecks[] = {
    {"check_hw_physmem", physmem},
    {"check_hw_physmem_free", physmem_free},
    {"check_hw_swap", swap},
    {"check_hw_swap_free", swap_free},
    {"check_hw_mem", mem},
    {"check_hw_mem_free", mem_free},
    {"check_hw_cpuinfo", cpuinfo},
    {"check_hw_eth", eth},
    {"check_hw_gm", myrinet},
    {"check_hw_ib", infiniband},
    {"check_hw_mcelog", mcelog},
    {"check_nv_healthmon", gpus},
    {"check_nvsmi_healthmon", gpus},
    {"check_fs_mount", mount_any},
    {"check_fs_mount_rw", mount_rw},
    {"check_fs_mount_ro", mount_ro},
    {"check_fs_free", fs_free},
    {"check_fs_used", fs_used},
    {"check_fs_size", fs_size},
    {"check_fs_inodes", fs_inodes},
    {"check_fs_ifree", fs_inodes_free},
    {"check_fs_iused", fs_inodes_used},
};

}  // namespace

NhcTranslation not_taken(std::string why) {
  NhcTranslation made;
  made.note = std::move(why);
  return made;
}
NhcTranslation taken(NhcRule rule, std::string note) {
  NhcTranslation made = not_taken(std::move(note));
  made.rules.push_back(std::move(rule));
  return made;
}

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

std::optional<std::string> as_lines(const Words& words, std::size_t first) {
  std::string lines;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (words[i].find('\n') != std::string::npos || (i + 1 == words.size() && i > first && words[i].empty()))
      return std::nullopt;
    lines += (i == first ? "" : "\n") + words[i];
  }
  return lines;
}

}  // namespace nhc

NhcTranslation translate_nhc_check(const std::vector<std::string>& words, const NhcSettings& settings) {
  const std::string& name = words.front();
  const nhc::CheckRow* row = std::ranges::find(nhc::kChecks, std::string_view(name), &nhc::CheckRow::name);
  if (row == std::end(nhc::kChecks)) row = nhc::site_check_row(name);
  if (row == nullptr) row = nhc::process_check_row(name);
  if (row != nullptr) return row->translate(words, settings);
  if (name.starts_with('/')) return nhc::program_check(words, settings);
  NhcTranslation none = nhc::not_taken("it is no check of NHC's own");
  if (name.starts_with("check_moab_")) {
    none.note = "it asks another resource manager";
    none.other_manager = true;
  }
  return none;
}

NhcTranslation nhc_stub(std::string_view check, const std::string& shell_settings,
                        const NhcSettings& settings, std::string why) {
  const auto limit = nhc::whole(settings.get("TIMEOUT", "30"));
  Json arguments = Json::object({{"line", std::string(check)}});
  if (!shell_settings.empty()) arguments.set("settings", shell_settings);
  if (const std::string folder = settings.get("INCDIR", ""); folder.starts_with('/'))
    arguments.set("scripts", folder);
  NhcRule rule;
  rule.looks = {{"nhc_check", std::move(arguments), "site_scripts",
                 "check of the site: " + std::string(check),
                 static_cast<int>(limit && *limit > 0 ? std::min<std::int64_t>(*limit, 3600) : 30)}};
  rule.fault = "{nhc_check_failed}";
  rule.description = fmt::format("The site's own check failed: {}", check);
  return nhc::taken(std::move(rule), std::move(why));
}

}  // namespace sickbay::diagnose
