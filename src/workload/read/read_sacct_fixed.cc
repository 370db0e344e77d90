// SPDX-License-Identifier: Apache-2.0
// sacct's own output, without -P: columns of fixed width, which the line of dashes below the header tells.
//
// sacct cuts what is wider than its column and puts a '+' there: the rest of a name is lost, and is said to
// be (Repair::text_cut).  Widths are those of sacct --format=JobName%30.  Some columns stand at the right and
// some at the left, so only the dashes tell where a column is.
#include <fmt/format.h>

#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/lines.h"
#include "workload/read/rows_of_columns.h"

namespace sickbay::workload {
namespace {

struct Width {
  std::size_t begin = 0, size = 0;
};

// "------------ ---------- ": at least one run of dashes, and nothing but dashes and blanks.
bool read_dashes(std::string_view line, std::vector<Width>& widths) {
  widths.clear();
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < line.size() && line[i] == '-') ++i;
    if (i == begin) return false;
    widths.push_back({begin, i - begin});
  }
  return !widths.empty() && line.find("--") != std::string_view::npos;
}

// One byte of a line's columns is one character: UTF-8 of several bytes counts as one.
class Cutter {
 public:
  explicit Cutter(std::string_view line) : line_(line) {
    for (const char c : line) plain_ = plain_ && static_cast<unsigned char>(c) < 0x80;
  }
  std::string_view cut(const Width& width) {
    if (plain_)
      return width.begin < line_.size() ? line_.substr(width.begin, width.size) : std::string_view();
    const std::size_t begin = byte_of(width.begin), end = byte_of(width.begin + width.size);
    return line_.substr(begin, end - begin);
  }

 private:
  std::size_t byte_of(std::size_t character) {
    while (character_ < character && byte_ < line_.size()) {
      ++byte_;
      while (byte_ < line_.size() && (static_cast<unsigned char>(line_[byte_]) & 0xc0) == 0x80) ++byte_;
      ++character_;
    }
    return byte_;
  }
  std::string_view line_;
  bool plain_ = true;
  std::size_t character_ = 0, byte_ = 0;
};

// Where the header and the dashes below it are; `widths` and `names` from them.
bool find_header(std::string_view head, std::vector<Width>& widths, std::vector<std::string>& names,
                 std::size_t& bytes, std::uint32_t& lines) {
  const std::size_t all = head.size();
  std::string_view header;
  for (lines = 0; !head.empty() && lines < 100;) {
    const auto line = take_line(head);
    ++lines;
    if (trimmed(line).empty()) continue;
    if (!read_dashes(line, widths)) {
      header = line;
      continue;
    }
    bytes = all - head.size();
    names.clear();
    Cutter cutter(header);
    for (const Width& width : widths) names.emplace_back(trimmed(cutter.cut(width)));
    for (const auto& name : names)
      if (const auto* column = sacct::find_column(name);
          column != nullptr && sacct::Shape::id == column->shape)
        return true;
    return false;
  }
  return false;
}

// A name that sacct cut in the header, too ("AllocCP+"): the only column that begins so.
std::string whole_name(const std::string& name) {
  if (name.size() < 4 || name.back() != '+') return name;
  const std::string_view head = std::string_view(name).substr(0, name.size() - 1);
  const sacct::Column* found = nullptr;
  for (const auto& column : sacct::columns()) {
    if (!equal_ignoring_case(column.name.substr(0, head.size()), head)) continue;
    if (found != nullptr) return name;
    found = &column;
  }
  return found == nullptr ? name : std::string(found->name);
}

class FixedReader : public LineReader {
 public:
  FixedReader(std::vector<Width> widths, const std::vector<MappedColumn>& columns, TimeZone zone,
              std::string cluster)
      : widths_(std::move(widths)), rows_(columns, std::move(zone), cluster), cluster_(std::move(cluster)) {
    // A '+' at the end of a word of Slurm's is read by parse_state and parse_job_id; elsewhere it is a loss.
    for (const auto& column : columns) {
      const auto* known = sacct::find_column(column.sacct);
      cut_matters_.push_back(known != nullptr && (sacct::is_free(known->shape) || sacct::is_text(known->op)));
    }
  }

  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override {
    if (!fit_to_read(record, reason)) return false;
    thread_local std::vector<std::string_view> fields;
    bool cut = false;
    fields.clear();
    Cutter cutter(record);
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const auto field = cutter.cut(widths_[i]);
      cut = cut || (cut_matters_[i] && field.size() >= widths_[i].size && field.back() == '+');
      fields.push_back(field);
    }
    if (!rows_.parse(fields, arena, rows, reason)) return false;
    if (cut) rows[rows.size() - 1].add_bits(Num::repairs, bit(Repair::text_cut));
    return true;
  }

  FieldSet fields() const override { return rows_.fields(); }

  std::string describe() const override {
    return rows_.describe() + "; names are cut at their column's width";
  }

 protected:
  bool is_record(std::string_view line, std::uint64_t& job) const override {
    // The header comes again where outputs were put one behind the other.
    std::vector<Width> again;
    if (line.front() == '-' && read_dashes(line, again)) return false;
    Cutter cutter(line);
    thread_local std::vector<std::string_view> fields;
    fields.clear();
    for (const Width& width : widths_) fields.push_back(cutter.cut(width));
    const auto id = rows_.job_id(fields);
    if (equal_ignoring_case(id, "JobID") || equal_ignoring_case(id, "JobIDRaw")) return false;
    job = hash_job(cluster_, job_part(id));
    return true;
  }

 private:
  std::vector<Width> widths_;
  RowsOfColumns rows_;
  std::string cluster_;
  std::vector<bool> cut_matters_;
};

}  // namespace

bool looks_like_sacct_fixed(std::string_view head, const ReadOptions&) {
  std::vector<Width> widths;
  std::vector<std::string> names;
  std::size_t bytes = 0;
  std::uint32_t lines = 0;
  return find_header(head.substr(0, 64 * 1024), widths, names, bytes, lines);
}

Result<OpenedReader> open_sacct_fixed(std::string_view head, bool, const ReadOptions& options) {
  std::vector<Width> widths;
  std::vector<std::string> names;
  OpenedReader opened;
  if (!find_header(head, widths, names, opened.header_bytes, opened.header_lines))
    return fail(
        Error(ErrorCode::bad_input, fmt::format("no header of sacct with a line of dashes below it: {}",
                                                quote_for_message(trimmed(first_line(head)))))
            .because("without the dashes nobody knows where a column begins and ends")
            .remedied_by("print the log again with sacct -P, which cuts nothing off"));
  auto zone = TimeZone::make(options.time_zone);
  if (!zone) return fail(std::move(zone.error()));
  std::vector<MappedColumn> columns;
  std::string narrow;
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns.push_back({whole_name(names[i]), Turn::none});
    const auto* known = sacct::find_column(columns.back().sacct);
    if (known != nullptr && sacct::is_text(known->op))
      narrow += fmt::format("{}{} at {}", narrow.empty() ? "" : ", ", known->name, widths[i].size);
  }
  opened.format = "sacct-fixed";
  opened.notes.push_back(
      narrow.empty()
          ? std::string("sacct cuts what is wider than its column; sacct -P cuts nothing.")
          : fmt::format("Texts are cut, and their rest is lost: {} characters.  sacct -P cuts nothing.",
                        narrow));
  opened.reader =
      std::make_unique<FixedReader>(std::move(widths), columns, std::move(*zone), options.cluster);
  return opened;
}

}  // namespace sickbay::workload
