// SPDX-License-Identifier: Apache-2.0
// What every reader of an accounting format owes for every file, for the fuzz targets of the readers.
#pragma once
#include <string>
#include <vector>

#include "property.h"
#include "workload/job/values.h"
#include "workload/read/formats.h"

namespace sickbay::fuzz {

using OpenReader = Result<workload::OpenedReader>(std::string_view head, bool whole_file,
                                                  const workload::ReadOptions& options);

/// All spans lie in the text, one behind the other.
inline void check_spans(std::string_view text, const std::vector<workload::RecordSpan>& spans) {
  std::uint64_t end = 0;
  for (const auto& span : spans) {
    SB_CHECK(span.offset >= end && span.offset + span.length <= text.size(),
             "records lie one behind the other");
    SB_CHECK(span.lines >= 1, "a record takes up a line");
    end = span.offset + span.length;
  }
}

/// Opens `text` with `open` and reads all of it, in one piece and in two.
inline void check_reader(OpenReader* open, std::string_view text, const workload::ReadOptions& options) {
  using namespace workload;
  auto opened = open(text, true, options);
  if (!opened) return check_refusal(opened.error());
  SB_CHECK(opened->header_bytes <= text.size(), "the header is in the file");
  const Reader& reader = *opened->reader;
  SB_CHECK(!reader.describe().empty(), "a reader says what it has");
  text.remove_prefix(opened->header_bytes);

  std::vector<RecordSpan> spans, first, second;
  SB_CHECK(reader.split(text, true, spans) == text.size(), "the last piece is used up");
  check_spans(text, spans);
  const auto half = text.substr(0, text.size() / 2);
  const std::size_t used = reader.split(half, false, first);
  SB_CHECK(used <= half.size(), "no more is used than is there");
  check_spans(half, first);
  reader.split(text.substr(used), true, second);
  SB_CHECK(first.size() + second.size() == spans.size(), "cutting changes no record");
  for (auto& span : second) span.offset += used;
  first.insert(first.end(), second.begin(), second.end());
  for (std::size_t i = 0; i < spans.size(); ++i)
    SB_CHECK(first[i].offset == spans[i].offset && first[i].length == spans[i].length &&
                 first[i].job == spans[i].job && first[i].lines == spans[i].lines,
             "cutting changes no record");
  if (const std::size_t start = reader.find_start(text); start != std::string_view::npos)
    SB_CHECK(start <= text.size(), "a start lies in the text");

  Arena arena;
  Rows rows;
  for (const auto& span : spans) {
    std::string reason;
    const std::size_t before = rows.size();
    const bool good = reader.parse(text.substr(span.offset, span.length), arena, rows, reason);
    SB_CHECK(good || rows.size() == before, "a rejected record gives no row");
    SB_CHECK(good || !reason.empty(), "a rejection has its reason");
    SB_CHECK(is_printable(reason) && reason.size() < 1000, "a reason is one printable line");
    for (std::size_t i = before; i < rows.size(); ++i) {
      const Row& row = rows[i];
      SB_CHECK(!row.get(Text::job_id).empty(), "a row has a job");
      SB_CHECK(reader.fields().has_all(row.fields()), "a reader tells of all fields that it sets");
      const bool is_of_job =
          row.kind == RowKind::job || row.kind == RowKind::part || row.kind == RowKind::rerun;
      SB_CHECK(is_of_job == !row.has(Text::step), "a step has its name");
      for (const auto& field : kTextFields) {
        bool mended = false;
        valid_utf8(row.get(field.field), arena, mended);
        SB_CHECK(!mended, "texts are UTF-8");
      }
    }
    if (rows.size() > 1000) rows.clear();
  }
}

}  // namespace sickbay::fuzz
