// SPDX-License-Identifier: Apache-2.0
// What the tests of the API share: sickbayd from the API down, on the simulated cluster n[1-6].
//
// The journal, the cluster and the saved submissions outlive restart(), as they would a real one.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/case_store_test_parts.h"
#include "service/effects.h"

namespace sickbay {

struct Answer : HttpReply {
  HttpResponse response;
  bool answered = false, open = true;
  std::string streamed;
  void respond(HttpResponse r) override { response = std::move(r), answered = true; }
  void begin_stream(std::string) override { answered = true; }
  bool write(std::string chunk) override {
    streamed += chunk;
    return open;
  }
  void end() override { open = false; }
  void on_close(std::function<void()>) override {}
  bool is_open() const override { return open; }
};

class ApiTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kVerifier = 998;  ///< verify.user, who need not be root
  ApiTest() : cluster_(loop_, {.verification_uid = kVerifier}) { start(); }
  ~ApiTest() override { stop(); }

  // What one sickbayd holds, and loses when it is killed.
  struct Daemon {
    Daemon(ApiTest& t)
        : loop(t.loop_),
          processes(t.loop_, t.cluster_),
          effects(loop, t.cluster_, processes, t.store_, t.config_,
                  {"#!/bin/sh\n", {}, kVerifier, kVerifier}),
          seats(t.config_),
          controller(loop, t.journal_, t.cluster_, effects, seats, t.config_),
          api(controller, t.store_, t.cluster_, Api::Identity{"test", 1, loop.now()},
              [](const Caller& c) { return c.user == "ops"; }),
          agents(loop, controller, [](const std::string& name, const auto& done) {
            done(std::vector<std::string>{"10.0.0." + name.substr(1)});  // n3 is at 10.0.0.3
          }) {
      if (t.lab_) api.serve_lab();
      (void)controller.replay();
      controller.start();
    }
    sim::ProcessLoop loop;
    sim::SimProcesses processes;
    Effects effects;
    Seats seats;
    Controller controller;
    Api api;
    Agents agents;  // not served unless a test says so
  };
  void start() {
    daemon_ = std::make_unique<Daemon>(*this);
    api_ = &daemon_->api;
    controller_ = &daemon_->controller;
  }
  void stop() {
    cluster_.drop_answers();
    daemon_.reset();
  }
  void restart() {
    stop();
    start();
    pass(std::chrono::seconds(1));
  }
  void pass(std::chrono::milliseconds time) { loop_.run_until(loop_.now() + time); }

  /// Asks, and passes no time: the answer may come later.  "root@10.0.0.1" calls over TCP from there.
  std::shared_ptr<Answer> send(const std::string& user, const std::string& method, const std::string& target,
                               const std::string& body = "", const std::string& key = "") {
    static const std::map<std::string, std::uint32_t> kUids{
        {"root", 0}, {"alice", 60001}, {"bob", 60002}, {"ops", 60003}};
    HttpRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    for (std::size_t at = target.find('?'); at != std::string::npos;) {
      const std::size_t equals = target.find('=', at), end = target.find('&', at + 1);
      request.query.emplace_back(target.substr(at + 1, equals - at - 1),
                                 target.substr(equals + 1, end - equals - 1));
      at = end;
    }
    request.body = body;
    request.idempotency_key = key;
    request.caller.user = user.substr(0, user.find('@'));
    if (request.caller.user != user) request.caller.address = user.substr(user.find('@') + 1);
    request.caller.uid = request.caller.gid = kUids.at(request.caller.user);
    auto answer = std::make_shared<Answer>();
    api_->serve(std::move(request), answer);
    return answer;
  }
  std::shared_ptr<Answer> ask(const std::string& user, const std::string& method, const std::string& target,
                              const std::string& body = "", const std::string& key = "") {
    auto answer = send(user, method, target, body, key);
    pass(std::chrono::milliseconds(50));
    return answer;
  }
  static Json body_of(const std::shared_ptr<Answer>& answer) {
    return Json::parse(answer->response.body).value_or(Json());
  }

  /// All events, a line each.
  std::string journal_text() {
    std::string text;
    (void)journal_.read(0, [&](const Event& event) {
      text += event.text() + "\n";
      return true;
    });
    return text;
  }

  static std::string submission() {
    Submission s;
    s.script = "#!/bin/sh\n#SIM run=30s\n";
    s.script_name = "job.sh";
    s.work_dir = "/home/alice";
    s.owner.user = "root";  // what a request says of its owner does not count
    return Json::object({{"submission", s.to_json()}, {"options", Json::object()}}).dump();
  }

  sim::SimLoop loop_;
  sim::SimCluster cluster_;
  sim::SimJournal journal_;
  MemoryStore store_;
  Config config_;
  bool lab_ = true;
  std::unique_ptr<Daemon> daemon_;
  Api* api_ = nullptr;                // of daemon_
  Controller* controller_ = nullptr;  // of daemon_
};

}  // namespace sickbay
