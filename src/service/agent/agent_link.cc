// SPDX-License-Identifier: Apache-2.0
// The agent's way to sickbayd: hello, then one long poll after another; findings and results as they come.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/slurm_state.h"
#include "service/agent/agent.h"

namespace sickbay::agent {
namespace {

constexpr std::chrono::seconds kPollLimit{45};  // sickbayd answers within 30 s
constexpr std::chrono::seconds kPostLimit{20};
constexpr std::chrono::seconds kSilentLimit{4};
constexpr std::chrono::seconds kFirstPause{2}, kLongestPause{60};
constexpr std::size_t kAtOnce = 200;

}  // namespace

HttpQuestion Agent::question(const std::string& path, Json body) const {
  HttpQuestion asked;
  asked.method = "POST";
  asked.target = path;
  body.set("node", options_.node);
  body.set("boot_id", options_.boot_id);
  body.set("now", to_micros(loop_.now()));
  asked.body = body.dump();
  asked.time_limit = kPostLimit;
  return asked;
}

// Doubles with each failure, and differs from node to node.
void Agent::again_later(std::function<void()> what, int& failures) {
  const Micros pause = std::min<Micros>(kLongestPause, Micros(kFirstPause) * (1 << std::min(failures, 10)));
  ++failures;
  later(pause + share_of(options_.node + std::to_string(failures), pause / 2), std::move(what));
}

// The answer comes to nobody where the agent is no more.
void Agent::ask(HttpQuestion asked, Done<Json> done) {
  sickbayd_->ask(std::move(asked), lifetime_.guard(std::move(done)));
}

void Agent::hello() {
  Json digests = Json::object();
  for (const auto& rules : rules_)
    digests.set(rules->specification.name, diagnose::digest(rules->specification));
  Json body = Json::object(
      {{"version", options_.version}, {"digests", digests}, {"mode", mode_}, {"period", period_}});
  (void)facts_are_news();
  if (facts_.size() > 0) body.set("facts", facts_);
  if (component_restarts_) body.set("components", components_view(component_restarts_->components()));
  ask(question("/v1/agent/hello", body), [this, told = facts_](Result<Json> answer) {
    if (!answer) {
      if (poll_failures_ == 0)
        say(fmt::format("event=sickbayd_away what={} cause={}", Json(answer.error().line()).dump(),
                        Json(answer.error().cause).dump()));
      return again_later([this] { hello(); }, poll_failures_);
    }
    say("event=sickbayd_here node=" + options_.node);
    poll_failures_ = 0;
    greeted_mode_ = mode_ + "/" + period_;
    told_facts_ = told;
    take_standing((*answer)["standing"]);
    deliver();
    poll();
  });
}

bool Agent::facts_are_news() {
  if (!options_.facts) return false;
  if (facts_at_ == kNoTime || loop_.now() >= facts_at_ + options_.facts_every) {
    facts_ = options_.facts();
    facts_at_ = loop_.now();
  }
  return !(facts_ == told_facts_);
}

void Agent::poll() {
  HttpQuestion asked;
  asked.target = fmt::format("/v1/agent/tasks?node={}&after={}", options_.node, last_task_);
  if (neighbours_) asked.target += fmt::format("&swim={}", neighbours_->version());
  if (rank_looks_) asked.target += fmt::format("&ranks={}", rank_looks_->version());
  if (options_.show_leaving) asked.target += fmt::format("&leaving={}", leaving_ ? to_micros(*leaving_) : 0);
  if (helper_) asked.target += fmt::format("&testing={}&serving={}", peered_.session(), helper_->session());
  const ActiveWord said = active_word();
  asked.target += fmt::format("&active={}", to_string(said));
  asked.time_limit = kPollLimit;
  ask(std::move(asked), [this, said, at = loop_.now()](Result<Json> answer) {
    // Whatever it was, sickbayd may have been another one meanwhile: greet it again.
    if (!answer) {
      // Nobody could say here that the test is over.
      if (helper_) helper_->end("sickbayd is away");
      return again_later([this] { hello(); }, poll_failures_);
    }
    poll_failures_ = 0;
    take_tasks(*answer, said, at);
    deliver();
    if (greeted_mode_ != mode_ + "/" + period_ || facts_are_news()) return hello();
    poll();
  });
}

// `said` and `asked`: its word on active checks, and when it said it.
void Agent::take_tasks(const Json& answer, ActiveWord said, TimePoint asked) {
  if (const Json& slurm = answer["slurm"]; slurm.is_object()) {
    const std::vector<std::string> flags = slurm["flags"].as_strings();
    const std::string& state = slurm["state"].as_string();
    told_at_ = loop_.now();
    told_state_ = fmt::format("{}{}{}", state, flags.empty() ? "" : "+", fmt::join(flags, "+"));
    const auto slurms = parse_node_state(state, flags);
    told_idle_ = slurms && is_idle(*slurms);
    told_use_ =
        std::ranges::find(flags, "MAINTENANCE") != flags.end() ? diagnose::NodeUse::maintenance
        : state == "ALLOCATED" || state == "MIXED" || std::ranges::find(flags, "COMPLETING") != flags.end()
            ? diagnose::NodeUse::busy
            : diagnose::NodeUse::idle;
    end_burdens();
    use_may_have_changed();
  }
  take_leave(answer["active"], said, asked);
  take_serve(answer["serve"]);
  if (neighbours_ && answer["swim"].is_object()) neighbours_->take(answer["swim"]);
  if (rank_looks_ && answer["ranks"].is_object()) {
    rank_looks_->take(answer["ranks"]);
    if (job_times_) job_times_->take(answer["ranks"]["times"]);
  }
  if (options_.show_leaving) take_leaving(answer["leaving"]);
  for (const Json& task : answer["ended"].items()) leave_task(task.as_int());
  for (const Json& item : answer["items"].items()) {
    const std::int64_t task = item["task"].as_int();
    last_task_ = std::max(last_task_, task);
    if (tasks_.contains(task)) continue;
    if (item["kind"].as_string() == "component" && component_restarts_) {
      take_component_task(task, item["order"]);
      continue;
    }
    if (item["kind"].as_string() != "diagnose") {
      end_unrun(task, "this agent knows no such task");
      continue;
    }
    say(fmt::format("event=task task={} mode={}", task, item["mode"].as_string()));
    begin_task(task, item["mode"].as_string(), item["repair"].as_bool(),
               item["leave"].as_bool() && has_leave());
  }
}

void Agent::end_unrun(std::int64_t task, std::string_view why) {
  post_results(
      task,
      Json::object({{"whole", false}, {"error", Json::object({{"what", why}})}, {"runs", Json::array()}}));
}

// One run of each specification.  Where one of them has to wait for leave, all do: what is told of the task
// is of one moment.
void Agent::begin_task(std::int64_t task, const std::string& mode, bool repair, bool with_leave) {
  if (rules_.empty()) {
    tasks_.erase(task);
    return end_unrun(task, "this node has no specification");
  }
  tasks_[task] = TaskState{};
  tasks_[task].left = rules_.size();
  std::vector<Order> wanted;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Order& one = wanted.emplace_back(asked_for(i, mode, "on request"));
    one.task = task;
    one.repair = repair;
    one.with_leave = with_leave;
  }
  const bool waits = std::ranges::any_of(wanted, [this](const Order& one) { return waits_for_leave(one); });
  if (waits) {
    for (Order& one : wanted) hold(std::move(one));
    return;
  }
  for (std::size_t i = wanted.size(); i-- > 0;) order(std::move(wanted[i]), true);
}

// Nobody waits for it any more.  What runs of it is waited for, and what would come after is not begun.
void Agent::leave_task(std::int64_t task) {
  if (!tasks_.contains(task)) return;
  say(fmt::format("event=task_left task={}", task));
  const auto is_its = [&](const Order& order) { return order.task == task; };
  tasks_[task].left -= std::erase_if(orders_, is_its) + std::erase_if(held_, is_its);
  if (running_ && running_order_.task == task)
    running_->stop("nobody waits for it any more");
  else
    tasks_.erase(task);
}

// What could not be shown is tried again with the next answer: sickbayd tells nothing twice.
void Agent::take_leaving(const Json& told) {
  if (told.is_object()) {
    const std::int64_t since = told["since"].as_int();
    leaving_ = since > 0 ? std::optional(from_micros(since)) : std::nullopt;
  }
  if (leaving_ == shown_leaving_) return;
  if (const Status shown = options_.show_leaving(leaving_); !shown) {
    if (!std::exchange(leaving_fails_, true))
      say("event=leaving_not_shown why=" + Json(shown.error().line()).dump());
    return;
  }
  leaving_fails_ = false;
  shown_leaving_ = leaving_;
  say(leaving_ ? "event=leaving since=" + std::to_string(to_micros(*leaving_)) : "event=not_leaving");
}

void Agent::take_component_task(std::int64_t task, const Json& order) {
  say(fmt::format("event=task task={} act={}", task, order["act"].as_string()));
  component_restarts_->take(task, order, [this, task](Result<Json> answer) {
    Json body = Json::object({{"whole", answer.has_value()}, {"runs", Json::array()}});
    if (answer)
      body.set("answer", std::move(*answer));
    else
      body.set("error", Json::object({{"what", answer.error().what}, {"cause", answer.error().cause}}));
    post_results(task, std::move(body));
  });
}

void Agent::post_results(std::int64_t task, Json body) {
  body.set("task", task);
  ask(question("/v1/agent/results", body), [this, task, body](Result<Json> answer) {
    if (answer) return;
    const ErrorCode code = answer.error().code;
    say(fmt::format("event=results_not_taken task={} what={}", task, Json(answer.error().line()).dump()));
    if (code == ErrorCode::not_found || code == ErrorCode::bad_input) return;  // nobody waits for them
    later(kFirstPause + share_of(options_.node, kFirstPause),
          [this, task, body] { post_results(task, body); });
  });
}

// Not tried again: whoever stays silent is told of again after two seconds.
void Agent::post_silent(Json report) {
  HttpQuestion asked = question("/v1/agent/silent", std::move(report));
  asked.time_limit = kSilentLimit;
  ask(std::move(asked), [this](Result<Json> answer) {
    if (!answer) say("event=report_not_taken what=" + Json(answer.error().line()).dump());
  });
}

// Not tried again: the next look is told of in seconds.
void Agent::post_ranks(Json report) {
  HttpQuestion asked = question("/v1/agent/ranks", std::move(report));
  asked.time_limit = kSilentLimit;
  ask(std::move(asked), [this](Result<Json> answer) {
    if (!answer && answer.error().code != ErrorCode::not_found)
      say("event=report_not_taken what=" + Json(answer.error().line()).dump());
  });
}

void Agent::deliver() {
  if (delivering_) return;
  auto waiting = store_.waiting(kAtOnce);
  if (!waiting) {
    say("event=spool_not_read why=" + Json(waiting.error().line()).dump());
    return;
  }
  if (waiting->empty()) {
    if (delivered_) std::exchange(delivered_, nullptr)();
    return;
  }
  delivering_ = true;
  const std::int64_t last = waiting->back()["n"].as_int();
  Json items = Json::array();
  for (const Json& item : *waiting) items.push(item);
  ask(question("/v1/agent/findings", Json::object({{"items", std::move(items)}})),
      [this, last, said = std::move(*waiting)](Result<Json> answer) {
        delivering_ = false;
        if (!answer) {
          if (deliver_failures_ == 0) say("event=findings_wait why=" + Json(answer.error().line()).dump());
          return again_later([this] { deliver(); }, deliver_failures_);
        }
        deliver_failures_ = 0;
        for (const Json& refused : (*answer)["refused"].items())
          say("event=finding_refused what=" + refused["what"].dump());
        if (const Status done = store_.delivered(last); !done)
          return say("event=spool_not_written why=" + Json(done.error().line()).dump());
        std::vector<Json> late;
        for (const Json& n : (*answer)["late"].items())
          if (const auto it = std::ranges::find_if(said, [&](const Json& item) { return item["n"] == n; });
              it != said.end())
            late.push_back(*it);
        confirm(late);
        deliver();
      });
}

}  // namespace sickbay::agent
