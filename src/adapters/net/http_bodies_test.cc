// SPDX-License-Identifier: Apache-2.0
// Bodies on their way: what strangers and slow senders can take from others, and what they cannot.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <sys/wait.h>

#include <deque>
#include <vector>

#include "adapters/net/http_budget.h"
#include "adapters/net/http_request.h"
#include "adapters/net/net_test_parts.h"
#include "base/heap_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using testing::StartsWith;

// Nobody's word holds: strangers over TCP get no further than the end of their body.
class NoCredentials final : public Credentials {
 public:
  void encode(std::string, std::uint32_t, Done<std::string> done) override {
    done(fail(ErrorCode::denied, "nobody signs here"));
  }
  void decode(std::string, Done<Credential> done) override {
    done(fail(ErrorCode::denied, "nobody is known here"));
  }
};

void answer_bytes(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
  reply->respond(json_response(200, Json::object({{"bytes", request.body.size()}})));
}

std::string head(std::size_t length, const std::string& path = "/") {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}
std::string post(std::size_t length, const std::string& path = "/") {
  return head(length, path) + std::string(length, 'b');
}
/// `bytes` are all that this process, root or not, may have on their way.
HttpLimits room_for(std::size_t bytes) {
  HttpLimits limits;
  limits.arriving_bytes = ::getuid() == 0 ? bytes : 2 * bytes;
  limits.arriving_bytes_of_peer = bytes;
  return limits;
}
/// A sender that stops just before the end of its body.
TestPeer half_way(TestPeer peer, std::size_t length) {
  const std::string all = post(length);
  EXPECT_TRUE(peer.send(std::string_view(all).substr(0, all.size() - 1)));
  return peer;
}
/// Posts over new connections until the answer has `status`: what others have sent may not be in yet.
bool comes_to(const std::function<TestPeer()>& connect, std::size_t length, const std::string& status) {
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    TestPeer peer = connect();
    if (!peer.send(post(length))) return false;
    if (peer.read_answer().first.starts_with("HTTP/1.1 " + status + " ")) return true;
  }
  return false;
}

TEST(BodyBudget, GivesAPeerItsShareAndRootTheRest) {
  auto budget = std::make_shared<BodyBudget>(100, 30);
  BodyShare root(budget, "0", true);
  {
    std::deque<BodyShare> others;
    for (const char* peer : {"1", "1", "2", "3"}) others.emplace_back(budget, peer, false);
    EXPECT_TRUE(others[0].hold(20));
    EXPECT_FALSE(others[1].hold(11)) << "30 of one peer";
    EXPECT_TRUE(others[1].hold(10));
    EXPECT_TRUE(others[1].hold(10)) << "as it is";
    EXPECT_FALSE(others[2].hold(31));
    EXPECT_TRUE(others[2].hold(30));
    EXPECT_FALSE(others[3].hold(11)) << "70 of all but root";
    EXPECT_TRUE(others[0].hold(5)) << "less always goes";
    EXPECT_TRUE(others[3].hold(25));
    EXPECT_EQ(budget->used(), 70U);
    EXPECT_TRUE(root.hold(30)) << "which nobody else can take";
    EXPECT_FALSE(root.hold(31));
    EXPECT_EQ(budget->used(), 100U);
    EXPECT_FALSE(others[0].hold(6));
  }
  EXPECT_EQ(budget->used(), 30U) << "given back at the end";
  EXPECT_TRUE(root.hold(100));
  BodyShare moved(std::move(root));
  EXPECT_TRUE(moved.hold(0));
  EXPECT_EQ(budget->used(), 0U);
}

TEST(HttpBodies, AnAnnouncedBodyTakesNoRoom) {
  TestServer server(answer_bytes);
  NoCredentials nobody;
  const std::uint16_t port = server.listen_tcp(nobody);
  std::vector<TestPeer> loud;
  for (int i = 0; i < 16; ++i) {
    loud.push_back(i % 2 ? server.peer() : TestPeer(port));
    ASSERT_TRUE(loud.back().send(
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8388608\r\n\r\n"));
    // (Over TCP so much is not even waited for: nobody has signed.)
    ASSERT_THAT(loud.back().read_until("\r\n\r\n"), StartsWith(i % 2 ? "HTTP/1.1 100 " : "HTTP/1.1 403 "))
        << i;
  }
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send(post(100'000)));
  EXPECT_THAT(peer.read_answer().first, StartsWith("HTTP/1.1 200 "));
}

TEST(HttpBodies, StrangersOverTcpLeaveTheUnixSocketAlone) {
  HttpLimits limits;
  limits.arriving_bytes = 4000;
  limits.arriving_bytes_of_peer = 1000;
  TestServer server(answer_bytes, limits);
  NoCredentials nobody;
  const std::uint16_t port = server.listen_tcp(nobody);
  std::vector<TestPeer> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(half_way(TestPeer(port), 1000));
  ASSERT_TRUE(comes_to([&] { return TestPeer(port); }, 900, "503"));
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send(post(900)));
  EXPECT_THAT(peer.read_answer().first, StartsWith("HTTP/1.1 200 "));
}

TEST(HttpBodies, ABodyHoldsItsRoomUntilItsRequestIsAnswered) {
  // Else whoever is slow to be answered (a check of a credential, a full disk) may hold any number of them.
  std::deque<std::shared_ptr<HttpReply>> waiting;
  TestServer server(
      [&](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
        if (request.path != "/wait") return answer_bytes(request, reply);
        waiting.push_back(reply);
      },
      room_for(3000));
  std::vector<TestPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(server.peer());
    ASSERT_TRUE(peers.back().send(post(1000, "/wait")));
  }
  EXPECT_TRUE(comes_to([&] { return server.peer(); }, 900, "503"));
  server.on_loop([&] {
    ASSERT_EQ(waiting.size(), 3U);
    waiting.front()->respond(HttpResponse());
    waiting.pop_front();
  });
  EXPECT_THAT(peers.front().read_answer().first, StartsWith("HTTP/1.1 200 "));
  TestPeer next = server.peer();
  ASSERT_TRUE(next.send(post(900)));
  EXPECT_THAT(next.read_answer().first, StartsWith("HTTP/1.1 200 "));
  server.on_loop([&] { waiting.clear(); });
}

TEST(HttpBodies, WhatHasComeIsBounded) {
  TestServer server(answer_bytes, room_for(3000));
  std::vector<TestPeer> senders;
  for (int i = 0; i < 3; ++i) senders.push_back(half_way(server.peer(), 1000));
  ASSERT_TRUE(comes_to([&] { return server.peer(); }, 900, "503"));
  TestPeer small = server.peer();
  ASSERT_TRUE(small.send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_THAT(small.read_answer().first, StartsWith("HTTP/1.1 200 ")) << "what has no body is not refused";

  ASSERT_TRUE(senders[0].send("b"));
  EXPECT_THAT(senders[0].read_answer().first, StartsWith("HTTP/1.1 200 "));
  senders[1].close();  // gives back, too, what it held
  EXPECT_TRUE(comes_to([&] { return server.peer(); }, 1900, "200"));
}

TEST(HttpBodies, OneUserLeavesRoomForOthers) {
  if (::getuid() != 0) return;
  HttpLimits limits;
  limits.arriving_bytes = 4000;
  limits.arriving_bytes_of_peer = 1000;
  TestServer server(answer_bytes, limits);
  std::filesystem::permissions(std::filesystem::path(server.path()).parent_path(),
                               std::filesystem::perms(0755));
  int full[2], done[2];
  ASSERT_EQ(::pipe2(full, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(done, O_CLOEXEC), 0);
  const pid_t greedy = ::fork();
  if (greedy == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setuid(65534) != 0) ::_exit(1);
    const TestPeer holder = half_way(TestPeer(server.path()), 1000);
    if (!comes_to([&] { return TestPeer(server.path()); }, 900, "503")) ::_exit(2);
    char byte = 'f';
    ::_exit(::write(full[1], &byte, 1) == 1 && ::read(done[0], &byte, 1) == 1 ? 0 : 3);
  }
  pollfd look{full[0], POLLIN, 0};
  ASSERT_EQ(::poll(&look, 1, 20'000), 1);
  const pid_t modest = ::fork();
  if (modest == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setuid(48123) != 0) ::_exit(1);
    TestPeer peer(server.path());
    peer.send(post(900));
    ::_exit(peer.read_answer().first.starts_with("HTTP/1.1 200 ") ? 0 : 1);
  }
  TestPeer own = server.peer();
  ASSERT_TRUE(own.send(post(900)));
  EXPECT_THAT(own.read_answer().first, StartsWith("HTTP/1.1 200 "));
  int status = -1;
  ASSERT_EQ(::waitpid(modest, &status, 0), modest);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::write(done[1], "d", 1), 1);
  ASSERT_EQ(::waitpid(greedy, &status, 0), greedy);
  EXPECT_EQ(status, 0);
  for (const int fd : {full[0], full[1], done[0], done[1]}) ::close(fd);
}

TEST(HttpBodies, ADripOfBytesEndsWithTheTimeForABody) {
  HttpLimits limits;
  limits.body_time = milliseconds(50);
  TestServer server(answer_bytes, limits);
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send(head(8 << 20)));
  pollfd look{peer.fd(), POLLIN, 0};
  for (int i = 0; i < 5000 && ::poll(&look, 1, 2) == 0; ++i) ASSERT_TRUE(peer.send("x"));
  EXPECT_THAT(peer.read_answer().first, StartsWith("HTTP/1.1 408 "));
}

TEST(HttpBodies, AnAnnouncedBodyTakesNoMemory) {
  const std::size_t before = held_bytes();
  std::vector<std::unique_ptr<HttpRequestReader>> readers;
  for (int i = 0; i < 64; ++i) {
    readers.push_back(std::make_unique<HttpRequestReader>(HttpRequestLimits()));
    readers.back()->add(head(8 << 20) + "begun");
    ASSERT_EQ(readers.back()->step(), HttpRequestReader::Progress::need_more);
  }
  EXPECT_LT(held_bytes() - before, std::size_t{8} << 20);
}

}  // namespace
}  // namespace sickbay
