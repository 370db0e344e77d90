// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/import_watch.h"

#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace sickbay::cli {

bool FileChanges::look(const std::string& path, State& state) {
  struct stat s = {};
  if (::stat(path.c_str(), &s) != 0) return false;
  state = {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec * 1'000'000'000LL + s.st_mtim.tv_nsec};
  return true;
}

std::vector<std::string> FileChanges::changed(const std::vector<std::string>& paths) const {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    State now;
    if (!look(path, now)) continue;
    const auto before = known_.find(path);
    if (before == known_.end() || before->second != now) found.push_back(path);
  }
  return found;
}

void FileChanges::remember(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    State now;
    if (look(path, now)) known_[path] = now;
  }
}

void watch(const std::function<Status()>& round, const std::function<bool()>& wait,
           const std::function<bool(const Error&)>& failed) {
  do {
    if (auto done = round(); !done && !failed(done.error())) return;
  } while (wait());
}

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
