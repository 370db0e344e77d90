// SPDX-License-Identifier: Apache-2.0
// Finding the records of sacct's text: counting delimiters, line by line.
#include <algorithm>

#include "workload/read/read_sacct.h"

namespace sickbay::workload::sacct {
namespace {

// The end of a line without the CR of a CR LF.
std::size_t without_cr(std::string_view text, std::size_t start, std::size_t end) {
  return end > start && text[end - 1] == '\r' ? end - 1 : end;
}

}  // namespace

// The text of the column that names the job.  A record whose names hold delimiters before that column is put
// together first: else its steps would be taken for another job's.
std::string_view SacctReader::job_field(std::string_view record, std::uint32_t count) const {
  if (free_before_job_ && count != delimiters_) {
    std::uint32_t at[2 * kMaxColumns];
    Seen seen;
    Fields fields;
    bool repaired = false;
    const std::size_t n = delimiter_.find(record, at, std::size(at), seen);
    if (n <= std::size(at) && cut(record, at, n, fields, repaired)) return fields.text(record, job_column_);
  }
  std::size_t begin = 0;
  for (std::uint16_t i = 0; i < job_column_; ++i) {
    begin = record.find(delimiter_.text(), begin);
    if (begin == std::string_view::npos) return {};
    begin += delimiter_.size();
  }
  return record.substr(begin, record.find(delimiter_.text(), begin) - begin);
}

// A line with all its delimiters, and a job's id where that belongs.
bool SacctReader::begins_record(std::string_view line, std::uint32_t count) const {
  return count + 1 >= columns_ && fits(Shape::id, job_field(line, count));
}

bool SacctReader::is_header(std::string_view line) const {
  return !layout_.header.empty() && line == layout_.header;
}

// The line at `start` has too few delimiters: true when it and the lines behind it are one record, which
// `line` and `lines` then say.  `starved`: what is behind `text` decides.
bool SacctReader::join(std::string_view text, std::size_t start, Line& line, std::uint32_t& lines, bool last,
                       bool& starved) const {
  Line whole = line;
  std::uint32_t taken = 1;
  while (whole.count + 1 < columns_) {
    const std::size_t next = whole.end + 1;
    if (!whole.has_newline || next >= text.size()) {
      starved = !last;
      return false;
    }
    if (++taken > kMaxLines || next - start > kMaxRecord) return false;
    const Line more = delimiter_.line(text, next);
    if (!more.has_newline && !last) {
      starved = true;
      return false;
    }
    const std::string_view there = text.substr(next, without_cr(text, next, more.end) - next);
    if (is_header(there) || begins_record(there, more.count)) return false;
    whole = {more.end, whole.count + more.count, more.has_newline};
  }
  // Rows that all have too few columns (of another header) are not tried as one name after the other.
  constexpr std::uint32_t kMostExtra = 24;
  if (whole.end - start > kMaxRecord || whole.count > delimiters_ + kMostExtra) return false;
  if (!plausible(text.substr(start, without_cr(text, start, whole.end) - start))) return false;
  line = whole;
  lines = taken;
  return true;
}

std::size_t SacctReader::split(std::string_view text, bool last, std::vector<RecordSpan>& records) const {
  const std::size_t already = records.size();
  std::size_t start = 0;
  // Where the record before ended, when the next line may still be a part of its last column.
  std::size_t open_end = std::string_view::npos;
  // Without the rest of the text the record before may not be whole either.
  const auto give_up = [&] {
    if (last_is_free_ && open_end != std::string_view::npos && records.size() > already) {
      start = records.back().offset;
      records.pop_back();
    }
    return start;
  };
  while (start < text.size()) {
    Line line = delimiter_.line(text, start);
    if (!line.has_newline && !last) return give_up();
    std::uint32_t lines = 1;
    const std::size_t first_end = without_cr(text, start, line.end);
    const std::string_view there = text.substr(start, first_end - start);
    if (there.empty()) {
      // No record begins with a blank line; inside one it is taken in with the line behind it, and at the end
      // of a log it means nothing.
      start = line.end + 1;
      continue;
    }
    if (line.count + 1 < columns_) {
      bool starved = false;
      if (!join(text, start, line, lines, last, starved)) {
        if (starved) return give_up();
        // Not the start of anything.  The rest of a text that goes over several lines, or else a torn row,
        // which the parse will refuse.
        RecordSpan* before = open_end != std::string_view::npos ? &records.back() : nullptr;
        const bool torn = line.count > 0 && fits(Shape::id, job_field(there, line.count));
        if (before != nullptr && last_is_free_ && !torn && before->lines < kMaxLines &&
            first_end - before->offset <= kMaxRecord) {
          before->length = static_cast<std::uint32_t>(first_end - before->offset);
          before->lines = 1 + static_cast<std::uint32_t>(
                                  std::count(text.data() + before->offset, text.data() + start, '\n'));
          start = line.end + 1;
          continue;
        }
      }
    } else if (is_header(there)) {  // logs put one behind another
      open_end = std::string_view::npos;
      start = line.end + 1;
      continue;
    }
    const std::size_t end = without_cr(text, start, line.end);
    const std::string_view record = text.substr(start, end - start);
    RecordSpan span;
    span.offset = start;
    span.length = static_cast<std::uint32_t>(record.size());
    span.lines = lines;
    // Without the cluster: the rows of steps may lack it where those of jobs have it, and the merge keeps
    // jobs of two clusters apart.
    span.job = hash_job({}, job_part(job_field(record, line.count)));
    records.push_back(span);
    open_end = end;
    start = line.end + 1;
  }
  // With more to come, the lines behind the last record may belong to it.
  if (!last && last_is_free_ && open_end != std::string_view::npos && records.size() > already) {
    start = records.back().offset;
    records.pop_back();
    return start;
  }
  return text.size();
}

std::size_t SacctReader::find_start(std::string_view text) const {
  std::size_t start = text.find('\n');
  while (start != std::string_view::npos && ++start < text.size()) {
    const Line line = delimiter_.line(text, start);
    const std::string_view there = text.substr(start, without_cr(text, start, line.end) - start);
    if (line.has_newline && !is_header(there) && begins_record(there, line.count)) return start;
    start = line.has_newline ? line.end : std::string_view::npos;
  }
  return std::string_view::npos;
}

}  // namespace sickbay::workload::sacct
