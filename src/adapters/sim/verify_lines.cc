// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/verify_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace sickbay::sim {
namespace {

constexpr std::size_t kAllPairsUpTo = 16;
constexpr double kLossBound = 0.002;  ///< share of segments sent again that counts as slow

class Lines {
 public:
  Json head(const VerifiedNode& node, std::size_t rank, const char* phase) const {
    return Json::object({{"sickbay_verify", 1}, {"node", node.name}, {"rank", rank}, {"phase", phase}});
  }
  Json finding(Json head, bool ok, bool slow, double value, const char* unit, std::string detail) const {
    return std::move(head.set("ok", ok)
                         .set("slow", slow)
                         .set("value", value)
                         .set("unit", unit)
                         .set("expected", Json::array({Json(), Json()}))
                         .set("detail", std::move(detail)));
  }
  void add(const Json& line) { text_ += line.dump() + "\n"; }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string verify_lines(const std::vector<VerifiedNode>& nodes) {
  Lines lines;
  const auto start = [&](std::size_t rank, const char* mode) {
    lines.add(lines.head(nodes[rank], rank, "start").set("mode", mode));
  };
  const auto done = [&](std::size_t rank, const char* mode, bool ok, bool slow) {
    lines.add(lines.head(nodes[rank], rank, "done").set("mode", mode).set("ok", ok).set("slow", slow));
  };
  // Ranks that came to the end of the first part.
  std::vector<std::size_t> alive;
  if (!nodes.empty()) lines.add(lines.head(nodes[0], 0, "host"));
  const auto cut = [&](std::size_t a, std::size_t b) { return nodes[a].cut_from.count(nodes[b].name) > 0; };
  const auto launch = [&](std::size_t from, std::size_t to) {
    const bool ok = !cut(from, to);
    lines.add(lines.finding(std::move(lines.head(nodes[from], from, "launch").set("peer", nodes[to].name)),
                            ok, false, 0, "",
                            ok ? "" : "could not launch: Communication connection failure"));
    return ok;
  };
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (cut(0, rank)) {
      launch(0, rank);
      bool reached = false;
      int tried = 0;
      for (std::size_t from = 1; from < nodes.size() && tried < 2; ++from)
        if (from != rank && !cut(0, from)) {
          ++tried;
          reached = launch(from, rank) || reached;
        }
      if (!reached) continue;
    }
    const VerifiedNode& node = nodes[rank];
    start(rank, "node");
    if (node.killed) continue;
    // The second part is started from the first node: who was reached through another is not in it.
    if (!cut(0, rank)) alive.push_back(rank);
    const bool slow = node.speed < 1;
    lines.add(lines.finding(lines.head(node, rank, "cpu"), true, slow, 41.5, "Mpairs/s",
                            slow ? fmt::format("work takes {:.2f} times what it needs: of {:.2f} s {:.2f} s "
                                               "throttled, 0.00 s stopped",
                                               1 / node.speed, 0.8 / node.speed, 0.8 / node.speed - 0.8)
                                 : ""));
    lines.add(lines.finding(lines.head(node, rank, "memory"), !node.bad_memory, false, 512, "MiB",
                            node.bad_memory
                                ? "1 words of pattern 'checkerboard' came back wrong, the first at "
                                  "offset 0x1f40: 0xaaaaaaaaaaaaaaab for 0xaaaaaaaaaaaaaaaa"
                                : ""));
    lines.add(lines.finding(lines.head(node, rank, "membw"), true, false, 9800, "MB/s", ""));
    lines.add(lines.finding(lines.head(node, rank, "disk"), !node.full && !node.bad_disk, false, 410, "MB/s",
                            node.full       ? "cannot write in /tmp: No space left on device"
                            : node.bad_disk ? "byte 4096 read back differs from what was written in /tmp"
                                            : ""));
    done(rank, "node", !node.bad_memory && !node.full && !node.bad_disk, slow);
  }
  // The second part runs between the nodes whose rank came to its end.
  if (alive.size() < 2) return std::move(lines).text();
  const bool all_reached = std::none_of(alive.begin(), alive.end(), [&](std::size_t a) {
    return std::any_of(alive.begin(), alive.end(), [&](std::size_t b) { return cut(a, b); });
  });
  if (!all_reached) {
    for (const std::size_t a : alive)
      for (const std::size_t b : alive)
        if (a != b)
          lines.add(lines.finding(std::move(lines.head(nodes[a], a, "reach").set("peer", nodes[b].name)),
                                  !cut(a, b), false, 0, "ms",
                                  cut(a, b) ? "no connection within 6 s: Connection timed out" : ""));
    return std::move(lines).text();
  }
  for (const std::size_t rank : alive) start(rank, "net");
  for (std::size_t i = 0; i < alive.size(); ++i) {
    const VerifiedNode& node = nodes[alive[i]];
    bool any_slow = false;
    for (std::size_t j = 0; j < alive.size(); ++j) {
      const std::size_t apart = i < j ? j - i : i - j;
      // A ring has neighbours, and its two ends.
      if (apart == 0 || (alive.size() > kAllPairsUpTo && apart != 1 && apart != alive.size() - 1)) continue;
      const VerifiedNode& peer = nodes[alive[j]];
      const double loss = std::max(node.loss, peer.loss);
      const bool slow = loss > kLossBound;
      any_slow = any_slow || slow;
      Json head = lines.head(node, alive[i], "net");
      head.set("peer", peer.name);
      lines.add(lines.finding(
          std::move(head), true, slow, slow ? 118.0 * (1 - 5 * std::min(loss, 0.19)) : 118.0, "MB/s",
          slow ? fmt::format("{:.0f} of 23000 TCP segments were sent again ({:.2f} %), 4 of "
                             "500 round trips took over 0.1 s",
                             23000 * loss, 100 * loss)
               : ""));
    }
    done(alive[i], "net", true, any_slow);
  }
  return std::move(lines).text();
}

}  // namespace sickbay::sim
