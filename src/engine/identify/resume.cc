// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/resume.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/apply.h"
#include "engine/identify/array.h"
#include "engine/identify/rerun.h"

namespace sickbay::identify {

bool goes_back(const Case& c, const Verdict& verdict) {
  const bool without_any = verdict.lost.empty() && (!names_nodes(verdict.cause) || verdict.nodes.empty());
  return c.options.recover && !c.options.deliver && !c.array && !without_any;
}

// The next case of a job that its recovery put back into the queue.  It is bound to the run after the
// restart, and what was submitted stays with the first case (submission_of).
Event resumed_case(const Case& before) {
  const Options& o = before.options;
  const Run& run = before.programs.front();
  const Resumption& resumption = *before.resumption;
  std::string note = fmt::format("goes on with job {}, which was put back into the queue after {}",
                                 run.job.job_id, before.name());
  if (!resumption.without.empty()) note += ", to run without " + resumption.without;
  Json options =
      Json::object({{"rerun", before.reruns.checked ? Json(to_string(before.reruns.wish)) : Json(o.rerun)},
                    {"requeue", o.requeue},
                    {"recover", true},
                    {"check", o.check},
                    {"expect_time_s", o.expect_time_s},
                    {"workdir", o.workdir},
                    {"steps", o.steps_fail ? "fail" : "tell"},
                    {"until_verdict", o.until_verdict},
                    {"hang", std::string(to_string(o.hang))}});
  return new_event("", kCaseOpened,
                   Json::object({{"owner", before.owner.to_json()},
                                 {"options", std::move(options)},
                                 {"script_name", ""},
                                 {"work_dir", before.work_dir},
                                 {"output_dir", ""},
                                 {"notes", Json::array({std::move(note)})},
                                 {"inputs", before.inputs},
                                 {"script_digest", before.script_digest},
                                 {"names_folder", before.names_folder},
                                 {"submits_jobs", before.submits_jobs},
                                 {"resumes", before.name()},
                                 {"submission_of", case_name(submission_case(before))},
                                 {"job_id", run.job.job_id},
                                 {"restart_cnt", resumption.restart_cnt + 1}}));
}

std::int64_t submission_case(const Case& c) {
  return c.parent != 0 ? c.parent : c.first != 0 ? c.first : c.no;
}

std::optional<TimePoint> all_closed_at(const State& state, const Case& first) {
  TimePoint last = first.closed;
  // (They are younger than the first.)
  for (auto it = state.cases.find(first.no); it != state.cases.end(); ++it) {
    const Case& c = it->second;
    if (c.no != first.no && c.first != first.no) continue;
    if (!c.is_closed()) return std::nullopt;
    last = std::max(last, c.closed);
  }
  return last;
}

// --- apply

void on_recovery_opened(State& s, const Event& e) {
  const auto no = parse_case_name(e.body["source"].as_string());
  const auto it = no ? s.cases.find(*no) : s.cases.end();
  if (it == s.cases.end() || it->second.programs.empty() || e.body["class"].as_string() != "job") return;
  const Json& job = e.body["job"];
  it->second.resumption = Resumption{.recovery = e.subject,
                                     .restart_cnt = static_cast<std::uint32_t>(job["restart_cnt"].as_int()),
                                     .without = job["exclude"].as_string()};
}

void on_recovery_closed(State& s, const Event& e) {
  if (e.body["class"].as_string() != "job") return;
  for (auto& [no, c] : s.cases) {
    if (!c.resumption || c.resumption->recovery != e.subject) continue;
    if (e.body["outcome"].as_string() == "cured")
      // decide() opens the next case when it looks at this one: only the seat knows which numbers are free.
      s.resuming.insert(no);
    else
      note_once(c, fmt::format("the job did not go back into the queue ({}: {})", e.subject,
                               e.body["why"].as_string()));
    if (!s.resuming.contains(no)) c.resumption.reset();
    return;
  }
}

void open_resumed_case(State& s, Case& fresh, const Event& e) {
  const auto before = parse_case_name(e.body["resumes"].as_string());
  const auto first = parse_case_name(e.body["submission_of"].as_string());
  if (!before || !first) return;
  s.resuming.erase(*before);
  if (const auto it = s.cases.find(*before); it != s.cases.end()) it->second.resumption.reset();
  fresh.resumes = *before;
  fresh.first = *first;
  // Bound from the beginning, to the run after the restart: what was seen before it is the other case's.
  Run& run = put_run(fresh, RunId{fresh.no, RunKind::program, 1});
  run.wanted_at = e.at;
  run.bound = true;
  run.job.job_id = static_cast<JobId>(e.body["job_id"].as_int());
  run.job.uid = fresh.owner.uid;
  run.job.restart_cnt = static_cast<std::uint32_t>(e.body["restart_cnt"].as_int());
  name_by_job(s, fresh, run.job.job_id);  // who asks for the job is told how it goes on
}

}  // namespace sickbay::identify
