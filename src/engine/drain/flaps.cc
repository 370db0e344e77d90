// SPDX-License-Identifier: Apache-2.0
// Flaps: a node that leaves for one rule, is let back since the fault is gone, and leaves for it again.
//
// Each return meets jobs with a fault that its agent cannot see just then, and each leave draws on the
// breaker, so that others wait.  Who has left so often within a time stays out, also when its fault is said
// to be gone, until a person puts it back: by `sickbay undo-drains`, or in Slurm.  (Longer and longer times
// out would come by themselves, but end where the fault is a loose cable: in jobs that fail once a day, of
// which nobody is told.  How many such nodes there may be is bounded by the breaker, like all that are out.)
//
// Counted is a drain that was done and took the node away: not one that Slurm had dropped, and none that was
// said twice.  Gates and recoveries have ends of their own and do not count.  When is state, how often is too
// often is policy.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "engine/drain/parts.h"

namespace sickbay::drain {
namespace {

bool is_counted(const std::string& rule) { return rule != kGate && rule != kRecoveryRule; }

// How often the node left for the rule within the time that ends at `until`.
int times(const Policy& policy, const Node& node, const std::string& rule, TimePoint until) {
  const auto it = node.left.find(rule);
  if (it == node.left.end()) return 0;
  return static_cast<int>(std::ranges::count_if(
      it->second, [&](TimePoint at) { return at <= until && at > until - policy.flap_within; }));
}

// The one that is said of many.
const Reason* kept_reason(const Policy& policy, const Node& node) {
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && is_kept(policy, node, reason)) return &reason;
  return nullptr;
}

}  // namespace

void note_leaving(Node& node, std::string_view reason) {
  if (!reason.starts_with(kReasonTag)) return;
  reason.remove_prefix(kReasonTag.size());
  node.leaving_for = reason.substr(0, reason.find(' '));
}

void note_left(Node& node, TimePoint at) {
  const auto reason = node.reasons.find(std::exchange(node.leaving_for, {}));
  if (reason == node.reasons.end() || !is_counted(reason->second.rule)) return;
  reason->second.took_out = true;
  std::vector<TimePoint>& left = node.left[reason->second.rule];
  left.push_back(at);
  while (left.size() > kMostFlaps || left.front() <= at - kLongestFlaps) left.erase(left.begin());
}

void note_back(Node& node) {
  node.leaving_for.clear();
  for (auto& [source, reason] : node.reasons) reason.took_out = false;
}

void forget_flaps(Node& node, const std::string& rule) {
  if (rule.empty())
    node.left.clear();
  else
    node.left.erase(rule);
}

bool is_kept(const Policy& policy, const Node& node, const Reason& reason) {
  if (policy.flap_most == 0 || !reason.took_out) return false;
  const auto it = node.left.find(reason.rule);
  // As of its last leave: it does not come back because time goes by.
  return it != node.left.end() && times(policy, node, reason.rule, it->second.back()) >= policy.flap_most;
}

std::string told_reason(const Known& k, const Node& node, const Reason& reason, bool leaves) {
  const bool stays = leaves ? k.policy.flap_most > 0 && is_counted(reason.rule) &&
                                  times(k.policy, node, reason.rule, k.now) + 1 >= k.policy.flap_most
                            : is_kept(k.policy, node, reason);
  const std::string text = slurm_reason(reason);
  if (!stays) return text;
  const std::string more = fmt::format(" ({} times in {}: stays out until put back)", k.policy.flap_most,
                                       describe_duration(k.policy.flap_within));
  return std::string(whole_characters(text, kReasonBytes - more.size())) + more;
}

std::string kept_text(const Known& k, const std::string& name) {
  const auto it = k.state.nodes.find(name);
  const Reason* reason = it == k.state.nodes.end() ? nullptr : kept_reason(k.policy, it->second);
  if (reason == nullptr) return "";
  return fmt::format(
      "drained {} times within {} for {}: stays out, also without its fault, until somebody puts it back "
      "(sickbay undo-drains {})",
      times(k.policy, it->second, reason->rule, it->second.left.at(reason->rule).back()),
      describe_duration(k.policy.flap_within), reason->rule, name);
}

std::string canonical_flaps(const Node& node) {
  std::string text;
  if (!node.leaving_for.empty()) text += fmt::format("  leaving for {}\n", node.leaving_for);
  for (const auto& [source, reason] : node.reasons)
    if (reason.took_out) text += fmt::format("  left for {}\n", source);
  for (const auto& [rule, left] : node.left) {
    text += fmt::format("  left for {}:", rule);
    for (const TimePoint at : left) text += fmt::format(" {}", to_micros(at));
    text += "\n";
  }
  return text;
}

}  // namespace sickbay::drain
