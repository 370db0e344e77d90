// SPDX-License-Identifier: Apache-2.0
// Places: whom others can keep out by connections alone, and whom they cannot.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "adapters/net/http_signature.h"
#include "adapters/net/net_test_parts.h"
#include "base/digest/sha256.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using testing::StartsWith;

void greet(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
  reply->respond(json_response(200, Json::object({{"uid", request.caller.uid}})));
}

// What munged would say, without one: a credential is the number under which the test has put its words.
class KnownCredentials final : public Credentials {
 public:
  void encode(std::string, std::uint32_t, Done<std::string> done) override { done("signed"); }
  void decode(std::string credential, Done<Credential> done) override {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(credential);
    if (it == known_.end()) return done(fail(ErrorCode::denied, "nobody has signed this"));
    Credential said = it->second;
    known_.erase(it);  // it holds once
    done(std::move(said));
  }
  /// A whole request of `uid`.
  std::string request(std::uint32_t uid, const std::string& method = "GET", const std::string& body = "") {
    const std::lock_guard lock(mutex_);
    const std::string number = std::to_string(++last_);
    RequestSignature signature{method, "/", "", sha256_hex(body), new_nonce()};
    known_[number] = Credential{signature.text(), uid, uid, kNoTime, kNoTime};
    return method + " / HTTP/1.1\r\nHost: x\r\nAuthorization: Munge " + number +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Credential> known_;
  int last_ = 0;
};

struct OverTcp : testing::Test {
  void listen(HttpLimits limits) {
    server = std::make_unique<TestServer>(greet, limits);
    port = server->listen_tcp(credentials);
  }
  /// A connection of `uid`, kept open, and what it was answered.
  std::pair<TestPeer, std::string> call(std::uint32_t uid) {
    TestPeer peer(port);
    EXPECT_TRUE(peer.send(credentials.request(uid)));
    std::string head = peer.read_answer().first;
    return {std::move(peer), std::move(head)};
  }
  KnownCredentials credentials;
  std::unique_ptr<TestServer> server;
  std::uint16_t port = 0;
};

TEST_F(OverTcp, WhoSaysNothingGivesWayToWhoComes) {
  HttpLimits limits;
  limits.connections_per_address = 3;
  listen(limits);
  std::vector<TestPeer> silent;
  for (int i = 0; i < 3; ++i) {
    silent.emplace_back(port);
    ASSERT_TRUE(silent.back().send("GET / HTTP/1.1\r\n"));  // and never the rest
  }
  for (int i = 0; i < 3; ++i) {
    const auto [peer, head] = call(60001);
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 ")) << i;
  }
  EXPECT_EQ(silent.front().read_all(), "") << "the oldest of them went";
}

TEST_F(OverTcp, OneUserOfANodeLeavesRoomForItsAgent) {
  HttpLimits limits;
  limits.connections_per_address = 32;
  listen(limits);
  std::vector<TestPeer> hers;
  int served = 0;
  for (int i = 0; i < 32; ++i) {
    auto [peer, head] = call(60001);
    served += head.starts_with("HTTP/1.1 200 ");
    hers.push_back(std::move(peer));
  }
  EXPECT_GE(served, 16);
  const auto [agent, head] = call(0);
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  const auto [another, his_head] = call(0);
  EXPECT_THAT(his_head, StartsWith("HTTP/1.1 200 "));
}

TEST_F(OverTcp, OneUserOfALoginHostLeavesRoomForOthers) {
  HttpLimits limits;
  limits.connections_per_address = 64;
  limits.connections_per_user = 4;
  listen(limits);
  std::vector<TestPeer> hers;
  int served = 0;
  for (int i = 0; i < 10; ++i) {
    auto [peer, head] = call(60001);
    served += head.starts_with("HTTP/1.1 200 ");
    hers.push_back(std::move(peer));
  }
  EXPECT_EQ(served, 4);
  EXPECT_THAT(call(60002).second, StartsWith("HTTP/1.1 200 "));
  hers.clear();
  for (int attempt = 0; attempt < 10'000; ++attempt)  // until their ends have been seen
    if (call(60001).second.starts_with("HTTP/1.1 200 ")) return;
  FAIL() << "places are given back";
}

TEST_F(OverTcp, WhoDoesNotSayWhoHeIsIsCut) {
  HttpLimits limits;
  limits.stranger_time = milliseconds(50);
  limits.idle_time = limits.header_time = std::chrono::hours(1);
  listen(limits);
  TestPeer silent(port), half(port);
  ASSERT_TRUE(half.send("GET / HTTP/1.1\r\n"));
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
  // On a busy machine she may come too late, too.
  std::optional<std::pair<TestPeer, std::string>> alice;
  for (int attempt = 0; attempt < 1000 && (!alice || alice->second.empty()); ++attempt)
    alice.emplace(call(60001));
  EXPECT_THAT(alice->second, StartsWith("HTTP/1.1 200 "));
  // She is known: she may wait with her next request, for longer than that.
  TestPeer another(port);
  EXPECT_EQ(another.read_all(), "");
  ASSERT_TRUE(alice->first.send(credentials.request(60001)));
  EXPECT_THAT(alice->first.read_answer().first, StartsWith("HTTP/1.1 200 "));
}

TEST_F(OverTcp, ALargeBodyNeedsACredentialFirst) {
  listen({});
  const std::string body(std::size_t{1} << 20, 'b');
  TestPeer stranger(port);
  ASSERT_TRUE(
      stranger.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + body.substr(0, 1000)));
  EXPECT_THAT(stranger.read_answer().first, StartsWith("HTTP/1.1 403 ")) << "before the rest of it";
  TestPeer liar(port);
  ASSERT_TRUE(
      liar.send("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Munge 99\r\nContent-Length: 1048576\r\n\r\n"));
  EXPECT_THAT(liar.read_answer().first, StartsWith("HTTP/1.1 403 "));

  // Who has one is asked for it once, also where another request follows.
  TestPeer alice(port);
  ASSERT_TRUE(alice.send(credentials.request(60001, "POST", body) + credentials.request(60001, "POST", body) +
                         credentials.request(60001)));
  for (int i = 0; i < 3; ++i) {
    const auto [head, answer] = alice.read_answer();
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 ")) << i;
    EXPECT_EQ(answer, "{\"uid\":60001}\n");
  }
  // The credential is of these words, not of others that came with it.
  std::string changed = credentials.request(60001, "POST", body);
  changed.back() = 'c';
  TestPeer between(port);
  ASSERT_TRUE(between.send(changed));
  EXPECT_THAT(between.read_answer().first, StartsWith("HTTP/1.1 403 "));
}

// A child as `uid`, with `count` connections that are served and `more` half requests beside them, until the
// pipe `over` is closed.
pid_t crowd(const std::string& path, uid_t uid, int count, int more, int ready, int over) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (::setgroups(0, nullptr) != 0 || ::setuid(uid) != 0) ::_exit(1);
  std::vector<TestPeer> peers;
  for (int i = 0; i < count; ++i) {
    peers.emplace_back(path);
    if (!peers.back().send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) break;
    peers.back().read_answer();
  }
  for (int i = 0; i < more; ++i) {
    peers.emplace_back(path);
    peers.back().send("GET / HTTP/1.1\r\n");
  }
  char byte = 'r';
  const bool told = ::write(ready, &byte, 1) == 1;
  ::_exit(told && ::read(over, &byte, 1) == 0 ? 0 : 2);
}

TEST(HttpStrangers, FourUsersLeaveRoomForRoot) {
  if (::getuid() != 0) return;
  TestServer server(greet);
  std::filesystem::permissions(std::filesystem::path(server.path()).parent_path(),
                               std::filesystem::perms(0755));
  int ready[2], over[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(over, O_CLOEXEC), 0);
  std::vector<pid_t> children;
  for (uid_t uid = 48101; uid <= 48104; ++uid) {
    const pid_t child = crowd(server.path(), uid, 64, 20, ready[1], over[0]);
    if (child == 0) ::_exit(3);
    children.push_back(child);
    pollfd look{ready[0], POLLIN, 0};
    char byte = 0;
    ASSERT_EQ(::poll(&look, 1, 20'000), 1);
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  }
  TestPeer root = server.peer();
  ASSERT_TRUE(root.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(root.read_answer().first, StartsWith("HTTP/1.1 200 "));
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], over[0], over[1]}) ::close(fd);
}

}  // namespace
}  // namespace sickbay
