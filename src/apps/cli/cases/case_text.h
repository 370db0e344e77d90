// SPDX-License-Identifier: Apache-2.0
// The text of a case: what `sickbay why`, `cases` and `watch` print of the API's case view.
//
// Pure: view and page in, text out.  The verdict stands first, in one sentence, since that is what was asked;
// all else is its support.  Members that are missing (an older or newer sickbayd) leave their part out.
// The view is described in doc/formats/api.md.
#pragma once
#include <string>
#include <string_view>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

/// A cause on the wire, and what the command line makes of it.
struct CauseRow {
  std::string_view name;
  int exit_code;           ///< of `sickbay why`
  std::string_view label;  ///< in tables
  std::string_view sgr;    ///< its colour
};
/// The row of a wire name; an unknown one (a newer sickbayd) is inconclusive's.
const CauseRow& cause_row(std::string_view name);

inline constexpr int kExitUnderWay = 20;  ///< of `why` while there is no final verdict

/// The exit code of `sickbay why` for this view.
int verdict_exit_code(const Json& view);
/// A final verdict, or a closed case: nothing more will come.
bool is_decided(const Json& view);

/// Everything: verdict, reasons, runs, verification, evidence, last output, what to do next.
std::string case_text(const Json& view, const TextPage& page);
/// Verdict or state in one sentence, and the runs: for `watch`.
std::string case_brief(const Json& view, const TextPage& page);
/// The table of `sickbay cases` from a list of summaries; a sentence when it is empty.
std::string cases_text(const Json& list, const TextPage& page);

}  // namespace sickbay::cli
