// SPDX-License-Identifier: Apache-2.0
// smd: the command of users whose jobs lose nodes.  Its work: apps/smd/command.h.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "apps/smd/command.h"
#include "base/result.h"

namespace {

void write(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);  // the output of a job is a file, and its lines should stand in it as they happen
}

sickbay::TimePoint now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return sickbay::from_micros(t.tv_sec * 1'000'000LL + t.tv_nsec / 1000);
}

void wait_until(sickbay::TimePoint until) {
  const std::int64_t us = sickbay::to_micros(until);
  const timespec t{us / 1'000'000, us % 1'000'000 * 1000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  sickbay::smd::World world;
  world.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  world.out = [](std::string_view text) { write(stdout, text); };
  world.err = [](std::string_view text) { write(stderr, text); };
  world.now = now;
  world.wait_until = wait_until;
  world.version = SICKBAY_VERSION;
  const int code = sickbay::smd::run_smd({argv + 1, argv + argc}, world);
  // A script that takes the exports or the JSON must know that they are not all there.
  if (code == 0 && (std::ferror(stdout) != 0 || std::fclose(stdout) != 0)) {
    std::fputs("smd: error: cannot write to standard output\n", stderr);
    return sickbay::error_row(sickbay::ErrorCode::storage_broken).exit_code;
  }
  return code;
}
