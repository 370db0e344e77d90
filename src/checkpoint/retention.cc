// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.h"

#include <algorithm>
#include <set>

namespace sickbay::checkpoint {
namespace {

// A pack that several checkpoints stand on takes its room once.
std::uint64_t bytes_of(std::span<const KeptCheckpoint> all) {
  std::set<std::string> seen;
  std::uint64_t bytes = 0;
  for (const KeptCheckpoint& one : all)
    for (const auto& [name, size] : one.packs)
      if (seen.insert(name).second) bytes += size;
  return bytes;
}

}  // namespace

std::vector<std::int64_t> choose_ends(std::vector<KeptCheckpoint> all, const RetentionLimits& limits,
                                      TimePoint now) {
  std::sort(all.begin(), all.end(),
            [](const KeptCheckpoint& a, const KeptCheckpoint& b) { return a.number < b.number; });
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < all.size();) {
    // Whole ones only: a damaged checkpoint makes no room, or the last good one would go in its place.
    const auto newer =
        static_cast<std::size_t>(std::count_if(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
                                               [](const KeptCheckpoint& c) { return c.whole; }));
    // (At least one: by count 0 nothing would be left to go back to.)
    const bool over_count = limits.count && newer >= std::max<std::size_t>(*limits.count, 1);
    const bool over_age = limits.age && newer >= 1 && now - all[i].at > *limits.age;
    if (over_count || over_age) {
      ends.push_back(all[i].number);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  // By size, from the oldest on.
  // Every step is reckoned anew: the oldest may free nothing, for its packs are needed by younger ones.
  while (limits.bytes && bytes_of(all) > *limits.bytes) {
    const bool another =
        std::any_of(all.begin() + 1, all.end(), [](const KeptCheckpoint& c) { return c.whole; });
    if (!another) break;
    ends.push_back(all.front().number);
    all.erase(all.begin());
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

Result<std::vector<KeptCheckpoint>> kept_in(Files& files, const Store& store) {
  const auto listed = store.list();
  if (!listed) return tl::unexpected<Error>(listed.error());
  const auto names = files.list(store.folder());
  if (!names) return tl::unexpected<Error>(names.error());
  const std::set<std::string> here(names->begin(), names->end());
  std::vector<KeptCheckpoint> all;
  for (const Listed& one : *listed) {
    KeptCheckpoint& kept = all.emplace_back();
    kept.number = one.number;
    kept.whole = one.control.has_value();
    if (!one.control) continue;
    kept.at = one.control->at;
    for (const Image& image : one.control->images) {
      if (!here.contains(image.pack)) continue;  // on another node
      const auto packs = store.packs_of(image);
      if (!packs) {
        kept.whole = false;
        continue;
      }
      for (const std::string& name : *packs) {
        std::uint64_t size = 0;
        const auto file = files.open(store.folder() + "/" + name);
        if (file)
          if (const auto state = (*file)->state()) size = state->size;
        if (!file) kept.whole = false;
        kept.packs[name] = size;
      }
    }
  }
  return all;
}

}  // namespace sickbay::checkpoint
