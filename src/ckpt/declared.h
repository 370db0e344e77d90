// SPDX-License-Identifier: Apache-2.0
// Which files are the program's state: patterns, and whose part of them this process saves.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/store.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

/// Files below `folder` that fit a pattern of glob(7); a folder that fits stands for all files below it.  A
/// pattern with %t, %n or %N names files of this process alone: it saves all of them.  What other patterns
/// name lies on storage that all processes see: each file is saved by one of them, by its name.  With
/// `all_own` every process saves all that it sees, for folders that each has to itself.  What lies below
/// `but` (the store itself) is left out.  By name.
/// Errors: usage: a pattern that leads out of the folder; not_found: nothing fits any pattern.
Result<std::vector<checkpoint::Source>> declared_files(const std::string& folder,
                                                       const std::vector<std::string>& patterns,
                                                       const Participant& me, bool all_own,
                                                       const std::string& but);

}  // namespace sickbay::ckpt
