// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/signs.h"

#include <algorithm>

#include "model/finding_action.h"

namespace sickbay::identify {
namespace {

// An agent looks once in a while: what it finds this soon after a run was there in the run.
constexpr std::chrono::seconds kAfterwards{600};
constexpr std::size_t kMostOnANode = 16;  // the oldest go first

// Both times come from other clocks than ours, and are compared as they are: data, not an order.
bool fits(const Sign& sign, const Run& run) {
  return run.job.start != kNoTime && was_there(sign, run.job.start, run.job.end);
}

}  // namespace

bool was_there(const Sign& sign, TimePoint start, TimePoint end) {
  const bool before_its_end = end == kNoTime || sign.at <= end + kAfterwards;
  return before_its_end && (sign.gone_at == kNoTime || sign.gone_at >= start);
}

void gather_signs(const State& state, Case& subject, const Run& run) {
  for (const std::string& name : run.nodes) {
    const auto node = state.records.find(name);
    if (node == state.records.end()) continue;
    for (const Sign& sign : node->second.signs) {
      if (!fits(sign, run)) continue;
      const bool known = std::any_of(subject.signs.begin(), subject.signs.end(), [&](const CaseSign& s) {
        return s.node == name && s.sign.source == sign.source && s.run == run.id;
      });
      if (!known) subject.signs.push_back({name, run.id, sign});
    }
  }
}

void take_finding(State& state, const Event& event) {
  const Json& body = event.body;
  const std::string& name = body["node"].as_string();
  const std::string rule = rule_of_finding(body);
  // Set right where the agent's clock is off.  What it found it may have stamped before the clock went wrong:
  // the earlier time holds, for a fault that stood before a run counts as much as one of its time.
  const TimePoint stamp = from_micros(body["at"].as_int());
  const TimePoint at = stamp - std::chrono::microseconds(body["clock_ahead_us"].as_int());
  auto& signs = state.records[name].signs;
  // The end of a finding: kept with its time, for a run before it still had the fault.
  if (body["result"].as_string() == "ok") {
    for (Sign& sign : signs)
      if (sign.rule == rule && sign.gone_at == kNoTime) sign.gone_at = at;
    return;
  }
  if (body["result"].as_string() != "fault") return;
  signs.push_back({event.subject, rule, body["text"].as_string(), std::min(at, stamp), kNoTime});
  if (signs.size() > kMostOnANode) signs.erase(signs.begin());
  for (const std::int64_t no : state.open) {
    Case& subject = state.cases.at(no);
    for (const auto* runs : {&subject.programs, &subject.verifications})
      for (const Run& run : *runs)
        if (std::find(run.nodes.begin(), run.nodes.end(), name) != run.nodes.end())
          gather_signs(state, subject, run);
  }
}

}  // namespace sickbay::identify
