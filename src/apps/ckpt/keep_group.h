// SPDX-License-Identifier: Apache-2.0
// Parity in place of copies (`sickbay-ckpt keep --parity N`): the keepers of a group of nodes keep the XOR of
// what all of them have in their fast places, checkpoint/parity.h, and a pack that one node lost is made
// again from what the others have, on whatever node its process is now.
//
//   FAST/SERIES/xor/c12.xor, c12.xor.json   of the packs with number 12 of all members
//
// A checkpoint stands on packs of older ones, and these end at other times on other nodes.  So there is
// parity for each number of which somebody still needs a pack, and where the packs are others than its head
// says it is made anew.  Until then what stands on them is protected by nobody.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "apps/ckpt/keep_net.h"
#include "base/result.h"
#include "checkpoint/control.h"
#include "checkpoint/files.h"

namespace sickbay::ckpt {

inline constexpr const char* kParityFolder = "xor";
inline constexpr std::size_t kMostHeadBytes = 16 << 20;

struct GroupMember {
  std::string node;
  KeepPlace place;
};

/// Brings the parity that member `own` keeps in `folder` to what checkpoint `control` needs, at most `most`
/// bytes of it in all; once, whatever becomes of the members' packs then.  `group`: by node, the same list
/// for all members.  Gives the numbers for which there is parity now.  Errors: daemon_away, not_found: of a
/// member that does not answer, or has not what it should; storage_full; as Files.
Result<std::set<std::int64_t>> keep_group_parity(checkpoint::Files& files, const std::string& folder,
                                                 const checkpoint::Control& control,
                                                 const std::vector<GroupMember>& group, std::size_t own,
                                                 std::uint64_t most);
/// Removes the parity in `folder` of all other numbers.
void drop_parity(checkpoint::Files& files, const std::string& folder, const std::set<std::int64_t>& but_of);

/// Makes packs again that `lost` had, of what all others of its group have.
BringPack from_group(checkpoint::Files& files, std::vector<GroupMember> others, std::string lost);

}  // namespace sickbay::ckpt
