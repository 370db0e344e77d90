// SPDX-License-Identifier: Apache-2.0
// Losing: what this node's connections lost while a job ran, by the other end's address, from look to look.
//
// Of a connection that was there at the first look counts what it did since, of others all; of one that is
// gone what was seen last.  Pure.  Source: doc/design/identify.md, "Lossy links".
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "model/tcp_losses.h"

namespace sickbay::hang {

class Losing {
 public:
  /// Takes in a look; the first one only begins.  A later one that is older than the last changes nothing.
  void take(const TcpLook& look);
  /// What was lost since; nothing where less than two looks were made.
  TcpLosses told() const;

  static constexpr std::size_t kMostAddresses = 4096;

 private:
  struct Counts {
    std::int64_t sent = 0, again = 0, needless = 0;
  };
  struct Connection {
    std::string peer;
    Counts at_first, last;
  };
  static void add(Counts& sum, const Connection& connection);

  std::map<std::uint64_t, Connection> open_;
  std::map<std::string, Counts> gone_;  ///< by address: of connections that are no more
  std::set<std::string> own_;
  TimePoint first_ = kNoTime, last_ = kNoTime;
};

}  // namespace sickbay::hang
