// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/node_changes.h"

#include <gtest/gtest.h>

#include <map>

#include "adapters/sim/sim_loop.h"
#include "adapters/slurm/call_lane.h"
#include "base/error_json.h"

namespace sickbay::slurm {
namespace {

using namespace std::chrono_literals;

// The lane as it is, with a child that takes `takes` for a call and answers as it is told.
class NodeChangesTest : public ::testing::Test {
 protected:
  void drain(const std::string& node, const std::string& change = "drain") {
    changes.add(change, Json::object({{"node", node}}), [this, node](Result<bool> changed) {
      order += node + " ";
      answers[node] = changed ? (*changed ? "yes" : "no") : std::string(error_row(changed.error().code).name);
    });
  }
  void run(Micros time) { loop.run_until(loop.now() + time); }

  sim::SimLoop loop;
  UpdateRate rate{10};
  CallLane lane{loop, rate, 1, 3};
  Micros takes = 1s;
  std::function<Result<Json>(const Json& changes)> child = [](const Json& asked) {
    Json::Array all;
    for (std::size_t i = 0; i < asked.size(); ++i) all.push_back(Json::object({{"changed", true}}));
    return Json(all);
  };
  std::vector<std::size_t> calls;  // how many changes each had
  NodeChanges changes{[this](std::function<void()> start, std::function<void(Error)> refuse) {
                        return lane.submit({true, std::move(start), std::move(refuse)});
                      },
                      [this](Json args, std::function<void(Result<Json>)> then) {
                        calls.push_back(args["changes"].size());
                        loop.at(loop.now() + takes, [this, args, then] {
                          then(child(args["changes"]));
                          lane.finished();
                        });
                      }};
  std::map<std::string, std::string> answers;
  std::string order;
};

TEST_F(NodeChangesTest, OneGoesAtOnceAndThoseThatWaitGoTogether) {
  drain("n1");
  EXPECT_EQ(calls, (std::vector<std::size_t>{1}));
  for (const char* node : {"n2", "n3", "n4"}) drain(node);
  drain("n5", "undrain");
  EXPECT_EQ(order, "");
  run(1s);
  EXPECT_EQ(calls, (std::vector<std::size_t>{1, 4}));
  run(1s);
  EXPECT_EQ(order, "n1 n2 n3 n4 n5 ");
  EXPECT_EQ(answers["n5"], "yes");
}

TEST_F(NodeChangesTest, HalfAClusterGoesInPortionsAndOthersHaveTheirTurn) {
  drain("n0");
  for (std::size_t i = 1; i <= 5000; ++i) drain("n" + std::to_string(i));
  std::size_t looks = 0;
  lane.submit({false,
               [&] {
                 ++looks;
                 lane.finished();
               },
               [](Error) {}});
  run(2s);
  EXPECT_EQ(looks, 1u);  // it has not waited for all of them
  run(30s);
  EXPECT_EQ(answers.size(), 5001u);
  EXPECT_EQ(calls.size(), 1u + 5000 / NodeChanges::kMostAtOnce);
  EXPECT_EQ(changes.waiting(), 0u);
}

TEST_F(NodeChangesTest, EachHasItsOwnAnswer) {
  child = [](const Json&) {
    const Json error = Json::object({{"error", error_to_json(Error(ErrorCode::conflict, "somebody's"))}});
    return Json(Json::Array{Json::object({{"changed", false}}), error, Json::object({{"changed", true}})});
  };
  takes = 0s;
  lane.submit({true, [] {}, [](Error) {}});  // keeps the lane
  for (const char* node : {"n1", "n2", "n3", "n4"}) drain(node);
  lane.finished();
  run(1s);
  EXPECT_EQ(answers, (std::map<std::string, std::string>{
                         {"n1", "no"}, {"n2", "conflict"}, {"n3", "yes"}, {"n4", "internal"}}));
}

// The child has no more time: the rest comes first in the next call.
TEST_F(NodeChangesTest, WhatIsLeftComesNext) {
  int n = 0;
  child = [&n](const Json& asked) {
    Json::Array all;
    for (std::size_t i = 0; i < asked.size(); ++i)
      all.push_back(i < 2 || n > 0 ? Json::object({{"changed", true}}) : Json::object({{"later", true}}));
    ++n;
    return Json(all);
  };
  lane.submit({true, [] {}, [](Error) {}});
  for (const char* node : {"n1", "n2", "n3", "n4"}) drain(node);
  lane.finished();
  drain("n5");
  run(2s);
  EXPECT_EQ(order, "n1 n2 n3 n4 n5 ");
  EXPECT_EQ(calls, (std::vector<std::size_t>{4, 3}));
}

TEST_F(NodeChangesTest, AFailedCallFailsItsOwnAndNoOthers) {
  child = [](const Json&) -> Result<Json> { return fail(ErrorCode::timed_out, "no answer"); };
  drain("n1");
  drain("n2");
  run(1s);
  EXPECT_EQ(answers, (std::map<std::string, std::string>{{"n1", "timed_out"}}));
  child = [](const Json&) { return Json(Json::Array{Json::object({{"changed", true}})}); };
  run(1s);
  EXPECT_EQ(answers["n2"], "yes");
}

TEST_F(NodeChangesTest, AFullLaneAndALongWaitRefuseThemAll) {
  for (int i = 0; i < 4; ++i) lane.submit({true, [] {}, [](Error) {}});  // one starts and never ends
  drain("n1");
  EXPECT_EQ(answers["n1"], "busy");
  lane.finished();  // the next one takes its place; there is room for one that waits
  drain("n2");
  drain("n3");
  run(61s);
  lane.finished();
  EXPECT_EQ(answers["n2"], "slurm_away");
  EXPECT_EQ(answers["n3"], "slurm_away");
  EXPECT_EQ(changes.waiting(), 0u);
}

}  // namespace
}  // namespace sickbay::slurm
