// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: a server on a loop of its own thread, and a peer that sends raw bytes.
//
// The peer blocks, with a limit on every wait, so that a test that fails ends.
#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/net/http_server.h"
#include "ports/credentials.h"
#include "ports/people.h"

namespace sickbay {

inline constexpr std::chrono::seconds kTestPatience{20};

/// A folder that is gone at the end.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/sickbay_net_XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs `task` on the loop's thread and waits for it.
inline void run_on(Loop& loop, const std::function<void()>& task) {
  std::promise<void> done;
  loop.post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}
/// Whether `good`, asked on the loop's thread, becomes true before patience ends.
inline bool becomes_on(Loop& loop, const std::function<bool()>& good) {
  const auto limit = std::chrono::steady_clock::now() + kTestPatience;
  for (bool is = false; std::chrono::steady_clock::now() < limit;) {
    run_on(loop, [&] { is = good(); });
    if (is) return true;
    std::this_thread::yield();
  }
  return false;
}

/// A program on 127.0.0.1 that wants to be called.
class TestListener {
 public:
  TestListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at);
    ::listen(fd_, 5);
    socklen_t size = sizeof at;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
  }
  TestListener(const TestListener&) = delete;
  ~TestListener() { ::close(fd_); }
  std::uint16_t port() const { return port_; }
  /// The next call, the caller's to close; -1: nobody called.
  int accept(int patience_ms = 20'000) {
    pollfd look{fd_, POLLIN, 0};
    if (::poll(&look, 1, patience_ms) != 1) return -1;
    return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

/// A raw connection.
class TestPeer {
 public:
  /// To 127.0.0.1.
  explicit TestPeer(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    be_patient();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit TestPeer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    be_patient();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~TestPeer() { close(); }
  TestPeer(TestPeer&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), kept_(std::move(other.kept_)) {}

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Everything up to and with `mark`; what came beyond is kept.  Shorter at the end of the connection.
  std::string read_until(std::string_view mark) {
    std::size_t at;
    while ((at = kept_.find(mark)) == std::string::npos)
      if (!more()) return std::exchange(kept_, {});
    std::string got = kept_.substr(0, at + mark.size());
    kept_.erase(0, at + mark.size());
    return got;
  }
  std::string read_bytes(std::size_t count) {
    while (kept_.size() < count && more()) {
    }
    std::string got = kept_.substr(0, count);
    kept_.erase(0, count);
    return got;
  }
  /// To the end of the connection.
  std::string read_all() {
    while (more()) {
    }
    return std::exchange(kept_, {});
  }
  /// One answer with Content-Length: head and body.
  std::pair<std::string, std::string> read_answer() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    const std::size_t length =
        at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
    return {std::move(head), read_bytes(length)};
  }

 private:
  bool more() {
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n < 0) failed_ = errno;
    if (n <= 0) return false;
    kept_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  void be_patient() {
    const timeval patience{kTestPatience.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }

  int fd_;
  bool connected_ = false;
  std::string kept_;
  int failed_ = 0;
};

/// Who has which name on this host; a look-up may be held until somebody lets it go.  On the loop's thread.
class TestPeople final : public People {
 public:
  void ask(std::uint32_t uid, std::uint32_t, std::function<void(const Person&)> then) override {
    const auto answer = [uid, then = std::move(then)] {
      const passwd* entry = ::getpwuid(uid);
      then(Person{entry != nullptr ? entry->pw_name : "", {"staff"}});
    };
    if (to_hold_ == 0) return answer();
    --to_hold_;
    held_.push_back(answer);
  }
  std::string name_now(std::uint32_t) override { return ""; }
  void hold(int look_ups) { to_hold_ = look_ups; }
  std::size_t held() const { return held_.size(); }
  void let_go() {
    for (const auto& answer : std::exchange(held_, {})) answer();
  }

 private:
  int to_hold_ = 0;
  std::vector<std::function<void()>> held_;
};

/// A server that answers with `handler`, on its own thread.
class TestServer {
 public:
  explicit TestServer(HttpServer::Handler handler, HttpLimits limits = {}, std::string path = {}) {
    path_ = path.empty() ? folder_.path() + "/s.sock" : path;
    loop_ = make_asio_loop();
    server_ = make_http_server(*loop_, limits);
    server_->name_callers_by(people_);
    server_->on_request(std::move(handler));
    const Status listening = server_->listen_unix(path_, 0666);
    EXPECT_TRUE(listening) << listening.error().message("test");
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~TestServer() {
    loop_->post([this] {
      server_->close();
      loop_->stop();
    });
    thread_.join();
  }

  const std::string& path() const { return path_; }
  AsioLoop& loop() { return *loop_; }
  TestPeople& people() { return people_; }
  TestPeer peer() const { return TestPeer(path_); }
  /// Listens on 127.0.0.1 as well; the port.
  std::uint16_t listen_tcp(Credentials& credentials) {
    std::uint16_t port = 0;
    on_loop([&] {
      auto listening = server_->listen_tcp("127.0.0.1", 0, credentials);
      EXPECT_TRUE(listening) << listening.error().message("test");
      port = listening.value_or(0);
    });
    return port;
  }
  /// Runs `task` on the loop's thread and waits for it.
  void on_loop(const std::function<void()>& task) { run_on(*loop_, task); }

 private:
  TestFolder folder_;
  std::string path_;
  TestPeople people_;
  std::unique_ptr<AsioLoop> loop_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace sickbay
