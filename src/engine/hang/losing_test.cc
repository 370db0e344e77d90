// SPDX-License-Identifier: Apache-2.0
// What connections lost from look to look.
#include "engine/hang/losing.h"

#include <gmock/gmock.h>

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class LosingTest : public testing::Test {
 protected:
  void look(std::vector<TcpConnection> connections) {
    losing.take({now_ += 5s, std::move(connections), Micros(10)});
  }
  static TcpConnection to(const char* peer, std::uint64_t id, std::int64_t sent, std::int64_t again = 0,
                          std::int64_t needless = 0) {
    return {id, "10.0.0.1", peer, sent, again, needless};
  }
  Losing losing;
  TimePoint now_ = from_micros(1'000'000);
};

TEST_F(LosingTest, OneLookOnlyBegins) {
  EXPECT_EQ(losing.told().seen, 0s);
  look({to("10.0.0.2", 1, 100, 50)});
  EXPECT_EQ(losing.told().seen, 0s);
  EXPECT_THAT(losing.told().peers, IsEmpty());
}

TEST_F(LosingTest, WhatWasBeforeTheJobDoesNotCount) {
  look({to("10.0.0.2", 1, 1000, 500)});
  look({to("10.0.0.2", 1, 1500, 510), to("10.0.0.3", 2, 70, 7)});
  EXPECT_THAT(losing.told().peers,
              ElementsAre(PeerLosses{"10.0.0.2", 500, 10}, PeerLosses{"10.0.0.3", 70, 7}));
  EXPECT_THAT(losing.told().own, ElementsAre("10.0.0.1"));
  EXPECT_EQ(losing.told().seen, 5s);
}

TEST_F(LosingTest, WhatHadArrivedWasNotLost) {
  look({});
  look({to("10.0.0.2", 1, 544938, 94, 94)});
  EXPECT_THAT(losing.told().peers, ElementsAre(PeerLosses{"10.0.0.2", 544938, 0}));
  look({to("10.0.0.2", 1, 544990, 94, 99)});  // a network that doubles packets
  EXPECT_THAT(losing.told().peers, ElementsAre(PeerLosses{"10.0.0.2", 544990, 0}));
}

TEST_F(LosingTest, ConnectionsThatAreGoneStillCount) {
  look({});
  look({to("10.0.0.2", 1, 100, 3), to("10.0.0.2", 2, 100, 4)});
  look({to("10.0.0.2", 2, 200, 5)});
  look({to("10.0.0.2", 3, 1000, 1)});  // (the kernel never gives a cookie twice)
  EXPECT_THAT(losing.told().peers, ElementsAre(PeerLosses{"10.0.0.2", 1300, 9}));
}

TEST_F(LosingTest, ALookThatIsOlderChangesNothing) {
  look({});
  look({to("10.0.0.2", 1, 100, 3)});
  now_ -= 10s;
  look({to("10.0.0.2", 1, 900, 300)});
  EXPECT_THAT(losing.told().peers, ElementsAre(PeerLosses{"10.0.0.2", 100, 3}));
}

TEST_F(LosingTest, OfManyThoseThatLostMostAreTold) {
  look({});
  std::vector<TcpConnection> many;
  for (int i = 1; i <= 200; ++i)
    many.push_back(to(("10.0.1." + std::to_string(i)).c_str(), 100 + i, 1000 + i));
  look(many);
  EXPECT_EQ(losing.told().peers.size(), kFewPeersTold) << "a few show that the node is well";
  EXPECT_EQ(losing.told().peers.front().address, "10.0.1.200") << "those that it talks to most";
  many[6].again = 40;
  look(many);
  EXPECT_EQ(losing.told().peers.size(), kMostPeersTold);
  EXPECT_EQ(losing.told().peers.front(), (PeerLosses{"10.0.1.7", 1007, 40}));
}

}  // namespace
}  // namespace sickbay::hang
