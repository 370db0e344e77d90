// SPDX-License-Identifier: Apache-2.0
// Snapshots of a real journal: when a start may take one, and that a start with one is a start without.
#include "apps/daemon/snapshots.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "adapters/posix/files.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_processes.h"
#include "adapters/sqlite/journal.h"
#include "apps/daemon/case_folders.h"
#include "apps/daemon/snapshot_maker.h"
#include "engine/identify/identify.h"
#include "service/agents.h"
#include "service/api.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SnapshotsTest : public ::testing::Test {
 protected:
  SnapshotsTest() {
    char name[] = "/tmp/sickbay_snapshots_XXXXXX";
    folder_ = ::mkdtemp(name);
    journal_ = open_journal(folder_ + "/journal.db").value();
  }
  ~SnapshotsTest() override { fs::remove_all(folder_); }

  std::string file() const { return folder_ + "/journal.snapshot"; }
  void say(const std::string& subject, std::string_view kind, Json body) {
    Event event = new_event(subject, kind, std::move(body));
    event.at = at_ += 1s;
    std::vector<Event> events{std::move(event)};
    ASSERT_TRUE(journal_->append(events));
  }
  // A case, a finding and an order of one node, and an answer to a POST.
  void story(std::int64_t no) {
    const std::string node = "n" + std::to_string(no);
    say(case_name(no), identify::kCaseOpened,
        Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                      {"post", Json::object({{"uid", 60001},
                                             {"key", "k" + std::to_string(no)},
                                             {"request", "0123456789abcdef"},
                                             {"status", 201},
                                             {"answer", Json::object({{"case", case_name(no)}})}})}}));
    say(case_name(no), identify::kJobBound, Json::object({{"job_id", 1000 + no}}));
    say(finding_name(no), kFinding,
        Json::object({{"node", node},
                      {"boot_id", "b"},
                      {"n", 1},
                      {"specification", "node"},
                      {"rule", "disk"},
                      {"result", "fault"},
                      {"action", "drain"},
                      {"text", "the disk"}}));
    say(node_subject(node), AgentTasks::kDiagnoseWanted,
        Json::object({{"task", no}, {"mode", "quick"}, {"by", "root"}}));
  }
  Status make(const std::string& config_text = "{}") {
    const auto reader = open_journal_reader(folder_ + "/journal.db").value();
    Snapshots snapshots(file(), {config_text});
    return make_snapshot({loop_, *reader, cluster_, processes_, cases_, config_, verification_}, snapshots);
  }
  // Where a start goes on from, 0: from the beginning; and why.
  std::int64_t taken(const std::string& config_text = "{}") {
    Snapshots snapshots(file(), {config_text});
    const auto kept = snapshots.load(*journal_);
    why_ = snapshots.why_not();
    return kept ? kept->seq : 0;
  }

  struct Daemon {
    Daemon(SnapshotsTest& t, const KeptState* from)
        : effects(t.loop_, t.cluster_, t.processes_, t.cases_, t.config_, t.verification_),
          seats(t.config_),
          controller(t.loop_, *t.journal_, t.cluster_, effects, seats, t.config_),
          agents(t.loop_, controller, [](const std::string&, Done<std::vector<std::string>>) {}),
          api(controller, t.cases_, t.cluster_, {"", 0, t.loop_.now()}, [](const Caller&) { return false; }) {
      replayed = controller.replay(from).value();
    }
    Effects effects;
    Seats seats;
    Controller controller;
    Agents agents;
    Api api;
    Controller::Replayed replayed;
  };

  std::string folder_, why_;
  sim::SimLoop loop_;
  TimePoint at_ = loop_.now() - 24h;
  sim::SimCluster cluster_{loop_, {}};
  sim::SimProcesses processes_{loop_, cluster_};
  Config config_;
  Effects::Verification verification_{"#!/bin/sh\n", {}, 0, 0};
  std::unique_ptr<SqliteJournal> journal_;
  CaseFolders cases_{folder_ + "/cases"};
};

TEST_F(SnapshotsTest, AStartWithOneIsAStartWithoutOne) {
  for (std::int64_t no = 1; no <= 20; ++no) story(no);
  ASSERT_TRUE(make());
  for (std::int64_t no = 21; no <= 25; ++no) story(no);
  say("f3", kFinding,
      Json::object({{"node", "n3"},
                    {"boot_id", "b"},
                    {"n", 2},
                    {"specification", "node"},
                    {"rule", "disk"},
                    {"result", "ok"},
                    {"action", "none"}}));
  const Daemon whole(*this, nullptr);
  Snapshots snapshots(file(), {"{}"});
  const auto kept = snapshots.load(*journal_);
  ASSERT_TRUE(kept) << snapshots.why_not();
  EXPECT_EQ(kept->seq, 80);
  const Daemon quick(*this, &*kept);
  EXPECT_FALSE(quick.replayed.unreadable);
  EXPECT_EQ(quick.replayed.from, 80);
  EXPECT_EQ(quick.replayed.events, 21);
  EXPECT_EQ(quick.controller.canonical_text(), whole.controller.canonical_text());
  EXPECT_EQ(quick.controller.save(), whole.controller.save());
  // Also what the books have that no engine has.
  EXPECT_EQ(quick.agents.findings("n4").dump(), whole.agents.findings("n4").dump());
  EXPECT_NE(quick.agents.findings("n4").size(), 0u);
  // The next one goes on from the last.
  ASSERT_TRUE(make());
  EXPECT_EQ(taken(), 101);
}

TEST_F(SnapshotsTest, StandsForOneJournalOneProgramAndOneConfiguration) {
  EXPECT_EQ(taken(), 0);
  EXPECT_EQ(why_, "");  // there is none, which is no fault
  for (std::int64_t no = 1; no <= 3; ++no) story(no);
  ASSERT_TRUE(make());
  EXPECT_EQ(taken(), 12);
  EXPECT_EQ(taken("{\"drain\": {}}"), 0);
  EXPECT_EQ(why_, "the configuration is another one");

  const std::string good = read_file(file(), 1 << 20).value();
  auto snapshot = parse_snapshot(good).value();
  const auto with = [&](SnapshotHead head) {
    ASSERT_TRUE(write_durably(file(), snapshot_bytes(head, snapshot.state), 0600));
  };
  SnapshotHead head = snapshot.head;
  head.program = "another";
  with(head);
  EXPECT_EQ(taken(), 0);
  EXPECT_EQ(why_, "another sickbayd made it");
  head = snapshot.head;
  head.seq = 13;
  with(head);
  EXPECT_EQ(taken(), 0);
  EXPECT_EQ(why_, "the journal is older than it");
  head = snapshot.head;
  head.mark = "12:0";
  with(head);
  EXPECT_EQ(taken(), 0);
  EXPECT_NE(why_.find("the journal is another one"), std::string::npos);
  ASSERT_TRUE(write_durably(file(), good.substr(0, good.size() / 2), 0600));
  EXPECT_EQ(taken(), 0);
  EXPECT_NE(why_, "");
  ASSERT_TRUE(write_durably(file(), good, 0600));
  EXPECT_EQ(taken(), 12);
}

// What an archivist takes out of the journal is in the state of before, and in no replay any more.
TEST_F(SnapshotsTest, DoesNotStandWhenSomethingWasArchived) {
  for (std::int64_t no = 1; no <= 3; ++no) story(no);
  say("c1", kCaseClosed, Json::object());
  ASSERT_TRUE(make());
  EXPECT_EQ(taken(), 13);
  ASSERT_TRUE(journal_->compact(loop_.now(), {"c1"}));
  EXPECT_EQ(taken(), 0);
  ASSERT_TRUE(make());
  EXPECT_EQ(taken(), 13);
}

// A state that another program's bytes would make: nothing of it stays.
TEST_F(SnapshotsTest, WhatCannotBeRestoredLeavesNothingBehind) {
  for (std::int64_t no = 1; no <= 20; ++no) story(no);
  const Daemon whole(*this, nullptr);
  const std::string state = whole.controller.save();
  for (std::size_t n = 0; n < state.size(); n += 1 + state.size() / 97) {
    const KeptState cut{80, state.substr(0, n)};
    const Daemon daemon(*this, &cut);
    ASSERT_TRUE(daemon.replayed.unreadable) << n;
    ASSERT_EQ(daemon.replayed.events, 80) << n;
    ASSERT_EQ(daemon.controller.save(), state) << n;
  }
}

}  // namespace
}  // namespace sickbay
