// SPDX-License-Identifier: Apache-2.0
// CaseFollower: the standby has what users submitted, as the active has it.
//
// Two acts, one at a time.  fetch() brings what was submitted for some cases; the follower (follower.h) does
// that before it takes in the rows that open them, so that what acknowledges a row says that this is here,
// too. compare() brings what is missing, and removes what the active has removed: a secret stays on no host
// for longer than its case needs it.  Source: doc/design/standby.md, "What was submitted".
#pragma once
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ports/http_client.h"
#include "ports/lifetime.h"
#include "service/case_store.h"
#include "service/standby/cases_message.h"

namespace sickbay {

class CaseFollower {
 public:
  static constexpr std::chrono::seconds kLimit{20};  ///< for one answer

  /// Both must outlive it.
  CaseFollower(HttpClient& active, CaseStore& cases) : active_(active), cases_(cases) {}

  /// How many were copied and removed.
  struct Changed {
    std::size_t copied = 0, removed = 0;
  };
  /// `done` is called when each of them is stored durably, or known to be gone.  What is there of that number
  /// is replaced: it may be of a case that nobody ever heard of.  Errors: the active's and the client's,
  /// those of CaseStore::save().
  void fetch(std::vector<std::int64_t> cases, Done<Changed> done);
  /// `anew`: what is there is not relied on, and all of it is fetched.  Errors: as fetch(), and those of
  /// CaseStore::list() and remove().  An active of an older version has no such endpoint: then nothing
  /// changes.
  void compare(bool anew, Done<Changed> done);
  /// An answer that still comes is dropped, and nobody is called.
  void stop() { ++act_; }

 private:
  void ask(const CasesAsk& ask, std::function<void(Result<CasesAnswer>)> then);
  void fetch_next();
  void list_next(std::int64_t after);
  void listed();
  void end(Result<Changed> how);

  HttpClient& active_;
  CaseStore& cases_;
  std::uint64_t act_ = 0;  ///< each has a number
  Done<Changed> done_;
  Changed changed_;
  bool anew_ = false;
  std::set<std::int64_t> wanted_, there_;  ///< still to be fetched; that the active has
  Lifetime lifetime_;
};

}  // namespace sickbay
