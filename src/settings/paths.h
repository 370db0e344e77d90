// SPDX-License-Identifier: Apache-2.0
// Where things lie.  SICKBAY_ROOT stands before every path, so that a lab has its own tree.
// Source: doc/design/decisions.md 7.
#pragma once
#include <string>

#include "model/leaving.h"

namespace sickbay {

struct Paths {
  std::string root;  ///< "" on a real system

  std::string config() const { return root + "/etc/sickbay/sickbay.json"; }
  std::string state() const { return root + "/var/lib/sickbay"; }
  std::string journal() const { return state() + "/journal.db"; }
  std::string snapshot() const { return state() + "/journal.snapshot"; }
  std::string cases() const { return state() + "/cases"; }
  /// Output of verifications, outside state(): the service account need not be root.
  std::string verify() const { return root + "/var/lib/sickbay-verify"; }
  std::string run() const { return root + "/run/sickbay"; }
  std::string socket() const { return run() + "/sickbayd.sock"; }

  std::string agent_config() const { return root + "/etc/sickbay/agent.json"; }
  std::string components() const { return root + "/etc/sickbay/components.d"; }
  std::string agent_state() const { return root + "/var/lib/sickbay-agent"; }
  /// What any program on the node may read of its agent.
  std::string leaving() const { return root + kLeavingFile; }

  /// From the environment variable SICKBAY_ROOT (none: the real system).
  static Paths from_environment();
};

}  // namespace sickbay
