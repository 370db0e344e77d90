// SPDX-License-Identifier: Apache-2.0
#include "workload/read/json_records.h"

#include <algorithm>
#include <limits>

#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// `at` is a quote; the offset behind the string's other one.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    at = text.find_first_of("\"\\", at);
    if (at == kNone) return kNone;
    if (text[at] == '"') return at + 1;
    ++at;  // what is escaped
  }
  return kNone;
}

// `at` is a '{' or '['; the offset behind the one that closes it.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    at = text.find_first_of("\"{}[]", at);
    if (at == kNone) return kNone;
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        if (at == kNone) return kNone;
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      default:
        if (depth <= 1) return at + 1;
        --depth;
    }
    ++at;
  }
  return kNone;
}

void add_span(std::string_view text, std::size_t begin, std::size_t end, std::vector<RecordSpan>& records) {
  RecordSpan span;
  span.offset = begin;
  span.length = static_cast<std::uint32_t>(
      std::min<std::size_t>(end - begin, std::numeric_limits<std::uint32_t>::max()));
  const auto record = text.substr(begin, end - begin);
  span.lines = 1 + static_cast<std::uint32_t>(std::count(record.begin(), record.end(), '\n'));
  if (record.size() <= kMaxRecord) {
    auto cluster = own_member(record, "cluster");
    if (cluster.size() >= 2) cluster = cluster.substr(1, cluster.size() - 2);
    span.job = hash_job(cluster, own_member(record, "job_id"));
  }
  records.push_back(span);
}

}  // namespace

std::size_t find_jobs(std::string_view text, std::size_t at) {
  while (true) {
    at = text.find('"', at);
    if (at == kNone) return kNone;
    const std::size_t end = end_of_string(text, at);
    if (end == kNone) return kNone;
    const bool named = text.substr(at, end - at) == "\"jobs\"";
    at = end;
    if (!named) continue;
    std::size_t next = skip_blanks(text, at);
    if (next >= text.size() || text[next] != ':') continue;
    next = skip_blanks(text, next + 1);
    if (next < text.size() && text[next] == '[') return next + 1;
  }
}

std::string_view own_member(std::string_view object, std::string_view key) {
  std::size_t at = skip_blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return {};
  ++at;
  while (true) {
    at = skip_blanks(object, at);
    if (at < object.size() && object[at] == ',') at = skip_blanks(object, at + 1);
    if (at >= object.size() || object[at] != '"') return {};
    const std::size_t name_end = end_of_string(object, at);
    if (name_end == kNone) return {};
    const auto name = object.substr(at + 1, name_end - at - 2);
    at = skip_blanks(object, name_end);
    if (at >= object.size() || object[at] != ':') return {};
    at = skip_blanks(object, at + 1);
    if (at >= object.size()) return {};
    std::size_t end = 0;
    if (object[at] == '"') {
      end = end_of_string(object, at);
    } else if (object[at] == '{' || object[at] == '[') {
      end = end_of_value(object, at);
    } else {
      end = std::min(object.find_first_of(",}", at), object.size());
    }
    if (end == kNone) return {};
    if (name == key) {
      auto value = object.substr(at, end - at);
      while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
      return value;
    }
    at = end;
  }
}

std::size_t split_jobs(std::string_view text, bool last, std::vector<RecordSpan>& records) {
  std::size_t at = 0;
  while (true) {
    const std::size_t from = at;
    while (at < text.size() && (is_blank(text[at]) || text[at] == ',')) ++at;
    if (at == text.size()) return at;
    if (text[at] == ']' || text[at] == '}') {
      // The array ends.  Behind it there is a little, or another output.
      const std::size_t next = find_jobs(text, at);
      if (next == kNone) return last || text.size() - at > kMaxRecord ? text.size() : from;
      at = next;
      continue;
    }
    std::size_t end = text[at] == '{' ? end_of_value(text, at) : kNone;
    if (text[at] != '{') {
      // No object: up to the next one, as a record that will be rejected.
      end = text.find('{', at);
      if (end == kNone && !last && text.size() - at <= kMaxRecord) return from;
    } else if (end == kNone && !last && text.size() - at <= kMaxRecord) {
      return from;
    }
    if (end == kNone) end = text.size();
    add_span(text, at, end, records);
    at = end;
  }
}

}  // namespace sickbay::workload
