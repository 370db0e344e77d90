// SPDX-License-Identifier: Apache-2.0
// Opening sacct's text: its delimiter, its columns, and what is done with each.
#include "workload/read/read_sacct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "workload/read/formats.h"

namespace sickbay::workload {
namespace sacct {
namespace {

// Of the texts that users write, those that hold a '|' most often first.
constexpr std::string_view kFreeFirst[] = {"SubmitLine", "JobName", "Comment", "Constraints", "WorkDir"};

std::size_t free_order(const Column& column) {
  const auto* found = std::find(std::begin(kFreeFirst), std::end(kFreeFirst), column.name);
  return static_cast<std::size_t>(found - std::begin(kFreeFirst));
}

// What columns are named with, sacct's and those that sites add; everything else may be a delimiter.
bool is_name_byte(char c) {
  const char lower = to_lower(c);
  return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '%';
}

std::vector<std::string> pieces(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> all;
  while (true) {
    const std::size_t end = text.find(delimiter);
    all.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + delimiter.size());
  }
}

std::string_view header_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Lines that sacct wrote to its standard error and somebody's "2>&1" put before the header.
std::size_t preamble(std::string_view head, std::uint32_t& lines) {
  std::size_t at = 0;
  while (head.substr(at).starts_with("sacct: ") || head.substr(at).starts_with("slurm_load_")) {
    const std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
    ++lines;
  }
  return at;
}

bool is_job_column(std::string_view name) {
  const Column* column = find_column(name);
  return column != nullptr && (column->op == Op::job_id || column->op == Op::job_id_raw);
}

// The names of a header, and whether it is one: every piece is a word, at least half of them sacct's own.
bool read_header(std::string_view line, std::string_view delimiter, Layout& layout) {
  layout.names = pieces(line, delimiter);
  layout.trailing = layout.names.size() > 1 && layout.names.back().empty();
  if (layout.trailing) layout.names.pop_back();
  std::size_t known = 0;
  for (const std::string& name : layout.names) {
    if (name.empty()) return false;
    known += find_column(name) != nullptr ? 1 : 0;
  }
  layout.delimiter = delimiter;
  layout.header = line;
  return known * 2 >= layout.names.size() && known >= (layout.names.size() > 1 ? 2U : 1U);
}

// A header whose delimiter nobody has said: what stands between its first name and the second.
bool find_header(std::string_view line, const ReadOptions& options, Layout& layout) {
  if (!options.delimiter.empty()) return read_header(line, options.delimiter, layout);
  std::size_t begin = 0;
  while (begin < line.size() && is_name_byte(line[begin])) ++begin;
  if (begin == 0) return false;
  std::size_t end = begin;
  while (end < line.size() && !is_name_byte(line[end])) ++end;
  if (begin == line.size()) {  // one column: the delimiter does not matter, but there must be one
    return is_job_column(line) && read_header(line, "|", layout);
  }
  const std::string_view delimiter = line.substr(begin, end - begin);
  // Commas and tabs are CSV's, and blanks are those of sacct's own layout, unless somebody says otherwise.
  const bool blank = trimmed(delimiter).empty();
  if (options.format == "sacct" ? blank && delimiter != "\t" : blank || delimiter == "," || delimiter == ";")
    return false;
  return read_header(line, delimiter, layout);
}

// The layout of a log without header: columns as said, and the delimiter that makes so many of the first row.
Result<Layout> layout_of(std::string_view row, const ReadOptions& options) {
  Layout layout;
  layout.names = options.columns;
  const auto fits_row = [&](std::string_view delimiter) {
    const std::size_t n = pieces(row, delimiter).size();
    layout.trailing = n == layout.names.size() + 1 && row.ends_with(delimiter);
    return n == layout.names.size() || layout.trailing;
  };
  std::vector<std::string> delimiters = {"|", "\xE2\x98\x83", "\t",   ";", "^", "~", "@",
                                         "!", "\x01",         "\x1f", ","};
  if (!options.delimiter.empty()) delimiters = {options.delimiter};
  for (const std::string& delimiter : delimiters) {
    if (!fits_row(delimiter)) continue;
    layout.delimiter = delimiter;
    return layout;
  }
  const std::string& first = delimiters.front();
  return fail(Error(ErrorCode::bad_input,
                    fmt::format("--columns names {} columns, and the first row has {} between {}: {}",
                                layout.names.size(), pieces(row, first).size(), quote_for_message(first),
                                quote_for_message(row)))
                  .remedied_by(options.delimiter.empty()
                                   ? "name each column of the log in its order, or say its --delimiter"
                                   : "name each column of the log in its order"));
}

// What Open XDMoD's slurm helper asks sacct for, without a header: sites keep such logs for years.
constexpr auto kXdmod = std::to_array<std::string_view>(
    {"JobID", "JobIDRaw", "Cluster",  "Partition", "QOS",       "Account",   "Group",    "GID",    "User",
     "UID",   "Submit",   "Eligible", "Start",     "End",       "Elapsed",   "ExitCode", "State",  "NNodes",
     "NCPUS", "ReqCPUS",  "ReqMem",   "ReqTRES",   "AllocTRES", "Timelimit", "NodeList", "JobName"});
constexpr std::size_t kXdmodTimes = 10, kXdmodElapsed = 14;  // Submit to End; then a run time

// 26 columns with four times in the place of theirs are no other log.
bool is_xdmod_row(std::string_view row) {
  const auto fields = pieces(row, "|");
  if (fields.size() != kXdmod.size() || fields[0].empty() || !is_digit(fields[0].front())) return false;
  const auto is_time = [](std::string_view text) {
    return text == "Unknown" || text == "None" ||
           (text.size() == 19 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':');
  };
  return std::all_of(fields.begin() + kXdmodTimes, fields.begin() + kXdmodElapsed, is_time) &&
         fields[kXdmodTimes].size() == 19 && fields[kXdmodElapsed].find(':') != std::string_view::npos;
}

std::string fields_text(const std::vector<std::string>& names) {
  return names.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

SacctReader::SacctReader(Layout layout, TimeZone zone, std::string cluster)
    : layout_(std::move(layout)),
      delimiter_(layout_.delimiter),
      zone_(std::move(zone)),
      cluster_(std::move(cluster)),
      columns_(layout_.names.size()),
      delimiters_(static_cast<std::uint32_t>(columns_ - (layout_.trailing ? 0 : 1))),
      job_column_(0) {
  struct Wanted {
    std::uint16_t index;
    const Column* column;
  };
  std::vector<Wanted> wanted, free;
  int job_rank = 0;
  for (std::uint16_t i = 0; i < columns_; ++i) {
    const Column* column = find_column(layout_.names[i]);
    if (column == nullptr) continue;
    // A column that is printed twice is read once.
    const bool again =
        std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.column == column; });
    if (column->op != Op::none && !again) wanted.push_back({i, column});
    if (is_hard(column->shape))
      hard_.push_back({i, column->shape});
    else if (column->shape != Shape::any && column->shape != Shape::free)
      soft_.push_back({i, column->shape});
    if (is_free(column->shape)) free.push_back({i, column});
    const int rank = column->op == Op::job_id ? 2 : column->op == Op::job_id_raw ? 1 : 0;
    if (rank > job_rank) {
      job_rank = rank;
      job_column_ = i;
    }
  }
  std::stable_sort(free.begin(), free.end(), [](const Wanted& a, const Wanted& b) {
    return free_order(*a.column) < free_order(*b.column);
  });
  for (const Wanted& w : free) {
    free_.push_back(w.index);
    last_is_free_ |= w.index + 1U == columns_;
    free_before_job_ |= w.index < job_column_;
  }
  // The job first, since the raw id asks whether there is another; then by rank, each in the row's order.
  std::stable_sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    const auto order = [](const Wanted& w) { return w.column->op == Op::job_id ? 255 : int{w.column->rank}; };
    return order(a) > order(b);
  });
  for (const Wanted& w : wanted) {
    const bool is_num = !is_text(w.column->op) && w.column->op < Op::req_mem && w.column->op > Op::job_id_raw;
    const bool again = is_num && std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
                         return !is_text(step.op) && step.op < Op::req_mem && step.op > Op::job_id_raw &&
                                step.field == w.column->field;
                       });
    steps_.push_back({w.index, w.column->op, w.column->field, again});
  }
}

FieldSet SacctReader::fields() const {
  FieldSet all = FieldSet::of(Num::flaws, Num::repairs);
  if (!cluster_.empty()) all.add(Text::cluster);
  for (const Step& step : steps_) all.add(fields_of(*find_column(layout_.names[step.column])));
  return all;
}

std::string SacctReader::describe() const {
  // Fields by what feeds them: those that the log's columns can say, and the columns that it lacks.
  std::vector<std::string> has, lacks;
  for (const Column& column : columns()) {
    if (column.op == Op::none) continue;
    const bool there = std::any_of(layout_.names.begin(), layout_.names.end(),
                                   [&](const std::string& name) { return find_column(name) == &column; });
    const bool by_another =
        std::any_of(layout_.names.begin(), layout_.names.end(), [&](const std::string& name) {
          const Column* other = find_column(name);
          const bool counts = column.op > Op::job_id_raw && column.op < Op::req_mem && !is_text(column.op);
          return other != nullptr && counts && other->op > Op::job_id_raw && other->op < Op::req_mem &&
                 !is_text(other->op) && other->field == column.field;
        });
    if (there)
      has.emplace_back(column.name);
    else if (!by_another)
      lacks.emplace_back(column.name);
  }
  return fmt::format("sacct -P with {}; it lacks {}", fields_text(has), fields_text(lacks));
}

}  // namespace sacct

bool looks_like_sacct(std::string_view head, const ReadOptions& options) {
  if (!options.columns.empty()) return true;
  std::uint32_t lines = 0;
  head.remove_prefix(sacct::preamble(head, lines));
  sacct::Layout layout;
  const std::string_view line = sacct::header_line(head);
  return sacct::find_header(line, options, layout) || sacct::is_xdmod_row(line);
}

Result<OpenedReader> open_sacct(std::string_view head, bool /*whole_file*/, const ReadOptions& options) {
  using namespace sacct;
  OpenedReader opened;
  opened.format = "sacct";
  const std::size_t before = preamble(head, opened.header_lines);
  const std::string_view rest = head.substr(before);
  const std::string_view line = header_line(rest);
  Layout layout;
  opened.header_bytes = before;
  if (find_header(line, options, layout)) {
    // --columns beside a header: the header is the log's own word.
    const std::size_t end = rest.find('\n');
    opened.header_bytes += end == std::string_view::npos ? rest.size() : end + 1;
    ++opened.header_lines;
    if (!options.columns.empty()) opened.notes.emplace_back("the log has a header; --columns was not needed");
  } else if (!options.columns.empty() || is_xdmod_row(line)) {
    ReadOptions named = options;
    if (named.columns.empty()) {
      named.columns.assign(kXdmod.begin(), kXdmod.end());
      opened.notes.emplace_back(
          "The log has no header; its columns are those that Open XDMoD asks sacct for.");
    }
    auto made = layout_of(line, named);
    if (!made) return fail(std::move(made).error());
    layout = *std::move(made);
  } else {
    return fail(
        Error(ErrorCode::bad_input,
              fmt::format("the first row is no header of sacct: {}", quote_for_message(line)))
            .remedied_by(
                "print the log without -n, or name its columns in their order with --columns; JobID or "
                "JobIDRaw is needed, Submit, Start, End, State, User and AllocCPUS for most reports"));
  }
  const auto has_job = std::any_of(layout.names.begin(), layout.names.end(), is_job_column);
  if (!has_job)
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("the log has neither JobID nor JobIDRaw, only {}",
                                  quote_for_message(fmt::format("{}", fmt::join(layout.names, "|")), 200)))
                    .because("without it no row can be put to its job")
                    .remedied_by("print it with sacct --format=JobID,..."));
  if (layout.names.size() > kMaxColumns)
    return fail(Error(ErrorCode::bad_input, fmt::format("the log has {} columns", layout.names.size()))
                    .remedied_by(fmt::format("print at most {}", kMaxColumns)));
  auto zone = TimeZone::make(options.time_zone);
  if (!zone) return fail(std::move(zone).error());

  std::vector<std::string> unknown;
  for (const std::string& name : layout.names)
    if (find_column(name) == nullptr) unknown.push_back(quote_for_message(name));
  if (!unknown.empty())
    opened.notes.push_back(
        fmt::format("columns that sacct does not have are left out: {}", fmt::join(unknown, ", ")));
  const auto lacks = [&](std::string_view name) {
    return std::none_of(layout.names.begin(), layout.names.end(),
                        [&](const std::string& n) { return find_column(n) == find_column(name); });
  };
  if (lacks("Submit"))
    opened.notes.emplace_back("there is no Submit: jobs that had the same id at two times become one");
  if (lacks("State")) opened.notes.emplace_back("there is no State: how jobs ended is not known");
  opened.reader = std::make_unique<SacctReader>(std::move(layout), *std::move(zone), options.cluster);
  return opened;
}

}  // namespace sickbay::workload
