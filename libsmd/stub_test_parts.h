// SPDX-License-Identifier: Apache-2.0
// A nonstop service for tests of libsmd: real TCP on loopback, a real munged of its own, scripted answers.
//
// Requests are read by the server's own code (model/nonstop_wire.h), so that client and server cannot both be
// wrong in the same way unseen.  One thread; one request at a time.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <munge.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/munge/munge_test_parts.h"
#include "model/nonstop_wire.h"

namespace sickbay {

class StubService {
 public:
  /// Gives the bytes to send back; it may use the connection itself.  `refusal` is set where the request
  /// cannot be read.
  using Answer =
      std::function<std::string(const Result<wire::Request>&, int connection, const std::string& peer)>;

  explicit StubService(std::string munge_socket, const char* address = "127.0.0.1")
      : munge_(std::move(munge_socket)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &at.sin_addr);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    socklen_t size = sizeof at;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    EXPECT_EQ(::pipe(stop_), 0);
    thread_ = std::thread([this] { serve(); });
  }
  StubService(const StubService&) = delete;
  ~StubService() {
    stop();
    ::close(stop_[0]);
    ::close(stop_[1]);
  }

  std::uint16_t port() const { return port_; }
  /// What every further request is answered.
  void answer(Answer how) {
    const std::lock_guard hold(lock_);
    how_ = std::move(how);
  }
  void answer(const std::string& text) {
    answer([text](const Result<wire::Request>&, int, const std::string&) { return wire::frame(text); });
  }
  /// The requests so far, as they were after MUNGE.
  std::vector<std::string> payloads() {
    const std::lock_guard hold(lock_);
    return payloads_;
  }
  void stop() {
    if (!thread_.joinable()) return;
    EXPECT_EQ(::write(stop_[1], "x", 1), 1);
    thread_.join();
    ::close(listener_);
  }

 private:
  void serve() {
    while (true) {
      pollfd waits[2] = {{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
      if (::poll(waits, 2, -1) < 0) continue;
      if (waits[1].revents != 0) return;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      serve_one(fd);
      ::close(fd);
    }
  }
  void serve_one(int fd) {
    wire::FrameReader reader;
    std::optional<std::string> body;
    char bytes[4096];
    while (!body) {
      const ssize_t got = ::read(fd, bytes, sizeof bytes);
      if (got <= 0 || !reader.take({bytes, static_cast<std::size_t>(got)})) return;
      body = reader.next();
    }
    munge_ctx_t context = ::munge_ctx_create();
    ::munge_ctx_set(context, MUNGE_OPT_SOCKET, munge_.c_str());
    void* payload = nullptr;
    int size = 0;
    uid_t uid = 0;
    const munge_err_t error = ::munge_decode(body->c_str(), context, &payload, &size, &uid, nullptr);
    ::munge_ctx_destroy(context);
    std::string reply;
    if (error != EMUNGE_SUCCESS) {
      reply = wire::frame(wire::format_failure(wire::kNotDecrypted));
    } else {
      const std::string text(static_cast<const char*>(payload), static_cast<std::size_t>(size));
      Answer how;
      {
        const std::lock_guard hold(lock_);
        payloads_.push_back(text.substr(0, text.find('\0')));
        how = how_;
      }
      sockaddr_in from{};
      socklen_t from_size = sizeof from;
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&from), &from_size);
      char peer[INET_ADDRSTRLEN] = "";
      ::inet_ntop(AF_INET, &from.sin_addr, peer, sizeof peer);
      reply = how(wire::parse_request(text), fd, peer);
    }
    ::free(payload);
    for (std::size_t sent = 0; sent < reply.size();) {
      const ssize_t n = ::send(fd, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }

  std::string munge_;
  int listener_ = -1, stop_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::mutex lock_;
  Answer how_ = [](const Result<wire::Request>&, int, const std::string&) {
    return wire::frame("22.05.8 ECMD");
  };
  std::vector<std::string> payloads_;
  std::thread thread_;
};

/// A folder with slurm.conf and nonstop.conf, which SLURM_CONF names while it lives.
class ConfFolder {
 public:
  ConfFolder() {
    char name[] = "/tmp/smd_test_XXXXXX";
    folder_ = ::mkdtemp(name);
    ::setenv("SLURM_CONF", (folder_ + "/slurm.conf").c_str(), 1);
  }
  ConfFolder(const ConfFolder&) = delete;
  ~ConfFolder() {
    ::unsetenv("SLURM_CONF");
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// A suite whose tests have a service each, and one munged among them; libsmd finds both by the files of
/// `conf`.
class StubServiceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { munged = new TestMunged; }
  static void TearDownTestSuite() {
    delete munged;
    munged = nullptr;
  }
  void SetUp() override {
    service = std::make_unique<StubService>(munged->socket());
    conf.write("slurm.conf", "AuthInfo=socket=" + munged->socket() + "\n");
    conf.write("nonstop.conf", "ControlAddr=127.0.0.1\nPort=" + std::to_string(service->port()) + "\n");
  }

  static inline TestMunged* munged = nullptr;
  ConfFolder conf;
  std::unique_ptr<StubService> service;
};

}  // namespace sickbay
