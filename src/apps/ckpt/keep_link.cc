// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/keep_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/digest/hmac.h"
#include "checkpoint/chunk_digest.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Digest;

tl::unexpected<Error> away(std::string what) { return fail(ErrorCode::daemon_away, std::move(what)); }

Digest digest_at(std::string_view bytes) {
  Digest digest{};
  std::memcpy(digest.data(), bytes.data(), std::min(bytes.size(), digest.size()));
  return digest;
}

Result<Descriptor> connect_to(const KeepPlace& place) {
  const auto at = parse_address(place.address, place.port);
  if (!at) return tl::unexpected<Error>(at.error());
  Descriptor socket(::socket(at->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(ErrorCode::os, std::strerror(errno));
  const auto wrong = [&](int code) {
    return away(fmt::format("no keeper at {}, port {}: {}", place.address, place.port, std::strerror(code)));
  };
  if (::connect(socket.get(), at->get(), at->size) != 0 && errno != EINPROGRESS) return wrong(errno);
  pollfd one{socket.get(), POLLOUT, 0};
  if (::poll(&one, 1, static_cast<int>(kConnectPatience.count() / 1000)) != 1) return wrong(ETIMEDOUT);
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code != 0) return wrong(code);
  return socket;
}

}  // namespace

Status KeepStream::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return away(std::strerror(errno));
    if (auto ready = wait(POLLOUT); !ready) return ready;
  }
  return {};
}

Result<std::size_t> KeepStream::receive(std::span<char> out) {
  for (;;) {
    const ssize_t n = ::recv(socket_.get(), out.data(), out.size(), 0);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return away("the other side has ended the connection");
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return away(std::strerror(errno));
    if (auto ready = wait(POLLIN); !ready) return tl::unexpected<Error>(std::move(ready.error()));
  }
}

Status KeepStream::receive_all(std::span<char> out) {
  while (!out.empty()) {
    const auto got = receive(out);
    if (!got) return tl::unexpected<Error>(got.error());
    out = out.subspan(*got);
  }
  return {};
}

Result<std::string> KeepStream::line() {
  std::string text;
  const auto until = std::chrono::steady_clock::now() + kKeepPatience;
  for (char c = 0; text.size() < kMostKeepLine && std::chrono::steady_clock::now() < until; text += c) {
    if (const auto got = receive({&c, 1}); !got) return tl::unexpected<Error>(got.error());
    if (c == '\n') return text;
  }
  return away("no line came");
}

Status KeepStream::wait(short what) {
  pollfd one{socket_.get(), what, 0};
  const int ready = ::poll(&one, 1, static_cast<int>(kKeepPatience.count() / 1000));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  return away(ready == 0 ? "the other side says nothing" : std::strerror(errno));
}

std::string seal_of(const std::string& secret, const std::string& nonce, const KeepRequest& request) {
  return checkpoint::hex(digest_at(hmac_sha256(secret, seal_text(nonce, request))));
}

Result<KeepReply> ask_keeper(const KeepPlace& place, KeepRequest request) {
  auto socket = connect_to(place);
  if (!socket) return tl::unexpected<Error>(std::move(socket.error()));
  KeepStream stream(std::move(*socket));
  const auto hello = stream.line();
  if (!hello) return tl::unexpected<Error>(hello.error());
  const auto greeting = parse_keep_greeting(*hello);
  if (!greeting) return tl::unexpected<Error>(greeting.error());
  request.seal = seal_of(place.secret, greeting->nonce, request);
  if (auto sent = stream.send(format_keep(request) + "\n"); !sent)
    return tl::unexpected<Error>(std::move(sent.error()));
  const auto line = stream.line();
  if (!line) return tl::unexpected<Error>(line.error());
  const auto answer = parse_keep_answer(*line);
  if (!answer) return tl::unexpected<Error>(answer.error());
  if (!answer->bytes)
    return fail(ErrorCode::not_found, fmt::format("the keeper at {} does not have that of checkpoint {}",
                                                  place.address, request.number));
  return KeepReply{std::move(stream), *answer->bytes};
}

Result<std::string> ask_text(const KeepPlace& place, const KeepRequest& request, std::size_t most) {
  auto reply = ask_keeper(place, request);
  if (!reply) return tl::unexpected<Error>(std::move(reply.error()));
  if (reply->size > most)
    return fail(ErrorCode::bad_input, fmt::format("the keeper at {} says too much", place.address));
  std::string text(reply->size, '\0');
  if (auto got = reply->stream.receive_all(text); !got) return tl::unexpected<Error>(std::move(got.error()));
  return text;
}

}  // namespace sickbay::ckpt
