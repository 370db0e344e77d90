// SPDX-License-Identifier: Apache-2.0
// Rounds of verification, told to the engine as the journal would: who is taken, who is let be, what is said.
#include "engine/patrol/patrol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/hostlist.h"
#include "model/event_kinds.h"
#include "model/verbs.h"

namespace sickbay::patrol {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A cluster n[1-10] of one partition, so that two nodes may be under verification at one time.
struct World {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> journal;
  std::vector<Command> commands;
  JobId last_job = 100;

  World() { nodes("n[1-10]", "IDLE", true); }

  void take(Event event) {
    event.at = now;
    journal.push_back(event);
    cluster::apply(cluster, event);
    apply(state, cluster.view, event);
  }
  void nodes(const std::string& names, const std::string& shown, bool idle,
             const std::string& partition = "batch") {
    const bool usable = shown == "IDLE" || shown == "ALLOCATED" || shown == "MIXED";
    take(new_event(
        "cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", names},
                                                            {"state", shown},
                                                            {"usable", usable},
                                                            {"down", shown == "DOWN"},
                                                            {"partitions", Json::array({partition})},
                                                            {"boot", 1},
                                                            {"idle", idle}})})}})));
  }
  void queue(const Json& partitions) {
    take(new_event("cluster", kQueueSeen, Json::object({{"partitions", partitions}})));
  }
  void ask(const std::string& names = "", int budget = 64, const std::string& round = "p1") {
    take(
        new_event(round, kPatrolAsked, Json::object({{"by", "root"}, {"nodes", names}, {"budget", budget}})));
    queue(Json::array());
  }
  // As the controller does it: claims first, then records and intents, until nothing is new.
  void settle() {
    for (int turn = 0; turn < 16; ++turn) {
      const Round* round = state.open();
      if (round == nullptr) return;
      Decision decision = decide(cluster, state, policy, *round, now);
      bool news = false;
      for (const cluster::Claim& claim : decision.claims)
        if (cluster.claims.find(claim.on, now) == nullptr) {
          take(cluster::Claims::claimed(claim));
          news = true;
        }
      if (news) continue;
      for (Event& record : decision.records) {
        take(std::move(record));
        news = true;
      }
      for (const Command& command : decision.commands) {
        if (std::ranges::find(commands, command.key, &Command::key) != commands.end()) continue;
        commands.push_back(command);
        take(new_event(command.subject, kIntent,
                       Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}})));
        news = true;
      }
      if (!news) return;
    }
    ADD_FAILURE() << "it does not settle";
  }
  /// Slurm shows once more what it showed, as the close look after a claim.
  void look(const std::string& names) {
    nodes(names, "IDLE", true);
    settle();
  }
  void done(const std::string& key, const std::string& what, Json result = Json::object()) {
    take(new_event(key.substr(0, key.find('.')), kDone,
                   Json::object({{"key", key}, {"verb", what}, {"result", std::move(result)}})));
    settle();
  }
  void job(const std::string& run, const std::string& shown, TimePoint start) {
    JobInfo info;
    info.job_id =
        state.rounds.at(1).runs.at(static_cast<std::size_t>(parse_patrol_run(run)->n - 1)).job.job_id;
    info.state = shown;
    info.start = start;
    if (shown != "RUNNING" && shown != "PENDING") info.end = now;
    take(new_event("p1", kJobSeen, Json::object({{"run", run}, {"job", info.to_json()}})));
    settle();
  }
  void submitted(const std::string& run) {
    done(run + ":submit", std::string(verb::kSubmitVerification),
         Json::object({{"job_id", ++last_job}, {"submit", to_micros(now)}, {"uid", 998}}));
    done(run + ":release", std::string(verb::kRelease));
  }
  /// V runs and says these: "n1" -> "ok".
  void speaks(const std::string& run, const std::vector<std::pair<std::string, std::string>>& words,
              const std::string& fault = "compute") {
    submitted(run);
    const TimePoint start = now;
    job(run, "RUNNING", start);
    now += minutes(1);
    job(run, "COMPLETED", start);
    Json results = Json::array();
    for (const auto& [node, result] : words)
      results.push(Json::object({{"node", node},
                                 {"peer", ""},
                                 {"result", result},
                                 {"fault", result == "failed" ? fault : ""},
                                 {"reason", "because"}}));
    done(run + ":output", std::string(verb::kReadOutput), Json::object({{"results", results}, {"why", ""}}));
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> list;
    for (const Command& command : commands) list.push_back(command.key);
    return list;
  }
  const Command* find(const std::string& key) const {
    const auto it = std::ranges::find(commands, key, &Command::key);
    return it == commands.end() ? nullptr : &*it;
  }
  std::vector<const Event*> of_kind(std::string_view kind) const {
    std::vector<const Event*> list;
    for (const Event& event : journal)
      if (event.kind == kind) list.push_back(&event);
    return list;
  }
  std::string claims() const {
    std::vector<std::string> names;
    for (const auto& [on, claim] : cluster.claims.all()) names.emplace_back(node_of_subject(on));
    return compress_hostlist(sorted_hosts(names));
  }
  std::string standing(const std::string& node) {
    const Sight sight{cluster, cluster.view.wanted_partitions,
                      [this](const std::string& name) { return cluster.view.node(name)->idle; }};
    return std::string(to_string(choose(sight, state, policy, *state.open(), now).at(node).standing));
  }
};

TEST(Patrol, ClaimsFirstThenLooksThenBegins) {
  World w;
  w.ask();
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]") << "the breaker of ten nodes lets two be out";
  EXPECT_THAT(w.keys(), IsEmpty()) << "Slurm has not shown them since";
  EXPECT_EQ(looked_at(w.cluster, w.state, w.policy, w.now).at("n1"), w.cluster.view.looks);
  w.look("n[1-2]");
  EXPECT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  EXPECT_THAT(w.commands[0].args["nodes"].as_strings(), ElementsAre("n1", "n2"));
  EXPECT_TRUE(w.commands[0].args["last"].as_bool());
  EXPECT_THAT(w.commands[0].draws, IsEmpty());
  w.speaks("p1.v1", {{"n1", "ok"}, {"n2", "slow"}});
  EXPECT_EQ(w.state.rounds.at(1).runs.at(0).job.uid, 0U) << "as Slurm showed it last";
  ASSERT_EQ(w.of_kind(kVerified).size(), 1U);
  EXPECT_EQ(w.of_kind(kVerified)[0]->body["run"].as_string(), "p1.v1");
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty()) << "slow is told, and no more";
  EXPECT_EQ(w.claims(), "n[3-4]") << "the next ones, and the first given back";
}

TEST(Patrol, TakesNothingBeforeTheQueueIsKnown) {
  World w;
  w.take(new_event("p1", kPatrolAsked, Json::object({{"by", "root"}, {"nodes", ""}, {"budget", 5}})));
  w.settle();
  EXPECT_EQ(w.claims(), "");
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]");
}

// Every reason to let a node be.
TEST(Patrol, Standings) {
  const struct {
    const char* what;
    std::function<void(World&)> before, after;
    const char* node;
    const char* standing;
  } kRows[] = {
      {"idle", {}, {}, "n1", "ready"},
      {"down", [](World& w) { w.nodes("n1", "DOWN", false); }, {}, "n1", "out"},
      {"drained", [](World& w) { w.nodes("n1", "IDLE+DRAIN", false); }, {}, "n1", "out"},
      {"a job has it", [](World& w) { w.nodes("n1", "ALLOCATED", false); }, {}, "n1", "busy"},
      {"claimed",
       [](World& w) {
         w.take(
             cluster::Claims::claimed({.on = "node:n1", .holder = "drain", .by = "node:n1", .reason = ""}));
       },
       {},
       "n1",
       "claimed"},
      {"jobs wait for it", {}, [](World& w) { w.queue(Json::array({"batch"})); }, "n1", "wanted"},
      {"jobs wait elsewhere", {}, [](World& w) { w.queue(Json::array({"long"})); }, "n1", "ready"},
      {"no room", {}, {}, "n3", "breaker"},
      {"two are out by us",
       [](World& w) {
         for (const char* on : {"node:n8", "node:n9"})
           w.take(
               cluster::Claims::claimed({.on = on, .holder = "drain", .by = on, .reason = "", .out = true}));
       },
       {},
       "n1",
       "breaker"},
      {"who left in this hour",
       [](World& w) {
         w.take(new_event("node:n9", kIntent,
                          Json::object({{"key", "k"}, {"verb", "drain"}, {"draws", Json::array({"n9"})}})));
       },
       {},
       "n1",
       "breaker"},
      {"verified by a case an hour ago",
       [](World& w) {
         w.take(new_event(
             "c3", kDone,
             Json::object(
                 {{"key", "c3.v1.a1:output"},
                  {"verb", "read_output"},
                  {"result",
                   Json::object({{"results", Json::array({Json::object(
                                                 {{"node", "n1"}, {"peer", ""}, {"result", "ok"}})})}})}})));
         w.now += minutes(60);
       },
       {},
       "n1",
       "fresh"},
  };
  for (const auto& row : kRows) {
    World w;
    if (row.before) row.before(w);
    w.ask();
    if (row.after) row.after(w);
    EXPECT_EQ(w.standing(row.node), row.standing) << row.what;
  }
}

TEST(Patrol, TheBudgetBounds) {
  World w;
  w.ask("", 1);
  w.settle();
  EXPECT_EQ(w.claims(), "n1");
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "ok"}});
  ASSERT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.state.rounds.at(1).why, "its budget is spent");
  EXPECT_EQ(w.claims(), "");
}

// One hour, and V may take half of it: two nodes at first, and more as those before took less.
TEST(Patrol, NodeHoursBoundAllRoundsOfADay) {
  World w;
  w.nodes("n[1-100]", "IDLE", true);
  w.policy.node_hours = 1;
  w.policy.longest = minutes(30);
  w.policy.together = 3;
  w.ask("", 1000);
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]");
  w.look("n[1-2]");
  w.speaks("p1.v1", {{"n1", "ok"}, {"n2", "ok"}});
  EXPECT_EQ(w.state.rounds.at(1).node_seconds(), 120);
  EXPECT_EQ(w.claims(), "n3") << "58 minutes are left, and two may take 60";
  w.look("n3");
  w.submitted("p1.v2");
  const TimePoint start = w.now;
  w.job("p1.v2", "RUNNING", start);
  EXPECT_EQ(w.standing("n4"), "budget") << "what runs may take all that it may";
  w.now += minutes(29);
  w.job("p1.v2", "FAILED", start);
  w.done("p1.v2:output", std::string(verb::kReadOutput),
         Json::object({{"results", Json::array()}, {"why", "nothing"}}));
  ASSERT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.state.rounds.at(1).why, "its budget is spent");
  EXPECT_EQ(w.state.rounds.at(1).node_seconds(), 120 + 29 * 60);

  w.ask("", 1000, "p2");
  EXPECT_EQ(w.standing("n4"), "budget") << "of all rounds";
  w.now += std::chrono::hours(24);
  EXPECT_EQ(w.standing("n4"), "ready") << "of a day";
}

TEST(Patrol, NamedNodesAreTakenAlthoughTheyAreFresh) {
  World w;
  w.state.nodes["n5"] = {.passed_at = w.now, .said_at = w.now, .by = "c1.v1", .result = "ok", .reason = ""};
  w.ask("n5");
  w.settle();
  EXPECT_EQ(w.claims(), "n5");
  w.look("n5");
  w.speaks("p1.v1", {{"n5", "ok"}});
  EXPECT_EQ(w.state.rounds.at(1).why, "all nodes are done");
}

TEST(Patrol, OldestFirst) {
  World w;
  for (int i = 1; i <= 10; ++i) {
    NodeRecord& node = w.state.nodes["n" + std::to_string(i)];
    node.said_at = w.now - std::chrono::hours(40 + (i == 7 || i == 9 ? 1 : 0));
  }
  w.ask();
  w.settle();
  EXPECT_EQ(w.claims(), "n[7,9]");
}

TEST(Patrol, AJobTookItBetweenClaimAndLook) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.nodes("n1", "ALLOCATED", false);
  w.look("n2");
  ASSERT_NE(w.find("p1.v1:submit"), nullptr);
  EXPECT_THAT(w.find("p1.v1:submit")->args["nodes"].as_strings(), ElementsAre("n2"));
  EXPECT_EQ(w.claims(), "n2");
}

TEST(Patrol, UsersJobsEndIt) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.look("n[1-2]");
  w.submitted("p1.v1");
  w.job("p1.v1", "RUNNING", w.now);
  w.queue(Json::array({"batch"}));
  w.settle();
  ASSERT_NE(w.find("p1.v1:cancel"), nullptr);
  EXPECT_EQ(w.find("p1.v1:cancel")->args["why"].as_string(), "jobs wait for partition batch");
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", w.now);
  EXPECT_EQ(w.find("p1.v1:output"), nullptr);
  EXPECT_EQ(w.claims(), "");
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]") << "it goes on";
  w.look("n[1-2]");
  w.speaks("p1.v2", {{"n1", "ok"}, {"n2", "ok"}});
  EXPECT_EQ(w.of_kind(kClaimReleased).size(), 4U) << "each claim once";
}

TEST(Patrol, ItsNodesAreTakenBeforeItBegins) {
  World w;
  w.ask("n1");
  w.settle();
  w.look("n1");
  w.submitted("p1.v1");
  w.job("p1.v1", "PENDING", kNoTime);
  EXPECT_EQ(w.find("p1.v1:cancel"), nullptr);
  w.now += seconds(61);
  w.settle();
  EXPECT_NE(w.find("p1.v1:cancel"), nullptr);
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", kNoTime);
  EXPECT_FALSE(w.state.rounds.at(1).vain.contains("n1")) << "it gave way";
}

TEST(Patrol, OneThatSaysNothingIsTriedThreeTimes) {
  World w;
  w.ask("n1");
  for (int n = 1; n <= 3; ++n) {
    w.settle();
    ASSERT_EQ(w.claims(), "n1") << n;
    w.look("n1");
    w.speaks("p1.v" + std::to_string(n), {});
  }
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.claims(), "");
}

// A word against a node needs a pass on another one, before or after it, within a day.
TEST(Patrol, BlamesOnlyWithAProofThatVIsSound) {
  World w;
  w.policy.together = 1;
  w.ask("n[1-2]");
  w.settle();
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "failed"}});
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
  w.look("n2");
  w.speaks("p1.v2", {{"n2", "ok"}});
  ASSERT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
  const Json& faulty = w.of_kind(kPatrolBlames)[0]->body["faulty"].items().at(0);
  EXPECT_EQ(faulty["node"].as_string(), "n1");
  EXPECT_EQ(faulty["by"].as_string(), "p1.v1");
  EXPECT_TRUE(faulty["drains"].as_bool());
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.of_kind(kPatrolClosed)[0]->body["failed"].as_string(), "n1");
}

TEST(Patrol, AFullFileSystemOrALinkBlamesNobody) {
  World w;
  w.state.nodes["n9"] = {.passed_at = w.now, .said_at = w.now, .by = "c1.v1", .result = "ok", .reason = ""};
  w.ask("n1");
  w.settle();
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "failed"}}, "space");
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
}

TEST(Patrol, Stop) {
  World w;
  w.ask();
  w.settle();
  w.look("n[1-2]");
  w.submitted("p1.v1");
  w.job("p1.v1", "RUNNING", w.now);
  w.take(new_event("p1", kPatrolStop, Json::object({{"by", "ops"}})));
  w.settle();
  ASSERT_NE(w.find("p1.v1:cancel"), nullptr);
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", w.now);
  EXPECT_EQ(w.state.rounds.at(1).why, "stopped by ops");
  EXPECT_EQ(w.claims(), "");
}

TEST(Patrol, StoppedBetweenClaimAndLook) {
  World w;
  w.ask();
  w.settle();
  w.take(new_event("p1", kPatrolStop, Json::object({{"by", "ops"}})));
  w.settle();
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.claims(), "");
  EXPECT_THAT(w.keys(), IsEmpty());
}

TEST(Patrol, ItsTimeIsBounded) {
  World w;
  w.nodes("n[1-10]", "ALLOCATED", false);
  w.ask();
  w.settle();
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.now += w.policy.time;
  w.settle();
  EXPECT_EQ(w.state.rounds.at(1).why, "its time is over");
}

TEST(Patrol, LostRefusedAndUncancellable) {
  const struct {
    const char* what;
    std::function<void(World&)> happens;
  } kRows[] = {
      {"lost",
       [](World& w) {
         w.submitted("p1.v1");
         w.take(new_event("p1", kJobLost, Json::object({{"run", "p1.v1"}, {"job_id", 101}})));
       }},
      {"refused",
       [](World& w) {
         w.take(new_event("p1", kFailed,
                          Json::object({{"key", "p1.v1:submit"},
                                        {"verb", "submit_verification"},
                                        {"error", Json::object({{"what", "no"}})}})));
       }},
      {"cancelled by a person",
       [](World& w) {
         w.submitted("p1.v1");
         w.job("p1.v1", "RUNNING", w.now);
         w.job("p1.v1", "CANCELLED", w.now);
       }},
  };
  for (const auto& row : kRows) {
    World w;
    w.ask("n1");
    w.settle();
    w.look("n1");
    ASSERT_NE(w.find("p1.v1:submit"), nullptr) << row.what;
    row.happens(w);
    w.settle();
    EXPECT_EQ(w.find("p1.v1:output"), nullptr) << row.what;
    EXPECT_EQ(w.state.rounds.at(1).vain.at("n1"), 1) << row.what;
    w.look("n1");
    EXPECT_NE(w.find("p1.v2:submit"), nullptr) << row.what << ": it is tried anew";
  }
}

TEST(Patrol, AReplayGivesTheSame) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.look("n[1-2]");
  w.speaks("p1.v1", {{"n1", "failed"}, {"n2", "ok"}});
  World again;
  again.cluster = {};
  again.state = State();
  for (const Event& event : w.journal) {
    cluster::apply(again.cluster, event);
    apply(again.state, again.cluster.view, event);
  }
  EXPECT_EQ(canonical_text(again.state), canonical_text(w.state));
  EXPECT_THAT(canonical_text(w.state), HasSubstr("said n1 failed"));
}

}  // namespace
}  // namespace sickbay::patrol
