// SPDX-License-Identifier: Apache-2.0
// The configuration file /etc/sickbay/sickbay.json: JSON with // comments.
//
// A key that is not in the table of config.cc is an error with file:line:column and a "did you mean"; a file
// that is not there means the defaults.  Source: doc/design/decisions.md 7, doc/formats/config.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/detect/detect.h"
#include "engine/drain/drain.h"
#include "engine/fleet/fleet.h"
#include "engine/hang/judge.h"
#include "engine/identify/identify.h"
#include "engine/nonstop/nonstop.h"
#include "engine/patrol/patrol.h"
#include "engine/recover/recover.h"
#include "service/user_quotas.h"

namespace sickbay {

struct Config {
  struct Operators {
    std::vector<std::string> users, groups;
  } operators;
  struct Slurm {
    std::string conf;  ///< slurm.conf; empty: SLURM_CONF of the environment, else Slurm's default
    std::string bin_dir = "/usr/bin";
  } slurm;
  struct Verify {
    std::string script;   ///< batch script of V; empty: the shipped one
    std::string program;  ///< sickbay-verify on the nodes; empty: the installed one
    std::string options = "--quick";
    std::string baseline;                  ///< recorded by `sickbay verify --record-baseline`
    std::vector<std::string> environment;  ///< "NAME=value" for its jobs (which network MPI uses, say)
    std::string user = "sickbay-verify";   ///< which the installed unit makes; root only where it is said
    std::string qos, account;
    std::string folder;  ///< V's output, on storage that all nodes share; empty: /var/lib/sickbay-verify
    std::chrono::seconds time_limit{300};
  } verify;
  identify::Policy identify;
  hang::Policy hang;
  drain::Policy drain;
  nonstop::Policy nonstop;  ///< its breaker is that of `drain`; its nonstop.conf is read by who serves it
  struct NonstopServer {
    std::string address = "0.0.0.0";
    std::uint16_t port = 0;  ///< 0: the Port of nonstop.conf
    std::string conf;        ///< nonstop.conf; empty: beside slurm.conf
  } nonstop_server;
  struct Diagnose {
    int active_at_once = 16;  ///< nodes that run active checks at once; 0: no bound
  } diagnose;
  detect::Policy detect;
  fleet::Policy fleet;
  patrol::Policy patrol;             ///< its breaker is that of `drain`
  recover::Policy recover;           ///< its breaker is that of `drain`, and so is whether nodes are rebooted
  std::uint16_t detect_port = 6831;  ///< UDP, of agents among themselves
  struct Notify {
    std::string command;  ///< gets each finding that asks for it as JSON on its standard input; empty: none
    std::string user = "nobody";
  } notify;
  struct Agent {
    std::string address = "0.0.0.0";  ///< where agents are listened to; empty: nowhere
    std::uint16_t port = 6830;
  } agent;
  struct Client {
    std::string controller;  ///< HOST[:PORT], for `sickbay` on other hosts; empty: Slurm's SlurmctldHost
    bool submit = true;      ///< cases may be opened over TCP
    UserQuotas::Limits quotas;
  } client;
  /// Of two sickbayds (doc/design/standby.md).
  struct Standby {
    std::vector<std::string>
        controllers;   ///< HOST or HOST:PORT of each, the first one first; empty: there is one
    std::string name;  ///< which of them this is; empty: by the host's name
    std::vector<std::string> witnesses;  ///< nodes, an odd number
    std::chrono::seconds lease{60};
    std::chrono::milliseconds patience{2000};
  } standby;
  struct Munge {
    std::string socket;  ///< of munged; empty: libmunge's own
  } munge;
  std::chrono::milliseconds refresh_floor{2000};  ///< decisions.md 20
  std::chrono::seconds keep_submission{0};        ///< behind the end of its case
  std::chrono::seconds retry_bound{24 * 3600};    ///< how long an effect waits for Slurm to come back
};

/// Reads `text`; `source` names the file in messages.  Errors: bad_input.
Result<Config> parse_config(std::string_view text, std::string_view source);

/// The table of keys with their meaning, for doc/formats/config.md and `sickbayd --help-config`.
std::string describe_config();

}  // namespace sickbay
