// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/interrupts.h"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace sickbay::cli {

struct Interrupts::Impl {
  sigset_t ours = {}, before = {};
};

Interrupts::Interrupts() : impl_(std::make_unique<Impl>()) {
  sigemptyset(&impl_->ours);
  sigaddset(&impl_->ours, SIGINT);
  sigaddset(&impl_->ours, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &impl_->ours, &impl_->before);
}

Interrupts::~Interrupts() {
  // One that came late must not end the process now, which ends by itself.
  const timespec at_once = {};
  while (sigtimedwait(&impl_->ours, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &impl_->before, nullptr);
}

bool Interrupts::wait(std::chrono::microseconds time) const {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec left = {static_cast<std::time_t>(seconds.count()),
                         static_cast<long>((time - seconds).count() * 1000)};
  int signal = 0;
  do signal = sigtimedwait(&impl_->ours, nullptr, &left);
  while (signal < 0 && errno == EINTR);  // the wait begins anew: a child ended, say
  return signal < 0;
}

}  // namespace sickbay::cli
