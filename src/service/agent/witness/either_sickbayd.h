// SPDX-License-Identifier: Apache-2.0
// EitherSickbayd: the agent's way to the active one of two sickbayds.
//
// A question goes to the one that answered last.  Where that one is away or says that it is not the active,
// the question fails as it did, and the next goes to the other: agents ask again by themselves.  (A question
// is never sent to both: a finding that was told twice is told by its number, but a task is given once.)
// Source: doc/design/standby.md.
#pragma once
#include <memory>

#include "ports/http_client.h"

namespace sickbay::agent {

class EitherSickbayd final : public HttpClient {
 public:
  /// Both must outlive it.
  EitherSickbayd(HttpClient& first, HttpClient& second) : each_{&first, &second} {}
  void ask(HttpQuestion question, Done<Json> done) override;

 private:
  HttpClient* each_[2];
  std::shared_ptr<std::size_t> at_ = std::make_shared<std::size_t>(0);
};

}  // namespace sickbay::agent
