// SPDX-License-Identifier: Apache-2.0
// nic, tcp, infiniband: network devices and what TCP makes of them.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

bool is_device(std::string_view name) {
  return !name.empty() && name.size() < 64 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

Json share(std::int64_t part, std::int64_t whole) {
  return std::clamp(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0.0, 100.0);
}

// What of the segments sent again since the last look was lost, the lower share of this look and the last.
//
// A busy host answers late, its peer sends again, and nothing was lost: the other end says so (DSACK, RFC
// 2883).  Who calls a host that is away sends its SYN again and again.  And a busy receiver drops a bundle of
// up to 45 segments now and then: one such look proves nothing.  (V counts alike: verify/tcp_counters.h.)
Json share_lost(const Call& call, std::int64_t sent, std::int64_t again) {
  const std::string key = call.operation + "\nlost";
  Json now;
  if (const auto text = call.tree->read("/proc/net/netstat")) {
    const auto values = parse_snmp(*text, "TcpExt");
    const auto needless = values.find("TCPDSACKRecv"), opening = values.find("TCPSynRetrans");
    if (needless != values.end() && opening != values.end()) {
      const auto arrived = call.counters->since_last(call.operation + "\nneedless", needless->second);
      const auto called = call.counters->since_last(call.operation + "\nopening", opening->second);
      if (arrived && called && sent > 0)
        now = share(std::max<std::int64_t>(0, again - arrived->count - called->count), sent);
    }
  }
  // Told at each look, null as well: two looks with one between them that said nothing are no pair.
  const Json before = call.counters->told_before(key, now);
  if (now.is_null() || before.is_null()) return Json();
  return std::min(now.as_double(), before.as_double());
}

}  // namespace

OperationEnd nic(const Call& call) {
  std::string device = call.text("device");
  if (device.empty()) {
    const auto routes = call.tree->read("/proc/net/route");
    if (!routes) return unknown(routes.error().what);
    device = default_route(*routes);
    if (device.empty()) return unknown("/proc/net/route has no default route: give the argument `device`");
  }
  const std::string folder = "/sys/class/net/" + device;
  if (!is_device(device) || !call.tree->exists(folder))
    return unknown(fmt::format("/sys/class/net has no device {}", quote_for_message(device)));
  const std::string state = call.tree->word(folder + "/operstate").value_or("");
  // Some drivers never say (lo, tun): then the carrier does.
  const auto carrier = call.tree->number(folder + "/carrier");
  const bool up = state == "up" || (state != "down" && carrier == 1);
  const auto speed = call.tree->number(folder + "/speed");  // an error or -1 while the link is down
  const std::string duplex = call.tree->word(folder + "/duplex").value_or("");
  const std::int64_t errors =
      call.tree->count(folder + "/statistics/rx_errors") + call.tree->count(folder + "/statistics/tx_errors");
  Json out = Json::object({{"nic_up", up}});
  out.set("nic_speed", speed && *speed > 0 && *speed < (1 << 30) ? Json(*speed) : Json());
  out.set("nic_full_duplex", duplex == "full" ? Json(true) : duplex == "half" ? Json(false) : Json());
  out.set("nic_errors_new", call.since_last(device + " errors", errors));
  out.set("nic_link_changes_new",
          call.since_last(device + " changes", call.tree->count(folder + "/carrier_changes")));
  return found(std::move(out), device);
}

OperationEnd tcp(const Call& call) {
  const auto text = call.tree->read("/proc/net/snmp");
  if (!text) return unknown(text.error().what);
  const auto values = parse_snmp(*text, "Tcp");
  const auto sent = values.find("OutSegs"), again = values.find("RetransSegs");
  if (sent == values.end() || again == values.end())
    return unknown("/proc/net/snmp has no OutSegs and RetransSegs of Tcp");
  const auto more = call.counters->since_last(call.operation + "\nsent", sent->second);
  const auto more_again = call.counters->since_last(call.operation + "\nagain", again->second);
  const bool some = more && more_again && more->count > 0;
  // Asked without segments as well: its own counters must go on in step, else its next look would take off
  // what came before.
  const Json lost = some ? share_lost(call, more->count, more_again->count) : share_lost(call, 0, 0);
  return found(
      Json::object({{"tcp_sent", more ? Json(more->count) : Json()},
                    {"tcp_retransmitted_percent", some ? share(more_again->count, more->count) : Json()},
                    {"tcp_lost_percent", lost}}));
}

OperationEnd infiniband(const Call& call) {
  const Tree& tree = *call.tree;
  constexpr std::string_view kAdapters = "/sys/class/infiniband";
  const std::string& wanted = call.text("device");
  std::vector<std::string> adapters = tree.list(kAdapters);
  if (!wanted.empty()) std::erase_if(adapters, [&](const std::string& a) { return a != wanted; });
  if (adapters.empty())
    return unknown(
        fmt::format("{} has no adapter{}", kAdapters, wanted.empty() ? "" : " " + quote_for_message(wanted)));
  std::int64_t ports = 0, active = 0, errors = 0;
  std::optional<double> slowest;
  for (const std::string& adapter : adapters)
    for (const std::string& port : tree.list(fmt::format("{}/{}/ports", kAdapters, adapter))) {
      const std::string folder = fmt::format("{}/{}/ports/{}", kAdapters, adapter, port);
      ++ports;
      // "4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)"
      const bool up = tree.word(folder + "/state").value_or("").ends_with("ACTIVE") &&
                      tree.word(folder + "/phys_state").value_or("").ends_with("LinkUp");
      active += up;
      const std::string rate = tree.word(folder + "/rate").value_or("");
      std::string_view rest = rate;
      // (Bounded, so that garbage of a driver is no rate.)
      if (const auto value = to_fraction(next_word(rest)); up && value && *value >= 0 && *value < 1e6)
        slowest = std::min(slowest.value_or(*value), *value);
      for (const std::string_view name : {"symbol_error", "link_error_recovery", "link_downed"})
        errors += tree.count(fmt::format("{}/counters/{}", folder, name));
    }
  if (ports == 0) return unknown(fmt::format("no adapter in {} has a port", kAdapters));
  return found(Json::object({{"ib_ports", ports},
                             {"ib_ports_active", active},
                             {"ib_rate_lowest", or_null(slowest)},
                             {"ib_errors_new", call.since_last("errors", errors)}}));
}

}  // namespace sickbay::node
