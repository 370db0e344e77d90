// SPDX-License-Identifier: Apache-2.0
// The client of the agents.  See signed_client.h.
//
// An exchange owns itself by the callbacks that wait for something; whoever comes first of answer, failure
// and deadline ends it, and what comes later finds it ended.
#include "adapters/net/signed_client.h"

#include <sys/socket.h>

#include <utility>  // before Asio: Boost 1.74 leaves it out under GCC 12

#include <algorithm>
#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "adapters/net/http_signature.h"
#include "adapters/net/sockets.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "ports/http.h"
#include "ports/http_response.h"
#include "ports/lifetime.h"

namespace sickbay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

constexpr int kUnavailable = 503;

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(AsioLoop& loop, Credentials& credentials, const SignedClientOptions& options,
           HttpQuestion question, Done<std::string> done)
      : loop_(loop),
        credentials_(credentials),
        options_(options),
        question_(std::move(question)),
        done_(std::move(done)),
        resolver_(loop.context()),
        nonce_(new_nonce()) {}

  void start() {
    timer_ = loop_.at(loop_.now() + question_.time_limit, [self = shared_from_this()] {
      self->timer_ = 0;
      // No request yet: munged has not signed it, and sickbayd has no part in the delay.
      if (self->request_.empty())
        return self->finish(
            fail(Error(ErrorCode::munge_away, "munged takes too long to answer on this host")));
      self->finish(
          fail(Error(ErrorCode::timed_out, "sickbayd takes too long to answer at " + self->place())));
    });
    RequestSignature signature{question_.method, question_.target, question_.idempotency_key,
                               sha256_hex(question_.body), nonce_};
    credentials_.encode(signature.text(), options_.server_uid,
                        [self = shared_from_this()](Result<std::string> credential) {
                          if (self->ended_) return;
                          if (!credential) return self->finish(fail(std::move(credential.error())));
                          self->write_request(*credential);
                          self->resolve();
                        });
  }

  // Ends it without a word.
  void drop() {
    done_ = nullptr;
    finish(fail(ErrorCode::internal, ""));
  }
  bool ended() const { return ended_; }

 private:
  std::string place() const { return options_.host + ", port " + std::to_string(options_.port); }

  Error away(const std::string& why) const {
    return Error(ErrorCode::daemon_away, "sickbayd does not answer at " + place()).because(why);
  }

  void finish(Result<std::string> result) {
    if (std::exchange(ended_, true)) return;
    loop_.cancel(timer_);
    loop_.cancel(connect_timer_);
    resolver_.cancel();
    socket_.reset();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(result));
  }

  void write_request(const std::string& credential) {
    request_.append(question_.method).append(" ").append(question_.target).append(" HTTP/1.1\r\n");
    // One connection for each question: no place at sickbayd is held between two.
    request_.append("Host: ").append(options_.host).append("\r\nConnection: close\r\n");
    request_.append("Authorization: Munge ").append(credential).append("\r\n");
    if (!question_.idempotency_key.empty())
      request_.append("Idempotency-Key: ").append(question_.idempotency_key).append("\r\n");
    if (question_.method == "POST")
      request_.append("Content-Type: application/json\r\nContent-Length: ")
          .append(std::to_string(question_.body.size()))
          .append("\r\n");
    request_.append("\r\n").append(question_.body);
  }

  void resolve() {
    resolver_.async_resolve(
        options_.host, std::to_string(options_.port), tcp::resolver::numeric_service,
        [self = shared_from_this()](error_code ec, const tcp::resolver::results_type& found) {
          if (self->ended_) return;
          if (ec) return self->finish(fail(self->away("its name is not known: " + ec.message())));
          for (const auto& entry : found) self->places_.push_back(entry.endpoint());
          self->connect();
        });
  }

  void connect() {
    if (next_place_ == places_.size()) return finish(fail(away(failure_)));
    socket_.reset();
    const tcp::endpoint to = places_[next_place_++];
    Descriptor fd(::socket(to.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socket_.emplace(loop_.context());
    error_code ec;
    if (fd) socket_->assign(asio::generic::stream_protocol(to.protocol().family(), 0), fd.get(), ec);
    if (!fd || ec)
      return finish(fail(Error(ErrorCode::os, "cannot make a socket").because(std::strerror(errno))));
    fd.release();
    if (!options_.from.empty()) {
      const auto from = parse_address(options_.from, 0);
      if (!from) return finish(fail(from.error()));
      if (::bind(socket_->native_handle(), from->get(), from->size) != 0) {
        failure_ = "cannot call from " + options_.from + ": " + std::strerror(errno);
        return connect();
      }
    }
    if (options_.connect_limit.count() > 0)
      connect_timer_ = loop_.at(loop_.now() + options_.connect_limit, [self = shared_from_this()] {
        // (The next address: a name may have several, of which one network reaches some.)
        self->failure_ = "the connection is not taken; a firewall may drop it";
        self->connect();
      });
    socket_->async_connect(asio::generic::stream_protocol::endpoint(to),
                           [self = shared_from_this(), mine = next_place_](error_code failed) {
                             // A late word of an address that was given up.
                             if (self->ended_ || mine != self->next_place_) return;
                             self->loop_.cancel(self->connect_timer_);
                             if (!failed) return self->send();
                             self->failure_ = failed.message();
                             self->connect();
                           });
  }

  void send() {
    while (sent_ < request_.size()) {
      const ssize_t n = ::send(socket_->native_handle(), request_.data() + sent_, request_.size() - sent_,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        sent_ += static_cast<std::size_t>(n);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return socket_->async_wait(Socket::wait_write, [self = shared_from_this()](error_code) {
          if (!self->ended_) self->send();
        });
      } else if (errno != EINTR) {
        break;  // a server may refuse before it has all: then its answer says why
      }
    }
    receive();
  }

  void receive() {
    socket_->async_wait(Socket::wait_read, [self = shared_from_this()](error_code) {
      if (!self->ended_) self->read();
    });
  }

  void read() {
    std::array<char, 16 << 10> buffer;
    const ssize_t n = ::recv(socket_->native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return receive();
    if (n < 0) return finish(fail(away(std::strerror(errno))));
    if (n == 0 && !answer_.is_begun())
      return finish(fail(away("it closed the connection without an answer")));
    const Status read = n == 0 ? answer_.end() : answer_.add({buffer.data(), static_cast<std::size_t>(n)});
    if (!read) return finish(fail(read.error()));
    body_ += answer_.take_body();
    // Counted while it comes: who it is from is known only when all of it is here.
    if (body_.size() > options_.answer_bytes)
      return finish(fail(ErrorCode::bad_input,
                         "sickbayd's answer is over " + std::to_string(options_.answer_bytes) + " bytes"));
    if (!answer_.is_complete()) return receive();
    socket_.reset();
    check();
  }

  // An unsigned answer is not obeyed, but what it says helps people: mostly it refuses our own credential.
  tl::unexpected<Error> unsigned_answer(const std::string& why) const {
    std::string said = "it is " + std::to_string(answer_.status());
    if (answer_.status() >= 300) {
      const Error told = error_from_response(answer_.status(), body_);
      said += ": " + quote_for_message(told.what + (told.cause.empty() ? "" : " (" + told.cause + ")"), 300);
    }
    // (Whoever says "busy" unsigned makes us ask again, and no more.)
    const bool busy = answer_.status() == kUnavailable;
    return fail(
        Error(busy ? ErrorCode::busy : ErrorCode::denied,
              "the answer at " + place() + " is not to be trusted: " + why)
            .because(said)
            .remedied_by("check munged and the clocks on both hosts, and that sickbayd runs as root"));
  }

  void check() {
    auto credential = credential_of(answer_.header("Authentication-Info"));
    if (!credential) return finish(unsigned_answer("it is not signed"));
    credentials_.decode(std::move(*credential), [self = shared_from_this()](Result<Credential> said) {
      if (self->ended_) return;
      // (munged away, say: that is no fault of the answer.)
      if (!said && said.error().code != ErrorCode::denied) return self->finish(fail(std::move(said.error())));
      if (!said) return self->finish(self->unsigned_answer(said.error().what));
      self->check(*said);
    });
  }

  void check(const Credential& said) {
    // decisions.md 4: agents obey root of sickbayd's host and nobody else.
    if (said.uid != options_.server_uid)
      return finish(unsigned_answer("uid " + std::to_string(said.uid) + " signed it"));
    // The nonce ties it to this question: an old answer to the same one does not hold.
    const auto signature = AnswerSignature::parse(said.payload);
    if (!signature || signature->nonce != nonce_)
      return finish(unsigned_answer("it answers another question"));
    if (signature->status != answer_.status() || signature->body_digest != sha256_hex(body_))
      return finish(unsigned_answer("it was changed on its way"));
    if (answer_.status() >= 300) return finish(fail(error_from_response(answer_.status(), body_)));
    finish(std::move(body_));
  }

  AsioLoop& loop_;
  Credentials& credentials_;
  const SignedClientOptions options_;
  const HttpQuestion question_;
  Done<std::string> done_;
  tcp::resolver resolver_;
  const std::string nonce_;
  std::vector<tcp::endpoint> places_;
  std::size_t next_place_ = 0;
  std::string failure_ = "its name has no address";
  std::optional<Socket> socket_;
  std::string request_;
  std::size_t sent_ = 0;
  HttpResponseReader answer_;
  std::string body_;
  Loop::TimerId timer_ = 0, connect_timer_ = 0;
  bool ended_ = false;
};

class AsioSignedClient final : public SignedClient {
 public:
  AsioSignedClient(AsioLoop& loop, Credentials& credentials, SignedClientOptions options)
      : loop_(loop), credentials_(credentials), options_(std::move(options)) {}
  ~AsioSignedClient() override {
    for (const auto& exchange : under_way_)
      if (const auto here = exchange.lock()) here->drop();
  }

  void ask(HttpQuestion question, Done<Json> done) override {
    std::string target = question.target;
    ask_text(std::move(question),
             [target = std::move(target), done = std::move(done)](Result<std::string> text) {
               if (!text) return done(fail(std::move(text.error())));
               auto json = Json::parse(*text);
               if (!json)
                 return done(fail(std::move(json.error()).in("reading sickbayd's answer to " + target)));
               done(std::move(*json));
             });
  }
  void ask_text(HttpQuestion question, Done<std::string> done) override {
    std::erase_if(under_way_, [](const auto& exchange) {
      const auto here = exchange.lock();
      return !here || here->ended();
    });
    auto exchange =
        std::make_shared<Exchange>(loop_, credentials_, options_, std::move(question), std::move(done));
    under_way_.push_back(exchange);
    exchange->start();
  }

 private:
  AsioLoop& loop_;
  Credentials& credentials_;
  const SignedClientOptions options_;
  std::vector<std::weak_ptr<Exchange>> under_way_;
};

}  // namespace

std::unique_ptr<SignedClient> make_signed_client(AsioLoop& loop, Credentials& credentials,
                                                 SignedClientOptions options) {
  return std::make_unique<AsioSignedClient>(loop, credentials, std::move(options));
}

struct AddressBook::Impl {
  explicit Impl(AsioLoop& on) : loop(on), resolver(on.context()) {}
  AsioLoop& loop;
  tcp::resolver resolver;
  Lifetime lifetime;
};

AddressBook::AddressBook(AsioLoop& loop) : impl_(std::make_unique<Impl>(loop)) {}
AddressBook::~AddressBook() = default;

void AddressBook::look_up(const std::string& name, Done<std::vector<std::string>> done) {
  if (const auto numeric = parse_address(name, 0)) {
    impl_->loop.post([done = std::move(done), text = address_text(numeric->storage)] {
      done(std::vector<std::string>{text});
    });
    return;
  }
  impl_->resolver.async_resolve(
      name, "",
      impl_->lifetime.guard(
          [name, done = std::move(done)](error_code ec, const tcp::resolver::results_type& found) {
            if (ec)
              return done(fail(Error(ErrorCode::not_found, "no address for " + quote_for_message(name))
                                   .because(ec.message())
                                   .remedied_by("add it to /etc/hosts or to the name service of this host")));
            std::set<std::string> texts;
            for (const auto& entry : found) {
              sockaddr_storage storage{};
              std::memcpy(&storage, entry.endpoint().data(), entry.endpoint().size());
              texts.insert(address_text(storage));
            }
            done(std::vector<std::string>(texts.begin(), texts.end()));
          }));
}

}  // namespace sickbay
