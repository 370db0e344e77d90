// SPDX-License-Identifier: Apache-2.0
// The tree itself: how operations are found, named and written down.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "engine/history/history.h"

namespace sickbay::history {
namespace {

constexpr auto kNames =
    std::to_array<std::string_view>({"submitted", "started", "requeued", "ended", "lost", "checkpoint",
                                     "checkpoint_failed", "restored", "repaired", "rewound", "operated"});
static_assert(kNames.size() == kWhats);

// For people: the digests say what has changed.
constexpr std::size_t kMostDiff = 2000;

}  // namespace

std::string_view to_string(What what) { return kNames[static_cast<std::size_t>(what)]; }

std::string OpRef::text() const { return job == 0 ? std::string() : fmt::format("{}.{}", job, n); }

Result<OpRef> parse_op(std::string_view text) {
  OpRef ref;
  const std::size_t dot = text.find('.');
  const auto job = parse_job_id(text.substr(0, dot));
  if (job && dot != std::string_view::npos) {
    const std::string_view rest = text.substr(dot + 1);
    const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), ref.n);
    if (wrong == std::errc() && end == rest.data() + rest.size() && ref.n > 0 && is_digit(rest[0])) {
      ref.job = *job;
      return ref;
    }
  }
  return fail(ErrorCode::bad_input, quote_for_message(text) + " is no operation like 17.4");
}

Json work_json(const Work& work) {
  Json json = Json::object();
  for (const auto& [key, value] : work) json.set(key, value);
  return json;
}

Work work_from(const Json& json) {
  Work work;
  for (const auto& [key, value] : json.members()) work[key] = value.as_string();
  return work;
}

Json Change::to_json() const {
  Json json = Json::object({{"key", key}, {"from", from}, {"to", to}});
  if (!diff.empty()) json.set("diff", diff);
  return json;
}

Change Change::from_json(const Json& json) {
  return {json["key"].as_string(), json["from"].as_string(), json["to"].as_string(),
          json["diff"].as_string().substr(0, kMostDiff)};
}

std::vector<Change> changes_from(const Json& list) {
  std::vector<Change> changes;
  for (const Json& one : list.items()) changes.push_back(Change::from_json(one));
  return changes;
}

Json changes_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) list.push(change.to_json());
  return list;
}

const Part* part_of(const State& state, JobId job) {
  const auto no = state.by_job.find(job);
  if (no == state.by_job.end()) return nullptr;
  const auto part = state.parts.find(no->second);
  return part == state.parts.end() ? nullptr : &part->second;
}

const Operation* operation(const State& state, const OpRef& ref) {
  const Part* part = part_of(state, ref.job);
  if (part == nullptr) return nullptr;
  const auto op = part->operations.find(ref.n);
  return op == part->operations.end() ? nullptr : &op->second;
}

std::vector<OpRef> path_to(const State& state, const OpRef& ref) {
  std::vector<OpRef> path;
  // A parent is always older, but a job id that comes again could make a ring.
  const std::size_t most = kMostOperations * (state.parts.size() + 1);
  for (OpRef at = ref; at && path.size() < most;) {
    const Operation* op = operation(state, at);
    if (op == nullptr) break;
    path.push_back(at);
    at = op->parent;
  }
  std::ranges::reverse(path);
  return path;
}

// Up to the oldest part that is kept, then down again by the bases. Numbers of steps are bounded, as in
// path_to().
std::vector<const Part*> tree_of(const State& state, const Part& part) {
  const Part* root = &part;
  for (std::size_t steps = 0; root->base && steps < state.parts.size(); ++steps) {
    const Part* up = part_of(state, root->base.job);
    if (up == nullptr) break;
    root = up;
  }
  std::vector<const Part*> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& [no, other] : state.parts)
      if (other.base && other.base.job == tree[i]->job && std::ranges::find(tree, &other) == tree.end())
        tree.push_back(&other);
  return tree;
}

OpRef position_of(const State& state, const Part& part) {
  OpRef position;
  TimePoint latest = kNoTime;
  for (const Part* one : tree_of(state, part))
    for (const auto& [n, op] : one->operations)
      if ((op.what == What::rewound || op.what == What::repaired) && op.at >= latest) {
        latest = op.at;
        position = one->ref(n);
      }
  return position;
}

OpRef find_checkpoint(const State& state, const Part& part, int number) {
  const auto is_it = [&](const Operation& op) {
    return op.what == What::checkpoint && op.told.checkpoint == number && !op.dropped;
  };
  if (part.tip != 0) {
    const std::vector<OpRef> path = path_to(state, part.ref(part.tip));
    for (auto ref = path.rbegin(); ref != path.rend(); ++ref)
      if (is_it(*operation(state, *ref))) return *ref;
  }
  // Not on the way: a branch that was left may hold the newest one of that number.
  OpRef found;
  TimePoint latest = kNoTime;
  for (const Part* one : tree_of(state, part))
    for (const auto& [n, op] : one->operations)
      if (is_it(op) && op.at >= latest) {
        latest = op.at;
        found = one->ref(n);
      }
  return found;
}

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [no, p] : state.parts) {
    text += fmt::format(
        "history of {} job {} of {} under '{}' from {} {} {} {} {} [{}] {} recorded {} last {} tip {} "
        "restart {} running {} ended {} [{}] left out {}\n",
        case_name(no), p.job, p.owner.user, p.base.text(), p.base_checkpoint, p.script_name, p.work_dir,
        p.script_digest, p.environment_digest, fmt::join(p.arguments, " "), work_json(p.inputs).dump(),
        p.recorded, p.last, p.tip, p.restart, p.running, p.ended, fmt::join(p.nodes, ","), p.left_out);
    for (const auto& [n, op] : p.operations) {
      text += fmt::format(
          "  {} {} under '{}' at {} ({}) restart {} '{}' '{}' {}:{} '{}' '{}' to '{}' {} of '{}' "
          "checkpoint {} {} {} {} dropped {}",
          n, to_string(op.what), op.parent.text(), to_micros(op.at), to_micros(op.when), op.restart, op.by,
          op.state, op.exit_code, op.exit_signal, op.nodes, op.text, op.to.text(), op.did, op.of.text(),
          op.checkpoint, op.told.to_json().dump(), changes_json(op.changes).dump(), work_json(op.work).dump(),
          op.dropped);
      for (const OpRef& rest : op.rest) text += " " + rest.text();
      text += "\n";
    }
  }
  for (const auto& [no, body] : state.opened) text += fmt::format("opened {} {}\n", no, body.dump());
  for (const auto& [key, intent] : state.intents)
    text +=
        fmt::format("intent {} {} {} [{}]\n", key, intent.verb, intent.subject, fmt::join(intent.nodes, ","));
  for (const auto& [subject, acts] : state.acts)
    for (const Act& act : acts)
      text += fmt::format("act {} {} {} '{}' {} [{}] {} {}\n", act.name, act.verb, subject, act.by,
                          to_micros(act.at), fmt::join(act.nodes, ","), act.before.dump(), act.now.dump());
  return text;
}

}  // namespace sickbay::history
