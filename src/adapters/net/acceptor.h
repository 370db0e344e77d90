// SPDX-License-Identifier: Apache-2.0
// Connections of a listening socket, as they come.
#pragma once
#include <sys/socket.h>

#include <chrono>
#include <functional>

#include "adapters/net/asio_loop.h"
#include "adapters/net/sockets.h"

namespace sickbay {

/// Takes connections of one listening socket for a server: a bounded number at a time, so that the
/// connections there are get their turn, and with a pause where descriptors or memory have run out.
class Acceptor {
 public:
  struct Owner {
    /// A connection and where it comes from.  May hold(), resume() or close() the acceptor.
    std::function<void(Descriptor, const sockaddr_storage&)> admit;
    /// Descriptors or memory have run out; what the owner can spare may go.  May be empty.
    std::function<void()> exhausted;
    /// After exhausted: until then connections wait in the kernel's queue.
    std::chrono::milliseconds pause;
  };
  Acceptor(AsioLoop& loop, Owner owner) : loop_(loop), owner_(std::move(owner)) {}
  ~Acceptor() { close(); }
  Acceptor(const Acceptor&) = delete;

  /// Takes connections of `listening` from now on; an earlier socket is closed.
  void open(Descriptor listening);
  void close();
  bool is_open() const { return bool(socket_); }
  int fd() const { return socket_.get(); }
  /// Leaves connections in the kernel's queue until resume(), which does nothing during a pause.
  void hold() { set_accepting(false); }
  void resume();

 private:
  void set_accepting(bool on);
  void accept_some();

  AsioLoop& loop_;
  const Owner owner_;
  Descriptor socket_;
  bool accepting_ = false;
  Loop::TimerId pause_ = 0;
};

}  // namespace sickbay
