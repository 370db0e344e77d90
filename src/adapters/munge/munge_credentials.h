// SPDX-License-Identifier: Apache-2.0
// ports/credentials.h by munged.
//
// libmunge blocks, and may block for seconds while munged is stopped or loaded, so every call runs on a
// worker thread of this adapter.  munged refuses a credential it has seen.  Source: munge(7), libmunge's
// munge.h.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "ports/credentials.h"

namespace sickbay {

struct MungeOptions {
  std::string socket;                    ///< of munged; empty: libmunge's own, /run/munge/munge.socket.2
  unsigned threads = 2;                  ///< each is started with the first call that needs it
  std::size_t waiting = 20'000;          ///< calls that wait for a thread; beyond: busy
  std::chrono::seconds time_to_live{0};  ///< of what we encode; 0: munged's own (5 minutes)
};

/// On `loop`, which must outlive it.  What is under way when it is destroyed never calls back.
std::unique_ptr<Credentials> make_munge_credentials(Loop& loop, MungeOptions options = {});

}  // namespace sickbay
