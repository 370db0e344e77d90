// SPDX-License-Identifier: Apache-2.0
// HostPeople: ports/people.h by a function that may block, on threads of its own.
//
// What was said holds for kFresh.  Then it is asked for again, and whoever asks waits kPatience at most: of a
// name service that hangs he gets what it said before (up to kOldest ago; an operator stays one for so long)
// or nobody.  While a question hangs, nobody else waits for the same one.  A few threads serve all questions,
// so that one user's cannot make a thousand; they are left alone at the end, for a look-up cannot be stopped.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "adapters/posix/blocking_work.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "ports/people.h"

namespace sickbay {

class HostPeople final : public People {
 public:
  /// Called on other threads, several at a time.  It may take as long as it likes.
  using LookUp = std::function<Person(std::uint32_t uid, std::uint32_t gid)>;

  /// `loop` must outlive it.
  HostPeople(Loop& loop, LookUp look_up, BlockingWork::Start start = BlockingWork::on_a_thread);
  ~HostPeople() override;

  void ask(std::uint32_t uid, std::uint32_t gid, std::function<void(const Person&)> then) override;
  std::string name_now(std::uint32_t uid) override;

  static constexpr std::chrono::seconds kFresh{60}, kPatience{3}, kOldest{3600};
  static constexpr std::size_t kAtOnce = 8;       ///< look-ups
  static constexpr std::size_t kMostKept = 4096;  ///< users that are known or asked about

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< uid, gid
  struct Entry {
    Person person;
    TimePoint said_at = kNoTime;  ///< kNoTime: never
    bool asking = false;          ///< or about to
    TimePoint asked_at = kNoTime;
    std::vector<std::function<void(const Person&)>> waiting;
  };
  bool is_fresh(const Entry& entry, TimePoint now) const;
  Person known(const Entry& entry, TimePoint now) const;
  void heard(const Key& key, Person person);
  void lose_patience(const Key& key, TimePoint asked_at);
  void make_room();

  Loop& loop_;
  const std::shared_ptr<const LookUp> look_up_;
  std::map<Key, Entry> entries_;
  BlockingWork threads_;
  Lifetime lifetime_;
};

}  // namespace sickbay
