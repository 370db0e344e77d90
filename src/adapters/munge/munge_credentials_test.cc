// SPDX-License-Identifier: Apache-2.0
#include "adapters/munge/munge_credentials.h"

#include <gmock/gmock.h>

#include "adapters/munge/munge_test_parts.h"
#include "adapters/net/asio_loop.h"

namespace sickbay {
namespace {

using testing::HasSubstr;

class MungeCredentialsTest : public testing::Test {
 protected:
  /// Runs the loop until `ask` has called back.
  template <class T>
  Result<T> wait(const std::function<void(Done<T>)>& ask) {
    Result<T> got = fail(ErrorCode::internal, "no answer");
    ask([&](Result<T> result) {
      got = std::move(result);
      loop_->stop();
    });
    loop_->run();
    return got;
  }
  Result<std::string> encode(Credentials& with, const std::string& payload,
                             std::uint32_t reader = ::getuid()) {
    return wait<std::string>([&](Done<std::string> done) { with.encode(payload, reader, std::move(done)); });
  }
  Result<Credential> decode(Credentials& with, const std::string& credential) {
    return wait<Credential>([&](Done<Credential> done) { with.decode(credential, std::move(done)); });
  }
  std::unique_ptr<Credentials> with(const TestMunged& munged, MungeOptions options = {}) {
    options.socket = munged.socket();
    return make_munge_credentials(*loop_, std::move(options));
  }

  std::unique_ptr<AsioLoop> loop_ = make_asio_loop();
};

TEST_F(MungeCredentialsTest, SaysWhoSaidWhat) {
  const TestMunged munged;
  const auto credentials = with(munged);
  for (const std::string& payload : {std::string("hello\0there", 11), std::string()}) {
    const auto credential = encode(*credentials, payload);
    ASSERT_TRUE(credential) << credential.error().message("test");
    const auto said = decode(*credentials, *credential);
    ASSERT_TRUE(said) << said.error().message("test");
    EXPECT_EQ(said->payload, payload);
    EXPECT_EQ(said->uid, ::getuid());
    EXPECT_EQ(said->gid, ::getgid());
    EXPECT_GE(said->decoded, said->encoded);
    EXPECT_GT(said->encoded, kNoTime);
  }
}

TEST_F(MungeCredentialsTest, AnotherDaemonOfTheSameKeyUnderstandsIt) {
  const TestMunged here, there;
  const auto credential = encode(*with(here), "to the other host");
  ASSERT_TRUE(credential);
  const auto said = decode(*with(there), *credential);
  ASSERT_TRUE(said) << said.error().message("test");
  EXPECT_EQ(said->payload, "to the other host");
}

TEST_F(MungeCredentialsTest, HoldsOnce) {
  const TestMunged munged;
  const auto credentials = with(munged);
  const auto credential = encode(*credentials, "once");
  ASSERT_TRUE(decode(*credentials, *credential));
  const auto again = decode(*credentials, *credential);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::denied);
  EXPECT_THAT(again.error().what, HasSubstr("used before"));
}

TEST_F(MungeCredentialsTest, RefusesWhatIsForgedOrForAnother) {
  const TestMunged munged, stranger("another key that only tests have, 9876543210");
  const auto credentials = with(munged);
  auto tampered = *encode(*credentials, "pay 10");
  tampered[tampered.size() / 2] = tampered[tampered.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& credential :
       {tampered, *encode(*with(stranger), "other key"), std::string("MUNGE:x:"), std::string(),
        *encode(*credentials, "not for us", ::getuid() + 1)}) {
    const auto said = decode(*credentials, credential);
    ASSERT_FALSE(said) << credential;
    EXPECT_EQ(said.error().code, ErrorCode::denied) << said.error().message("test");
    EXPECT_FALSE(said.error().remedy().empty());
  }
}

TEST_F(MungeCredentialsTest, NamesTheDifferenceOfTheClocks) {
  // One second is the least that munged grants; when it is over the credential has expired.
  const TestMunged munged;
  MungeOptions short_lived;
  short_lived.time_to_live = std::chrono::seconds(1);
  const auto credentials = with(munged, short_lived);
  const auto credential = encode(*credentials, "soon stale");
  ASSERT_TRUE(credential);
  const TimePoint made = loop_->now();
  loop_->at(made + std::chrono::milliseconds(2100), [this] { loop_->stop(); });
  loop_->run();
  const auto said = decode(*credentials, *credential);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::denied);
  EXPECT_THAT(said.error().what, HasSubstr("expired"));
  EXPECT_THAT(said.error().cause, HasSubstr(" s ago"));
  EXPECT_THAT(std::string(said.error().remedy()), HasSubstr("clock"));
}

TEST_F(MungeCredentialsTest, SaysThatMungedIsAway) {
  TestMunged munged;
  const auto credentials = with(munged);
  const auto credential = encode(*credentials, "left behind");
  munged.stop();
  EXPECT_EQ(encode(*credentials, "x").error().code, ErrorCode::munge_away);
  EXPECT_EQ(decode(*credentials, *credential).error().code, ErrorCode::munge_away);
  munged.start();
  EXPECT_TRUE(decode(*credentials, *encode(*credentials, "back")));
}

TEST_F(MungeCredentialsTest, NeverBlocksTheLoopAndIsBounded) {
  const TestMunged munged;
  MungeOptions narrow;
  narrow.threads = 1;
  narrow.waiting = 2;
  const auto credentials = with(munged, narrow);
  ::kill(munged.pid(), SIGSTOP);  // it takes connections, and says nothing
  int busy = 0, well = 0;
  for (int i = 0; i < 8; ++i)
    credentials->encode("x", ::getuid(), [&](Result<std::string> result) {
      if (result) ++well;
      if (!result && result.error().code == ErrorCode::busy) ++busy;
      if (busy + well >= 8) loop_->stop();
    });
  // The loop is free while a thread waits: it gets to this task, which lets munged go on.
  loop_->post([&] { ::kill(munged.pid(), SIGCONT); });
  loop_->run();
  EXPECT_GE(busy, 5);
  EXPECT_GE(well, 2);
}

TEST_F(MungeCredentialsTest, EndsWithoutCallingBack) {
  const TestMunged munged;
  bool called = false;
  {
    const auto credentials = with(munged);
    for (int i = 0; i < 50; ++i)
      credentials->encode("x", ::getuid(), [&](Result<std::string>) { called = true; });
  }
  loop_->post([this] { loop_->stop(); });
  loop_->run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace sickbay
