// SPDX-License-Identifier: Apache-2.0
// A Loop on poll(2), for command-line tools that must not link Boost, and for tests.
//
// The daemons run on adapters/net's loop; this one costs O(watched descriptors) a round, which is nothing for
// a handful of them.
#pragma once
#include <memory>

#include "ports/loop.h"

namespace sickbay {

/// A loop whose now() never goes back.  post() and stop() may be called from any thread, the rest from the
/// one that runs it.  Errors: os (out of descriptors).
Result<std::unique_ptr<Loop>> make_poll_loop();

}  // namespace sickbay
