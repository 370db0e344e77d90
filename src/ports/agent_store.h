// SPDX-License-Identifier: Apache-2.0
// AgentStore: what an agent must not forget: findings until sickbayd has them, and its own state.
//
// adapters/posix keeps it in files.  The agent and a `--once` of the same node share one store, so each call
// reads what the other has written.  Source: doc/design/decisions.md 14, doc/design/diagnose.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace sickbay {

class AgentStore {
 public:
  virtual ~AgentStore() = default;

  /// Keeps `findings`, gives each its `n`, and is durable on return.  All or none.  When too many wait, the
  /// oldest are dropped.  Errors: storage_full, storage_broken.
  virtual Status keep(std::vector<Json> findings) = 0;
  /// The oldest `most` that were not delivered.  Errors: storage_broken.
  virtual Result<std::vector<Json>> waiting(std::size_t most) = 0;
  /// Forgets all up to and with number `n`.
  virtual Status delivered(std::int64_t n) = 0;

  /// Reads the state, an object, and writes it durably where `change` changed it.
  virtual Status update_state(const std::function<void(Json& state)>& change) = 0;

  /// A line of the agent's own diagnosis journal; old ones go when there are too many.  Not synced.
  virtual Status log(const Json& line) = 0;
};

}  // namespace sickbay
