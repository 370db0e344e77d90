// SPDX-License-Identifier: Apache-2.0
// Packs from node to node: a keeper answers, and who lacks a pack asks (model/keep_wire.h).  Only reading is
// offered, of the packs of one series, to who has the secret.  All that comes from outside is bounded, in
// bytes and in time.
#pragma once
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "adapters/net/sockets.h"
#include "apps/ckpt/keep_link.h"
#include "base/result.h"
#include "checkpoint/control.h"
#include "checkpoint/files.h"
#include "checkpoint/store.h"

namespace sickbay::ckpt {

/// Connections that a keeper answers at once; more are closed.  (Each other member of a group has one or
/// two.)
inline constexpr int kMostKeepConnections = 64;

struct KeepServer {
  Descriptor socket;  ///< listening
  std::string secret;
  std::string stores;  ///< the folder in which r0, r1 ... are
};
/// Answers until it is to stop.
void serve_packs(const KeepServer& server, const std::stop_token& stop);

struct WantedPack {
  std::int64_t number = 0, rank = 0;
  checkpoint::Digest digest{};  ///< of its index
};
/// Brings a pack to `path`, at most `most` bytes; gives the bytes that came.  Errors: as fetch_image.
using BringPack =
    std::function<Result<std::uint64_t>(const WantedPack&, const std::string& path, std::uint64_t most)>;
/// From a keeper that has it.  (From a group that has its parity: keep_group.h.)
BringPack from_keeper(checkpoint::Files& files, KeepPlace place);
/// Brings the pack of `image`, of checkpoint `number`, and those it stands on to `store`, at most `room`
/// bytes, and reads them back.  What is there already is not asked for.  Gives the bytes that came. Errors:
/// not_found: nobody has it (any more); daemon_away: who has it does not answer; bad_input: what came is
/// another thing; storage_full.  After any, nothing of what came is left.
Result<std::uint64_t> fetch_image(checkpoint::Files& files, const checkpoint::Store& store,
                                  std::int64_t number, const checkpoint::Image& image, std::uint64_t room,
                                  const BringPack& bring);

}  // namespace sickbay::ckpt
