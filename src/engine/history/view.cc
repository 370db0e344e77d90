// SPDX-License-Identifier: Apache-2.0
// A history as the API shows it (doc/formats/api.md, "Histories").
#include <fmt/format.h>

#include "engine/history/account.h"
#include "engine/history/history.h"
#include "engine/history/plan.h"

namespace sickbay::history {
namespace {

Json refs_json(const std::vector<OpRef>& refs) {
  Json list = Json::array();
  for (const OpRef& ref : refs) list.push(ref.text());
  return list;
}

// What every operation has, and then what its kind has.
Json operation_json(const Part& part, const Operation& op) {
  Json json = Json::object({{"op", part.ref(op.n).text()},
                            {"under", op.parent.text()},
                            {"what", std::string(to_string(op.what))},
                            {"at", to_micros(op.at)},
                            {"when", to_micros(op.when)},
                            {"restart", op.restart}});
  switch (op.what) {
    case What::submitted:
      json.set("by", op.by).set("text", op.text);
      break;
    case What::started:
      json.set("nodes", op.nodes);
      break;
    case What::ended:
      json.set("state", op.state).set("exit_code", op.exit_code).set("exit_signal", op.exit_signal);
      break;
    case What::checkpoint:
    case What::checkpoint_failed:
    case What::restored:
      json.set("checkpoint", op.told.to_json()).set("dropped", op.dropped).set("from", op.to.text());
      break;
    case What::repaired:
      json.set("by", op.by).set("changes", changes_json(op.changes)).set("again", op.of.text());
      break;
    case What::rewound:
      json.set("by", op.by)
          .set("to", op.to.text())
          .set("did", op.did)
          .set("of", op.of.text())
          .set("checkpoint", op.checkpoint)
          .set("restored", changes_json(op.changes))
          .set("rest", refs_json(op.rest));
      break;
    case What::operated:
      json.set("verb", op.state).set("nodes", op.nodes).set("act", op.text);
      break;
    case What::requeued:
    case What::lost:
      break;
  }
  return json;
}

Json part_json(const State& state, const Part& part) {
  Json operations = Json::array();
  for (const auto& [n, op] : part.operations) operations.push(operation_json(part, op));
  return Json::object({{"job", part.job},
                       {"case", case_name(part.case_no)},
                       {"under", part.base.text()},
                       {"checkpoint", part.base_checkpoint},
                       {"state", part.ended     ? "ended"
                                 : part.running ? "running"
                                                : "waiting"},
                       {"restart", part.restart},
                       {"recorded", part.recorded},
                       {"work_dir", part.work_dir},
                       {"script_name", part.script_name},
                       {"script_digest", part.script_digest},
                       {"arguments", part.arguments},
                       {"sbatch_options", part.sbatch_options},
                       {"environment_digest", part.environment_digest},
                       {"inputs", work_json(part.inputs)},
                       {"left_out", part.left_out},
                       {"operations", std::move(operations)},
                       {"account", account_of(state, part).to_json()}});
}

// Where a replay would begin: what one needs to know who submits it.
Json position_json(const State& state, const Part& part) {
  const OpRef position = position_of(state, part);
  const Operation* op = operation(state, position);
  if (op == nullptr) return {};
  Json replays = Json::array();
  for (const Part* one : tree_of(state, part))
    // From one position there is one replay (doc/design/undo.md): who asks for another is told of this one.
    if (one->base == position) replays.push(one->job);
  const Made made = made_at(state, position);
  Json rest = Json::array();
  for (const OpRef& ref : rest_of(state, position))
    if (const Operation* repair = operation(state, ref))
      rest.push(Json::object({{"op", ref.text()}, {"changes", changes_json(repair->changes)}}));
  // The folder of the checkpoint that it goes on from.
  const Operation* checkpoint = nullptr;
  if (op->checkpoint != 0) checkpoint = operation(state, find_checkpoint(state, part, op->checkpoint));
  return Json::object({{"op", position.text()},
                       {"checkpoint", op->checkpoint},
                       {"folder", checkpoint == nullptr ? std::string() : checkpoint->told.folder},
                       {"source", made.source == 0 ? std::string() : case_name(made.source)},
                       {"work", work_json(made.work)},
                       {"rest", std::move(rest)},
                       {"replays", std::move(replays)}});
}

}  // namespace

Json history_view(const State& state, const Part& part) {
  Json parts = Json::array();
  for (const Part* one : tree_of(state, part)) parts.push(part_json(state, *one));
  return Json::object({{"job", part.job},
                       {"case", case_name(part.case_no)},
                       {"owner", part.owner.user},
                       {"parts", std::move(parts)},
                       {"position", position_json(state, part)}});
}

}  // namespace sickbay::history
