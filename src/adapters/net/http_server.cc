// SPDX-License-Identifier: Apache-2.0
// The listening sockets, who may connect, and the connections there are.  See http_server.h.
#include "adapters/net/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "adapters/net/acceptor.h"
#include "adapters/net/http_connection.h"
#include "adapters/net/http_signature.h"
#include "adapters/net/http_signed.h"
#include "adapters/net/sockets.h"
#include "ports/lifetime.h"
#include "ports/people.h"

namespace sickbay {
namespace {

constexpr std::size_t kRefusals = 64;  // connections over the limit that are being told so
constexpr auto kAcceptPause = std::chrono::seconds(1);

// Where connections come from, and who holds them.
struct Listener {
  Listener(AsioLoop& loop, Acceptor::Owner owner) : acceptor(loop, std::move(owner)) {}

  Acceptor acceptor;
  HttpPlaces places{{}};
  std::shared_ptr<BodyBudget> bodies;  // shared: a connection may outlive the server
};

class AsioHttpServer final : public HttpServer {
 public:
  AsioHttpServer(AsioLoop& loop, HttpLimits limits)
      : loop_(loop), limits_(limits), unix_(loop, admits(unix_)), tcp_(loop, admits(tcp_)) {
    // On the Unix socket the kernel says who it is, so no address counts.
    unix_.places = HttpPlaces({limits_.connections, limits_.connections_per_user, 0, kRefusals});
    tcp_.places = HttpPlaces(
        {limits_.tcp_connections, limits_.connections_per_user, limits_.connections_per_address, kRefusals});
    for (Listener* listener : {&unix_, &tcp_})
      listener->bodies = std::make_shared<BodyBudget>(limits_.arriving_bytes, limits_.arriving_bytes_of_peer);
  }
  ~AsioHttpServer() override { close(); }

  Status listen_unix(const std::string& path, unsigned mode) override {
    SB_CHECK(!unix_.acceptor.is_open(), "a server listens once");
    auto made = listen_on_unix(path, mode);
    if (!made) return fail(std::move(made.error()));
    struct stat file;
    // By device and inode, so that close() takes away this file and no other.
    if (::lstat(path.c_str(), &file) == 0) socket_file_ = {file.st_dev, file.st_ino};
    path_ = path;
    lock_ = std::move(made->lock);
    unix_.acceptor.open(std::move(made->socket));
    return {};
  }

  Result<std::uint16_t> listen_tcp(const std::string& address, std::uint16_t port,
                                   Credentials& credentials) override {
    SB_CHECK(!tcp_.acceptor.is_open(), "a server listens once");
    auto made = listen_on_tcp(address, port);
    if (!made) return fail(std::move(made.error()));
    credentials_ = &credentials;
    tcp_.acceptor.open(std::move(*made));
    return port_of(tcp_.acceptor.fd());
  }

  void name_callers_by(People& people) override { people_ = &people; }

  void on_request(Handler handler) override {
    handler_ = std::make_shared<const Handler>(std::move(handler));
  }

  void close() override {
    const bool had_file = unix_.acceptor.is_open();
    for (Listener* listener : {&unix_, &tcp_}) {
      listener->acceptor.close();
      listener->places.clear();
    }
    if (had_file) {
      struct stat found;  // only our own file: somebody may have put another one there
      if (::lstat(path_.c_str(), &found) == 0 && socket_file_ == std::pair(found.st_dev, found.st_ino))
        ::unlink(path_.c_str());
      lock_.reset();
    }
    for (const auto& [id, connection] : std::exchange(connections_, {})) connection->cut(false);
  }

 private:
  Acceptor::Owner admits(Listener& listener) {
    return {[this, &listener](Descriptor peer, const sockaddr_storage& from) {
              admit(listener, std::move(peer), from);
            },
            nullptr, kAcceptPause};
  }

  // Who is at the other end, as far as it is known before a request.
  std::optional<Caller> caller_of(const Descriptor& peer, const sockaddr_storage& from) {
    Caller caller;
    if (from.ss_family == AF_INET || from.ss_family == AF_INET6) {
      caller.address = address_text(from);
      const int on = 1;  // a node that lost its power says nothing more
      ::setsockopt(peer.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      ::setsockopt(peer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return caller;
    }
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
    return Caller{credentials.uid, credentials.gid, credentials.pid, std::to_string(credentials.uid), {}};
  }

  // Whose connections are counted together.
  static std::string peer_of(const Caller& caller) {
    return caller.address.empty() ? std::to_string(caller.uid) : caller.address;
  }

  void admit(Listener& listener, Descriptor peer, const sockaddr_storage& from) {
    const auto caller = caller_of(peer, from);
    if (!caller) return;
    HttpConnection::Socket socket(loop_.context());
    boost::system::error_code ec;
    socket.assign(boost::asio::generic::stream_protocol(&listener == &unix_ ? AF_UNIX : from.ss_family, 0),
                  peer.get(), ec);
    if (ec) return;
    peer.release();

    const HttpConnection::Id id = ++last_id_;
    // A stranger gives way to one who comes, but not while his credential is being looked at.
    const HttpPlaces::Admission admission =
        caller->address.empty() ? listener.places.come(id, caller->uid)
                                : listener.places.come(id, caller->address, [this](HttpPlaces::Id other) {
                                    const auto it = connections_.find(other);
                                    return it != connections_.end() && it->second->is_reading();
                                  });
    if (admission.gives_way)
      if (const auto it = connections_.find(*admission.gives_way); it != connections_.end()) {
        const auto connection = it->second;
        connections_.erase(it);
        connection->cut(false);
      }
    auto connection = std::make_shared<HttpConnection>(
        loop_, limits_, std::move(socket), *caller, id, !admission.has_place,
        HttpConnection::Owner{
            [this](HttpConnection::Id from_id, IncomingRequest request, std::shared_ptr<HttpReply> reply) {
              receive(from_id, std::move(request), std::move(reply));
            },
            [this](HttpConnection::Id from_id, const std::string& authorization, Done<Credential> done) {
              check(from_id, authorization, std::move(done));
            },
            [this](const std::shared_ptr<HttpConnection>& gone_one) { gone(gone_one); }},
        BodyShare(listener.bodies, peer_of(*caller), caller->uid == 0));
    connections_.emplace(id, connection);
    connection->start();
  }

  // Says to the places who the connection is of.
  Status know(HttpConnection::Id id, std::uint32_t uid) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return {};  // it was cut meanwhile: nobody hears the answer
    // Who he is is known only now: by his uid he may have too many already.
    const bool has_place = tcp_.places.is(id, uid);
    it->second->set_known(has_place);
    if (has_place) return {};
    return fail(Error(ErrorCode::busy, "too many connections")
                    .because("sickbayd serves a bounded number of one user and of one address at a time"));
  }

  void check(HttpConnection::Id id, const std::string& authorization, Done<Credential> done) {
    auto credential = credential_of(authorization);
    if (!credential) return done(fail(std::move(credential.error())));
    credentials_->decode(std::move(*credential),
                         lifetime_.guard([this, id, done = std::move(done)](Result<Credential> said) {
                           if (said)
                             if (Status known = know(id, said->uid); !known)
                               said = fail(std::move(known.error()));
                           done(std::move(said));
                         }));
  }

  void receive(HttpConnection::Id id, IncomingRequest incoming, std::shared_ptr<HttpReply> reply) {
    if (incoming.request.caller.address.empty()) return name(std::move(incoming.request), std::move(reply));
    check_signed_request(loop_, *credentials_, limits_.part_time, std::move(incoming), std::move(reply),
                         lifetime_.guard([this, id](HttpRequest request, std::shared_ptr<HttpReply> signing) {
                           if (const Status known = know(id, request.caller.uid); !known)
                             return signing->respond(error_response(known.error()));
                           name(std::move(request), std::move(signing));
                         }));
  }

  // Names its caller.  Asking may mean asking a directory server: only this request waits for it.
  void name(HttpRequest request, std::shared_ptr<HttpReply> reply) {
    const std::uint32_t uid = request.caller.uid, gid = request.caller.gid;
    request.caller.user = std::to_string(uid);
    if (people_ == nullptr) return ask(std::move(request), std::move(reply));
    people_->ask(uid, gid,
                 lifetime_.guard([this, waiting = std::make_shared<HttpRequest>(std::move(request)),
                                  reply = std::move(reply)](const Person& person) {
                   if (!person.user.empty()) waiting->caller.user = person.user;
                   waiting->caller.groups = person.groups;
                   ask(std::move(*waiting), reply);
                 }));
  }

  void ask(HttpRequest request, std::shared_ptr<HttpReply> reply) {
    const auto handler = handler_;  // the call may set another one, or close this server
    if (handler && *handler) return (*handler)(std::move(request), std::move(reply));
    reply->respond(error_response(Error(ErrorCode::busy, "sickbayd is starting")));
  }

  void gone(const std::shared_ptr<HttpConnection>& connection) {
    connections_.erase(connection->id());
    (connection->caller().address.empty() ? unix_ : tcp_).places.left(connection->id());
  }

  AsioLoop& loop_;
  const HttpLimits limits_;
  std::shared_ptr<const Handler> handler_;
  Listener unix_, tcp_;
  Credentials* credentials_ = nullptr;  // of TCP
  Descriptor lock_;
  std::string path_;
  std::pair<dev_t, ino_t> socket_file_{};
  std::map<HttpConnection::Id, std::shared_ptr<HttpConnection>> connections_;
  HttpConnection::Id last_id_ = 0;
  People* people_ = nullptr;  // may be null
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<HttpServer> make_http_server(AsioLoop& loop, HttpLimits limits) {
  return std::make_unique<AsioHttpServer>(loop, limits);
}

}  // namespace sickbay
