// SPDX-License-Identifier: Apache-2.0
// Who a user is, where the name service answers at once, late, or hangs.  The threads are held here, so that
// a test says when a look-up comes back.
#include "adapters/posix/host_people.h"

#include <gmock/gmock.h>

#include <string>

#include "adapters/posix/poll_loop.h"
#include "adapters/posix/posix_test_parts.h"

namespace sickbay {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

class HostPeopleTest : public ::testing::Test {
 protected:
  std::unique_ptr<HostPeople> make() {
    return std::make_unique<HostPeople>(
        loop_,
        [this](std::uint32_t uid, std::uint32_t gid) {
          ++looked_up_;
          return Person{"u" + std::to_string(uid) + suffix_,
                        gid == 7 ? std::vector<std::string>{"ops"} : std::vector<std::string>{}};
        },
        [this](std::function<void()> work) { threads_.push_back(std::move(work)); });
  }
  void ask(std::uint32_t uid, std::uint32_t gid = 1) {
    people_->ask(uid, gid, [this](const Person& person) {
      said_.push_back(person.user + (person.groups.empty() ? "" : ":" + person.groups[0]));
    });
  }
  // All look-ups that are under way come back.
  void answer() {
    for (auto& work : std::exchange(threads_, {})) work();
    loop_.run();
  }
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  HandLoop loop_;
  std::string suffix_;
  int looked_up_ = 0;
  std::vector<std::function<void()>> threads_;
  std::vector<std::string> said_;
  std::unique_ptr<HostPeople> people_ = make();
};

TEST_F(HostPeopleTest, AsksOnceForAllWhoWaitAndKeepsWhatWasSaid) {
  ask(5, 7), ask(5, 7), ask(6);
  EXPECT_THAT(said(), ElementsAre());
  answer();
  EXPECT_THAT(said(), ElementsAre("u5:ops", "u5:ops", "u6"));
  ask(5, 7);
  EXPECT_THAT(said(), ElementsAre("u5:ops")) << "at once";
  ask(5, 1);
  answer();
  EXPECT_THAT(said(), ElementsAre("u5")) << "with another group he is in other ones";
  EXPECT_EQ(looked_up_, 3);
  loop_.pass(HostPeople::kFresh);
  suffix_ = "x";
  ask(5, 7);
  answer();
  EXPECT_THAT(said(), ElementsAre("u5x:ops")) << "asked anew";
}

TEST_F(HostPeopleTest, ANameServiceThatHangsForAMinuteStopsNobody) {
  ask(5, 7);
  answer();
  said();
  loop_.pass(HostPeople::kFresh);
  ask(5, 7);  // known of old
  ask(9);     // and never seen
  loop_.pass(HostPeople::kPatience);
  EXPECT_THAT(said(), ElementsAre("u5:ops", ""));
  ask(5, 7), ask(9);
  EXPECT_THAT(said(), ElementsAre("u5:ops", "")) << "nobody waits for the same once more";
  // As many as there are threads, and more: all hang, all are answered.
  for (std::uint32_t uid = 100; uid < 200; ++uid) ask(uid);
  EXPECT_LE(threads_.size(), HostPeople::kAtOnce);
  loop_.pass(HostPeople::kPatience);
  EXPECT_EQ(said().size(), 100U);
  EXPECT_LE(threads_.size(), HostPeople::kAtOnce);
  loop_.pass(HostPeople::kOldest);
  ask(5, 7);
  EXPECT_THAT(said(), ElementsAre("")) << "what is so old holds no more";
  // It comes back.
  while (!threads_.empty()) answer();
  ask(5, 7), ask(150);
  EXPECT_THAT(said(), ElementsAre("u5:ops", "u150"));
}

TEST_F(HostPeopleTest, SaysWhatNameIsKnownNowAndAsksForTheNextTime) {
  EXPECT_EQ(people_->name_now(5), "");
  EXPECT_EQ(people_->name_now(5), "");
  answer();
  EXPECT_EQ(people_->name_now(5), "u5");
  EXPECT_EQ(looked_up_, 1);
  loop_.pass(HostPeople::kFresh);
  EXPECT_EQ(people_->name_now(5), "u5") << "the old name is better than none";
  EXPECT_EQ(threads_.size(), 1U);
}

TEST_F(HostPeopleTest, KeepsABoundedNumberAndAnswersNobodyAfterItsEnd) {
  for (std::uint32_t uid = 1; uid <= 3 * HostPeople::kMostKept; ++uid) {
    ask(uid);
    answer();
  }
  EXPECT_EQ(said().size(), 3 * HostPeople::kMostKept);
  const int before = looked_up_;
  ask(1);
  answer();
  EXPECT_EQ(looked_up_, before + 1) << "the first is not kept any more";
  said();
  ask(100'000);
  people_.reset();
  answer();
  EXPECT_THAT(said(), ElementsAre());
}

TEST(HostPeople, OnRealThreads) {
  const auto loop = make_poll_loop().value();
  HostPeople people(*loop, [](std::uint32_t uid, std::uint32_t) { return Person{std::to_string(uid), {}}; });
  std::vector<std::string> said;
  for (std::uint32_t uid = 0; uid < 50; ++uid)
    people.ask(uid, 0, [&](const Person& person) {
      said.push_back(person.user);
      if (said.size() == 50) loop->stop();
    });
  loop->run();
  EXPECT_EQ(said.size(), 50U);
}

}  // namespace
}  // namespace sickbay
