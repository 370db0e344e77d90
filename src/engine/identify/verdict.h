// SPDX-License-Identifier: Apache-2.0
// The verdict table: from the outcomes of P and V to a cause.
//
// The facts are reduced to six small columns; the first row that fits wins, and its id goes into the verdict.
// Rows that are not final are what can be said while an experiment is still under way.  The id is for people
// and for the journal only: what the engine or the words must know of a row is a column of its own.
// Source: paper 000, 2.4, and doc/design/identify.md, "Flow" 4; rules V7 and V8 are ours (see there).
#pragma once
#include <cstdint>
#include <optional>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Columns of the table as bits, so that a row may accept several values.
enum A : std::uint8_t { a_open = 1, a_ok = 2, a_fail = 4, a_down = 8, a_none = 16, a_any = 31 };
enum C : std::uint8_t { c_open = 1, c_ok = 2, c_failed = 4, c_unknown = 8, c_any = 15 };

struct Facts {
  A a1 = a_open;
  C c1 = c_open;
  A a2 = a_open;
  C c2 = c_open;
  A a3 = a_open;
  C c3 = c_open;
};

enum class Blame : std::uint8_t { nobody, s1, s2, down1 };

/// What a row that decides nothing is in want of.  Its words and its advice follow from that.
enum class Lack : std::uint8_t {
  nothing,       ///< the row decides
  verification,  ///< V's word on the nodes of the failed run
  second_run,    ///< a second outcome of P
  safe_place,    ///< P seems to take nodes down: a run where it can do no harm
  output_place,  ///< the first run never began: whether its output folder was there
};

struct Row {
  std::string_view rule;  ///< its id
  std::uint8_t a1, c1, a2, c2, a3, c3;
  Cause cause;
  Blame blame;
  Confidence confidence;
  bool final;
  std::string_view why;  ///< the reasoning, in words for the user
  Lack lack = Lack::nothing;
  bool waits_for_verification = false;  ///< not final as long as V may be tried again
};

/// The first row that fits, or null while nothing can be said.
const Row* row_for(const Facts& facts);
/// True when a program run that said nothing (lost, preempted, refused) is to be submitted once more.
bool tries_again(const Known& known, const Case& subject, const Run& run);
/// True when an ended verification said nothing and may be submitted once more.
bool verifies_again(const Policy& policy, const Case& subject, const Run& verification);
/// Time is what is wrong with P's run, so V's word `slow` convicts a node of it (decisions.md 22).
bool time_matters(const Run& program);
/// The columns of a case.
Facts facts_of(const Known& known, const Case& subject);
/// The verdict that the facts of a case allow now, or nothing.  It is not final where its row is not, nor
/// where the row waits for a verification that may still come.
std::optional<Verdict> judge(const Known& known, const Case& subject);

}  // namespace sickbay::identify
