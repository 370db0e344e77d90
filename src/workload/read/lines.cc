// SPDX-License-Identifier: Apache-2.0
#include "workload/read/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace sickbay::workload {

bool fit_to_read(std::string_view record, std::string& reason) {
  if (record.size() > kMaxRecord) {
    reason = fmt::format("the record is {} bytes long, and none may be over {}", record.size(), kMaxRecord);
    return false;
  }
  if (const std::size_t at = record.find('\0'); at != std::string_view::npos) {
    reason = fmt::format("byte {} of the record is NUL: the file has a hole or is no text", at + 1);
    return false;
  }
  return true;
}

std::size_t LineReader::split(std::string_view text, bool last, std::vector<RecordSpan>& records) const {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    std::size_t next = end + 1;
    if (end == std::string_view::npos) {
      // A line without an end is cut off where it is beyond reading, so that no file can make us hold more.
      if (!last && text.size() - at <= kMaxRecord) break;
      end = next = text.size();
    }
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    RecordSpan span;
    span.offset = at;
    at = next;
    if (trimmed(line).empty()) continue;
    if (line.size() <= kMaxRecord) {
      if (!is_record(line, span.job)) continue;
    }
    span.length = static_cast<std::uint32_t>(
        std::min<std::size_t>(line.size(), std::numeric_limits<std::uint32_t>::max()));
    records.push_back(span);
  }
  return at;
}

std::size_t LineReader::find_start(std::string_view text) const {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? end : end + 1;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string_view first_line(std::string_view text) {
  while (!text.empty())
    if (const auto line = take_line(text); !trimmed(line).empty()) return line;
  return {};
}

std::string_view take_word(std::string_view& text) {
  std::size_t begin = 0;
  while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  std::size_t end = begin;
  while (end < text.size() && text[end] != ' ' && text[end] != '\t') ++end;
  const auto word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

void set_text(Row& row, Text field, std::string_view text, Arena& arena) {
  text = trimmed(text);
  if (is_absent(text)) return;
  bool mended = false;
  row.set(field, valid_utf8(text, arena, mended));
  if (mended) row.add_bits(Num::repairs, bit(Repair::bad_utf8));
}

}  // namespace sickbay::workload
