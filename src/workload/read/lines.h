// SPDX-License-Identifier: Apache-2.0
// What readers share: logs of one record a line, the limit on a record, and texts that go into a row.
#pragma once
#include <string>
#include <string_view>

#include "workload/job/values.h"
#include "workload/read/reader.h"

namespace sickbay::workload {

/// No format has longer ones: Slurm's own limit on a batch script is 4 MiB.
inline constexpr std::size_t kMaxRecord = std::size_t{16} << 20;

/// False with `reason` for a record that is too long, or holds NUL bytes (a hole in the file after a crash).
bool fit_to_read(std::string_view record, std::string& reason);

/// A log whose records are lines.
class LineReader : public Reader {
 public:
  std::size_t split(std::string_view text, bool last, std::vector<RecordSpan>& records) const override;
  std::size_t find_start(std::string_view text) const override;

 protected:
  /// False where the line is no record (a comment, a kind of event that says nothing of jobs); else `job` is
  /// what RecordSpan says.  A line that cannot be read is a record, so that it is counted.
  virtual bool is_record(std::string_view line, std::uint64_t& job) const = 0;
};

/// The first line of `text` that is not blank, without its end; "" where there is none.
std::string_view first_line(std::string_view text);
/// Takes the next line off `text`, without its "\n" or "\r\n".
std::string_view take_line(std::string_view& text);
/// Takes the next word off `text`: what stands between blanks and tabs.
std::string_view take_word(std::string_view& text);

/// A text of the log, its blanks cut off and its bytes made UTF-8; nothing where it is_absent().
void set_text(Row& row, Text field, std::string_view text, Arena& arena);
/// a * b, and a + b; false where that goes over 63 bits.
inline bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}
inline bool add(std::int64_t a, std::int64_t b, std::int64_t& sum) {
  return !__builtin_add_overflow(a, b, &sum);
}

/// A count of seconds that may be a time: from 1 to the year 5138.
inline bool plausible_time(std::int64_t seconds) { return seconds > 0 && seconds <= 99'999'999'999; }

}  // namespace sickbay::workload
