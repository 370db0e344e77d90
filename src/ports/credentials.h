// SPDX-License-Identifier: Apache-2.0
// Credentials: who said something on another host, and that nobody changed it on its way.
//
// adapters/munge does it with munged.  Both calls may take long (another daemon answers them), so they end
// later, on the loop's thread.  Source: doc/design/decisions.md 4.
#pragma once
#include <cstdint>
#include <string>

#include "base/time.h"
#include "ports/loop.h"

namespace sickbay {

/// What a credential that holds says.
struct Credential {
  std::string payload;
  std::uint32_t uid = ~0U, gid = ~0U;  ///< of the process that encoded it, as its host's kernel knew it
  TimePoint encoded = kNoTime;         ///< by the clock of its host, in whole seconds
  TimePoint decoded = kNoTime;         ///< by the clock of this host
};

class Credentials {
 public:
  virtual ~Credentials() = default;
  /// Signs `payload` as this process; only processes of uid `reader` can decode it.  Errors: munge_away,
  /// bad_input (longer than munged takes), busy.
  virtual void encode(std::string payload, std::uint32_t reader, Done<std::string> done) = 0;
  /// Reads a credential, which then does not hold a second time.  Errors: denied (forged or damaged, expired,
  /// from the future, seen before; the cause names the difference of the clocks where it matters),
  /// munge_away, busy.
  virtual void decode(std::string credential, Done<Credential> done) = 0;
};

}  // namespace sickbay
