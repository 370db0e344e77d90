// SPDX-License-Identifier: Apache-2.0
// Jobs and their histories for tests, driven by events alone.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/history/account.h"
#include "engine/history/history.h"
#include "engine/history/plan.h"
#include "model/event_kinds.h"

namespace sickbay::history {

using namespace std::chrono_literals;

struct World {
  static inline const TimePoint kStart = from_unix_seconds(1'800'000'000);
  State state;
  TimePoint now = kStart;
  std::vector<Event> journal;

  void say(std::string subject, std::string_view kind, Json body) {
    Event event = new_event(std::move(subject), kind, std::move(body));
    event.at = now;
    apply(state, event);
    journal.push_back(std::move(event));
  }
  void pass(std::chrono::seconds time) { now += time; }

  /// Case c`no` with job `job`, of alice unless said otherwise; its input is in.dat with this digest.
  void submit(int no, JobId job, const std::string& input = "a", Json more = Json::object(),
              const std::string& user = "alice", std::uint32_t uid = 60001) {
    Json body = Json::object(
        {{"owner", Owner{user, uid, uid}.to_json()},
         {"script_name", "job.sh"},
         {"work_dir", "/home/alice"},
         {"script_digest", "s"},
         {"arguments", Json::array({"fast"})},
         {"inputs", Json::array({Json::object({{"path", "/home/alice/in.dat"}, {"digest", input}})})}});
    for (const auto& [name, value] : more.members()) body.set(name, value);
    say(case_name(no), kCaseOpened, body);
    say(case_name(no), kJobBound,
        Json::object({{"run", RunId{no, RunKind::program, 1}.text()}, {"job_id", job}}));
  }
  /// What Slurm shows of it.
  void shown(int no, JobId job, const std::string& job_state, std::uint32_t restart = 0,
             const std::string& nodes = "n[1-2]", int exit_code = 0) {
    JobInfo info;
    info.job_id = job;
    info.state = job_state;
    info.restart_cnt = restart;
    info.nodes = nodes;
    info.exit_code = exit_code;
    (job_state == "RUNNING" ? info.start : info.end) = now;
    say(case_name(no), kJobSeen,
        Json::object({{"run", RunId{no, RunKind::program, 1}.text()}, {"job", info.to_json()}}));
  }
  void told(int no, JobId job, int checkpoint, const char* event = "taken", std::uint32_t restart = 0,
            Json parent = Json()) {
    Json body = Json::object({{"job", job},
                              {"restart", restart},
                              {"checkpoint", checkpoint},
                              {"event", event},
                              {"folder", "/scratch/17"},
                              {"seconds", 2},
                              {"parent", std::move(parent)}});
    const auto parsed = Told::from_request(body);
    ASSERT_TRUE(parsed) << parsed.error().line();
    say(case_name(no), kCheckpointTold, parsed->to_json());
  }
  /// `sickbay undo`: what was planned is recorded, as the service does.  The plan, or why not.
  Result<Plan> undo(JobId job, const std::string& op, Ask ask = Ask::rewind) {
    const Part& part = *part_of(state, job);
    auto plan = make_plan(state, part, {ask, op});
    if (!plan) return plan;
    if (plan->drops) {
      say(case_name(part_of(state, plan->drops.job)->case_no), kOperationDropped,
          Json::object({{"by", "alice"}, {"op", plan->drops.text()}}));
      return plan;
    }
    Json body = plan->to_json();
    body.set("by", "alice")
        .set("did", std::string(to_string(ask)))
        .set("of", ask == Ask::rewind ? "" : full(job, op));
    say(case_name(part_of(state, plan->to.job)->case_no), kRewound, body);
    return plan;
  }
  void repair(JobId job, std::vector<Change> changes, const std::string& of = "") {
    const OpRef at = position_of(state, *part_of(state, job));
    say(case_name(part_of(state, at.job)->case_no), kRepaired,
        Json::object(
            {{"by", "alice"}, {"under", at.text()}, {"of", of}, {"changes", changes_json(changes)}}));
  }
  /// `sickbay redo`: job `job` with case c`no` from where the tree stands.
  void redo(JobId from, int no, JobId job, const std::string& input = "a") {
    const OpRef at = position_of(state, *part_of(state, from));
    submit(no, job, input,
           Json::object({{"replays", Json::object({{"op", at.text()},
                                                   {"checkpoint", operation(state, at)->checkpoint}})}}));
  }
  static std::string full(JobId job, const std::string& op) {
    return op.find('.') == std::string::npos ? OpRef{job, std::stoi(op)}.text() : op;
  }
  /// One line for each operation of a job: "4 under 3 checkpoint".
  std::vector<std::string> lines(JobId job) const {
    std::vector<std::string> list;
    for (const auto& [n, op] : part_of(state, job)->operations) {
      std::string line = std::to_string(n);
      if (op.parent) line += " under " + op.parent.text();
      line += " " + std::string(to_string(op.what));
      if (op.told.checkpoint != 0) line += " " + std::to_string(op.told.checkpoint);
      if (!op.state.empty()) line += " " + op.state;
      list.push_back(line);
    }
    return list;
  }
  std::string replayed() const {
    State other;
    for (const Event& event : journal) apply(other, event);
    return canonical_text(other);
  }
};

}  // namespace sickbay::history
