// SPDX-License-Identifier: Apache-2.0
// How every command answers: text or JSON on standard output, errors on standard error, one exit code.
//
// With --json an error goes to standard output too, as the API's {code, what, cause, remedy}, so that a
// script reads one stream.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "client/api_client.h"
#include "model/ids.h"

namespace sickbay::cli {

/// Writes `text` to standard output.
void print(std::string_view text);
/// Writes `value` as JSON for people and scripts, with a line end.
void print_json(const Json& value);
/// How a command ended: with an exit code of its own (0 done, 1 the answer is no, or what its help says), or
/// with an error.
struct Ending {
  Result<int> code = 0;
  bool json =
      false;  ///< an error goes to standard output, too: --json, and nothing printed that it would spoil
};
/// The exit code of the program.  The one place where the error that ended a command is told.
int exit_code_of(const Ending& ending);

/// Tells an error (and, with `json`, prints it) and gives its exit code.  Commands return theirs, for
/// exit_code_of; this is for one of several, and for what will be tried again.
int complain(const Error& error, bool json = false);
/// "sickbay: warning: what", with cause and remedy as an error has them; the command goes on.
void warn(const Error& error);
/// An error about a file or folder that was named on the command line: where it is not there, the remedy
/// speaks of its path and not, as that of other things does, of the names of cases and nodes.
Error about_path(Error error);

/// $SICKBAY_ROOT in front of an absolute path (doc/design/decisions.md 7).
std::string rooted(std::string_view path);
/// Connected to this host's sickbayd or, where there is none, to the controller's (remote.h).  Errors:
/// daemon_away, bad_input, ...
Result<ApiClient> connect_to_sickbayd(ApiTimes times = {});

/// The number of a job on the command line.  Errors: usage.
Result<JobId> named_job(const std::string& word);

/// What names a case on the command line: "c17", "c17.r2" or a job id.
struct CaseTarget {
  std::string path;  ///< "/v1/cases/c17" or "/v1/jobs/123/case"
};
/// Errors: usage, with the forms there are.
Result<CaseTarget> parse_case_target(std::string_view word);
/// The case view of a word.  Errors: usage, not_found with a remedy that fits, the API's.
Result<Json> fetch_case(ApiClient& api, std::string_view word);

}  // namespace sickbay::cli
