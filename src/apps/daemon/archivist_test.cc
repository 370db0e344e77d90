// SPDX-License-Identifier: Apache-2.0
// The archivist over a real journal: what it forgets, and how long the loop waits for it.
#include "apps/daemon/archivist.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "adapters/sqlite/journal.h"
#include "service/case_store.h"
#include "service/controller.h"
#include "service/effects.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct NoStore : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, ""); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

// The simulator's time, in which a compaction takes some.
struct SlowLoop : Loop {
  explicit SlowLoop(sim::SimLoop& s) : sim(s) {}
  TimePoint now() const override { return sim.now() + taken; }
  void post(std::function<void()> task) override { sim.post(std::move(task)); }
  TimerId at(TimePoint when, std::function<void()> task) override { return sim.at(when, std::move(task)); }
  void cancel(TimerId timer) override { sim.cancel(timer); }
  void watch(int, std::function<void()>) override {}
  void unwatch(int) override {}
  void run() override { sim.run(); }
  void stop() override { sim.stop(); }
  sim::SimLoop& sim;
  Micros taken{0};
};

// A journal on a slow disk: each event that is moved takes a millisecond.
struct SlowJournal : SqliteJournal {
  SlowJournal(SqliteJournal& j, SlowLoop& l) : journal(j), loop(l) {}
  Status append(std::vector<Event>& events) override { return journal.append(events); }
  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    return journal.read(after, each);
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    return journal.read_subject(subject, after, each);
  }
  std::int64_t last_seq() const override { return journal.last_seq(); }
  TimePoint last_stamp() const override { return journal.last_stamp(); }
  std::int64_t size_bytes() const override { return journal.size_bytes(); }
  Result<Compaction> compact(TimePoint before, const std::vector<std::string>& subjects,
                             std::int64_t most) override {
    return pass(journal.compact(before, subjects, most));
  }
  Result<Compaction> compact_before(TimePoint before, const std::string& subject, std::size_t most) override {
    return pass(journal.compact_before(before, subject, most));
  }
  Result<std::string> mark_until(std::int64_t seq) override { return journal.mark_until(seq); }
  Result<Compaction> pass(Result<Compaction> done) {
    const auto took = done ? std::chrono::milliseconds(done->events) : 0ms;
    loop.taken += took;
    longest = std::max(longest, took);
    return done;
  }
  SqliteJournal& journal;
  SlowLoop& loop;
  std::chrono::milliseconds longest{0};
};

class ArchivistTest : public ::testing::Test {
 protected:
  static fs::path fresh_folder() {
    fs::path folder = fs::temp_directory_path() / ("archivist-" + std::to_string(::getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder);
    return folder;
  }
  ~ArchivistTest() override { fs::remove_all(folder_); }

  void say(std::int64_t no, std::string_view kind, Json body, TimePoint at) {
    Event event = new_event(case_name(no), kind, std::move(body));
    event.at = at;
    std::vector<Event> events{std::move(event)};
    ASSERT_TRUE(file_->append(events));
  }
  // Six events of a case that is closed at `at`, and has its job.
  void closed_case(std::int64_t no, TimePoint at) {
    say(no, identify::kCaseOpened, Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()}}), at);
    say(no, identify::kJobBound, Json::object({{"job_id", 1000 + no}}), at);
    for (int i = 0; i < 3; ++i) say(no, "note", Json::object(), at);
    say(no, kCaseClosed, Json::object(), at);
  }
  std::size_t lines() {
    std::size_t count = 0;
    EXPECT_TRUE(file_->read(0, [&](const Event&) { return ++count > 0; }));
    return count;
  }

  // sickbayd, as far as it matters here.
  struct Daemon {
    Daemon(Loop& loop, sim::SimLoop& sim, Journal& journal)
        : cluster(sim, {}),
          processes(sim, cluster),
          effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0}),
          seats(config),
          controller(loop, journal, cluster, effects, seats, config) {
      EXPECT_TRUE(controller.replay());
    }
    Config config;
    NoStore store;
    sim::SimCluster cluster;
    sim::SimProcesses processes;
    Effects effects;
    Seats seats;
    Controller controller;
  };

  const fs::path folder_ = fresh_folder();
  const std::unique_ptr<SqliteJournal> file_ = open_journal(folder_ / "journal.db").value();
  sim::SimLoop sim_;
  SlowLoop loop_{sim_};
  SlowJournal journal_{*file_, loop_};
};

TEST_F(ArchivistTest, WhatItForgetsIsWhatTheNextReplayDoesNotKnow) {
  const TimePoint old = sim_.now() - 24h * 60;
  for (std::int64_t no = 1; no <= 30; ++no) closed_case(no, old + 1h * no);
  // Spoken of lately: its events stay in the journal, and so must the case.
  say(7, "note", Json::object(), sim_.now() - 24h);
  closed_case(31, sim_.now() - 24h);
  Daemon daemon(loop_, sim_, *file_);
  Archivist archivist(loop_, journal_, daemon.controller);
  archivist.work();
  sim_.run_until(sim_.now() + 1h);
  EXPECT_EQ(lines(), 29u + 7 + 6);
  const auto& state = daemon.seats.cases().state();
  EXPECT_EQ(state.cases.size(), 2u);
  EXPECT_TRUE(state.cases.contains(7));
  EXPECT_EQ(state.by_job, (std::map<JobId, std::int64_t>{{1007, 7}, {1031, 31}}));
  EXPECT_EQ(daemon.controller.canonical_text(), Daemon(loop_, sim_, *file_).controller.canonical_text());
}

TEST_F(ArchivistTest, NoPortionTakesLong) {
  const TimePoint old = sim_.now() - 24h * 60;
  for (std::int64_t no = 1; no <= 60; ++no) closed_case(no, old);
  Daemon daemon(loop_, sim_, *file_);
  Archivist archivist(loop_, journal_, daemon.controller);
  archivist.work();
  sim_.run_until(sim_.now() + 1h);
  EXPECT_EQ(lines(), 60u);
  EXPECT_TRUE(daemon.seats.cases().state().cases.empty());
  EXPECT_LE(journal_.longest, 20ms);
}

}  // namespace
}  // namespace sickbay
