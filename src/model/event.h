// SPDX-License-Identifier: Apache-2.0
// Event and Command: what happened, and what shall be done, as the journal keeps them.
//
// Both are envelopes with one stable text form (a JSON body whose member order is fixed by its writer).
// What the bodies hold belongs to the engine that writes them (doc/formats/journal.md); the journal, the API
// and `sickbay journal` need only the envelope.  Source: doc/design/decisions.md 10-15,
// doc/formats/journal.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace sickbay {

/// One fact.  `seq` is the only order there is; `at` is sickbayd's stamp and never runs backwards.
struct Event {
  std::int64_t seq = 0;  ///< given by the journal, from 1, without gaps
  TimePoint at = kNoTime;
  int v = 1;            ///< version of this kind's body; old ones are raised on reading
  std::string subject;  ///< "c17" a case, "x5" a replacement, "f9" a finding, "node:n3", "cluster"
  std::string kind;     ///< lower_snake word
  Json body;

  /// The one text of an event, for dumps and comparisons: one JSON object on one line, no line break.
  std::string text() const;
  Json to_json() const;
  static Result<Event> from_json(const Json& json);
  friend bool operator==(const Event&, const Event&) = default;
};

/// One thing to do.  The ledger starts a key once, ever; a new attempt is a new key.
struct Command {
  std::string key;      ///< "c17.r2.a1:submit"
  std::string subject;  ///< whose event stream gets the result: "c17"
  std::string verb;     ///< names the effect: one row of service/effects.cc
  Json args;
  friend bool operator==(const Command&, const Command&) = default;
};

// Kinds that more than one engine or adapter knows (doc/formats/journal.md).
inline constexpr std::string_view kFinding = "finding";    ///< subject "f9": what an agent found
inline constexpr std::string_view kArchived = "archived";  ///< left by a compaction in the place of a subject

// Kinds that belong to the ledger and not to an engine.
inline constexpr std::string_view kIntent =
    "intent";                                      ///< body {key, verb, args}: committed before the effect
inline constexpr std::string_view kDone = "done";  ///< body {key, verb, result}
inline constexpr std::string_view kFailed = "failed";  ///< body {key, verb, error{code, what, cause}}

}  // namespace sickbay
