// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/acceptor.h"

#include <cerrno>

namespace sickbay {
namespace {
constexpr int kPerRound = 64;  // connections that are taken before others have their turn
}

void Acceptor::open(Descriptor listening) {
  close();
  socket_ = std::move(listening);
  set_accepting(true);
}

void Acceptor::close() {
  loop_.cancel(std::exchange(pause_, 0));
  if (!socket_) return;
  set_accepting(false);
  socket_.reset();
}

void Acceptor::resume() {
  if (socket_ && pause_ == 0) set_accepting(true);
}

void Acceptor::set_accepting(bool on) {
  if (on == accepting_) return;
  accepting_ = on;
  if (on)
    loop_.watch(socket_.get(), [this] { accept_some(); });
  else
    loop_.unwatch(socket_.get());
}

void Acceptor::accept_some() {
  for (int i = 0; i < kPerRound && accepting_; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Descriptor fd(
        ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      owner_.admit(std::move(fd), from);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // The listening socket stays readable: to go on watching it would spin.
    if (owner_.exhausted) owner_.exhausted();
    hold();
    pause_ = loop_.at(loop_.now() + owner_.pause, [this] {
      pause_ = 0;
      set_accepting(true);
    });
    return;
  }
}

}  // namespace sickbay
