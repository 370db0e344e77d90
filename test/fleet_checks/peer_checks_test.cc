// SPDX-License-Identifier: Apache-2.0
// Tests of two nodes: agents and their sickbayd, whole, over the endpoints.  A helper runs while the test
// does, and no longer, whoever of the three is gone; and a test that lost its helper says nothing of its
// node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/duktape/duktape_predicates.h"
#include "adapters/posix/agent_files.h"
#include "service/agent/agent.h"
#include "service/api_test_parts.h"
#include "wire.h"

namespace sickbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

// %s: more of the key `peer`.
constexpr const char* kPeerRules = R"({"specification": "net", "version": 1, "description": "d",
  "characteristics": {"mode": {"type": "string", "description": "d"}, "slow": {"type": "bool", "description": "d"}},
  "predicates": {"always": {"when": "true", "description": "d"}, "deep": {"when": "mode == \"deep\"", "description": "d"}},
  "operations": {"look": {"kind": "collect", "run": "look", "description": "d"},
    "link": {"kind": "test", "run": "link", "outputs": ["slow"], "peer": {"runs": "serve"%s}, "timeout": "1m", "description": "d"},
    "serve": {"kind": "test", "run": "serve", "needs_idle": true, "listens": 5201, "timeout": "2m", "description": "d"},
    "mend": {"kind": "repair", "run": "mend", "description": "d"}},
  "productions": {"p0": {"if": "always", "then": "look", "description": "d"}, "p1": {"if": "deep", "then": "link", "description": "d"}},
  "periods": {"always": {"description": "d", "every": "60s", "initial": {"mode": "quick"}}}})";

// What runs where, of all nodes together.
struct Net {
  std::set<std::string> serving, testing;
  int helpers = 0, alone = 0;  ///< helpers that began; moments at which a test began or went on without one
  std::vector<std::string> peers;  ///< as they were given to the tests
  Micros test_takes = seconds(20), listens_after = seconds(1);
  bool serves_one = false;  ///< a helper ends by itself, well, with its client
  bool fails = false;       ///< a helper ends at once
};

class NetOperations : public OperationRunner {
 public:
  NetOperations(Loop& loop, Net& net, std::string node) : loop_(loop), net_(net), node_(std::move(node)) {}
  ~NetOperations() override { *alive_ = false; }
  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    OperationEnd well;
    well.result = OperationEnd::Result::ok;
    if (call.operation == "look") return loop_.post([done, well] { done(well); });
    if (call.run == "builtin:sockets") {
      well.outputs = Json::object({{"sockets", loop_.now() - began_ >= net_.listens_after ? 1 : 0}});
      return loop_.post([done, well] { done(well); });
    }
    const bool helps = call.operation == "serve";
    auto& running = helps ? net_.serving : net_.testing;
    running.insert(node_);
    const auto over = [this, &running, done, helps, alive = alive_,
                       ended = std::make_shared<bool>(false)](OperationEnd how) {
      if (!*alive || std::exchange(*ended, true)) return;
      running.erase(node_);
      if (helps) net_.helpers += 1;
      done(std::move(how));
    };
    if (call.early_end) call.early_end->on_ask([this, over] { loop_.post([over] { over({}); }); });
    if (helps) {
      began_ = loop_.now();
      OperationEnd late;
      late.text = "did not end in time";
      if (net_.fails) late.text = "no such device";
      loop_.at(loop_.now() + (net_.fails ? Micros(seconds(0)) : Micros(call.time_limit)),
               [over, late] { over(late); });
      if (net_.serves_one)
        loop_.at(loop_.now() + net_.listens_after + net_.test_takes / 2, [over, well] { over(well); });
      return;
    }
    net_.peers.push_back(call.inputs["peer"].as_string());
    if (net_.serving.empty()) ++net_.alone;
    OperationEnd slow;
    slow.result = OperationEnd::Result::fault;  // whatever became of its helper
    slow.outputs = Json::object({{"slow", true}});
    loop_.at(loop_.now() + net_.test_takes, [over, slow] { over(slow); });
  }

 private:
  Loop& loop_;
  Net& net_;
  const std::string node_;
  TimePoint began_ = kNoTime;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class PeerChecks : public ApiTest {
 protected:
  PeerChecks() {
    char name[] = "/tmp/sickbay_peers_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~PeerChecks() override {
    nodes_.clear();
    std::filesystem::remove_all(folder_);
  }
  struct Node {
    std::unique_ptr<AgentStore> store;
    std::unique_ptr<NetOperations> operations;
    std::unique_ptr<Wire> wire;
    std::unique_ptr<agent::Agent> agent;
    std::unique_ptr<bool> busy = std::make_unique<bool>(false);
  };
  void serve() {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.bound_active(0);
    daemon_->agents.lend_peers();
  }
  void live(int count, const std::string& more = "") {
    serve();
    std::string text = kPeerRules;
    text.replace(text.find("%s"), 2, more);
    const diagnose::SpecificationFile file{"net.json", text};
    auto read = diagnose::read_specifications({&file, 1}, {"n1", {}});
    ASSERT_TRUE(read) << read.error().message("test");
    rules_ = {diagnose::compile(std::move(read->at(0)), compiler_).value()};
    for (int i = 1; i <= count; ++i) begin_agent(i);
    pass(seconds(40));  // all have polled, and were told that they are idle
  }
  void begin_agent(int i) {
    if (nodes_.size() < static_cast<std::size_t>(i)) nodes_.resize(static_cast<std::size_t>(i));
    Node& node = at(i);
    const std::string name = fmt::format("n{}", i);
    std::filesystem::create_directory(folder_ + "/" + name);
    node.store = open_agent_files(folder_ + "/" + name).value();
    node.operations = std::make_unique<NetOperations>(loop_, net_, name);
    node.wire = std::make_unique<Wire>(loop_, fmt::format("10.0.0.{}", i),
                                       [this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
                                         if (!daemon_) return false;
                                         daemon_->api.serve(std::move(request), std::move(reply));
                                         return true;
                                       });
    agent::AgentOptions options;
    options.node = name;
    options.boot_id = "b";
    options.version = "test";
    options.self = "b/1/" + name;
    options.busy = [busy = node.busy.get()] { return *busy; };
    node.agent = std::make_unique<agent::Agent>(loop_, *node.store, *node.operations, node.wire.get(), rules_,
                                                std::move(options));
    node.agent->start();
  }
  Node& at(int i) { return nodes_[static_cast<std::size_t>(i - 1)]; }
  // What it runs dies with it.
  void kill_agent(int i) {
    at(i).agent.reset();
    at(i).operations.reset();
    net_.serving.erase(fmt::format("n{}", i));
    net_.testing.erase(fmt::format("n{}", i));
  }
  // A deep diagnosis of n1 is ordered, and its helper has begun.
  void order(int node = 1) {
    const auto answer =
        ask("ops", "POST", fmt::format("/v1/nodes/n{}/diagnose", node), R"({"mode": "deep"})");
    task_ = body_of(answer)["task"].as_int();
    ASSERT_GT(task_, 0) << answer->response.body;
  }
  void order_and_wait() {
    order();
    for (int i = 0; i < 20 && net_.testing.empty(); ++i) pass(seconds(1));
    ASSERT_FALSE(net_.testing.empty());
    ASSERT_EQ(net_.serving.size(), 1u);
  }
  // What came of it: the result of `link`, and its text.
  std::string came_of(minutes within = minutes(3)) {
    for (int i = 0; i < within.count() * 6; ++i) {
      pass(seconds(10));
      const Json task = body_of(ask("ops", "GET", fmt::format("/v1/tasks/{}", task_)));
      for (const Json& run : task["result"]["runs"].items())
        for (const Json& one : run["operations"].items())
          if (one["operation"].as_string() == "link")
            return one["result"].as_string() + " " + one["text"].as_string();
    }
    return "nothing";
  }
  int node_of(const std::set<std::string>& names) { return std::stoi(names.begin()->substr(1)); }

  std::string folder_;
  DuktapePredicates compiler_;
  std::vector<std::shared_ptr<const diagnose::Rules>> rules_;
  Net net_;
  std::vector<Node> nodes_;
  std::int64_t task_ = 0;
};

TEST_F(PeerChecks, AHelperRunsAsLongAsTheTest) {
  live(3);
  order_and_wait();
  pass(seconds(15));
  EXPECT_EQ(net_.serving.size(), 1u);
  EXPECT_THAT(came_of(), HasSubstr("fault"));
  EXPECT_TRUE(net_.serving.empty());
  EXPECT_EQ(net_.alone, 0);
  EXPECT_THAT(net_.peers, testing::ElementsAre("n2"));
  // Another one the next time.
  order_and_wait();
  EXPECT_THAT(came_of(), HasSubstr("fault"));
  EXPECT_THAT(net_.peers, testing::ElementsAre("n2", "n3"));
  EXPECT_EQ(net_.helpers, 2);
}

TEST_F(PeerChecks, OneThatServesOneClientHasDoneWell) {
  net_.serves_one = true;
  live(2);
  order_and_wait();
  EXPECT_THAT(came_of(), HasSubstr("fault"));
  EXPECT_EQ(net_.helpers, 1) << "it is not begun anew";
}

TEST_F(PeerChecks, ThePeerThatIsNamedIsTaken) {
  live(4, R"(, "node": "n4")");
  order_and_wait();
  EXPECT_EQ(node_of(net_.serving), 4);
  EXPECT_THAT(came_of(), HasSubstr("fault"));
}

TEST_F(PeerChecks, WithoutAPeerItIsUnknown) {
  live(1);
  order();
  EXPECT_EQ(came_of(), "unknown there is no peer: no other node is idle, in service and free for it");
  EXPECT_TRUE(net_.peers.empty());
}

TEST_F(PeerChecks, AHelperThatDoesNotBeginLeavesItUnknown) {
  net_.fails = true;
  live(2);
  order();
  EXPECT_EQ(came_of(), "unknown the helper on n2 has not begun: no such device");
  net_.fails = false;
  net_.listens_after = minutes(1);
  order();
  EXPECT_EQ(came_of(), "unknown n2 did not begin the helper within 25 s");
  pass(seconds(5));
  EXPECT_TRUE(net_.serving.empty());
  EXPECT_TRUE(net_.peers.empty());
}

TEST_F(PeerChecks, AJobOnThePeerKeepsItOutAndEndsIt) {
  live(2);
  *at(2).busy = true;
  order();
  EXPECT_EQ(came_of(),
            "unknown the helper on n2 has not begun: serve needs an idle node: a step of a job runs here");
  *at(2).busy = false;
  order_and_wait();
  *at(2).busy = true;
  pass(seconds(2));
  EXPECT_TRUE(net_.serving.empty()) << "at once";
  EXPECT_EQ(came_of(), "unknown its helper was not there to the end: a step of a job runs here");
}

TEST_F(PeerChecks, TheHelperEndsWithTheAgentThatTests) {
  live(2);
  net_.test_takes = minutes(5);
  order_and_wait();
  kill_agent(1);
  pass(seconds(61));
  EXPECT_TRUE(net_.serving.empty());
}

TEST_F(PeerChecks, AnAgentThatBeginsAnewNeedsItsHelperNoMore) {
  live(2);
  net_.test_takes = minutes(5);
  order_and_wait();
  pass(seconds(10));
  kill_agent(1);
  begin_agent(1);
  pass(seconds(5));
  EXPECT_TRUE(net_.serving.empty());
}

TEST_F(PeerChecks, ATestWhosePeerDiesIsUnknown) {
  live(3);
  net_.test_takes = seconds(55);
  order_and_wait();
  kill_agent(node_of(net_.serving));
  EXPECT_THAT(came_of(), HasSubstr("unknown its helper was not there to the end: n2 is not heard any more"));
}

TEST_F(PeerChecks, ATestWhosePeerDiedAndIsBackIsUnknown) {
  live(3);
  net_.test_takes = seconds(30);
  order_and_wait();
  pass(seconds(6));
  kill_agent(2);
  begin_agent(2);
  EXPECT_THAT(came_of(),
              HasSubstr("unknown its helper was not there to the end: the agent of n2 runs it no more"));
}

TEST_F(PeerChecks, WithoutSickbaydNothingGoesOn) {
  live(2);
  net_.test_takes = minutes(5);
  order_and_wait();
  stop();
  pass(seconds(2));
  EXPECT_TRUE(net_.serving.empty());
  start();
  serve();
  pass(seconds(90));
  EXPECT_TRUE(net_.serving.empty());
}

TEST_F(PeerChecks, ANewSickbaydKnowsOfNoHelper) {
  live(2);
  order_and_wait();
  stop();
  start();
  serve();
  EXPECT_THAT(came_of(), HasSubstr("unknown its helper was not there to the end"));
  pass(seconds(40));
  EXPECT_TRUE(net_.serving.empty());
}

TEST_F(PeerChecks, AHelperThatIsOverTimeLeavesTheTestUnknown) {
  live(2);
  net_.test_takes = minutes(3);
  order_and_wait();
  EXPECT_EQ(came_of(minutes(6)), "unknown its helper was not there to the end: did not end in time");
}

// Each of the words between the three, lost once and lost always.
TEST_F(PeerChecks, WhateverWordIsLostNoHelperIsLeftBehind) {
  live(2);
  for (const char* act : {"want", "begun", "ended", "over"})
    for (const bool always : {false, true}) {
      int lost = 0;
      for (int i = 1; i <= 2; ++i)
        at(i).wire->loses = [&lost, act, always](const HttpRequest& request) {
          return request.path == "/v1/agent/peer" && request.body.find(act) != std::string::npos &&
                 (always || lost == 0) && ++lost > 0;
        };
      net_.test_takes = seconds(5);
      order();
      const std::string what = came_of();
      pass(minutes(2));
      EXPECT_TRUE(net_.serving.empty()) << act << " " << always << ": " << what;
      EXPECT_TRUE(what.starts_with("unknown ") || what.starts_with("fault ")) << act << ": " << what;
      for (int i = 1; i <= 2; ++i) at(i).wire->loses = nullptr;
      order();
      EXPECT_THAT(came_of(), HasSubstr("fault")) << "the next one is as ever, after " << act;
    }
  EXPECT_EQ(net_.alone, 0);
}

TEST_F(PeerChecks, OnlyWhatTheRulesNameAsHelperIsRunForOthers) {
  live(2);
  for (const char* operation : {"look", "link", "mend", "no"}) {
    const auto answer = send(
        "root@10.0.0.1", "POST", "/v1/agent/peer",
        fmt::format(
            R"({{"node": "n1", "act": "want", "specification": "net", "operation": "{}", "peer": "n2"}})",
            operation));
    pass(seconds(1));
    ASSERT_TRUE(answer->answered);
    EXPECT_THAT(answer->response.body, HasSubstr("have no helper")) << operation;
  }
  EXPECT_EQ(ask("root@10.0.0.1", "POST", "/v1/agent/peer", R"({"node": "n1", "act": "be"})")->response.status,
            400);
  EXPECT_TRUE(net_.serving.empty());
}

}  // namespace
}  // namespace sickbay
