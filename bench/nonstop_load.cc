// SPDX-License-Identifier: Apache-2.0
// Many clients of the nonstop protocol at one time, for bench/nonstop: each connects, asks and reads its
// answer.
//   nonstop_load HOST PORT REQUEST CLIENTS [ROUNDS = 5] [SPREAD_MS = 0]
// REQUEST is what stands behind "VERSION:22.05:".  The clients of a round begin within SPREAD_MS, one after
// the other at even distances; 0: all at once.  Credentials are made before the clock starts.  Prints one
// line, "MEDIAN P95 P99 MAX", in milliseconds from a client's connect() to the last byte of its answer.
// MUNGE_SOCKET names munged's socket.
#include <arpa/inet.h>
#include <fcntl.h>
#include <munge.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "figure.h"

namespace {

using sickbay::bench::require;
using Clock = std::chrono::steady_clock;

struct Client {
  std::string message, answer;
  Clock::time_point begins, began;
  int fd = -1;
  bool sent = false, done = false;
};

std::string framed_credential(const std::string& payload) {
  munge_ctx_t context = munge_ctx_create();
  if (const char* socket = std::getenv("MUNGE_SOCKET")) munge_ctx_set(context, MUNGE_OPT_SOCKET, socket);
  char* text = nullptr;
  require(munge_encode(&text, context, payload.data(), static_cast<int>(payload.size())) == EMUNGE_SUCCESS,
          "munged gives no credential");
  const std::string body = std::string(text) + '\0';
  std::free(text);
  munge_ctx_destroy(context);
  char head[16];
  std::snprintf(head, sizeof head, "%08zu\n", body.size());
  return head + body;
}

sockaddr_in place(const char* host, const char* port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  require(::getaddrinfo(host, port, &hints, &found) == 0, "no such host");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  ::freeaddrinfo(found);
  return address;
}

void begin(Client& c, const sockaddr_in& to) {
  c.began = Clock::now();
  c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  require(c.fd >= 0, "cannot make a socket");
  require(::connect(c.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS,
          "cannot connect");
}

// The answer is whole when its length says so: the plugin, too, writes 8 digits and a line end before it.
bool is_whole(const std::string& answer) {
  return answer.size() >= 9 && answer.size() >= 9 + std::strtoul(answer.substr(0, 8).c_str(), nullptr, 10);
}

void go_on(Client& c) {
  if (!c.sent) {
    int number = 0;
    socklen_t size = sizeof number;
    ::getsockopt(c.fd, SOL_SOCKET, SO_ERROR, &number, &size);
    require(number == 0, "a client was not let in");
    require(::send(c.fd, c.message.data(), c.message.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(c.message.size()),
            "cannot send");
    c.sent = true;
    return;
  }
  char buffer[4096];
  const ssize_t n = ::recv(c.fd, buffer, sizeof buffer, 0);
  require(n > 0, "a connection ended without an answer");
  c.answer.append(buffer, static_cast<std::size_t>(n));
  if (!is_whole(c.answer)) return;
  require(c.answer.find("ENOERROR") != std::string::npos, c.answer.c_str());
  c.done = true;
  ::close(c.fd);
}

// All of them, each at its time; their waits in milliseconds go to `waits`.
void one_round(std::vector<Client>& clients, const sockaddr_in& to, std::vector<double>& waits) {
  std::size_t begun = 0, left = clients.size();
  std::vector<pollfd> looks;
  std::vector<Client*> of;
  while (left > 0) {
    while (begun < clients.size() && clients[begun].begins <= Clock::now()) {
      begin(clients[begun], to);
      looks.push_back({clients[begun].fd, POLLOUT, 0});
      of.push_back(&clients[begun++]);
    }
    int patience = 60'000;
    if (begun < clients.size())
      patience = static_cast<int>(
          std::chrono::ceil<std::chrono::milliseconds>(clients[begun].begins - Clock::now()).count());
    const int ready = ::poll(looks.data(), looks.size(), std::max(0, patience));
    require(ready > 0 || begun < clients.size(), "no answer within a minute");
    for (std::size_t i = 0; i < looks.size();) {
      Client& c = *of[i];
      if (looks[i].revents != 0) go_on(c);
      looks[i].events = c.sent ? POLLIN : POLLOUT;
      if (!c.done) {
        ++i;
        continue;
      }
      waits.push_back(std::chrono::duration<double, std::milli>(Clock::now() - c.began).count());
      --left;
      looks[i] = looks.back();
      looks.pop_back();
      of[i] = of.back();
      of.pop_back();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  require(argc >= 5, "usage: nonstop_load HOST PORT REQUEST CLIENTS [ROUNDS [SPREAD_MS]]");
  const sockaddr_in to = place(argv[1], argv[2]);
  const auto count = static_cast<std::size_t>(std::atoi(argv[4]));
  const int rounds = argc > 5 ? std::atoi(argv[5]) : 5, spread_ms = argc > 6 ? std::atoi(argv[6]) : 0;
  require(count > 0 && rounds > 0, "nothing to do");
  std::vector<double> waits;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Client> clients(count);
    for (Client& c : clients) c.message = framed_credential(std::string("VERSION:22.05:") + argv[3]);
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i)
      clients[i].begins = start + std::chrono::microseconds(1000L * spread_ms * static_cast<long>(i) /
                                                            static_cast<long>(count));
    one_round(clients, to, waits);
  }
  std::sort(waits.begin(), waits.end());
  const auto at = [&](double share) {
    return waits[std::min(waits.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(waits.size())))];
  };
  std::printf("%.2f %.2f %.2f %.2f\n", at(0.5), at(0.95), at(0.99), waits.back());
}
