// SPDX-License-Identifier: Apache-2.0
// Tree: files of a machine below a root: "/" for this one, a folder for a recorded one.
//
// All reading of /proc and /sys goes through it.  Paths are absolute and begin with '/'.  Files of /proc have
// no size and may vanish between two calls; both are ordinary here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::node {

inline constexpr std::size_t kMaxFile = std::size_t{4}
                                        << 20;  ///< /proc/interrupts of 1000 processors is 2 MiB

class Tree {
 public:
  /// `root`: "/" or a folder.
  explicit Tree(std::string_view root);
  bool is_this_machine() const { return root_.empty(); }
  std::string path(std::string_view below) const { return root_ + std::string(below); }

  /// The whole file, its first `limit` bytes where it is longer.  Errors: not_found (also: it vanished, or no
  /// such device), denied, timed_out (a driver gave up), os.
  Result<std::string> read(std::string_view file, std::size_t limit = kMaxFile) const;
  /// The same into a string that is kept, for loops.
  Status read_into(std::string_view file, std::string& text, std::size_t limit = kMaxFile) const;
  /// All that a file gives which hands out one record for each read and waits for more (/dev/kmsg), its last
  /// `limit` bytes; an ordinary file is read whole.  Errors: as read.
  Result<std::string> records(std::string_view file, std::size_t limit = kMaxFile) const;
  /// The file without blanks around it; nothing where it cannot be read.
  std::optional<std::string> word(std::string_view file) const;
  /// The number that the file holds; nothing where there is none.
  std::optional<std::int64_t> number(std::string_view file) const;
  /// A counter: the number that the file holds, 0 where it cannot be read, between 0 and 2^50: a sum of some
  /// must not be lost, or run over, by one.
  std::int64_t count(std::string_view file) const;
  /// Names in a folder, sorted, without those that begin with a dot; empty where there is none.
  std::vector<std::string> list(std::string_view folder) const;
  bool exists(std::string_view file) const;
  /// Where a symbolic link points, as it says itself; nothing where it is none.
  std::optional<std::string> link(std::string_view file) const;

 private:
  std::string root_;  // without a slash at its end; "" for this machine
};

}  // namespace sickbay::node
