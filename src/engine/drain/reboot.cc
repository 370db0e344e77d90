// SPDX-License-Identifier: Apache-2.0
// Reboots: a node that we drained is rebooted through Slurm, once for a reason, when it has no job any more.
//
// The drain comes first and stands for itself: whatever becomes of the reboot, the node stays out until its
// fault is gone.  The intent holds the boot time that Slurm showed; a later one means that it happened
// (decisions.md 16).  What Slurm 22.05 does to the reason and the drain: doc/design/diagnose.md, "Reboots".
#include <fmt/format.h>

#include <algorithm>

#include "engine/drain/parts.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/verbs.h"

namespace sickbay::drain {
namespace {

// What a finding may ask for (doc/formats/specification.md).  Nobody but people powers a node off: Slurm
// would take a node that is off for one that it may start (doc/design/diagnose.md, "Out of service").
constexpr std::string_view kReboot = "reboot", kPowerOff = "power_off";

bool asks_for(const Reason& reason, std::string_view action) {
  return reason.action == action && reason.gone_at == kNoTime;
}

// The last reboot of the reason's rule, where the fault was there again after it; null where it was not.
// Told by the boot in which the fault was found: an agent that says it twice in one boot says nothing new.
const Reboot* last_in_vain(const Node& node, const std::string& rule, const std::string& boot_id) {
  const auto it = node.rebooted.find(rule);
  return it != node.rebooted.end() && it->second.boot_id != boot_id ? &it->second : nullptr;
}

// When a reason may have its reboot, as far as earlier ones are concerned; kNever: not any more.
TimePoint due(const Policy& policy, const Node& node, const Reason& reason, TimePoint boot) {
  // Somebody else may have rebooted it since: that must show first whether it helped.
  if (reason.reboot_asked || booted_since(boot, reason.since)) return kNever;
  // By rule, not by reason: a fault that comes back as a new finding must not reboot its node in a circle.
  const auto it = node.rebooted.find(reason.rule);
  return it == node.rebooted.end() ? kNoTime : it->second.at + policy.reboot_rest;
}

// The oldest reason that asks for a reboot, one that may have it before one that may not: a reason that rests
// must not stand in the way of another.
const Reason* reason_to_reboot(const Policy& policy, const Node& node, TimePoint boot) {
  const Reason* best = nullptr;
  const auto rank = [&](const Reason& reason) {
    return std::pair(due(policy, node, reason, boot), reason.since);
  };
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && asks_for(reason, kReboot) && (!best || rank(reason) < rank(*best)))
      best = &reason;
  return best;
}

// A node whose drain stands in the window has been counted, and its reboot takes nothing more away.  After a
// longer wait for its last job it counts anew: else many drained nodes could fall empty and boot together.
// And only the bound on nodes that leave within a time: the node is out by us already, so that it boots takes
// nothing from the share that may be out at once (decisions.md 25).
cluster::Breaker::Held held_reboot(const Known& k, const std::string& name) {
  return k.cluster.breaker.held_by_recent(k.policy.breaker, k.cluster.view, name, k.now);
}

// Slurm says it in a reason or an answer that people do not see: they are told as of the finding that asked.
// `letter` is in the key of the notice.
void tell_of_reboot(Node& node, const std::string& name, char letter, const std::string& text) {
  for (const auto& [source, reason] : node.reasons) {
    if (!reason.reboot_asked || reason.action != kReboot) continue;
    // One of them speaks for all that shared the reboot.  The number keeps its key apart from the finding's
    // own, which was told before, and from that of a later reboot.
    const std::size_t slash = reason.rule.find('/');
    keep_notice(
        node, fmt::format("{}:{}{}", source, letter, node.numbers.reboots),
        Json::object({{"node", name},
                      {"boot_id", reason.boot_id},
                      {"specification", reason.rule.substr(0, slash)},
                      {"rule", slash == std::string::npos ? reason.rule : reason.rule.substr(slash + 1)},
                      {"result", "fault"},
                      {"action", kReboot},
                      {"to", "operator"},
                      {"text", reason.text},
                      {"escalation", text}}));
    return;
  }
}

void fail_reboot(Node& node, const std::string& name, std::string why) {
  if (!node.reboot_failed.empty()) return;  // told once; it may still be overdue besides
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

}  // namespace

bool see_boot(Node& node, const std::string& name, const cluster::Node& shown, bool news) {
  node.late = node.late && shown.down;
  // A boot that we did not ask for is no news here; due() sees it by its time.
  if (!node.rebooting) return false;
  const bool booted = booted_since(shown.boot, node.boot_before);
  // Where ResumeTimeout has passed, Slurm drops the drain with the reboot and leaves the node DOWN (tried on
  // 22.05).  As long as REBOOT_ISSUED stands it only boots, and is DOWN for that.
  const bool given_up = !shown.drained && shown.down && !shown.reboot_issued();
  if (booted) {
    // Also long after it was given up: what counts is that it is back.
    node.rebooting = false;
    node.reboot_failed.clear();
    node.late = shown.down && !shown.reboot_issued();
    if (node.late && news) tell_of_reboot(node, name, 'l', late_text(name));
  } else if (given_up) {
    fail_reboot(node, name, "it did not come back within Slurm's ResumeTimeout");
  }
  // Else a drain that is gone would look like somebody who put the node back, and we would let it be.
  return !shown.drained && (booted || given_up);
}

void on_reboot_intent(Node& node, const Event& event) {
  const Json& args = event.body["args"];
  ++node.numbers.reboots;
  node.rebooting = true;
  node.reboot_at = event.at;
  // As the intent has it, not as the state has it now: after a crash a later boot means that it happened
  // (decisions.md 16).
  node.boot_before = from_micros(args["boot"].as_int());
  node.reboot_failed.clear();
  // One reboot serves all reasons that ask for one; each has then had the one that it may have.
  for (auto& [source, reason] : node.reasons)
    if (asks_for(reason, kReboot) && !reason.observed) {
      reason.reboot_asked = true;
      node.rebooted[reason.rule] = {event.at, reason.boot_id};
    }
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
  return last_in_vain(node, rule, boot_id) ? "the fault is there again after a reboot" : "";
}

void let_reboot(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  if (node.rebooting) {
    // Slurm gives up after ResumeTimeout, which a site may have set to anything; this bound is our own, so
    // that a RebootProgram which does nothing is not waited for without end.
    const TimePoint late = node.reboot_at + kRebootOverdue;
    if (!node.reboot_failed.empty()) return;
    if (k.now < late)
      decision.wake_at = std::min(decision.wake_at, late);
    else
      decision.records.push_back(
          new_event(node_subject(name), kOverdue,
                    Json::object({{"why", fmt::format("Slurm has not shown it booted anew for {} min",
                                                      std::chrono::minutes(kRebootOverdue).count())}})));
    return;
  }
  // Idle as Slurm shows it: no job, answering, not about to boot.  Without a boot time nobody could tell
  // afterwards whether it was rebooted.
  const Seen now = seen(k.cluster.view, name, node);
  if (!k.policy.act || !k.policy.reboot || !now.idle || now.boot == kNoTime || !node.reboot_failed.empty())
    return;
  const Reason* reason = reason_to_reboot(k.policy, node, now.boot);
  if (reason == nullptr) return;
  const TimePoint from = due(k.policy, node, *reason, now.boot);
  const auto held = held_reboot(k, name);
  if (k.now < from || !held.why.empty()) {
    decision.wake_at = std::min(decision.wake_at, k.now < from ? from : held.until);
    return;
  }
  // Our reason goes along because Slurm would replace it (tried on 22.05), and the prefix so that the node is
  // rebooted only while the drain on it is ours.
  // Whether the drain is still in the breaker's window is said now: a replay has no policy to ask.
  const bool counted = k.cluster.breaker.is_counted(k.policy.breaker, k.cluster.view, name, k.now);
  Command reboot = command(name, verb::kReboot, 'b', node.numbers.reboots + 1,
                           Json::object({{"node", name},
                                         {"boot", to_micros(now.boot)},
                                         {"reason", told_reason(k, node, *reason, false)},
                                         {"prefix", std::string(kReasonTag)},
                                         {"counted", counted}}));
  if (!counted) reboot.draws = {name};
  decision.commands.push_back(std::move(reboot));
}

// The first that applies, most certain first: what has happened, then what keeps it from happening in the
// order in which an operator can do something about it.
Wish reboot_wish(const Known& k, const std::string& name) {
  using enum Wish::What;
  const auto it = k.state.nodes.find(name);
  if (it == k.state.nodes.end()) return {};
  const Node& node = it->second;
  const Seen now = seen(k.cluster.view, name, node);
  const Reason* reason = reason_to_reboot(k.policy, node, now.boot);
  if (reason == nullptr) {
    // A wish for power is shown as long as nothing milder is to be done first.
    const bool off = std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
      return counts(k.policy, entry.second) && asks_for(entry.second, kPowerOff);
    });
    if (node.late && !node.ours) return {late, kNoTime, late_text(name)};
    return {off ? power_off : none, kNoTime, ""};
  }
  if (!node.reboot_failed.empty()) return {failed, node.reboot_at, node.reboot_failed};
  if (node.rebooting) return {asked, node.reboot_at, ""};
  const bool too_soon = due(k.policy, node, *reason, now.boot) > k.now;
  if (const Reboot* last = last_in_vain(node, reason->rule, reason->boot_id); last && too_soon)
    return {in_vain, last->at, ""};
  // Whoever rebooted it: the agent's next word tells whether it helped, and nothing is done until then.
  if (reason->reboot_asked) return {done, node.reboot_at, ""};
  if (booted_since(now.boot, reason->since)) return {done_by_others, now.boot, ""};
  if (!k.policy.reboot) return {left_to_people, kNoTime, ""};
  if (!k.policy.act) return {observed, kNoTime, ""};
  if (!node.ours) return {not_ours, kNoTime, ""};
  if (!now.idle) return {busy, kNoTime, ""};
  if (too_soon) return {rests, kNoTime, ""};
  if (auto held = held_reboot(k, name); !held.why.empty())
    return {waits_for_breaker, kNoTime, std::move(held.why)};
  return {at_once, kNoTime, ""};
}

}  // namespace sickbay::drain
