// SPDX-License-Identifier: Apache-2.0
// The C API gives a kind only for some errors, but every message begins with its kind, so that is read.
#include "adapters/duckdb/errors.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sickbay::duck {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Kinds of message, in the order in which they are looked for; "" is any.
struct Kind {
  std::string_view begins, holds;
  ErrorCode code;
  std::string_view what, remedy;  // remedy empty: the table's of result.cc
};
constexpr Kind kKinds[] = {
    {"", "No space left on device", ErrorCode::storage_full, "there is no room to write",
     "free space beside the store, or where it spills (TMPDIR)"},
    {"", "max_temp_directory_size", ErrorCode::storage_full, "there is no room to spill to disk",
     "free space beside the store, or where it spills (TMPDIR)"},
    {"IO Error", "Permission denied", ErrorCode::denied, "a file may not be read or written", ""},
    {"IO Error", "", ErrorCode::storage_broken, "a file cannot be read or written", ""},
    {"Serialization Error", "", ErrorCode::storage_broken, "the store cannot be read", ""},
    {"Out of Memory Error", "", ErrorCode::os, "the memory allowed is not enough",
     "allow more memory, or ask for less at once"},
    {"INTERRUPT Error", "", ErrorCode::timed_out, "the query was interrupted", ""},
    {"TransactionContext Error", "", ErrorCode::conflict, "the transaction cannot go on", ""},
    {"Transaction", "", ErrorCode::conflict, "the transaction cannot go on", ""},
    {"FATAL Error", "", ErrorCode::storage_broken, "DuckDB gave up", "open the store again"},
    {"INTERNAL Error", "", ErrorCode::internal, "DuckDB has a fault", ""},
    {"", "read-only mode", ErrorCode::denied, "the store is open for reading only", ""},
    {"Permission Error", "", ErrorCode::denied, "this is not allowed here",
     "SQL here reads the tables of the store alone: no files, network, extensions or settings"},
    {"", "", ErrorCode::bad_input, "the SQL is wrong", ""},
};

// Message as it is shown behind "  cause:  ": without its empty lines, the others in their place to each
// other, since one is a caret.
std::string indented(std::string_view message) {
  std::string text;
  for (const char c : trimmed(message)) {
    if (c == '\n' && text.ends_with('\n')) continue;
    text += c;
  }
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos;) text.insert(++at, "          ");
  return text;
}

}  // namespace

Error statement_error(std::string_view message) {
  for (const Kind& kind : kKinds) {
    if (!message.starts_with(kind.begins) || !has(message, kind.holds)) continue;
    return Error(kind.code, std::string(kind.what))
        .because(indented(message))
        .remedied_by(std::string(kind.remedy));
  }
  return Error(ErrorCode::internal, std::string(message));
}

Error open_error(std::string_view message, const std::string& path) {
  const auto error = [&](ErrorCode code, const char* what, const char* remedy) {
    return Error(code, fmt::format("{}: {}", path, what)).because(indented(message)).remedied_by(remedy);
  };
  if (has(message, "Conflicting lock") || has(message, "Could not set lock"))
    return error(ErrorCode::busy, "another process has it open",
                 "wait until it is done; several may read, but only while none writes");
  if (has(message, "not a valid DuckDB database"))
    return error(ErrorCode::storage_broken, "this is not a store",
                 "check the path; 'sickbay import' makes a store");
  if (has(message, "version number"))
    return error(ErrorCode::storage_broken, "a DuckDB of another version wrote it",
                 "use the version of Sickbay that wrote it, or a later one");
  if (has(message, "does not exist") || has(message, "No such file"))
    return error(ErrorCode::not_found, "there is no such store, or no such folder",
                 "'sickbay import' makes a store");
  Error other = statement_error(message);
  other.what = fmt::format("{}: {}", path, other.what);
  return other;
}

}  // namespace sickbay::duck
