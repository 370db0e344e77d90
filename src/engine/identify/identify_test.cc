// SPDX-License-Identifier: Apache-2.0
// The flow of a case, driven by events as the controller would: each command is intended once and answered by
// the little world below, which knows what P and V do on each node.
#include "engine/identify/identify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/hostlist.h"
#include "engine/identify/case_view.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using Names = std::vector<std::string>;

// What happens to a run of P on some nodes.
struct Fate {
  std::string state = "COMPLETED";
  int exit_code = 0;
  Names down = {};
  int exit_signal = 0;
  bool out_of_memory = false;  // as its output says
  Names down_later = {};       // when the run is over
};

// A cluster in events: FIFO, everything answers in the next step.
class World {
 public:
  explicit World(const std::string& node_list, const std::string& partition = "main") {
    all_ = *expand_hostlist(node_list);
    see_nodes(all_, true, false, partition);
  }

  std::function<Fate(int run, const Names& nodes)> program = [](int, const Names&) { return Fate{}; };
  std::function<std::string(const std::string& node)> verify = [](const std::string&) {
    return std::string("ok");
  };
  std::function<bool(const Names& nodes_of_run)> check = [](const Names&) { return true; };  // --check
  bool refuse_exclusions = false;  // Slurm says no to every --exclude
  Names users_exclude;             // --exclude of the user's own, which stands beside ours
  std::map<std::string, std::string>
      named;                // run -> node on which its output says that a rank died of SIGBUS
  std::string down_reason;  // of nodes that go down; "": as an older version told it
  bool verification_starts = true;
  bool cancel_fails = false;
  std::string options = "{}";
  Policy policy;
  cluster::Cluster cluster;
  State state;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<std::string> log;  // commands, in order

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

  void see_nodes(const Names& nodes, bool usable, bool down, const std::string& partition = "main") {
    Json group = Json::object({{"nodes", compress_hostlist(nodes)},
                               {"state", down ? "DOWN" : "IDLE"},
                               {"usable", usable},
                               {"down", down},
                               {"partitions", Names{partition}}});
    if (down && !down_reason.empty()) group.set("reason", down_reason).set("reason_uid", 0);
    event("cluster", kNodesSeen, Json::object({{"groups", Json::array({group})}}));
  }

  // Opens c1, runs r1 on `nodes` and then the case to its end (or until nothing more happens).
  const Case& investigate(const std::string& nodes) {
    event("c1", kCaseOpened,
          Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                        {"options", *Json::parse(options)},
                        {"work_dir", "/home/alice"},
                        {"output_dir", "/home/alice/sickbay-c1"}}));
    event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
    run_program("c1.r1", 1, 100, *expand_hostlist(nodes));
    settle();
    return state.cases.at(1);
  }

  void settle() {
    for (int round = 0; round < 200; ++round) {
      const Case& c = state.cases.at(1);
      Decision d = decide(cluster, state, policy, c, now);
      for (const cluster::Claim& claim : d.claims) {
        const Event granted = cluster::Claims::claimed(claim);
        event(granted.subject, granted.kind, granted.body);
      }
      if (!d.claims.empty()) d = decide(cluster, state, policy, c, now);
      bool acted = false;
      for (Event& r : d.records) event(r.subject, r.kind, r.body), acted = true;
      for (const Command& command : d.commands) {
        if (!keys_.insert(command.key).second) continue;
        acted = true;
        event("c1", kIntent,
              Json::object({{"key", command.key}, {"verb", command.verb}, {"args", command.args}}));
        log.push_back(command.key);
        answer(command);
      }
      if (state.cases.at(1).is_closed()) return;
      if (!acted) {
        if (d.wake_at == kNever || d.wake_at - now > std::chrono::hours(48)) return;
        now = std::max(now, d.wake_at);
      }
      now += std::chrono::seconds(1);
    }
    FAIL() << "the case does not settle: " << case_view(state.cases.at(1)).dump();
  }

  State replayed() const {
    State s;
    cluster::Cluster seen;
    for (const Event& e : events_) {
      cluster::apply(seen, e);
      apply(s, seen.view, e);
    }
    return s;
  }

  int runs_of(std::string_view verb_suffix) const {
    int n = 0;
    for (const std::string& key : log) n += key.ends_with(verb_suffix);
    return n;
  }

 private:
  void done(const Command& c, Json result) {
    event("c1", kDone, Json::object({{"key", c.key}, {"verb", c.verb}, {"result", std::move(result)}}));
  }
  void failed(const Command& c, const std::string& what) {
    event("c1", kFailed,
          Json::object({{"key", c.key}, {"verb", c.verb}, {"error", Json::object({{"what", what}})}}));
  }

  void see_job(const std::string& run, JobId id, const std::string& state_name, const Names& nodes,
               int exit_code = 0, int exit_signal = 0) {
    JobInfo job;
    job.job_id = id;
    job.uid = run.find(".v") == std::string::npos ? 60001 : 0;
    job.state = state_name;
    job.partition = "main";
    job.nodes = compress_hostlist(nodes);
    job.num_nodes = static_cast<std::uint32_t>(nodes.size());
    job.start = nodes.empty() ? kNoTime : now - std::chrono::seconds(10);
    job.end = state_name == "RUNNING" || state_name == "PENDING" ? kNoTime : now;
    job.exit_code = exit_code;
    job.exit_signal = exit_signal;
    job.std_out = "/home/alice/out";
    event("c1", kJobSeen, Json::object({{"run", run}, {"job", job.to_json()}}));
  }

  // Slurm looks at the exclusions of a held job when it is released, and holds it again where too few are
  // left.
  void hold_again(const std::string& run, JobId id) {
    JobInfo job;
    job.job_id = id;
    job.uid = 60001;
    job.state = "PENDING";
    job.reason = "BadConstraints";
    job.held = true;
    event("c1", kJobSeen, Json::object({{"run", run}, {"job", job.to_json()}}));
  }

  void run_program(const std::string& run, int n, JobId id, const Names& nodes) {
    see_job(run, id, "RUNNING", nodes);
    const Fate fate = program(n, nodes);
    if (!fate.down.empty()) see_nodes(fate.down, false, true);
    out_of_memory_[run] = fate.out_of_memory;
    see_job(run, id, fate.state, nodes, fate.exit_code, fate.exit_signal);
    if (!fate.down_later.empty()) see_nodes(fate.down_later, false, true);
  }

  void answer(const Command& c) {
    if (c.verb == "submit_program") {
      if (refuse_exclusions && c.args["exclude"].size() > 0 && c.args["attempt"].as_int() == 1)
        return failed(c, "Requested node configuration is not available");
      jobs_[c.key.substr(0, c.key.find(':'))] = c.args;
      return done(c, Json::object({{"job_id", next_job_++}, {"submit", 1}}));
    }
    if (c.verb == "submit_verification") {
      jobs_[c.key.substr(0, c.key.find(':'))] = c.args;
      return done(c, Json::object({{"job_id", next_job_++}, {"submit", 1}}));
    }
    const auto id = static_cast<JobId>(c.args["job_id"].as_int());
    const std::string key = c.key.substr(0, c.key.find(':'));
    const std::string run = key.substr(0, key.rfind(".a"));
    if (c.verb == "release") {
      done(c, Json::object());
      const Json& args = jobs_[key];
      if (run.find(".k") != std::string::npos) {
        const auto& looked_at =
            state.cases.at(1).programs.at(static_cast<std::size_t>(args["checks"].as_int() - 1));
        return see_job(run, id, check(looked_at.nodes) ? "COMPLETED" : "FAILED", {"n6"});
      }
      if (run.find(".v") != std::string::npos) {
        if (!verification_starts) return see_job(run, id, "PENDING", {});
        see_job(run, id, "COMPLETED", args["nodes"].as_strings());
        return;
      }
      const std::size_t needed = state.cases.at(1).programs.front().nodes.size();
      const Names excluded = hosts_in_either(args["exclude"].as_strings(), users_exclude);
      if (hosts_without(all_, excluded).size() < needed) return hold_again(run, id);
      Names free;
      for (const std::string& name : all_)
        if (free.size() < needed && cluster.view.nodes.at(name).usable && !has_host(excluded, name))
          free.push_back(name);
      if (free.size() < needed) return see_job(run, id, "PENDING", {});
      return run_program(run, static_cast<int>(parse_run_id(run)->n), id, free);
    }
    if (c.verb == "cancel") {
      if (cancel_fails) return failed(c, "Access/permission denied");
      done(c, Json::object({{"cancelled", true}}));
      return see_job(run, id, "CANCELLED", {});
    }
    ASSERT_EQ(c.verb, "read_output");
    Json results = Json::array();
    if (run.find(".v") != std::string::npos)
      for (const std::string& node : c.args["nodes"].as_strings())
        results.push(
            Json::object({{"node", node}, {"peer", ""}, {"result", verify(node)}, {"reason", "phase cpu"}}));
    Json trace = out_of_memory_[run] ? Json::object({{"out_of_memory", true}}) : Json();
    if (named.contains(run)) trace = Json::object({{"node", named[run]}, {"signal", 7}});
    done(c, Json::object({{"trace", trace}, {"results", results}}));
  }

  Names all_;
  std::vector<Event> events_;
  std::set<std::string> keys_;
  std::map<std::string, Json> jobs_;
  std::map<std::string, bool> out_of_memory_;
  JobId next_job_ = 200;
};

Fate fails() { return {"FAILED", 1, {}}; }
bool any_of(const Names& nodes, const Names& bad) { return !hosts_in_both(nodes, bad).empty(); }

// One row per kind of trouble: which nodes are bad, what the program does, and the verdict that must come of
// it.
struct TableRow {
  const char* name;
  std::function<void(World&)> trouble;
  Cause cause;
  const char* nodes;
  const char* rule;
  Confidence confidence;
};

TEST(Identify, TellsProgramFromNode) {
  const std::vector<TableRow> rows = {
      {"healthy", [](World&) {}, Cause::normal, "", "ok", Confidence::high},
      {"program bug", [](World& w) { w.program = [](int, const Names&) { return fails(); }; }, Cause::program,
       "", "P1", Confidence::high},
      {"program hangs",
       [](World& w) { w.program = [](int, const Names&) {
                        return Fate{"TIMEOUT", 0, {}};
                      }; }, Cause::program,
       "", "P1", Confidence::high},
      {"the program notices before Slurm that a node is gone",
       [](World& w) {
         w.program = [](int n, const Names&) {
           return n == 1 ? Fate{"FAILED", 1, {}, 0, false, {"n2"}} : Fate{};
         };
       },
       Cause::node, "n2", "D1", Confidence::high},
      {"out of memory in a step, which Slurm calls FAILED",
       [](World& w) { w.program = [](int, const Names&) {
                        return Fate{"FAILED", 1, {}, 0, true};
                      }; },
       Cause::out_of_memory, "", "end", Confidence::high},
      {"never began where its output cannot be opened",
       [](World& w) {
         w.program = [](int, const Names& n) {
           return any_of(n, {"n1"}) ? Fate{"FAILED", 0, {}, 53} : Fate{};
         };
       },
       Cause::inconclusive, "", "N3", Confidence::low},
      {"the second run never begins where its output cannot be opened, the third submission does",
       [](World& w) {
         w.program = [](int r, const Names& n) {
           return r > 1 && any_of(n, {"n3"}) ? Fate{"FAILED", 0, {}, 53} : fails();
         };
       },
       Cause::program, "", "P1", Confidence::high},
      {"a node goes down, and the second run never begins on its first nodes",
       [](World& w) {
         w.program = [](int r, const Names& n) {
           if (r == 1) return Fate{"FAILED", 1, {}, 0, false, {"n2"}};
           return any_of(n, {"n3"}) ? Fate{"FAILED", 0, {}, 53} : Fate{};
         };
       },
       Cause::node, "n2", "D1", Confidence::high},
      {"nothing begins anywhere",
       [](World& w) { w.program = [](int, const Names&) {
                        return Fate{"FAILED", 0, {}, 53};
                      }; },
       Cause::inconclusive, "", "N6", Confidence::low},
      {"bad node",
       [](World& w) {
         w.program = [](int, const Names& n) { return any_of(n, {"n2"}) ? fails() : Fate{}; };
         w.verify = [](const std::string& n) { return n == "n2" ? "failed" : "ok"; };
       },
       Cause::node, "n2", "G1", Confidence::high},
      {"slow node, program over its limit",
       [](World& w) {
         w.program = [](int, const Names& n) { return any_of(n, {"n1"}) ? Fate{"TIMEOUT", 0, {}} : Fate{}; };
         w.verify = [](const std::string& n) { return n == "n1" ? "slow" : "ok"; };
       },
       Cause::node, "n1", "G1", Confidence::high},
      {"slow node does not explain a crash",
       [](World& w) {
         w.program = [](int, const Names&) { return fails(); };
         w.verify = [](const std::string& n) { return n == "n1" ? "slow" : "ok"; };
       },
       Cause::program, "", "P1", Confidence::high},
      {"node goes down",
       [](World& w) {
         w.program = [](int r, const Names&) { return r == 1 ? Fate{"NODE_FAIL", 0, {"n2"}} : Fate{}; };
       },
       Cause::node, "n2", "D1", Confidence::high},
      {"takes other nodes down",
       [](World& w) { w.program = [](int, const Names& n) {
                        return Fate{"NODE_FAIL", 0, {n.front()}};
                      }; },
       Cause::inconclusive, "", "D2", Confidence::medium},
      {"fails once",
       [](World& w) { w.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{}; }; },
       Cause::non_deterministic, "", "P6", Confidence::high},
      {"bug, and the second run meets a bad node",
       [](World& w) {
         w.program = [](int, const Names&) { return fails(); };
         w.verify = [](const std::string& n) { return n == "n3" ? "failed" : "ok"; };
       },
       Cause::program, "", "P24", Confidence::medium},
      {"good on third nodes: the second run's node is faulty, and never ran the user's job",
       [](World& w) {
         w.program = [](int r, const Names&) { return r <= 2 ? fails() : Fate{}; };
         w.verify = [](const std::string& n) { return n == "n3" ? "failed" : "ok"; };
       },
       Cause::non_deterministic, "", "P23", Confidence::medium},
      {"V cannot run, bug",
       [](World& w) {
         w.program = [](int, const Names&) { return fails(); };
         w.verify = [](const std::string& n) { return n == "n1" || n == "n2" ? "unknown" : "ok"; };
       },
       Cause::program, "", "U1", Confidence::medium},
      {"V cannot run, the second run is good",
       [](World& w) {
         w.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{}; };
         w.verify = [](const std::string&) { return "unknown"; };
       },
       Cause::inconclusive, "", "U10", Confidence::low},
      {"V never starts",
       [](World& w) {
         w.program = [](int, const Names&) { return fails(); };
         w.verification_starts = false;
       },
       Cause::inconclusive, "", "U9", Confidence::low},
      {"a broken V blames nobody",
       [](World& w) {
         w.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{}; };
         w.verify = [](const std::string&) { return "failed"; };
       },
       Cause::inconclusive, "", "U10", Confidence::low},
      {"must not run twice, good nodes",
       [](World& w) {
         w.options = R"({"rerun":false})";
         w.program = [](int, const Names&) { return fails(); };
       },
       Cause::inconclusive, "", "P9", Confidence::medium},
      {"must not run twice, bad node",
       [](World& w) {
         w.options = R"({"rerun":false})";
         w.program = [](int, const Names&) { return fails(); };
         w.verify = [](const std::string& n) { return n == "n2" ? "failed" : "ok"; };
       },
       Cause::node, "n2", "G4", Confidence::medium},
      {"Slurm refuses the exclusions",
       [](World& w) {
         w.program = [](int, const Names&) { return fails(); };
         w.refuse_exclusions = true;
       },
       Cause::program, "", "P1", Confidence::medium},
      {"cancelled", [](World& w) { w.program = [](int, const Names&) {
                                     return Fate{"CANCELLED", 0, {}};
                                   }; },
       Cause::cancelled, "", "end", Confidence::high},
      {"out of memory",
       [](World& w) { w.program = [](int, const Names&) {
                        return Fate{"OUT_OF_MEMORY", 0, {}};
                      }; },
       Cause::out_of_memory, "", "end", Confidence::high},
      {"deadline", [](World& w) { w.program = [](int, const Names&) {
                                    return Fate{"DEADLINE", 0, {}};
                                  }; },
       Cause::deadline, "", "end", Confidence::high},
      {"preempted", [](World& w) { w.program = [](int, const Names&) {
                                     return Fate{"PREEMPTED", 0, {}};
                                   }; },
       Cause::cancelled, "", "end", Confidence::high},
  };
  for (const TableRow& row : rows) {
    SCOPED_TRACE(row.name);
    World world("n[1-6]");
    row.trouble(world);
    const Case& c = world.investigate("n[1-2]");
    ASSERT_TRUE(c.verdict.has_value());
    EXPECT_EQ(to_string(c.verdict->cause), to_string(row.cause)) << c.verdict->to_json().pretty();
    EXPECT_EQ(compress_hostlist(c.verdict->nodes), row.nodes);
    EXPECT_EQ(c.verdict->rule, row.rule);
    EXPECT_EQ(to_string(c.verdict->confidence), to_string(row.confidence));
    EXPECT_TRUE(c.verdict->final);
    EXPECT_TRUE(c.is_closed());
    EXPECT_EQ(canonical_text(world.replayed()), canonical_text(world.state)) << "replay differs";
  }
}

TEST(Identify, ARunThatNeverBeganGoesElsewhereAndTheVerificationWithIt) {
  World world("n[1-6]");
  world.program = [](int r, const Names& n) {
    return r > 1 && any_of(n, {"n3"}) ? Fate{"FAILED", 0, {}, 53} : fails();
  };
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.programs.at(1).attempt, 2);
  EXPECT_EQ(compress_hostlist(c.programs.at(1).nodes), "n[5-6]");
  EXPECT_EQ(compress_hostlist(c.programs.at(1).not_begun_on), "n[3-4]");
  ASSERT_NE(c.check_of(2), nullptr);
  EXPECT_EQ(compress_hostlist(c.check_of(2)->nodes), "n[5-6]");
  EXPECT_EQ(c.notes.size(), 1u) << case_view(c).dump();
}

TEST(Identify, OneNodeClusterRunsAgainOnTheSameNodeWithLowConfidence) {
  World world("n1");
  world.program = [](int, const Names&) { return fails(); };
  const Case& c = world.investigate("n1");
  ASSERT_TRUE(c.verdict);
  EXPECT_EQ(c.verdict->rule, "P1");
  EXPECT_EQ(c.verdict->confidence, Confidence::low);
  EXPECT_EQ(c.programs.at(1).reused, Names{"n1"});
}

TEST(Identify, TooFewNodesGiveBackAsFewAsNeeded) {
  World world("n[1-3]");
  world.program = [](int, const Names&) { return fails(); };
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.programs.at(1).reused.size(), 1u);
  EXPECT_EQ(c.verdict->confidence, Confidence::medium);
}

TEST(Identify, ConvictionNeedsAPassElsewhere) {
  // A one-node job: nothing in V's own run shows that V works here, so a control run on another node does.
  World world("n[1-3]");
  world.program = [](int, const Names& n) { return any_of(n, {"n1"}) ? fails() : Fate{}; };
  world.verify = [](const std::string& n) { return n == "n1" ? "failed" : "ok"; };
  const Case& c = world.investigate("n1");
  EXPECT_EQ(c.verdict->rule, "G1");
  ASSERT_NE(c.check_of(0), nullptr);
  EXPECT_NE(c.check_of(0)->nodes, Names{"n1"});
}

TEST(Identify, ReRunAndVerificationGoTogether) {
  World world("n[1-4]");
  world.program = [](int, const Names&) { return fails(); };
  world.investigate("n[1-2]");
  ASSERT_GE(world.log.size(), 3u);
  EXPECT_EQ(world.log[0], "c1.r1.a1:output");
  EXPECT_EQ(world.log[1], "c1.r2.a1:submit");
  EXPECT_EQ(world.log[2], "c1.v1.a1:submit");
}

TEST(Identify, ConvictedNodeCancelsTheReRunUnlessDeliveryWasAsked) {
  for (bool deliver : {false, true}) {
    World world("n[1-4]");
    if (deliver) world.options = R"({"deliver":true})";
    // r2 must wait for its nodes, so that it is still there when V speaks.
    world.see_nodes({"n3", "n4"}, true, false);
    world.program = [](int, const Names& n) { return any_of(n, {"n1"}) ? fails() : Fate{"RUNNING", 0, {}}; };
    world.verify = [](const std::string& n) { return n == "n1" ? "failed" : "ok"; };
    world.named["c1.r1"] = "n1";
    const Case& c = world.investigate("n[1-2]");
    EXPECT_EQ(c.verdict->rule, "G2");
    EXPECT_EQ(c.programs.at(1).outcome, deliver ? Outcome::running : Outcome::cancelled);
    EXPECT_EQ(c.is_closed(), !deliver);
  }
}

// r2 is put back into the queue and never starts again.
TEST(Identify, ADeliveryIsWaitedForNoLongerThanTheCaseAndItsAbsenceIsTold) {
  World world("n[1-4]");
  world.options = R"({"deliver":true})";
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"PENDING", 0, {}}; };
  world.verify = [](const std::string& n) { return n == "n1" ? "failed" : "ok"; };
  world.named["c1.r1"] = "n1";
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.verdict->rule, "G2");
  ASSERT_TRUE(c.is_closed());
  EXPECT_EQ(world.runs_of("c1.r2.a1:cancel"), 1);
  EXPECT_THAT(c.notes, testing::Contains(testing::HasSubstr("nothing was delivered: c1.r2 cancelled")));
  for (const std::string& line : c.verdict->next)
    EXPECT_EQ(line.find("is your result"), std::string::npos) << line;
  EXPECT_EQ(canonical_text(world.replayed()), canonical_text(world.state));
}

TEST(Identify, ADeliveryThatNobodyAllowedIsTold) {
  World world("n[1-4]");
  world.options = R"({"deliver":true,"rerun":"ask"})";
  world.program = [](int, const Names&) { return fails(); };
  world.verify = [](const std::string& n) { return n == "n1" ? "failed" : "ok"; };
  world.named["c1.r1"] = "n1";
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.verdict->rule, "G2");
  ASSERT_TRUE(c.is_closed());
  EXPECT_THAT(c.notes, testing::Contains(testing::HasSubstr("nobody had answered")));
}

TEST(Identify, OfALostNodeAVerificationThatPassedNowhereAddsNoneToTheCause) {
  World world("n[1-6]");
  world.policy.case_limit = std::chrono::hours(96);  // (the world goes to the next wake by itself)
  world.program = [](int r, const Names&) {
    return r == 1 ? Fate{"NODE_FAIL", 0, {"n1"}} : Fate{"RUNNING", 0, {}};
  };
  world.verify = [](const std::string&) { return "failed"; };
  const Case& c = world.investigate("n[1-3]");
  // The second run completes after V and its control run have failed everywhere.
  ASSERT_GE(c.verifications.size(), 2u);
  JobInfo job = c.programs.at(1).job;
  job.state = "COMPLETED";
  job.end = world.now;
  world.event("c1", kJobSeen, Json::object({{"run", "c1.r2"}, {"job", job.to_json()}}));
  world.settle();
  ASSERT_TRUE(c.is_closed());
  EXPECT_EQ(c.verdict->cause, Cause::node);
  EXPECT_EQ(c.verdict->nodes, (Names{"n1"}));
}

TEST(Identify, AThirdRunOnUsedNodesLowersTheConfidenceToo) {
  World world("n[1-4]");
  world.program = [](int, const Names&) { return fails(); };
  world.verify = [](const std::string& n) { return n == "n3" ? "failed" : "ok"; };
  const Case& c = world.investigate("n[1-2]");
  ASSERT_EQ(c.programs.size(), 3u) << c.verdict->sentence;
  EXPECT_EQ(c.verdict->rule, "P24");
  EXPECT_EQ(c.verdict->confidence, Confidence::low);
  EXPECT_THAT(c.verdict->why, testing::Contains(testing::HasSubstr("of earlier runs again")));
}

TEST(Identify, AConvictedNodeThatTheOutputDoesNotNameWaitsForTheReRun) {
  World world("n[1-4]");
  world.program = [](int, const Names& n) { return any_of(n, {"n1"}) ? fails() : Fate{"RUNNING", 0, {}}; };
  world.verify = [](const std::string& n) { return n == "n1" ? "failed" : "ok"; };
  world.named["c1.r1"] = "n2";
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.verdict->rule, "G3");
  EXPECT_FALSE(c.verdict->final);
  EXPECT_EQ(c.programs.at(1).outcome, Outcome::running);
}

// What is found faulty is told whatever the cause is, and drains by itself.
TEST(Identify, FindsFaultyBesidesTheCause) {
  World world("n[1-6]");
  world.program = [](int, const Names&) { return fails(); };
  world.verify = [](const std::string& n) { return n == "n2" ? "failed" : "ok"; };
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.verdict->rule, "G8") << c.verdict->sentence;
  EXPECT_EQ(c.verdict->nodes, Names());
  ASSERT_TRUE(c.verdict->faulty);
  EXPECT_EQ(*c.verdict->faulty,
            (std::vector<Faulty>{{"n2", "", "c1.v1", "verification failed", "phase cpu", true}}));
  EXPECT_EQ(Verdict::from_json(c.verdict->to_json()).faulty, c.verdict->faulty);
}

TEST(Identify, AVerdictOfAnOlderVersionHasOneAnswer) {
  Verdict v;
  v.nodes = {"n1"};
  EXPECT_FALSE(v.to_json().has("faulty"));
  EXPECT_FALSE(Verdict::from_json(v.to_json()).faulty);
}

TEST(Identify, ANodeFailureThatNobodySawDownCountsAsDown) {
  World world("n[1-6]");
  world.program = [](int r, const Names&) { return r == 1 ? Fate{"NODE_FAIL", 0, {}} : Fate{}; };
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.verdict->rule, "D1") << c.verdict->sentence;
  EXPECT_EQ(c.verdict->nodes, Names()) << "which one, nobody said";
}

TEST(Identify, APersonWhoSetsANodeDownEndsTheJobAndBlamesNobody) {
  World world("n[1-6]");
  world.down_reason = "disk exchange";
  world.program = [](int r, const Names&) { return r == 1 ? Fate{"NODE_FAIL", 0, {"n2"}} : Fate{}; };
  const Case& taken = world.investigate("n[1-2]");
  EXPECT_EQ(taken.verdict->rule, "taken") << taken.verdict->sentence;
  EXPECT_EQ(taken.verdict->cause, Cause::cancelled);
  EXPECT_EQ(world.runs_of(":submit"), 0);
  EXPECT_EQ(canonical_text(world.replayed()), canonical_text(world.state));

  World later("n[1-6]");
  later.down_reason = "disk exchange";
  later.program = [](int r, const Names&) {
    return r == 1 ? Fate{"FAILED", 1, {}, 0, false, {"n2"}} : Fate{};
  };
  const Case& c = later.investigate("n[1-2]");
  EXPECT_TRUE(c.programs.front().down_nodes.empty());
  EXPECT_NE(c.verdict->cause, Cause::node) << c.verdict->sentence;
  EXPECT_THAT(c.verdict->why, testing::Contains(testing::HasSubstr("was set DOWN by a person")));

  World slurm("n[1-6]");
  slurm.down_reason = "Not responding";
  slurm.program = [](int r, const Names&) {
    return r == 1 ? Fate{"FAILED", 1, {}, 0, false, {"n2"}} : Fate{};
  };
  EXPECT_EQ(slurm.investigate("n[1-2]").verdict->rule, "D1");
}

TEST(Identify, KnownBadNodesOfOtherCasesAreAvoided) {
  World world("n[1-6]");
  world.event("c9", kCaseOpened, Json::object({{"owner", Owner{}.to_json()}}));
  world.event(
      "c9", kIntent,
      Json::object(
          {{"key", "c9.v1.a1:submit"},
           {"verb", "submit_verification"},
           {"args",
            Json::object({{"run", "c9.v1"}, {"attempt", 1}, {"checks", 1}, {"nodes", Names{"n3"}}})}}));
  world.event(
      "c9", kDone,
      Json::object({{"key", "c9.v1.a1:output"},
                    {"verb", "read_output"},
                    {"result", Json::object({{"results", Json::array({Json::object(
                                                             {{"node", "n3"}, {"result", "failed"}})})}})}}));
  world.program = [](int, const Names&) { return fails(); };
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(compress_hostlist(c.programs.at(1).excluded), "n[1-3]");
}

TEST(Identify, LostRunIsSubmittedAgainUnderANewKey) {
  World world("n[1-4]");
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.policy.case_limit = std::chrono::hours(96);  // (the world goes to the next wake by itself)
  world.investigate("n[1-2]");
  world.event("c1", kJobLost, Json::object({{"run", "c1.r2"}, {"job_id", 200}}));
  world.settle();
  EXPECT_EQ(world.runs_of(".r2.a2:submit"), 1);
  EXPECT_EQ(world.state.cases.at(1).programs.at(1).attempt, 2);
}

TEST(Identify, HeldAgainAfterARestartOfSlurmctldIsReleasedAgain) {
  World world("n[1-4]");
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.investigate("n[1-2]");
  const identify::Run r2 = world.state.cases.at(1).programs.at(1);
  world.event("cluster", kControllerSeen, Json::object({{"boot", 77}}));
  JobInfo job = r2.job;
  job.state = "PENDING";
  job.held = true;
  world.now += std::chrono::seconds(5);
  world.event("c1", kJobSeen, Json::object({{"run", "c1.r2"}, {"job", job.to_json()}}));
  world.settle();
  EXPECT_EQ(world.runs_of(".r2.a1:release2"), 1);
}

// Seen on a real Slurm whose slurmctld was killed: the case waited two days for such a run.
TEST(Identify, AReRunThatSlurmCouldNotLaunchIsReleasedAgainAFewTimes) {
  World world("n[1-4]");
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.policy.case_limit = world.policy.rerun_wait = std::chrono::hours(96);
  world.investigate("n[1-2]");
  const auto r2 = [&]() -> const identify::Run& { return world.state.cases.at(1).programs.at(1); };
  for (int n = 1; n <= 4; ++n) {
    EXPECT_EQ(world.runs_of(".r2.a1:cancel"), 0);
    JobInfo job = r2().job;
    job.state = "PENDING";
    job.held = true;
    job.restart_cnt = static_cast<std::uint32_t>(n);
    job.reason = kLaunchFailedHeld;
    world.now += std::chrono::seconds(5);
    world.event("c1", kJobSeen, Json::object({{"run", "c1.r2"}, {"job", job.to_json()}}));
    world.settle();
    if (n < 4) {
      EXPECT_EQ(world.runs_of(".r2.a1:release" + std::to_string(n + 1)), 1) << n;
    }
  }
  EXPECT_EQ(world.runs_of(".r2.a1:cancel"), 1) << "not for ever";
  EXPECT_EQ(canonical_text(world.replayed()), canonical_text(world.state));
}

// A job that its owner holds is let be.
TEST(Identify, AReRunThatItsOwnerHoldsIsNotReleased) {
  World world("n[1-4]");
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.policy.case_limit = world.policy.rerun_wait = std::chrono::hours(96);
  world.investigate("n[1-2]");
  JobInfo job = world.state.cases.at(1).programs.at(1).job;
  job.state = "PENDING";
  job.held = true;
  job.reason = "JobHeldUser";
  world.now += std::chrono::seconds(5);
  world.event("c1", kJobSeen, Json::object({{"run", "c1.r2"}, {"job", job.to_json()}}));
  world.settle();
  EXPECT_EQ(world.runs_of(".r2.a1:release2"), 0);
}

// The user's own --exclude leaves only the nodes of the first run: Slurm holds the re-run, which must keep
// away from these too.
TEST(Identify, AReRunThatSlurmHoldsForWantOfNodesGoesOnceMoreWithFewerKeptAway) {
  World w("n[1-6]");
  w.users_exclude = {"n3", "n4", "n5", "n6"};
  w.program = [](int, const Names&) { return fails(); };
  const Case& c = w.investigate("n[1-2]");
  ASSERT_TRUE(c.is_closed());
  EXPECT_EQ(w.runs_of("c1.r2.a1:cancel"), 1);
  EXPECT_EQ(w.runs_of("c1.r2.a2:submit"), 1);
  EXPECT_EQ(c.programs.at(1).excluded, Names());
  EXPECT_EQ(c.verdict->cause, Cause::program) << c.verdict->sentence;
  EXPECT_EQ(c.verdict->confidence, Confidence::low);  // on the same nodes again
  EXPECT_EQ(canonical_text(w.replayed()), canonical_text(w.state));
}

TEST(Identify, AReRunThatSlurmHoldsIsGivenUpWhereNoNodeCanBeGivenBack) {
  World w("n[1-6]");
  w.users_exclude = {"n3", "n4", "n5", "n6"};
  w.program = [](int, const Names&) { return Fate{"NODE_FAIL", 0, {"n2"}}; };
  w.verification_starts = false;
  const Case& c = w.investigate("n[1-2]");
  // n1 alone can be given back, which is too little for a job of two nodes.
  EXPECT_EQ(w.runs_of("c1.r2.a2:submit"), 1);
  EXPECT_EQ(w.runs_of("c1.r2.a2:cancel"), 1);
  EXPECT_EQ(w.runs_of("c1.r2.a3:submit"), 0);
  EXPECT_EQ(c.programs.at(1).outcome, Outcome::cancelled);
}

TEST(Identify, AHeldReRunThatCouldNotBeCancelledHasNoSecondBesideIt) {
  World w("n[1-6]");
  w.users_exclude = {"n3", "n4", "n5", "n6"};
  w.cancel_fails = true;
  w.program = [](int, const Names&) { return fails(); };
  const Case& c = w.investigate("n[1-2]");
  EXPECT_EQ(w.runs_of("c1.r2.a2:submit"), 0);
  EXPECT_EQ(c.verdict->cause, Cause::inconclusive);
}

// With one other node, the re-run gets back one node of the first, and not both.
TEST(Identify, OnlyNodesThatRanAgainLowerTheConfidence) {
  World w("n[0-6]");
  w.users_exclude = {"n3", "n4", "n5", "n6"};
  w.program = [](int, const Names&) { return fails(); };
  const Case& c = w.investigate("n[1-2]");
  ASSERT_TRUE(c.is_closed());
  EXPECT_EQ(c.programs.at(1).reused, (Names{"n1"}));
  EXPECT_EQ(c.programs.at(1).nodes, (Names{"n0", "n1"}));
  EXPECT_EQ(c.verdict->confidence, Confidence::medium);
  EXPECT_THAT(c.verdict->why, testing::Contains(testing::HasSubstr("ran on n1 of the first run again")));
}

TEST(Identify, ACaseWithoutAJobExpires) {
  World world("n[1-2]");
  world.event("c1", kCaseOpened, Json::object({{"owner", Owner{}.to_json()}}));
  world.settle();
  EXPECT_EQ(world.state.cases.at(1).verdict->cause, Cause::expired);
  EXPECT_TRUE(world.state.open.empty());
}

TEST(Identify, CancelEndsOurRunsAndLeavesTheUsersAlone) {
  World world("n[1-4]");
  world.program = [](int r, const Names&) { return r == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.verification_starts = false;
  world.policy.verification_wait = std::chrono::hours(72);
  world.investigate("n[1-2]");
  world.event("c1", kCancelRequested, Json::object({{"by", "alice"}}));
  world.settle();
  EXPECT_EQ(world.runs_of(".r1.a1:cancel"), 0);
  EXPECT_EQ(world.runs_of(".r2.a1:cancel"), 1);
  EXPECT_EQ(world.runs_of(".v1.a1:cancel"), 1);
  EXPECT_EQ(world.state.cases.at(1).verdict->cause, Cause::cancelled);
}

TEST(Identify, LongerThanExpectedIsASymptom) {
  World world("n[1-4]");
  world.options = R"({"expect_time_s":5})";  // each run of the world takes 10 s
  const Case& c = world.investigate("n[1-2]");
  EXPECT_EQ(c.programs.front().symptom, Symptom::abnormal_time);
  EXPECT_EQ(c.verdict->cause, Cause::program);
}

TEST(Identify, ACompletingJobKeepsTheNodesThatSlurmTakesOffItsList) {
  World world("n[1-4]");
  world.event("c1", kCaseOpened, Json::object({{"owner", Owner{}.to_json()}}));
  world.event("c1", kJobBound, Json::object({{"run", "c1.r1"}, {"job_id", 100}}));
  JobInfo job;
  job.job_id = 100;
  for (const auto& [state, nodes] : {std::pair("RUNNING", "n[1-2]"), std::pair("TIMEOUT", "n1")}) {
    job.state = state;
    job.nodes = nodes;
    world.event("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", job.to_json()}}));
  }
  EXPECT_EQ(compress_hostlist(world.state.cases.at(1).programs.front().nodes), "n[1-2]");
}

TEST(Identify, TheUsersCheckTurnsACompletedRunIntoAWrongResult) {
  // The check fails wherever the program runs: wrong on good nodes, so the program.
  World bug("n[1-6]");
  bug.options = R"({"check":"grep -q right out"})";
  bug.check = [](const Names&) { return false; };
  const Case& program = bug.investigate("n[1-2]");
  EXPECT_EQ(program.programs.front().symptom, Symptom::wrong_result);
  EXPECT_EQ(program.verdict->rule, "P1");
  EXPECT_EQ(bug.runs_of(".k1.a1:submit"), 1);
  EXPECT_EQ(bug.runs_of(".k2.a1:submit"), 1);
  EXPECT_EQ(canonical_text(bug.replayed()), canonical_text(bug.state));
  // It fails on n2 only, where V fails too: the node.
  World node("n[1-6]");
  node.options = bug.options;
  node.check = [](const Names& n) { return !any_of(n, {"n2"}); };
  node.verify = [](const std::string& n) { return n == "n2" ? "failed" : "ok"; };
  EXPECT_EQ(node.investigate("n[1-2]").verdict->rule, "G1");
  // And where it passes the job is as normal as any.
  World good("n[1-6]");
  good.options = bug.options;
  EXPECT_EQ(good.investigate("n[1-2]").verdict->cause, Cause::normal);
}

TEST(Identify, ANodeTakenDownAfterVPassedOnItIsNotBlamed) {
  World world("n[1-4]");
  world.program = [](int n, const Names&) { return n == 1 ? fails() : Fate{"RUNNING", 0, {}}; };
  world.investigate("n[1-2]");
  ASSERT_EQ(world.state.cases.at(1).check_of(1)->outcome, Outcome::ok);
  world.see_nodes({"n2"}, false, true);  // by an operator, say
  EXPECT_TRUE(world.state.cases.at(1).programs.front().down_nodes.empty());
}

TEST(Identify, AnArchivedCaseLeavesOnlyItsNumber) {
  State state;
  Event event;
  event.subject = "c17";
  event.kind = kArchived;
  apply(state, {}, event);
  EXPECT_EQ(state.last_case, 17) << "its number is not given again";
  EXPECT_TRUE(state.cases.empty());

  Case& open = state.cases[18];
  open.no = 18;
  event.subject = "c18";
  apply(state, {}, event);
  EXPECT_EQ(state.cases.size(), 1u) << "an open case stays";
  open.closed = from_micros(5);
  open.jobs = {4711, 4712};
  state.by_job = {{4711, 18}, {4712, 19}};
  apply(state, {}, event);
  EXPECT_TRUE(state.cases.empty());
  EXPECT_EQ(state.by_job, (std::map<JobId, std::int64_t>{{4712, 19}})) << "another case has that job since";
}

TEST(Identify, UnknownEventsAreIgnored) {
  World world("n1");
  const std::string before = canonical_text(world.state);
  world.event("c7", "from_the_future", Json::object({{"x", 1}}));
  world.event("x5", kIntent, Json::object({{"key", "x5:y"}}));
  EXPECT_EQ(canonical_text(world.state), before);
}

}  // namespace
}  // namespace sickbay::identify
