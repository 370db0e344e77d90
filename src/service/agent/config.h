// SPDX-License-Identifier: Apache-2.0
// The agent's configuration file /etc/sickbay/agent.json.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/agent/timetable.h"

namespace sickbay::agent {

struct Config {
  struct Controller {
    std::string host;  ///< of sickbayd; empty: findings wait in the spool
    int port = 6830;
    std::string from;     ///< address to call from; empty: the kernel's choice
    std::string standby;  ///< host of the second sickbayd; empty: there is one
    int standby_port = 6830;
    bool witness = false;  ///< this node says which of the two may act
  } controller;
  struct Node {
    std::string name;  ///< empty: SLURMD_NODENAME, else the host's name up to its first dot
    std::vector<std::string> features;
  } node;
  struct Rules {
    std::vector<std::string> folders;  ///< empty: the shipped one, then /etc/sickbay/rules.d
  } rules;
  struct Periods {
    Overrides every;
    std::chrono::seconds facts{120};
  } periods;
  struct Repair {
    bool allowed = false;
  } repair;
  struct Munge {
    std::string socket;
  } munge;
};

/// Errors: bad_input with file:line:column.
Result<Config> parse_config(std::string_view text, std::string_view source);
/// The table of keys, for doc/formats/agent.md.
std::string describe_config();

}  // namespace sickbay::agent
