// SPDX-License-Identifier: Apache-2.0
// NodeAddresses: where Slurm's nodes are: whether a caller calls from one, and the way to its slurmd.
//
// Who calls as the agent of a node must be root and call from that node's NodeAddr; names are looked up
// through whoever does so without blocking the loop, and kept for a minute.  Source: doc/design/diagnose.md,
// "Endpoints"; doc/security.md.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ports/http.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "ports/tcp_question.h"

namespace sickbay {

class Controller;

class NodeAddresses {
 public:
  /// Gives the addresses of a host name (adapters/net's AddressBook).
  using LookUp = std::function<void(const std::string& name, Done<std::vector<std::string>> done)>;
  /// `controller` must outlive it.
  NodeAddresses(Loop& loop, Controller& controller, LookUp look_up)
      : loop_(loop), controller_(controller), look_up_(std::move(look_up)) {}

  /// Whether `caller` may speak for `node`: uid 0, calling from the NodeAddr of that node.  Errors: denied,
  /// not_found (Slurm has no such node), slurm_away, bad_input (no node is named).
  void check(const Caller& caller, const std::string& node, std::function<void(Status)> then);

  /// Asks a node's slurmd, and that of `control`, by TCP: {"answers", "control"}.  `ask` asks an address and
  /// port.
  void ask_node(const std::string& node, const std::string& control, const AskByTcp& ask, Done<Json> done);

 private:
  void compare(const std::string& address, const std::string& node, Done<bool> done);
  void numeric(const std::string& node, Done<std::pair<std::string, std::uint16_t>> done);

  Loop& loop_;
  Controller& controller_;
  const LookUp look_up_;
  std::map<std::string, std::pair<TimePoint, std::vector<std::string>>> looked_up_;
  Lifetime lifetime_;
};

}  // namespace sickbay
