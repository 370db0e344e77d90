// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/lease_end.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace sickbay {

LeaseEnd::LeaseEnd(std::function<void()> ended)
    : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      ended_(std::move(ended)) {
  SB_CHECK(timer_ >= 0 && stop_ >= 0, "two file descriptors are left");
  thread_ = std::thread([this] {
    std::array<pollfd, 2> wait{pollfd{timer_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    while (::poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) {
    }
    if (wait[1].revents == 0) ended_();
  });
}

LeaseEnd::~LeaseEnd() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(timer_);
  ::close(stop_);
}

void LeaseEnd::set(Micros until) {
  itimerspec when{};
  when.it_value.tv_sec = until.count() / 1'000'000;
  when.it_value.tv_nsec = until.count() % 1'000'000 * 1000;
  // All zeros would put it out; so early is long over.
  if (until.count() <= 0) when.it_value.tv_nsec = 1;
  SB_CHECK(::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr) == 0, "the timer is ours");
}

}  // namespace sickbay
