// SPDX-License-Identifier: Apache-2.0
// The endpoints of cases.  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/identify/case_view.h"
#include "service/api_call.h"
#include "service/case_request.h"
#include "service/case_store.h"

namespace sickbay {
void CaseEndpoints::open_case(Api& api, Call& c) {
  auto wish = CaseRequest::from_json(c.body);
  if (!wish) return c.refuse(wish.error());
  Submission& submission = wish->submission;
  // Who it belongs to is said by the socket, never by the request.
  submission.owner = {c.request.caller.user, c.request.caller.uid, c.request.caller.gid};
  const std::int64_t no = api.controller_.seats().cases().new_case_number();
  if (auto saved = api.cases_.save(no, submission); !saved) return c.refuse(saved.error());
  Event event;
  event.subject = case_name(no);
  event.kind = identify::kCaseOpened;
  event.body = Json::object({{"owner", submission.owner.to_json()},
                             {"options", wish->options},
                             {"script_name", submission.script_name},
                             {"work_dir", submission.work_dir},
                             {"output_dir", fmt::format("{}/sickbay-{}", submission.work_dir, case_name(no))},
                             {"notes", wish->notes}});
  c.keep(api, {std::move(event)}, 201, Json::object({{"case", case_name(no)}}), [&api, no] {
    // A case that a full disk keeps waiting is in the state, and comes to be after all; any other never was.
    // Its number stays unused.
    if (!api.controller_.seats().cases().state().cases.contains(no)) (void)api.cases_.remove(no);
  });
}

void CaseEndpoints::bind_job(Api& api, Call& c) {
  const std::int64_t id = c.body["job_id"].as_int();
  if (id <= 0 || id > UINT32_MAX)
    return c.refuse(Error(ErrorCode::bad_input, "'job_id' must be the number of a job"));
  const auto job_id = static_cast<JobId>(id);
  const Json answer =
      Json::object({{"case", c.subject->name()}, {"run", RunId{c.subject->no, RunKind::program, 1}.text()}});
  if (const identify::Run* r1 = c.subject->program(1)) {
    // Said again, and told only when the binding is durable.
    if (r1->job.job_id == job_id) return c.keep(api, {}, 200, answer);
    return c.refuse(Error(ErrorCode::conflict,
                          fmt::format("{} is bound to job {} already", c.subject->name(), r1->job.job_id)));
  }
  if (c.subject->is_closed()) return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed"));
  if (auto other = api.controller_.seats().cases().state().by_job.find(job_id);
      other != api.controller_.seats().cases().state().by_job.end() &&
      api.controller_.seats().cases().state().open.contains(other->second))
    return c.refuse(Error(ErrorCode::conflict,
                          fmt::format("job {} belongs to {} already", job_id, case_name(other->second))));
  Event event;
  event.subject = c.subject->name();
  event.kind = identify::kJobBound;
  event.body = Json::object({{"run", answer["run"]}, {"job_id", job_id}});
  c.keep(api, {std::move(event)}, 200, answer);
}

void CaseEndpoints::cancel_case(Api& api, Call& c) {
  const Json answer = Json::object({{"case", c.subject->name()}});
  if (c.subject->is_closed())
    return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed already"));
  Event event;
  event.subject = c.subject->name();
  event.kind = identify::kCancelRequested;
  event.body = Json::object({{"by", c.request.caller.user}});
  c.keep(api, {std::move(event)}, 200, answer);
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
  c.answer(200, view);
}

}  // namespace sickbay
