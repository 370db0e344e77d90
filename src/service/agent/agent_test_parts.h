// SPDX-License-Identifier: Apache-2.0
// What the tests of the agent share: a node in virtual time, over real rules, files and predicates;
// operations and sickbayd are played.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/duktape/duktape_predicates.h"
#include "adapters/posix/agent_files.h"
#include "adapters/sim/sim_loop.h"
#include "service/agent/agent.h"

namespace sickbay::agent {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr const char* kRules = R"({
  "specification": "node", "version": 1, "description": "a node",
  "components": {"memory": {"description": "memory"}, "disk": {"description": "disk"}},
  "characteristics": {
    "mode": {"type": "string", "description": "how deep"}, "repair": {"type": "bool", "description": "may repair"},
    "total": {"type": "integer", "unit": "B", "description": "memory"}, "full": {"type": "bool", "description": "disk"},
    "good": {"type": "bool", "description": "deep test"}, "clean": {"type": "bool", "description": "cleaned"}},
  "predicates": {
    "any": {"when": "mode != \"\"", "description": "always"},
    "deep": {"when": "mode == \"deep\"", "description": "deeply"},
    "lost": {"when": "total < 8", "description": "A bank is lost"},
    "fill": {"when": "full && repair", "description": "The disk is full"}},
  "operations": {
    "read": {"kind": "collect", "run": "read", "components": ["memory"], "outputs": ["total", "full"], "description": "Read"},
    "test": {"kind": "test", "run": "test", "components": ["memory"], "outputs": ["good"], "description": "Test"},
    "out": {"kind": "critical", "run": "builtin:drain", "components": ["memory"], "inputs": ["total"], "description": "Take it out"},
    "tidy": {"kind": "repair", "run": "tidy", "components": ["disk"], "outputs": ["clean"], "description": "Tidy",
             "budget": {"runs": 2, "window": "24h"}}},
  "productions": {
    "p0": {"if": "any", "then": "read", "description": "read"}, "p1": {"if": "deep", "then": "test", "description": "test"},
    "p2": {"if": "lost", "then": "out", "description": "out"}, "p3": {"if": "fill", "then": "tidy", "description": "tidy"}},
  "periods": {
    "always": {"description": "each minute", "every": "60s", "initial": {"mode": "quick", "repair": true}}}
})";

struct Operations : OperationRunner {
  explicit Operations(Loop& l) : loop(l) {}
  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    ran.push_back(call.operation);
    if (call.operation == hang_in) {
      if (!call.early_end) return;
      return call.early_end->on_ask([this, done] {
        loop.post([done] {
          done({OperationEnd::Result::ok, Json::object({{"cpu_wrong", 1}}), "half done", {}, {}});
        });
      });
    }
    if (const auto known = answers.find(call.operation);
        known != answers.end() && takes.contains(call.operation))
      return void(loop.at(loop.now() + takes[call.operation], [done, end = known->second] { done(end); }));
    if (const auto known = answers.find(call.operation); known != answers.end())
      return loop.post([done, end = known->second] { done(end); });
    OperationEnd end;
    end.result = unknown ? OperationEnd::Result::unknown : OperationEnd::Result::ok;
    end.text = unknown ? "no tool" : "";
    if (call.operation == "read") end.outputs = Json::object({{"total", total}, {"full", full}});
    if (call.operation == "test") end.outputs = Json::object({{"good", true}});
    if (call.operation == "tidy") end.outputs = Json::object({{"clean", true}});
    loop.post([done, end] { done(end); });
  }
  std::ptrdiff_t count(const std::string& name) const { return std::ranges::count(ran, name); }
  Loop& loop;
  std::int64_t total = 8;
  bool full = false, unknown = false;
  std::string hang_in;                          // the operation that does not end
  std::map<std::string, OperationEnd> answers;  // of operations of other rules
  std::map<std::string, Micros> takes;          // of them, those that do not end at once
  std::vector<std::string> ran;
};

// sickbayd as an agent sees it.
struct Sickbayd : HttpClient {
  explicit Sickbayd(Loop& l) : loop(l) {}
  void ask(HttpQuestion q, Done<Json> done) override {
    asked.push_back(q.target);
    if (q.target == "/v1/agent/hello") hellos.push_back(Json::parse(q.body).value());
    if (away) return loop.post([done] { done(fail(ErrorCode::daemon_away, "nobody there")); });
    const Json body = Json::parse(q.body.empty() ? "{}" : q.body).value();
    Json answer = Json::object();
    if (q.target == "/v1/agent/hello" && standing.size() > 0)
      answer.set("standing", std::exchange(standing, Json::array()));
    if (q.target == "/v1/agent/findings") {
      Json late = Json::array();
      for (const Json& item : body["items"].items()) {
        if (loop.now() - from_micros(item["at"].as_int()) > minutes(10)) late.push(item["n"]);
        numbers.push_back(item["n"].as_int());
        items.push_back(item);
        told.push_back(item["rule"].as_string() + " " + item["result"].as_string() + " " +
                       item["action"].as_string());
        if (item.has("repair")) {
          repairs.push_back(item["rule"].as_string() + " " + item["repair"]["operation"].as_string() + " " +
                            item["repair"]["result"].as_string() + ": " + item["repair"]["text"].as_string());
          told.pop_back();
          continue;
        }
        if (late.size() > 0 && late.items().back() == item["n"]) told.back() += " late";
      }
      answer.set("late", std::move(late));
    }
    if (q.target == "/v1/agent/results") results.push_back(body);
    if (!q.target.starts_with("/v1/agent/tasks")) return loop.post([done, answer] { done(answer); });
    poll = done;
    poll_holds = q.target.find("&active=holds") != std::string::npos;
    loop.at(loop.now() + seconds(30), [this, mine = ++polls] {
      if (mine == polls && poll) answer_poll(Json::array());
    });
  }
  void answer_poll(Json tasks) {
    Json answer = Json::object({{"items", std::move(tasks)}});
    if (ended != 0) answer.set("ended", Json::array({std::exchange(ended, 0)}));
    if (!leaving.is_null()) answer.set("leaving", std::exchange(leaving, Json()));
    if (Json leave = active; !leave.is_null()) {
      if (renews && poll_holds) leave.set("leave_us", Micros(minutes(5)).count());
      answer.set("active", std::move(leave));
    }
    if (!state.empty()) answer.set("slurm", Json::object({{"state", state}, {"flags", Json(flags)}}));
    std::exchange(poll, nullptr)(answer);
  }
  void order(std::int64_t task, const std::string& mode, bool repair = false) {
    ASSERT_TRUE(poll);
    answer_poll(Json::array(
        {Json::object({{"task", task}, {"kind", "diagnose"}, {"mode", mode}, {"repair", repair}})}));
  }
  Loop& loop;
  bool away = false;
  std::vector<std::string> asked, told, repairs;
  std::vector<std::int64_t> numbers;
  std::vector<Json> hellos, results, items;  // items: findings whole, as `told` has them in short
  std::string state;                         // of the node in Slurm; "": not told
  std::vector<std::string> flags;
  std::int64_t ended = 0;         // a task that nobody waits for any more; told with the next answer
  Json leaving;                   // told with the next answer
  Json standing = Json::array();  // [{"rule", "mode"}]: told with the next hello
  Json active;                    // of leave for active checks, told with each; null: an older sickbayd
  bool renews = true;             // leave that is in use
  Done<Json> poll;
  bool poll_holds = false;  // it says that leave is in use
  int polls = 0;
};

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    char name[] = "/tmp/sickbay_agent_XXXXXX";
    folder_ = ::mkdtemp(name);
    store_ = open_agent_files(folder_).value();
    use_rules(kRules);
  }
  ~AgentTest() override {
    agent_.reset();
    std::filesystem::remove_all(folder_);
  }
  void use_rules(const std::string& text) {
    agent_.reset();
    const diagnose::SpecificationFile file{"node.json", text};
    auto read = diagnose::read_specifications({&file, 1}, {"n3", {}});
    ASSERT_TRUE(read) << read.error().message("test");
    rules_ = {diagnose::compile(std::move(read->at(0)), compiler_).value()};
  }
  void start(bool repair = false, bool linked = true) {
    agent_.reset();
    AgentOptions options;
    options.node = "n3";
    options.boot_id = boot_id_;
    options.version = "test";
    options.repair = repair;
    options.busy = [this] { return busy_; };
    options.self = "b1/1/" + std::to_string(++agents_);
    options.lives = [this](const std::string& process) { return process == lives_; };
    if (shows_leaving_) {
      options.leaving = shown_;
      options.show_leaving = [this](std::optional<TimePoint> since) -> Status {
        ++showings_;
        if (cannot_show_) return fail(ErrorCode::storage_full, "no room");
        shown_ = since;
        return {};
      };
    }
    if (!jobs_.is_null()) options.jobs = [this] { return jobs_; };
    if (!facts_.is_null()) options.facts = [this] { return facts_; };
    agent_ =
        std::make_unique<Agent>(loop_, *store_, operations_, linked ? &sickbayd_ : nullptr, rules_, options);
  }
  /// Another folder, and nothing that was said or done before.
  void new_node() {
    agent_.reset();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    store_ = open_agent_files(folder_).value();
    operations_.answers.clear();
    operations_.takes.clear();
    operations_.ran.clear();
    sickbayd_.told.clear();
  }
  void pass(Micros time) { loop_.run_until(loop_.now() + time); }

  std::string folder_;
  sim::SimLoop loop_;
  DuktapePredicates compiler_;
  std::unique_ptr<AgentStore> store_;
  Operations operations_{loop_};
  Sickbayd sickbayd_{loop_};
  std::vector<std::shared_ptr<const diagnose::Rules>> rules_;
  std::unique_ptr<Agent> agent_;
  int agents_ = 0;
  std::optional<bool> busy_ = false;  // a job's step runs here
  std::string boot_id_ = "b1";
  Json facts_, jobs_;  // that this node tells; null: none
  bool shows_leaving_ = false, cannot_show_ = false;
  std::optional<TimePoint> shown_;  // to programs of this node: since when it is leaving
  int showings_ = 0;
  std::string lives_;  // the process of another agent of this node
};

}  // namespace sickbay::agent
