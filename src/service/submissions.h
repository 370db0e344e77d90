// SPDX-License-Identifier: Apache-2.0
// Submissions: sees to it that what a user submitted goes when no run can need it any more.
//
// A submission holds the user's environment, with whatever keys are in it.  It is needed while its case is
// open, and then until the last command of the case has its result: an effect that is tried again loads it
// anew.  A case that is not decided may be asked for further runs for 24 h.  A submission whose case the
// journal does not know (a crash between the two writes of a POST, a journal that was put back) is nobody's.
// What must hold: only the journal's word removes a submission, so events come here once they are durable.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "base/result.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay {

class CaseStore;
class Controller;

class Submissions {
 public:
  /// Told of a submission that could not be removed.
  using Complain = std::function<void(const Error&)>;
  /// `keep`: how long one stays behind the end of its case.  All references must outlive it, and the
  /// controller must not have replayed its journal to it yet.
  Submissions(Loop& loop, Controller& controller, CaseStore& cases, std::chrono::seconds keep,
              Complain complain);
  ~Submissions();
  Submissions(const Submissions&) = delete;

  /// Goes through all that are stored; for once, between the replay and the first request.  How many went.
  std::size_t sweep();

 private:
  bool settle(std::int64_t no);
  bool remove(std::int64_t no);
  void wait_for_next();

  Loop& loop_;
  Controller& controller_;
  CaseStore& cases_;
  const std::chrono::seconds keep_;
  const Complain complain_;
  std::multimap<TimePoint, std::int64_t> due_;  ///< closed cases whose submission stays for a while
  Loop::TimerId timer_ = 0;
  TimePoint timer_due_ = kNever;
  Lifetime lifetime_;
};

}  // namespace sickbay
