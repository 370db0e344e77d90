// SPDX-License-Identifier: Apache-2.0
// Tests of two nodes: this node's own, and helpers that it runs for others.
//
// A helper takes the place of a run: none runs beside it, so that none shares a component with it.  It is an
// operation of this node's own files which one of them names as a helper, and what it needs is looked at
// here. Source: doc/design/diagnose.md, "Helpers at a peer".
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "service/agent/agent.h"

namespace sickbay::agent {
namespace {

constexpr std::chrono::seconds kPeerLimit{40};  // sickbayd answers within 25 s

}  // namespace

void Agent::ask_for_peer(Json body, Done<Json> done) {
  HttpQuestion asked = question("/v1/agent/peer", std::move(body));
  asked.time_limit = kPeerLimit;
  ask(std::move(asked), std::move(done));
}

void Agent::serve_others() {
  PeerHelper::Hooks hooks;
  hooks.find = [this](const std::string& specification, const std::string& operation) {
    return find_helper(specification, operation);
  };
  hooks.post = [this](Json body, Done<Json> done) { ask_for_peer(std::move(body), std::move(done)); };
  hooks.over = [this] { next_order(); };
  hooks.log = [this](const std::string& line) { say(line); };
  helper_ = std::make_unique<PeerHelper>(loop_, runner_, std::move(hooks));
}

Result<OperationCall> Agent::find_helper(const std::string& specification, const std::string& operation) {
  const auto it = std::ranges::find_if(
      rules_, [&](const auto& rules) { return rules->specification.name == specification; });
  if (it == rules_.end())
    return fail(ErrorCode::not_found, "its rules have no specification " + quote_for_message(specification));
  const diagnose::Rules& rules = **it;
  const diagnose::Index o = rules.find_operation(operation);
  const bool is_named = std::ranges::any_of(rules.specification.operations, [&](const auto& other) {
    return other.peer && other.peer->runs == operation;
  });
  if (o == diagnose::kNone || !is_named)
    return fail(ErrorCode::not_found, fmt::format("its rules have no helper {} in {}",
                                                  quote_for_message(operation), specification));
  const diagnose::Rules::OperationRule& rule = rules.operations[o];
  if (rule.repairs || !diagnose::is_examination(rule.kind))
    return fail(ErrorCode::denied, operation + " does not only look");
  helper_needs_idle_ = rule.needs_idle;
  if (const std::string busy = rule.needs_idle ? why_busy() : ""; !busy.empty())
    return fail(Error(ErrorCode::conflict, operation + " needs an idle node").because(busy));
  return diagnose::call_of_helper(rules, o);
}

void Agent::take_serve(const Json& told) {
  if (!helper_ || !told.is_object()) return;
  helper_->take(told);
  begin_helper();
}

// Where a run is under way it comes behind that.
void Agent::begin_helper() {
  if (!helper_ || running_) return;
  helper_->begin();
  if (helper_->runs()) watch_burdens();
}

}  // namespace sickbay::agent
