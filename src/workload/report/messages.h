// SPDX-License-Identifier: Apache-2.0
// The texts of reports in the languages of people: FOLDER/i18n/LANGUAGE.json, laid over the English ones.
//
// English titles and notes stand in the heads; a file of another language has them under
// "jobwait.percentiles.title" and the like, the page's own words under "page.period", headings of columns
// under "column.core_h", units under "unit.core-h", chapters under "chapter.use".  A missing key is English.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/report/report.h"

namespace sickbay::workload {

using Messages = std::map<std::string, std::string>;

/// Whether English stands in for what a language lacks.
enum class Fallback : bool { none, english };

/// English with `language` laid over it, from the folder i18n of each of `folders` and of each plug-in.
/// Errors: not_found (no file of that language anywhere; names those there are), bad_input.
Result<Messages> load_messages(const std::vector<std::string>& folders, const std::vector<Plugin>& plugins,
                               const std::string& language, Fallback fallback = Fallback::english);
/// The languages that the folders have: "en", "ru", "zh".
std::vector<std::string> languages(const std::vector<std::string>& folders,
                                   const std::vector<Plugin>& plugins);

/// Titles, helps, notes, "left out" and the helps of parameters in the language of `messages`.
void translate(std::vector<Plugin>& plugins, const Messages& messages);

/// All keys with their English texts: `english` (the files), the heads, and `columns` of results.
Messages all_messages(const Messages& english, const std::vector<Plugin>& plugins,
                      const std::vector<std::string>& columns);

/// `text` with its first "{}" replaced.
std::string filled(std::string_view text, std::string_view with);

}  // namespace sickbay::workload
