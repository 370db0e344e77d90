// SPDX-License-Identifier: Apache-2.0
// From a job whose network loses packets to whose link it is: polls, reports, what is asked besides, and the
// journal, over a simulated cluster.
#include "service/lossy_watch.h"

#include <gmock/gmock.h>

#include "service/ranks_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class LossyWatchTest : public RanksApiTest {
 protected:
  // What the connections of a node lost: of 50000 segments to the other node, and of packets to another host.
  std::shared_ptr<Answer> tell_network(int node, JobId id, std::int64_t lost, std::int64_t echoes_lost = -1,
                                       Micros seen = 30s) {
    ProcessTimes times;
    times.name = "a.out";
    times.seen = times.ran = seen;
    TcpLosses losses{
        seen, {"10.0.0." + std::to_string(node)}, {{"10.0.0." + std::to_string(3 - node), 50'000, lost}}, {}};
    if (echoes_lost >= 0) losses.echoes = {{"10.0.0.6", 2000, echoes_lost}};
    return ask("root@10.0.0." + std::to_string(node), "POST", "/v1/agent/ranks",
               Json::object({{"node", "n" + std::to_string(node)},
                             {"job", id},
                             {"times", to_json(times)},
                             {"network", to_json(losses)}})
                   .dump());
  }
};

// Both ends are told to ask a third host, and then it is known whose link it is.
TEST_F(LossyWatchTest, ALossyLinkIsToldAndWhoseItIsWhenOthersWereAsked) {
  auto elsewhere = poll(6, "&ranks=0");  // (its agent is the third)
  const JobId id = job();
  auto before = poll(1, "&ranks=0");
  const std::int64_t version = body_of(before)["ranks"]["version"].as_int();
  EXPECT_FALSE(body_of(before)["ranks"]["times"].items().at(0).has("ask"));
  auto waits = poll(1, "&ranks=" + std::to_string(version));
  (void)tell_network(2, id, 500);
  (void)tell_network(1, id, 0);
  EXPECT_FALSE(waits->answered);
  pass(3s);
  EXPECT_EQ(count("lossy_seen"), 1);
  EXPECT_EQ(shown()["runs"].items()[0]["lossy"]["node"].as_string(), "");
  ASSERT_TRUE(waits->answered) << "it is woken";
  EXPECT_THAT(body_of(waits)["ranks"]["times"].items().at(0)["ask"].as_strings(),
              testing::ElementsAre("10.0.0.6"));
  (void)tell_network(2, id, 510, 21);
  pass(3s);
  EXPECT_EQ(count("lossy_seen"), 1) << "n1 has not told yet what it found";
  (void)tell_network(1, id, 0, 0);
  pass(3s);
  EXPECT_EQ(count("lossy_seen"), 2);
  const Json lossy = shown()["runs"].items()[0]["lossy"];
  EXPECT_EQ(lossy["node"].as_string(), "n2");
  EXPECT_EQ(lossy["lost"].as_int(), 510);
  EXPECT_EQ(lossy["others_sent"].as_int(), 50'000);
  EXPECT_EQ(lossy["echoes_lost"].as_int(), 21);
  EXPECT_THAT(shown()["evidence"].dump(), HasSubstr("lost on the link of n2"));
  // After a restart it is not told again, until it is half as much again.
  stop();
  start();
  serve();
  for (const std::int64_t lost : {520, 766, 780}) {
    (void)tell_network(2, id, lost, 21);
    (void)tell_network(1, id, 0, 0);
    pass(3s);
    EXPECT_EQ(count("lossy_seen"), lost == 520 ? 2 : 3);
  }
}

TEST_F(LossyWatchTest, ANetworkThatLosesNothingIsNoNews) {
  const JobId id = job();
  (void)tell_network(2, id, 20);
  (void)tell_network(1, id, 0);
  pass(3s);
  EXPECT_EQ(count("lossy_seen"), 0);
  const auto bad = ask("root@10.0.0.1", "POST", "/v1/agent/ranks",
                       Json::object({{"node", "n1"},
                                     {"job", id},
                                     {"times", to_json(ProcessTimes())},
                                     {"network", Json::object({{"peers", 7}})}})
                           .dump());
  EXPECT_EQ(bad->response.status, 400);
}

TEST(LossyWatch, TellsSoOftenAtMost) {
  LossyWatch watch;
  int told = 0;
  for (std::int64_t lost = 100; lost < (std::int64_t{1} << 40); lost = lost * 7 / 4) {
    watch.take("n1", {60s, {"10.0.0.1"}, {{"10.0.0.2", lost * 10, lost}}, {}});
    watch.take("n2", {60s, {"10.0.0.2"}, {}, {}});
    told += watch.news() ? 1 : 0;
    EXPECT_THAT(watch.in_doubt(), testing::ElementsAre("n1", "n2"));
  }
  EXPECT_EQ(told, LossyWatch::kMostTold);
}

}  // namespace
}  // namespace sickbay
