// SPDX-License-Identifier: Apache-2.0
// Whose storage is away, by what the others of the run have.
//
// A place that does not answer may be the server's fault, and a mount that one node has and another has not
// may be meant so.  So a node is named only for what another node of the same run has at that time: a place
// that it mounts as well and that does not answer here, or the job's own folder, on a mount that is missing
// here.
#include <fmt/format.h>

#include <algorithm>

#include "model/verify_notes.h"

namespace sickbay::verify_notes {
namespace {

constexpr std::string_view kThere = "there";
constexpr std::string_view kMissing = "No such file or directory", kNoFolder = "Not a directory";

template <class Has>
std::size_t others_with(const Notes& notes, std::size_t self, Has has) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < notes.nodes.size(); ++i)
    count += i != self && notes.nodes[i].storage.told && has(notes.nodes[i].storage) ? 1 : 0;
  return count;
}

std::string others(std::size_t count) { return fmt::format("{} other{}", count, count == 1 ? "" : "s"); }

}  // namespace

void judge_storage(Notes& notes) {
  for (std::size_t i = 0; i < notes.nodes.size(); ++i) {
    NodeNotes& node = notes.nodes[i];
    const StorageNotes& own = node.storage;
    if (!own.told) continue;
    for (const auto& [place, said] : own.places) {
      if (said.empty()) continue;
      const std::size_t have = others_with(notes, i, [&p = place](const StorageNotes& other) {
        const auto it = other.places.find(p);
        return it != other.places.end() && it->second.empty();
      });
      if (have > 0)
        keep_first(node.storage_wrong,
                   fmt::format("its storage is away: {}: {}; it answers on {}", place, said, others(have)));
    }
    if (own.folder.empty() || own.folder_is == kThere) continue;
    const bool missing = own.folder_is == kMissing || own.folder_is == kNoFolder;
    std::string mount;
    const std::size_t have = others_with(notes, i, [&](const StorageNotes& other) {
      if (other.folder != own.folder || other.folder_is != kThere) return false;
      // Missing below the same mount, it may be a local folder that only one node ever had.
      if (missing && other.mount.size() <= own.mount.size()) return false;
      mount = other.mount;
      return true;
    });
    if (have > 0 && !missing)
      keep_first(node.storage_wrong, fmt::format("its storage is away: {}: {}; it is there on {}", own.folder,
                                                 own.folder_is, others(have)));
    if (have > 0 && missing)
      keep_first(
          node.storage_wrong,
          fmt::format("its storage is away: it lacks {}, which {} mount{}, with the job's folder {} ({})",
                      mount, others(have), have == 1 ? "s" : "", own.folder, own.folder_is));
  }
}

}  // namespace sickbay::verify_notes
