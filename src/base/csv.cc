// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

namespace sickbay {

void append_csv_text(std::string& line, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == text.npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

std::optional<std::vector<std::string>> csv_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;; ++at) {
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) return std::nullopt;
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        cell += line[at];
      }
      ++at;
      if (at < line.size() && line[at] != ',') return std::nullopt;
    } else {
      while (at < line.size() && line[at] != ',') cell += line[at++];
    }
    cells.push_back(std::move(cell));
    if (at >= line.size()) return cells;
  }
}

}  // namespace sickbay
