// SPDX-License-Identifier: Apache-2.0
// For tests of re-runs and of shared experiments: several cases, driven by events as the controller would.
//
// Every command is intended once and answered in the next step; what a test wants to be answered otherwise it
// says in `answer_with`, and what it wants to be left open in `silent`.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/hostlist.h"
#include "engine/identify/case_view.h"
#include "engine/identify/join.h"
#include "engine/identify/rerun.h"
#include "model/verbs.h"

namespace sickbay::identify {

using Names = std::vector<std::string>;

class RerunWorld {
 public:
  RerunWorld() {
    event("cluster", kNodesSeen,
          Json::object({{"groups", Json::array({Json::object({{"nodes", "n[1-8]"},
                                                              {"state", "IDLE"},
                                                              {"usable", true},
                                                              {"down", false},
                                                              {"partitions", Names{"main"}}})})}}));
  }

  Policy policy;
  cluster::Cluster cluster;
  State state;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<std::string> log;  ///< commands, in order
  std::map<std::string, Json> args_of;
  /// How runs of P end; V passes but where `bad` has the node.
  std::function<std::string(const RunId&, const Names&)> program = [](const RunId&, const Names&) {
    return std::string("FAILED");
  };
  std::set<std::string> bad;
  /// V fails there without naming a node.
  std::function<bool(const Names&)> unnamed = [](const Names&) { return false; };
  std::string message = "error 17: cannot open input";  ///< of failed runs
  std::int64_t time_limit_s = 600;
  /// Another answer than the usual one: a result, or an Error that it fails with.
  std::function<std::optional<Result<Json>>(const Command&)> answer_with = [](const Command&) {
    return std::nullopt;
  };
  std::set<std::string> silent;  ///< verbs that get no answer

  void event(const std::string& subject, std::string_view kind, Json body) {
    Event e;
    e.at = now;
    e.subject = subject;
    e.kind = kind;
    e.body = std::move(body);
    events_.push_back(e);
    cluster::apply(cluster, e);
    apply(state, cluster.view, e);
  }

  /// Opens case `no` as a version with re-runs by policy does, for job 100 + no.
  void open_case(std::int64_t no = 1, const std::string& rerun = "same", const Json& more = Json::object()) {
    Json body = Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                              {"options", Json::object({{"rerun", rerun}})},
                              {"work_dir", "/home/alice/run"},
                              {"output_dir", "/home/alice/run/sickbay-" + case_name(no)}});
    for (const auto& [name, value] : more.members()) body.set(name, value);
    event(case_name(no), kCaseOpened, std::move(body));
    event(case_name(no), kJobBound, Json::object({{"run", case_name(no) + ".r1"}, {"job_id", 100 + no}}));
  }

  /// Opens case `no`, and lets its job fail on `nodes`.
  void fail_job(std::int64_t no, const std::string& nodes = "n[1-2]", const std::string& rerun = "same",
                const Json& more = Json::object()) {
    open_case(no, rerun, more);
    run_program({no, RunKind::program, 1}, static_cast<JobId>(100 + no), *expand_hostlist(nodes));
  }

  /// Lets all cases go on until nothing happens before `until` from now.
  void settle(std::chrono::seconds until = std::chrono::hours(72)) {
    const TimePoint end = now + until;
    for (int round = 0; round < 20000; ++round) {
      TimePoint wake = kNever;
      bool acted = false;
      for (const std::int64_t no : std::set<std::int64_t>(state.open)) acted |= step(no, wake);
      if (acted) {
        now += std::chrono::seconds(1);
        continue;
      }
      if (state.open.empty() || wake >= end) return;
      now = std::max(now + std::chrono::seconds(1), wake);
    }
    FAIL() << "does not settle";
  }

  const Case& c(std::int64_t no = 1) const { return state.cases.at(no); }
  int count(std::string_view part) const {
    int n = 0;
    for (const std::string& key : log) n += key.find(part) != std::string::npos;
    return n;
  }
  void answer_rerun(std::int64_t no, const std::string& how) {
    event(case_name(no), kRerunAnswered, Json::object({{"how", how}, {"by", "alice"}}));
  }
  void expect_same_after_replay() const {
    State again;
    cluster::Cluster seen;
    for (const Event& e : events_) {
      cluster::apply(seen, e);
      apply(again, seen.view, e);
    }
    EXPECT_EQ(canonical_text(again), canonical_text(state));
  }

  /// Slurm shows the job of a run so.
  void see(const RunId& run, JobId id, const std::string& job_state, const Names& nodes) {
    JobInfo job;
    job.job_id = id;
    job.uid = run.kind == RunKind::verification ? 0 : 60001;
    job.name = "solve";
    job.state = job_state;
    job.partition = "main";
    job.nodes = compress_hostlist(nodes);
    job.num_nodes = static_cast<std::uint32_t>(nodes.size());
    job.time_limit_s = time_limit_s;
    job.start = nodes.empty() ? kNoTime : now - std::chrono::seconds(10);
    job.end = job_state == "RUNNING" ? kNoTime : now;
    job.exit_code = job_state == "FAILED" ? 1 : 0;
    job.std_out = "/home/alice/run/out";
    event(case_name(run.case_no), kJobSeen, Json::object({{"run", run.text()}, {"job", job.to_json()}}));
  }

 private:
  bool step(std::int64_t no, TimePoint& wake) {
    Decision d = decide(cluster, state, policy, state.cases.at(no), now);
    for (const cluster::Claim& claim : d.claims) {
      const Event granted = cluster::Claims::claimed(claim);
      event(granted.subject, granted.kind, granted.body);
    }
    if (!d.claims.empty()) d = decide(cluster, state, policy, state.cases.at(no), now);
    wake = std::min(wake, d.wake_at);
    bool acted = !d.records.empty();
    for (Event& r : d.records) event(r.subject, r.kind, r.body);
    for (const Command& command : d.commands) {
      if (!keys_.insert(command.key).second) continue;
      acted = true;
      event(command.subject, kIntent,
            Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}}));
      log.push_back(command.key);
      args_of[command.key] = command.args;
      if (!silent.contains(command.verb)) answer(command);
    }
    return acted;
  }

  void done(const Command& command, Json result) {
    event(command.subject, kDone,
          Json::object({{"key", command.key}, {"verb", command.verb}, {"result", std::move(result)}}));
  }

  void answer(const Command& command) {
    if (auto other = answer_with(command)) {
      if (*other) return done(command, **other);
      return event(command.subject, kFailed,
                   Json::object({{"key", command.key},
                                 {"verb", command.verb},
                                 {"error", Json::object({{"code", error_row((*other).error().code).name},
                                                         {"what", (*other).error().what}})}}));
    }
    const std::string key = command.key.substr(0, command.key.find(':'));
    if (command.verb == verb::kFindDependents) return done(command, Json::object({{"jobs", Json::array()}}));
    if (command.verb == verb::kPrepareRerun) {
      const bool copy = command.args["how"].as_string() == "copy";
      return done(command, Json::object({{"folder", copy ? "/home/alice/copy-" + key : ""},
                                         {"bytes", 1000},
                                         {"files", 3},
                                         {"changed", Json::array()},
                                         {"too_large", false},
                                         {"why", ""}}));
    }
    if (command.verb == verb::kCleanFolder) return done(command, Json::object());
    if (command.verb == verb::kSubmitProgram || command.verb == verb::kSubmitVerification)
      return done(command, Json::object({{"job_id", next_job_++}, {"submit", 1}}));
    const RunId run = *parse_run_id(key.substr(0, key.rfind(".a")));
    const auto id = static_cast<JobId>(command.args["job_id"].as_int());
    if (command.verb == verb::kCancel) {
      done(command, Json::object({{"cancelled", true}}));
      return see(run, id, "CANCELLED", {});
    }
    if (command.verb == verb::kReadOutput) return done(command, read(run, command.args));
    ASSERT_EQ(command.verb, verb::kRelease);
    done(command, Json::object());
    const Json& order = args_of[key + ":submit"];
    if (run.kind == RunKind::verification) {
      const Names on = order["nodes"].as_strings();
      const bool fails = unnamed(on);
      if (fails) unnamed_.insert(run.text());
      return see(run, id, fails ? "FAILED" : "COMPLETED", on);
    }
    Names nodes = order["include"].as_strings();
    const std::size_t needed = state.cases.at(run.case_no).programs.front().nodes.size();
    for (int i = 1; i <= 8; ++i)
      if (const std::string name = "n" + std::to_string(i); nodes.size() < needed &&
                                                            !has_host(order["exclude"].as_strings(), name) &&
                                                            std::ranges::find(nodes, name) == nodes.end())
        nodes.push_back(name);
    run_program(run, id, sorted_hosts(std::move(nodes)));
  }

  Json read(const RunId& run, const Json& args) const {
    Json results = Json::array();
    if (run.kind == RunKind::verification)
      for (const std::string& node : args["nodes"].as_strings())
        results.push(Json::object({{"node", node},
                                   {"peer", ""},
                                   {"result", unnamed_.contains(run.text()) ? "unknown"
                                              : bad.contains(node)          ? "failed"
                                                                            : "ok"},
                                   {"reason", "phase cpu"}}));
    const Json trace = run.kind == RunKind::program ? Json::object({{"message", message}}) : Json();
    return Json::object({{"trace", trace}, {"results", std::move(results)}});
  }

  void run_program(const RunId& run, JobId id, const Names& nodes) {
    see(run, id, "RUNNING", nodes);
    if (const std::string end = program(run, nodes); end != "RUNNING") see(run, id, end, nodes);
  }

  std::vector<Event> events_;
  std::set<std::string> unnamed_;  // verifications that failed so
  std::set<std::string> keys_;
  JobId next_job_ = 5000;
};

}  // namespace sickbay::identify
