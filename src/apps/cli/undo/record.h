// SPDX-License-Identifier: Apache-2.0
// A submission in full, as its own user keeps it (`sickbay submit --record`): all that a replay needs.
//
// sickbayd keeps what was submitted, too, for as long as a case may run the program again; the history has
// digests alone.  This is the user's: script, options, arguments, environment, umask, limits, and the
// declared files by digest and mode, whose contents are objects (objects.h).
#pragma once
#include <string>
#include <vector>

#include "apps/cli/cases/inputs.h"
#include "apps/cli/undo/objects.h"
#include "base/json.h"
#include "model/job.h"

namespace sickbay::cli {

struct KeptFile {
  std::string path, digest;
  unsigned mode = 0644;
};

struct Record {
  std::string case_name;
  std::string script_digest;     ///< as the history has it: of text, arguments and options
  std::string script_path;       ///< the file that the script was read from; "": it was no file
  std::vector<std::string> own;  ///< options of sickbay submit
  Submission submission;
  std::vector<KeptFile> files;

  Json to_json() const;
  /// Errors: bad_input.
  static Result<Record> from_json(const Json& json);
};

/// Keeps script and declared files of a submission, before anything is submitted: a job may be quick.  A file
/// that is too long to have a digest is warned of.  The record has no case yet.  Errors: those of Objects.
Result<Record> keep_submission(const SbatchLine& line, const Submission& submission, const Inputs& inputs);

Status write_record(const Objects& objects, const Record& record);
/// Errors: not_found (the job was not recorded there), conflict (it is of another submission than the
/// history's, whose `script_digest` is given), bad_input, too_new.
Result<Record> read_record(const Objects& objects, const std::string& case_name,
                           const std::string& script_digest);

}  // namespace sickbay::cli
