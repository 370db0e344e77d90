// SPDX-License-Identifier: Apache-2.0
// The endpoints of agents, and those for people that have an agent do something.  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engine/detect/detect.h"
#include "model/active_word.h"
#include "model/ids.h"
#include "service/agents.h"
#include "service/api_call.h"

namespace sickbay {
namespace {

// Answers with what came of it.
Done<Json> answer_to(const Api::Call& c, int status = 200) {
  return [c, status](Result<Json> result) {
    if (!result) return c.refuse(result.error());
    c.answer(status, *result);
  };
}

// A number of the query or the path, 18 digits at most.
std::optional<std::int64_t> number_in(std::string_view text) {
  if (text.empty() || text.size() > 18 || !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  return std::stoll(std::string(text));
}

// True where agents are served; else the caller is told.
bool served(const Agents* agents, const Api::Call& c) {
  if (agents == nullptr) c.refuse(Error(ErrorCode::conflict, "agents are not listened to here"));
  return agents != nullptr;
}

}  // namespace

void AgentEndpoints::admit(Api& api, Call call, void (*then)(Api&, Call&)) {
  if (!served(api.agents_, call)) return;
  call.node = call.request.method == "POST" ? call.body["node"].as_string()
                                            : call.request.query_value("node").value_or("");
  const Caller caller = call.request.caller;
  const std::string node = call.node;
  api.agents_->check(caller, node, [&api, call = std::move(call), then](Status is) mutable {
    if (!is) return call.refuse(is.error());
    then(api, call);
  });
}

void AgentEndpoints::hello(Api& api, Call& c) { api.agents_->hello(c.node, c.body, answer_to(c)); }

void AgentEndpoints::tasks(Api& api, Call& c) {
  AgentTasks::Has has;
  std::optional<std::int64_t> after, testing, serving;
  const std::pair<std::string_view, std::optional<std::int64_t>*> numbers[] = {
      {"after", &after},         {"swim", &has.swim},   {"ranks", &has.ranks},
      {"leaving", &has.leaving}, {"testing", &testing}, {"serving", &serving},
  };
  for (const auto& [name, number] : numbers) {
    const auto text = c.request.query_value(name);
    if (text && !(*number = number_in(*text)))
      return c.refuse(Error(ErrorCode::bad_input, fmt::format("'{}' must be a number", name)));
  }
  if (testing.has_value() != serving.has_value())
    return c.refuse(Error(ErrorCode::bad_input, "'testing' and 'serving' come together"));
  if (testing) has.peer = PeerWord{*testing, *serving};
  if (const auto word = c.request.query_value("active"); word && !(has.active = active_word_from(*word)))
    return c.refuse(Error(ErrorCode::bad_input, "'active' is " + quote_for_message(*word))
                        .remedied_by("choose none, later, waits, ordered or holds"));
  api.agents_->give_tasks(c.node, after.value_or(0), has, c.reply);
}

void AgentEndpoints::peer(Api& api, Call& c) { api.agents_->take_peer(c.node, c.body, answer_to(c)); }

void AgentEndpoints::ranks(Api& api, Call& c) { api.agents_->take_ranks(c.node, c.body, answer_to(c)); }

void AgentEndpoints::silent(Api& api, Call& c) { api.agents_->take_report(c.node, c.body, answer_to(c)); }

void AgentEndpoints::findings(Api& api, Call& c) { api.agents_->take_findings(c.node, c.body, answer_to(c)); }

void AgentEndpoints::results(Api& api, Call& c) {
  api.agents_->tasks().take_results(c.node, c.body, answer_to(c));
}

void AgentEndpoints::order_diagnosis(Api& api, Call& c) {
  if (!served(api.agents_, c)) return;
  constexpr int kCreated = 201;
  api.agents_->tasks().order(
      c.part, c.body, c.request.caller.user,
      [post = c.post](std::vector<Event>& events, const Json& answer) {
        return !post || post->mark(events, kCreated, answer);
      },
      answer_to(c, kCreated));
}

void AgentEndpoints::set_detect(Api& api, Call& c) {
  if (!served(api.agents_, c)) return;
  const auto job = number_in(c.part);
  if (!job || *job <= 0 || *job > std::numeric_limits<JobId>::max())
    return c.refuse(Error(ErrorCode::bad_input, "a job has a number"));
  const std::string how = c.body["detect"].as_string();
  if (how != "fast" && how != "slurm")
    return c.refuse(Error(ErrorCode::bad_input, "'detect' is " + quote_for_message(how))
                        .remedied_by("choose \"fast\" or \"slurm\""));
  RefreshOrder order;
  order.jobs = {static_cast<JobId>(*job)};
  order.nodes = false;
  api.manager_.refresh(order, [&api, c, how, id = static_cast<JobId>(*job)](Result<Snapshot> seen) {
    if (!seen) return c.refuse(seen.error());
    const auto it = std::ranges::find(seen->jobs, id, &JobInfo::job_id);
    if (it == seen->jobs.end())
      return c.refuse(Error(ErrorCode::not_found, "Slurm has no job " + std::to_string(id)));
    if (!c.by_operator && c.request.caller.uid != it->uid)
      return c.refuse(Error(ErrorCode::denied, "job " + std::to_string(id) + " is another user's"));
    c.keep(api,
           {new_event(job_subject(id), detect::kDetectAsked,
                      Json::object({{"detect", how}, {"uid", it->uid}, {"by", c.request.caller.user}}))},
           200, Json::object({{"job", id}, {"detect", how}}));
  });
}

void AgentEndpoints::faults(Api& api, Call& c) {
  if (!served(api.agents_, c)) return;
  const std::string node(c.request.query_value("node").value_or(""));
  const FaultBook& book = api.agents_->faults();
  Json list = Json::object();
  list.set("items", book.months(api.controller_.now(), node)).set("next", Json());
  if (!node.empty()) list.set("repairs", book.repairs(node));
  c.answer(200, list);
}

void AgentEndpoints::show_task(Api& api, Call& c) {
  if (!served(api.agents_, c)) return;
  const auto task = number_in(c.part);
  if (!task) return c.refuse(Error(ErrorCode::bad_input, "a task has a number"));
  api.agents_->tasks().show(*task, c.reply);
}

}  // namespace sickbay
