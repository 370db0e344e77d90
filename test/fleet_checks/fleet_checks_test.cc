// SPDX-License-Identifier: Apache-2.0
// The agents of a small cluster and their sickbayd, whole, over the endpoints: active checks run on so many
// nodes at once as may, on all of them in the end, and quick looks go on meanwhile.  A peer's did so on the
// whole fleet at once (spur#836, doc/peers.md).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
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

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A deep check each hour on an idle node, and a quick look each minute.
constexpr const char* kRules = R"({"specification": "s", "version": 1, "description": "d",
  "characteristics": {"mode": {"type": "string", "description": "d"}, "slow": {"type": "bool", "description": "d"}},
  "predicates": {"always": {"when": "true", "description": "d"}, "deep": {"when": "mode == \"deep\"", "description": "d"}},
  "operations": {"look": {"kind": "collect", "run": "look", "description": "d"},
    "burn": {"kind": "test", "run": "burn", "outputs": ["slow"], "needs_idle": true, "timeout": "1h", "description": "d"}},
  "productions": {"p0": {"if": "always", "then": "look", "description": "d"}, "p1": {"if": "deep", "then": "burn", "description": "d"}},
  "periods": {"deep": {"description": "d", "node": "idle", "every": "1h", "initial": {"mode": "deep"}},
    "always": {"description": "d", "every": "60s", "initial": {"mode": "quick"}}}})";

// Its burns take three minutes; all nodes of the fleet count together.
struct Fleet {
  std::set<std::string> burning;
  std::size_t most = 0;
  std::map<std::string, int> burns, looks;
};
class Operations : public OperationRunner {
 public:
  Operations(Loop& loop, Fleet& fleet, std::string node)
      : loop_(loop), fleet_(fleet), node_(std::move(node)) {}
  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    OperationEnd end;
    end.result = OperationEnd::Result::ok;
    if (call.operation == "look") {
      ++fleet_.looks[node_];
      return loop_.post([done, end] { done(end); });
    }
    fleet_.burning.insert(node_);
    fleet_.most = std::max(fleet_.most, fleet_.burning.size());
    end.outputs = Json::object({{"slow", false}});
    const auto over = [this, done, ended = std::make_shared<bool>(false)](OperationEnd how, bool whole) {
      if (std::exchange(*ended, true)) return;
      fleet_.burning.erase(node_);
      fleet_.burns[node_] += whole ? 1 : 0;
      done(std::move(how));
    };
    call.early_end->on_ask([this, over] { loop_.post([over] { over(OperationEnd(), false); }); });
    loop_.at(loop_.now() + minutes(3), [over, end] { over(end, true); });
  }

 private:
  Loop& loop_;
  Fleet& fleet_;
  const std::string node_;
};

class FleetChecks : public ApiTest {
 protected:
  static constexpr int kNodes = 6;
  FleetChecks() {
    char name[] = "/tmp/sickbay_fleet_XXXXXX";
    folder_ = ::mkdtemp(name);
    const diagnose::SpecificationFile file{"s.json", kRules};
    auto read = diagnose::read_specifications({&file, 1}, {"n1", {}});
    EXPECT_TRUE(read) << read.error().message("test");
    rules_ = {diagnose::compile(std::move(read->at(0)), compiler_).value()};
  }
  ~FleetChecks() override {
    nodes_.clear();
    std::filesystem::remove_all(folder_);
  }
  struct Node {
    std::unique_ptr<AgentStore> store;
    std::unique_ptr<Operations> operations;
    std::unique_ptr<Wire> wire;
    std::unique_ptr<agent::Agent> agent;
  };
  void serve(int at_once) {
    daemon_->api.serve_agents(daemon_->agents);
    daemon_->agents.bound_active(at_once);
  }
  void live(int at_once) {
    serve(at_once);
    for (int i = 1; i <= kNodes; ++i) {
      Node& node = nodes_.emplace_back();
      const std::string name = fmt::format("n{}", i);
      std::filesystem::create_directory(folder_ + "/" + name);
      node.store = open_agent_files(folder_ + "/" + name).value();
      node.operations = std::make_unique<Operations>(loop_, fleet_, name);
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
      options.busy = [] { return false; };
      node.agent = std::make_unique<agent::Agent>(loop_, *node.store, *node.operations, node.wire.get(),
                                                  rules_, std::move(options));
      node.agent->start();
    }
  }
  void kill_agent(int i) {
    nodes_[static_cast<std::size_t>(i - 1)].agent.reset();
    fleet_.burning.erase(fmt::format("n{}", i));  // what it ran dies with it
  }

  std::string folder_;
  DuktapePredicates compiler_;
  std::vector<std::shared_ptr<const diagnose::Rules>> rules_;
  Fleet fleet_;
  std::vector<Node> nodes_;
};

TEST_F(FleetChecks, WithoutABoundAllNodesAreCheckedAtOnce) {
  live(0);
  pass(hours(1));
  EXPECT_GT(fleet_.most, 2u) << "the peer's fault";
}

TEST_F(FleetChecks, RunOnSoManyNodesAtOnceAsMayAndOnAllInTheEnd) {
  live(2);
  pass(hours(2));
  EXPECT_EQ(fleet_.most, 2u);
  for (int i = 1; i <= kNodes; ++i) {
    EXPECT_GE(fleet_.burns[fmt::format("n{}", i)], 1) << "n" << i;
    EXPECT_GE(fleet_.looks[fmt::format("n{}", i)], 100) << "n" << i;
  }
}

TEST_F(FleetChecks, TheBoundHoldsOverARestartOfSickbayd) {
  live(1);
  for (int i = 0; i < 60 && fleet_.burning.empty(); ++i) pass(minutes(1));
  ASSERT_FALSE(fleet_.burning.empty());
  stop();
  pass(seconds(20));
  start();
  serve(1);
  pass(hours(2));
  EXPECT_EQ(fleet_.most, 1u);
  for (int i = 1; i <= kNodes; ++i) EXPECT_GE(fleet_.burns[fmt::format("n{}", i)], 1) << "n" << i;
}

TEST_F(FleetChecks, AnAgentThatDiesKeepsNobodyWaitingForLong) {
  live(1);
  for (int i = 0; i < 60 && fleet_.burning.empty(); ++i) pass(minutes(1));
  ASSERT_FALSE(fleet_.burning.empty());
  const int dies = std::stoi(fleet_.burning.begin()->substr(1));
  kill_agent(dies);
  pass(hours(2));
  EXPECT_EQ(fleet_.most, 1u);
  for (int i = 1; i <= kNodes; ++i)
    if (i != dies) {
      EXPECT_GE(fleet_.burns[fmt::format("n{}", i)], 1) << "n" << i;
    }
}

}  // namespace
}  // namespace sickbay
