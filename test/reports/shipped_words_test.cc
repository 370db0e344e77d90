// SPDX-License-Identifier: Apache-2.0
// What the shipped reports say in other languages: every text, heading and unit, and the words that stand in
// rows (value.TEXT).  A word is found in the SQL that writes it, so that none can be added without its
// message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "base/json.h"
#include "shipped_parts.h"
#include "workload/report/messages.h"

namespace sickbay::workload {
namespace {

// Texts of SQL that do not reach a row as they are: what functions take, parts that are joined, and the names
// of repairs and flaws, which are those of `sickbay sql`.
const std::set<std::string> kNoValues = {
    "hour",
    "day",
    "month",
    "week",
    "quarter",
    "year",  // date_trunc
    "pi",
    "application",
    "qos",
    "cluster",
    "size",
    "run_time",  // what a parameter may say (usage)
    "other",
    "(all unlabelled: ",  // appfeature.coverage joins them with the kinds of unknown
    "unknown: ",          // quality.labels likewise
    "state_from_steps",
    "req_mem_flag",
    "never_started",
    "total_cpu_usage",
    "elapsed_from_times",
    "times_from_elapsed",
    "job_from_steps",
    "name_delimiter",
    "bad_utf8",
    "duplicate_rows",
    "text_cut",
    "end_before_start",
    "start_before_submit",
    "over_used",
    "no_user",
    "no_cpus",
    "unknown_state",
    "over_limit",
    "in_future",
    "bad_value",
    "no_start",
    "stray"};

std::vector<std::string> texts_of(const std::string& sql) {
  std::vector<std::string> all;
  const std::string code = std::regex_replace(sql, std::regex("--[^\n]*"), "");
  const std::regex text("'((?:[^']|'')*)'");
  for (std::sregex_iterator at(code.begin(), code.end(), text), end; at != end; ++at) all.push_back((*at)[1]);
  return all;
}

// A state, a unit's sign, a format, a regular expression or a separator is the same in all languages.
bool is_neutral(const std::string& text) {
  static const std::regex states("[A-Z_]+"), letter("[a-z]"), formats("[{\\[]|%[-A-Za-z]");
  return std::regex_match(text, states) || !std::regex_search(text, letter) ||
         std::regex_search(text, formats);
}

class Words : public Shipped {
 protected:
  Messages messages(const std::string& language) {
    auto loaded = load_messages({SB_REPORTS}, plugins_, language, Fallback::none);
    EXPECT_TRUE(loaded) << loaded.error().line();
    return *loaded;
  }
  // All words that may stand in rows of the shipped reports.
  std::set<std::string> words() {
    std::set<std::string> all;
    for (const Plugin& plugin : plugins_)
      for (const ReportSpec& spec : plugin.reports)
        for (const std::string& text : texts_of(spec.sql)) {
          const bool parameter = std::any_of(spec.parameters.begin(), spec.parameters.end(),
                                             [&](const Parameter& p) { return p.name == text; });
          if (!parameter && !is_neutral(text) && !kNoValues.contains(text)) all.insert(text);
        }
    for (const auto& classes : {default_site().size_classes, default_site().run_time_classes})
      for (const SiteClass& one : classes)
        if (!is_neutral(one.name)) all.insert(one.name);
    for (const auto& file : std::filesystem::directory_iterator(SB_REPORTS "/../labels/applications"))
      if (auto list = Json::parse(contents(file.path().string()))) all.insert((*list)["field"].as_string());
    for (const char* kind : {"default name", "interpreter", "other"})
      all.insert("(all unlabelled: " + std::string(kind) + ")");
    for (const char* kind : {"default_name", "interpreter", "other", "not said"})
      all.insert("unknown: " + std::string(kind));
    for (const char* whose : {"account", "user", "group", "team", "field"})
      all.insert(whose);  // a statement's
    for (const char* how : {"comment", "keyword", "like", "rename", "step", "submit_line", "work_dir"})
      all.insert(how);
    return all;
  }
};

TEST_F(Words, HaveAMessageEach) {
  const std::set<std::string> all = words();
  EXPECT_GT(all.size(), 100u);
  for (const char* language : {"en", "zh", "ru"}) {
    const Messages said = messages(language);
    for (const std::string& word : all)
      EXPECT_TRUE(said.contains("value." + word) || said.contains("unit." + word))
          << language << ": " << word;
    for (const auto& [key, text] : said)
      if (key.starts_with("value.")) {
        EXPECT_TRUE(all.contains(key.substr(6))) << language << ": no report says " << key;
        EXPECT_TRUE(text == key.substr(6) || std::string(language) != "en") << key;
        EXPECT_TRUE(text != key.substr(6) || std::string(language) == "en") << language << ": " << key;
      }
  }
}

// A column of words says so in its head; else its words stay English.
TEST_F(Words, StandInColumnsThatTheirHeadsName) {
  fill_small();
  ASSERT_TRUE(set_parameters(plugins_, {{"floods.bursts.jobs", "2"}}));
  order_.views.compare = Period{at("2021-05-02T00:00:00Z"), at("2021-05-03T00:00:00Z")};
  make_views();
  Document zh;
  zh.messages = messages("zh");
  const std::set<std::string> all = words();
  // Those that a name of the log may equal: "unknown" of a log's own list, a user called "user".
  const std::set<std::string> names = {
      "user_name", "job_name", "account", "job",         "node",       "array",     "flood",  "step_names",
      "work_dir",  "states",   "reason",  "column_name", "main_users", "partition", "source", "name"};
  for (const Plugin& plugin : plugins_)
    for (const ReportSpec& spec : plugin.reports) {
      const ReportResult result = run_report(store_.connection(), spec, order_);
      ASSERT_EQ(result.outcome, Outcome::made) << spec.id() << ": " << result.why;
      for (const auto& row : result.table.rows)
        for (std::size_t c = 0; c < row.size(); ++c) {
          const auto* text = std::get_if<std::string>(&row[c]);
          const std::string& column = result.table.columns[c].name;
          if (!text || !all.contains(*text)) continue;
          if (names.contains(column) && !spec.words.contains(column) && !text->starts_with('(')) continue;
          EXPECT_NE(word_text(zh, spec, column, *text), *text) << spec.id() << "." << column;
        }
    }
}

TEST_F(Words, ChineseAndRussianLackNoKey) {
  std::vector<std::string> columns;
  ASSERT_TRUE(check_reports(store_.connection(), plugins_, columns));
  const Messages all = all_messages(messages("en"), plugins_, columns);
  for (const char* language : {"zh", "ru"}) {
    const Messages said = messages(language);
    for (const auto& [key, text] : all)
      EXPECT_TRUE(said.contains(key)) << language << " lacks " << key << ": " << text;
    for (const auto& [key, text] : said)
      EXPECT_TRUE(all.contains(key)) << language << " says " << key << " in vain";
  }
}

}  // namespace
}  // namespace sickbay::workload
