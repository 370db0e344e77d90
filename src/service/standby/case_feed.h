// SPDX-License-Identifier: Apache-2.0
// CaseFeed: the active hands what users submitted to the standby.
//
// It says what there is just now: what a case needs is stored before its case_opened is committed, and is
// gone when no run can need it any more (submissions.h).  Who may ask is for the caller to see to: it has
// users' secrets. Source: doc/design/standby.md, "What was submitted".
#pragma once
#include <functional>

#include "service/case_store.h"
#include "service/standby/cases_message.h"
#include "service/standby/feed.h"

namespace sickbay {

class CaseFeed {
 public:
  static constexpr std::size_t kPageBytes = std::size_t{4} << 20;  ///< and one submission more

  /// `standing`: asked for each answer.  Both must outlive it.
  CaseFeed(CaseStore& cases, std::function<StandbyFeed::Standing()> standing)
      : cases_(cases), standing_(std::move(standing)) {}

  /// Errors: bad_input, too_new, busy (this is not the active), storage_broken.
  Result<Json> answer(const Json& body);

 private:
  CaseStore& cases_;
  std::function<StandbyFeed::Standing()> standing_;
};

}  // namespace sickbay
