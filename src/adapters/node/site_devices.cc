// SPDX-License-Identifier: Apache-2.0
// net_device, ib_link, cpu_info, sockets, kernel_messages: parts of a node that a site says it must have, and
// what its kernel tells.
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "adapters/node/families.h"
#include "adapters/node/parse_site.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

// Addresses of a device of this machine, as getnameinfo writes them.
std::set<std::string> addresses_of_device(const std::string& device) {
  std::set<std::string> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || device != one->ifa_name) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char host[NI_MAXHOST] = "";
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0) {
      const std::string_view address(host);
      // Without the scope of a link-local address ("fe80::1%eth0"), which /proc/net does not write.
      all.emplace(address.substr(0, address.find('%')));
    }
  }
  return all;
}

// "[::1]:22" -> "::1"
std::string_view host_of(std::string_view address) {
  address = address.substr(0, address.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return address;
}

// How else an address is written, by netstat and by ss.
std::vector<std::string> spellings(const std::string& address) {
  std::vector<std::string> all = {address};
  const std::string_view host = host_of(address);
  const std::string port = address.substr(std::min(address.rfind(':'), address.size()));
  if (address.starts_with('[')) all.push_back(std::string(host) + port);
  if (host == "0.0.0.0" || host == "::") all.push_back("*" + port);
  if (port == ":0") all.push_back(address.substr(0, address.size() - 1) + "*");
  return all;
}

// The program that holds each socket of `wanted`, by the links of /proc/PID/fd.
std::map<std::int64_t, std::string> holders(const Call& call, const std::set<std::int64_t>& wanted) {
  std::map<std::int64_t, std::string> names;
  const Tree& tree = *call.tree;
  // Costs a look at each open file of the node: so asked last, and only until all are found.
  for (const std::string& pid : tree.list("/proc")) {
    if (!to_integer(pid)) continue;
    if (names.size() == wanted.size() || (call.cancelled != nullptr && *call.cancelled)) break;
    for (const std::string& fd : tree.list(fmt::format("/proc/{}/fd", pid))) {
      const auto target = tree.link(fmt::format("/proc/{}/fd/{}", pid, fd));
      constexpr std::string_view kSocket = "socket:[";
      if (!target || !target->starts_with(kSocket)) continue;
      const auto inode =
          to_integer(std::string_view(*target).substr(kSocket.size(), target->size() - kSocket.size() - 1));
      if (!inode || !wanted.contains(*inode)) continue;
      names.emplace(*inode, tree.word(fmt::format("/proc/{}/comm", pid)).value_or(""));
    }
  }
  return names;
}

}  // namespace

OperationEnd net_device(const Call& call) {
  const std::string& device = call.text("device");
  const auto text = call.tree->read("/proc/net/dev");
  if (!text) return unknown(text.error().what);
  bool there = false;
  for (std::string_view line : lines_of(*text))
    there = there || (line.find(':') != std::string_view::npos && trimmed(next_part(line, ':')) == device);
  Json module;
  if (const std::string& name = call.text("module"); !name.empty()) {
    const auto modules = call.tree->read("/proc/modules");
    // A kernel without modules has no such list, and none is loaded.
    if (!modules && modules.error().code != ErrorCode::not_found) return unknown(modules.error().what);
    bool loaded = false;
    for (std::string_view line : lines_of(modules ? std::string_view(*modules) : std::string_view()))
      loaded = loaded || next_word(line) == name;
    module = loaded;
  }
  return found(Json::object({{"net_device_present", there}, {"net_module_loaded", module}}));
}

OperationEnd ib_link(const Call& call) {
  const Tree& tree = *call.tree;
  constexpr std::string_view kAdapters = "/sys/class/infiniband";
  const std::string& device = call.text("device");
  const std::int64_t wanted_port = call.integer("port");
  const double rate = call.arguments["rate"].as_double();
  std::int64_t up = 0, downs = 0;
  for (const std::string& adapter : tree.list(kAdapters)) {
    if (!device.empty() && adapter != device) continue;
    for (const std::string& port : tree.list(fmt::format("{}/{}/ports", kAdapters, adapter))) {
      if (wanted_port > 0 && port != std::to_string(wanted_port)) continue;
      const std::string folder = fmt::format("{}/{}/ports/{}", kAdapters, adapter, port);
      const std::string said = tree.word(folder + "/rate").value_or("");
      std::string_view rest = said;
      const auto value = to_fraction(next_word(rest));
      up += tree.word(folder + "/state").value_or("").ends_with("ACTIVE") &&
            tree.word(folder + "/phys_state").value_or("").ends_with("LinkUp") &&
            (rate <= 0 || (value && *value == rate));
      for (const std::string_view name : {"link_downed", "link_error_recovery"})
        downs +=
            std::max<std::int64_t>(0, tree.number(fmt::format("{}/counters/{}", folder, name)).value_or(0));
    }
  }
  return found(
      Json::object({{"ib_links_up", up},
                    {"ib_user_access", tree.number("/sys/class/infiniband_mad/abi_version").value_or(0) > 0},
                    {"ib_flaps_new", call.since_last("flaps", downs)}}));
}

OperationEnd cpu_info(const Call& call) {
  const auto text = call.tree->read("/proc/cpuinfo");
  if (!text) return unknown(text.error().what);
  const auto counts = parse_cpuinfo(*text);
  if (!counts) return unknown("/proc/cpuinfo lists no processor");
  return found(Json::object(
      {{"cpu_sockets", counts->sockets}, {"cpu_cores", counts->cores}, {"cpu_threads", counts->threads}}));
}

OperationEnd sockets(const Call& call) {
  struct Field {
    const char* argument;
    std::optional<Pattern> pattern;
  };
  Field fields[] = {{"protocol", {}}, {"local", {}}, {"remote", {}}, {"state", {}},
                    {"type", {}},     {"user", {}},  {"program", {}}};
  for (Field& field : fields) {
    if (call.text(field.argument).empty()) continue;
    auto pattern = Pattern::parse(call.text(field.argument));
    if (!pattern) return unknown(pattern.error().what);
    field.pattern = std::move(*pattern);
  }
  const auto fits = [&](std::size_t field, const std::vector<std::string>& spelled) {
    const auto& pattern = fields[field].pattern;
    // A negated pattern must hold for each way to write it, else "not *:22" would let 0.0.0.0:22 pass.
    return !pattern || (pattern->negated()
                            ? std::ranges::all_of(spelled, [&](const auto& s) { return pattern->fits(s); })
                            : std::ranges::any_of(spelled, [&](const auto& s) { return pattern->fits(s); }));
  };
  const std::string passwd = call.tree->read("/etc/passwd").value_or("");
  const std::string& device = call.text("device");
  const std::set<std::string> own = device.empty() ? std::set<std::string>() : addresses_of_device(device);
  std::vector<SocketLine> chosen;
  bool any = false;
  for (const char* name : {"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "unix"}) {
    const auto text = call.tree->read(std::string("/proc/net/") + name);
    if (!text) continue;
    any = true;
    for (SocketLine& one : parse_sockets(*text, name)) {
      std::vector<std::string> protocols = {one.protocol};
      if (one.protocol.ends_with('6')) protocols.push_back(one.protocol.substr(0, one.protocol.size() - 1));
      const bool path = one.protocol == "unix";
      std::vector<std::string> users = {std::to_string(one.uid)};
      if (auto user = user_name(passwd, one.uid)) users.push_back(std::move(*user));
      // The list of unix sockets names no user.
      if (path) users = {""};
      if (!device.empty() && (path || !own.contains(std::string(host_of(one.local))))) continue;
      if (fits(0, protocols) && fits(1, path ? std::vector{one.local} : spellings(one.local)) &&
          fits(2, path ? std::vector<std::string>{""} : spellings(one.remote)) && fits(3, {one.state}) &&
          fits(4, {one.type}) && fits(5, users))
        chosen.push_back(std::move(one));
    }
  }
  if (!any) return unknown("/proc/net has no list of sockets");
  if (fields[6].pattern) {
    std::set<std::int64_t> inodes;
    for (const SocketLine& one : chosen) inodes.insert(one.inode);
    const auto names = holders(call, inodes);
    std::erase_if(chosen, [&](const SocketLine& one) {
      const auto name = names.find(one.inode);
      // A process that has vanished, or whose files we may not see.
      return !fields[6].pattern->fits(name == names.end() ? "unknown" : name->second);
    });
  }
  const std::string first =
      chosen.empty() ? "" : fmt::format("{} {} {}", chosen[0].protocol, chosen[0].local, chosen[0].state);
  return found(Json::object({{"sockets", chosen.size()}, {"socket_first", first.substr(0, kMostShown)}}));
}

OperationEnd kernel_messages(const Call& call) {
  const auto uptime_text = call.tree->word("/proc/uptime");
  std::string_view rest = uptime_text ? std::string_view(*uptime_text) : std::string_view();
  const auto uptime = to_fraction(next_word(rest));
  if (!uptime) return unknown("/proc/uptime says no time");
  const double since =
      call.integer("seconds") > 0 ? *uptime - static_cast<double>(call.integer("seconds")) : 0;
  const auto log = call.tree->records("/dev/kmsg");
  if (!log) return unknown(log.error().what);
  std::array<std::int64_t, kKernelKinds> counts{};
  std::int64_t gpu_faults = 0, gpu_warnings = 0, uncorrected = 0, most_downs = 0;
  std::map<std::string, std::int64_t, std::less<>> downs;
  std::string last, last_grave, last_link;
  for (const std::string_view line : lines_of(*log)) {
    if (line.starts_with(' ')) continue;  // more of the record before
    const auto record = parse_kmsg(line);
    // Facility 0 is the kernel's: it gives no program's line this number, whatever the program writes.
    if (!record || record->facility != 0 || static_cast<double>(record->at_us) / 1e6 < since) continue;
    if (const std::string_view device = link_down_of(record->text); !device.empty()) {
      if (const std::int64_t n = ++downs[std::string(device)]; n >= most_downs)
        most_downs = n, last_link = device.substr(0, kMostShown);
      continue;
    }
    const auto kind = kind_of_kernel_text(record->text);
    if (!kind) continue;
    ++counts[static_cast<std::size_t>(*kind)];
    last = record->text.substr(0, kMostShown);
    bool grave = *kind == KernelKind::gpu_lost;
    gpu_faults += grave;
    if (*kind == KernelKind::gpu) {
      const XidMeaning means = meaning_of_xid(xid_of(record->text).value_or(0));
      gpu_faults += means == XidMeaning::fault;
      gpu_warnings += means == XidMeaning::warning;
      grave = means == XidMeaning::fault;
    } else if (*kind == KernelKind::hardware && is_uncorrected(record->text)) {
      ++uncorrected;
      grave = true;
    }
    if (grave) last_grave = last;
  }
  // (gpu_lost is one of the faults of graphics processors.)
  constexpr std::array<const char*, kKernelKinds> kNames = {
      "kernel_disk_errors", "kernel_filesystem_errors", "kernel_hardware_errors",
      "kernel_xids",        "kernel_hung_tasks",        "kernel_out_of_memory",
      "kernel_lockups",     "kernel_pcie_fatal",        ""};
  Json out = Json::object();
  for (std::size_t i = 0; i < kKernelKinds; ++i)
    if (*kNames[i] != '\0') out.set(kNames[i], counts[i]);
  out.set("kernel_gpu_faults", gpu_faults)
      .set("kernel_gpu_warnings", gpu_warnings)
      .set("kernel_uncorrected_errors", uncorrected)
      .set("kernel_link_downs", most_downs)
      .set("kernel_link", last_link)
      .set("kernel_grave_message", last_grave);
  return found(out.set("kernel_last_message", last));
}

}  // namespace sickbay::node
