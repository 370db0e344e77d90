// SPDX-License-Identifier: Apache-2.0
// Clients of the nonstop protocol on real sockets: what one of them does must not touch the others.
#include "adapters/net/nonstop_server.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <vector>

#include "adapters/net/net_test_parts.h"
#include "model/nonstop_wire.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A server that echoes, on a loop of its own thread; "hold ..." is kept unanswered, "stream" stays open.
class NonstopServerTest : public testing::Test {
 protected:
  void serve(NonstopLimits limits = {}, NonstopServer::Times times = {}) {
    loop_ = make_asio_loop();
    server_ = make_nonstop_server(*loop_, limits);
    server_->set_times(times);
    server_->on_message([this](const std::string& body, std::shared_ptr<NonstopPeer> peer) {
      if (body.starts_with("hold") || body == "stream") {
        peer->on_close([this] { ++closed_; });
        if (body == "stream") peer->write("begun");
        held_.push_back(std::move(peer));
      } else if (body != "drop") {
        peer->answer(body == "big" ? std::string(8 << 20, 'x') : "you said " + body);
      }
    });
    port_ = *server_->listen("127.0.0.1", 0);
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~NonstopServerTest() override {
    if (!thread_.joinable()) return;
    on_loop([this] {
      held_.clear();
      server_->close();
      loop_->stop();
    });
    thread_.join();
  }
  void on_loop(const std::function<void()>& task) { run_on(*loop_, task); }
  // Waits for something that the loop's thread brings about.
  bool becomes(const std::function<bool()>& good) { return becomes_on(*loop_, good); }
  TestPeer peer() const { return TestPeer(port_); }
  static std::string body_of(const std::string& framed) {
    return framed.size() > wire::kHeaderBytes
               ? framed.substr(wire::kHeaderBytes, framed.find('\0') - wire::kHeaderBytes)
               : framed;
  }
  std::string ask(const std::string& body) {
    TestPeer p = peer();
    p.send(wire::frame(body));
    return body_of(p.read_all());
  }
  NonstopServer::Counts counts() {
    NonstopServer::Counts counts;
    on_loop([&] { counts = server_->counts(); });
    return counts;
  }

  std::unique_ptr<AsioLoop> loop_;
  std::unique_ptr<NonstopServer> server_;
  std::vector<std::shared_ptr<NonstopPeer>> held_;
  int closed_ = 0;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(NonstopServerTest, AMessageIsAnsweredHoweverItComes) {
  serve();
  EXPECT_EQ(ask("hello"), "you said hello");
  const std::string framed = wire::frame("in pieces");
  TestPeer slow = peer();
  for (const char c : framed) ASSERT_TRUE(slow.send({&c, 1}));
  EXPECT_EQ(body_of(slow.read_all()), "you said in pieces");
  TestPeer more = peer();
  more.send(wire::frame("first") + wire::frame("second") + "and more");
  EXPECT_EQ(body_of(more.read_all()), "you said first") << "one request for each connection";
  TestPeer half = peer();  // it has closed its sending side, and waits for the answer
  half.send(wire::frame("bye"));
  half.end_sending();
  EXPECT_EQ(body_of(half.read_all()), "you said bye");
  EXPECT_EQ(ask("drop"), "") << "what nobody answers is closed";
  EXPECT_TRUE(becomes([&] { return server_->counts().connections == 0; }));
}

TEST_F(NonstopServerTest, WhatIsNoMessageIsRefusedAtOnce) {
  serve();
  const struct {
    std::string bytes;
    const char* said;
  } rows[] = {
      {"GET / HTTP/1.1\r\n\r\n", "without its length"},
      {"99999999\nx", "a message of 99999999 bytes"},
      {"00065537\nx", "a message of 65537 bytes"},
      {"00000000\n", "an empty message"},
      {std::string("\0\0\0\0\0\0\0\0\0\0", 10), "without its length"},
      {"-0000001\n", "without its length"},
      {std::string(300'000, 'A'), "without its length"},
  };
  for (const auto& row : rows) {
    TestPeer p = peer();
    p.send(row.bytes);
    EXPECT_THAT(p.read_all(), HasSubstr(row.said));
  }
  EXPECT_TRUE(becomes([&] { return server_->counts().garbled == std::size(rows); }));
  EXPECT_EQ(ask("hello"), "you said hello");
}

TEST_F(NonstopServerTest, WhoStallsIsToldSoAfterTheWholeTime) {
  serve({}, {seconds(1), seconds(1)});
  TestPeer silent = peer(), half = peer(), dripping = peer();
  half.send(wire::frame("never whole").substr(0, 12));
  const auto began = std::chrono::steady_clock::now();
  std::thread drip([&] {  // a byte now and then gains no time
    while (std::chrono::steady_clock::now() - began < seconds(4) && dripping.send("0"))
      std::this_thread::sleep_for(milliseconds(150));
  });
  EXPECT_EQ(ask("hello"), "you said hello") << "nobody waits for them";
  EXPECT_THAT(silent.read_all(), HasSubstr("did not come whole in time"));
  EXPECT_THAT(half.read_all(), HasSubstr("did not come whole in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(10));
  drip.join();
  EXPECT_TRUE(becomes([&] { return server_->counts().late + server_->counts().garbled >= 3; }));
}

TEST_F(NonstopServerTest, WhoReadsNothingIsCut) {
  serve({}, {seconds(10), seconds(1)});
  EXPECT_EQ(ask("big").size(), std::size_t{8} << 20) << "an answer may be long";
  TestPeer deaf = peer();
  deaf.send(wire::frame("big"));
  EXPECT_EQ(ask("hello"), "you said hello");
  EXPECT_TRUE(becomes([&] { return server_->counts().connections == 0; })) << "its answer had a second";
  // A stream that is not read is cut when too much is unsent, at once.
  TestPeer stream = peer();
  stream.send(wire::frame("stream"));
  ASSERT_EQ(body_of(stream.read_bytes(wire::frame("begun").size())), "begun");
  bool open = true;
  int written = 0;
  on_loop([&] {
    while (open && written < 10'000) {
      open = held_.back()->write(std::string(64 << 10, 'y'));
      ++written;
    }
  });
  EXPECT_FALSE(open);
  EXPECT_LT(written, 2000) << "the kernel's buffers and a mebibyte";
  EXPECT_TRUE(becomes([&] { return closed_ == 1; }));
}

TEST_F(NonstopServerTest, AmongTooManyWhoStallOneThatSpeaksIsServed) {
  NonstopLimits limits;
  limits.connections = 20;
  serve(limits, {seconds(60), seconds(10)});
  std::vector<TestPeer> stalled;
  for (int i = 0; i < 50; ++i) stalled.push_back(peer());
  ASSERT_TRUE(becomes([&] { return server_->counts().taken == 50; }));
  EXPECT_EQ(counts().connections, 20U);
  EXPECT_EQ(counts().refused, 30U) << "the oldest went";
  EXPECT_EQ(ask("hello"), "you said hello");
  EXPECT_EQ(stalled.front().read_all(), "") << "cut";
}

TEST_F(NonstopServerTest, WhereAllHaveSpokenTheNextIsToldSo) {
  NonstopLimits limits;
  limits.connections = 4;
  serve(limits);
  std::vector<TestPeer> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(peer());
    waiting.back().send(wire::frame("hold " + std::to_string(i)));
  }
  ASSERT_TRUE(becomes([&] { return held_.size() == 4; }));
  EXPECT_THAT(ask("hello"), HasSubstr("too many connections"));
  on_loop([&] {
    for (const auto& one : held_) one->answer("now");
    held_.clear();
  });
  for (TestPeer& one : waiting) EXPECT_EQ(body_of(one.read_all()), "now");
  EXPECT_TRUE(becomes([&] { return server_->counts().connections == 0; }));
  EXPECT_EQ(ask("hello"), "you said hello");
}

TEST_F(NonstopServerTest, AnAddressHasItsShareOfConnectionsAndBytes) {
  NonstopLimits limits;
  limits.connections_per_address = 3;
  serve(limits, {seconds(60), seconds(10)});
  std::vector<TestPeer> stalled;
  for (int i = 0; i < 5; ++i) stalled.push_back(peer());
  ASSERT_TRUE(becomes([&] { return server_->counts().taken == 5; }));
  EXPECT_EQ(counts().connections, 3U);
  EXPECT_EQ(ask("hello"), "you said hello");
}

TEST_F(NonstopServerTest, ManyMessagesThatAreNotWholeHoldABoundedNumberOfBytes) {
  NonstopLimits limits;
  limits.arriving_bytes = 400'000;
  limits.arriving_bytes_of_address = 200'000;
  serve(limits, {seconds(60), seconds(10)});
  std::vector<TestPeer> large;
  for (int i = 0; i < 10; ++i) {
    large.push_back(peer());
    large.back().send("00060000\n" + std::string(50'000, 'z'));
  }
  ASSERT_TRUE(becomes([&] { return server_->counts().refused >= 6; }));
  large.clear();
  EXPECT_TRUE(becomes([&] { return server_->counts().connections == 0; }));
  EXPECT_EQ(ask("hello"), "you said hello") << "and given back";
}

TEST_F(NonstopServerTest, AThousandAtOnceAreAllAnswered) {
  serve();
  std::vector<TestPeer> peers;
  for (int i = 0; i < 1000; ++i) {
    peers.push_back(peer());
    ASSERT_TRUE(peers.back().connected()) << i;
  }
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(peers[static_cast<std::size_t>(i)].send(wire::frame(std::to_string(i))));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(body_of(peers[static_cast<std::size_t>(i)].read_all()), "you said " + std::to_string(i));
}

TEST_F(NonstopServerTest, AClientThatLeavesIsNoticed) {
  serve();
  {
    TestPeer stream = peer();
    stream.send(wire::frame("stream"));
    ASSERT_EQ(body_of(stream.read_bytes(wire::frame("begun").size())), "begun");
  }
  EXPECT_TRUE(becomes([&] { return closed_ == 1; }));
  on_loop([&] { EXPECT_FALSE(held_.back()->write("anybody?")); });
}

TEST_F(NonstopServerTest, ItMovesToAnotherPortAndKeepsTheOldOneWhereThatIsTaken) {
  serve();
  std::uint16_t second = 0;
  on_loop([&] { second = *server_->listen("127.0.0.1", 0); });
  const std::uint16_t first = std::exchange(port_, second);
  EXPECT_EQ(ask("hello"), "you said hello");
  EXPECT_FALSE(TestPeer(first).connected());
  auto other = make_nonstop_server(*loop_);
  on_loop([&] {
    const auto taken = other->listen("127.0.0.1", second);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::conflict);
    EXPECT_THAT(taken.error().remedy(), HasSubstr("nonstop.conf"));
    other.reset();
  });
  EXPECT_EQ(ask("hello"), "you said hello");
}

// --- calls

// All bytes of the next call.
std::string take(TestListener& program) {
  const int call = program.accept();
  if (call < 0) return "nobody called";
  char bytes[100];
  std::string got;
  for (ssize_t n; (n = ::recv(call, bytes, sizeof bytes, 0)) > 0;)
    got.append(bytes, static_cast<std::size_t>(n));
  ::close(call);
  return got;
}

TEST_F(NonstopServerTest, CallsAProgramThatListens) {
  serve();
  TestListener program;
  std::promise<bool> said;
  on_loop([&] {
    server_->call("127.0.0.1", program.port(), wire::callback_message(wire::kFailed),
                  [&](const Result<bool>& how) { said.set_value(how.has_value()); });
  });
  EXPECT_EQ(take(program), std::string("\0\0\0\4\2\0\0\0", 8));
  EXPECT_TRUE(said.get_future().get());
}

TEST_F(NonstopServerTest, ACallThatCannotBeMadeSaysWhy) {
  NonstopLimits limits;
  limits.call_time = milliseconds(300);
  limits.calls = 2;
  serve(limits);
  std::uint16_t closed = 0;
  { closed = TestListener().port(); }
  std::promise<Result<bool>> refused, lost, busy, nowhere;
  const auto into = [](auto& said) { return [&said](Result<bool> how) { said.set_value(std::move(how)); }; };
  on_loop([&] {
    server_->call("127.0.0.1", closed, "x", into(refused));
    server_->call("192.0.2.1", 9, "x", into(lost));  // an address for documents: nobody is there
    server_->call("127.0.0.1", closed, "x", into(busy));
    server_->call("a.host", closed, "x", into(nowhere));
  });
  const auto code = [](auto& said) { return said.get_future().get().error().code; };
  EXPECT_EQ(code(refused), ErrorCode::os);
  EXPECT_THAT((std::vector{ErrorCode::os, ErrorCode::timed_out}), testing::Contains(code(lost)));
  EXPECT_EQ(code(busy), ErrorCode::busy);
  EXPECT_EQ(code(nowhere), ErrorCode::bad_input);
}

}  // namespace
}  // namespace sickbay
