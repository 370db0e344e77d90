// SPDX-License-Identifier: Apache-2.0
#include "workload/read/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/spelling.h"
#include "base/text.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// clang-format off
// A format whose files begin in a way of their own stands before one that is known by its shape only.
constexpr auto kFormats = std::to_array<Format>({
    {"sacct-json", "sacct --json of Slurm 21.08 and later", looks_like_sacct_json, open_sacct_json},
    {"pbs", "the accounting logs of PBS Pro and OpenPBS", looks_like_pbs, open_pbs},
    {"torque", "the accounting logs of TORQUE", looks_like_torque, open_torque},
    {"lsf", "LSF's lsb.acct", looks_like_lsf, open_lsf},
    {"sge", "Grid Engine's accounting file", looks_like_sge, open_sge},
    {"sacct-fixed", "sacct without -P: columns of fixed width", looks_like_sacct_fixed, open_sacct_fixed},
    {"sacct", "sacct -P or -p, with its header", looks_like_sacct, open_sacct},
    {"csv", "CSV with a header: ',' ';' tab or '|', quotes, any names with a map", looks_like_csv, open_csv},
    {"swf", "the Standard Workload Format", looks_like_swf, open_swf},
});
// clang-format on

// A file without a byte: a day without jobs among other logs.
class EmptyReader : public LineReader {
 public:
  bool parse(std::string_view, Arena&, Rows&, std::string& reason) const override {
    reason = "the file was empty when it was opened";
    return false;
  }
  std::string describe() const override { return "nothing"; }
  FieldSet fields() const override { return {}; }

 protected:
  bool is_record(std::string_view, std::uint64_t&) const override { return true; }
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const Format& format : kFormats) names.push_back(format.name);
  return names;
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

OpenedReader open_empty() {
  OpenedReader opened;
  opened.format = "empty";
  opened.notes.emplace_back("The file is empty.");
  opened.reader = std::make_unique<EmptyReader>();
  return opened;
}

Result<OpenedReader> open_reader(std::string_view head, bool whole_file, const ReadOptions& options) {
  const std::size_t mark = head.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  head.remove_prefix(mark);
  const Format* found = nullptr;
  for (const Format& format : kFormats) {
    if (options.format.empty() ? format.looks_like(head, options) : format.name == options.format) {
      found = &format;
      break;
    }
  }
  if (found == nullptr && !options.format.empty()) {
    const std::string near = did_you_mean(options.format, format_names());
    return fail(Error(ErrorCode::bad_input, fmt::format("no format {}", quote_for_message(options.format)))
                    .remedied_by(near.empty()
                                     ? fmt::format("the formats are {}", fmt::join(format_names(), ", "))
                                     : fmt::format("did you mean '{}'?", near)));
  }
  if (found == nullptr) {
    if (trimmed(head).empty())
      return fail(Error(ErrorCode::bad_input, "the log is empty")
                      .remedied_by("give a log with at least a header; sacct prints only today's jobs unless "
                                   "--starttime says more"));
    const std::string_view first = head.substr(0, head.find('\n'));
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("no known format begins with {}", quote_for_message(trimmed(first))))
                    .because("it is no header of sacct -P, and has no sign of another format")
                    .remedied_by(fmt::format("print the log with sacct -P and without -n, or name its "
                                             "columns in their order with --columns "
                                             "(JobID or JobIDRaw is needed; Submit, Start, End, State, User, "
                                             "AllocCPUS and the like say the "
                                             "rest), or say --format: {}",
                                             fmt::join(format_names(), ", "))));
  }
  auto opened = found->open(head, whole_file, options);
  if (!opened) return opened;
  opened->format = found->name;
  opened->header_bytes += mark;
  return opened;
}

}  // namespace sickbay::workload
