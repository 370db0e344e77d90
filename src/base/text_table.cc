// SPDX-License-Identifier: Apache-2.0
#include "base/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/text.h"

namespace sickbay {
namespace {

constexpr int kGap = 2;        // blanks between columns
constexpr int kNarrowest = 8;  // a wrapping column is not made narrower than this

struct CodeRange {
  char32_t first, last;
};
// The blocks that matter: combining signs (Unicode 15, general categories Mn and Cf), and East Asian Width W.
constexpr CodeRange kZeroWidth[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                    {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                    {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
constexpr CodeRange kDoubleWidth[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},  {0x4e00, 0x9fff},
    {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe4f},  {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

bool in_any(std::span<const CodeRange> ranges, char32_t code) {
  return std::ranges::any_of(ranges, [&](const CodeRange& r) { return code >= r.first && code <= r.last; });
}

int rune_width(const Rune& rune) {
  if (!rune.valid || rune.code < 0x300) return 1;
  if (in_any(kZeroWidth, rune.code)) return 0;
  return in_any(kDoubleWidth, rune.code) ? 2 : 1;
}

// How many bytes of `text` go on a line of `width` columns: up to a blank, else a comma, else what fits.
std::size_t line_break(std::string_view text, int width) {
  std::size_t at = 0, blank = 0, comma = 0;
  int used = 0;
  while (at < text.size()) {
    const Rune rune = next_rune(text.substr(at));
    const int w = rune_width(rune);
    if (used + w > width) {
      if (text[at] == ' ') return at;
      if (blank > 0) return blank;
      if (comma > 0) return comma;
      // At least one character, or a narrow column would never come to the end of its text.
      return at > 0 ? at : rune.bytes;
    }
    if (rune.code == ' ' && at > 0) blank = at;
    used += w;
    at += rune.bytes;
    // Behind the comma, for it stays on its line; a blank does not.
    if (rune.code == ',') comma = at;
  }
  return at;
}

std::string padded(std::string_view text, std::string_view sgr, bool colours, int width,
                   TextTable::Column::Align align) {
  const int blanks = std::max(0, width - display_width(text));
  const std::string pad(static_cast<std::size_t>(blanks), ' ');
  // The width is that of the text without its colour codes, which take no column.
  const std::string shown = painted(text, text.empty() ? std::string_view() : sgr, colours);
  return align == TextTable::Column::Align::right ? pad + shown : shown + pad;
}

void append_line(std::string& text, std::string line) {
  const std::size_t end = line.find_last_not_of(' ');
  line.erase(end == line.npos ? 0 : end + 1);
  text += line + "\n";
}

}  // namespace

int display_width(std::string_view utf8) {
  int width = 0;
  while (!utf8.empty()) {
    const Rune rune = next_rune(utf8);
    width += rune_width(rune);
    utf8.remove_prefix(rune.bytes);
  }
  return width;
}

std::string for_terminal(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const Rune rune = next_rune(text);
    // A terminal would obey them: texts of jobs and nodes come from strangers.
    const bool control = rune.code < 0x20 || (rune.code >= 0x7f && rune.code < 0xa0);
    if (rune.valid && !control) {
      safe += text.substr(0, rune.bytes);
    } else if (rune.code == '\n') {
      safe += "\\n";
    } else if (rune.code == '\t') {
      safe += "\\t";
    } else {
      safe += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(rune.code));
    }
    text.remove_prefix(rune.bytes);
  }
  return safe;
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines;
  if (width <= 0) {
    lines.emplace_back(text);
    return lines;
  }
  while (!text.empty()) {
    const std::size_t bytes = line_break(text, width);
    lines.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
    const std::size_t next = text.find_first_not_of(' ');
    text.remove_prefix(next == text.npos ? text.size() : next);
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string painted(std::string_view text, std::string_view sgr, bool colours) {
  if (!colours || sgr.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", sgr, text);
}

TextTable& TextTable::add(std::vector<Cell> cells) {
  SB_CHECK(cells.size() <= columns_.size(), "a row has more cells than the table has columns");
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
  return *this;
}

std::string TextTable::text(const Page& page) const {
  std::vector<std::size_t> shown;  // columns that hold something
  std::vector<int> widths(columns_.size(), 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) widths[c] = std::max(widths[c], display_width(row[c].text));
    // (Of a table without rows the whole header is shown.)
    if (widths[c] == 0 && !rows_.empty()) continue;
    if (page.header) widths[c] = std::max(widths[c], display_width(columns_[c].header));
    shown.push_back(c);
  }

  // Take from the widest wrapping column until the table fits, or all of them are at their narrowest.
  int total = page.indent;
  for (const std::size_t c : shown) total += widths[c] + kGap;
  total -= shown.empty() ? 0 : kGap;
  // One column at a time, so that those of like width end as wide as each other.
  while (page.width > 0 && total > page.width) {
    int* widest = nullptr;
    for (const std::size_t c : shown) {
      const int least = std::max(kNarrowest, page.header ? display_width(columns_[c].header) : 0);
      if (columns_[c].wraps && widths[c] > least && (widest == nullptr || widths[c] > *widest))
        widest = &widths[c];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }

  const std::string indent(static_cast<std::size_t>(page.indent), ' ');
  const std::string gap(kGap, ' ');
  std::string text;
  if (page.header && !shown.empty()) {
    std::string line = indent;
    for (std::size_t i = 0; i < shown.size(); ++i)
      line += (i ? gap : "") + padded(columns_[shown[i]].header, "1", page.colours, widths[shown[i]],
                                      columns_[shown[i]].align);
    append_line(text, std::move(line));
  }
  for (const auto& row : rows_) {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (const std::size_t c : shown) {
      lines.push_back(wrapped(row[c].text, columns_[c].wraps ? widths[c] : 0));
      height = std::max(height, lines.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line = indent;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::size_t c = shown[i];
        line += (i ? gap : "") + padded(l < lines[i].size() ? lines[i][l] : "", row[c].sgr, page.colours,
                                        widths[c], columns_[c].align);
      }
      append_line(text, std::move(line));
    }
  }
  return text;
}

}  // namespace sickbay
