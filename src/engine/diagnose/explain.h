// SPDX-License-Identifier: Apache-2.0
// Explain: why each production of a run fired or not, with the values that decided it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnose/run.h"

namespace sickbay::diagnose {

struct Explanation {
  enum class Outcome : std::uint8_t {
    fired,
    no,              ///< its predicate is false
    unknown,         ///< its predicate is neither, for something in it is unknown
    not_admissible,  ///< a characteristic in its predicate has no value
    not_reached,     ///< the run ended, or left its phase, before it was looked at
  } outcome = Outcome::no;
  std::string production, predicate, operation;
  Json values = Json::object();      ///< of the characteristics in the predicate; null: unknown
  std::vector<std::string> missing;  ///< those without a value
  std::string text;                  ///< one sentence
};
std::string_view to_string(Explanation::Outcome outcome);

/// Of every production, in the order of the specification.
std::vector<Explanation> explain(const Run& run);
Json to_json(const Explanation& explanation);

}  // namespace sickbay::diagnose
