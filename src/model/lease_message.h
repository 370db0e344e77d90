// SPDX-License-Identifier: Apache-2.0
// LeaseAsk and LeaseAnswer: what two sickbayds and the nodes that witness for them say to each other about
// which of the two may act (engine/succession).
//
// A term is a number that only grows; a witness has given at most one of the two a term.  Times travel as
// lengths and never as stamps: no two clocks need to be equal, only to run alike.  Source:
// doc/design/standby.md, "The lease".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace sickbay {

/// No lease is longer: a witness that does not know what it gave before its start waits for so long.
inline constexpr Micros kLongestLease = std::chrono::seconds(60);

/// Where the agent of a witness polls either of the two.
inline constexpr std::string_view kLeaseTarget = "/v1/agent/lease";

/// Who alone has all that was acknowledged.  Of two words the one with the greater (term, change) holds.
struct SoleWord {
  std::int64_t term = 0;    ///< of him who said it; 0: nothing was ever said
  std::int64_t change = 0;  ///< grows with each word of a term
  std::string name;         ///< "": both sickbayds have all of it
  bool is_newer_than(const SoleWord& other) const {
    return term != other.term ? term > other.term : change > other.change;
  }
  friend bool operator==(const SoleWord&, const SoleWord&) = default;
};

struct LeaseAsk {
  std::int64_t serial = 0;  ///< comes back with the answer
  bool look = false;        ///< would it be granted?  Nothing is.
  std::int64_t term = 0;
  std::string who;
  Micros length{0};
  SoleWord sole;  ///< term 0: the asker has nothing to say of it
  friend bool operator==(const LeaseAsk&, const LeaseAsk&) = default;
};

struct LeaseAnswer {
  std::int64_t serial = 0;
  bool granted = false;
  std::int64_t term = 0;  ///< what this witness has granted last, and to whom
  std::string who;
  Micros left{0};  ///< of that grant; of the wait after its start where it waits
  SoleWord sole;   ///< the newest that it knows
  friend bool operator==(const LeaseAnswer&, const LeaseAnswer&) = default;
};

Json to_json(const LeaseAsk& ask);
Json to_json(const LeaseAnswer& answer);
/// Errors: bad_input; also for a term or a length that nobody may ask for.
Result<LeaseAsk> lease_ask_from(const Json& json);
Result<LeaseAnswer> lease_answer_from(const Json& json);

Json to_json(const SoleWord& word);
/// Null gives the word that was never said.  Errors: bad_input.
Result<SoleWord> sole_word_from(const Json& json);

}  // namespace sickbay
