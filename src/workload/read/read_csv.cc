// SPDX-License-Identifier: Apache-2.0
// CSV (RFC 4180) with a header: commas, semicolons, tabs or '|' between fields, which may stand in double
// quotes, with delimiters, newlines and doubled quotes in them.
//
// Columns are found by their names (csv_columns.cc) or by a map.  A quote that is never closed would swallow
// the rest of the log: one that is still open after a megabyte is taken for a fault of its line alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "workload/read/csv_columns.h"
#include "workload/read/formats.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kMaxQuoted = std::size_t{1} << 20;
constexpr std::size_t kMaxHeader = 4096;  // names; more is no header of jobs
constexpr std::size_t kNowhere = std::string_view::npos;

// The end of the record that begins at `at` (the offset of its newline, or the text's size); `open`: it ends
// within quotes.
std::size_t end_of_record(std::string_view text, std::size_t at, char delimiter, bool& open) {
  const std::size_t most = text.size() - at > kMaxQuoted ? at + kMaxQuoted : text.size();
  open = false;
  bool begins = true;  // a field begins here
  while (true) {
    if (begins && at < text.size() && text[at] == '"') {
      // To the quote that is not doubled.
      ++at;
      while (true) {
        at = text.substr(0, most).find('"', std::min(at, most));
        if (at == kNowhere) {
          open = true;
          return text.size();
        }
        if (at + 1 >= text.size() || text[at + 1] != '"') break;
        at += 2;
      }
      ++at;
    }
    while (at < text.size() && text[at] != '\n' && text[at] != delimiter) ++at;
    if (at >= text.size() || text[at] == '\n') return std::min(at, text.size());
    ++at;
    begins = true;
  }
}

// Cuts a record; fields with quotes are unquoted into `arena`.  False: a quote is not closed, or something
// stands behind it.
bool cut_fields(std::string_view record, char delimiter, Arena& arena,
                std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t at = 0;;) {
    if (at < record.size() && record[at] == '"') {
      char* const begin = arena.take(record.size() - at);
      char* p = begin;
      for (++at;; ++at) {
        if (at >= record.size()) return false;
        if (record[at] == '"') {
          if (at + 1 >= record.size() || record[at + 1] != '"') break;
          ++at;
        }
        *p++ = record[at];
      }
      ++at;
      fields.emplace_back(begin, static_cast<std::size_t>(p - begin));
      while (at < record.size() && record[at] == ' ') ++at;
      if (at < record.size() && record[at] != delimiter) return false;
    } else {
      const std::size_t end = std::min(record.find(delimiter, at), record.size());
      fields.push_back(record.substr(at, end - at));
      at = end;
    }
    if (at >= record.size()) return true;
    ++at;
  }
}

class CsvReader : public Reader {
 public:
  CsvReader(char delimiter, std::size_t columns, std::vector<CsvColumn> wanted, TimeZone zone,
            std::string cluster)
      : delimiter_(delimiter),
        columns_(columns),
        wanted_(std::move(wanted)),
        rows_(mapped(wanted_), std::move(zone), cluster),
        cluster_(std::move(cluster)) {}

  std::size_t split(std::string_view text, bool last, std::vector<RecordSpan>& records) const override;
  // A newline may stand between quotes: no place is sure.
  std::size_t find_start(std::string_view) const override { return kNowhere; }
  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  FieldSet fields() const override { return rows_.fields(); }
  std::string describe() const override { return rows_.describe(); }

 private:
  static std::vector<MappedColumn> mapped(const std::vector<CsvColumn>& wanted) {
    std::vector<MappedColumn> all;
    for (const CsvColumn& column : wanted) all.push_back(column.mapped);
    return all;
  }
  std::vector<std::string_view>& wanted_fields(const std::vector<std::string_view>& fields) const {
    thread_local std::vector<std::string_view> wanted;
    wanted.clear();
    for (const CsvColumn& column : wanted_)
      wanted.push_back(column.index < fields.size() ? fields[column.index] : std::string_view());
    return wanted;
  }

  char delimiter_;
  std::size_t columns_;
  std::vector<CsvColumn> wanted_;
  RowsOfColumns rows_;
  std::string cluster_;
};

std::size_t CsvReader::split(std::string_view text, bool last, std::vector<RecordSpan>& records) const {
  thread_local Arena arena;
  thread_local std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (at < text.size()) {
    bool open = false;
    std::size_t end = end_of_record(text, at, delimiter_, open);
    if (open) {
      if (!last && text.size() - at <= kMaxQuoted) break;
      end = std::min(text.find('\n', at), text.size());  // the fault of its first line
    }
    if (end == text.size() && !last && text.size() - at <= kMaxRecord) break;
    std::string_view record = text.substr(at, end - at);
    RecordSpan span;
    span.offset = at;
    at = end < text.size() ? end + 1 : end;
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (trimmed(record).empty()) continue;
    span.length = static_cast<std::uint32_t>(std::min<std::size_t>(record.size(), UINT32_MAX));
    span.lines = 1 + static_cast<std::uint32_t>(std::count(record.begin(), record.end(), '\n'));
    arena.clear();
    if (record.size() <= kMaxRecord && cut_fields(record, delimiter_, arena, fields))
      span.job = hash_job(cluster_, job_part(rows_.job_id(wanted_fields(fields))));
    records.push_back(span);
  }
  return at;
}

bool CsvReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  thread_local std::vector<std::string_view> fields;
  if (!cut_fields(record, delimiter_, arena, fields)) {
    reason = fmt::format("a quote is not closed, or not before a delimiter: {}", quote_for_message(record));
    return false;
  }
  // A delimiter at the end of each line is no column.
  if (fields.size() == columns_ + 1 && fields.back().empty()) fields.pop_back();
  if (fields.size() != columns_) {
    reason = fmt::format("has {} columns, and the header has {}", fields.size(), columns_);
    return false;
  }
  return rows_.parse(wanted_fields(fields), arena, rows, reason);
}

struct Header {
  char delimiter = 0;
  std::vector<std::string> names;
  std::size_t known = 0, bytes = 0;
  bool has_job = false;
};

// The first line, cut at the delimiter that gives the most names that are known.
Header find_header(std::string_view head, const ReadOptions& options) {
  Header best;
  Arena arena;
  std::vector<std::string_view> fields;
  std::string_view delimiters = ",;\t|";
  if (options.delimiter.size() == 1) delimiters = options.delimiter;
  for (const char delimiter : delimiters) {
    bool open = false;
    const std::size_t end = end_of_record(head, 0, delimiter, open);
    auto line = head.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    arena.clear();
    if (open || !cut_fields(line, delimiter, arena, fields) || fields.size() > kMaxHeader) continue;
    Header header;
    header.delimiter = delimiter;
    header.bytes = std::min(end + 1, head.size());
    for (const auto field : fields) {
      header.names.emplace_back(trimmed(field));
      const auto column = known_column(field);
      header.known += column.sacct.empty() ? 0 : 1;
      header.has_job = header.has_job || column.sacct == "JobID" || column.sacct == "JobIDRaw";
    }
    while (header.names.size() > 1 && header.names.back().empty()) header.names.pop_back();
    if (best.delimiter == 0 || header.known > best.known ||
        (header.known == best.known && header.names.size() > best.names.size()))
      best = std::move(header);
  }
  return best;
}

}  // namespace

bool looks_like_csv(std::string_view head, const ReadOptions& options) {
  const Header header = find_header(head, options);
  // A map says that it is CSV; else a header must be one for sure.
  if (!options.column_map.empty()) return header.names.size() > 1;
  return header.has_job && header.known >= 2 && header.known * 3 >= header.names.size();
}

Result<OpenedReader> open_csv(std::string_view head, bool, const ReadOptions& options) {
  const Header header = find_header(head, options);
  if (header.delimiter == 0)
    return fail(Error(ErrorCode::bad_input, fmt::format("the first line is no header of CSV: {}",
                                                        quote_for_message(trimmed(first_line(head)))))
                    .remedied_by("put a line with the names of the columns before the first row"));
  auto wanted = csv_columns(header.names, options.column_map);
  if (!wanted) return fail(std::move(wanted.error()));
  if (wanted->size() > sacct::kMaxColumns)
    return fail(Error(ErrorCode::bad_input, fmt::format("the log has {} known columns", wanted->size()))
                    .remedied_by(fmt::format("name at most {} in a map of columns", sacct::kMaxColumns)));
  auto zone = TimeZone::make(options.time_zone);
  if (!zone) return fail(std::move(zone.error()));
  OpenedReader opened;
  opened.format = "csv";
  opened.header_bytes = header.bytes;
  const auto lines = head.substr(0, header.bytes);
  opened.header_lines = static_cast<std::uint32_t>(std::count(lines.begin(), lines.end(), '\n'));
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < header.names.size(); ++i)
    if (std::none_of(wanted->begin(), wanted->end(), [&](const CsvColumn& c) { return c.index == i; }) &&
        known_column(header.names[i]).sacct.empty())
      unknown.push_back(quote_for_message(header.names[i]));
  constexpr std::size_t kShown = 20;
  if (unknown.size() > kShown) {
    unknown.resize(kShown);
    unknown.emplace_back("...");
  }
  if (!unknown.empty())
    opened.notes.push_back(
        fmt::format("Columns that are not known are left out: {}.  A map of columns can name them.",
                    fmt::join(unknown, ", ")));
  opened.reader = std::make_unique<CsvReader>(header.delimiter, header.names.size(), *std::move(wanted),
                                              std::move(*zone), options.cluster);
  return opened;
}

}  // namespace sickbay::workload
