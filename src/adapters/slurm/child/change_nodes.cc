// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/change_nodes.h"

#include <slurm/slurm.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "adapters/slurm/child/node_update.h"
#include "adapters/slurm/key_comment.h"
#include "base/error_json.h"
#include "base/hostlist.h"

namespace sickbay::slurm {
namespace {

// The parent gives a call 30 s.  A look that was made longer ago than this is none: somebody may have written
// a reason since.
constexpr std::chrono::seconds kLongest{5};
constexpr std::chrono::milliseconds kLookAge{100};

struct Wanted {
  std::vector<std::size_t> places;  // in the answer
  std::vector<std::string> nodes;
};
using ByState = std::map<std::pair<std::uint32_t, std::string>, Wanted>;

Json said(const Result<Json>& changed) {
  if (!changed) return Json::object({{"error", error_to_json(changed.error())}});
  return Json::object({{"changed", changed->as_bool()}});
}

// One request for those that get the same.  Where Slurm refuses it because of one of them, each has its own.
void change(const ByState& wanted, Json::Array& answers) {
  for (const auto& [what, group] : wanted) {
    const auto& [state, reason] = what;
    const Result<Json> all = update_node(compress_hostlist(group.nodes), state, reason);
    for (std::size_t i = 0; i < group.nodes.size(); ++i)
      answers[group.places[i]] =
          said(all || group.nodes.size() == 1 ? all : update_node(group.nodes[i], state, reason));
  }
}

// What a node is looked at for, and what is to be done.
struct NodeChange {
  bool wanted = false;  // false: it is so already
  std::uint32_t state = 0;
  std::string reason;
};

Result<NodeChange> look_before_drain(const std::string& name, const std::string& reason) {
  auto node = read_node(name);
  if (!node) return fail(std::move(node.error()));
  // Already so: a repeat after a lost answer must not write a second time.
  if (has_flag(*node, "DRAIN") && node->reason == reason) return NodeChange{};
  // Slurm overwrites a reason: a person's must not be lost.
  if (!node->reason.empty() && !node->reason.starts_with(kKeyMark)) return foreign_reason(*node);
  return NodeChange{true, NODE_STATE_DRAIN, reason};
}

Result<NodeChange> look_before_undrain(const std::string& name, const std::string& prefix) {
  auto node = read_node(name);
  if (!node) return fail(std::move(node.error()));
  if (!has_flag(*node, "DRAIN")) return NodeChange{};
  if (!node->reason.starts_with(prefix)) return foreign_reason(*node);
  // Never RESUME: it would also revive a node that an operator has set DOWN.
  return NodeChange{true, NODE_STATE_UNDRAIN, ""};
}

}  // namespace

Result<Json> change_nodes(const Json& args) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  auto looks_began = began;
  Json::Array answers(args["changes"].size());
  Json away;  // once slurmctld does not answer, nobody waits for it once more for each node
  ByState wanted;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Json& one = args["changes"].items()[i];
    const auto now = Clock::now();
    if (now - looks_began > kLookAge) {
      change(std::exchange(wanted, {}), answers);
      looks_began = now;
    }
    if (!away.is_null()) {
      answers[i] = away;
      continue;
    }
    if (now - began > kLongest) {
      answers[i] = Json::object({{"later", true}});
      continue;
    }
    const std::string& node = one["node"].as_string();
    const bool drains = one["change"].as_string() == "drain";
    const auto looked = drains ? look_before_drain(node, one["reason"].as_string())
                               : look_before_undrain(node, one["prefix"].as_string());
    if (!looked) {
      answers[i] = Json::object({{"error", error_to_json(looked.error())}});
      if (looked.error().code == ErrorCode::slurm_away || looked.error().code == ErrorCode::munge_away)
        away = answers[i];
    } else if (!looked->wanted) {
      answers[i] = Json::object({{"changed", false}});
    } else {
      Wanted& group = wanted[{looked->state, looked->reason}];
      group.places.push_back(i);
      group.nodes.push_back(node);
    }
  }
  change(wanted, answers);
  return Json(std::move(answers));
}

}  // namespace sickbay::slurm
