// SPDX-License-Identifier: Apache-2.0
// HostGroups: which groups a user is in, by their numbers, for who is about to become him.
//
// It asks the host's name service, which may hang (host_people.h), on threads.  Nothing is kept: who was put
// into a group a moment ago is in it.  And nothing is made up: without an answer there are no groups, for a
// program with fewer than it should have fails in ways that look like faults of its own.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/posix/blocking_work.h"
#include "base/result.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay {

class HostGroups {
 public:
  using Groups = std::vector<std::uint32_t>;
  /// Called on other threads, several at a time.  It may take as long as it likes.
  using LookUp = std::function<Groups(const std::string& user, std::uint32_t gid)>;
  /// The host's word: all groups of `user`, and `gid`.
  static Groups of_host(const std::string& user, std::uint32_t gid);

  /// `loop` must outlive it.
  HostGroups(Loop& loop, LookUp look_up, BlockingWork::Start start = BlockingWork::on_a_thread);

  /// Calls `done` on the loop, never from inside.  Errors: timed_out, when nothing was said for kPatience; at
  /// once where somebody has waited for the same user for so long, and it still hangs.
  void ask(const std::string& user, std::uint32_t gid, Done<Groups> done);

  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::size_t kAtOnce = 4;  ///< look-ups; the others wait for their turn

 private:
  using Key = std::pair<std::string, std::uint32_t>;  ///< user, gid
  struct Entry {
    TimePoint asked_at = kNoTime;
    Loop::TimerId timer = 0;
    BlockingWork::Ticket ticket = 0;
    std::vector<Done<Groups>> waiting;
  };
  void heard(const Key& key, const Groups& groups);
  void lose_patience(const Key& key);

  Loop& loop_;
  const std::shared_ptr<const LookUp> look_up_;
  std::map<Key, Entry> entries_;  ///< that are asked about
  BlockingWork threads_;
  Lifetime lifetime_;
};

}  // namespace sickbay
