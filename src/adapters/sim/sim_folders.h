// SPDX-License-Identifier: Apache-2.0
// SimFolders: the shared storage of a simulated cluster, as far as re-runs touch it.
//
// Folders have a size and a number of files, named files a content that acts of people change.  Every folder
// is there until somebody removes it; a file that nobody spoke of has its first content.  answer() is what
// sickbay-folder says of an order.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "base/time.h"

namespace sickbay::sim {

class SimFolders {
 public:
  struct File {
    std::string digest;
    std::int64_t size = 1000;
    TimePoint mtime = kNoTime;
  };
  struct Size {
    std::int64_t bytes = 0, files = 0;
  };

  void set_size(const std::string& folder, Size size) { sizes_[folder] = size; }
  Size size_of(const std::string& folder) const;
  /// False: it, or a folder that it lies in, was removed.
  bool is_there(const std::string& path) const;
  void remove(const std::string& path) { removed_.insert(path); }
  /// Another content from now on.
  void edit(const std::string& path, TimePoint now);
  /// Nothing: not there.
  std::optional<File> file(const std::string& path) const;
  /// What the storage has left; no copy may take more than half of it.
  void set_free(std::int64_t bytes) { free_ = bytes; }
  /// The storage fills while a copy is written: the next copy fails.
  void fill_in_next_copy() { fills_ = true; }
  const std::set<std::string>& copies() const { return copies_; }

  /// {"do": "prepare", ...} and {"do": "clean", ...}, as sickbay-folder answers.
  Json answer(const Json& order);

 private:
  Json prepare(const Json& order);
  Json clean(const Json& order);

  std::map<std::string, Size> sizes_;
  std::map<std::string, File> files_;
  std::set<std::string> removed_, copies_;
  std::int64_t free_ = std::int64_t{1} << 50;
  bool fills_ = false;
};

}  // namespace sickbay::sim
