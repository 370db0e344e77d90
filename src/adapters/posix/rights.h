// SPDX-License-Identifier: Apache-2.0
// Who else may change a file that we obey.
//
// What a daemon of root reads as its configuration, and what it runs, must be changeable by root alone: the
// file itself, and each folder on the way to it, for who may write a folder may put another file in the
// place.  A symbolic link is followed, and the way to what it names is looked at, too.  A folder where only
// the owner of a file may replace it (/tmp, with its sticky bit) is good enough for a file of ours.
#pragma once
#include <sys/stat.h>

#include <string>

#include "base/result.h"

namespace sickbay {

/// Whether it belongs to root or to the user we run as.
bool belongs_to_us(const struct stat& about);
/// Whether its group or everybody may write it.
bool others_may_write(const struct stat& about);

/// Good where only root, and the user we run as, may change the file `path`, or say which one it is.
/// `path` need not exist: then only the way to it is looked at.  Errors: denied (with who may and how to
/// change that), os.
Status only_ours_to_change(const std::string& path);

}  // namespace sickbay
