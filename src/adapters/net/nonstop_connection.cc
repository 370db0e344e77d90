// SPDX-License-Identifier: Apache-2.0
// One client of the nonstop protocol.  See nonstop_connection.h.
#include "adapters/net/nonstop_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace sickbay {
namespace {

using boost::system::error_code;

constexpr std::size_t kFrameRead = 16 << 10;
constexpr std::size_t kMostDropped = 1 << 20;  // behind the message; who sends more is cut

}  // namespace

NonstopConnection::NonstopConnection(AsioLoop& loop, Socket socket, std::string address, std::uint64_t number,
                                     NonstopServer::Times times, std::chrono::milliseconds linger,
                                     Owner owner, BodyShare bytes)
    : loop_(loop),
      socket_(std::move(socket)),
      address_(std::move(address)),
      number_(number),
      times_(times),
      linger_(linger),
      owner_(std::move(owner)),
      bytes_(std::move(bytes)) {}

void NonstopConnection::start() {
  // One time for the whole message: who sends a byte now and then gains nothing by it.
  wait_at_most(times_.read, [](NonstopConnection& self) {
    self.refuse("the message did not come whole in time", Broken::late);
  });
  read();
}

void NonstopConnection::cut(Broken broken, bool tell_owner) {
  if (dead_) return;
  dead_ = true;
  stop_waiting();
  error_code ignored;
  socket_->close(ignored);
  socket_.reset();
  bytes_.hold(0);
  if (closed_) loop_.post(std::exchange(closed_, nullptr));
  const Owner owner = std::exchange(owner_, {});
  if (tell_owner && owner.gone) owner.gone(shared_from_this(), broken == Broken::none ? broken_ : broken);
}

void NonstopConnection::refuse(std::string_view why, Broken broken) {
  if (dead_) return;
  broken_ = broken;
  phase_ = Phase::answering;
  answer(wire::format_failure(why));
}

// --- in

void NonstopConnection::read() {
  if (dead_ || at_end_ || reading_) return;
  reading_ = true;
  // Waiting holds no buffer: thousands of programs listen at a time.
  socket_->async_wait(Socket::wait_read, [self = shared_from_this()](error_code) {
    self->reading_ = false;
    if (!self->dead_) self->receive();
  });
}

void NonstopConnection::receive() {
  static thread_local std::array<char, kFrameRead> buffer;
  const ssize_t n = ::recv(socket_->native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return read();
  if (n < 0) return cut();
  if (n > 0) return take({buffer.data(), static_cast<std::size_t>(n)});
  at_end_ = true;
  // (Who closes without a byte may only have looked whether the port is open.)
  if (phase_ == Phase::reading) return cut(came_ > 0 ? Broken::garbled : Broken::none);
  // Who asked and then closed his sending side may wait for the answer; a stream's client has only left.
  if (phase_ == Phase::lingering || streaming_) cut();
}

void NonstopConnection::take(std::string_view bytes) {
  came_ += bytes.size();
  if (phase_ != Phase::reading) {
    if (came_ > kMostDropped) return cut(Broken::garbled);
    return read();
  }
  if (!bytes_.hold(came_)) return refuse("too many messages at a time; try again", Broken::refused);
  if (auto taken = reader_.take(bytes); !taken)
    return refuse(taken.error().what + ": " + taken.error().cause, Broken::garbled);
  auto body = reader_.next();
  if (!body) return read();
  stop_waiting();
  phase_ = Phase::answering;
  // To notice a client that leaves while its answer is made.
  read();
  if (dead_) return;
  const auto whole = owner_.whole;
  if (whole) whole(std::move(*body), shared_from_this());
}

// --- out

void NonstopConnection::answer(std::string_view body) {
  if (!is_open()) return;
  bytes_.hold(0);  // who answers is done with the message
  sending_ = wire::frame(body);
  phase_ = Phase::flushing;
  flush();
}

bool NonstopConnection::write(std::string_view body) {
  if (!is_open()) return false;
  bytes_.hold(0);
  // What was sent already goes, so that a stream that lasts for hours does not grow.
  sending_.erase(0, std::exchange(sent_, 0));
  sending_ += wire::frame(body);
  streaming_ = true;
  flush();
  return !dead_;
}

void NonstopConnection::end() {
  if (!is_open()) return;
  phase_ = Phase::flushing;
  streaming_ = false;
  flush();
}

void NonstopConnection::flush() {
  if (dead_) return;
  while (!waiting_to_send_ && sent_ < sending_.size()) {
    const ssize_t n = ::send(socket_->native_handle(), sending_.data() + sent_, sending_.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
      stop_waiting();
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return cut();
    // One time for a client that reads nothing; it ends when he takes a byte.
    if (timer_ == 0) wait_at_most(times_.write, [](NonstopConnection& self) { self.cut(); });
    waiting_to_send_ = true;
    socket_->async_wait(Socket::wait_write, [self = shared_from_this()](error_code) {
      self->waiting_to_send_ = false;
      self->flush();
    });
  }
  if (phase_ == Phase::answering && sending_.size() - sent_ > NonstopPeer::kUnsentBound) return cut();
  if (phase_ == Phase::flushing && sent_ == sending_.size()) finish();
}

// Closing with bytes unread would cost the client the answer, so it may go on sending for a while.
void NonstopConnection::finish() {
  if (closed_) loop_.post(std::exchange(closed_, nullptr));
  if (at_end_) return cut();
  phase_ = Phase::lingering;
  error_code ignored;
  socket_->shutdown(Socket::shutdown_send, ignored);
  wait_at_most(linger_, [](NonstopConnection& self) { self.cut(); });
  read();
}

void NonstopConnection::on_close(std::function<void()> closed) {
  if (dead_ || phase_ == Phase::lingering)
    loop_.post(std::move(closed));
  else
    closed_ = std::move(closed);
}

void NonstopConnection::stop_waiting() { loop_.cancel(std::exchange(timer_, 0)); }

void NonstopConnection::wait_at_most(std::chrono::milliseconds time,
                                     std::function<void(NonstopConnection&)> then) {
  stop_waiting();
  timer_ = loop_.at(loop_.now() + time, [weak = weak_from_this(), then = std::move(then)] {
    const auto self = weak.lock();
    if (!self || self->dead_) return;
    self->timer_ = 0;
    then(*self);
  });
}

}  // namespace sickbay
