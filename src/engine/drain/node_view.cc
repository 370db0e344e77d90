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

void write_reasons(JsonText& text, const Node& node) {
  text.begin_array();
  for (const auto& [source, reason] : node.reasons)
    text.begin_object()
        .member("source", source)
        .member("rule", reason.rule)
        .member("action", reason.action)
        .member("text", reason.text)
        .member("since", to_micros(reason.since))
        .member("gone", to_micros(reason.gone_at))
        .member("observed", reason.observed)
        .end_object();
  text.end_array();
}

void write_node_view(JsonText& text, const Known& known, const std::string& name, std::string_view reasons) {
  const auto it = known.state.nodes.find(name);
  const Node* const node = it == known.state.nodes.end() ? nullptr : &it->second;
  text.begin_object().member("standing", standing(known, name)).key("reasons");
  if (node == nullptr)
    text.raw("[]");
  else if (!reasons.empty())
    text.raw(reasons);
  else
    write_reasons(text, *node);
  // A drain of somebody else has no time that we know: it is not said to be ours.
  text.member("since", to_micros(node != nullptr && node->ours ? node->drained_at : kNoTime));
  text.member("refused", node != nullptr ? std::string_view(node->refused) : std::string_view());
  text.member("wish", wish_text(known, name)).member("gate", gate_text(known, name));
  text.member("kept", kept_text(known, name));
  text.member("observe_only", !known.policy.act).end_object();
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
