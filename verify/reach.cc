// SPDX-License-Identifier: Apache-2.0
// One poll loop over a listening socket and one outgoing connection per partner.
//
// A partner counts as reached when it answered our hello with its own: that took packets both ways.  After
// that this rank stays until it was greeted by all partners too, so that it is not gone when they come.  An
// attempt that does not come through is dropped after 1.5 s and made again, since TCP itself would repeat a
// lost first segment too rarely.
#include "reach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "beat.h"
#include "net_plan.h"
#include "seconds.h"

namespace sickbay::verify {
namespace {

constexpr int kPortBase = 20000, kPortSpan = 12000;  ///< below Linux's ephemeral ports
constexpr int kPortTries = 3;                        ///< somebody may sit on the first
constexpr double kAttempt = 1.5;                     ///< seconds until a connection is tried anew
constexpr double kRetryPause = 0.05;                 ///< after a refusal: the partner is not there yet
constexpr std::uint64_t kPlanSeed = 20260101;
constexpr std::uint64_t kMagic = 0x7369636b62617931;  ///< "sickbay1"

struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t step = 0;
  std::int64_t rank = 0;
};

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

int port_of(std::uint64_t step, int attempt) {
  return kPortBase + static_cast<int>((step * 31 + static_cast<std::uint64_t>(attempt) * 97) % kPortSpan);
}

Socket listen_for(std::uint64_t step) {
  for (int attempt = 0; attempt < kPortTries; ++attempt) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<std::uint16_t>(port_of(step, attempt)));
    if (::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(socket.fd(), 256) == 0)
      return socket;
  }
  return Socket();
}

struct Partner {
  int rank = 0;
  std::optional<in_addr> address;
  Socket socket;
  bool sent = false;
  int attempt = 0;
  double begun = 0, not_before = 0, reached_after = -1;
  std::string trouble = "no answer";
};

std::optional<in_addr> resolve(const std::string& name) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0 || !found) return std::nullopt;
  const in_addr address = reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_addr;
  ::freeaddrinfo(found);
  return address;
}

void call(Partner& partner, std::uint64_t step, double now) {
  partner.socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  partner.sent = false;
  partner.begun = now;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr = *partner.address;
  to.sin_port = htons(static_cast<std::uint16_t>(port_of(step, partner.attempt++ % kPortTries)));
  if (::connect(partner.socket.fd(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 &&
      errno != EINPROGRESS) {
    partner.trouble = std::strerror(errno);
    partner.socket = Socket();
    partner.not_before = now + kRetryPause;
  }
}

/// Goes on with a connection that poll woke up.
void advance(Partner& partner, const StepPlace& place, double now, double since) {
  const auto give_up = [&](int why) {
    partner.trouble = std::strerror(why);
    partner.socket = Socket();
    partner.not_before = now + kRetryPause;
  };
  if (!partner.sent) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(partner.socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return give_up(error);
    const Hello hello{.step = place.step, .rank = place.rank};
    if (::send(partner.socket.fd(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
      return give_up(errno);
    partner.sent = true;
    return;
  }
  Hello answer;
  const ssize_t got = ::recv(partner.socket.fd(), &answer, sizeof answer, 0);
  if (got < 0 && errno == EAGAIN) return;
  // A stranger on the port: the next attempt takes the next port.
  if (got != sizeof answer || answer.magic != kMagic || answer.step != place.step ||
      answer.rank != partner.rank)
    return give_up(got < 0 ? errno : EPROTO);
  partner.reached_after = now - since;
  partner.socket = Socket();
}

struct Guest {
  Socket socket;
  bool done = false;
};

void answer(Guest& guest, const StepPlace& place, std::set<int>& greeted_by) {
  Hello hello;
  const ssize_t got = ::recv(guest.socket.fd(), &hello, sizeof hello, 0);
  if (got < 0 && errno == EAGAIN) return;
  guest.done = true;
  if (got != sizeof hello || hello.magic != kMagic || hello.step != place.step) return;
  const Hello mine{.step = place.step, .rank = place.rank};
  if (::send(guest.socket.fd(), &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine)
    greeted_by.insert(static_cast<int>(hello.rank));
}

std::vector<Partner> partners_of(const StepPlace& place, const Options& options) {
  std::vector<Partner> partners;
  std::set<int> seen;
  for (const Round& round : net_plan(static_cast<int>(place.names.size()), options.random_rounds, kPlanSeed))
    for (const auto& [low, high] : round) {
      const int other = low + high - place.rank;
      if ((low != place.rank && high != place.rank) || !seen.insert(other).second) continue;
      Partner& partner = partners.emplace_back();
      partner.rank = other;
      partner.address = resolve(place.addresses[static_cast<std::size_t>(other)]);
    }
  return partners;
}

void report_all(const std::vector<Partner>& partners, const StepPlace& place, const Options& options,
                Reporter& reporter) {
  for (const Partner& partner : partners) {
    const std::string& name = place.names[static_cast<std::size_t>(partner.rank)];
    Finding found{.phase = "reach", .value = partner.reached_after * 1e3, .unit = "ms", .peer = name};
    if (!partner.address) {
      found.value = 0;
      found.detail = "not tested: its name has no address here";
    } else if (partner.reached_after < 0) {
      found.ok = false;
      found.value = 0;
      found.detail = fmt::format("no connection within {:.0f} s: {}", options.hello_wait, partner.trouble);
    }
    reporter.report(std::move(found));
  }
}

}  // namespace

Result<StepPlace> step_place() {
  StepPlace place;
  const auto number = [](const char* name) -> long {
    const char* text = std::getenv(name);
    return text ? std::atol(text) : -1;
  };
  const char* list = std::getenv("SLURM_STEP_NODELIST");
  auto names = expand_hostlist(list ? list : "");
  const long rank = number("SLURM_PROCID"), tasks = number("SLURM_STEP_NUM_TASKS");
  if (!names || names->empty() || rank < 0 || tasks != static_cast<long>(names->size()) || rank >= tasks)
    return fail(Error(ErrorCode::usage, "reach must be a step of Slurm with one task per node")
                    .remedied_by("srun --ntasks-per-node=1 sickbay-verify reach"));
  place.rank = static_cast<int>(rank);
  place.names = place.addresses = std::move(*names);
  place.step = static_cast<std::uint64_t>(number("SLURM_JOB_ID")) * 1000 +
               static_cast<std::uint64_t>(number("SLURM_STEP_ID"));
  return place;
}

void run_reach(const Options& options, const StepPlace& place, Reporter& reporter) {
  const Socket door = listen_for(place.step);
  std::vector<Partner> partners = partners_of(place, options);
  std::vector<Guest> guests;
  std::set<int> greeted_by;
  const double since = seconds_now();
  for (double now = since; now - since < options.hello_wait; now = seconds_now()) {
    tick();
    bool all = true;
    std::vector<pollfd> waiting = {{door.fd(), POLLIN, 0}};
    for (Partner& partner : partners) {
      if (!partner.address || partner.reached_after >= 0) continue;
      all = false;
      if (partner.socket.open() && now - partner.begun > kAttempt) partner.socket = Socket();
      if (!partner.socket.open() && now >= partner.not_before) call(partner, place.step, now);
      if (partner.socket.open())
        waiting.push_back({partner.socket.fd(), static_cast<short>(partner.sent ? POLLIN : POLLOUT), 0});
    }
    for (const Guest& guest : guests) waiting.push_back({guest.socket.fd(), POLLIN, 0});
    if (all && greeted_by.size() >= partners.size()) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(kRetryPause * 1e3));
    now = seconds_now();
    for (const pollfd& ready : waiting) {
      if (ready.revents == 0) continue;
      for (Partner& partner : partners)
        if (partner.socket.open() && partner.socket.fd() == ready.fd) advance(partner, place, now, since);
      for (Guest& guest : guests)
        if (guest.socket.fd() == ready.fd) answer(guest, place, greeted_by);
    }
    std::erase_if(guests, [](const Guest& guest) { return guest.done; });
    for (int fd; (fd = ::accept4(door.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
      guests.push_back({Socket(fd)});
  }
  report_all(partners, place, options, reporter);
}

}  // namespace sickbay::verify
