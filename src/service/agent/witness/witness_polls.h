// SPDX-License-Identifier: Apache-2.0
// WitnessPolls: the agent of a node that witnesses for two sickbayds.
//
// It polls both; what it is asked it answers with its next poll, when what must last is on its disk.  There
// is one witness for both, which is what keeps the two apart (engine/succession/witness.h).  An answer that
// could not be kept is not given.  Source: doc/design/standby.md, "The lease".
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/succession/witness.h"
#include "ports/agent_store.h"
#include "ports/http_client.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay::agent {

class WitnessPolls {
 public:
  static constexpr std::chrono::seconds kLimit{30};  ///< sickbayd answers within 20 s
  static constexpr std::chrono::seconds kAgain{1};   ///< after a failure

  /// `clock`: one that never steps and runs on while the host sleeps.  All must outlive it.
  WitnessPolls(Loop& loop, AgentStore& store, std::string node, std::function<Micros()> clock,
               std::vector<HttpClient*> sickbayds);

  /// Errors: storage_broken: what it promised cannot be read, so it must not witness.
  Status start();
  const succession::Witness::Record& record() const { return witness_->record(); }

 private:
  void poll(std::size_t sickbayd, std::optional<LeaseAnswer> answer);
  void take(std::size_t sickbayd, const Json& told);
  Status keep();
  void again(std::size_t sickbayd);

  Loop& loop_;
  AgentStore& store_;
  std::string node_;
  std::function<Micros()> clock_;
  std::vector<HttpClient*> sickbayds_;
  std::optional<succession::Witness> witness_;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
