// SPDX-License-Identifier: Apache-2.0
// What a small request costs over the Unix socket: requests per second, p99, and processor time of the
// server.
//
// Server and clients are two threads of this process, so on two cores neither waits for a core of its own.
// The client sends prepared bytes and counts the bytes of the answer; api_get is the whole way of a command,
// with ApiClient and its JSON.  floor_* is the same exchange of bytes with an echo that knows no HTTP: what
// the kernel leaves us.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "adapters/net/http_server.h"
#include "client/api_client.h"
#include "figure.h"

namespace {

using namespace sickbay;
using bench::figure;
using bench::require;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kRequests = 20'000;  // of a round
constexpr std::string_view kRequest = "GET /v1/status HTTP/1.1\r\nHost: sickbayd\r\n\r\n";

struct Round {
  double per_second = 0, p99_us = 0;
};

int connected(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  require(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "cannot connect");
  return fd;
}

// kRequests over `fds`, one under way on each, every answer of `answer_bytes`.
Round ask(const std::vector<int>& fds, std::size_t answer_bytes) {
  struct Exchange {
    Clock::time_point sent;
    std::size_t got = 0;
  };
  std::vector<Exchange> exchanges(fds.size());
  std::vector<pollfd> looks;
  for (const int fd : fds) looks.push_back({fd, POLLIN, 0});
  std::vector<double> waits;
  waits.reserve(kRequests);
  int to_send = kRequests;
  const auto send = [&](std::size_t i) {
    if (to_send == 0) return;
    --to_send;
    exchanges[i] = {Clock::now(), 0};
    require(::send(fds[i], kRequest.data(), kRequest.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(kRequest.size()),
            "cannot send");
  };
  const auto start = Clock::now();
  for (std::size_t i = 0; i < fds.size(); ++i) send(i);
  std::array<char, 4096> buffer;
  while (waits.size() < kRequests) {
    // One connection blocks in recv(): poll() would be half of its time.
    if (fds.size() > 1) require(::poll(looks.data(), looks.size(), 10'000) > 0, "no answer");
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds.size() > 1 && looks[i].revents == 0) continue;
      const ssize_t n = ::recv(fds[i], buffer.data(), buffer.size(), 0);
      require(n > 0, "the connection ended");
      exchanges[i].got += static_cast<std::size_t>(n);
      require(exchanges[i].got <= answer_bytes, "an answer is too long");
      if (exchanges[i].got < answer_bytes) continue;
      waits.push_back(std::chrono::duration<double, std::micro>(Clock::now() - exchanges[i].sent).count());
      send(i);
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto p99 = waits.begin() + kRequests * 99 / 100;
  std::nth_element(waits.begin(), p99, waits.end());
  return {kRequests / seconds, *p99};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void figures(const std::string& name, const std::vector<Round>& rounds) {
  std::vector<double> rates, p99s;
  for (const Round& round : rounds) {
    rates.push_back(round.per_second);
    p99s.push_back(round.p99_us);
  }
  figure((name + "_rate").c_str(), median(rates), "requests/s");
  figure((name + "_p99").c_str(), median(p99s), "us");
}

// Reads kRequest.size() bytes, sends an answer, until its peer ends.
void echo(int fd, std::size_t answer_bytes) {
  const std::string answer(answer_bytes, 'x');
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  for (ssize_t n; (n = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
    got += static_cast<std::size_t>(n);
    if (got < kRequest.size()) continue;
    got -= kRequest.size();
    ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  ::close(fd);
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_http.XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  const std::string path = folder + "/s.sock";

  const auto loop = make_asio_loop();
  const auto server = make_http_server(*loop);
  const Json status = Json::object({{"version", "0.1.0"},
                                    {"pid", 4711},
                                    {"journal", Json::object({{"seq", 123456}, {"state", "ok"}})},
                                    {"cases", Json::object({{"open", 17}, {"closed", 1234}})}});
  server->on_request([&](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(request.path == "/v1/status" ? json_response(200, status)
                                                : error_response(Error(ErrorCode::not_found, request.path)));
  });
  const Status listening = server->listen_unix(path, 0600);
  require(bool(listening), "cannot listen");
  std::thread thread([&] { loop->run(); });
  const auto on_loop = [&](auto task) {
    std::promise<double> result;
    loop->post([&] { result.set_value(task()); });
    return result.get_future().get();
  };
  const auto server_cpu = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
  };

  std::size_t answer_bytes = 0;
  {
    const int fd = connected(path);
    std::array<char, 4096> buffer;
    require(::send(fd, kRequest.data(), kRequest.size(), 0) == static_cast<ssize_t>(kRequest.size()),
            "cannot send");
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    require(
        n > 0 && std::string_view(buffer.data(), static_cast<std::size_t>(n)).starts_with("HTTP/1.1 200 OK"),
        "no good answer");
    answer_bytes = static_cast<std::size_t>(n);
    ::close(fd);
  }

  for (const int connections : {1, 32}) {
    std::vector<int> fds;
    for (int i = 0; i < connections; ++i) fds.push_back(connected(path));
    std::vector<Round> rounds;
    const double before = on_loop(server_cpu);
    for (int i = 0; i < kRounds; ++i) rounds.push_back(ask(fds, answer_bytes));
    const double used = on_loop(server_cpu) - before;
    for (const int fd : fds) ::close(fd);
    const std::string name = "get_" + std::to_string(connections);
    figures(name, rounds);
    figure((name + "_server_cpu").c_str(), used / (kRounds * kRequests), "us/request");
  }
  {
    std::vector<Round> rounds;
    for (int i = 0; i < kRounds; ++i) {
      int ends[2];
      require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socketpair");
      std::thread peer(echo, ends[1], answer_bytes);
      rounds.push_back(ask({ends[0]}, answer_bytes));
      ::close(ends[0]);
      peer.join();
    }
    figures("floor_1", rounds);
  }

  const auto calls = [&](auto call) {  // us per call
    constexpr int kCalls = 2'000;
    return 1000.0 / kCalls *
           bench::median_ms(
               kRounds, [] {},
               [&] {
                 for (int i = 0; i < kCalls; ++i) call();
               });
  };
  auto client = ApiClient::connect(path);
  require(bool(client), "cannot connect");
  figure("api_get_kept",
         calls([&] { require(client->get("/v1/status").value() == status, "another answer"); }), "us");
  figure("api_get_new", calls([&] {
           auto fresh = ApiClient::connect(path);
           require(fresh && fresh->get("/v1/status").value() == status, "another answer");
         }),
         "us");

  loop->post([&] {
    server->close();
    loop->stop();
  });
  thread.join();
  std::filesystem::remove_all(folder);
  return 0;
}
