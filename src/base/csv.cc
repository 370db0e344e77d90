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

}  // namespace sickbay
