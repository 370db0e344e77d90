// SPDX-License-Identifier: Apache-2.0
// TextTable: columns of text for a terminal or a pipe, and the widths and cuts that every page needs.
//
// The one table of the house, so that all commands look alike: a header in capitals, two blanks between
// columns, no lines, no blanks at line ends.  Where the page is narrower than the table, the columns that may
// be are wrapped, widest first, between words or behind the commas of a hostlist; nothing is ever cut off.
// Widths are counted in columns of a terminal, for UTF-8: combining signs 0, East Asian wide ones 2.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

/// Columns that `utf8` takes on a terminal; a byte that is no UTF-8 counts 1.
int display_width(std::string_view utf8);

/// Text from outside, harmless on a terminal: control characters (C0, DEL, C1) become \n, \t, \xNN, and bytes
/// that are no UTF-8 \xNN.  Other UTF-8 stays as it is.
std::string for_terminal(std::string_view text);

/// `text` in lines of at most `width` columns, broken at blanks, else behind commas, else anywhere.
/// width <= 0: one line.  Never empty.
std::vector<std::string> wrapped(std::string_view text, int width);

/// SGR codes ("1" bold, "31" red) around `text`, or just `text` when `colours` is false or `sgr` is empty.
std::string painted(std::string_view text, std::string_view sgr, bool colours);

class TextTable {
 public:
  struct Column {
    std::string header;
    enum class Align : bool { left, right } align = Align::left;
    bool wraps = false;  ///< may be made narrower than its text
  };
  struct Cell {
    std::string text;
    std::string_view sgr = {};  ///< a literal
    Cell(std::string t, std::string_view s = {}) : text(std::move(t)), sgr(s) {}
    Cell(const char* t) : text(t) {}
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row; missing cells are empty.  More cells than columns are a programmer's error.
  TextTable& add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }

  struct Page {
    int width = 0;         ///< columns; 0: as wide as need be
    bool colours = false;  ///< paint header and cells
    int indent = 0;        ///< blanks before each line
    bool header = true;
  };
  /// Header and rows, each line ended by \n.  Columns that are empty in all rows are left out.
  std::string text(const Page& page) const;
  std::string text() const { return text(Page()); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace sickbay
