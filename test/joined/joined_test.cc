// SPDX-License-Identifier: Apache-2.0
// An agent and sickbayd, both real, on a simulated cluster and in one virtual time.  The two see nothing of
// each other in the product; what each says here goes through the API as it does over TCP, without the TCP.
#include <gmock/gmock.h>

#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_processes.h"
#include "base/error_json.h"
#include "model/ids.h"
#include "model/verbs.h"
#include "service/agent/agent_test_parts.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/case_store.h"
#include "service/effects.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct NoStore : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, ""); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

/// Gives what sickbayd answers to who asked, on the loop.
struct WireReply : HttpReply {
  WireReply(Loop& l, Done<Json> d) : loop(l), done(std::move(d)) {}
  ~WireReply() override {
    if (!answered) loop.post([done = done] { done(fail(ErrorCode::daemon_away, "it has ended")); });
  }
  void respond(HttpResponse response) override {
    answered = true;
    Json body = Json::parse(response.body).value_or(Json());
    loop.post([done = done, body = std::move(body), status = response.status] {
      if (status < 400)
        done(body);
      else
        done(fail(error_from_json(body)));
    });
  }
  void begin_stream(std::string) override {}
  bool write(std::string) override { return false; }
  void end() override {}
  void on_close(std::function<void()>) override {}
  bool is_open() const override { return true; }
  Loop& loop;
  const Done<Json> done;
  bool answered = false;
};

// Nodes n1 to n6; the agent is that of n3.
class Joined : public AgentTest {
 protected:
  struct Daemon {
    explicit Daemon(Joined& t)
        : loop(t.loop_),
          processes(t.loop_, t.cluster_),
          effects(loop, t.cluster_, processes, store, t.config_, {"#!/bin/sh\n", {}, 0, 0}),
          seats(t.config_),
          controller(loop, t.journal_, t.cluster_, effects, seats, t.config_),
          agents(loop, controller,
                 [this](const std::string& name, auto done) {
                   loop.post([name, done] { done(std::vector<std::string>{"10.0.0." + name.substr(1)}); });
                 }),
          api(controller, store, t.cluster_, Api::Identity{"test", 1, loop.now()},
              [](const Caller&) { return false; }) {
      api.serve_agents(agents);
      (void)controller.replay();
      controller.start();
    }
    sim::ProcessLoop loop;
    NoStore store;
    sim::SimProcesses processes;
    Effects effects;
    Seats seats;
    Controller controller;
    Agents agents;
    Api api;
  };

  struct Wire : HttpClient {
    explicit Wire(Joined& t) : test(t) {}
    void ask(HttpQuestion question, Done<Json> done) override {
      if (!test.daemon_)
        return test.loop_.post([done] { done(fail(ErrorCode::daemon_away, "nobody there")); });
      HttpRequest request;
      request.method = question.method;
      request.path = question.target.substr(0, question.target.find('?'));
      for (std::size_t at = question.target.find('?'); at != std::string::npos;) {
        const std::size_t equals = question.target.find('=', at), end = question.target.find('&', equals);
        request.query.emplace_back(
            question.target.substr(at + 1, equals - at - 1),
            question.target.substr(equals + 1, end == std::string::npos ? end : end - equals - 1));
        at = end;
      }
      request.body = std::move(question.body);
      request.caller = Caller{0, 0, 0, "root", "10.0.0.3"};
      test.daemon_->api.serve(std::move(request), std::make_shared<WireReply>(test.loop_, std::move(done)));
    }
    Joined& test;
  };

  Joined() : cluster_(loop_, {}) {
    config_.drain.act = config_.drain.examine = true;
    config_.drain.breaker.most_out_percent = 100;
    begin();
    pass(seconds(1));
  }
  ~Joined() override {
    agent_.reset();
    end();
  }
  void begin() { daemon_ = std::make_unique<Daemon>(*this); }
  void end() {
    cluster_.drop_answers();
    daemon_.reset();
  }
  void start_agent() {
    agent_.reset();
    AgentOptions options;
    options.node = "n3";
    options.boot_id = boot_id_;
    options.version = "test";
    options.busy = [] { return false; };
    options.self = boot_id_ + "/1/" + std::to_string(++agents_);
    options.lives = [](const std::string&) { return false; };
    agent_ = std::make_unique<Agent>(loop_, *store_, operations_, &wire_, rules_, std::move(options));
    agent_->start();
  }
  /// What was done to n3, by the journal.
  std::vector<std::string> acts() const {
    std::vector<std::string> verbs;
    for (const Event& event : journal_.events())
      if (event.kind == kIntent && event.subject == node_subject("n3"))
        verbs.push_back(event.body["verb"].as_string());
    return verbs;
  }

  sim::SimCluster cluster_;
  sim::SimJournal journal_;
  Config config_;
  std::unique_ptr<Daemon> daemon_;
  Wire wire_{*this};
};

// Published of soperator as #1316 (doc/peers.md).
TEST_F(Joined, AMachineThatWasExchangedIsNotKeptOutByWhatWasSaidOfTheOldOne) {
  operations_.total = 4;  // a bank is lost
  start_agent();
  pass(minutes(3));
  ASSERT_THAT(acts(), ElementsAre(verb::kDrain));
  new_node();
  boot_id_ = "b2";
  operations_.total = 8;
  start_agent();
  pass(minutes(15));
  EXPECT_THAT(acts(), ElementsAre(verb::kDrain, verb::kUndrain));
}

// Published of NVSentinel as #450, after an absence (doc/peers.md).
TEST_F(Joined, WhatHasGoneWhileSickbaydWasAwayTakesNobodyOut) {
  // n1 leaves, and so n3 waits for the breaker: one node may leave an hour.
  daemon_->controller.take({new_event("f1", kFinding,
                                      Json::object({{"node", "n1"},
                                                    {"specification", "node"},
                                                    {"rule", "fan"},
                                                    {"result", "fault"},
                                                    {"action", "drain"},
                                                    {"text", "the fan is broken"}}))});
  pass(seconds(1));
  operations_.total = 4;
  start_agent();
  pass(minutes(3));
  EXPECT_EQ(drain::standing(daemon_->seats.drains().known(loop_.now()), "n3"), "waits");
  end();
  operations_.total = 8;
  pass(hours(3));
  begin();
  pass(hours(1));
  EXPECT_THAT(acts(), IsEmpty());
  EXPECT_EQ(drain::standing(daemon_->seats.drains().known(loop_.now()), "n3"), "in");
}

}  // namespace
}  // namespace sickbay::agent
