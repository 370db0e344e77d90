// SPDX-License-Identifier: Apache-2.0
#include "service/agent_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spelling.h"
#include "base/state_archive.h"
#include "base/text.h"
#include "model/diagnosis_mode.h"
#include "model/finding_action.h"
#include "model/ids.h"
#include "service/active_leave.h"

namespace sickbay {
namespace {

constexpr std::string_view kDiagnosed = "diagnosed";
constexpr std::string_view kActEnded = "act_ended";
constexpr std::chrono::seconds kStateAge{60};  // how old a node's state may be that an agent is told
constexpr std::chrono::seconds kSweep{60};
constexpr std::chrono::seconds kAskerSweep{5};  // while somebody should be waiting for an order
constexpr std::size_t kTasksKept = 200;         // with their results
constexpr std::size_t kResultBytes = 1 << 20;   // kept of one task
constexpr std::size_t kMostSickText = 500;      // of what was found: it goes into a reason of Slurm's

// What whoever had the node examined is told: whether it passed, whether it was examined at all, and what
// was found for which a rule takes the node out.
Json examined(const std::string& outcome, const Json& summary) {
  Json told = Json::object({{"passed", outcome == "passed"},
                            {"whole", outcome == "passed" || outcome == "fault"},
                            {"faults", summary["faults"]},
                            {"unknown", summary["unknown"]}});
  for (const char* name : {"drains", "sick"})
    if (summary.has(name)) told.set(name, summary[name]);
  return told;
}

}  // namespace

struct AgentTasks::Task {
  /// What a replay brings back, for base/state_archive.h: not who waits, nor what is sent.
  template <class A>
  void walk(A& archive) {
    archive(id, node, mode, by, repair, attended, order, key, wanted, ended, outcome, summary);
  }
  std::int64_t id = 0;
  std::string node, mode, by;
  bool repair = false, attended = false;
  TimePoint asker_seen = kNoTime;  ///< of one that is attended: when somebody waited for it last
  bool tell_end = false;           ///< its agent has it, and is to leave it
  Json order;                      ///< of an act; null for a diagnosis
  std::string key;                 ///< of the command that wants it
  TimePoint wanted = kNoTime, given = kNoTime, ended = kNoTime;
  std::string outcome;  ///< "" while it is not over
  Json result;          ///< what the agent sent; null after a restart
  Json summary;  ///< {task, outcome, findings, faults, unknown}; of an act {task, outcome, answer, error}
  std::list<Poll> polls;  ///< of people who wait for its end

  bool is_act() const { return order.is_object(); }
  /// It ended without its agent: none took it in time, or nobody waits for it any more.
  bool is_given_up() const { return outcome == "expired" || outcome == "abandoned"; }
  TimePoint due() const {
    if (is_act()) return given == kNoTime ? wanted + kActLife : given + kActRun;
    return given == kNoTime ? wanted + kLife : given + kRun;
  }
  Json json() const {
    const char* state = !outcome.empty() ? "over" : given != kNoTime ? "running" : "waiting";
    return Json::object({{"task", id},
                         {"node", node},
                         {"mode", mode},
                         {"by", by},
                         {"state", state},
                         {"wanted", to_micros(wanted)},
                         {"given", to_micros(given)},
                         {"ended", to_micros(ended)},
                         {"outcome", outcome},
                         {"summary", summary},
                         {"result", result}});
  }
};

AgentTasks::AgentTasks(Loop& loop, Controller& controller, std::function<void(const std::string&)> heard,
                       std::function<Json(const std::string&)> view)
    : loop_(loop), controller_(controller), heard_(std::move(heard)), view_(std::move(view)) {
  sweep_in(Micros(0));  // after the replay, which is no loop's turn
}
AgentTasks::~AgentTasks() {
  loop_.cancel(sweep_);
  for (auto& [node, poll] : polls_) loop_.cancel(poll.timer);
  for (auto& [id, task] : tasks_)
    for (const Poll& poll : task.polls) loop_.cancel(poll.timer);
}

void AgentTasks::apply(const Event& event) {
  if (event.kind == kDiagnoseWanted || event.kind == kActWanted) begin_task(event);
  if (event.kind == kDiagnosed || event.kind == kActEnded) end_task(event);
}

void AgentTasks::save(StateWriter& out) const { out(tasks_, last_); }

void AgentTasks::restore(StateReader& in) {
  in(tasks_, last_);
  bool attended = false;
  for (auto& [id, task] : tasks_) {
    task.asker_seen = std::max(task.wanted, loop_.now());
    attended = attended || (task.attended && task.outcome.empty());
  }
  sweep_in(attended ? kAskerSweep : kSweep);
}

void AgentTasks::begin_task(const Event& event) {
  const std::string node(node_of_subject(event.subject));
  Task task;
  task.id = event.body["task"].as_int();
  task.node = node;
  task.mode = event.body["mode"].as_string();
  task.repair = event.body["repair"].as_bool();
  task.attended = event.body["attended"].as_bool();
  task.asker_seen = std::max(event.at, loop_.now());
  task.by = event.body["by"].as_string();
  if (event.kind == kActWanted) {
    task.order = event.body["order"];
    task.key = event.body["key"].as_string();
  }
  task.wanted = event.at;
  last_ = std::max(last_, task.id);
  tasks_.emplace(task.id, std::move(task));
  while (tasks_.size() > kTasksKept && !tasks_.begin()->second.outcome.empty()) tasks_.erase(tasks_.begin());
  answer_poll(node);
  sweep_in(event.body["attended"].as_bool() ? kAskerSweep : kSweep);
}

// At the latest in `time`.
void AgentTasks::sweep_in(Micros time) {
  if (sweep_ != 0 && sweep_at_ <= loop_.now() + time) return;
  loop_.cancel(sweep_);
  sweep_at_ = loop_.now() + time;
  sweep_ = loop_.at(sweep_at_, [this] { expire(); });
}

void AgentTasks::end_task(const Event& event) {
  const auto it = tasks_.find(event.body["task"].as_int());
  if (it == tasks_.end() || !it->second.outcome.empty()) return;
  Task& task = it->second;
  task.outcome = event.body["outcome"].as_string();
  task.ended = event.at;
  task.summary = event.body;
  if (task.given != kNoTime && task.is_given_up()) {
    task.tell_end = true;
    answer_poll(task.node);
  }
  for (const Poll& poll : std::exchange(task.polls, {})) {
    loop_.cancel(poll.timer);
    answer_task(poll, task);
  }
  tell_watchers(task);
}

void AgentTasks::tell_watchers(const Task& task) {
  const auto [first, last] = watchers_.equal_range(task.id);
  std::vector<Done<Json>> watching;
  for (auto watcher = first; watcher != last; ++watcher) watching.push_back(std::move(watcher->second));
  watchers_.erase(first, last);
  const Json summary = task.summary;
  for (const auto& watcher : watching) {
    if (task.is_given_up())
      watcher(
          fail(Error(ErrorCode::timed_out, fmt::format("no agent on {} has done the {}", task.node,
                                                       task.is_act() ? "restart or look" : "diagnosis"))));
    else if (!task.is_act())
      watcher(examined(task.outcome, summary));
    else if (task.outcome == "done")
      watcher(summary["answer"]);
    else
      watcher(fail(Error(ErrorCode::conflict, summary["error"]["what"].as_string())
                       .because(summary["error"]["cause"].as_string())));
  }
}

// --- what agents say and are told

void AgentTasks::take_results(const std::string& node, const Json& body, Done<Json> done) {
  heard_(node);
  const auto it = tasks_.find(body["task"].as_int());
  if (it == tasks_.end() || it->second.node != node)
    return done(fail(ErrorCode::not_found, fmt::format("{} has no task {}", node, body["task"].as_int())));
  Task& task = it->second;
  if (!task.outcome.empty()) return done(Json::object({{"task", task.id}}));  // said before
  if (task.is_act()) {
    Json ended = Json::object({{"task", task.id},
                               {"outcome", body["whole"].as_bool() ? "done" : "failed"},
                               {"answer", body["answer"]},
                               {"error", body["error"]}});
    return controller_.take({new_event(node_subject(node), kActEnded, std::move(ended))},
                            Json::object({{"task", task.id}}), std::move(done));
  }
  std::int64_t findings = 0, faults = 0, unknown = 0, drains = 0;
  std::string sick;  // the first that takes the node out
  for (const Json& run : body["runs"].items())
    for (const Json& finding : run["findings"].items()) {
      ++findings;
      faults += finding["result"].as_string() == "fault";
      unknown += finding["result"].as_string() == "unknown";
      if (finding["result"].as_string() != "fault" || !takes_node_out(finding["action"].as_string()))
        continue;
      if (++drains == 1)
        sick = fmt::format("{}/{}: {}", finding["specification"].as_string(), finding["rule"].as_string(),
                           whole_characters(finding["text"].as_string(), kMostSickText));
    }
  const bool whole = body["whole"].as_bool();
  task.result = body;
  for (const char* part : {"productions", "operations", "values"}) {  // the longest and least missed first
    if (task.result.dump().size() <= kResultBytes) break;
    Json runs = Json::array();
    for (Json run : task.result["runs"].items()) runs.push(std::move(run.set(part, Json())));
    task.result.set("runs", std::move(runs));
  }
  Json ended = Json::object({{"task", task.id},
                             {"mode", task.mode},
                             {"outcome", !whole       ? "failed"
                                         : faults > 0 ? "fault"
                                                      : "passed"},
                             {"findings", findings},
                             {"faults", faults},
                             {"unknown", unknown},
                             {"error", body["error"]}});
  if (drains > 0) ended.set("drains", drains).set("sick", sick);
  controller_.take({new_event(node_subject(node), kDiagnosed, std::move(ended))},
                   Json::object({{"task", task.id}}), std::move(done));
}

Json AgentTasks::tasks_after(const std::string& node, const Poll& poll) {
  Json items = Json::array();
  std::int64_t next = poll.after;
  for (auto it = tasks_.upper_bound(poll.after); it != tasks_.end(); ++it) {
    Task& task = it->second;
    if (task.node != node || !task.outcome.empty()) continue;
    if (left_alone(task)) continue;  // the next sweep ends it
    if (task.given == kNoTime) task.given = loop_.now();
    next = task.id;
    if (task.is_act()) {
      items.push(Json::object({{"task", task.id}, {"kind", "component"}, {"order", task.order}}));
      continue;
    }
    Json item =
        Json::object({{"task", task.id}, {"kind", "diagnose"}, {"mode", task.mode}, {"repair", task.repair}});
    // Who looks on is not put at the end of a line of a thousand nodes.  (The quick mode needs no leave.)
    if (active_ != nullptr && poll.has.active && task.attended && depth_of_mode(task.mode) > 0) {
      active_->lend(node);
      item.set("leave", true);
    }
    items.push(std::move(item));
  }
  Json ended = Json::array();
  for (auto& [id, task] : tasks_)
    if (task.node == node && std::exchange(task.tell_end, false)) ended.push(id);
  Json answer = Json::object({{"items", std::move(items)}, {"next", next}});
  if (ended.size() > 0) answer.set("ended", std::move(ended));
  return answer;
}

// Whether whoever ordered it and meant to wait is gone.
bool AgentTasks::left_alone(Task& task) const {
  if (!task.attended) return false;
  if (std::ranges::any_of(task.polls, [](const Poll& poll) { return poll.reply->is_open(); }))
    task.asker_seen = loop_.now();
  return loop_.now() >= task.asker_seen + kAskerAway;
}

bool AgentTasks::has_tasks(const std::string& node, std::int64_t after) const {
  return std::ranges::any_of(tasks_, [&](const auto& entry) {
    const Task& task = entry.second;
    return task.node == node && (task.tell_end || (entry.first > after && task.outcome.empty()));
  });
}

void AgentTasks::wake(const std::string& node) {
  const auto it = polls_.find(node);
  if (it != polls_.end() && (has_leave_to_tell(node, it->second) || news(node, it->second.has).size() > 0))
    answer_poll(node);
}

bool AgentTasks::has_leave_to_tell(const std::string& node, const Poll& poll) const {
  return active_ != nullptr && poll.has.active && active_->is_news(node);
}

// What it does not have yet: its groups, the jobs whose ranks it looks at, whether its node is leaving, a
// helper that it is to run.
Json AgentTasks::news(const std::string& node, Has has) const {
  Json members = Json::object();
  if (swim_ && has.swim)
    if (Json groups = swim_(node, *has.swim); !groups.is_null()) members.set("swim", std::move(groups));
  if (ranks_ && has.ranks)
    if (Json jobs = ranks_(node, *has.ranks); !jobs.is_null()) members.set("ranks", std::move(jobs));
  if (peers_ && has.peer)
    if (Json serve = peers_(node, *has.peer); !serve.is_null()) members.set("serve", std::move(serve));
  if (leaving_ && has.leaving)
    if (Json since = leaving_(node, *has.leaving); !since.is_null()) members.set("leaving", std::move(since));
  return members;
}

void AgentTasks::give(const std::string& node, std::int64_t after, Has has,
                      std::shared_ptr<HttpReply> reply) {
  heard_(node);
  answer_poll(node);  // a second poll ends the first: its agent has died, or its connection
  if (active_ != nullptr) active_->hear(node, has.active);
  Poll& poll = polls_[node];
  poll.reply = std::move(reply);
  poll.after = after;
  poll.has = has;
  controller_.watch().with_nodes(kStateAge, [](Status) {});  // so that the answer can tell the node's state
  if (has_tasks(node, after)) return answer_poll(node);
  if (has_leave_to_tell(node, poll) || news(node, has).size() > 0) return answer_poll(node);
  poll.timer = loop_.at(loop_.now() + kLongPoll, [this, node] {
    heard_(node);  // it waited all the time
    answer_poll(node);
  });
}

void AgentTasks::answer_poll(const std::string& node) {
  const auto it = polls_.find(node);
  if (it == polls_.end()) return;
  const Poll poll = std::move(it->second);
  polls_.erase(it);
  loop_.cancel(poll.timer);
  if (!poll.reply->is_open()) return;  // its tasks wait for the next poll
  Json answer = tasks_after(node, poll);
  const auto info = controller_.watch().nodes().find(node);
  if (info != controller_.watch().nodes().end())
    answer.set("slurm", Json::object({{"state", info->second.state}, {"flags", info->second.flags}}));
  if (active_ != nullptr && poll.has.active) answer.set("active", active_->answer(node));
  const Json members = news(node, poll.has);
  for (const auto& [name, value] : members.members()) answer.set(name, value);
  poll.reply->respond(json_response(200, answer));
}

void AgentTasks::order(const std::string& node, const Json& wish, const std::string& by, Mark mark,
                       Done<Json> done) {
  const std::string mode(wish["mode"].as_string_or("quick"));
  if (!is_diagnosis_mode(mode))
    return done(fail(Error(ErrorCode::bad_input, "no mode " + quote_for_message(mode))
                         .remedied_by("choose quick, deep or extended")));
  with_node(
      node, [this, node, mode, by, repair = wish["repair"].as_bool(), attended = wish["attended"].as_bool(),
             mark = std::move(mark), done = std::move(done)](Status there) {
        if (!there) return done(fail(std::move(there.error())));
        // A number whose order is refused stays unused.
        std::vector<Event> events{
            new_event(node_subject(node), kDiagnoseWanted,
                      Json::object({{"task", ++last_}, {"mode", mode}, {"repair", repair}, {"by", by}}))};
        if (attended) events.front().body.set("attended", true);
        const Json answer = Json::object({{"task", last_}});
        if (!mark || mark(events, answer)) controller_.take(std::move(events), answer, done);
      });
}

// `then` hears whether Slurm has the node; where nobody can say, why.
void AgentTasks::with_node(const std::string& node, std::function<void(Status)> then) {
  controller_.watch().with_nodes(kStateAge, lifetime_.guard([this, node,
                                                             then = std::move(then)](Status looked) {
    if (controller_.watch().nodes().contains(node)) return then({});
    if (!looked) return then(fail(looked.error()));
    std::vector<std::string> names;
    for (const auto& [name, info] : controller_.watch().nodes()) names.push_back(name);
    const std::string near = did_you_mean(node, names);
    then(fail(Error(ErrorCode::not_found, "no node " + quote_for_message(node))
                  .remedied_by(near.empty() ? "'sickbay nodes' lists them" : "did you mean " + near + "?")));
  }));
}

void AgentTasks::act(const std::string& node, const std::string& key, const Json& order, Done<Json> done) {
  const auto before =
      std::ranges::find_if(tasks_, [&](const auto& entry) { return entry.second.key == key; });
  if (!key.empty() && before != tasks_.end()) {
    watchers_.emplace(before->first, std::move(done));
    if (!before->second.outcome.empty())
      loop_.post(lifetime_.guard([this, id = before->first] {
        if (const auto it = tasks_.find(id); it != tasks_.end()) tell_watchers(it->second);
      }));
    return;
  }
  with_node(node, [this, node, key, order, done = std::move(done)](Status there) {
    if (!there) return done(fail(std::move(there.error())));
    const std::int64_t task = ++last_;
    watchers_.emplace(task, done);
    controller_.take({new_event(node_subject(node), kActWanted,
                                Json::object({{"task", task}, {"key", key}, {"order", order}}))},
                     lifetime_.guard([this, task](Status kept) {
                       if (kept) return;
                       const auto watcher = watchers_.extract(task);
                       if (!watcher.empty()) watcher.mapped()(fail(std::move(kept.error())));
                     }));
  });
}

void AgentTasks::examine(const std::string& node, const std::string& mode, Done<Json> done) {
  order(node, Json::object({{"mode", mode}}), "sickbayd", nullptr,
        lifetime_.guard([this, done](Result<Json> ordered) {
          if (!ordered) return done(fail(std::move(ordered.error())));
          watchers_.emplace((*ordered)["task"].as_int(), done);
        }));
}

void AgentTasks::answer_task(const Poll& poll, const Task& task) {
  Json answer = task.json();
  answer.set("agent", view_(task.node));
  poll.reply->respond(json_response(200, answer));
}

void AgentTasks::show(std::int64_t id, std::shared_ptr<HttpReply> reply) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end())
    return reply->respond(error_response(Error(ErrorCode::not_found, fmt::format("no task {}", id))
                                             .because(fmt::format("the last {} are kept", kTasksKept))));
  Task& task = it->second;
  task.asker_seen = loop_.now();
  Poll poll{std::move(reply), 0, 0, {}};
  if (!task.outcome.empty()) return answer_task(poll, task);
  const auto place = task.polls.insert(task.polls.end(), std::move(poll));
  place->timer = loop_.at(loop_.now() + kLongPoll, [this, id, place] {
    Task& still = tasks_.at(id);  // one that is not over is never dropped
    const Poll due = std::move(*place);
    still.polls.erase(place);
    still.asker_seen = loop_.now();
    answer_task(due, still);
  });
}

void AgentTasks::expire() {
  sweep_ = 0;
  bool open = false, attended = false;
  std::vector<Event> events;
  for (auto& [id, task] : tasks_) {
    if (!task.outcome.empty()) continue;
    open = true;
    attended = attended || task.attended;
    const bool alone = left_alone(task);
    if (loop_.now() < task.due() && !alone) continue;
    Json body = Json::object({{"task", id}, {"outcome", alone ? "abandoned" : "expired"}});
    if (!task.is_act()) body.set("mode", task.mode);
    events.push_back(
        new_event(node_subject(task.node), task.is_act() ? kActEnded : kDiagnosed, std::move(body)));
  }
  if (!events.empty()) controller_.take(std::move(events));
  if (open) sweep_in(attended ? kAskerSweep : kSweep);
}

}  // namespace sickbay
