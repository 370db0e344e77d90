// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/page.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>

#include "base/duration.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

std::string_view environment_word(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::string_view(value) : std::string_view();
}

std::tm local_parts(TimePoint t) {
  const std::time_t seconds = to_unix_seconds(t);
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

TextPage page_of_stdout() {
  TextPage page;
  page.now = std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
  // In a pipe neither width nor colours: scripts read whole lines.
  if (isatty(STDOUT_FILENO) == 0) return page;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) page.width = size.ws_col;
  // Above the terminal's own word, so that a test or a user can set it.
  const std::string_view columns = environment_word("COLUMNS");
  int given = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), given);
  if (given > 0) page.width = given;
  if (page.width > 0) page.width = std::max(page.width, 40);  // narrower pages help nobody
  page.colours = environment_word("NO_COLOR").empty() && environment_word("TERM") != "dumb";
  return page;
}

std::string heading(std::string_view text, const TextPage& page) {
  return "\n" + painted(text, kStrong, page.colours) + "\n";
}

std::string safe(const Json& value) {
  if (value.is_null()) return "";
  return for_terminal(value.is_string() ? value.as_string() : value.dump());
}

std::string local_time(TimePoint t) {
  if (t == kNoTime) return "-";
  const std::tm p = local_parts(t);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", p.tm_year + 1900, p.tm_mon + 1, p.tm_mday,
                     p.tm_hour, p.tm_min, p.tm_sec);
}

std::string local_clock(TimePoint t) {
  const std::tm p = local_parts(t);
  return fmt::format("{:02}:{:02}:{:02}", p.tm_hour, p.tm_min, p.tm_sec);
}

std::string since_text(const Json& stamp, TimePoint now) {
  const TimePoint since = from_micros(stamp.as_int());
  if (since == kNoTime) return {};
  std::string text = " since " + local_time(since);
  if (now > since)
    text += fmt::format(" ({})", describe_duration(std::chrono::floor<std::chrono::seconds>(now - since)));
  return text;
}

std::string paragraph(std::string_view first, std::string_view text, const TextPage& page) {
  const int indent = display_width(first);
  std::string out(first);
  bool is_first = true;
  for (const std::string& line : wrapped(for_terminal(text), page.width > 0 ? page.width - indent : 0)) {
    if (!is_first) out.append(static_cast<std::size_t>(indent), ' ');
    out += line + "\n";
    is_first = false;
  }
  return out;
}

}  // namespace sickbay::cli
