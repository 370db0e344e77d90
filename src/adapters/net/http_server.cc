// SPDX-License-Identifier: Apache-2.0
// The listening socket, who may connect, and the connections there are.  See http_server.h.
//
// Descriptors are made here by plain system calls rather than by Asio, because Asio 1.74 makes them without
// close-on-exec, and sickbayd starts programs of users.
#include "adapters/net/http_server.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "adapters/net/http_connection.h"
#include "base/text.h"

namespace sickbay {
namespace {

constexpr int kBacklog = 512;
constexpr std::size_t kRefusals = 64;      // connections over the limit that are being told so
constexpr int kAcceptsPerRound = 64;       // then the connections there are get their turn
constexpr std::size_t kKnownUsers = 4096;  // names kept
constexpr auto kNameAge = std::chrono::minutes(5);
constexpr auto kAcceptPause = std::chrono::seconds(1);  // after a failure that only time can mend

std::string os_error() { return std::strerror(errno); }

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Error(ErrorCode::bad_input, "no path for a socket: " + quote_for_message(path))
                    .because("it must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes")
                    .remedied_by("set SICKBAY_ROOT to a shorter path"));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Descriptor unix_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes the socket file of a dead server.  Nothing there: fine.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot look at " + path)
                    .because(os_error()));
  }
  if (!S_ISSOCK(found.st_mode))
    return fail(Error(ErrorCode::conflict, path + " exists and is no socket")
                    .remedied_by("move it away; Sickbay removes nothing but its own sockets"));
  const Descriptor probe = unix_socket();
  if (!probe) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error()));
  // EAGAIN: its queue is full, so it lives.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN)
    return fail(
        Error(ErrorCode::conflict, "another server answers on " + path)
            .remedied_by("stop it first (systemctl stop sickbayd); there is one sickbayd per cluster"));
  if (errno != ECONNREFUSED)
    return fail(
        Error(ErrorCode::conflict, "cannot tell whether a server answers on " + path).because(os_error()));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(Error(ErrorCode::denied, "cannot remove the stale socket " + path).because(os_error()));
  return {};
}

class UnixHttpServer final : public HttpServer {
 public:
  UnixHttpServer(AsioLoop& loop, HttpLimits limits) : loop_(loop), limits_(limits) {}
  ~UnixHttpServer() override { close(); }

  Status listen_unix(const std::string& path, unsigned mode) override {
    SB_CHECK(!listener_, "a server listens once");
    const auto address = unix_address(path);
    if (!address) return fail(address.error());
    Descriptor lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock)
      return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot open " + path + ".lock")
                      .because(os_error())
                      .remedied_by("make its folder, and start as a user who may write there"));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(
          Error(ErrorCode::conflict, "another server holds " + path)
              .because(path + ".lock is locked")
              .remedied_by("stop it first (systemctl stop sickbayd); there is one sickbayd per cluster"));
    if (auto removed = remove_stale(path, *address); !removed) return removed;

    Descriptor listener = unix_socket();
    if (!listener) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error()));
    // Nobody can connect before listen(), so the rights are right from the first connection on.
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
        ::chmod(path.c_str(), mode) != 0 || ::listen(listener.get(), kBacklog) != 0)
      return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot listen on " + path)
                      .because(os_error()));
    struct stat made;
    if (::lstat(path.c_str(), &made) == 0) socket_file_ = {made.st_dev, made.st_ino};
    path_ = path;
    lock_ = std::move(lock);
    listener_ = std::move(listener);
    set_accepting(true);
    return {};
  }

  void on_request(Handler handler) override {
    handler_ = std::make_shared<const Handler>(std::move(handler));
  }

  void close() override {
    loop_.cancel(std::exchange(retry_, 0));
    if (listener_) {
      set_accepting(false);
      listener_.reset();
      struct stat found;  // only our own file: somebody may have put another one there
      if (::lstat(path_.c_str(), &found) == 0 && socket_file_ == std::pair(found.st_dev, found.st_ino))
        ::unlink(path_.c_str());
      lock_.reset();
    }
    for (const auto& connection : std::exchange(connections_, {})) connection->cut(false);
    per_user_.clear();
  }

 private:
  void set_accepting(bool on) {
    if (on == accepting_) return;
    accepting_ = on;
    if (on)
      loop_.watch(listener_.get(), [this] { accept_some(); });
    else
      loop_.unwatch(listener_.get());
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerRound; ++i) {
      // Beyond this the kernel's queue holds them; gone() takes up again.
      if (connections_.size() >= limits_.connections + kRefusals) return set_accepting(false);
      Descriptor peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (peer) {
        admit(std::move(peer));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause_accepting();
      return;
    }
  }

  // Out of descriptors or memory: the listening socket stays readable, and watching it would spin.
  void pause_accepting() {
    set_accepting(false);
    retry_ = loop_.at(loop_.now() + kAcceptPause, [this] {
      retry_ = 0;
      set_accepting(true);
    });
  }

  void admit(Descriptor peer) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
    HttpConnection::Socket socket(loop_.context());
    boost::system::error_code ec;
    socket.assign(boost::asio::local::stream_protocol(), peer.get(), ec);
    if (ec) return;
    peer.release();

    const Caller caller{credentials.uid, credentials.gid, credentials.pid, user_name(credentials.uid)};
    std::size_t& users_own = per_user_[caller.uid];
    const bool over_limit = connections_.size() >= limits_.connections ||
                            (caller.uid != 0 && users_own >= limits_.connections_per_user);
    ++users_own;
    auto connection = std::make_shared<HttpConnection>(
        loop_, limits_, std::move(socket), caller, over_limit,
        HttpConnection::Owner{[this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
                                ask(std::move(request), std::move(reply));
                              },
                              [this](const std::shared_ptr<HttpConnection>& gone_one) { gone(gone_one); },
                              [this](std::size_t bytes) {
                                if (bytes > limits_.arriving_bytes - arriving_) return false;
                                arriving_ += bytes;
                                return true;
                              },
                              [this](std::size_t bytes) { arriving_ -= bytes; }});
    connections_.insert(connection);
    connection->start();
  }

  void ask(HttpRequest request, std::shared_ptr<HttpReply> reply) {
    const auto handler = handler_;  // the call may set another one, or close this server
    if (handler && *handler) return (*handler)(std::move(request), std::move(reply));
    reply->respond(error_response(Error(ErrorCode::busy, "sickbayd is starting")));
  }

  void gone(const std::shared_ptr<HttpConnection>& connection) {
    connections_.erase(connection);
    if (const auto it = per_user_.find(connection->caller().uid); it != per_user_.end() && --it->second == 0)
      per_user_.erase(it);
    if (listener_ && retry_ == 0) set_accepting(true);
  }

  // Names change rarely, and asking may mean asking a directory server.
  std::string user_name(uid_t uid) {
    const TimePoint now = loop_.now();
    if (const auto it = names_.find(uid); it != names_.end() && now - it->second.first < kNameAge)
      return it->second.second;
    std::vector<char> space(16 << 10);
    passwd entry, *found = nullptr;
    std::string name = ::getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found
                           ? found->pw_name
                           : std::to_string(uid);
    if (names_.size() >= kKnownUsers) names_.clear();
    names_[uid] = {now, name};
    return name;
  }

  AsioLoop& loop_;
  const HttpLimits limits_;
  std::shared_ptr<const Handler> handler_;
  Descriptor listener_, lock_;
  std::string path_;
  std::pair<dev_t, ino_t> socket_file_{};
  bool accepting_ = false;
  Loop::TimerId retry_ = 0;
  std::set<std::shared_ptr<HttpConnection>> connections_;
  std::map<std::uint32_t, std::size_t> per_user_;
  std::size_t arriving_ = 0;  // bytes of bodies that connections have reserved
  std::map<uid_t, std::pair<TimePoint, std::string>> names_;
};

}  // namespace

std::unique_ptr<HttpServer> make_http_server(AsioLoop& loop, HttpLimits limits) {
  return std::make_unique<UnixHttpServer>(loop, limits);
}

}  // namespace sickbay
