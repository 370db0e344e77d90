// SPDX-License-Identifier: Apache-2.0
// PeeredOperations: an OperationRunner that gets an operation its helper on another node, where it needs one.
//
// It asks sickbayd for a peer, waits until the helper is there, has the operation run, and asks at its end
// whether the helper was there all the time: only then the answer of the operation counts, for a test that
// lost its other half says nothing of this node.  One test at a time; others wait.  On the loop's thread.
// Source: doc/design/diagnose.md, "Helpers at a peer".
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "ports/lifetime.h"
#include "ports/operation_runner.h"

namespace sickbay::agent {

class PeeredOperations final : public OperationRunner {
 public:
  /// Asks sickbayd by POST /v1/agent/peer.
  using Post = std::function<void(Json body, Done<Json> done)>;
  /// `inner`, which must outlive it, runs all operations; with an empty `post` those that need a helper are
  /// unknown.
  PeeredOperations(OperationRunner& inner, Loop& loop, Post post)
      : inner_(inner), loop_(loop), post_(std::move(post)) {}

  void run(OperationCall call, std::function<void(OperationEnd)> done) override;
  /// The test that this node is in; 0: none.
  std::int64_t session() const;

 private:
  struct Test;
  void begin();
  void run_with(const std::shared_ptr<Test>& test, const Json& peer);
  void settle(const std::shared_ptr<Test>& test, OperationEnd end);
  void finish(const std::shared_ptr<Test>& test, OperationEnd end);

  OperationRunner& inner_;
  Loop& loop_;
  const Post post_;
  std::deque<std::shared_ptr<Test>> tests_;  ///< the first is under way
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
