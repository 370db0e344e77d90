// SPDX-License-Identifier: Apache-2.0
// Storage: do the file systems that this node shares with others answer, and is the job's folder there?
//
// Each place is asked in a process of its own, which may hang as long as it likes: one behind a server that
// is gone never comes back.  What is missing here is told and not called wrong: only who knows what the
// others mount can say so (src/model/verify_storage.cc).
#pragma once
#include <map>
#include <string>
#include <vector>

namespace sickbay::verify {

/// What a place said: "" it answered; else why not, for people.
using PlaceWords = std::map<std::string, std::string>;

/// Asks all `places` at once, and waits `limit` seconds for all of them together.
PlaceWords ask_places(const std::vector<std::string>& places, double limit);

/// The mount points in /proc/self/mountinfo (`text`) whose file system comes from elsewhere, without those
/// below an automounter, which come and go.  At most `most`.
std::vector<std::string> shared_places(const std::string& text, std::size_t most);
/// The mount point that `folder` is below, by its name alone; "/" where there is no other.
std::string mount_of(const std::string& text, const std::string& folder);

}  // namespace sickbay::verify
