// SPDX-License-Identifier: Apache-2.0
// The table of error codes: name, exit code, HTTP status and remedy in one place.
#include "base/result.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace sickbay {
namespace {

// Exit codes follow sysexits.h; 1 is left to "the answer is no" of a command (a failed verification, say).
constexpr auto kRows = std::to_array<ErrorRow>({
    {ErrorCode::usage, "usage", 64, 400, "see 'sickbay --help'"},
    {ErrorCode::bad_input, "bad_input", 65, 400, "correct the input named above and try again"},
    {ErrorCode::not_found, "not_found", 66, 404,
     "check the name; 'sickbay cases' and 'sickbay nodes' list what there is"},
    {ErrorCode::already_exists, "already_exists", 73, 409,
     "choose another name, or remove the old one first"},
    {ErrorCode::denied, "denied", 77, 403, "ask the owner, or an operator of the cluster"},
    {ErrorCode::conflict, "conflict", 75, 409, "look at the present state and try again"},
    {ErrorCode::refused_by_slurm, "refused_by_slurm", 76, 422,
     "change what Slurm objects to and submit again"},
    {ErrorCode::slurm_away, "slurm_away", 69, 503,
     "check slurmctld and slurmdbd ('scontrol ping'); Sickbay keeps its state and tries again"},
    {ErrorCode::munge_away, "munge_away", 69, 503,
     "start munged (systemctl start munge); Sickbay keeps its state and tries again"},
    {ErrorCode::daemon_away, "daemon_away", 69, 503,
     "start sickbayd on the controller host (systemctl start sickbayd)"},
    {ErrorCode::storage_full, "storage_full", 74, 507,
     "free space under /var/lib/sickbay; Sickbay acts again by itself once a write succeeds"},
    {ErrorCode::storage_broken, "storage_broken", 74, 500,
     "check the disk and the rights of the path named above"},
    {ErrorCode::timed_out, "timed_out", 75, 504, "try again; look at the load of the machine if it repeats"},
    {ErrorCode::busy, "busy", 75, 503, "try again in a few seconds"},
    {ErrorCode::not_root, "not_root", 77, 403, "run it as root (sudo)"},
    {ErrorCode::missing_program, "missing_program", 72, 500,
     "install it (tools/setup installs all that Sickbay needs on Debian)"},
    {ErrorCode::too_new, "too_new", 78, 500, "use the version of Sickbay that wrote it, or a later one"},
    {ErrorCode::os, "os", 71, 500, "look at the system's log for the cause"},
    {ErrorCode::internal, "internal", 70, 500,
     "please report it with the lines above; this is a fault of Sickbay"},
});

constexpr bool rows_follow_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].code) != i) return false;
  return true;
}
static_assert(rows_follow_enum(), "one row per ErrorCode, in its order");

// Where several things are wrong `what` has a line for each.
std::string with_context(const Error& error) {
  std::string text = error.what;
  if (error.context.empty()) return text;
  text += " (";
  for (std::size_t i = 0; i < error.context.size(); ++i)
    text += (i ? ", while " : "while ") + error.context[i];
  return text + ")";
}

}  // namespace

const ErrorRow& error_row(ErrorCode code) { return kRows[static_cast<std::size_t>(code)]; }

ErrorCode error_code_from(std::string_view name) {
  for (const ErrorRow& row : kRows)
    if (row.name == name) return row.code;
  // A name of a newer version: nothing that its caller could mend.
  return ErrorCode::internal;
}

std::string Error::line() const {
  std::string text = with_context(*this);
  for (std::size_t end = 0; (end = text.find('\n', end)) != std::string::npos;) text.replace(end, 1, "; ");
  return text;
}

std::string Error::message(std::string_view program) const {
  std::string text = std::string(program) + ": error: " + with_context(*this);
  if (!cause.empty()) text += "\n  cause:  " + cause;
  text += "\n  remedy: " + std::string(remedy());
  return text;
}

void check_failed(const char* cond, const char* why, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: fault in Sickbay: %s (%s does not hold)\n", file, line, why, cond);
  std::abort();
}

}  // namespace sickbay
