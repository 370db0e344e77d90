// SPDX-License-Identifier: Apache-2.0
// Nodes that a user calls failing (smd -d): they go into Slurm's state FAIL, get no new work, and their jobs
// go on.
//
// Such a node is out of service, by a user's word alone: so it draws on the breaker that all engines share,
// and is claimed until somebody has taken it out of FAIL again.  Where that is not granted now the answer is
// no, and not later: whoever asked can ask again, and his job is not helped by a node that leaves in an hour.
#include <fmt/format.h>

#include "engine/nonstop/parts.h"
#include "model/verbs.h"

namespace sickbay::nonstop {
namespace {

using FailStep = FailOrder::Step;

bool is_live(const FailOrder& order) {
  return order.step != FailStep::refused && order.step != FailStep::over;
}

void on_asked_to_fail(Change& c, const std::string& node) {
  const Json& body = c.event.body;
  FailOrder& order = c.state.fails[node];
  // A new order; else one more who waits for the same. The count of orders goes on: keys come never again.
  if (order.at == kNoTime || !is_live(order)) {
    const int orders = order.orders;
    order = {};
    order.orders = orders;
    order.reason = body["reason"].as_string();
    order.uid = static_cast<std::uint32_t>(body["uid"].as_int());
    order.by = body["by"].as_string();
    order.job = static_cast<JobId>(body["job"].as_int());
    order.at = c.event.at;
  }
  order.tokens.insert(body["token"].as_string());
}

void on_shown(Change& c) {
  for (const cluster::View::Change& change : c.view.changes) {
    const auto it = c.state.fails.find(change.name);
    if (it == c.state.fails.end()) continue;
    FailOrder& order = it->second;
    const cluster::Node* node = c.view.node(change.name);
    // A look that began before the command says nothing about what it did.
    if (order.step != FailStep::done || (node != nullptr && node->look <= order.look)) continue;
    c.touched.push_back(node_subject(change.name));
    if (node != nullptr && node->failing())
      order.seen = true;
    else
      order.step = FailStep::over;
  }
}

}  // namespace

void apply_fail_orders(Change& c) {
  if (c.event.kind == kNodesSeen) return on_shown(c);
  const std::string node(node_of_subject(c.event.subject));
  if (node.empty()) return;
  if (c.event.kind == kAsked) {
    on_asked_to_fail(c, node);
    return c.touched.push_back(c.event.subject);
  }
  const auto it = c.state.fails.find(node);
  if (it == c.state.fails.end()) return;
  FailOrder& order = it->second;
  c.touched.push_back(c.event.subject);
  const Json& body = c.event.body;
  if (c.event.kind == kAnswered) {
    if (is_live(order)) order.step = FailStep::refused;
    order.why = body["why"].as_string();
    return;
  }
  if (body["verb"].as_string() != verb::kFailNode) return;
  if (c.event.kind == kIntent) {
    order.step = FailStep::ordered;
    ++order.orders;
  } else if (c.event.kind == kDone) {
    order.step = FailStep::done;
    order.look = c.view.looks;
  } else if (c.event.kind == kFailed) {
    // Nobody knows: it is said again later, which finds the node as it is.
    const bool unknown = passes_by_itself(error_code_from(body["error"]["code"].as_string()));
    order.step = unknown ? FailStep::wanted : FailStep::refused;
    order.unanswered = unknown ? c.event.at : kNoTime;
    order.why = body["error"]["what"].as_string();
  }
}

void decide_fail_order(const Known& k, const std::string& name, Decision& decision) {
  const auto it = k.state.fails.find(name);
  if (it == k.state.fails.end()) return;
  const FailOrder& order = it->second;
  const std::string subject = node_subject(name);
  const bool ours = k.cluster.claims.holds(kName, subject, subject, k.now);
  if (!is_live(order)) {
    if (ours)
      decision.records.push_back(cluster::Claims::released(subject, kName, "it is not failing by our hand"));
    return;
  }
  if (order.step != FailStep::wanted) return;
  if (const TimePoint due = order.unanswered + k.policy.say_again;
      order.unanswered != kNoTime && k.now < due) {
    decision.wake_at = std::min(decision.wake_at, due);
    return;
  }
  const auto refuse = [&](std::string why) {
    decision.records.push_back(new_event(
        subject, kAnswered,
        Json::object(
            {{"what", "drain"}, {"code", wire::code_row(Code::eupdnode).name}, {"why", std::move(why)}})));
  };
  if (const cluster::Claim* held = k.cluster.claims.find(subject, k.now); held != nullptr && !ours)
    return refuse(fmt::format("{} is at work on it: {}", held->holder, held->reason));
  // One that is said again has had its leave already: asked once more, it would count twice.
  if (order.unanswered == kNoTime) {
    const auto leave =
        k.cluster.breaker.ask(k.policy.breaker, k.cluster.view, k.cluster.claims, name, subject, k.now);
    if (!leave.granted) return refuse(leave.held.why);
  }
  // `out`: it counts against the bound of what is out of service at one time.
  decision.claims.push_back({.on = subject,
                             .holder = std::string(kName),
                             .by = subject,
                             .reason = fmt::format("{} calls it failing: {}", order.by, order.reason),
                             .out = true});
  if (!ours) return;
  Command made;
  made.subject = subject;
  made.key = fmt::format("{}.e{}:fail", subject, order.orders + 1);
  made.verb = verb::kFailNode;
  made.args = Json::object({{"node", name}, {"reason", order.reason}, {"by", order.by}});
  if (order.unanswered == kNoTime) made.draws = {name};  // one that is said again was counted
  decision.commands.push_back(std::move(made));
}

}  // namespace sickbay::nonstop
