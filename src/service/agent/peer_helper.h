// SPDX-License-Identifier: Apache-2.0
// PeerHelper: the helper that this node runs for a test of another one.
//
// sickbayd says in its answer to a poll which operation to start and, later, that the test is over; the agent
// says when a run gives place to it.  It is ready when it listens, where its specification says on which
// port, and ends when it is told to, by its own limits, or with the agent.  What came of it is told once.  On
// the loop's thread.  Source: doc/design/diagnose.md, "Helpers at a peer".
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "ports/lifetime.h"
#include "ports/operation_runner.h"

namespace sickbay::agent {

class PeerHelper {
 public:
  struct Hooks {
    /// The operation of this node's own files.  An Error, as where it must not run here now, is told.
    std::function<Result<OperationCall>(const std::string& specification, const std::string& operation)> find;
    /// Tells sickbayd, by POST /v1/agent/peer.
    std::function<void(Json body, Done<Json> done)> post;
    /// It has ended: a run may begin.
    std::function<void()> over;
    std::function<void(const std::string& line)> log;
  };
  PeerHelper(Loop& loop, OperationRunner& runner, Hooks hooks);
  ~PeerHelper();

  /// The member `serve` of an answer; then begin() where no run is under way.
  void take(const Json& serve);
  /// Starts the one that waits, if there is one.
  void begin();
  /// Ends the one that runs, or waits.
  void end(const std::string& why);
  bool waits() const { return session_ != 0 && !wanted_.is_null(); }
  bool runs() const { return early_end_ != nullptr; }
  /// The test that this node serves; 0: none, or its helper is about to end.
  std::int64_t session() const { return runs() && early_end_->asked() ? 0 : session_; }

  static constexpr std::chrono::milliseconds kLook{200};  ///< whether it listens

 private:
  void look();
  void tell_begun();
  void tell_ended(std::int64_t session, bool ok, const std::string& text);

  Loop& loop_;
  OperationRunner& runner_;
  const Hooks hooks_;
  std::int64_t session_ = 0, last_ = 0;
  Json wanted_;                          ///< what is to be started; null: nothing is
  Json last_end_;                        ///< what was told of the last one
  std::shared_ptr<EarlyEnd> early_end_;  ///< of the one that runs
  std::int64_t listens_ = 0;
  Loop::TimerId timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
