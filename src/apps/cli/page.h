// SPDX-License-Identifier: Apache-2.0
// TextPage: what a text is laid out for (a terminal or a pipe), and the words that all pages share.
//
// Only here does the command line ask about the terminal, the time zone and NO_COLOR; what lays out a text
// gets the answers as values, so that a test can fix them.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace sickbay::cli {

struct TextPage {
  int width = 0;         ///< columns; 0: a pipe, lines as long as they are
  bool colours = false;  ///< SGR codes
  TimePoint now = kNoTime;
};

/// The page of standard output: the terminal's width, colours unless NO_COLOR or TERM=dumb; a pipe has
/// neither. COLUMNS goes before what the terminal says.
TextPage page_of_stdout();

/// SGR codes for painted(), by what is said in them.
inline constexpr std::string_view kGood = "32", kBad = "31", kUnclear = "33", kStrong = "1", kFaint = "2";

/// A heading, with an empty line before it.
std::string heading(std::string_view text, const TextPage& page);
/// A value from outside, made harmless: a text as it is, null as nothing, all others as JSON.
std::string safe(const Json& value);

/// "2026-11-21 10:04:05" in the zone of the process (TZ); "-" for kNoTime.
std::string local_time(TimePoint t);
/// "10:04:05" in the zone of the process.
std::string local_clock(TimePoint t);
/// " since 2026-11-21 10:04:05 (2 min)" of a time in microseconds; "" for 0.
std::string since_text(const Json& stamp, TimePoint now);

/// Paragraphs: `text` wrapped to the page behind `first` (a bullet or a label), further lines indented as
/// far. Text from outside is made harmless.
std::string paragraph(std::string_view first, std::string_view text, const TextPage& page);

}  // namespace sickbay::cli
