// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/tcp_answers.h"

#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "adapters/net/sockets.h"

namespace sickbay {
namespace {

constexpr std::chrono::milliseconds kLook{25};  // a loop tells of what can be read, not of what is connected
// Half a second in all, with three tries 150 ms apart: one lost SYN would else be a lost node (TCP repeats it
// after a second).
constexpr int kLooks = 20, kLooksBetweenTries = 6;

struct Asking {
  Loop& loop;
  InternetAddress to;
  Done<bool> done;
  std::array<Descriptor, 3> tries{};
  std::size_t begun = 0;
  int looks = 0;

  /// What errno says of a connection: an answer, none, or nothing yet.
  static std::optional<bool> meaning(int error) {
    // A refusal is the kernel's word: the node lives, whatever its daemons do.
    if (error == 0 || error == ECONNREFUSED || error == ECONNRESET) return true;
    return std::nullopt;  // no route, no answer of the neighbour: the next try may have one
  }
  std::optional<bool> begin() {
    Descriptor socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return std::nullopt;
    const int failed = ::connect(socket.get(), to.get(), to.size) == 0 ? 0 : errno;
    if (failed != EINPROGRESS) return meaning(failed);
    tries[begun++] = std::move(socket);
    return std::nullopt;
  }
  std::optional<bool> look() {
    for (Descriptor& one : tries) {
      if (!one) continue;
      pollfd polled{one.get(), POLLOUT, 0};
      if (::poll(&polled, 1, 0) != 1) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(one.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (const auto said = meaning(error)) return said;
      one.reset();
    }
    return std::nullopt;
  }
};

void go_on(const std::shared_ptr<Asking>& asking) {
  std::optional<bool> said = asking->look();
  if (!said && asking->looks % kLooksBetweenTries == 0 && asking->begun < asking->tries.size())
    said = asking->begin();
  if (!said && ++asking->looks > kLooks) said = false;
  if (said) return asking->done(*said);
  asking->loop.at(asking->loop.now() + kLook, [asking] { go_on(asking); });
}

}  // namespace

void ask_by_tcp(Loop& loop, const std::string& address, std::uint16_t port, Done<bool> done) {
  auto to = parse_address(address, port);
  if (!to) return loop.post([done = std::move(done), error = to.error()] { done(fail(error)); });
  auto asking = std::make_shared<Asking>(Asking{loop, *to, std::move(done)});
  loop.post([asking] { go_on(asking); });
}

}  // namespace sickbay
