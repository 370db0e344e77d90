// SPDX-License-Identifier: Apache-2.0
// Result and Error: how every call that can fail reports it.
//
// An Error is a code, what went wrong, and the context that callers added on the way up.  The remedy, the
// exit code of a command and the HTTP status belong to the code and stand in one table (error_row), so
// that a message, a script and an API client never disagree.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace sickbay {

/// Why a call failed.  One row per code in result.cc; spelled as on the wire.
enum class ErrorCode : std::uint8_t {
  usage,             ///< the command line is wrong
  bad_input,         ///< bytes from outside do not parse or break a rule
  not_found,         ///< a named thing does not exist
  already_exists,    ///< a thing of that name is there already
  denied,            ///< the caller has no right to it
  conflict,          ///< the state does not allow it
  refused_by_slurm,  ///< Slurm answered, and said no
  slurm_away,        ///< slurmctld (or slurmdbd) does not answer
  munge_away,        ///< munged does not answer
  daemon_away,       ///< sickbayd does not answer
  storage_full,      ///< no space left where state must be written
  storage_broken,    ///< state cannot be read or written for another reason
  timed_out,         ///< a stated limit of time passed
  busy,              ///< too much under way; try later
  not_root,          ///< needs root
  missing_program,   ///< an executable or package is not installed
  too_new,           ///< a file was written by a newer version
  os,                ///< a system call failed
  internal,          ///< a fault of Sickbay itself
};

/// One row of the error table.
struct ErrorRow {
  ErrorCode code;
  std::string_view name;  ///< as on the wire and in logs
  int exit_code;          ///< of commands (sysexits.h where it has a word for it)
  int http_status;
  std::string_view remedy;  ///< what to do next; an Error's own remedy goes before it
};

/// The row of `code`.  Total.
const ErrorRow& error_row(ErrorCode code);
/// The code of a wire name; `internal` for an unknown one (a newer peer may know more codes).
ErrorCode error_code_from(std::string_view name);

/// What went wrong.  Cheap to move.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;                  ///< one sentence, with the offending value in it
  std::string cause;                 ///< why, where known; may be empty
  std::string remedy_text;           ///< this case's own remedy; empty: the table's
  std::vector<std::string> context;  ///< innermost first: "reading /etc/sickbay/sickbay.json"

  Error() = default;
  Error(ErrorCode c, std::string w) : code(c), what(std::move(w)) {}

  /// This error with one more frame of context (what the caller was doing).
  Error&& in(std::string doing) && {
    context.push_back(std::move(doing));
    return std::move(*this);
  }
  Error&& because(std::string why) && {
    cause = std::move(why);
    return std::move(*this);
  }
  Error&& remedied_by(std::string how) && {
    remedy_text = std::move(how);
    return std::move(*this);
  }

  /// The remedy to show: its own, else the table's.
  std::string_view remedy() const { return remedy_text.empty() ? error_row(code).remedy : remedy_text; }
  /// "what (while context, while outer context)", one line, no remedy.
  std::string line() const;
  /// The message for people: "PROGRAM: error: what" and the lines "  cause: " and "  remedy: ".
  std::string message(std::string_view program) const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// The failed result: `return fail(ErrorCode::not_found, "no node 'n9'");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string what) {
  return tl::unexpected<Error>(Error(code, std::move(what)));
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// Aborts with `why` when `cond` is false.  For programmer errors only, never for input.
#define SB_CHECK(cond, why)                                               \
  do {                                                                    \
    if (!(cond)) ::sickbay::check_failed(#cond, why, __FILE__, __LINE__); \
  } while (false)
[[noreturn]] void check_failed(const char* cond, const char* why, const char* file, int line);

}  // namespace sickbay
