// SPDX-License-Identifier: Apache-2.0
// The endpoints of cases.  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "engine/identify/array.h"
#include "engine/identify/case_view.h"
#include "engine/identify/further.h"
#include "engine/identify/provisional.h"
#include "engine/identify/rerun.h"
#include "engine/identify/resume.h"
#include "model/sbatch_array.h"
#include "service/agents.h"
#include "service/api_call.h"
#include "service/case_request.h"
#include "service/case_store.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostWords = 8192;  // bytes of arguments that the journal keeps
constexpr double kMostNodeHours = 1e6;    // of one order; an operator's, too

Json inputs_json(const std::vector<InputFile>& inputs) {
  Json list = Json::array();
  for (const InputFile& file : inputs) list.push(file.to_json());
  return list;
}

// What a history keeps of a submission (engine/history): of the environment, which may hold keys, a digest.
void tell_in_full(Json& opened, const CaseRequest& wish) {
  const Submission& submission = wish.submission;
  std::vector<std::string> environment = submission.environment;
  std::ranges::sort(environment);
  Sha256 sum;
  for (const std::string& entry : environment) {
    sum.add(entry);
    sum.add(std::string_view("\0", 1));
  }
  opened.set("environment_digest", sum.hex());
  for (const auto& [name, words] : {std::pair("arguments", &submission.script_args),
                                    std::pair("sbatch_options", &submission.sbatch_options)}) {
    std::size_t bytes = 0;
    for (const std::string& word : *words) bytes += word.size();
    if (bytes <= kMostWords) opened.set(name, *words);
  }
  if (wish.recorded) opened.set("recorded", true);
  if (!wish.replays.is_null()) opened.set("replays", wish.replays);
}

Error ask_its_tasks(const identify::State& state, const identify::Case& array_case) {
  std::string open;
  for (const auto& [task, failure] : array_case.array->failures)
    if (state.open.contains(failure.case_no)) open += (open.empty() ? "" : ", ") + case_name(failure.case_no);
  return Error(ErrorCode::conflict,
               array_case.name() + " is the case of a job array, which has no run itself")
      .because(open.empty() ? "no case of a task is open" : "the open cases of its tasks are " + open)
      .remedied_by(open.empty() ? "wait for one: 'sickbay why " + array_case.name() + "' tells"
                                : "'sickbay rerun' with each of these");
}

}  // namespace

void CaseEndpoints::open_case(Api& api, Call& c) {
  if (!api.remote_submissions_ && !c.request.caller.address.empty())
    return c.refuse(
        Error(ErrorCode::denied, "submissions from other hosts are refused here")
            .because("script and environment would travel unencrypted, and 'client.submit' is false")
            .remedied_by("submit on the controller's host, or with plain sbatch, which has no case"));
  auto wish = CaseRequest::from_json(c.body);
  if (!wish) return c.refuse(wish.error());
  Submission& submission = wish->submission;
  // The site's word is kept with the case, so that it stays what it was when the site changes its mind.
  if (!wish->options.has("steps"))
    wish->options.set("steps", api.controller_.seats().cases().policy().steps_fail ? "fail" : "tell");
  if (const HangMode hang = api.controller_.seats().cases().policy().hang;
      !wish->options.has("hang") && hang != HangMode::off)
    wish->options.set("hang", std::string(to_string(hang)));
  // Who it belongs to is said by the socket, never by the request.
  submission.owner = {c.request.caller.user, c.request.caller.uid, c.request.caller.gid};
  IdentifySeat& cases = api.controller_.seats().cases();
  const std::int64_t no = cases.new_case_number();
  if (auto saved = api.cases_.save(no, submission); !saved) return c.refuse(saved.error());
  Event opened = new_event(
      case_name(no), identify::kCaseOpened,
      Json::object({{"owner", submission.owner.to_json()},
                    {"options", options_with_way(wish->options, identify::to_string(cases.policy().rerun))},
                    {"script_name", submission.script_name},
                    {"work_dir", submission.work_dir},
                    {"output_dir", fmt::format("{}/sickbay-{}", submission.work_dir, case_name(no))},
                    {"notes", wish->notes},
                    {"inputs", inputs_json(wish->inputs)},
                    {"script_digest", wish->script_digest},
                    {"names_folder", wish->names_folder},
                    {"submits_jobs", wish->submits_jobs}}));
  tell_in_full(opened.body, *wish);
  if (const auto array = array_of(submission)) opened.body.set("array", *array);
  c.keep(api, {std::move(opened)}, 201, Json::object({{"case", case_name(no)}}), [&api, no] {
    // A case that a full disk keeps waiting is in the state, and comes to be after all; any other never was.
    // Its number stays unused.
    if (!api.controller_.seats().cases().state().cases.contains(no)) (void)api.cases_.remove(no);
  });
}

void CaseEndpoints::bind_job(Api& api, Call& c) {
  const std::int64_t id = c.body["job_id"].as_int();
  if (id <= 0 || id > UINT32_MAX)
    return c.refuse(Error(ErrorCode::bad_input, "'job_id' must be the number of a job"));
  bind(api, c, static_cast<JobId>(id), false);
}

void CaseEndpoints::bind(Api& api, Call& c, JobId job_id, bool is_its_owners) {
  const identify::State& state = api.controller_.seats().cases().state();
  const Json answer =
      Json::object({{"case", c.subject->name()}, {"run", RunId{c.subject->no, RunKind::program, 1}.text()}});
  if (const JobId bound = c.subject->job_id(); bound != 0) {
    // Said again, and told only when the binding is durable.
    if (bound == job_id) return c.keep(api, {}, 200, answer);
    return c.refuse(
        Error(ErrorCode::conflict, fmt::format("{} is bound to job {} already", c.subject->name(), bound)));
  }
  // Those that were taken in and are not in the state yet: the next round binds them.
  std::erase_if(api.binding_, [&state](const auto& entry) {
    const auto it = state.cases.find(entry.first);
    return it == state.cases.end() || it->second.job_id() != 0;
  });
  if (const auto coming = api.binding_.find(c.subject->no); coming != api.binding_.end()) {
    if (coming->second == job_id) return c.keep(api, {}, 200, answer);
    return c.refuse(Error(ErrorCode::conflict,
                          fmt::format("{} is bound to job {} already", c.subject->name(), coming->second)));
  }
  if (c.subject->is_closed()) return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed"));
  // Who else says that the job is of his case.
  bool is_foreign = false, is_confirmed = false;
  const auto is_taken_by = [&](const identify::Case* other) {
    if (other == nullptr) return false;
    if (other->owner.uid == c.subject->owner.uid) return !other->is_closed();
    const identify::Run* run = other->program(1);
    is_foreign = true;
    is_confirmed |= run != nullptr && run->seen_at != kNoTime;
    return false;
  };
  const identify::Case* other = nullptr;
  if (const auto it = state.by_job.find(job_id); it != state.by_job.end())
    other = identify::case_of(state, it->second);
  bool is_taken = is_taken_by(other);
  for (const auto& [no, job] : api.binding_)
    if (!is_taken && job == job_id) is_taken = is_taken_by(other = identify::case_of(state, no));
  if (is_taken)
    return c.refuse(
        Error(ErrorCode::conflict, fmt::format("job {} belongs to {} already", job_id, other->name())));
  if (is_foreign && !is_its_owners) return ask_whose_it_is(api, c, job_id, is_confirmed);
  const std::int64_t no = c.subject->no;
  api.binding_[no] = job_id;
  c.keep(api,
         {new_event(c.subject->name(), identify::kJobBound,
                    Json::object({{"run", answer["run"]}, {"job_id", job_id}}))},
         200, answer, [&api, no] { api.binding_.erase(no); });
}

// Ids can be guessed, also those of jobs that are not there yet: what somebody else says of one keeps nobody
// out.  What Slurm says does.
void CaseEndpoints::ask_whose_it_is(Api& api, Call& c, JobId job_id, bool is_confirmed) {
  RefreshOrder order;
  order.jobs = {job_id};
  order.nodes = false;
  api.manager_.refresh(order, [&api, c, no = c.subject->no, uid = c.subject->owner.uid, job_id,
                               is_confirmed](Result<Snapshot> seen) mutable {
    if (!seen && is_confirmed) return c.refuse(seen.error());
    bool is_anothers = is_confirmed;
    if (seen)
      for (const JobInfo& job : seen->jobs)
        if (job.job_id == job_id) is_anothers = job.uid != uid;
    if (is_anothers)
      return c.refuse(Error(ErrorCode::conflict, fmt::format("job {} belongs to another user", job_id))
                          .because("Slurm says so")
                          .remedied_by("bind the job that sbatch submitted for this case"));
    c.subject = identify::case_of(api.controller_.seats().cases().state(), no);
    if (c.subject == nullptr) return c.refuse(Error(ErrorCode::conflict, case_name(no) + " is closed"));
    bind(api, c, job_id, true);
  });
}

void CaseEndpoints::cancel_case(Api& api, Call& c) {
  const Json answer = Json::object({{"case", c.subject->name()}});
  if (c.subject->is_closed())
    return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed already"));
  c.keep(api,
         {new_event(c.subject->name(), identify::kCancelRequested,
                    Json::object({{"by", c.request.caller.user}}))},
         200, answer);
}

void CaseEndpoints::answer_rerun(Api& api, Call& c) {
  const identify::Case& subject = *c.subject;
  const auto how = identify::rerun_way_from(c.body["how"].as_string());
  if (!how || how == identify::RerunWay::ask)
    return c.refuse(Error(ErrorCode::bad_input, "'how' must be \"same\", \"copy\" or \"never\"")
                        .because(fmt::format("it is {}", quote_for_message(c.body["how"].dump()))));
  if (subject.is_closed()) return c.refuse(Error(ErrorCode::conflict, subject.name() + " is closed already"));
  if (!subject.reruns.given_up.empty())
    return c.refuse(Error(ErrorCode::conflict, subject.name() + " has no further run of the program")
                        .because(subject.reruns.given_up)
                        .remedied_by("submit the job again"));
  // Its tasks run again, each by its own case.
  if (subject.array) return c.refuse(ask_its_tasks(api.controller_.seats().cases().state(), subject));
  // A version that asked nothing opened it: its re-runs start as they did then.
  if (!subject.reruns.checked)
    return c.refuse(Error(ErrorCode::conflict, subject.name() + " asks nothing: an older Sickbay opened it")
                        .remedied_by("'sickbay cancel' ends it"));
  c.keep(api,
         {new_event(subject.name(), identify::kRerunAnswered,
                    Json::object({{"how", identify::to_string(*how)}, {"by", c.request.caller.user}}))},
         200, Json::object({{"case", subject.name()}, {"how", identify::to_string(*how)}}));
}

void CaseEndpoints::requeue(Api& api, Call& c) {
  const identify::Case& subject = *c.subject;
  const identify::Policy& policy = api.controller_.seats().cases().policy();
  const std::int64_t runs = c.body["runs"].as_int(policy.further_runs);
  const double node_hours = c.body["node_hours"].as_double(policy.further_node_hours);
  const auto unfit = [](std::string_view name, std::string_view must, const Json& value) {
    return Error(ErrorCode::bad_input, fmt::format("'{}' must be {}", name, must))
        .because("it is " + quote_for_message(value.dump()));
  };
  // (A fraction would be read as if nothing was said.)
  const bool whole = c.body["runs"].is_null() || c.body["runs"].is_int();
  if (!whole || runs < 1 || runs > policy.further_runs)
    return c.refuse(unfit("runs", fmt::format("a number from 1 to {}", policy.further_runs), c.body["runs"])
                        .remedied_by("the site's bound is identify.further_runs"));
  // (Written so that what is no number fails, too.)
  const bool number = c.body["node_hours"].is_null() || c.body["node_hours"].is_number();
  const bool within = node_hours > 0 && (node_hours <= policy.further_node_hours || c.by_operator);
  if (!number || !within || node_hours > kMostNodeHours)
    return c.refuse(
        unfit("node_hours", fmt::format("over 0 and at most {}", policy.further_node_hours),
              c.body["node_hours"])
            .remedied_by("operators may give more; the site's bound is identify.further_node_hours"));
  if (auto refused = identify::refuses_further(subject)) return c.refuse(*refused);
  if (!api.cases_.load(identify::submission_case(subject)))
    return c.refuse(Error(ErrorCode::conflict, "the program of " + subject.name() + " cannot run again")
                        .because("what was submitted is not kept any more")
                        .remedied_by("submit the job again, with --until-verdict"));
  c.keep(api,
         {new_event(subject.name(), identify::kRequeueAsked,
                    identify::further_order(c.request.caller.user, static_cast<int>(runs),
                                            c.body["rotate"].as_bool(), node_hours))},
         200, Json::object({{"case", subject.name()}, {"runs", runs}, {"node_hours", node_hours}}));
}

void CaseEndpoints::list_cases(Api& api, Call& c) {
  const bool all = c.request.query_value("all").value_or("0") == "1";
  const std::string_view user = c.request.query_value("user").value_or("");
  if (!user.empty() && user != c.request.caller.user && !c.by_operator)
    return c.refuse(Error(ErrorCode::denied,
                          fmt::format("the cases of '{}' are for {} and operators to see", user, user)));
  Json items = Json::array();
  for (const auto& [no, subject] : api.controller_.seats().cases().state().cases) {
    if (!c.by_operator && subject.owner.uid != c.request.caller.uid) continue;
    if (!user.empty() && subject.owner.user != user) continue;
    if (!all && subject.is_closed()) continue;
    items.push(identify::case_summary(subject));
  }
  c.answer(200, Json::object({{"items", std::move(items)}, {"next", Json()}}));
}

void CaseEndpoints::show_case(Api& api, Call& c) {
  Json view = identify::case_view(*c.subject);
  // Who may act on the job: it may be another engine than that of cases.
  const identify::Run* r1 = c.subject->program(1);
  view.set("claim", r1 ? claim_view(api.controller_, job_subject(r1->job.job_id)) : Json());
  const identify::State& state = api.controller_.seats().cases().state();
  if (c.subject->array) view.set("tasks", identify::array_view(state, *c.subject));
  // Asked for a task that has no case of its own.
  if (const auto name = parse_task_name(c.part); name && c.subject->array)
    view.set("asked", identify::task_words(state, *c.subject, name->task));
  // How its ranks stand at this moment; what is decided of them is in the run that it was decided of.
  if (api.agents_ != nullptr)
    if (Json now = api.agents_->ranks_of(c.subject->job_id()); !now.is_null())
      view.set("ranks", std::move(now));
  const IdentifySeat& seat = api.controller_.seats().cases();
  view.set("under_way", identify::under_way({api.controller_.seats().cluster().view, seat.state(),
                                             seat.policy(), api.controller_.now()},
                                            *c.subject));
  c.answer(200, view);
}

}  // namespace sickbay
