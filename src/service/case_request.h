// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/cases: what any local user may ask of a case, and how much of it.
//
// All of it is kept: the submission in the folder of the case, options and notes in the journal, for good. So
// each part has a bound here, and what has no place in a case is refused and not carried along.
// Source: doc/formats/api.md, "Opening a case".
#pragma once
#include "model/job.h"

namespace sickbay {

struct CaseRequest {
  Submission submission;
  Json options;  ///< an object of known names, or null
  Json notes;    ///< a list of short texts, or null

  /// Errors: bad_input, with cause and remedy.
  static Result<CaseRequest> from_json(const Json& body);
};

}  // namespace sickbay
