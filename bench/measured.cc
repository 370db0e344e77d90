// SPDX-License-Identifier: Apache-2.0
// measured COMMAND...: runs it, and prints "WALL USER SYSTEM PEAK_MIB" of it on standard error's last line
// (seconds, MiB). Debian's bash has no word for the peak memory of a child, and GNU time is one package more.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: measured COMMAND...\n", stderr), 2;
  const auto begun = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) return std::perror("measured: fork"), 71;
  if (child == 0) {
    ::execvp(argv[1], argv + 1);
    std::perror("measured: exec");
    ::_exit(127);
  }
  int status = 0;
  rusage used = {};
  if (::wait4(child, &status, 0, &used) != child) return std::perror("measured: wait4"), 71;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  std::fprintf(stderr, "%.2f %.2f %.2f %.0f\n", wall, seconds(used.ru_utime), seconds(used.ru_stime),
               static_cast<double>(used.ru_maxrss) / 1024);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
