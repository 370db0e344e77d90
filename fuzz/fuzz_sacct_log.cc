// SPDX-License-Identifier: Apache-2.0
// Logs of sacct -P: the fast reader and the slow one agree, and records are where they are for every way to
// cut the log.
//
// The first byte of the input chooses header and delimiter, the second how the log is cut; the rest is the
// log.  With the first byte at 'h' the log brings its own header.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "property.h"
#include "workload/read/read_sacct_test_parts.h"

namespace {

using namespace sickbay;
using namespace sickbay::workload;

const std::vector<std::string> kHeaders[] = {
    {"JobID", "JobName", "State", "Submit", "NCPUS", "SubmitLine"},
    {"JobName", "JobID", "Comment", "Start", "Elapsed", "ReqMem", "WorkDir", "MaxRSS"},
    {"JobIDRaw", "State", "Timelimit", "TotalCPU", "ExitCode", "AllocTRES", "TRESUsageInTot", "Constraints"},
};
const std::string kDelimiters[] = {"|", "\xE2\x98\x83", "||"};

void check_row(std::string_view record, const Reader& reader, const std::vector<std::string>& names,
               std::string_view delimiter) {
  Arena arena;
  Rows rows;
  std::string reason;
  const bool fast = reader.parse(record, arena, rows, reason);
  SB_CHECK(rows.size() == (fast ? 1 : 0) && fast == reason.empty(), "a row, or a reason");
  SB_CHECK(reason.size() < 400, "a reason is short");
  bool mended = false;
  if (fast) {
    for (const TextField& f : kTextFields) valid_utf8(rows[0].get(f.field), arena, mended);
    SB_CHECK(!mended, "every text is UTF-8");
    SB_CHECK(reader.fields().has_all(rows[0].fields()), "a reader tells of all fields that it sets");
  }
  // The slow reader knows rows with all their delimiters and no others.
  if (names.empty()) return;
  const auto texts = reference::split_row(record, delimiter);
  if (texts.size() != names.size()) return;
  const auto slow = reference::SlowRow::read(names, texts);
  if (!fast) {
    SB_CHECK(!slow, "what is refused is refused by both");
    return;
  }
  // What is wrong in a list of TRES the two skip differently; and the slow one knows fewer forms of times.
  if ((rows[0].get(Num::flaws) & bit(Flaw::bad_value)) != 0 || !slow || slow->contains("unsure")) return;
  auto fields = reference::fields_of(rows[0]);
  fields.erase("repairs");
  auto expected = *slow;
  expected.erase("repairs");
  SB_CHECK(fields == expected, "both read the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input = fuzz::as_text(bytes + 2, size - 2);
  std::string log;
  std::vector<std::string> names;
  std::string delimiter;
  if (bytes[0] != 'h') {
    names = kHeaders[bytes[0] % std::size(kHeaders)];
    delimiter = kDelimiters[bytes[0] / 16 % std::size(kDelimiters)];
    log = fmt::format("{}\n", fmt::join(names, delimiter));
  }
  log += input;
  ReadOptions options;
  options.format = "sacct";
  auto opened = open_reader(log, true, options);
  if (!opened) {
    SB_CHECK(names.empty(), "our own header opens");
    fuzz::check_refusal(opened.error());
    return 0;
  }
  const Reader& reader = *opened->reader;
  const std::string_view body = std::string_view(log).substr(opened->header_bytes);
  std::vector<RecordSpan> whole;
  SB_CHECK(reader.split(body, true, whole) == body.size(), "all is used up");
  std::size_t end = 0;
  for (const RecordSpan& span : whole) {
    SB_CHECK(span.offset >= end && span.offset + span.length <= body.size(), "records follow each other");
    end = span.offset + span.length;
    check_row(body.substr(span.offset, span.length), reader, names, delimiter);
  }
  // The same records in pieces.
  std::vector<RecordSpan> pieces;
  std::size_t length = 1 + bytes[1];
  for (std::size_t start = 0; start < body.size();) {
    const std::size_t before = pieces.size();
    const std::size_t used = reader.split(body.substr(start, length), start + length >= body.size(), pieces);
    for (std::size_t i = before; i < pieces.size(); ++i) pieces[i].offset += start;
    start += used;
    if (used == 0) length *= 2;
  }
  SB_CHECK(pieces.size() == whole.size(), "pieces have the same records");
  for (std::size_t i = 0; i < whole.size(); ++i)
    SB_CHECK(pieces[i].offset == whole[i].offset && pieces[i].length == whole[i].length,
             "at the same places");
  // And from a start found in the middle.
  const std::size_t from = body.size() * bytes[1] / 256, found = reader.find_start(body.substr(from));
  if (found != std::string_view::npos)
    SB_CHECK(std::any_of(whole.begin(), whole.end(),
                         [&](const RecordSpan& span) { return span.offset == from + found; }),
             "a found start is one");
  return 0;
}
