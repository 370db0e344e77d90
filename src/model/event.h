// SPDX-License-Identifier: Apache-2.0
// Event and Command: what happened, and what shall be done, as the journal keeps them.
//
// Both are envelopes with one stable text form (a JSON body whose member order is fixed by its writer).
// What the bodies hold belongs to who writes them (doc/formats/journal.md); the journal, the API and
// `sickbay journal` need only the envelope.  Source: doc/design/decisions.md 10-15, doc/formats/journal.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/event_kinds.h"

namespace sickbay {

/// One fact.  `seq` is the only order there is; `at` is sickbayd's stamp and never runs backwards.
struct Event {
  std::int64_t seq = 0;  ///< given by the journal, from 1, without gaps
  TimePoint at = kNoTime;
  int v = 1;            ///< version of this kind's body; old ones are raised on reading
  std::string subject;  ///< "c17" a case, "f9" a finding, "node:n3", "job:17", "cluster"
  std::string kind;     ///< lower_snake word
  Json body;

  /// The one text of an event, for dumps and comparisons: one JSON object on one line, no line break.
  std::string text() const;
  Json to_json() const;
  static Result<Event> from_json(const Json& json);
  friend bool operator==(const Event&, const Event&) = default;
};

/// An event that happens now, in today's version of its kind; the journal gives it its number and its time.
Event new_event(std::string subject, std::string_view kind, Json body);

/// One thing to do.  The ledger starts a key once, ever; a new attempt is a new key.
struct Command {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  std::string key;                   ///< "c17.r2.a1:submit"
  std::string subject;               ///< whose event stream gets the result: "c17"
  std::string verb;                  ///< names the effect (model/verbs.h)
  Json args;
  std::vector<std::string> draws{};  ///< nodes that it takes out of service: the breaker counts them
  friend bool operator==(const Command&, const Command&) = default;
};

}  // namespace sickbay
