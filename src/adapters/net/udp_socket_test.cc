// SPDX-License-Identifier: Apache-2.0
// UDP and the question by TCP, on loopback.
#include "adapters/net/udp_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <csignal>

#include "adapters/net/asio_loop.h"
#include "adapters/net/sockets.h"
#include "adapters/net/tcp_answers.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

// A port that nobody has at the moment.
std::uint16_t free_port() { return port_of(listen_on_tcp("127.0.0.1", 0)->get()); }

TEST(UdpSocket, CarriesWhatIsShortAndDropsWhatIsLong) {
  auto loop = make_asio_loop();
  const auto open = udp_on(*loop);
  const std::uint16_t port = free_port();
  std::vector<std::string> come;
  auto to = open("127.0.0.1", port, [&](std::string_view bytes) {
    come.emplace_back(bytes);
    if (bytes == "last") loop->stop();
  });
  ASSERT_TRUE(to) << to.error().line();
  auto from = open("127.0.0.2", port, [](std::string_view) {});
  ASSERT_TRUE(from) << from.error().line();
  (*from)->send("127.0.0.1", port, "first");
  (*from)->send("127.0.0.1", port, std::string(kMostDatagramBytes, 'x'));
  (*from)->send("127.0.0.1", port, std::string(kMostDatagramBytes + 1, 'y'));
  (*from)->send("nowhere", port, "lost");
  (*from)->send("127.0.0.3", port, "nobody has it");
  (*from)->send("127.0.0.1", port, "last");
  loop->at(loop->now() + 5s, [&] { loop->stop(); });
  loop->run();
  EXPECT_EQ(come, (std::vector<std::string>{"first", std::string(kMostDatagramBytes, 'x'), "last"}));
}

TEST(UdpSocket, SaysWhyItCannotBeOpened) {
  auto loop = make_asio_loop();
  const auto open = udp_on(*loop);
  const std::uint16_t port = free_port();
  const auto first = open("127.0.0.1", port, [](std::string_view) {});
  ASSERT_TRUE(first);
  const auto second = open("127.0.0.1", port, [](std::string_view) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_EQ(open("n1", port, [](std::string_view) {}).error().code, ErrorCode::bad_input);
}

Result<bool> asked(const std::string& address, std::uint16_t port) {
  auto loop = make_asio_loop();
  Result<bool> answer = fail(ErrorCode::internal, "no answer");
  ask_by_tcp(*loop, address, port, [&](Result<bool> said) {
    answer = std::move(said);
    loop->stop();
  });
  loop->run();
  return answer;
}

TEST(AskByTcp, AListenerAnswersEvenWhereNobodyTakesItsConnections) {
  const auto listener = listen_on_tcp("127.0.0.1", 0);
  EXPECT_TRUE(asked("127.0.0.1", port_of(listener->get())).value());
}

TEST(AskByTcp, ARefusalIsAnAnswer) { EXPECT_TRUE(asked("127.0.0.1", free_port()).value()); }

// A full queue of connections drops what comes: so does a host that is gone.
TEST(AskByTcp, SilenceIsNone) {
  Descriptor deaf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto at = parse_address("127.0.0.1", 0);
  ASSERT_EQ(::bind(deaf.get(), at->get(), at->size), 0);
  ASSERT_EQ(::listen(deaf.get(), 0), 0);
  const auto to = parse_address("127.0.0.1", port_of(deaf.get()));
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(waiting.back().get(), to->get(), to->size);
  }
  EXPECT_FALSE(asked("127.0.0.1", port_of(deaf.get())).value());
}

TEST(AskByTcp, ANameIsNoAddress) { EXPECT_EQ(asked("n1", 1).error().code, ErrorCode::bad_input); }

}  // namespace
}  // namespace sickbay
