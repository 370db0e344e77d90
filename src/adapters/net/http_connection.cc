// SPDX-License-Identifier: Apache-2.0
// One peer of the HTTP server.  See http_connection.h.
//
// Bytes go out by send() at once and wait for the socket only when the kernel takes no more: most answers
// cost one system call and no time-out.
#include "adapters/net/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace sickbay {
namespace {

using boost::system::error_code;

constexpr std::size_t kReadSize = 16 << 10;
constexpr std::size_t kReadAhead = 64 << 10;  // of later requests, while one is being answered
// How long a peer may go on sending after our last word; closing earlier would cost it the answer.
constexpr std::chrono::milliseconds kLingerTime{2'000};

struct ReasonRow {
  int status;
  std::string_view words;
};
// For people with curl -v; no program reads them.
constexpr auto kReasons = std::to_array<ReasonRow>({
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
});

std::string_view reason_of(int status) {
  for (const ReasonRow& row : kReasons)
    if (row.status == status) return row.words;
  return "";
}

// A line end in a value would start a header of its own.
std::string one_line(std::string_view value) {
  std::string line(value);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return line;
}

void add_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(one_line(name)).append(": ").append(one_line(value)).append("\r\n");
}

class Reply final : public HttpReply {
 public:
  Reply(std::shared_ptr<HttpConnection> connection, std::uint64_t exchange)
      : connection_(std::move(connection)), exchange_(exchange) {}
  ~Reply() override {
    // A handler that forgets its reply, or throws it away by an error, leaves nobody waiting.
    if (state_ != State::answered) connection_->dropped(exchange_);
  }
  Reply(const Reply&) = delete;

  void respond(HttpResponse response) override {
    SB_CHECK(state_ == State::open, "a request is answered once");
    state_ = State::answered;
    connection_->respond(exchange_, std::move(response));
  }
  void begin_stream(std::string content_type) override {
    SB_CHECK(state_ == State::open, "a request is answered once");
    state_ = State::streaming;
    connection_->begin_stream(exchange_, content_type);
  }
  bool write(std::string chunk) override {
    SB_CHECK(state_ == State::streaming, "write() comes between begin_stream() and end()");
    return connection_->write(exchange_, chunk);
  }
  void end() override {
    SB_CHECK(state_ == State::streaming, "end() comes once, after begin_stream()");
    state_ = State::answered;
    connection_->end(exchange_);
  }
  void on_close(std::function<void()> closed) override {
    connection_->on_close(exchange_, std::move(closed));
  }
  bool is_open() const override { return connection_->is_open(exchange_); }

 private:
  enum class State { open, streaming, answered };
  const std::shared_ptr<HttpConnection> connection_;
  const std::uint64_t exchange_;
  State state_ = State::open;
};

}  // namespace

HttpConnection::HttpConnection(AsioLoop& loop, const HttpLimits& limits, Socket socket, Caller caller, Id id,
                               bool over_limit, Owner owner, BodyShare body)
    : loop_(loop),
      limits_(limits),
      socket_(std::move(socket)),
      caller_(std::move(caller)),
      id_(id),
      over_limit_(over_limit),
      is_known_(caller_.address.empty()),
      owner_(std::move(owner)),
      reader_(limits.request),
      body_(std::move(body)) {}

void HttpConnection::start() {
  watch_stranger();
  next_request();
}

// Who does not say in time who he is holds a place for nothing.  (While his credential is with munged the
// time is ours.)
void HttpConnection::watch_stranger() {
  if (is_known_) return;
  stranger_timer_ = loop_.at(loop_.now() + limits_.stranger_time, [self = weak_from_this()] {
    const auto connection = self.lock();
    if (!connection || connection->dead_ || connection->is_known_) return;
    if (connection->is_reading()) return connection->cut();
    connection->watch_stranger();
  });
}

void HttpConnection::cut(bool tell_owner) {
  if (dead_) return;
  dead_ = true;
  loop_.cancel(timer_);
  loop_.cancel(stranger_timer_);
  error_code ignored;
  socket_->close(ignored);
  socket_.reset();
  tell_closed();
  body_.hold(0);
  // Taken out first: what the owner does may destroy us.
  const Owner owner = std::move(owner_);
  owner_ = {};
  if (tell_owner && owner.gone) owner.gone(shared_from_this());
}

// ---- in

void HttpConnection::read() {
  // Up to a bound: a peer that sends request after request without reading the answers is not read any
  // further.
  if (reading_ || at_end_ || dead_ || reader_.buffered() >= kReadAhead) return;
  reading_ = true;
  // Waiting holds no buffer: thousands of agents wait at a time.
  socket_->async_wait(Socket::wait_read, [self = shared_from_this()](error_code) {
    self->reading_ = false;
    if (!self->dead_) self->receive();
  });
}

void HttpConnection::receive() {
  // One for all connections of the thread: it is empty again when this returns.
  static thread_local std::array<char, kReadSize> buffer;
  const ssize_t n = ::recv(socket_->native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return read();
  on_read(std::string_view(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0), n <= 0);
}

void HttpConnection::on_read(std::string_view bytes, bool at_end) {
  if (at_end) {
    at_end_ = true;
    if (phase_ == Phase::lingering || peer_is_gone()) return cut();
    if (phase_ == Phase::reading) return next_request();  // what it asked before may still be here
    return watch_hangup();  // it has only closed its sending side, and may wait for the answer
  }
  if (phase_ == Phase::lingering) return read();  // read and dropped
  reader_.add(bytes);
  if (phase_ == Phase::reading) return next_request();
  read();
}

void HttpConnection::next_request() {
  phase_ = Phase::reading;
  const HttpRequestReader::Progress progress = reader_.step();
  // What one peer may send is bounded, but many peers could send that much at once.
  if (progress != HttpRequestReader::Progress::failed && !body_.hold(reader_.body_bytes()))
    return refuse(error_response(Error(ErrorCode::busy, "too many large requests at a time")
                                     .because("sickbayd keeps a bounded part of its memory for them")));
  switch (progress) {
    case HttpRequestReader::Progress::need_more:
      if (at_end_) return cut();
      // (A stranger's large body is not read before he has said who he is.)
      if (needs_credential()) return check_credential();
      if (reader_.take_expectation()) {
        queued_ += "HTTP/1.1 100 Continue\r\n\r\n";
        flush();
        if (dead_) return;
      }
      if (reader_.is_idle())
        // One that is over the limit waits only to hear it.
        wait_at_most(Deadline::idle, over_limit_ ? kLingerTime : limits_.idle_time);
      else if (!reader_.has_header())
        wait_at_most(Deadline::header, limits_.header_time);
      else
        wait_at_most(Deadline::body, limits_.body_time);
      return read();
    case HttpRequestReader::Progress::failed:
      return refuse(reader_.failure());
    case HttpRequestReader::Progress::complete:
      break;
  }
  if (over_limit_)
    return refuse(error_response(Error(ErrorCode::busy, "too many connections")
                                     .because("sickbayd serves a bounded number at a time")));
  IncomingRequest incoming = reader_.take();
  incoming.request.caller = caller_;
  // munged takes a credential once: what it said for the body must serve for the request, too.
  incoming.credential = std::exchange(credential_, std::nullopt);
  keep_alive_ = incoming.keep_alive;
  chunks_ = incoming.chunks;
  head_ = incoming.head;
  phase_ = Phase::answering;
  wait_at_most(Deadline::none, {});
  read();  // to notice a peer that leaves
  auto reply = std::make_shared<Reply>(shared_from_this(), ++exchange_);
  // A copy: the handler may close the server, and with it what this stands in.
  const auto ask = owner_.ask;
  ask(id_, std::move(incoming), std::move(reply));
}

bool HttpConnection::needs_credential() const {
  return !caller_.address.empty() && !credential_ && !over_limit_ && reader_.has_header() &&
         reader_.announced().body_bytes > limits_.stranger_body_bytes;
}

void HttpConnection::check_credential() {
  phase_ = Phase::checking;
  wait_at_most(Deadline::none, {});
  read();  // to notice a peer that leaves; what comes meanwhile is bounded
  const auto check = owner_.check;
  check(id_, reader_.announced().authorization, [self = shared_from_this()](Result<Credential> said) {
    if (self->dead_ || self->phase_ != Phase::checking) return;
    if (!said) return self->refuse(error_response(said.error()));
    self->credential_ = std::move(*said);
    self->next_request();
  });
}

void HttpConnection::refuse(const HttpResponse& response) {
  // What cannot be read has no end that is known, so nothing behind it can be read either.
  keep_alive_ = head_ = false;
  phase_ = Phase::answering;
  wait_at_most(Deadline::none, {});
  respond(++exchange_, response);
}

// ---- out

void HttpConnection::respond(std::uint64_t n, HttpResponse response) {
  // By number: a reply that is late belongs to an exchange that is over.
  if (!is_open(n)) return;
  send_head(response.status, response.content_type, response.headers, response.body.size());
  if (!head_) queued_ += response.body;
  finish_answer();
}

void HttpConnection::begin_stream(std::uint64_t n, const std::string& content_type) {
  if (!is_open(n)) return;
  streaming_ = true;
  if (!chunks_) keep_alive_ = false;  // HTTP/1.0: the end of the connection is the end of the answer
  send_head(200, content_type, {}, std::nullopt);
  flush();
}

void HttpConnection::send_head(int status, std::string_view content_type,
                               const std::vector<std::pair<std::string, std::string>>& headers,
                               std::optional<std::size_t> length) {
  body_.hold(0);  // who answers is done with it
  queued_.append("HTTP/1.1 ")
      .append(std::to_string(status))
      .append(" ")
      .append(reason_of(status))
      .append("\r\n");
  add_header(queued_, "Content-Type", content_type);
  if (length)
    add_header(queued_, "Content-Length", std::to_string(*length));
  else if (chunks_)
    add_header(queued_, "Transfer-Encoding", "chunked");
  for (const auto& [name, value] : headers) add_header(queued_, name, value);
  add_header(queued_, "Connection", keep_alive_ ? "keep-alive" : "close");
  queued_ += "\r\n";
}

bool HttpConnection::write(std::uint64_t n, std::string_view chunk) {
  if (!is_open(n)) return false;
  if (chunk.empty() || head_) return true;  // an empty chunk would end the stream
  if (chunks_) {
    std::array<char, 16> size;
    const auto end = std::to_chars(size.data(), size.data() + size.size(), chunk.size(), 16).ptr;
    queued_.append(size.data(), end).append("\r\n").append(chunk).append("\r\n");
  } else {
    queued_ += chunk;
  }
  flush();
  if (dead_) return false;
  // A reader that is slower than the stream is cut, and asks again from where it was (decisions.md 26).
  if (sending_.size() - sent_ + queued_.size() <= HttpReply::kUnsentBound) return true;
  cut();
  return false;
}

void HttpConnection::end(std::uint64_t n) {
  if (!is_open(n)) return;
  if (chunks_ && !head_) queued_ += "0\r\n\r\n";
  finish_answer();
}

void HttpConnection::finish_answer() {
  phase_ = Phase::flushing;
  streaming_ = false;
  flush();
}

void HttpConnection::flush() {
  if (dead_ || waiting_to_send_) return;
  bool progress = false;
  for (;;) {
    if (sent_ == sending_.size()) {
      sent_ = 0;
      sending_.clear();
      if (queued_.empty()) break;
      std::swap(sending_, queued_);
    }
    const ssize_t n = ::send(socket_->native_handle(), sending_.data() + sent_, sending_.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
      progress = true;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return cut();
    // The time for sending begins anew with each byte that goes out: only a peer that takes nothing is cut.
    if (progress || deadline_ != Deadline::send) {
      wait_at_most(Deadline::none, {});
      wait_at_most(Deadline::send, limits_.send_time);
    }
    waiting_to_send_ = true;
    return socket_->async_wait(Socket::wait_write, [self = shared_from_this()](error_code) {
      self->waiting_to_send_ = false;
      self->flush();
    });
  }
  if (deadline_ == Deadline::send) wait_at_most(Deadline::none, {});
  if (phase_ == Phase::flushing) finish_exchange();
}

void HttpConnection::finish_exchange() {
  tell_closed();
  if (!keep_alive_) {
    if (at_end_) return cut();
    phase_ = Phase::lingering;
    error_code ignored;
    // Closed at once with bytes unread, the kernel would send a reset, and the peer might lose the answer.
    socket_->shutdown(Socket::shutdown_send, ignored);
    wait_at_most(Deadline::linger, kLingerTime);
    return read();
  }
  phase_ = Phase::reading;
  if (reader_.is_idle()) return next_request();
  // A chain of requests that came in one piece must not become a chain of calls.
  loop_.post([self = shared_from_this()] {
    if (!self->dead_ && self->phase_ == Phase::reading) self->next_request();
  });
}

// ---- the end

void HttpConnection::on_close(std::uint64_t n, std::function<void()> closed) {
  const bool under_way = n == exchange_ && (phase_ == Phase::answering || phase_ == Phase::flushing);
  if (!dead_ && under_way)
    closed_ = std::move(closed);
  else
    loop_.post(std::move(closed));
}

void HttpConnection::tell_closed() {
  if (!closed_) return;
  loop_.post(std::move(closed_));
  closed_ = nullptr;
}

void HttpConnection::dropped(std::uint64_t n) {
  if (!is_open(n)) return;
  if (streaming_) return cut();  // without its last chunk the peer can tell that it is not whole
  respond(n, error_response(Error(ErrorCode::internal, "the request was left without an answer")));
}

void HttpConnection::wait_at_most(Deadline deadline, std::chrono::milliseconds time) {
  // The same deadline runs on: a peer that sends a byte now and then gains nothing by it.
  if (deadline == deadline_) return;
  loop_.cancel(timer_);
  deadline_ = deadline;
  if (deadline == Deadline::none) return;
  timer_ = loop_.at(loop_.now() + time, [self = weak_from_this()] {
    if (const auto connection = self.lock(); connection && !connection->dead_) connection->on_deadline();
  });
}

void HttpConnection::on_deadline() {
  const Deadline passed = std::exchange(deadline_, Deadline::none);
  if (passed != Deadline::header && passed != Deadline::body) return cut();
  HttpResponse response = error_response(Error(ErrorCode::timed_out, "the request did not arrive in time")
                                             .because("its sender stopped half-way"));
  response.status = 408;  // the table's 504 is for what we wait for ourselves
  refuse(response);
}

void HttpConnection::watch_hangup() {
  socket_->async_wait(Socket::wait_error, [self = shared_from_this()](error_code) {
    if (!self->dead_ && self->peer_is_gone()) self->cut();
  });
}

bool HttpConnection::peer_is_gone() {
  // (POLLHUP: both sides are closed; POLLERR: a reset. A closed sending side alone is neither.)
  pollfd look{socket_->native_handle(), 0, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace sickbay
