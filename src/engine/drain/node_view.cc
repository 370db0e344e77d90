// SPDX-License-Identifier: Apache-2.0
// Words only.  Which standing a node has: decide.cc; what becomes of a reboot: reboot.cc.
#include "engine/drain/node_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/json_text.h"
#include "engine/drain/parts.h"
#include "model/ids.h"

namespace sickbay::drain {
namespace {

// In the order of Standing; on the wire and in /metrics, so a word that has been given stays.
constexpr auto kStandings = std::to_array<std::string_view>(
    {"in", "observed", "waits", "leaving", "out", "rebooting", "returning", "foreign", "refused", "claimed"});
static_assert(kStandings.size() == static_cast<std::size_t>(Standing::claimed) + 1);

// In the order of Wish::What.  What waits for people or for a time of its own says so: an operator reads this
// to know whether it is his turn.
constexpr auto kWishes = std::to_array<std::string_view>({
    "",
    "to be powered off: people do it",
    "{why}",
    "the reboot {ago} failed: {why}",
    "asked to reboot {ago}",
    "the fault is there again after the reboot {ago}: people must look",
    "rebooted {ago}: waits to see whether that helped",
    "somebody rebooted it {ago}: waits to see whether that helped",
    "to be rebooted: people do it (drain.reboot is false)",
    "to be rebooted: only observed",
    "to be rebooted: when Sickbay has it drained",
    "to be rebooted: waits until it has no job",
    "to be rebooted: not again so soon for the same rule",
    "to be rebooted: the breaker waits: {why}",
    "to be rebooted: at once",
});
static_assert(kWishes.size() == static_cast<std::size_t>(Wish::What::at_once) + 1);

}  // namespace

std::string ago(TimePoint then, TimePoint now) {
  // A node's boot time is its own clock's: it may lie a little ahead of ours.
  return describe_duration(std::chrono::floor<std::chrono::seconds>(std::max(now, then) - then)) + " ago";
}

std::string_view standing(const Known& known, const std::string& name) {
  return kStandings[static_cast<std::size_t>(standing_of(known, name))];
}

std::span<const std::string_view> standings() { return kStandings; }

std::string wish_text(const Known& known, const std::string& name) {
  const Wish wish = reboot_wish(known, name);
  if (wish.what == Wish::What::none) return {};  // nearly all nodes, and all of them are listed at once
  return fmt::format(fmt::runtime(kWishes[static_cast<std::size_t>(wish.what)]),
                     fmt::arg("ago", wish.at == kNoTime ? std::string() : ago(wish.at, known.now)),
                     fmt::arg("why", wish.why));
}

namespace {

// Of many the newest, and among them the oldest that stands: it is the one that Slurm was told.
std::vector<const Reason*> told_reasons(const Node& node, std::size_t most) {
  std::vector<const Reason*> all;
  for (const auto& [source, reason] : node.reasons) all.push_back(&reason);
  if (all.size() <= most) return all;
  std::ranges::stable_sort(all, {}, [](const Reason* reason) { return reason->since; });
  const auto first = all.end() - static_cast<std::ptrdiff_t>(most);
  const auto stands =
      std::ranges::find_if(all, [](const Reason* reason) { return reason->gone_at == kNoTime; });
  if (stands < first) *first = *stands;
  return {first, all.end()};
}

}  // namespace

bool write_node_view(JsonText& text, const Known& known, const std::string& name, std::size_t most) {
  const auto it = known.state.nodes.find(name);
  const Node* const node = it == known.state.nodes.end() ? nullptr : &it->second;
  const std::string wish = wish_text(known, name), gate = gate_text(known, name);
  text.begin_object().member("standing", standing(known, name)).key("reasons").begin_array();
  std::size_t more = node != nullptr ? node->reasons.size() : 0;
  if (node != nullptr)
    for (const Reason* reason : told_reasons(*node, most)) {
      --more;
      text.begin_object()
          .member("source", reason->source)
          .member("rule", reason->rule)
          .member("action", reason->action)
          .member("text", reason->text)
          .member("since", to_micros(reason->since))
          .member("gone", to_micros(reason->gone_at))
          .member("observed", reason->observed)
          .end_object();
    }
  text.end_array().member("reasons_more", static_cast<std::int64_t>(more));
  // A drain of somebody else has no time that we know: it is not said to be ours.
  text.member("since", to_micros(node != nullptr && node->ours ? node->drained_at : kNoTime));
  text.member("refused", node != nullptr ? std::string_view(node->refused) : std::string_view());
  text.member("wish", wish).member("gate", gate).member("kept", kept_text(known, name));
  text.member("observe_only", !known.policy.act).end_object();
  return wish.empty() && gate.empty();  // these alone say how long ago something was
}

ViewKey view_key(const Known& known, const std::string& name) {
  const auto it = known.state.nodes.find(name);
  if (it == known.state.nodes.end()) return {};
  const Node& node = it->second;
  const Seen now = seen(known.cluster.view, name, node);
  const std::string subject = node_subject(name);
  const cluster::Claim* claim = known.cluster.claims.find(subject, known.now);
  return {.change = node.change,
          .drained = now.drained,
          .down = now.down,
          .idle = now.idle,
          .claimed = claim != nullptr && claim->holder != kName,
          .waits = known.cluster.breaker.waits(subject),
          .boot = now.boot};
}

// All that decide() looks at, so that a replay which differs in it is found; a new member of State belongs
// here.
std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [name, n] : state.nodes) {
    text += fmt::format("{} {}{}{} {} {} {} {} {} {}\n", name, n.ours, n.pending, n.checking,
                        n.numbers.drains, n.numbers.lifts, n.numbers.checks, to_micros(n.drained_at),
                        to_micros(n.checked_at), n.refused);
    text += fmt::format("  drained {} left {}\n", n.drained ? (*n.drained ? "yes" : "no") : "as seen",
                        n.left_look);
    text += fmt::format("  reboots {} {} {} {} {}\n", n.numbers.reboots, n.rebooting, to_micros(n.reboot_at),
                        to_micros(n.boot_before), n.reboot_failed);
    if (n.late) text += "  late\n";
    if (n.unanswered != kNoTime) text += fmt::format("  unanswered {}\n", to_micros(n.unanswered));
    for (const auto& [rule, reboot] : n.rebooted)
      text += fmt::format("  rebooted {} {} {}\n", rule, to_micros(reboot.at), reboot.boot_id);
    for (const auto& [source, r] : n.reasons)
      text += fmt::format("  {} {} {} {} {} {} {} {} {}\n", source, r.rule, r.action, to_micros(r.since),
                          to_micros(r.gone_at), r.observed, r.boot_id, r.reboot_asked, r.text);
    text += canonical_flaps(n);
    for (const auto& [source, finding] : n.notices) text += fmt::format("  tell {}\n", source);
  }
  for (const auto& [rule, until] : state.resting)
    text += fmt::format("{} rests until {}\n", rule, to_micros(until));
  for (const auto& [name, resting] : state.resting_on)
    for (const auto& [rule, until] : resting)
      text += fmt::format("{} rests on {} until {}\n", rule, name, to_micros(until));
  return text + canonical_gates(state) + fmt::format("away {}\n", fmt::join(state.away, ","));
}

}  // namespace sickbay::drain
