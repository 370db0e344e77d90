// SPDX-License-Identifier: Apache-2.0
// HttpConnection: one peer, its requests one after another, and the answer under way.
//
// One request is answered at a time; the next one is looked at when the answer has left for the kernel, so
// what a peer asks without reading costs it, not us.  The socket is read all the time, up to a bound: that is
// how a peer that went away is noticed while its handler still works.
#pragma once
#include <utility>  // before Asio: Boost 1.74 leaves it out under GCC 12

#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/net/http_budget.h"
#include "adapters/net/http_places.h"
#include "adapters/net/http_server.h"

namespace sickbay {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Id = HttpPlaces::Id;
  struct Owner {  ///< what the connection needs of its server; gone once it is closed
    std::function<void(Id, IncomingRequest, std::shared_ptr<HttpReply>)> ask;
    /// Says whose credential it is, for the header of a request whose body is large.
    std::function<void(Id, std::string authorization, Done<Credential>)> check;
    std::function<void(const std::shared_ptr<HttpConnection>&)> gone;
  };

  /// With `over_limit` the first request is answered 503 and the connection closed.
  HttpConnection(AsioLoop& loop, const HttpLimits& limits, Socket socket, Caller caller, Id id,
                 bool over_limit, Owner owner, BodyShare body);

  void start();
  /// Cuts the connection.  The owner is told unless it was the owner who cut.
  void cut(bool tell_owner = true);
  const Caller& caller() const { return caller_; }
  Id id() const { return id_; }
  /// Over TCP: whether a credential has held here.
  void set_known(bool known) { is_known_ = known; }
  /// Nothing is under way: no request of it is being checked or answered.
  bool is_reading() const { return phase_ == Phase::reading; }

  // For the reply of exchange `n`; without effect when that exchange is over.
  bool is_open(std::uint64_t n) const { return !dead_ && n == exchange_ && phase_ == Phase::answering; }
  void respond(std::uint64_t n, HttpResponse response);
  void begin_stream(std::uint64_t n, const std::string& content_type);
  bool write(std::uint64_t n, std::string_view chunk);
  void end(std::uint64_t n);
  void on_close(std::uint64_t n, std::function<void()> closed);
  void dropped(std::uint64_t n);

 private:
  enum class Phase {
    reading,    // waiting for a request, or for the rest of it
    checking,   // its header is here: who sends the large body that it announces?
    answering,  // a handler has the request
    flushing,   // the answer is complete, some of it still unsent
    lingering,  // nothing more to say; the peer may still be sending
  };

  void read();
  void receive();
  void on_read(std::string_view bytes, bool at_end);
  void next_request();
  bool needs_credential() const;
  void check_credential();
  void watch_stranger();
  void refuse(const HttpResponse& response);
  void send_head(int status, std::string_view content_type,
                 const std::vector<std::pair<std::string, std::string>>& headers,
                 std::optional<std::size_t> length);
  void flush();
  void finish_answer();
  void finish_exchange();
  void on_deadline();
  void watch_hangup();
  bool peer_is_gone();
  void tell_closed();

  enum class Deadline { none, idle, header, body, send, linger };
  /// Moves the one time-out; the same again lets it run on.
  void wait_at_most(Deadline deadline, std::chrono::milliseconds time);

  AsioLoop& loop_;
  const HttpLimits limits_;
  std::optional<Socket> socket_;  // empty once cut: a reply may outlive the loop, a socket must not
  const Caller caller_;
  const Id id_;
  const bool over_limit_;
  bool is_known_;
  Owner owner_;

  HttpRequestReader reader_;
  std::optional<Credential> credential_;  // of the request that is arriving, where it was asked for
  BodyShare body_;                        // of the request that is arriving, or being answered
  bool reading_ = false;                  // a read is under way
  bool at_end_ = false;                   // the peer will send no more

  Phase phase_ = Phase::reading;
  std::uint64_t exchange_ = 0;
  bool keep_alive_ = false, chunks_ = false, head_ = false, streaming_ = false;
  std::function<void()> closed_;

  std::string sending_, queued_;  // what the kernel is being given, and what comes after
  std::size_t sent_ = 0;          // of sending_
  bool waiting_to_send_ = false;
  bool dead_ = false;

  Deadline deadline_ = Deadline::none;
  Loop::TimerId timer_ = 0, stranger_timer_ = 0;
};

}  // namespace sickbay
