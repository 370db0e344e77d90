// SPDX-License-Identifier: Apache-2.0
// What the tests of the nonstop service share: sickbayd from its TCP port down to the simulated cluster
// n[1-6], and clients that send raw bytes.
//
// The loop of the sockets runs on a thread of its own and moves the cluster's time along with it, a hundred
// times as fast; the test's thread is the clients', and touches the rest by on_loop() alone.  Who a client is
// stands in its credential in plain text: munged has tests of its own, and one here.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "adapters/net/net_test_parts.h"
#include "adapters/net/nonstop_server.h"
#include "base/hostlist.h"
#include "model/ids.h"
#include "service/api_test_parts.h"
#include "service/nonstop/nonstop_service.h"

namespace sickbay {

inline constexpr std::uint32_t kRoot = 0, kSlurm = 900, kAda = 1001, kDora = 1002, kEve = 1003;

/// "MUNGE:<number>:<uid>:<payload>"; each number holds once.
class PlainCredentials final : public Credentials {
 public:
  explicit PlainCredentials(Loop& loop) : loop_(loop) {}
  void encode(std::string, std::uint32_t, Done<std::string> done) override {
    loop_.post([done] { done(fail(ErrorCode::munge_away, "not here")); });
  }
  void decode(std::string text, Done<Credential> done) override {
    loop_.post([this, text = std::move(text), done = std::move(done)] {
      if (away) return done(fail(Error(ErrorCode::munge_away, "munged does not answer")));
      const std::size_t number = text.find(':') + 1, uid = text.find(':', number) + 1,
                        payload = text.find(':', uid) + 1;
      if (number == 0 || uid == 0 || payload == 0)
        return done(fail(ErrorCode::denied, "a forged credential"));
      if (!seen_.insert(text.substr(number, uid - number)).second)
        return done(fail(ErrorCode::denied, "a credential that was seen before"));
      Credential read;
      read.uid = read.gid = static_cast<std::uint32_t>(std::stoul(text.substr(uid)));
      read.payload = text.substr(payload);
      done(read);
    });
  }
  bool away = false;

 private:
  Loop& loop_;
  std::set<std::string> seen_;
};

class NonstopWorld : public ApiTest {
 protected:
  NonstopWorld() {
    config_.nonstop.on = true;
    config_.nonstop.config.control_addr = "ctl";
    config_.nonstop.config.time_limit_extend = 4;
    config_.nonstop.config.time_limit_delay = 10;
    config_.nonstop.config.time_limit_drop = 30;
    config_.nonstop.config.drain_allow.names = {"dora", "eve"};
    restart();
  }
  ~NonstopWorld() override {
    if (thread_.joinable()) {
      on_loop([this] {
        service_.reset();
        server_->close();
        asio_->stop();
      });
      thread_.join();
    }
    server_.reset();
  }

  /// From now on clients are served.  Before, the test's thread has all.
  void serve(NonstopBounds bounds = {}, NonstopLimits limits = {}) {
    asio_ = make_asio_loop();
    credentials_ = std::make_unique<PlainCredentials>(*asio_);
    server_ = make_nonstop_server(*asio_, limits);
    port_ = *server_->listen("127.0.0.1", 0);
    begin_service(bounds);
    tick();
    thread_ = std::thread([this] { asio_->run(); });
  }
  void begin_service(NonstopBounds bounds = {}) {
    service_ = std::make_unique<NonstopService>(
        daemon_->loop, *controller_, credentials(), *server_,
        NonstopService::Users{[](std::uint32_t uid) { return uid == kRoot || uid == kSlurm; },
                              [](std::uint32_t uid, const std::function<void(const std::string&)>& then) {
                                then(uid == kAda ? "ada" : uid == kDora ? "dora" : uid == kEve ? "eve" : "");
                              }},
        bounds);
    api_->serve_nonstop(*service_);
  }
  virtual Credentials& credentials() { return *credentials_; }
  /// sickbayd is killed, and begins anew on the same journal, cluster and port.
  void kill_and_restart() {
    on_loop([this] {
      service_.reset();
      stop();
      start();
      begin_service();
    });
  }
  void on_loop(const std::function<void()>& task) {
    if (!thread_.joinable()) return task();
    run_on(*asio_, task);
  }
  /// Until it holds on the loop's thread, or nobody believes in it any more.
  bool becomes(const std::function<bool()>& good) { return becomes_on(*asio_, good); }
  /// Time of the cluster.
  void later(std::chrono::seconds time) {
    on_loop([&] { pass(std::chrono::duration_cast<std::chrono::milliseconds>(time)); });
  }
  std::atomic<bool> still_{false};  // the cluster's time stands

  // --- the cluster

  JobId submit(std::uint32_t uid, std::vector<std::string> options = {"-N3", "--no-kill", "-t60"}) {
    Submission p;
    p.owner = {"someone", uid, uid};
    p.script = "#!/bin/sh\n#SIM hang\n";
    p.script_name = "solver.sh";
    p.sbatch_options = std::move(options);
    p.work_dir = "/home/someone";
    JobId id = 0;
    on_loop([&] {
      const auto submitted = cluster_.sbatch(p);
      ASSERT_TRUE(submitted) << submitted.error().line();
      id = submitted->job_id;
    });
    later(std::chrono::seconds(10));
    return id;
  }
  void crash(const std::string& node) {
    on_loop([&] { cluster_.crash_node(node); });
    later(std::chrono::seconds(40));
  }
  std::string nodes_of(JobId job) {
    std::string nodes;
    on_loop([&] { nodes = cluster_.job(job)->nodes; });
    return nodes;
  }

  // --- a client

  std::string credential(std::uint32_t uid, const std::string& command) {
    return fmt::format("MUNGE:{}:{}:VERSION:22.05:{}", ++numbers_, uid, command);
  }
  TestPeer connect() const { return TestPeer(port_); }
  static std::string body_of(const std::string& framed) {
    const std::size_t at = wire::kHeaderBytes;
    return framed.size() > at ? framed.substr(at, framed.find('\0') - at) : framed;
  }
  std::string ask_raw(const std::string& body) {
    TestPeer peer = connect();
    peer.send(wire::frame(body));
    return body_of(peer.read_all());
  }
  /// The answer behind Slurm's version.
  std::string ask(std::uint32_t uid, const std::string& command) {
    const std::string told = ask_raw(credential(uid, command));
    return told.starts_with("22.05 ") ? told.substr(6) : told;
  }
  /// The next message of a stream.
  static Json next(TestPeer& stream) {
    for (;;) {
      const std::string header = stream.read_bytes(wire::kHeaderBytes);
      if (header.size() < wire::kHeaderBytes) return Json();
      const std::string body = body_of(header + stream.read_bytes(std::stoul(header)));
      auto read = Json::parse(body);
      if (!read) return Json(body);
      if (read->has("event")) return *read;  // else a sign of life
    }
  }

  std::unique_ptr<AsioLoop> asio_;
  std::unique_ptr<PlainCredentials> credentials_;
  std::unique_ptr<NonstopServer> server_;
  std::unique_ptr<NonstopService> service_;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::atomic<int> numbers_{0};

 private:
  void tick() {
    if (!still_) loop_.run_until(loop_.now() + std::chrono::milliseconds(100));
    asio_->at(asio_->now() + std::chrono::milliseconds(1), [this] { tick(); });
  }
};

}  // namespace sickbay
