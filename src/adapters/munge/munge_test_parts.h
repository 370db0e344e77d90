// SPDX-License-Identifier: Apache-2.0
// A munged of a test's own: its key, its socket and its process, gone at the end.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sickbay {

class TestMunged {
 public:
  /// `key` of 32 bytes or more: daemons of one key understand each other.
  explicit TestMunged(const std::string& key = "a key that only tests have, 0123456789") {
    char name[] = "/tmp/sickbay_munge_XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(folder_ + "/key") << key;
    ::chmod((folder_ + "/key").c_str(), 0400);
    start();
  }
  TestMunged(const TestMunged&) = delete;
  ~TestMunged() {
    stop();
    std::filesystem::remove_all(folder_);
  }

  std::string socket() const { return folder_ + "/socket"; }
  pid_t pid() const { return pid_; }

  void start() {
    pid_ = ::fork();
    if (pid_ == 0) {
      // Not to outlive a test that is killed.  And nothing of the test's output may stay open in it: whoever
      // reads that, as ctest does, would wait for its end.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (const int none = ::open("/dev/null", O_WRONLY | O_CLOEXEC); none >= 0)
        for (const int out : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(none, out);
      const auto option = [this](const char* text, const char* file) { return text + folder_ + file; };
      ::execlp("munged", "munged", "--foreground", "--force", option("--key-file=", "/key").c_str(),
               option("--socket=", "/socket").c_str(), option("--pid-file=", "/pid").c_str(),
               option("--seed-file=", "/seed").c_str(), option("--log-file=", "/log").c_str(),
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!answers()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << "munged does not start";
      std::this_thread::yield();
    }
  }
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGCONT);
    const auto begin = std::chrono::steady_clock::now();
    auto next = begin;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (now > begin + std::chrono::seconds(10)) {
        ADD_FAILURE() << "munged does not end";
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        break;
      }
      // Again and again: it looks whether it was told to end, then waits for a client, and a signal between
      // the two wakes nobody.
      if (now >= next) {
        ::kill(pid_, SIGTERM);
        next = now + std::chrono::milliseconds(50);
      }
      std::this_thread::yield();
    }
    pid_ = 0;
  }

 private:
  bool answers() const {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, socket().c_str(), sizeof at.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    return good;
  }

  std::string folder_;
  pid_t pid_ = 0;
};

}  // namespace sickbay
