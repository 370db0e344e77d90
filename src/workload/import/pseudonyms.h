// SPDX-License-Identifier: Apache-2.0
// Pseudonyms: names of people become words that only the holder of the key can make, the same in every
// import.
//
// HMAC-SHA-256 (OpenSSL) of kind and name, its first 40 bits in base 32: without the key a name cannot be
// tried out, with it the same user is the same word everywhere.  (Two of 10,000 users share a word in one of
// 20,000 sites.)
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "workload/job/arena.h"
#include "workload/job/row.h"

namespace sickbay::workload {

/// A key shorter than this is refused: names could be tried out.
inline constexpr std::size_t kLeastKeyBytes = 16;

/// For one thread.
class Pseudonyms {
 public:
  explicit Pseudonyms(std::string key) : key_(std::move(key)) {}

  /// "u-7k3q9w2a"; `kind` is 'u', 'g' or 'a'.  Valid until the next call that makes a new one.
  const std::string& of(char kind, std::string_view name);
  /// Puts pseudonyms in place of the user, group and account of `job`, and of their names in its texts; takes
  /// away its numeric ids of users.  New texts go into `arena`.
  void apply(Row& job, Arena& arena);

 private:
  std::string key_;
  std::unordered_map<std::string, std::string> known_;  // "uNAME" -> pseudonym
};

/// `text` with `name` replaced: wherever it stands, but for names of up to three letters only where they
/// stand alone.  `text` itself where there is nothing to replace.
std::string_view without_name(std::string_view text, std::string_view name, std::string_view pseudonym,
                              Arena& arena);

/// Errors: bad_input for a key that is too short.
Status check_pseudonym_key(std::string_view key);

}  // namespace sickbay::workload
