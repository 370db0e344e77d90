// SPDX-License-Identifier: Apache-2.0
// clock: this clock against a time server, or against the server of a shared folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "adapters/node/sockets.h"
#include "base/text.h"

namespace sickbay::node {
namespace {

// The wall clock as programs of this node see it.
double wall_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// This clock minus the server's.
Result<double> offset_of_server(const Call& call) {
  const std::string& server = call.text("server");
  const std::int64_t port = call.integer("port");
  if (port <= 0 || port > 65535) return fail(ErrorCode::bad_input, fmt::format("{} is no UDP port", port));
  const auto addresses = addresses_of(server, static_cast<int>(port), SOCK_DGRAM);
  if (!addresses) return fail(addresses.error());
  const addrinfo& a = **addresses;
  const int fd = ::socket(a.ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(ErrorCode::os, fmt::format("cannot open a socket: {}", std::strerror(errno)));
  // The last tenth of the limit is left for the answer to be given: else it counts as one that hangs.
  const auto until = std::chrono::steady_clock::now() + call.time_limit * 9 / 10;
  Result<double> offset = fail(ErrorCode::timed_out,
                               fmt::format("the time server {} does not answer", quote_for_message(server)));
  if (::connect(fd, a.ai_addr, a.ai_addrlen) == 0) {
    // Version 4, client.  Our transmit timestamp comes back as the originate timestamp: any bytes will do,
    // and such as nobody can guess are best against forged answers.
    std::string request(48, '\0');
    request[0] = 0x23;
    const std::uint64_t cookie =
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
        0x9e3779b97f4a7c15U;
    std::memcpy(request.data() + 40, &cookie, sizeof cookie);
    const double sent = wall_clock();
    if (::send(fd, request.data(), request.size(), 0) == 48)
      // The loop goes past packets that are none of ours, such as a late answer to an earlier question.
      while (wait_for(fd, POLLIN, until, *call.cancelled)) {
        char bytes[512];
        const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
          offset = fail(ErrorCode::os, fmt::format("the time server {} does not answer: {}",
                                                   quote_for_message(server), std::strerror(errno)));
          break;
        }
        const double received = wall_clock();
        const std::string_view packet(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
        if (packet.size() < 48 || packet.substr(24, 8) != std::string_view(request).substr(40, 8)) continue;
        const auto theirs = parse_sntp(packet);
        if (!theirs)
          offset = fail(ErrorCode::bad_input,
                        fmt::format("the time server {} does not know the time", quote_for_message(server)));
        else
          // Half of the way there and back: the best guess at our time when the server stamped its answer.
          offset = (sent + received) / 2 - *theirs;
        break;
      }
  }
  ::close(fd);
  return offset;
}

// This clock minus that of the folder's server, which stamps what is written there.
Result<double> offset_of_folder(const Call& call) {
  std::string name = call.tree->path(call.text("folder")) + "/.sickbay-clock-XXXXXX";
  // A new name each time: other nodes do the same in this folder at the same moment.
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0)
    return fail(ErrorCode::os, fmt::format("cannot write a file in {}: {}",
                                           quote_for_message(call.text("folder")), std::strerror(errno)));
  const double before = wall_clock();
  struct stat st {};
  // Synced, so that the server has stamped it and not this node's cache.
  const bool ok = ::write(fd, "x", 1) == 1 && ::fsync(fd) == 0 && ::fstat(fd, &st) == 0;
  // Kept at once: close and unlink below set errno anew.
  const int wrong = errno;
  const double after = wall_clock();
  ::close(fd);
  ::unlink(name.c_str());
  if (!ok)
    return fail(ErrorCode::os, fmt::format("cannot write a file in {}: {}",
                                           quote_for_message(call.text("folder")), std::strerror(wrong)));
  const double stamp = static_cast<double>(st.st_mtim.tv_sec) + static_cast<double>(st.st_mtim.tv_nsec) / 1e9;
  // Within the time that it took, there is nothing to see.
  if (stamp > after) return after - stamp;
  if (stamp < before) return before - stamp;
  return 0.0;
}

}  // namespace

OperationEnd clock(const Call& call) {
  Json synchronised;
  // The kernel's own word is that of the machine that we run on: a recorded one has none.
  if (call.tree->is_this_machine()) {
    // All zero (modes is 0): asks and sets nothing.
    timex state{};
    if (::adjtimex(&state) >= 0) synchronised = (static_cast<unsigned>(state.status) & STA_UNSYNC) == 0;
  }
  Json out = Json::object({{"clock_synchronised", synchronised}, {"clock_offset", nullptr}});
  const bool server = !call.text("server").empty();
  if (!server && call.text("folder").empty()) {
    return found(std::move(out), "neither a server nor a folder is given: the offset is unknown");
  }
  const auto offset = server ? offset_of_server(call) : offset_of_folder(call);
  if (!offset) return unknown(offset.error().what);
  out.set("clock_offset", *offset);
  return found(std::move(out));
}

}  // namespace sickbay::node
