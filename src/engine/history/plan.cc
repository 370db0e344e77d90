// SPDX-License-Identifier: Apache-2.0
#include "engine/history/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::history {
namespace {

constexpr auto kAsks = std::to_array<std::string_view>({"rewind", "drop", "edit", "insert"});
static_assert(kAsks.size() == static_cast<std::size_t>(Ask::insert) + 1);

constexpr std::string_view kHappened = "what Slurm did has happened: it has no inverse; rewind to before it";
constexpr std::string_view kImage =
    "an image brings back exactly what was, and cannot be changed; rewind to it, and repair";
constexpr std::string_view kOperators =
    "it was done to the cluster, which is not yours: an operator may undo it (sickbay undo --act)";

constexpr auto kSelective = std::to_array<SelectiveRow>({
    {What::submitted, "nothing would be left of the job; scancel ends it", "",
     "nothing is before a submission; edit it"},
    {What::started, kHappened, kHappened, ""},
    {What::requeued, kHappened, kHappened, ""},
    {What::ended, kHappened, kHappened, ""},
    {What::lost, kHappened, kHappened, ""},
    {What::checkpoint, "", kImage, ""},
    {What::checkpoint_failed, "there is nothing to drop: no checkpoint came of it",
     "there is nothing to edit: no checkpoint came of it", ""},
    {What::restored, "that the job went on from a checkpoint has happened; rewind to another one",
     "that the job went on from a checkpoint has happened; rewind to another one", ""},
    {What::repaired, "", "", ""},
    {What::rewound, "", "rewind to another operation", ""},
    {What::operated, kOperators, kOperators, ""},
});
static_assert(kSelective.size() == kWhats);
static_assert([] {
  for (std::size_t i = 0; i < kSelective.size(); ++i)
    if (kSelective[i].what != static_cast<What>(i)) return false;
  return true;
}());

Error no_operation(std::string_view word) {
  return Error(ErrorCode::not_found, "no operation " + quote_for_message(word) + " in this history")
      .remedied_by("'sickbay history JOB' shows them: say 17.4, the number of a checkpoint, or start");
}

// Of the whole tree: "start" of a replay is the start of the job that it replays.
OpRef first_of(const State& state, const Part& part) {
  const Part* root = tree_of(state, part).front();
  return root->operations.empty() ? OpRef{} : root->ref(root->operations.begin()->first);
}

Result<OpRef> find(const State& state, const Part& part, const std::string& word, bool checkpoints) {
  if (word == "start") return first_of(state, part);
  if (const auto ref = parse_op(word)) {
    const std::vector<const Part*> tree = tree_of(state, part);
    const bool here = std::ranges::any_of(tree, [&](const Part* one) { return one->job == ref->job; });
    if (!here || operation(state, *ref) == nullptr) return fail(no_operation(word));
    return *ref;
  }
  const auto number = to_integer(word);
  if (!number || *number <= 0 || *number > 1'000'000'000) return fail(no_operation(word));
  const int n = static_cast<int>(*number);
  // A bare number is a checkpoint to who rewinds, and an operation of this job to who drops or edits.
  if (!checkpoints) {
    if (!part.operations.contains(n)) return fail(no_operation(word));
    return part.ref(n);
  }
  const OpRef found = find_checkpoint(state, part, n);
  if (!found)
    return fail(Error(ErrorCode::not_found, fmt::format("no checkpoint {} in this history", n))
                    .remedied_by("'sickbay checkpoints JOB' lists them"));
  return found;
}

// The last checkpoint on the way, up to and with `path[last]`; or the beginning.
OpRef checkpoint_on(const State& state, const std::vector<OpRef>& path, std::size_t last) {
  for (std::size_t i = last + 1; i-- > 0;) {
    const Operation& op = *operation(state, path[i]);
    if (op.what == What::checkpoint && !op.dropped) return path[i];
    // What a restored run stands on is the checkpoint that it was restored from.
    if (op.what == What::restored && op.to) return op.to;
  }
  return {};
}

// Walks a path and gives what a replay from its end is made of, as if `without` had not been.
Made made_on(const State& state, const std::vector<OpRef>& path, const OpRef& without = {}) {
  Made made;
  bool passed = false;
  for (const OpRef& ref : path) {
    const Operation& op = *operation(state, ref);
    if (ref == without) {
      passed = true;
      continue;
    }
    switch (op.what) {
      case What::submitted: {
        const Part& part = *part_of(state, ref.job);
        // A replay is made of what the way there gives; that it stands on its own where the way is archived.
        if (part.base) break;
        made.work = part.inputs;
        made.source = part.case_no;
        break;
      }
      case What::rewound:
        // It says itself what it went back to; that holds what is to be left out, where that came before.
        if (!passed) made.work = op.work;
        break;
      case What::repaired:
        for (const Change& change : op.changes) made.work[change.key] = change.to;
        break;
      default:
        break;
    }
  }
  return made;
}

// Where the job stands, for who asks about `part`: where its tree was gone back to last, unless it is the
// replay of that.
OpRef standing(const State& state, const Part& part) {
  const OpRef position = position_of(state, part);
  const OpRef tip = part.ref(part.tip);
  if (!position) return tip;
  const std::vector<OpRef> path = path_to(state, tip);
  return std::ranges::find(path, position) != path.end() ? tip : position;
}

Plan go_on_from(const State& state, const OpRef& checkpoint, const OpRef& start) {
  Plan plan;
  plan.to = checkpoint ? checkpoint : start;
  if (const Operation* op = checkpoint ? operation(state, checkpoint) : nullptr) {
    plan.checkpoint = op->told.checkpoint;
    plan.folder = op->told.folder;
  }
  return plan;
}

Result<Plan> plan_rewind(const State& state, const Part& part, const OpRef& to) {
  const std::vector<OpRef> path = path_to(state, to);
  Plan plan = go_on_from(state, checkpoint_on(state, path, path.size() - 1), first_of(state, part));
  plan.to = to;  // the branch begins at what was named, also where the images are older
  const Made made = made_on(state, path);
  plan.work = made.work;
  plan.source = made.source;
  return plan;
}

// Which repair after `path[at]` stands on the same thing as this one.
OpRef stands_on(const State& state, const std::vector<OpRef>& path, std::size_t at, std::string& key) {
  for (std::size_t i = at + 1; i < path.size(); ++i) {
    const Operation& later = *operation(state, path[i]);
    if (later.what != What::repaired) continue;
    for (const Change& change : operation(state, path[at])->changes)
      for (const Change& other : later.changes)
        if (other.key == change.key) {
          key = change.key;
          return path[i];
        }
  }
  return {};
}

}  // namespace

std::string_view to_string(Ask ask) { return kAsks[static_cast<std::size_t>(ask)]; }

std::optional<Ask> ask_from(std::string_view word) {
  const auto ask = std::ranges::find(kAsks, word);
  return ask == kAsks.end() ? std::nullopt : std::optional(static_cast<Ask>(ask - kAsks.begin()));
}

const SelectiveRow& selective_row(What what) { return kSelective[static_cast<std::size_t>(what)]; }

Made made_at(const State& state, const OpRef& ref) { return made_on(state, path_to(state, ref)); }

std::vector<OpRef> rest_of(const State& state, const OpRef& ref) {
  // Backwards to the last rewind: what it left to do again, without what was done since.
  std::vector<OpRef> done;
  const std::vector<OpRef> path = path_to(state, ref);
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    const Operation& op = *operation(state, *at);
    if (op.what == What::rewound) {
      std::vector<OpRef> rest = op.rest;
      std::erase_if(rest, [&](const OpRef& one) { return std::ranges::find(done, one) != done.end(); });
      return rest;
    }
    if (op.what == What::repaired && op.of) done.push_back(op.of);
  }
  return {};
}

// Rewind is free to go anywhere in the tree.  The selective ways change the way to where the job stands now,
// so the operation must be on it, its kind must allow it (kSelective), and nothing later may stand on it.
Result<Plan> make_plan(const State& state, const Part& part, const Wanted& wanted) {
  const auto found = find(state, part, wanted.op, wanted.ask == Ask::rewind);
  if (!found) return fail(found.error());
  const OpRef ref = *found;
  const Operation* op = operation(state, ref);
  if (op == nullptr) return fail(no_operation(wanted.op));
  if (wanted.ask == Ask::rewind) return plan_rewind(state, part, ref);

  const SelectiveRow& row = selective_row(op->what);
  const std::string_view why_not = wanted.ask == Ask::drop   ? row.drop
                                   : wanted.ask == Ask::edit ? row.edit
                                                             : row.insert;
  const auto refuse = [&](std::string_view why) {
    return fail(
        Error(ErrorCode::conflict,
              wanted.ask == Ask::insert
                  ? fmt::format("nothing can be inserted before {} ({})", ref.text(), to_string(op->what))
                  : fmt::format("{} ({}) cannot be {}", ref.text(), to_string(op->what),
                                wanted.ask == Ask::drop ? "dropped" : "edited"))
            .because(std::string(why)));
  };
  if (!why_not.empty()) return refuse(why_not);

  // The way to where the job stands now, which the operation must be on.
  std::vector<OpRef> path = path_to(state, standing(state, part));
  auto place = std::ranges::find(path, ref);
  if (place == path.end()) {  // another job's branch, or one that was left
    path = path_to(state, part.ref(part.tip));
    place = std::ranges::find(path, ref);
  }
  // Crossed out, on whatever branch it is: nothing is gone back to, so the job need not stand on it.
  if (wanted.ask == Ask::drop && op->what == What::checkpoint) {
    Plan plan;
    plan.drops = ref;
    return plan;
  }
  if (place == path.end())
    return refuse(fmt::format(
        "job {} does not stand on it: it is on another branch; name the job of that one", part.job));
  const auto at = static_cast<std::size_t>(place - path.begin());
  if (op->what == What::submitted) return plan_rewind(state, part, ref);  // edit: from the very beginning
  if (wanted.ask == Ask::drop && op->what == What::rewound) {
    // To take back going back: on from where the tree stood before it.
    const Part* of = part_of(state, ref.job);
    OpRef before = of->ref(of->tip);
    for (const auto& [n, other] : of->operations)
      if (n < ref.n && (other.what == What::rewound || other.what == What::repaired)) before = of->ref(n);
    return plan_rewind(state, part, before);
  }
  // Without the operation a later change of the same thing would begin from a content that never was.
  if (wanted.ask != Ask::insert) {
    std::string key;
    if (const OpRef later = stands_on(state, path, at, key))
      return refuse(
          fmt::format("{} has changed {} again and stands on it: drop that one first", later.text(), key));
  }
  // What was computed after the operation was computed with it.  So the images are those before it.
  const std::size_t before = at == 0 ? 0 : at - 1;
  Plan plan = go_on_from(state, checkpoint_on(state, path, before), first_of(state, part));
  if (wanted.ask == Ask::insert) {
    const std::vector<OpRef> way(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(at));
    const Made made = made_on(state, way);
    plan.work = made.work;
    plan.source = made.source;
    for (std::size_t i = at; i < path.size(); ++i)
      if (operation(state, path[i])->what == What::repaired) plan.rest.push_back(path[i]);
    return plan;
  }
  const Made made = made_on(state, path, ref);
  plan.work = made.work;
  plan.source = made.source;
  return plan;
}

Json Plan::to_json() const {
  Json again = Json::array();
  for (const OpRef& ref : rest) again.push(ref.text());
  return Json::object({{"to", to.text()},
                       {"checkpoint", checkpoint},
                       {"folder", folder},
                       {"source", source == 0 ? std::string() : case_name(source)},
                       {"work", work_json(work)},
                       {"rest", std::move(again)},
                       {"drops", drops.text()}});
}

}  // namespace sickbay::history
