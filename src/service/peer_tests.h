// SPDX-License-Identifier: Apache-2.0
// PeerTests: tests of two nodes, in which one has a helper on the other, as sickbayd joins their agents.
//
// An agent that wants a helper asks; a peer is taken, its poll is answered with what to start, and what it
// says of that is told to the one that asked.  Both say with each poll which test they are in: so a test ends
// with either of them, and no answer that is lost leaves a helper behind.  Nothing of this is kept when
// sickbayd ends: a peer that is in a test which the next one does not know is told that there is none.  All
// on the loop's thread.  Source: doc/design/diagnose.md, "Helpers at a peer".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ports/lifetime.h"
#include "service/controller.h"

namespace sickbay {

/// Which tests an agent is in, by its own word; 0: none.
struct PeerWord {
  std::int64_t testing = 0;  ///< it has a helper somewhere
  std::int64_t serving = 0;  ///< it runs the helper of another node, or will
};

class PeerTests {
 public:
  /// `wake` is told of nodes for which there is news, `has_leave` says which have leave for active checks:
  /// they have something to do of their own.  `controller` must outlive it.
  PeerTests(Loop& loop, Controller& controller, std::function<void(const std::string& node)> wake,
            std::function<bool(const std::string& node)> has_leave);
  ~PeerTests();

  /// The agent of `node` begins a poll; it may be a peer from then on.
  void hear(const std::string& node, PeerWord word);
  /// What the agent of `node` says besides: {"act": "want", "specification", "operation", "peer"} ->
  /// {session, peer, address}, when the helper is there; {"act": "begun" | "ended", "session", "ok", "text"}
  /// of a peer
  /// -> {session}; {"act": "over", "session"} -> {whole, why}: whether its helper was there to the end.
  /// Errors: bad_input, conflict (no peer is free, or it cannot), timed_out, not_found (no such test).
  void take(const std::string& node, const Json& body, Done<Json> done);
  /// What the agent of `node` is to be told: {session, specification, operation, for}; session 0: it is to
  /// end what it runs for a test; null where it does what it should.
  Json news(const std::string& node, PeerWord has) const;

  static constexpr std::chrono::seconds kBegin{25};    ///< a peer that has not begun by then is given up
  static constexpr std::chrono::seconds kSilent{50};   ///< agents poll every 30 s
  static constexpr std::chrono::seconds kUnderWay{5};  ///< polls that were sent before its begin are all here

 private:
  struct Test {
    std::string tester, peer, specification, operation;
    TimePoint asked = kNoTime, begun = kNoTime;
    bool ended = false;  ///< the helper has, and
    std::string why;     ///< why it is not there any more, or did not do well; "": it did
    Done<Json> done;     ///< of the question, until the helper has begun
  };
  using Tests = std::map<std::int64_t, Test>;

  void want(const std::string& node, const Json& body, Done<Json> done);
  void over(const std::string& node, std::int64_t session, Done<Json> done);
  void begun(const std::string& node, const Json& body, Done<Json> done);
  void ended(const std::string& node, const Json& body, Done<Json> done);
  Result<std::string> choose(const std::string& tester, const std::string& wish) const;
  /// Why `node` can be no peer now; "" where it can.
  std::string objection(const std::string& node) const;
  bool is_heard(const std::string& node) const;
  /// Drops it, and has its peer end the helper.
  void drop(Tests::iterator test);
  void fail_test(Tests::iterator test, Error why);
  void sweep();
  void look_again();

  Loop& loop_;
  Controller& controller_;
  const std::function<void(const std::string&)> wake_;
  const std::function<bool(const std::string&)> has_leave_;
  Tests tests_;
  std::map<std::string, TimePoint> heard_;        ///< agents that can be peers
  std::map<std::string, std::string> last_peer_;  ///< of each node: another one is taken the next time
  std::int64_t last_ = 0;
  Loop::TimerId timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay
