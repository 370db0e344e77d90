// SPDX-License-Identifier: Apache-2.0
// A munged of a test's own: its key, its socket and its process, gone at the end.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
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
      // It says every start and end; what matters here is what it answers.
      if (const int none = ::open("/dev/null", O_WRONLY | O_CLOEXEC); none >= 0) ::dup2(none, STDERR_FILENO);
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
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
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
