// SPDX-License-Identifier: Apache-2.0
// The agent in virtual time, over real rules, files and predicates; operations and sickbayd are played.
#include "service/agent/agent.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "adapters/duktape/duktape_predicates.h"
#include "adapters/posix/agent_files.h"
#include "adapters/sim/sim_loop.h"
#include "service/agent/config.h"

namespace sickbay::agent {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRules = R"({
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
    if (call.operation == hang_in) return;
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
  std::string hang_in;  // the operation that does not end
  std::vector<std::string> ran;
};

// sickbayd as an agent sees it.
struct Sickbayd : HttpClient {
  explicit Sickbayd(Loop& l) : loop(l) {}
  void ask(HttpQuestion q, Done<Json> done) override {
    asked.push_back(q.target);
    if (away) return loop.post([done] { done(fail(ErrorCode::daemon_away, "nobody there")); });
    const Json body = Json::parse(q.body.empty() ? "{}" : q.body).value();
    Json answer = Json::object();
    if (q.target == "/v1/agent/findings")
      for (const Json& item : body["items"].items()) {
        numbers.push_back(item["n"].as_int());
        told.push_back(item["rule"].as_string() + " " + item["result"].as_string() + " " +
                       item["action"].as_string());
      }
    if (q.target == "/v1/agent/results") results.push_back(body);
    if (!q.target.starts_with("/v1/agent/tasks")) return loop.post([done, answer] { done(answer); });
    poll = done;
    loop.at(loop.now() + seconds(30), [this, mine = ++polls] {
      if (mine == polls && poll) std::exchange(poll, nullptr)(Json::object({{"items", Json::array()}}));
    });
  }
  void order(std::int64_t task, const std::string& mode) {
    ASSERT_TRUE(poll);
    std::exchange(poll, nullptr)(Json::object(
        {{"items", Json::array({Json::object(
                       {{"task", task}, {"kind", "diagnose"}, {"mode", mode}, {"repair", false}})})}}));
  }
  Loop& loop;
  bool away = false;
  std::vector<std::string> asked, told;
  std::vector<std::int64_t> numbers;
  std::vector<Json> results;
  Done<Json> poll;
  int polls = 0;
};

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    char name[] = "/tmp/sickbay_agent_XXXXXX";
    folder_ = ::mkdtemp(name);
    store_ = open_agent_files(folder_).value();
    diagnose::SpecificationFile file{"node.json", kRules};
    auto read = diagnose::read_specifications({&file, 1}, {"n3", {}});
    EXPECT_TRUE(read) << read.error().message("test");
    rules_ = {diagnose::compile(std::move(read->at(0)), compiler_).value()};
  }
  ~AgentTest() override {
    agent_.reset();
    std::filesystem::remove_all(folder_);
  }
  void start(bool repair = false, bool linked = true) {
    agent_.reset();
    AgentOptions options;
    options.node = "n3";
    options.boot_id = boot_id_;
    options.version = "test";
    options.repair = repair;
    options.self = "b1/1/" + std::to_string(++agents_);
    options.lives = [this](const std::string& process) { return process == lives_; };
    agent_ =
        std::make_unique<Agent>(loop_, *store_, operations_, linked ? &sickbayd_ : nullptr, rules_, options);
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
  std::string boot_id_ = "b1";
  std::string lives_;  // the process of another agent of this node
};

TEST_F(AgentTest, TellsAFaultOnceAgainAfterAnHourAndWhenItIsGone) {
  start();
  agent_->start();
  pass(minutes(5));
  EXPECT_GE(operations_.count("read"), 4);
  EXPECT_TRUE(sickbayd_.told.empty());
  operations_.total = 4;
  pass(minutes(10));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  pass(hours(1));
  EXPECT_EQ(sickbayd_.told.size(), 2u) << "it stands";
  start();  // another agent on the same files
  agent_->start();
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.size(), 2u) << "a restart is no news";
  operations_.total = 8;
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.back(), "p2 ok none");
  EXPECT_EQ(sickbayd_.told.size(), 3u);
  for (std::size_t i = 1; i < sickbayd_.numbers.size(); ++i)
    EXPECT_EQ(sickbayd_.numbers[i], sickbayd_.numbers[i - 1] + 1);
}

TEST_F(AgentTest, AFaultThatIsThereAfterABootIsNews) {
  operations_.total = 4;
  start();
  agent_->start();
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  boot_id_ = "b2";
  start();
  agent_->start();
  pass(minutes(10));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 fault drain"));
}

TEST_F(AgentTest, WithoutSickbaydItRecordsAndDeliversLater) {
  sickbayd_.away = true;
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(3));
  operations_.total = 8;
  pass(minutes(3));
  EXPECT_TRUE(sickbayd_.told.empty());
  EXPECT_EQ(store_->waiting(10)->size(), 2u);
  EXPECT_LT(std::ranges::count(sickbayd_.asked, std::string("/v1/agent/hello")), 20) << "it does not hammer";
  sickbayd_.away = false;
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 ok none"));
  EXPECT_TRUE(store_->waiting(10)->empty());
}

TEST_F(AgentTest, AnUnknownEndIsAFindingThatAsksForNothing) {
  operations_.unknown = true;
  start();
  agent_->start();
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none"));
  operations_.unknown = false;
  pass(minutes(3));
  operations_.unknown = true;
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none", "p0 unknown none")) << "known in between";
}

TEST_F(AgentTest, RepairsNeedPermissionAndTheirBudgetOutlivesTheAgent) {
  operations_.full = true;
  start(false);
  agent_->start();
  pass(minutes(5));
  EXPECT_EQ(operations_.count("tidy"), 0) << "the site has not permitted it";
  start(true);
  agent_->start();
  pass(Micros(seconds(65)));
  EXPECT_GE(operations_.count("tidy"), 1);
  start(true);
  agent_->start();
  pass(hours(2));
  EXPECT_EQ(operations_.count("tidy"), 2) << "two in 24 hours";
  pass(hours(24));
  EXPECT_GE(operations_.count("tidy"), 3);
}

TEST_F(AgentTest, ARepairThatWasCutShortIsToldAsUnknownByTheNextAgentOnce) {
  operations_.full = true;
  start(true);
  agent_->start();
  operations_.hang_in = "tidy";
  pass(minutes(2));
  ASSERT_EQ(operations_.count("tidy"), 1) << "it is under way";
  operations_.hang_in.clear();
  operations_.full = false;
  lives_ = "b1/1/1";
  start(true);  // a second one beside it
  agent_->start();
  pass(minutes(2));
  EXPECT_TRUE(sickbayd_.told.empty()) << "the first one is still at it";
  lives_ = "";
  start(true);
  agent_->start();
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 unknown none"));
  start(true);
  agent_->start();
  operations_.full = true;
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u);
  EXPECT_EQ(operations_.count("tidy"), 2) << "the one that was cut counts, the second ends well";
  pass(minutes(20));
  EXPECT_EQ(operations_.count("tidy"), 2);
  start(true);
  agent_->start();
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u) << "what ended is nobody's any more";
}

TEST_F(AgentTest, DoesWhatSickbaydOrdersAtOnce) {
  start();
  agent_->start();
  pass(seconds(3));
  operations_.total = 4;
  sickbayd_.order(7, "deep");
  pass(seconds(1));
  EXPECT_EQ(operations_.count("test"), 1);
  ASSERT_EQ(sickbayd_.results.size(), 1u);
  const Json& result = sickbayd_.results[0];
  EXPECT_EQ(result["task"].as_int(), 7);
  EXPECT_EQ(result["node"].as_string(), "n3");
  EXPECT_TRUE(result["whole"].as_bool());
  const Json& run = result["runs"].items().at(0);
  EXPECT_EQ(run["mode"].as_string(), "deep");
  EXPECT_EQ(run["findings"].size(), 1u);
  EXPECT_EQ(run["values"]["total"].as_int(), 4);
  EXPECT_EQ(run["productions"].size(), 4u);
  EXPECT_THAT(run["journal"].dump(), HasSubstr("A bank is lost"));
  EXPECT_THAT(sickbayd_.asked, testing::Contains(HasSubstr("after=7")));
}

TEST_F(AgentTest, OnceDeliversAndEnds) {
  start();
  operations_.total = 4;
  bool done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(seconds(2));
  EXPECT_TRUE(done);
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  // sickbayd is away: it waits a second, not more.
  sickbayd_.away = true;
  operations_.total = 8;
  start();
  done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(Micros(1'500'000));
  EXPECT_TRUE(done);
  EXPECT_EQ(store_->waiting(10)->size(), 1u);
  // Nobody to tell at all.
  start(false, false);
  done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(Micros(1000));
  EXPECT_TRUE(done);
}

TEST(Timetable, SpreadsTheNodes) {
  std::map<std::int64_t, int> buckets;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint next =
        next_tick("n" + std::to_string(i) + "/node", seconds(60), from_unix_seconds(1'000'000'000));
    const std::int64_t after = to_unix_seconds(next) - 1'000'000'000;
    ASSERT_GE(after, 0);
    ASSERT_LE(after, 60);
    ++buckets[after / 6];
  }
  for (const auto& [bucket, count] : buckets)
    if (bucket < 10) {
      EXPECT_NEAR(count, 1000, 150) << bucket;
    }
  const TimePoint tick = next_tick("n3", seconds(60), from_unix_seconds(1'000'000'000));
  EXPECT_EQ(next_tick("n3", seconds(60), tick), tick + seconds(60)) << "the next one, not the same";
}

TEST(AgentConfig, ReadsItsKeysAndNamesThePlaceOfOthers) {
  auto config = parse_config(R"({"controller": {"host": "head"}, "periods": {"every": {"node/day": "5m"}},
                                 "repair": {"allowed": true}})",
                             "agent.json");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->controller.port, 6830);
  EXPECT_EQ(config->periods.every.at("node/day"), minutes(5));
  EXPECT_TRUE(config->repair.allowed);
  EXPECT_FALSE(parse_config("{}", "x")->repair.allowed);
  EXPECT_EQ(parse_config(R"({"contoller": {}})", "x").error().what,
            "x:1:15: unknown key 'contoller'; did you mean 'controller'?");
  EXPECT_THAT(parse_config(R"({"periods": {"every": {"a": 3}}})", "x").error().what,
              HasSubstr("'a' must be"));
}

}  // namespace
}  // namespace sickbay::agent
