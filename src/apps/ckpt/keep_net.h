// SPDX-License-Identifier: Apache-2.0
// Packs from node to node: a keeper answers, and who lacks a pack asks (model/keep_wire.h).  Only reading is
// offered, of the packs of one series, to who has the secret.  All that comes from outside is bounded, in
// bytes and in time.
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "adapters/net/sockets.h"
#include "base/result.h"
#include "base/time.h"
#include "checkpoint/control.h"
#include "checkpoint/files.h"
#include "checkpoint/store.h"

namespace sickbay::ckpt {

/// How long the other side may say nothing.
inline constexpr Micros kKeepPatience = std::chrono::seconds(10);
/// Until a connection stands: a node that has died answers nothing at all.
inline constexpr Micros kConnectPatience = std::chrono::seconds(2);
/// Connections that a keeper answers at once; more are closed.
inline constexpr int kMostKeepConnections = 16;

struct KeepServer {
  Descriptor socket;  ///< listening
  std::string secret;
  std::string stores;  ///< the folder in which r0, r1 ... are
};
/// Answers until it is to stop.
void serve_packs(const KeepServer& server, const std::stop_token& stop);

struct KeepPlace {
  std::string address;
  std::uint16_t port = 0;
  std::string secret;
};
/// Brings the pack of `image`, of checkpoint `number`, and those it stands on to `store`, at most `room`
/// bytes, and reads them back.  What is there already is not asked for.  Gives the bytes that came. Errors:
/// not_found: the keeper has it not (any more); daemon_away: it does not answer; bad_input: what it sent is
/// another thing; storage_full.  After any, nothing of what came is left.
Result<std::uint64_t> fetch_image(checkpoint::Files& files, const checkpoint::Store& store,
                                  std::int64_t number, const checkpoint::Image& image, std::uint64_t room,
                                  const KeepPlace& from);

}  // namespace sickbay::ckpt
