// SPDX-License-Identifier: Apache-2.0
// The listening socket of the nonstop protocol, the connections there are, and calls to clients.  See
// nonstop_server.h.
#include "adapters/net/nonstop_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "adapters/net/acceptor.h"
#include "adapters/net/nonstop_connection.h"
#include "adapters/net/sockets.h"
#include "ports/lifetime.h"

namespace sickbay {
namespace {

constexpr auto kPauseWithoutFiles = std::chrono::milliseconds(200);

void keep_alive(int fd) {
  const int on = 1;  // a node that lost its power says nothing more
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  // A dead client is known after 30 + 3 * 10 s; streams live as long as jobs do.
  const int idle = 30, pause = 10, times = 3;
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

class Peer final : public NonstopPeer {
 public:
  explicit Peer(NonstopConnection::Self connection) : connection_(std::move(connection)) {}
  ~Peer() override {
    // Dropped without an answer: its client must not wait for one.
    if (!ended_) connection_->cut();
  }
  Peer(const Peer&) = delete;

  const std::string& address() const override { return connection_->address(); }
  void answer(std::string_view body) override {
    SB_CHECK(!ended_, "a request is answered once");
    ended_ = true;
    connection_->answer(body);
  }
  bool write(std::string_view body) override { return !ended_ && connection_->write(body); }
  void end() override {
    ended_ = true;
    connection_->end();
  }
  void on_close(std::function<void()> closed) override { connection_->on_close(std::move(closed)); }
  bool is_open() const override { return connection_->is_open(); }

 private:
  const NonstopConnection::Self connection_;
  bool ended_ = false;
};

// A call to a client: connect, send, close.
class Call : public std::enable_shared_from_this<Call> {
 public:
  using Socket = NonstopConnection::Socket;
  Call(AsioLoop& loop, std::string bytes, Done<bool> done)
      : loop_(loop), bytes_(std::move(bytes)), done_(std::move(done)), socket_(loop.context()) {}

  void start(const InternetAddress& to, std::chrono::milliseconds limit) {
    Descriptor fd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return end_later(os("cannot make a socket", errno));
    const int how = ::connect(fd.get(), to.get(), to.size) == 0 ? 0 : errno;
    if (how != 0 && how != EINPROGRESS) return end_later(os("cannot connect to the client", how));
    boost::system::error_code ec;
    socket_.assign(boost::asio::generic::stream_protocol(to.storage.ss_family, 0), fd.get(), ec);
    if (ec) return end_later(os("cannot wait for a socket", ec.value()));
    fd.release();
    timer_ = loop_.at(loop_.now() + limit, [self = shared_from_this()] {
      self->timer_ = 0;
      self->end(fail(ErrorCode::timed_out, "the client does not answer"));
    });
    socket_.async_wait(Socket::wait_write,
                       [self = shared_from_this()](boost::system::error_code) { self->connected(); });
  }
  void drop() {
    done_ = nullptr;
    end({});
  }

 private:
  static Status os(const char* what, int number) {
    return fail(Error(ErrorCode::os, what).because(std::strerror(number)));
  }
  void connected() {
    if (!socket_.is_open()) return;
    int number = 0;
    socklen_t size = sizeof number;
    ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &number, &size);
    if (number != 0) return end(os("cannot connect to the client", number));
    // A few bytes fit into any socket that is new.
    const ssize_t n = ::send(socket_.native_handle(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(bytes_.size())) return end(os("cannot send to the client", errno));
    end({});
  }
  void end_later(Status how) {
    loop_.post([self = shared_from_this(), how = std::move(how)] { self->end(how); });
  }
  void end(const Status& how) {
    loop_.cancel(std::exchange(timer_, 0));
    boost::system::error_code ignored;
    socket_.close(ignored);
    const auto done = std::exchange(done_, nullptr);
    if (!done) return;
    if (how) return done(true);
    done(fail(how.error()));
  }

  AsioLoop& loop_;
  std::string bytes_;
  Done<bool> done_;
  Socket socket_;
  Loop::TimerId timer_ = 0;
};

class AsioNonstopServer final : public NonstopServer {
 public:
  AsioNonstopServer(AsioLoop& loop, NonstopLimits limits)
      : loop_(loop),
        limits_(limits),
        bytes_(std::make_shared<BodyBudget>(limits.arriving_bytes, limits.arriving_bytes_of_address)),
        // Who owes his message makes room.
        acceptor_(loop, {[this](Descriptor fd, const sockaddr_storage& from) { admit(std::move(fd), from); },
                         [this] { drop_oldest(reading_); }, kPauseWithoutFiles}) {}
  ~AsioNonstopServer() override { close(); }

  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port) override {
    auto made = listen_on_tcp(address, port);
    if (!made) {
      made.error().remedy_text =
          "free it (Slurm's own nonstop plugin, or slurmrestd, may have it), or name another in nonstop.conf";
      return fail(std::move(made.error()));
    }
    acceptor_.open(std::move(*made));
    return port_of(acceptor_.fd());
  }
  void on_message(Handler handler) override {
    handler_ = std::make_shared<const Handler>(std::move(handler));
  }
  void set_times(Times times) override { times_ = times; }

  void call(const std::string& address, std::uint16_t port, std::string bytes, Done<bool> done) override {
    auto to = parse_address(address, port);
    const bool busy = calls_.size() >= limits_.calls;
    if (!to || busy) {
      Error error = to ? Error(ErrorCode::busy, "too many calls at a time") : std::move(to.error());
      return loop_.post([done = std::move(done), error = std::move(error)] { done(fail(error)); });
    }
    const std::uint64_t number = ++last_call_;
    auto made = std::make_shared<Call>(
        loop_, std::move(bytes),
        lifetime_.guard([this, number, done = std::move(done)](const Result<bool>& how) {
          calls_.erase(number);
          done(how);
        }));
    calls_[number] = made;
    made->start(*to, limits_.call_time);
  }

  Counts counts() const override {
    Counts counts = counts_;
    counts.connections = connections_.size();
    return counts;
  }

  void close() override {
    acceptor_.close();
    for (const auto& [number, connection] : std::exchange(connections_, {}))
      connection->cut(NonstopConnection::Broken::none, false);
    reading_.clear();
    per_address_.clear();
    for (const auto& [number, call] : std::exchange(calls_, {})) call->drop();
  }

 private:
  using Self = NonstopConnection::Self;
  using Broken = NonstopConnection::Broken;
  struct OfAddress {
    std::size_t connections = 0;
    std::set<std::uint64_t> reading;  // those that owe their message, oldest first
  };

  // False: all of them have sent what they had to.
  bool drop_oldest(const std::set<std::uint64_t>& reading) {
    if (reading.empty()) return false;
    const Self oldest = connections_.at(*reading.begin());
    oldest->cut(Broken::refused);
    return true;
  }

  void admit(Descriptor fd, const sockaddr_storage& from) {
    ++counts_.taken;
    const std::string address = address_text(from);
    const auto known = per_address_.find(address);
    const bool address_full =
        known != per_address_.end() && known->second.connections >= limits_.connections_per_address;
    // First within its address: one host cannot take the places of others.
    bool room = true;
    if (address_full)
      room = drop_oldest(known->second.reading);
    else if (connections_.size() >= limits_.connections)
      room = drop_oldest(reading_);
    keep_alive(fd.get());
    NonstopConnection::Socket socket(loop_.context());
    boost::system::error_code ec;
    socket.assign(boost::asio::generic::stream_protocol(from.ss_family, 0), fd.get(), ec);
    if (ec) return;
    fd.release();
    const std::uint64_t number = ++last_number_;
    auto connection = std::make_shared<NonstopConnection>(
        loop_, std::move(socket), address, number, times_, limits_.linger_time,
        NonstopConnection::Owner{[this](std::string body, const Self& self) { whole(std::move(body), self); },
                                 [this](const Self& self, Broken broken) { gone(self, broken); }},
        BodyShare(bytes_, address, false));
    connections_[number] = connection;
    OfAddress& of = per_address_[address];
    ++of.connections;
    // All others have said what they want: this one is told to come again.
    if (!room) return connection->refuse("too many connections; try again", Broken::refused);
    of.reading.insert(number);
    reading_.insert(number);
    connection->start();
  }

  void no_more_reading(const Self& connection) {
    reading_.erase(connection->number());
    if (const auto of = per_address_.find(connection->address()); of != per_address_.end())
      of->second.reading.erase(connection->number());
  }

  void whole(std::string body, const Self& connection) {
    no_more_reading(connection);
    const auto handler = handler_;
    if (handler) (*handler)(std::move(body), std::make_shared<Peer>(connection));
  }

  void gone(const Self& connection, Broken broken) {
    if (broken == Broken::late) ++counts_.late;
    if (broken == Broken::garbled) ++counts_.garbled;
    if (broken == Broken::refused) ++counts_.refused;
    no_more_reading(connection);
    connections_.erase(connection->number());
    if (const auto of = per_address_.find(connection->address());
        of != per_address_.end() && --of->second.connections == 0)
      per_address_.erase(of);
  }

  AsioLoop& loop_;
  const NonstopLimits limits_;
  Times times_;
  std::shared_ptr<const Handler> handler_;
  std::shared_ptr<BodyBudget> bytes_;
  Acceptor acceptor_;
  std::uint64_t last_number_ = 0, last_call_ = 0;
  std::map<std::uint64_t, Self> connections_;
  std::set<std::uint64_t> reading_;  // of all addresses
  std::map<std::string, OfAddress> per_address_;
  std::map<std::uint64_t, std::shared_ptr<Call>> calls_;
  Counts counts_;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<NonstopServer> make_nonstop_server(AsioLoop& loop, NonstopLimits limits) {
  return std::make_unique<AsioNonstopServer>(loop, limits);
}

}  // namespace sickbay
