// SPDX-License-Identifier: Apache-2.0
// People: who a user is, asked of the host's name service.
//
// Behind it may stand a directory server that answers in a millisecond, in a minute or not at all.  So nobody
// waits for it on the loop: adapters/posix asks it on threads and keeps what it said.  Source:
// doc/design/decisions.md 4, 26.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sickbay {

struct Person {
  std::string user;                 ///< the name; "" where nobody knows one
  std::vector<std::string> groups;  ///< of the groups that matter to us, those that he is in
};

class People {
 public:
  static constexpr std::uint32_t kAnyGid = ~0U;
  virtual ~People() = default;

  /// Calls `then` with who `uid` is, once: at once where that is known, else on the loop's thread, and within
  /// seconds also where the name service hangs; then with what was known before, or with nobody.  `gid`: the
  /// group that he came with, beside those that he is in.
  virtual void ask(std::uint32_t uid, std::uint32_t gid, std::function<void(const Person&)> then) = 0;
  /// The name as it is known now, "" where it is not; then it is asked for, for the next time.
  virtual std::string name_now(std::uint32_t uid) = 0;
};

}  // namespace sickbay
