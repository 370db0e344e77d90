// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/parse_site.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "adapters/node/parse.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/words.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

// Source: include/net/tcp_states.h of Linux, by number; the words are netstat's.
constexpr std::array<std::string_view, 13> kStates = {
    "",      "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",   "TIME_WAIT",
    "CLOSE", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING",   "NEW_SYN_RECV"};

std::optional<std::int64_t> bounded(std::string_view text, int base = 10) {
  const auto n = to_integer(text, base);
  return n && *n >= 0 && *n <= kMostInteger ? n : std::nullopt;
}

// "0100007F:0016", "0000...01000000:0016": words of 32 bits as this machine orders their bytes.
std::optional<std::string> address_of(std::string_view text) {
  const std::string_view address = next_part(text, ':');
  const auto port = bounded(text, 16);
  if (!port || *port > 65535 || (address.size() != 8 && address.size() != 32)) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < address.size() / 8; ++i) {
    const auto word = bounded(address.substr(8 * i, 8), 16);
    if (!word) return std::nullopt;
    words[i] = static_cast<std::uint32_t>(*word);
  }
  char shown[INET6_ADDRSTRLEN] = "";
  const bool six = address.size() == 32;
  ::inet_ntop(six ? AF_INET6 : AF_INET, words.data(), shown, sizeof shown);
  return six ? fmt::format("[{}]:{}", shown, *port) : fmt::format("{}:{}", shown, *port);
}

// \040 and its kin.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code =
        text[i] == '\\' && i + 3 < text.size() ? to_integer(text.substr(i + 1, 3), 8) : std::nullopt;
    if (code && *code > 0 && *code < 256) {
      out += static_cast<char>(*code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<SocketLine> unix_socket(std::string_view line) {
  // Num: RefCount Protocol Flags Type St Inode Path
  next_word(line);
  next_word(line);
  next_word(line);
  const auto flags = bounded(next_word(line), 16), type = bounded(next_word(line), 16),
             state = bounded(next_word(line), 16), inode = bounded(next_word(line));
  if (!flags || !type || !state || !inode) return std::nullopt;
  SocketLine made;
  made.protocol = "unix";
  made.local = trimmed(line);
  made.type = *type == 1 ? "STREAM" : *type == 2 ? "DGRAM" : *type == 5 ? "SEQPACKET" : "UNKNOWN";
  // Source: linux/net.h, __SO_ACCEPTCON; above, types of socket(2); below, 3 is SS_CONNECTED.
  constexpr std::int64_t kAccepts = 0x10000;
  made.state = (*flags & kAccepts) != 0 ? "LISTENING" : *state == 3 ? "CONNECTED" : "";
  made.inode = *inode;
  return made;
}

}  // namespace

std::vector<SocketLine> parse_sockets(std::string_view text, std::string_view protocol) {
  std::vector<SocketLine> all;
  next_line(text);  // the heads of the columns
  while (const auto line = next_line(text)) {
    if (protocol == "unix") {
      if (auto one = unix_socket(*line)) all.push_back(std::move(*one));
      continue;
    }
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
    std::string_view rest = *line;
    next_word(rest);
    const auto local = address_of(next_word(rest)), remote = address_of(next_word(rest));
    const auto state = bounded(next_word(rest), 16);
    next_word(rest);
    next_word(rest);
    next_word(rest);
    const auto uid = bounded(next_word(rest));
    next_word(rest);
    const auto inode = bounded(next_word(rest));
    if (!local || !remote || !state || !uid || !inode) continue;
    const bool tcp = protocol.starts_with("tcp");
    // UDP has no states of its own; the kernel writes 1 for a connected socket, 7 for the others.
    std::string word = tcp && static_cast<std::size_t>(*state) < kStates.size()
                           ? std::string(kStates[static_cast<std::size_t>(*state)])
                       : !tcp && *state == 1 ? "ESTABLISHED"
                                             : "";
    all.push_back({std::string(protocol), *local, *remote, std::move(word), "", *uid, *inode});
  }
  return all;
}

std::vector<MountLine> parse_mounts(std::string_view text) {
  std::vector<MountLine> all;
  while (auto line = next_line(text)) {
    MountLine one;
    for (std::string* field : {&one.source, &one.place, &one.type, &one.options})
      *field = unescaped(next_word(*line));
    if (!one.options.empty()) all.push_back(std::move(one));
  }
  return all;
}

std::optional<CpuCounts> parse_cpuinfo(std::string_view text) {
  std::set<std::int64_t> packages;
  std::int64_t processors = 0;
  std::optional<std::int64_t> siblings, cores;
  while (auto line = next_line(text)) {
    const std::string_view name = trimmed(next_part(*line, ':'));
    const auto value = bounded(trimmed(*line));
    if (!value || *value > 1'000'000) continue;
    if (name == "processor") ++processors;
    if (name == "physical id") packages.insert(*value);
    if (name == "siblings") siblings = *value;
    if (name == "cpu cores") cores = *value;
  }
  if (processors == 0) return std::nullopt;
  // ARM, and some virtual machines, tell no packages: each processor is a socket (parse_site.h).
  if (packages.empty() || !cores) return CpuCounts{processors, processors, processors};
  const auto sockets = static_cast<std::int64_t>(packages.size());
  // The file gives cores and threads for one package; all are taken to be alike.
  return CpuCounts{sockets, sockets * *cores, sockets * siblings.value_or(*cores)};
}

std::vector<DmiStructure> parse_dmidecode(std::string_view text) {
  std::vector<DmiStructure> all;
  std::vector<std::string> above;  // headings, by depth
  while (const auto line = next_line(text)) {
    if (line->starts_with("Handle ")) {
      std::string_view rest = line->substr(7);
      DmiStructure one;
      one.handle = trimmed(next_part(rest, ','));
      constexpr std::string_view kType = " DMI type ";
      if (rest.starts_with(kType)) {
        rest.remove_prefix(kType.size());
        one.type = bounded(next_part(rest, ',')).value_or(-1);
      }
      all.push_back(std::move(one));
      above.clear();
      continue;
    }
    if (all.empty() || trimmed(*line).empty()) continue;
    // dmidecode indents by tabs: one for a field, two for the values of a list under it.
    const std::size_t depth = std::min<std::size_t>(line->find_first_not_of(" \t"), 8);
    const std::string words(trimmed(*line));
    if (depth == 0) {
      all.back().title = words;
      above.assign(1, words);
      continue;
    }
    above.resize(std::min(above.size(), depth));
    std::string whole;
    for (const std::string& heading : above) whole += heading + (heading.ends_with(':') ? " " : ": ");
    all.back().lines.push_back(whole + words);
    above.resize(depth);
    above.push_back(words);
  }
  return all;
}

std::optional<KernelRecord> parse_kmsg(std::string_view line) {
  std::string_view head = next_part(line, ';');
  const auto priority = bounded(next_part(head, ','));
  next_part(head, ',');  // its number
  const auto at = bounded(next_part(head, ','));
  if (!priority || !at) return std::nullopt;
  // A priority is 8 times the facility and the level (syslog(3)).
  return KernelRecord{*priority / 8, *priority % 8, *at, line.substr(0, line.find('\n'))};
}

namespace {

// What a fault of a user's program makes begins with its name: "NAME[123]: segfault at ...".
bool is_of_a_process(std::string_view text) {
  static const Pattern kOfAProcess =
      Pattern::parse(R"(/^(traps: )?.?.?.?.?.?.?.?.?.?.?.?.?.?.?.?\[[0-9]+\]:? /)").value();
  return kOfAProcess.fits(text);
}

// After NVIDIA's catalogue of Xids (docs.nvidia.com/deploy/xid-errors; 46, 62, 110, 140 and 143 from memory):
// what it would have the node or the processor reset for is a fault.  63 waits for a reset to take a bad row
// out of use, 94 has cost one program its memory and no more, 92 counts corrected errors, 74 may be the fault
// of either end of an NVLink.  What is in neither list is the program's, or the driver's.
constexpr auto kXidFaults = std::to_array<std::int64_t>({46, 48, 62, 64, 79, 95, 110, 119, 120, 140, 143});
constexpr auto kXidWarnings = std::to_array<std::int64_t>({63, 74, 92, 94});

}  // namespace

XidMeaning meaning_of_xid(std::int64_t xid) {
  if (std::ranges::find(kXidFaults, xid) != kXidFaults.end()) return XidMeaning::fault;
  return std::ranges::find(kXidWarnings, xid) != kXidWarnings.end() ? XidMeaning::warning
                                                                    : XidMeaning::program;
}

std::optional<std::int64_t> xid_of(std::string_view text) {
  const std::size_t at = text.find("): ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 3);
  return bounded(next_part(text, ','));
}

bool is_uncorrected(std::string_view text) {
  static const std::vector<Pattern> rows = [] {
    std::vector<Pattern> made;
    for (const char* expression :
         {R"(/^EDAC (MC|PCI)[0-9]+: [0-9]+ UE /)",
          R"(/^(\{[0-9]+\})?\[Hardware Error\]: +event severity: (fatal|recoverable)/)",
          R"(/^(mce: )?\[Hardware Error\]: (CPU [0-9]+: Machine Check Exception|Uncorrected)/)",
          R"(/^Memory failure: 0x[0-9a-f]+: /)"})
      made.push_back(Pattern::parse(expression).value());
    return made;
  }();
  return std::ranges::any_of(rows, [&](const Pattern& row) { return row.fits(text); });
}

std::string_view link_down_of(std::string_view text) {
  // "ixgbe 0000:01:00.0 eth0: NIC Link is Down", "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN"
  static const Pattern kDown =
      Pattern::parse(
          R"(/^[a-z][a-z0-9_-]* [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}.[0-7]:? ([^ ]+: )?(Port: [0-9]+ |NIC )?Link (is )?(down|Down|DOWN)/)")
          .value();
  if (is_of_a_process(text) || !kDown.fits(text)) return {};
  std::string_view device = trimmed(text.substr(0, text.find("Link ")));
  if (device.ends_with(" NIC")) device.remove_suffix(4);
  if (device.ends_with(':')) device.remove_suffix(1);
  return device;
}

std::optional<KernelKind> kind_of_kernel_text(std::string_view text) {
  struct Row {
    KernelKind kind;
    const char* expression;
  };
  // Anchored, and long enough that no name of a process (15 characters) is one.
  static constexpr Row kRows[] = {
      {KernelKind::disk,
       R"(/^(blk_update_request: )?(I\/O|critical (medium|target)) error, dev [^ ]+, sector [0-9]/)"},
      {KernelKind::disk, R"(/^Buffer I.O error on dev(ice)? [^ ]+, logical block [0-9]/)"},
      {KernelKind::disk, R"(/^sd [0-9:]+ \[sd[a-z]+\] .*Medium Error/)"},
      {KernelKind::disk,
       R"(/^nvme nvme[0-9]+: (I.O (tag )?[0-9]+ .*timeout|.*(controller is down|resetting controller))/)"},
      {KernelKind::filesystem, R"(/^EXT[234]-fs error \(device [^ )]+\)/)"},
      {KernelKind::filesystem, R"(/^EXT[234]-fs \([^ )]+\): Remounting filesystem read-only/)"},
      {KernelKind::filesystem, R"(/^XFS \([^ )]+\): .*([Cc]orrupt|[Ss]hutdown|[Ss]hutting down)/)"},
      {KernelKind::hardware, R"(/^(mce: )?(\{[0-9]+\})?\[Hardware Error\]: /)"},
      {KernelKind::hardware, R"(/^mce: .*Machine check events logged/)"},
      {KernelKind::hardware, R"(/^EDAC (MC|PCI)[0-9]+: [0-9]+ [CU]E .* on .*\(/)"},
      {KernelKind::gpu,
       R"(/^NVRM: Xid \(PCI:[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-9])?\): [0-9]/)"},
      {KernelKind::hung_task, R"(/^INFO: task .*:[0-9]+ blocked for more than [0-9]+ seconds/)"},
      {KernelKind::gpu_lost, R"(/^NVRM: (The NVIDIA )?GPU [0-9a-fA-F:.]+(:|.x0a| ).*fallen off the bus/)"},
      {KernelKind::hardware, R"(/^Memory failure: 0x[0-9a-f]+: /)"},
      {KernelKind::soft_lockup, R"(/^(NMI )?(watchdog: )?BUG: soft lockup - CPU#[0-9]+ stuck for [0-9]+s/)"},
      {KernelKind::soft_lockup, R"(/^(NMI )?watchdog: Watchdog detected hard LOCKUP on cpu ?[0-9]/)"},
      {KernelKind::soft_lockup, R"(/^(rcu: )?INFO: rcu_[a-z]+ (self-)?detected (expedited )?stalls? on /)"},
      {KernelKind::pcie_fatal,
       R"(/^[a-z0-9_-]+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}.[0-7]: (AER: )?PCIe Bus Error: severity=Uncorrected \(Fatal\)/)"},
      {KernelKind::out_of_memory, R"(/^(Memory cgroup out of memory|Out of memory): Killed process [0-9]/)"},
  };
  struct Compiled {
    KernelKind kind;
    Pattern pattern;
  };
  static const std::vector<Compiled> rows = [] {
    std::vector<Compiled> made;
    for (const Row& row : kRows) made.push_back({row.kind, Pattern::parse(row.expression).value()});
    return made;
  }();
  // Asked first: a user could give his program a name that begins as one of the rows does.
  if (is_of_a_process(text)) return std::nullopt;
  for (const Compiled& row : rows)
    if (row.pattern.fits(text)) return row.kind;
  return std::nullopt;
}

std::optional<MemoryErrors> parse_mcelog(std::string_view text) {
  MemoryErrors worst;
  bool any = false;
  std::int64_t* counts = nullptr;
  while (auto line = next_line(text)) {
    std::string_view words = trimmed(*line);
    if (words == "corrected memory errors:") counts = &worst.corrected;
    if (words == "uncorrected memory errors:") counts = &worst.uncorrected;
    if (counts == nullptr || !words.ends_with(" in 24h")) continue;
    if (const auto n = bounded(next_word(words))) {
      // Each module has such lines of its own: the worst one is told.
      *counts = std::max(*counts, *n);
      any = true;
    }
    // Only the first "in 24h" behind its heading is of this count.
    counts = nullptr;
  }
  return any ? std::optional(worst) : std::nullopt;
}

std::optional<MemoryErrors> parse_ras_summary(std::string_view text) {
  // "\tCorrected on DIMM Label(s): 'A1' location: 0:0:0:-1 errors: 12"
  MemoryErrors worst;
  bool known = false;
  std::map<std::string, MemoryErrors> modules;
  while (auto line = next_line(text)) {
    std::string_view words = trimmed(*line);
    known = known || words.starts_with("No Memory errors") || words.starts_with("Memory controller events");
    const std::size_t label = words.find(" on DIMM Label(s): "), errors = words.rfind(" errors: ");
    if (label == std::string_view::npos || errors == std::string_view::npos || errors < label) continue;
    const auto n = bounded(words.substr(errors + 9));
    if (!n) continue;
    MemoryErrors& module = modules[std::string(words.substr(label, errors - label))];
    std::int64_t& count = words.starts_with("Corrected") ? module.corrected : module.uncorrected;
    count = std::min(count + *n, kMostInteger);
  }
  for (const auto& [name, module] : modules) {
    worst.corrected = std::max(worst.corrected, module.corrected);
    worst.uncorrected = std::max(worst.uncorrected, module.uncorrected);
  }
  return known || !modules.empty() ? std::optional(worst) : std::nullopt;
}

}  // namespace sickbay::node
