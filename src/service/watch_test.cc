// SPDX-License-Identifier: Apache-2.0
// The watch and the controller's rounds, on a simulated cluster: when it looks, what it tells, and what a
// full disk may not lose.
#include "service/watch.h"

#include <gmock/gmock.h>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "service/case_store_test_parts.h"
#include "service/controller.h"
#include "service/effects.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A journal that counts what it is given at a time.
struct HeardJournal final : Journal {
  sim::SimJournal kept;
  std::vector<std::size_t> batches;   // events of each append that was kept
  std::size_t full_after = SIZE_MAX;  // appends; then the disk is full
  Status append(std::vector<Event>& events) override {
    if (batches.size() >= full_after) return fail(ErrorCode::storage_full, "No space left on device");
    auto done = kept.append(events);
    if (done) batches.push_back(events.size());
    return done;
  }
  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    return kept.read(after, each);
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    return kept.read_subject(subject, after, each);
  }
  std::int64_t last_seq() const override { return kept.last_seq(); }
  TimePoint last_stamp() const override { return kept.last_stamp(); }
  std::int64_t size_bytes() const override { return kept.size_bytes(); }
  void set_full(bool full) { kept.set_full(full); }
  const std::vector<Event>& events() const { return kept.events(); }
};

class WatchTest : public ::testing::Test {
 protected:
  struct Daemon {
    explicit Daemon(WatchTest& t)
        : processes(t.loop_, t.cluster_),
          effects(t.loop_, t.cluster_, processes, t.store_, t.config_, {"#!/bin/sh\n", {}, 0, 0}),
          seats(t.config_),
          controller(t.loop_, t.journal_, t.cluster_, effects, seats, t.config_) {
      EXPECT_TRUE(controller.replay());
      controller.start();
    }
    sim::SimProcesses processes;
    Effects effects;
    Seats seats;
    Controller controller;
  };
  static sim::SimOptions options() {
    sim::SimOptions o;
    o.write_outputs = false;
    return o;
  }
  WatchTest() : cluster_(loop_, options()) {
    config_.drain.act = true;
    daemon_ = std::make_unique<Daemon>(*this);
    run(1s);
  }
  void run(Micros time) { loop_.run_until(loop_.now() + time); }
  const cluster::Node& node(const std::string& name) { return daemon_->seats.cluster().view.nodes.at(name); }
  // `sickbay nodes`: somebody wants to see them.
  void ask_for_nodes() {
    daemon_->controller.watch().with_nodes(0s, [](Status) {});
    run(1s);
  }
  void say(const std::string& subject, std::string_view kind, Json body,
           std::function<void(Status)> kept = {}) {
    Event event;
    event.subject = subject;
    event.kind = kind;
    event.body = std::move(body);
    daemon_->controller.take({std::move(event)}, std::move(kept));
    run(100ms);
  }
  void finding(const std::string& name, const std::string& on) {
    say(name, kFinding,
        Json::object({{"node", on},
                      {"specification", "node"},
                      {"rule", "disk"},
                      {"result", "fault"},
                      {"action", "drain"},
                      {"text", "the disk"},
                      {"boot_id", "b"}}));
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> all;
    for (const Event& event : journal_.events()) all.push_back(event.kind);
    return all;
  }

  sim::SimLoop loop_;
  sim::SimCluster cluster_;
  HeardJournal journal_;
  NoStore store_;
  Config config_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(WatchTest, LooksOnceAtTheStartAndThenAtNobodysWishNotAtAll) {
  EXPECT_TRUE(daemon_->controller.watch().complete());
  EXPECT_EQ(daemon_->controller.watch().health().looks, 1u);
  EXPECT_THAT(kinds(), ElementsAre("controller_seen", "nodes_seen"));
  run(24h);
  EXPECT_EQ(daemon_->controller.watch().health().looks, 1u);
  cluster_.set_drain("n3", "a person");
  ask_for_nodes();
  EXPECT_TRUE(node("n3").drained) << "what people are shown is known to the engines, too";
}

TEST_F(WatchTest, NodeChangesSeenWhileTheDiskIsFullAreToldLater) {
  journal_.set_full(true);
  say("cluster", "lab_fault", Json::object());  // the round that finds out
  cluster_.set_down("n2", "a person");
  cluster_.set_drain("n4", "a person");
  ask_for_nodes();  // the one look that shows the difference
  EXPECT_FALSE(node("n2").down) << "not before it is kept";
  EXPECT_EQ(daemon_->controller.watch().nodes().at("n2").state, "DOWN") << "people see it at once";
  journal_.set_full(false);
  run(5s);
  EXPECT_TRUE(node("n2").down);
  EXPECT_TRUE(node("n4").drained);
  const auto looks = daemon_->controller.watch().health().looks;
  EXPECT_EQ(looks, 3u) << "it looked again, though nobody wished for it";
  // And once only.
  ask_for_nodes();
  EXPECT_THAT(kinds(), ElementsAre("controller_seen", "nodes_seen", "lab_fault", "nodes_seen"));
}

TEST_F(WatchTest, AChangeThatIsTakenBackBeforeItCouldBeKeptIsNoNews) {
  journal_.set_full(true);
  say("cluster", "lab_fault", Json::object());
  cluster_.set_drain("n4", "a person");
  ask_for_nodes();
  cluster_.heal("n4");
  ask_for_nodes();
  journal_.set_full(false);
  run(5s);
  EXPECT_THAT(kinds(), ElementsAre("controller_seen", "nodes_seen", "lab_fault"));
}

TEST_F(WatchTest, ANodeThatIsOutIsLookedAtWithoutHurry) {
  finding("f1", "n3");
  EXPECT_TRUE(daemon_->seats.drains().state().nodes.at("n3").ours);
  const auto looks = daemon_->controller.watch().health().looks;
  run(10min);
  EXPECT_NEAR(static_cast<double>(daemon_->controller.watch().health().looks - looks), 20, 2);
  // A person puts it back: noticed with the next look.
  cluster_.heal("n3");
  run(31s);
  EXPECT_FALSE(daemon_->seats.drains().state().nodes.at("n3").ours);
  EXPECT_THAT(daemon_->seats.cluster().claims.all(), IsEmpty()) << "and the claim on it is given back";
}

TEST_F(WatchTest, BootsOfAllNodesAreToldWhereSomebodyWishesForThem) {
  const auto boot = [&] { return node("n3").boot; };
  EXPECT_EQ(boot(), kNoTime) << "nobody wishes for it";
  const TimePoint first = cluster_.node("n3")->boot_time;
  config_.drain.gate_boot = true;
  daemon_ = nullptr;
  cluster_.drop_answers();
  daemon_ = std::make_unique<Daemon>(*this);
  run(1s);
  EXPECT_EQ(boot(), first);
  EXPECT_TRUE(journal_.events().back().body["boots"].as_bool()) << journal_.events().back().text();
  const std::size_t told = journal_.events().size();
  run(1min);
  EXPECT_EQ(journal_.events().size(), told) << "and told once";
  cluster_.crash_node("n3");
  cluster_.heal("n3");
  run(6s);
  EXPECT_GT(boot(), first);
  const Event& last = journal_.events().back();
  EXPECT_EQ(last.kind, "reason_ended") << "its gate was shut, and opened since no agent is listened to here";
  EXPECT_EQ(last.subject, "node:n3");
}

TEST_F(WatchTest, AJobThatIsNowhereIsForgottenWithItsCase) {
  say("c1", identify::kCaseOpened, Json::object({{"owner", Owner{"alice", 1, 1}.to_json()}}));
  say("c1", identify::kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 77}}));
  run(3s);  // a look or two: not enough to call it lost
  EXPECT_EQ(daemon_->controller.watch().absent(), 1u);
  say("c1", kCaseClosed, Json::object());
  run(1s);
  EXPECT_EQ(daemon_->controller.watch().absent(), 0u);
  EXPECT_EQ(std::ranges::count(kinds(), kJobLost), 0);
}

// --- rounds

TEST_F(WatchTest, FactsAndIntentsAreKeptTogetherBeforeAnythingIsDone) {
  const std::size_t before = journal_.batches.size();
  finding("f1", "n3");
  ASSERT_GT(journal_.batches.size(), before);
  // The finding, the claim and the intent in one transaction; the result of the effect in a later one.
  EXPECT_EQ(journal_.batches[before], 3u);
  const auto all = kinds();
  EXPECT_THAT(std::vector<std::string>(all.begin() + 2, all.begin() + 6),
              ElementsAre("finding", "claimed", "intent", "done"));
}

TEST_F(WatchTest, ADrainThatIsDoneWhileTheDiskIsFullIsNotTakenForUndone) {
  // The result of the drain comes when the disk is full, and no look has shown the drain.
  finding("f1", "n3");
  run(31s);  // n3 is looked at closely from here on
  finding("f2", "n2");
  EXPECT_TRUE(daemon_->seats.cluster().breaker.waits("node:n2"));
  run(1h);  // the window has moved on: n2 may leave, as far as that bound goes
  cluster_.set_drain("n5", "a person");
  config_.drain.breaker.most_out_percent = 100;
  const std::size_t before = journal_.batches.size();
  journal_.full_after = before + 1;  // the intent is kept, its result is not
  finding("f3", "n4");
  ASSERT_FALSE(daemon_->controller.health().journal) << "the disk is full";
  EXPECT_EQ(cluster_.node("n4")->flags, std::vector<std::string>{"DRAIN"}) << "the effect was under way";
  journal_.full_after = SIZE_MAX;
  run(1min);
  EXPECT_TRUE(daemon_->seats.drains().state().nodes.at("n4").ours);
  EXPECT_TRUE(daemon_->seats.cluster().claims.out().contains("n4"));
}

TEST_F(WatchTest, ANodeThatIsDrainedAgainBetweenTwoLooksIsToldOfAgain) {
  // Slurm shows it just as before its drain was lifted; the engine waits for a look since.
  finding("f1", "n3");
  run(31s);
  const auto look = node("n3").look;
  EXPECT_TRUE(node("n3").drained);
  config_.drain.breaker.most = config_.drain.breaker.most_percent = 100;
  say("f2", kFinding,
      Json::object({{"node", "n3"}, {"specification", "node"}, {"rule", "disk"}, {"result", "ok"}}));
  say("cluster", kUndoDrains, Json::object({{"nodes", "n3"}, {"rule", "fan"}}));
  config_.drain.lift_after = 0s;
  say("f3", kFinding,
      Json::object({{"node", "n3"}, {"specification", "node"}, {"rule", "disk"}, {"result", "ok"}}));
  EXPECT_FALSE(daemon_->seats.drains().state().nodes.at("n3").ours) << "lifted";
  finding("f4", "n3");
  EXPECT_TRUE(daemon_->seats.drains().state().nodes.at("n3").ours) << "and drained again";
  EXPECT_EQ(node("n3").look, look) << "with no look between";
  run(31s);
  EXPECT_GT(node("n3").look, look);
  const auto told = node("n3").look;
  run(10min);
  EXPECT_EQ(node("n3").look, told) << "once";
}

TEST_F(WatchTest, AFullDiskStopsActingAndLosesNothingThatWasDone) {
  finding("f1", "n3");
  std::vector<bool> kept;
  journal_.set_full(true);
  say("cluster", "lab_fault", Json::object(), [&](Status s) { kept.push_back(s.has_value()); });
  say("cluster", "lab_heal", Json::object(), [&](Status s) { kept.push_back(s.has_value()); });
  EXPECT_THAT(kept, ElementsAre(false, false)) << "who tells us something hears that it was not kept";
  finding("f2", "n4");
  EXPECT_EQ(cluster_.node("n4")->reason, "") << "acting stops";
  journal_.set_full(false);
  run(5s);
  // The first came into the round that is tried again; the others were turned away.
  const auto all = kinds();
  EXPECT_EQ(std::ranges::count(all, "lab_fault"), 1);
  EXPECT_EQ(std::ranges::count(all, "lab_heal"), 0);
  EXPECT_EQ(std::ranges::count(all, "finding"), 1);
  EXPECT_TRUE(daemon_->controller.health().journal);
}

TEST_F(WatchTest, AJournalWithoutClaimsGetsThemAtTheStart) {
  finding("f1", "n3");
  run(1min);
  // The same journal as a version without claims would have written it.
  std::vector<Event> old;
  for (const Event& event : journal_.events()) {
    if (event.kind == kClaimed) continue;
    Event e = event;
    e.v = 1;
    e.body = Json::object();
    for (const auto& [name, value] : event.body.members())
      if (name != "draws") e.body.set(name, value);
    old.push_back(std::move(e));
  }
  cluster_.drop_answers();
  daemon_.reset();
  journal_ = HeardJournal();
  ASSERT_TRUE(journal_.append(old));
  daemon_ = std::make_unique<Daemon>(*this);
  EXPECT_THAT(daemon_->seats.cluster().claims.out(), IsEmpty());
  EXPECT_EQ(daemon_->seats.cluster().breaker.partitions().at("batch").left.size(), 1u)
      << "what left is counted from the old intents";
  finding("f2", "n4");
  run(1s);
  EXPECT_THAT(daemon_->seats.cluster().claims.out(), ElementsAre("n3"));
  EXPECT_TRUE(daemon_->seats.cluster().breaker.waits("node:n4"))
      << "the old drain counts against the new one";
}

}  // namespace
}  // namespace sickbay
