// SPDX-License-Identifier: Apache-2.0
// The endpoints of histories (engine/history).  Their rows stand in api.cc.
//
// A history is its owner's, and operators': who else asks is told no more than that it is another's.  What a
// person does about it is planned by the engine and recorded here; files, jobs and signals are his own
// program's matter, with his own rights.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "base/words.h"
#include "engine/history/inverses.h"
#include "engine/history/plan.h"
#include "model/event_kinds.h"
#include "model/verbs.h"
#include "service/api_call.h"

namespace sickbay {
namespace {

constexpr int kMostTold = 100'000;  // operations of one job that the journal takes
constexpr std::size_t kMostChanges = 200, kMostKey = 4200, kMostValue = 4096, kMostDiff = 2000;
constexpr auto kChangeKeys =
    std::to_array<std::string_view>({"file:/", "environment:", "script", "arguments", "exclude"});

// The part of a job, where the caller may see it; else it has been refused.
const history::Part* own_part(const history::State& state, Api::Call& c, std::int64_t job) {
  const history::Part* part =
      job > 0 && job <= UINT32_MAX ? history::part_of(state, static_cast<JobId>(job)) : nullptr;
  if (part == nullptr) {
    c.refuse(Error(ErrorCode::not_found, fmt::format("no history of job {}", job))
                 .because("Sickbay follows the jobs that were submitted through it, and no job arrays")
                 .remedied_by("submit with 'sickbay submit' in place of sbatch"));
    return nullptr;
  }
  if (!c.by_operator && part->owner.uid != c.request.caller.uid) {
    c.refuse(Error(ErrorCode::denied, fmt::format("job {} is another user's", job)));
    return nullptr;
  }
  return part;
}

// Whether the journal takes one more operation of it; else the call has been refused.
bool has_room(const history::Part& part, Api::Call& c) {
  if (part.last < kMostTold) return true;
  c.refuse(Error(ErrorCode::conflict, fmt::format("the history of job {} is full", part.job))
               .because(fmt::format("it has {} operations", part.last)));
  return false;
}

Status check_changes(const Json& list, std::string_view name) {
  const bool fit = list.is_null() ||
                   (list.is_array() && list.size() <= kMostChanges &&
                    std::ranges::all_of(list.items(), [](const Json& one) {
                      const history::Change change = history::Change::from_json(one);
                      return change.key.size() <= kMostKey && change.from.size() <= kMostValue &&
                             change.to.size() <= kMostValue && one["diff"].as_string().size() <= kMostDiff &&
                             std::ranges::any_of(kChangeKeys, [&](std::string_view key) {
                               return change.key.starts_with(key);
                             });
                    }));
  if (fit) return {};
  return fail(Error(ErrorCode::bad_input,
                    fmt::format("'{}' must be a list of at most {} changes", name, kMostChanges))
                  .because("each is {key, from, to, diff}, of bounded length (doc/formats/api.md)"));
}

// "4" of job 17 is "17.4".
std::string full_name(const history::Part& part, const std::string& op) {
  const auto n = to_integer(op);
  return n ? part.ref(static_cast<int>(*n)).text() : op;
}

}  // namespace

void HistoryEndpoints::told(Api& api, Call& c) {
  const auto told = history::Told::from_request(c.body);
  if (!told) return c.refuse(told.error());
  const history::Part* part = own_part(api.controller_.seats().histories().state(), c, told->job);
  if (part == nullptr) return;
  if (!has_room(*part, c)) return;
  Json body = told->to_json();
  body.set("by", c.request.caller.user);
  c.keep(api, {new_event(case_name(part->case_no), history::kCheckpointTold, std::move(body))}, 200,
         Json::object({{"job", part->job}, {"checkpoint", told->checkpoint}}));
}

void HistoryEndpoints::show(Api& api, Call& c) {
  const history::State& state = api.controller_.seats().histories().state();
  const auto job = parse_job_id(c.request.query_value("job").value_or(""));
  if (!job) return c.refuse(job.error());
  if (const history::Part* part = own_part(state, c, *job))
    c.answer(200, history::history_view(state, *part));
}

void HistoryEndpoints::undo(Api& api, Call& c) {
  const history::State& state = api.controller_.seats().histories().state();
  const history::Part* part = own_part(state, c, c.body["job"].as_int());
  if (part == nullptr) return;
  const std::string& word = c.body["do"].as_string();
  if (word == "repair") return repair(api, c, *part);
  const auto ask = history::ask_from(word);
  if (!ask)
    return c.refuse(Error(ErrorCode::bad_input, "'do' is " + quote_for_message(word))
                        .remedied_by("choose rewind, drop, edit, insert or repair"));
  if (auto fit = check_changes(c.body["restored"], "restored"); !fit) return c.refuse(fit.error());
  const std::string& op = c.body["op"].as_string();
  const auto plan = history::make_plan(state, *part, {*ask, op});
  if (!plan) return c.refuse(plan.error());
  const Json answer = Json::object({{"plan", plan->to_json()}});
  if (c.body["dry_run"].as_bool()) return c.answer(200, answer);
  const history::Part* of = history::part_of(state, plan->drops ? plan->drops.job : plan->to.job);
  if (of == nullptr || of->owner.uid != part->owner.uid)
    return c.refuse(Error(ErrorCode::denied, "that operation is another user's"));
  if (!has_room(*of, c)) return;
  Json body = Json::object({{"by", c.request.caller.user}});
  if (plan->drops) {
    body.set("op", plan->drops.text());
    return c.keep(api, {new_event(case_name(of->case_no), history::kOperationDropped, std::move(body))}, 200,
                  answer);
  }
  const Json planned = plan->to_json();
  for (const auto& [name, value] : planned.members())
    if (name != "drops" && name != "folder" && name != "source") body.set(name, value);
  body.set("did", word)
      .set("of", *ask == history::Ask::rewind ? std::string() : full_name(*part, op))
      .set("restored", c.body["restored"].is_array() ? c.body["restored"] : Json::array());
  c.keep(api, {new_event(case_name(of->case_no), history::kRewound, std::move(body))}, 200, answer);
}

void HistoryEndpoints::repair(Api& api, Call& c, const history::Part& part) {
  const history::State& state = api.controller_.seats().histories().state();
  const history::OpRef position = history::position_of(state, part);
  if (!position)
    return c.refuse(Error(ErrorCode::conflict, fmt::format("job {} was not gone back in", part.job))
                        .because("a repair is made between going back and the replay")
                        .remedied_by("rewind first"));
  const Json& changes = c.body["changes"];
  if (auto fit = check_changes(changes, "changes"); !fit) return c.refuse(fit.error());
  if (changes.size() == 0) return c.refuse(Error(ErrorCode::bad_input, "a repair changes something"));
  const history::Part* of = history::part_of(state, position.job);
  if (!has_room(*of, c)) return;
  c.keep(api,
         {new_event(case_name(of->case_no), history::kRepaired,
                    Json::object({{"by", c.request.caller.user},
                                  {"under", position.text()},
                                  {"of", c.body["of"].as_string()},
                                  {"changes", history::changes_json(history::changes_from(changes))}}))},
         200, Json::object({{"under", position.text()}}));
}

void HistoryEndpoints::acts(Api& api, Call& c) {
  c.answer(200, Json::object({{"items", history::acts_view(api.controller_.seats().histories().state())}}));
}

// By the endpoint that does it anyway: there is one way to do a thing.
void HistoryEndpoints::undo_act(Api& api, Call& c) {
  const std::string& name = c.body["act"].as_string();
  const history::Act* act = history::act_named(api.controller_.seats().histories().state(), name);
  if (act == nullptr)
    return c.refuse(Error(ErrorCode::not_found, "no act " + quote_for_message(name))
                        .because("of each node and each subject the last few are remembered")
                        .remedied_by("'sickbay history --acts' lists them"));
  const history::InverseRow* row = history::inverse_row(act->verb);
  if (row->undo != history::Undo::here)
    return c.refuse(
        Error(ErrorCode::conflict, fmt::format("{} ({}) cannot be undone here", act->name, act->verb))
            .because(std::string(row->said)));
  if (act->verb == verb::kDrain) {
    c.body = Json::object({{"nodes", compress_hostlist(act->nodes)}, {"rule", ""}});
    return ClusterEndpoints::undo_drains(api, c);
  }
  if (act->verb == kSparesAsked) {
    c.body = Json::object({{"partition", act->name.substr(act->name.find(':') + 1)}, {"count", act->before}});
    return SparesEndpoints::set(api, c);
  }
  if (act->verb == kPatrolAsked) return PatrolEndpoints::stop(api, c);
  c.part = act->subject;
  if (act->verb == kRecoveryOpened) return RecoverEndpoints::stop(api, c);
  c.part = act->subject.substr(act->subject.find(':') + 1);
  c.body = Json::object({{"detect", "slurm"}});
  AgentEndpoints::set_detect(api, c);
}

}  // namespace sickbay
