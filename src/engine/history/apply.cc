// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event adds to a history.  One function per kind, in one table.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/history/history.h"
#include "engine/history/inverses.h"
#include "model/event_kinds.h"
#include "model/slurm_state.h"

namespace sickbay::history {
namespace {

constexpr std::size_t kMostIntents = 10'000;  // a ledger that never ends one is no reason to grow

Part* part_named(State& state, std::string_view subject) {
  const auto no = parse_case_name(subject);
  const auto it = no ? state.parts.find(*no) : state.parts.end();
  return it == state.parts.end() ? nullptr : &it->second;
}

// --- operations

// What must stay where it is: others name it.
bool is_named(const State& state, const Part& part, int n) {
  const OpRef ref = part.ref(n);
  if (part.tip == n) return true;
  if (const auto leaning = state.leaning.find(part.job); leaning != state.leaning.end())
    for (const std::int64_t no : leaning->second)
      if (const auto other = state.parts.find(no); other != state.parts.end() && other->second.base == ref)
        return true;  // a replay hangs on it
  int children = 0;
  for (const auto& [number, op] : part.operations) {
    if (op.to == ref || op.of == ref) return true;
    if (op.parent == ref) ++children;
  }
  // One child can be hung under the operation before; where two meet, the branch would lose its place.
  return children > 1;
}

// Leaves out the oldest checkpoint that nothing hangs on; false where there is none.
bool make_room(const State& state, Part& part) {
  for (auto it = part.operations.begin(); it != part.operations.end(); ++it) {
    const Operation& op = it->second;
    if (op.what != What::checkpoint && op.what != What::checkpoint_failed) continue;
    if (is_named(state, part, op.n)) continue;
    const OpRef gone = part.ref(op.n), up = op.parent;
    for (auto& [n, other] : part.operations)
      if (other.parent == gone) other.parent = up;
    part.operations.erase(it);
    ++part.left_out;
    return true;
  }
  return false;
}

// Adds one, under `parent` (none: under the last that was told of the job); null where there is no room.
Operation* add(State& state, Part& part, What what, const Event& event, OpRef parent = {}) {
  if (part.operations.size() >= kMostOperations && !make_room(state, part)) {
    ++part.left_out;
    return nullptr;
  }
  Operation& op = part.operations[++part.last];
  op.n = part.last;
  op.what = what;
  op.at = op.when = event.at;
  op.restart = part.restart;
  op.parent = parent ? parent : part.tip != 0 ? part.ref(part.tip) : part.base;
  return &op;
}

Operation* add_fact(State& state, Part& part, What what, const Event& event, OpRef parent = {}) {
  Operation* op = add(state, part, what, event, parent);
  if (op != nullptr) part.tip = op->n;
  return op;
}

void set_running(State& state, Part& part, bool running) {
  part.running = running;
  if (running) {
    state.running.insert(part.case_no);
  } else {
    part.nodes.clear();
    state.running.erase(part.case_no);
  }
}

// --- the submission

void on_opened(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  // A job array has no one course; the cases of its tasks, and of a job that goes on, are not submitted.
  if (!no || event.body.has("array") || event.body.has("parent") || event.body.has("resumes")) return;
  state.opened[*no] = event.body;
}

// A replay says which operation it goes on from; it must be its own owner's.
void hang_under(const State& state, Part& part, const Json& replays) {
  const auto base = parse_op(replays["op"].as_string());
  if (!base || operation(state, *base) == nullptr) return;
  const Part* of = part_of(state, base->job);
  if (of == nullptr || of->owner.uid != part.owner.uid || of->job == part.job) return;
  part.base = *base;
  part.base_checkpoint = static_cast<int>(replays["checkpoint"].as_int());
}

void on_bound(State& state, const Event& event) {
  const auto no = parse_case_name(event.subject);
  const auto it = no ? state.opened.find(*no) : state.opened.end();
  if (it == state.opened.end()) return;
  // A case whose job was never submitted has no part: only now is it one.
  const Json body = std::move(it->second);
  state.opened.erase(it);
  Part& part = state.parts[*no];
  part.case_no = *no;
  part.job = static_cast<JobId>(event.body["job_id"].as_int());
  part.owner = Owner::from_json(body["owner"]);
  part.script_name = body["script_name"].as_string();
  part.work_dir = body["work_dir"].as_string();
  part.script_digest = body["script_digest"].as_string();
  part.environment_digest = body["environment_digest"].as_string();
  part.arguments = body["arguments"].as_strings();
  part.sbatch_options = body["sbatch_options"].as_strings();
  part.recorded = body["recorded"].as_bool();
  for (const Json& input : body["inputs"].items())
    if (const std::string& digest = input["digest"].as_string(); !digest.empty())
      part.inputs["file:" + input["path"].as_string()] = digest;
  hang_under(state, part, body["replays"]);
  if (part.base) state.leaning[part.base.job].insert(part.case_no);
  state.by_job[part.job] = part.case_no;
  if (Operation* op = add_fact(state, part, What::submitted, event)) {
    op->by = part.owner.user;
    op->text = part.script_name;
  }
}

// --- what Slurm tells of it

// What Slurm says, as operations: each change once, in the order in which it was seen.
void on_job(State& state, const Event& event) {
  Part* part = part_named(state, event.subject);
  if (part == nullptr) return;
  const JobInfo job = JobInfo::from_json(event.body["job"]);
  if (job.job_id != part->job) return;  // a run of Sickbay's own
  const auto seen = parse_job_state(job.state, job.flags);
  // Old news: the program may have told of its restart before Slurm was looked at (on_told).
  if (!seen || job.restart_cnt < part->restart) return;
  if (job.restart_cnt > part->restart) {
    part->restart = job.restart_cnt;
    part->ended = false;
    set_running(state, *part, false);
    add_fact(state, *part, What::requeued, event);
  }
  if (part->ended) return;
  if (is_terminal(*seen)) {
    part->ended = true;
    set_running(state, *part, false);
    if (Operation* op = add_fact(state, *part, What::ended, event)) {
      op->state = job.state;
      op->exit_code = job.exit_code;
      op->exit_signal = job.exit_signal;
      if (job.end != kNoTime) op->when = job.end;
    }
  } else if (seen->base == JobBase::running && !part->running) {
    set_running(state, *part, true);
    if (auto nodes = expand_hostlist(job.nodes)) part->nodes = std::move(*nodes);
    if (Operation* op = add_fact(state, *part, What::started, event)) {
      op->nodes = job.nodes;
      if (job.start != kNoTime) op->when = job.start;
    }
  }
}

void on_lost(State& state, const Event& event) {
  Part* part = part_named(state, event.subject);
  if (part == nullptr || static_cast<JobId>(event.body["job_id"].as_int()) != part->job || part->ended)
    return;
  part->ended = true;
  set_running(state, *part, false);
  add_fact(state, *part, What::lost, event);
}

// --- its checkpoints

// The checkpoint of that number; where its news was lost with its node, the last one before it that was told.
OpRef known_before(const State& state, const Part& part, int number) {
  constexpr int kFar = 16;  // (so many in a row are not lost)
  for (int n = number; n > 0 && n > number - kFar; --n)
    if (const OpRef found = find_checkpoint(state, part, n)) return found;
  return {};
}

void on_told(State& state, const Event& event) {
  Part* part = part_named(state, event.subject);
  if (part == nullptr) return;
  const Told told = Told::from_json(event.body);
  // The job knows of its own restart before Slurm has been looked at.
  if (told.restart > part->restart) {
    part->restart = told.restart;
    part->ended = false;
    set_running(state, *part, false);
    add_fact(state, *part, What::requeued, event);
  }
  const What what = told.event == ToldEvent::taken      ? What::checkpoint
                    : told.event == ToldEvent::restored ? What::restored
                                                        : What::checkpoint_failed;
  // To go on from an earlier one is a branch: what came after it is not what this run stands on.
  const OpRef from = what == What::restored ? known_before(state, *part, told.checkpoint) : OpRef{};
  // A replay's first restore is from another part: it hangs under its own start, and `to` says where it came
  // from.
  const OpRef parent = from.job == part->job ? from : OpRef{};
  if (Operation* op = add_fact(state, *part, what, event, parent)) {
    op->told = told;
    op->restart = told.restart;
    op->checkpoint = told.checkpoint;
    op->to = from;
    if (from && from.job != part->job) state.leaning[from.job].insert(part->case_no);
  }
}

// --- what people do about it

void on_rewound(State& state, const Event& event) {
  const Json& body = event.body;
  Part* part = part_named(state, event.subject);
  const auto to = parse_op(body["to"].as_string());
  if (part == nullptr || !to || to->job != part->job || !part->operations.contains(to->n)) return;
  Operation* op = add(state, *part, What::rewound, event, *to);
  if (op == nullptr) return;
  op->by = body["by"].as_string();
  op->to = *to;
  op->did = body["did"].as_string();
  op->of = parse_op(body["of"].as_string()).value_or(OpRef{});
  op->checkpoint = static_cast<int>(body["checkpoint"].as_int());
  op->work = work_from(body["work"]);
  op->changes = changes_from(body["restored"]);
  for (const std::string& rest : body["rest"].as_strings())
    if (const auto ref = parse_op(rest)) op->rest.push_back(*ref);
}

void on_repaired(State& state, const Event& event) {
  Part* part = part_named(state, event.subject);
  const auto parent = parse_op(event.body["under"].as_string());
  if (part == nullptr || !parent || parent->job != part->job || !part->operations.contains(parent->n)) return;
  if (Operation* op = add(state, *part, What::repaired, event, *parent)) {
    op->by = event.body["by"].as_string();
    op->changes = changes_from(event.body["changes"]);
    op->of = parse_op(event.body["of"].as_string()).value_or(OpRef{});
    op->checkpoint = part->operations.at(parent->n).checkpoint;
  }
}

void on_dropped(State& state, const Event& event) {
  Part* part = part_named(state, event.subject);
  const auto ref = parse_op(event.body["op"].as_string());
  if (part == nullptr || !ref || ref->job != part->job) return;
  if (const auto it = part->operations.find(ref->n); it != part->operations.end()) it->second.dropped = true;
}

// --- what Sickbay and its operators do to nodes

void remember(State& state, Act act) {
  std::deque<Act>& acts = state.acts[act.subject];
  std::erase_if(acts, [&](const Act& one) { return one.name == act.name; });
  acts.push_back(std::move(act));
  if (acts.size() > kMostActs) acts.pop_front();
}

std::vector<std::string> nodes_of(const Json& args) {
  if (const std::string& node = args["node"].as_string(); !node.empty()) return {node};
  if (args["nodes"].is_array()) return args["nodes"].as_strings();
  if (auto nodes = expand_hostlist(args["nodes"].as_string(), kMostOperations)) return std::move(*nodes);
  return {};
}

void on_intent(State& state, const Event& event) {
  const std::string& verb = event.body["verb"].as_string();
  if (!is_act(verb) || state.intents.size() >= kMostIntents) return;
  const std::vector<std::string> nodes = nodes_of(event.body["args"]);
  if (!nodes.empty()) state.intents[event.body["key"].as_string()] = {verb, event.subject, nodes};
}

// Also of the jobs that run there: what was done under them may be why they fail.
void on_done(State& state, const Event& event) {
  const std::string& key = event.body["key"].as_string();
  const auto it = state.intents.find(key);
  if (it == state.intents.end()) return;
  const State::Intent intent = std::move(it->second);
  state.intents.erase(it);
  // What failed has changed nothing that could be undone.
  if (event.kind != kDone) return;
  remember(state, {key, intent.verb, event.subject, "sickbay", event.at, intent.nodes, {}, {}});
  for (const std::int64_t no : std::vector<std::int64_t>(state.running.begin(), state.running.end())) {
    Part& part = state.parts.at(no);
    const auto here = std::ranges::find_if(intent.nodes, [&](const std::string& node) {
      return std::ranges::find(part.nodes, node) != part.nodes.end();
    });
    if (here == intent.nodes.end()) continue;
    if (Operation* op = add_fact(state, part, What::operated, event)) {
      op->state = intent.verb;
      op->nodes = *here;
      op->text = key;
    }
  }
}

// A word of an operator's, and what stood before it.
void on_asked(State& state, const Event& event) {
  std::string name = event.subject;
  // A name of its own for each thing that an operator can set: the last word on it is what an undo takes
  // back.
  Act act{.name = {},
          .verb = event.kind,
          .subject = event.subject,
          .by = event.body["by"].as_string(),
          .at = event.at,
          .nodes = {},
          .before = {},
          .now = {}};
  if (event.kind == kSparesAsked) {
    name = "spares:" + event.body["partition"].as_string();
    act.now = event.body["count"];
    if (const Act* last = act_named(state, name)) act.before = last->now;
  } else if (event.kind == kDetectAsked) {
    name = event.subject + ".detect";
    act.now = event.body["detect"];
  } else if (event.kind == kUndoDrains) {
    name = "undo-drains";
    if (auto nodes = expand_hostlist(event.body["nodes"].as_string())) act.nodes = std::move(*nodes);
  } else if (event.kind == kRecoveryOpened) {
    act.by = event.body["source"].as_string();
    act.nodes = nodes_of(event.body);
  }
  act.name = name;
  remember(state, std::move(act));
}

void on_archived(State& state, const Event& event) {
  state.acts.erase(event.subject);
  std::erase_if(state.intents, [&](const auto& entry) { return entry.second.subject == event.subject; });
  const auto no = parse_case_name(event.subject);
  if (!no) return;
  state.opened.erase(*no);
  state.running.erase(*no);
  const auto it = state.parts.find(*no);
  if (it == state.parts.end()) return;
  // What hung under it stands for itself now.
  const JobId job = it->second.job;
  state.parts.erase(it);
  if (const auto by = state.by_job.find(job); by != state.by_job.end() && by->second == *no)
    state.by_job.erase(by);
  const auto leaning = state.leaning.extract(job);
  if (leaning.empty()) return;
  for (const std::int64_t other : leaning.mapped()) {
    const auto leans = state.parts.find(other);
    if (leans == state.parts.end()) continue;
    Part& part = leans->second;
    if (part.base.job == job) {
      part.base = {};
      part.base_checkpoint = 0;
    }
    for (auto& [n, op] : part.operations) {
      if (op.parent.job == job) op.parent = {};
      if (op.what == What::restored && op.to.job == job) op.to = {};
    }
  }
}

struct Row {
  std::string_view kind;
  void (*apply)(State&, const Event&);
};
constexpr auto kKinds = std::to_array<Row>({
    {kCaseOpened, on_opened},
    {kJobBound, on_bound},
    {kJobSeen, on_job},
    {kJobLost, on_lost},
    {kCheckpointTold, on_told},
    {kRewound, on_rewound},
    {kRepaired, on_repaired},
    {kOperationDropped, on_dropped},
    {kIntent, on_intent},
    {kDone, on_done},
    {kFailed, on_done},
    {kSparesAsked, on_asked},
    {kUndoDrains, on_asked},
    {kPatrolAsked, on_asked},
    {kRecoveryOpened, on_asked},
    {kDetectAsked, on_asked},
    {kArchived, on_archived},
});

}  // namespace

void apply(State& state, const Event& event) {
  for (const Row& row : kKinds)
    if (row.kind == event.kind) row.apply(state, event);
  // A case that expired without a job.
  if (event.kind == kCaseClosed)
    if (const auto no = parse_case_name(event.subject)) state.opened.erase(*no);
}

}  // namespace sickbay::history
