// SPDX-License-Identifier: Apache-2.0
// Reboots: a node that we drained is rebooted through Slurm, once for a reason, when it has no job any more.
//
// The drain comes first and stands for itself: whatever becomes of the reboot, the node stays out until its
// fault is gone.  The intent holds the boot time that Slurm showed; a later one means that it happened
// (decisions.md 16).  What Slurm 22.05 does to the reason and the drain: doc/design/diagnose.md, "Reboots".
#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "engine/drain/parts.h"
#include "model/ids.h"
#include "model/job.h"

namespace sickbay::drain {
namespace {

constexpr std::string_view kReboot = "reboot", kPowerOff = "power_off";

bool asks_for(const Reason& reason, std::string_view action) {
  return reason.action == action && reason.gone_at == kNoTime;
}

// The last reboot of the reason's rule, where the fault was there again after it; null where it was not.
const Reboot* in_vain(const Node& node, const std::string& rule, const std::string& boot_id) {
  const auto it = node.rebooted.find(rule);
  return it != node.rebooted.end() && it->second.boot_id != boot_id ? &it->second : nullptr;
}

// When a reason may have its reboot, as far as earlier ones are concerned; kNever: not any more.
TimePoint due(const Policy& policy, const Node& node, const Reason& reason) {
  // Somebody else may have rebooted it since: that must show first whether it helped.
  if (reason.reboot_asked || booted_since(node.boot, reason.since)) return kNever;
  const auto it = node.rebooted.find(reason.rule);
  return it == node.rebooted.end() ? kNoTime : it->second.at + policy.reboot_rest;
}

// The oldest reason that asks for a reboot, one that may have it before one that may not.
const Reason* reason_to_reboot(const Policy& policy, const Node& node) {
  const Reason* best = nullptr;
  const auto rank = [&](const Reason& reason) { return std::pair(due(policy, node, reason), reason.since); };
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && asks_for(reason, kReboot) && (!best || rank(reason) < rank(*best)))
      best = &reason;
  return best;
}

bool left_within(const Partition& partition, const std::string& name, TimePoint from) {
  return std::any_of(partition.left.begin(), partition.left.end(),
                     [&](const auto& entry) { return entry.first > from && entry.second == name; });
}

// A node whose drain stands in the window has been counted, and its reboot takes nothing more away.
bool is_counted(const State& state, const Policy& policy, const std::string& name, const Node& node,
                TimePoint now) {
  return std::all_of(node.partitions.begin(), node.partitions.end(), [&](const std::string& partition) {
    const auto it = state.partitions.find(partition);
    return it != state.partitions.end() && left_within(it->second, name, now - policy.window);
  });
}

Held held_reboot(const State& state, const Policy& policy, const std::string& name, const Node& node,
                 TimePoint now) {
  if (is_counted(state, policy, name, node, now)) return {};
  for (const std::string& partition : node.partitions)
    if (const auto it = state.partitions.find(partition); it != state.partitions.end())
      if (Held held = held_by_recent(policy, it->second, now); !held.why.empty()) return held;
  return {};
}

// Slurm says it in a reason or an answer that people do not see: they are told as of the finding that asked.
// `letter` is in the key of the notice.
void tell_of_reboot(Node& node, const std::string& name, char letter, const std::string& text) {
  for (const auto& [source, reason] : node.reasons) {
    if (!reason.reboot_asked || reason.action != kReboot) continue;
    const std::size_t slash = reason.rule.find('/');
    node.notices[fmt::format("{}:{}{}", source, letter, node.numbers.reboots)] =
        Json::object({{"node", name},
                      {"boot_id", reason.boot_id},
                      {"specification", reason.rule.substr(0, slash)},
                      {"rule", slash == std::string::npos ? reason.rule : reason.rule.substr(slash + 1)},
                      {"result", "fault"},
                      {"action", kReboot},
                      {"to", "operator"},
                      {"text", reason.text},
                      {"escalation", text}});
    return;
  }
}

void fail_reboot(Node& node, const std::string& name, std::string why) {
  if (!node.reboot_failed.empty()) return;
  node.reboot_failed = std::move(why);
  tell_of_reboot(node, name, 'b', "the reboot failed: " + node.reboot_failed);
}

// Lifting our drain does not undo it, and Slurm does not say so either.
std::string late_text(const std::string& name) {
  return fmt::format(
      "it has booted, but Slurm keeps it DOWN, as it does after its ResumeTimeout: when the node is well, "
      "scontrol update nodename={} state=resume",
      name);
}

std::string ago(TimePoint then, TimePoint now) {
  return describe_duration(std::chrono::floor<std::chrono::seconds>(std::max(now, then) - then)) + " ago";
}

}  // namespace

bool see_boot(Node& node, const std::string& name, const Json& group, bool drained) {
  node.boot = from_micros(group["boot"].as_int());
  node.idle = group["idle"].as_bool();
  const bool down = group["down"].as_bool();
  node.late = node.late && down;
  if (!node.rebooting) return false;
  const bool booted = booted_since(node.boot, node.boot_before);
  // Where ResumeTimeout has passed, Slurm drops the drain with the reboot and leaves the node DOWN.
  const bool over = group["state"].as_string().find("REBOOT_ISSUED") == std::string::npos;
  const bool given_up = !drained && down && over;
  if (booted) {
    node.rebooting = false;
    node.reboot_failed.clear();
    node.late = down && over;
    if (node.late) tell_of_reboot(node, name, 'l', late_text(name));
  } else if (given_up) {
    fail_reboot(node, name, "it did not come back within Slurm's ResumeTimeout");
  }
  return !drained && (booted || given_up);
}

void on_reboot_intent(State& state, const std::string& name, Node& node, const Event& event) {
  const Json& args = event.body["args"];
  ++node.numbers.reboots;
  node.rebooting = true;
  node.reboot_at = event.at;
  node.boot_before = from_micros(args["boot"].as_int());
  node.reboot_failed.clear();
  for (auto& [source, reason] : node.reasons)
    if (asks_for(reason, kReboot) && !reason.observed) {
      reason.reboot_asked = true;
      node.rebooted[reason.rule] = {event.at, reason.boot_id};
    }
  if (!args["counted"].as_bool()) note_leaving(state, name, node, event.at);
}

void on_reboot_end(Node& node, const std::string& name, const Event& event) {
  if (event.kind == kDone) return;  // Slurm was asked; what it shows of the node says when it is done
  const Json& error = event.body["error"];
  node.rebooting = false;
  // There was none: a new reason of the same rule may ask again, after somebody has acted.
  for (const auto& [source, reason] : node.reasons)
    if (reason.reboot_asked) node.rebooted.erase(reason.rule);
  const std::string& remedy = error["remedy"].as_string();
  fail_reboot(node, name, error["what"].as_string() + (remedy.empty() ? "" : "; " + remedy));
}

void on_reboot_overdue(Node& node, const std::string& name, const Event& event) {
  fail_reboot(node, name, event.body["why"].as_string());
}

std::string tried_before(const Node& node, const std::string& rule, const std::string& boot_id) {
  return in_vain(node, rule, boot_id) ? "the fault is there again after a reboot" : "";
}

void let_reboot(const State& state, const Policy& policy, const std::string& name, const Node& node,
                TimePoint now, Decision& decision) {
  if (node.rebooting) {
    const TimePoint late = node.reboot_at + kRebootOverdue;
    if (!node.reboot_failed.empty()) return;
    if (now < late)
      decision.wake_at = std::min(decision.wake_at, late);
    else
      decision.records.push_back(
          record(node_subject(name), kOverdue,
                 Json::object({{"why", fmt::format("Slurm has not shown it booted anew for {} min",
                                                   std::chrono::minutes(kRebootOverdue).count())}})));
    return;
  }
  if (!policy.act || !policy.reboot || !node.idle || node.boot == kNoTime || !node.reboot_failed.empty())
    return;
  const Reason* reason = reason_to_reboot(policy, node);
  if (reason == nullptr) return;
  const TimePoint from = due(policy, node, *reason);
  const Held held = held_reboot(state, policy, name, node, now);
  if (now < from || !held.why.empty()) {
    decision.wake_at = std::min(decision.wake_at, now < from ? from : held.until);
    return;
  }
  decision.commands.push_back(
      command(name, kReboot, 'b', node.numbers.reboots + 1,
              Json::object({{"node", name},
                            {"boot", to_micros(node.boot)},
                            {"reason", slurm_reason(*reason)},
                            {"prefix", std::string(kReasonTag)},
                            {"counted", is_counted(state, policy, name, node, now)}})));
}

bool is_news(const State& state, const std::string& name, bool drained, bool idle, TimePoint boot) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end() || !state.away.contains(name)) return false;
  const Node& node = it->second;
  return node.drained != drained || node.idle != idle || booted_since(boot, node.boot);
}

std::string wish_text(const State& state, const Policy& policy, const std::string& name, TimePoint now) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return {};
  const Node& node = it->second;
  const Reason* reason = reason_to_reboot(policy, node);
  if (reason == nullptr) {
    const bool off = std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
      return counts(policy, entry.second) && asks_for(entry.second, kPowerOff);
    });
    if (node.late && !node.ours) return late_text(name);
    return off ? "to be powered off: people do it" : "";
  }
  const auto text = [](std::string_view what) { return fmt::format("to be rebooted: {}", what); };
  if (!node.reboot_failed.empty())
    return fmt::format("the reboot {} failed: {}", ago(node.reboot_at, now), node.reboot_failed);
  if (node.rebooting) return fmt::format("asked to reboot {}", ago(node.reboot_at, now));
  if (const Reboot* last = in_vain(node, reason->rule, reason->boot_id))
    if (due(policy, node, *reason) > now)
      return fmt::format("the fault is there again after the reboot {}: people must look",
                         ago(last->at, now));
  if (reason->reboot_asked)
    return fmt::format("rebooted {}: waits to see whether that helped", ago(node.reboot_at, now));
  if (booted_since(node.boot, reason->since))
    return fmt::format("somebody rebooted it {}: waits to see whether that helped", ago(node.boot, now));
  if (!policy.reboot) return text("people do it (drain.reboot is false)");
  if (!policy.act) return text("only observed");
  if (!node.ours) return text("when Sickbay has it drained");
  if (!node.idle) return text("waits until it has no job");
  if (due(policy, node, *reason) > now) return text("not again so soon for the same rule");
  if (const Held held = held_reboot(state, policy, name, node, now); !held.why.empty())
    return text("the breaker waits: " + held.why);
  return text("at once");
}

}  // namespace sickbay::drain
