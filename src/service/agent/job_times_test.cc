// SPDX-License-Identifier: Apache-2.0
// The agent's part, in virtual time: when it looks at processes, and what it tells.
#include "service/agent/job_times.h"

#include <gmock/gmock.h>

#include "adapters/sim/sim_loop.h"

namespace sickbay::agent {
namespace {

using namespace std::chrono_literals;

class JobTimesTest : public testing::Test {
 protected:
  JobTimesTest()
      : times(
            loop,
            {[this](JobId job, std::uint32_t uid, bool search) { return count(job, uid, search); },
             [this](const std::vector<std::int64_t>& pids) {
               ++samples;
               std::vector<std::pair<std::int64_t, char>> states;
               for (const std::int64_t pid : pids)
                 states.emplace_back(pid, samples % 10 < stopped ? 'T' : 'R');
               return states;
             },
             [this](JobId job) { forgotten.push_back(job); }, [this] { return connections(); },
             [this](const std::string& address) { return open(address); }},
            [this](Json report) { reports.push_back(std::move(report)); },
            [this](const std::string& line) { log.push_back(line); }) {}

  Result<JobCounts> count(JobId job, std::uint32_t uid, bool search) {
    looks.emplace_back(job, uid);
    searches += search;
    if (broken) return fail(ErrorCode::os, "this kernel does not count how long processes wait");
    const auto passed = loop.now() - last;
    last = loop.now();
    waited += std::chrono::duration_cast<std::chrono::nanoseconds>(passed * waits / 1000);
    ran += std::chrono::duration_cast<std::chrono::nanoseconds>(passed * (1000 - waits) / 1000);
    JobCounts counts;
    counts.at = loop.now();
    counts.cost = cost;
    counts.processes.push_back({7, 100, "a.out", 'R', {}, -1, "", {{7, ran, waited, parse_cpu_list("0")}}});
    return counts;
  }
  // One connection: 1000 segments a second, of which `loses` of a thousand are lost.
  Result<TcpLook> connections() {
    ++network_looks;
    if (no_network) return fail(ErrorCode::os, "this kernel does not tell of TCP connections");
    const std::int64_t sent =
        std::chrono::duration_cast<std::chrono::milliseconds>(loop.now() - began).count();
    return TcpLook{loop.now(), {{1, "10.0.0.1", "10.0.0.2", sent, sent * loses / 1000, 0}}, Micros(10)};
  }
  // Each tenth packet to a host does not come back.
  struct SimEcho : Echo {
    SimEcho(JobTimesTest& test, std::string to) : of(test), address(std::move(to)) {}
    void send(std::size_t packets) override {
      sent += packets;
      of.most_at_once = std::max(of.most_at_once, packets);
    }
    EchoCount count() override {
      return {address, static_cast<std::int64_t>(sent), static_cast<std::int64_t>(sent) / 10};
    }
    JobTimesTest& of;
    std::string address;
    std::size_t sent = 0;
  };
  Result<std::unique_ptr<Echo>> open(const std::string& address) {
    if (address.empty()) return fail(ErrorCode::bad_input, "it is no address");
    return std::make_unique<SimEcho>(*this, address);
  }
  static Json told(const std::vector<std::pair<int, int>>& jobs) {
    Json list = Json::array();
    for (const auto& [job, uid] : jobs)
      list.push(Json::object({{"job", job}, {"uid", uid}, {"pause_ms", 10'000}}));
    return list;
  }
  void pass(std::chrono::milliseconds time) { loop.run_until(loop.now() + time); }

  sim::SimLoop loop;
  std::vector<std::pair<JobId, std::uint32_t>> looks;
  std::vector<JobId> forgotten;
  std::vector<Json> reports;
  std::vector<std::string> log;
  int searches = 0, samples = 0, stopped = 0, waits = 0;
  int loses = 0, network_looks = 0;
  std::size_t most_at_once = 0;
  bool broken = false, no_network = false;
  TimePoint began = loop.now();
  Micros cost{200};
  TimePoint last = loop.now();
  std::chrono::nanoseconds ran{0}, waited{0};
  JobTimes times;
};

TEST_F(JobTimesTest, LooksWhileItIsTold) {
  pass(60s);
  EXPECT_TRUE(looks.empty()) << "no job asks";
  times.take(told({{17, 1000}}));
  pass(61s);
  EXPECT_EQ(looks.size(), 13u) << "each 5 s";
  EXPECT_THAT(looks, testing::Each(std::pair<JobId, std::uint32_t>(17, 1000)));
  EXPECT_LE(searches, 5) << "all of /proc is searched at first, and then rarely";
  EXPECT_GE(searches, 4);
  EXPECT_GE(samples, 100) << "nine between two looks";
  times.take(told({{17, 1000}}));
  EXPECT_TRUE(forgotten.empty()) << "told again, it goes on";
  times.take(told({}));
  EXPECT_THAT(forgotten, testing::ElementsAre(17));
  looks.clear();
  pass(60s);
  EXPECT_TRUE(looks.empty());
}

TEST_F(JobTimesTest, RootsProcessesAreNeverLookedAt) {
  times.take(told({{17, 0}, {-3, 1000}}));
  times.take(Json());
  pass(30s);
  EXPECT_TRUE(looks.empty());
}

TEST_F(JobTimesTest, OneThatWaitsIsToldOfEachTime) {
  waits = 500;
  times.take(told({{17, 1000}}));
  pass(61s);
  ASSERT_GE(reports.size(), 4u);
  EXPECT_LE(reports.size(), 5u);
  EXPECT_EQ(reports[0]["job"].as_int(), 17);
  const auto first = read_process_times(reports[0]["times"]);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->seen, 20s);
  EXPECT_NEAR(static_cast<double>(first->lost_permille()), 500, 10);
}

TEST_F(JobTimesTest, OneThatDoesNotIsToldOfForTheComparison) {
  times.take(told({{17, 1000}}));
  pass(301s);
  EXPECT_GE(reports.size(), 5u);
  EXPECT_LE(reports.size(), 6u) << "at first, and then once a minute";
  EXPECT_EQ(read_process_times(reports[0]["times"])->lost_permille(), 0);
}

TEST_F(JobTimesTest, OneThatIsStoppedInTurnsIsToldOf) {
  stopped = 4;
  times.take(told({{17, 1000}}));
  pass(31s);
  ASSERT_FALSE(reports.empty());
  const auto word = read_process_times(reports.back()["times"]);
  EXPECT_NEAR(static_cast<double>(permille(word->stopped, word->seen)), 380, 70);
}

TEST_F(JobTimesTest, WhatTheNetworkLostIsToldWithIt) {
  times.take(told({{17, 1000}}));
  pass(121s);
  ASSERT_GE(reports.size(), 2u);
  EXPECT_LE(reports.size(), 3u) << "a network that loses nothing is no news";
  const auto losses = read_tcp_losses(reports[0]["network"]);
  ASSERT_TRUE(losses) << reports[0].dump();
  EXPECT_EQ(losses->seen, 20s);
  EXPECT_THAT(losses->own, testing::ElementsAre("10.0.0.1"));
  EXPECT_THAT(losses->peers, testing::ElementsAre(PeerLosses{"10.0.0.2", 20'000, 0}));
}

TEST_F(JobTimesTest, OneThatLosesIsToldOfEachTime) {
  loses = 10;
  times.take(told({{17, 1000}}));
  pass(61s);
  EXPECT_GE(reports.size(), 4u);
  EXPECT_EQ(read_tcp_losses(reports[0]["network"])->lost(), 200);
}

TEST_F(JobTimesTest, WhereSickbaydAsksPacketsGoToOtherHostsOnce) {
  times.take(told({{17, 1000}}));
  pass(30s);
  const Json asks = Json::array({Json::object({{"job", 17},
                                               {"uid", 1000},
                                               {"pause_ms", 10'000},
                                               {"ask", Json::array({"10.0.0.8", "", "10.0.0.9"})}})});
  times.take(asks);
  pass(8s);
  EXPECT_EQ(reports.size(), 1u) << "they are under way";
  pass(10s);
  ASSERT_EQ(reports.size(), 2u) << "told at once";
  EXPECT_THAT(read_tcp_losses(reports[1]["network"])->echoes,
              testing::ElementsAre(EchoCount{"10.0.0.8", 2000, 200}, EchoCount{"10.0.0.9", 2000, 200}));
  EXPECT_EQ(most_at_once, JobTimes::kEchoesAStep);
  EXPECT_EQ(log.size(), 1u) << "one of the addresses is none";
  most_at_once = 0;
  times.take(asks);
  pass(60s);
  EXPECT_EQ(most_at_once, 0u) << "once for each job";
  EXPECT_EQ(read_tcp_losses(reports.back()["network"])->echoes.size(), 2u) << "and told each time";
}

TEST_F(JobTimesTest, AKernelThatTellsOfNoConnectionsIsSaidOnce) {
  no_network = true;
  times.take(told({{17, 1000}}));
  pass(120s);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(network_looks, 1);
  ASSERT_FALSE(reports.empty());
  EXPECT_FALSE(reports[0].has("network"));
}

TEST_F(JobTimesTest, ADearLookIsMadeRarely) {
  cost = 20ms;
  times.take(told({{17, 1000}}));
  pass(200s);
  EXPECT_LE(looks.size(), 11u) << "a thousandth of a processor";
  EXPECT_GE(looks.size(), 9u);
}

TEST_F(JobTimesTest, AKernelThatDoesNotCountIsSaidOnce) {
  broken = true;
  times.take(told({{17, 1000}}));
  pass(120s);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_TRUE(reports.empty());
}

}  // namespace
}  // namespace sickbay::agent
