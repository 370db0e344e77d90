// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/cases: what any local user may ask of a case, and how much of it.
//
// All of it is kept: the submission in the folder of the case, options and notes in the journal, for good. So
// each part has a bound here, and what has no place in a case is refused and not carried along.
// Source: doc/formats/api.md, "Opening a case".
#pragma once
#include "model/input_file.h"
#include "model/job.h"

namespace sickbay {

struct CaseRequest {
  Submission submission;
  Json options;                   ///< an object of known names, or null
  Json notes;                     ///< a list of short texts, or null
  std::vector<InputFile> inputs;  ///< what the job reads, as it was then
  std::string script_digest;      ///< of script, arguments and options; empty: not said
  bool names_folder = false;      ///< script or arguments say the folder's own path
  bool submits_jobs = false;      ///< the script calls sbatch
  bool recorded = false;          ///< its owner keeps what a replay needs
  Json replays;                   ///< {op, checkpoint}: where its history goes on from; null: nowhere

  /// Errors: bad_input, with cause and remedy.
  static Result<CaseRequest> from_json(const Json& body);
};

/// `options` of a case as the journal keeps them: with the way in which its program may run again, also where
/// the request does not say it (then `usual`, the site's) or says it in the old words.
Json options_with_way(const Json& options, std::string_view usual);

}  // namespace sickbay
