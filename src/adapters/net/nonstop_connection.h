// SPDX-License-Identifier: Apache-2.0
// NonstopConnection: one client, its message, and its answer or its stream.
//
// It is read all the time: first the message, then to notice a client that leaves.  What comes behind the
// message is dropped.
#pragma once
#include <utility>  // before Asio: Boost 1.74 leaves it out under GCC 12

#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/net/http_budget.h"
#include "adapters/net/nonstop_server.h"
#include "model/nonstop_wire.h"

namespace sickbay {

class NonstopConnection : public std::enable_shared_from_this<NonstopConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Self = std::shared_ptr<NonstopConnection>;
  enum class Broken : std::uint8_t { none, late, garbled, refused };
  /// What the connection needs of its server; gone once it is cut.
  struct Owner {
    std::function<void(std::string, const Self&)> whole;  ///< the message is
    std::function<void(const Self&, Broken)> gone;
  };
  NonstopConnection(AsioLoop& loop, Socket socket, std::string address, std::uint64_t number,
                    NonstopServer::Times times, std::chrono::milliseconds linger, Owner owner,
                    BodyShare bytes);

  void start();
  /// Cuts the connection.  The owner is told unless it was the owner who cut.
  void cut(Broken broken = Broken::none, bool tell_owner = true);
  /// Says why there is no answer, and closes.
  void refuse(std::string_view why, Broken broken);

  const std::string& address() const { return address_; }
  std::uint64_t number() const { return number_; }
  bool is_open() const { return !dead_ && phase_ == Phase::answering; }
  void answer(std::string_view body);  ///< of any length
  bool write(std::string_view body);   ///< of a stream
  void end();
  void on_close(std::function<void()> closed);

 private:
  enum class Phase : std::uint8_t { reading, answering, flushing, lingering };
  void read();
  void receive();
  void take(std::string_view bytes);
  void flush();
  void finish();
  void wait_at_most(std::chrono::milliseconds time, std::function<void(NonstopConnection&)> then);
  void stop_waiting();

  AsioLoop& loop_;
  std::optional<Socket> socket_;  // empty once cut
  const std::string address_;
  const std::uint64_t number_;
  const NonstopServer::Times times_;
  const std::chrono::milliseconds linger_;
  Owner owner_;
  BodyShare bytes_;
  wire::FrameReader reader_;
  std::size_t came_ = 0;  // bytes, of the message and, later, of what is dropped
  Phase phase_ = Phase::reading;
  Broken broken_ = Broken::none;
  bool dead_ = false, at_end_ = false, reading_ = false, streaming_ = false, waiting_to_send_ = false;
  std::string sending_;
  std::size_t sent_ = 0;
  std::function<void()> closed_;
  Loop::TimerId timer_ = 0;
};

}  // namespace sickbay
