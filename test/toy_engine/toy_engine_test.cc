// SPDX-License-Identifier: Apache-2.0
// What the controller and the watch promise to an engine that they do not know: its jobs are watched, its
// timers are its own, its claims hold against the others, the breaker counts it, and its faults stop nobody
// else.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "model/ids.h"
#include "test/sim_runner/sim_world.h"
#include "test/toy_engine/toy_seat.h"

namespace sickbay::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config config_that_drains() {
  Config config;
  config.drain.act = true;
  config.verify.folder = "/shared/verify";
  return config;
}

// sickbayd on six simulated nodes, with one engine more.
class ToyEngine : public ::testing::Test {
 protected:
  ToyEngine() : world_(options(), config_that_drains()) {
    world_.more_seats = [this](Seats& seats) {
      auto seat = std::make_unique<ToySeat>(seats.cluster());
      toy_ = seat.get();
      seats.add(std::move(seat));  // the one line
    };
    world_.on_event = [this](const Event& event) { events_.push_back(event); };
    world_.start_sickbayd();
    run(1s);
  }
  static SimOptions options() {
    SimOptions o;
    o.write_outputs = false;
    o.partitions = {{"batch", "n[1-20]"}};
    return o;
  }

  void run(Micros time) { world_.loop().run_until(world_.loop().now() + time); }
  void say(const std::string& subject, std::string_view kind, Json body) {
    Event event;
    event.subject = subject;
    event.kind = kind;
    event.body = std::move(body);
    world_.controller().take({std::move(event)});
    run(100ms);
  }
  void finding(int no, const std::string& node, const std::string& result = "fault") {
    say(finding_name(no), kFinding,
        Json::object({{"node", node},
                      {"specification", "node"},
                      {"rule", "disk"},
                      {"result", result},
                      {"action", result == "fault" ? "drain" : "none"},
                      {"text", "the disk"},
                      {"boot_id", "b"}}));
  }
  JobId sbatch(const std::string& does, const std::string& nodes = "1") {
    Submission s;
    s.owner = {"alice", 1001, 1001};
    s.script = "#!/bin/sh\n#SIM " + does + "\nsrun ./a\n";
    s.script_name = "a.sh";
    s.sbatch_options = {"-N" + nodes, "-t60"};
    s.work_dir = "/shared/alice";
    return world_.cluster().sbatch(s)->job_id;
  }
  std::vector<std::string> kinds_of(const std::string& subject) const {
    std::vector<std::string> kinds;
    for (const Event& event : events_)
      if (event.subject == subject) kinds.push_back(event.kind);
    return kinds;
  }
  std::string_view stands(const std::string& node) {
    return drain::standing(world_.controller().seats().drains().known(world_.controller().now()), node);
  }
  std::uint64_t looks() { return world_.controller().watch().health().looks; }

  SimWorld world_;
  ToySeat* toy_ = nullptr;
  std::vector<Event> events_;
};

TEST_F(ToyEngine, ItsJobIsWatchedAndNoOther) {
  const JobId job = sbatch("run=20s exit=3");
  sbatch("run=5s");
  say("t1", toy::kWanted, Json::object({{"job_id", job}, {"uid", 1001}}));
  run(60s);
  EXPECT_EQ(toy_->state().things.at("t1").job_state, "FAILED");
  EXPECT_THAT(kinds_of("t1"), ElementsAre("toy_wanted", "job_seen", "job_seen"));
  EXPECT_NE(world_.controller().seats().cluster().view.job({job, "t1", "t1.job"}), nullptr);
  EXPECT_TRUE(world_.controller().seats().cases().state().cases.empty()) << "it is nobody else's matter";
}

TEST_F(ToyEngine, AJobThatAnotherHasUnderItsNumberIsAStranger) {
  const JobId job = sbatch("run=20s");
  say("t1", toy::kWanted, Json::object({{"job_id", job}, {"uid", 1002}}));
  run(10min);
  EXPECT_THAT(kinds_of("t1"), ElementsAre("toy_wanted", "job_lost"));
}

TEST_F(ToyEngine, NodesAreLookedAtAsOftenAsItWishesAndNotWithoutAWish) {
  const auto before = looks();
  run(10min);
  EXPECT_EQ(looks(), before) << "nobody's wish costs a query";
  const JobId job = sbatch("run=20s");
  say("t1", toy::kWanted, Json::object({{"job_id", job}, {"uid", 1001}}));
  const auto first = looks();
  run(10s);
  EXPECT_NEAR(static_cast<double>(looks() - first), 20, 2) << "every 0.5 s, under the floor of 2 s";
  say("t1", toy::kDropped, Json::object());
  run(2s);
  const auto last = looks();
  run(10min);
  EXPECT_EQ(looks(), last);
}

TEST_F(ToyEngine, ItsTimersAreItsOwn) {
  // Both engines have a subject of the same name, and each its own time for it.
  say("node:n3", toy::kWanted, Json::object({{"every_s", 60}}));
  finding(1, "n3");
  EXPECT_EQ(stands("n3"), "out");
  finding(2, "n3", "ok");
  run(590s);
  EXPECT_EQ(toy_->state().things.at("node:n3").ticks, 9);
  EXPECT_EQ(stands("n3"), "out");
  run(60s);
  EXPECT_EQ(toy_->state().things.at("node:n3").ticks, 10);
  EXPECT_EQ(stands("n3"), "in") << "the drain engine was woken at its own time";
}

TEST_F(ToyEngine, AClaimKeepsOtherEnginesOff) {
  say("t1", toy::kWanted, Json::object({{"node", "n3"}}));
  finding(1, "n3");
  run(1h);
  EXPECT_EQ(stands("n3"), "claimed");
  EXPECT_FALSE(world_.controller().seats().cluster().view.nodes.at("n3").drained);
  // It survives a kill, and who waits still waits, and goes on when it is given back.
  world_.kill_sickbayd();
  world_.start_sickbayd();
  run(5min);
  EXPECT_EQ(stands("n3"), "claimed");
  say("t1", toy::kDropped, Json::object());
  run(1s);
  EXPECT_EQ(stands("n3"), "out");
  EXPECT_EQ(world_.controller().seats().cluster().claims.find("node:n3", world_.controller().now())->holder,
            "drain");
}

TEST_F(ToyEngine, WhoComesSecondWaitsTheOtherWayRound) {
  finding(1, "n3");
  EXPECT_EQ(stands("n3"), "out");
  say("t1", toy::kWanted, Json::object({{"node", "n3"}, {"take", true}}));
  run(1h);
  EXPECT_EQ(toy_->state().things.at("t1").drains, 0);
  finding(2, "n3", "ok");
  run(601s);
  EXPECT_EQ(toy_->state().things.at("t1").drains, 1) << "the claim was released, and it was asked again";
}

TEST_F(ToyEngine, TheBreakerCountsItWithAllOthers) {
  // 20 nodes: one may leave in an hour.
  say("t1", toy::kWanted, Json::object({{"node", "n3"}, {"take", true}}));
  EXPECT_EQ(toy_->state().things.at("t1").drains, 1);
  finding(1, "n4");
  EXPECT_EQ(stands("n4"), "waits");
  EXPECT_THAT(kinds_of("cluster"), ::testing::Contains("breaker_tripped"));
  run(61min);
  EXPECT_EQ(stands("n4"), "out") << "one more of 20 nodes may be out at one time";
}

TEST_F(ToyEngine, WithoutAClaimNoNodeLeaves) {
  say("t1", toy::kWanted, Json::object({{"node", "n3"}, {"take", true}, {"claims", false}}));
  run(1min);
  EXPECT_EQ(toy_->state().things.at("t1").drains, 0);
  EXPECT_THAT(kinds_of("t1"), ElementsAre("toy_wanted", "parked"));
  EXPECT_THAT(events_.back().body["why"].as_string(), HasSubstr("without a claim"));
}

TEST_F(ToyEngine, OneThatDoesNotSettleIsParkedAndStopsNobodyElse) {
  say("t1", toy::kWanted, Json::object({{"circles", true}}));
  EXPECT_EQ(world_.controller().parked(), 1u);
  ASSERT_THAT(kinds_of("t1"), ::testing::Contains("parked"));
  EXPECT_LE(toy_->asked, 32);
  const auto parked = events_.back();
  EXPECT_EQ(parked.body["engine"].as_string(), "toy");
  const auto said = kinds_of("t1").size();
  finding(1, "n3");
  EXPECT_EQ(stands("n3"), "out") << "the other engines go on";
  run(1h);
  EXPECT_EQ(kinds_of("t1").size(), said) << "it is left alone";
  // Something new happens to it: it is asked again, and parked again.
  say("t1", toy::kDropped, Json::object());
  EXPECT_EQ(world_.controller().parked(), 0u) << "now it settles";
}

TEST_F(ToyEngine, AReplayGivesItsStateToo) {
  const JobId job = sbatch("run=20s exit=3");
  say("t1", toy::kWanted, Json::object({{"job_id", job}, {"uid", 1001}, {"every_s", 60}}));
  say("t2", toy::kWanted, Json::object({{"node", "n5"}, {"take", true}}));
  finding(1, "n4");
  run(10min);
  const std::string before = world_.controller().canonical_text();
  EXPECT_THAT(before, HasSubstr("toy t1 job 1 FAILED"));
  EXPECT_THAT(before, HasSubstr("claim node:n5"));
  const Config config = config_that_drains();
  Seats again(config);
  again.add(std::make_unique<ToySeat>(again.cluster()));
  for (const Event& event : world_.journal().events()) again.replay(event);
  EXPECT_EQ(again.canonical_text(), before);
}

}  // namespace
}  // namespace sickbay::sim
