// SPDX-License-Identifier: Apache-2.0
#include "ports/lifetime.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

namespace sickbay {
namespace {

TEST(Lifetime, AGuardedCallbackEndsWithItsOwner) {
  std::optional<Lifetime> owner(std::in_place);
  std::string said;
  const std::function<void(std::string)> call = owner->guard([&](std::string word) { said += word; });
  const std::function<void(std::string)> copy = call;
  call("a");
  copy("b");
  const Lifetime::Watch watch = owner->watch();
  EXPECT_FALSE(watch.over());
  owner.reset();
  EXPECT_TRUE(watch.over());
  call("c");
  copy("d");
  EXPECT_EQ(said, "ab");
}

TEST(Lifetime, AnOwnerMayEndInsideItsCallback) {
  auto owner = std::make_unique<Lifetime>();
  int calls = 0;
  const std::function<void()> call = owner->guard([&, note = std::string(100, 'x')] {
    owner.reset();
    calls += note.size() == 100;  // what the callback holds is still there
  });
  call();
  call();
  EXPECT_EQ(calls, 1);
}

TEST(Lifetime, ACallbackMayKeepAStateOfItsOwn) {
  const Lifetime owner;
  int last = 0;
  std::function<void()> call = owner.guard([&last, n = 0]() mutable { last = ++n; });
  call();
  call();
  EXPECT_EQ(last, 2);
}

}  // namespace
}  // namespace sickbay
