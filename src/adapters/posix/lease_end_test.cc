// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/lease_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "adapters/posix/boot_clock.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

TEST(LeaseEnd, ComesAtItsTimeAndNotBefore) {
  std::promise<Micros> ended;
  LeaseEnd end([&] { ended.set_value(boot_clock()); });
  const Micros until = boot_clock() + 60ms;
  end.set(until);
  auto at = ended.get_future();
  ASSERT_EQ(at.wait_for(20s), std::future_status::ready);
  EXPECT_GE(at.get(), until);
}

TEST(LeaseEnd, IsPutOffByARenewal) {
  std::promise<Micros> ended;
  LeaseEnd end([&] { ended.set_value(boot_clock()); });
  const Micros first = boot_clock() + 30ms;
  end.set(first);
  end.set(first + 70ms);
  EXPECT_GE(ended.get_future().get(), first + 70ms);
}

TEST(LeaseEnd, ATimeThatIsOverComesAtOnce) {
  std::promise<void> ended;
  LeaseEnd end([&] { ended.set_value(); });
  end.set(Micros(-5));
  EXPECT_EQ(ended.get_future().wait_for(20s), std::future_status::ready);
}

TEST(LeaseEnd, NeverComesWhereNoLeaseWasSet) {
  std::atomic<bool> ended = false;
  {
    LeaseEnd end([&] { ended = true; });
  }
  {
    LeaseEnd end([&] { ended = true; });
    end.set(boot_clock() + 1h);
  }
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace sickbay
