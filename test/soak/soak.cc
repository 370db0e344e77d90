// SPDX-License-Identifier: Apache-2.0
// A soak: sickbayd for an hour among a thousand agents, 200 clients and somebody who means ill.
//
//   sickbay-soak [SECONDS [AGENTS [CLIENTS]]]
//
// sickbayd's loop, HTTP server (socket and TCP), engines, effects and journal are the real ones, in real
// time; Slurm is the simulator's, and credentials are in plain text.  sickbayd is killed now and then, and
// starts on its journal.  Closed cases are archived after two minutes, not 30 days, so that an hour shows
// what grows. It prints a line a minute, and fails where an honest request failed, where memory grows, or
// where a job has no verdict.  By hand: `make soak`; a short one is among the tests.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

#include "adapters/net/asio_loop.h"
#include "adapters/net/http_server.h"
#include "adapters/sim/process_loop.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_processes.h"
#include "adapters/sqlite/journal.h"
#include "apps/daemon/archivist.h"
#include "base/heap_test_parts.h"
#include "ports/people.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/case_store_test_parts.h"
#include "service/effects.h"
#include "service/submissions.h"
#include "test/soak/plain_credentials.h"
#include "test/soak/soak.h"

namespace sickbay::soak {

std::string address_of(int i) { return fmt::format("127.1.{}.{}", i / 250, i % 250 + 1); }

void Latency::add(std::chrono::nanoseconds took) {
  const double us = std::max(1.0, static_cast<double>(took.count()) / 1000);
  const auto bucket = static_cast<std::size_t>(4 * std::log2(us));
  ++buckets_[std::min(bucket, buckets_.size() - 1)];
}

std::int64_t Latency::count() const {
  std::int64_t all = 0;
  for (const auto& bucket : buckets_) all += bucket;
  return all;
}

double Latency::quantile(double q) const {
  auto left = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count())));
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    if (left -= buckets_[i]; left <= 0) return std::exp2(static_cast<double>(i + 1) / 4) / 1000;
  return 0;
}

void Shared::fail_with(const std::string& what) {
  ++failed;
  if (!has_word.exchange(true)) std::strncpy(word.data(), what.c_str(), word.size() - 1);
}

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Names : People {
  void ask(std::uint32_t uid, std::uint32_t, std::function<void(const Person&)> then) override {
    then({name_now(uid), {}});
  }
  std::string name_now(std::uint32_t uid) override { return uid == 0 ? "root" : fmt::format("u{}", uid); }
};

// MiB that the process has, and of them those that its parts hold: what lies between two holders, or was not
// given back when a sickbayd was killed, is in the first alone.
struct Memory {
  double resident = 0, held = 0;
};
Memory memory_now() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  constexpr double mib = 1 << 20;
  return {resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / mib,
          static_cast<double>(held_bytes()) / mib};
}

// What goes with a sickbayd that is killed.
struct Sickbayd {
  Sickbayd(sim::SimLoop& sim_loop, sim::SimCluster& cluster, sim::SimProcesses& processes, AsioLoop& asio,
           const Config& config, const std::string& journal_path, MemoryStore& store)
      : loop(sim_loop),
        journal(std::move(*open_journal(journal_path))),
        effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0}),
        seats(config),
        controller(loop, *journal, cluster, effects, seats, config),
        agents(loop, controller,
               [this](const std::string& name, auto done) {
                 const int i = std::atoi(name.c_str() + 1);
                 loop.post([done, i] { done(std::vector<std::string>{address_of(i)}); });
               }),
        api(controller, store, cluster, {"soak", 1, loop.now()}, [](const Caller&) { return false; }),
        submissions(loop, controller, store, seconds(0), [](const Error&) {}),
        server(make_http_server(asio)),
        archivist(loop, *journal, controller, {seconds(120), seconds(10)}) {
    api.serve_agents(agents);
    api.set_quotas(UserQuotas(config.client.quotas));
    SB_CHECK(controller.replay(), "our own journal replays");
    submissions.sweep();
    agents.bound_active(config.diagnose.active_at_once);
  }
  ~Sickbayd() { server->close(); }

  sim::ProcessLoop loop;
  std::unique_ptr<SqliteJournal> journal;
  Effects effects;
  Seats seats;
  Controller controller;
  Agents agents;
  Api api;
  Submissions submissions;
  std::unique_ptr<HttpServer> server;
  Archivist archivist;
};

class Soak {
 public:
  Soak(const Plan& plan, Shared& shared)
      : plan_(plan),
        shared_(shared),
        asio_(make_asio_loop()),
        sim_(asio_->now()),
        cluster_(sim_,
                 {.partitions = {{"batch", fmt::format("n[1-{}]", plan.agents)}}, .write_outputs = false}),
        credentials_(*asio_) {
    config_.drain.act = true;
    config_.verify.folder = "/shared/verify";
    cluster_.add_background({.live_jobs = static_cast<std::size_t>(plan.agents),
                             .busy_nodes = static_cast<std::size_t>(plan.agents / 4),
                             .nodes_per_job = 4,
                             .mean_run = seconds(300)});
  }

  bool run() {
    began_ = asio_->now();
    start();
    tick();
    for (int i = 1; i <= plan_.restarts; ++i)
      after(seconds(plan_.seconds * i / (plan_.restarts + 1)), [this] { kill_and_start(); });
    const int every = std::max(1, std::min(60, plan_.seconds / 10));
    fmt::print("{:>6} {:>8} {:>8} {:>7} {:>8} {:>7} {:>6} {:>7} {:>8} {:>6} {:>6}\n", "s", "MiB", "held",
               "jobs", "polls", "found", "taken", "attacks", "answers", "busy", "failed");
    for (int at = every; at <= plan_.seconds; at += every) after(seconds(at), [this, at] { tell(at); });
    after(seconds(plan_.seconds), [this] { asio_->stop(); });
    asio_->run();
    shared_.away = true;
    shared_.over = true;
    return judge();
  }

 private:
  void after(seconds in, std::function<void()> what) { asio_->at(began_ + in, std::move(what)); }

  void start() {
    sickbayd_ = std::make_unique<Sickbayd>(sim_, cluster_, processes_, *asio_, config_,
                                           plan_.folder + "/journal.db", store_);
    Sickbayd& s = *sickbayd_;
    s.server->name_callers_by(names_);
    s.server->on_request([this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
      if (request.path == "/soak/sbatch") return sbatch(request, *reply);
      sickbayd_->api.serve(std::move(request), std::move(reply));
    });
    SB_CHECK(s.server->listen_unix(plan_.socket(), 0666), "the socket is ours");
    auto port =
        s.server->listen_tcp("127.0.0.1", static_cast<std::uint16_t>(shared_.port.load()), credentials_);
    SB_CHECK(port, "the port is ours");
    shared_.port = *port;
    s.controller.on_committed([this](const Event& event) {
      shared_.taken += event.kind == kIntent && event.body["verb"].as_string() == "drain";
    });
    s.controller.start();
    s.archivist.work();
    // Who was refused a moment ago still comes and says so.
    asio_->at(asio_->now() + milliseconds(500), [this] { shared_.away = false; });
  }
  void kill_and_start() {
    shared_.away = true;
    ++shared_.lives;
    cluster_.drop_answers();
    processes_.drop_answers();
    sickbayd_.reset();
    asio_->at(asio_->now() + milliseconds(1500), [this] { start(); });
  }
  // What sbatch is to a user: slurmctld takes his job.
  void sbatch(const HttpRequest& request, HttpReply& reply) {
    auto body = Json::parse(request.body);
    auto submission =
        body ? Submission::from_json((*body)["submission"]) : Result<Submission>(fail(body.error()));
    if (!submission) return reply.respond(error_response(submission.error()));
    submission->owner = {request.caller.user, request.caller.uid, request.caller.gid};
    auto job = cluster_.sbatch(*submission);
    if (!job) return reply.respond(error_response(job.error()));
    reply.respond(json_response(200, Json::object({{"job_id", job->job_id}})));
  }
  void tick() {
    sim_.run_until(asio_->now());
    asio_->at(asio_->now() + milliseconds(1), [this] { tick(); });
  }

  std::int64_t answers() const {
    return shared_.status.count() + shared_.nodes.count() + shared_.cases.count() + shared_.submits.count();
  }
  void tell(int at) {
    const Memory now = memory_now();
    memory_.push_back(now);
    fmt::print("{:>6} {:>8.1f} {:>8.1f} {:>7} {:>8} {:>7} {:>6} {:>7} {:>8} {:>6} {:>6}\n", at, now.resident,
               now.held, shared_.jobs.load(), shared_.polls.load(), shared_.findings.count(),
               shared_.taken.load(), shared_.attacks.load(), answers(), shared_.busy.load(),
               shared_.failed.load());
    if (shared_.has_word) {
      fmt::print("       one that failed: {}\n", shared_.word.data());
      if (first_.empty()) first_ = shared_.word.data();
      shared_.word.fill('\0');
      shared_.has_word = false;
    }
    std::fflush(stdout);
  }

  bool judge() {
    for (const auto& [name, times] : {std::pair("status", &shared_.status),
                                      {"nodes", &shared_.nodes},
                                      {"cases", &shared_.cases},
                                      {"submit", &shared_.submits},
                                      {"findings", &shared_.findings}})
      fmt::print("{:>9}: {:>8} answers, p50 {:8.2f} ms, p99 {:8.2f} ms, worst {:8.2f} ms\n", name,
                 times->count(), times->quantile(0.5), times->quantile(0.99), times->quantile(1));
    bool good = true;
    const auto must = [&good](bool holds, const std::string& what) {
      if (!holds) fmt::print("FAILED: {}\n", what);
      good = good && holds;
    };
    if (first_.empty()) first_ = shared_.word.data();
    must(shared_.failed == 0,
         fmt::format("{} honest requests failed, the first: {}", shared_.failed.load(), first_));
    must(answers() > 0 && shared_.jobs > 0 && shared_.hellos >= plan_.agents &&
             shared_.findings.count() > 0 && shared_.taken > 0 && shared_.attacks > 0,
         "everybody was there");
    // From a third of the time on: until then what is kept for two minutes fills up.
    Memory then = memory_.at(memory_.size() / 3);
    const Memory now = memory_.back();
    // (A new life holds little until everybody is back: the most of the first third.)
    for (std::size_t i = 0; i < memory_.size() / 3; ++i) then.held = std::max(then.held, memory_[i].held);
    fmt::print(
        "memory: {:.1f} MiB after a third of the time, {:.1f} at the end; held: at most {:.1f} and {:.1f}\n",
        then.resident, now.resident, then.held, now.held);
    must(now.resident < then.resident * 1.15 + 16, "memory is flat");
    must(now.held < then.held * 1.15 + 16, "what is held is flat");
    // (Those of the last minutes have had no time to end.)
    if (sickbayd_) {
      std::size_t late = 0;
      const TimePoint old = asio_->now() - seconds(300);
      for (const std::int64_t no : sickbayd_->controller.seats().cases().state().open)
        late += sickbayd_->controller.seats().cases().state().cases.at(no).opened < old;
      must(late == 0, fmt::format("{} cases are open after five minutes", late));
    }
    return good;
  }

  const Plan& plan_;
  Shared& shared_;
  std::unique_ptr<AsioLoop> asio_;
  sim::SimLoop sim_;
  sim::SimCluster cluster_;
  sim::SimProcesses processes_{sim_, cluster_};
  PlainCredentials credentials_;
  Names names_;
  MemoryStore store_;
  Config config_;
  std::unique_ptr<Sickbayd> sickbayd_;
  TimePoint began_ = kNoTime;
  std::vector<Memory> memory_;
  std::string first_;  ///< of all that failed
};

int soak(Plan plan) {
  char folder[] = "/var/tmp/sickbay-soak-XXXXXX";
  if (::mkdtemp(folder) == nullptr || ::chmod(folder, 0755) != 0) return 1;
  plan.folder = folder;
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SB_CHECK(page != MAP_FAILED, "a page can be had");
  auto& shared = *new (page) Shared;
  std::vector<pid_t> children;
  const auto child = [&](const std::function<void()>& lives) {
    const pid_t pid = ::fork();
    SB_CHECK(pid >= 0, "a process can be had");
    if (pid == 0) {
      lives();
      ::_exit(0);
    }
    children.push_back(pid);
  };
  child([&] { be_agents(plan, shared); });
  for (std::uint32_t i = 0; i < kUsers; ++i) child([&] { be_user(plan, shared, kFirstUser + i); });
  child([&] { be_eve(plan, shared); });
  bool good = Soak(plan, shared).run();
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0) fmt::print("FAILED: a client ended with status {}\n", status);
    good = good && status == 0;
  }
  std::filesystem::remove_all(folder);
  fmt::print("soak: {}\n", good ? "good" : "failed");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sickbay::soak

int main(int argc, char** argv) {
  sickbay::soak::Plan plan;
  int* const words[] = {&plan.seconds, &plan.agents, &plan.clients};
  for (int i = 1; i < argc && i <= 3; ++i) *words[i - 1] = std::max(1, std::atoi(argv[i]));
  plan.restarts = std::clamp(plan.seconds / 10, 1, 6);
  std::signal(SIGPIPE, SIG_IGN);
  if (::geteuid() != 0) {
    std::fputs("sickbay-soak: run it as root: its clients are several users\n", stderr);
    return 77;
  }
  return sickbay::soak::soak(plan);
}
