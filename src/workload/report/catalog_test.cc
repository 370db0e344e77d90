// SPDX-License-Identifier: Apache-2.0
// Folders of plug-ins: found, put in order, chosen; parameters and texts of other languages.
#include "workload/report/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/messages.h"
#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Plugins : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& chapter, int order,
           const std::vector<std::string>& files = {"01_one.sql"}) {
    folder_.write(name + "/plugin.json", R"({"name": ")" + name + R"(", "title": "T )" + name +
                                             R"(", "help": "H", "chapter": ")" + chapter + R"(", "order": )" +
                                             std::to_string(order) + "}");
    for (const std::string& file : files)
      folder_.write(name + "/" + file,
                    "-- title: Title\n-- note: Note\n-- units: n=count\n-- param: top integer 5 how "
                    "many\nSELECT 1 AS n");
  }
  std::vector<std::string> names(const std::vector<Plugin>& plugins) {
    std::vector<std::string> all;
    for (const Plugin& plugin : plugins)
      for (const ReportSpec& spec : plugin.reports) all.push_back(spec.id());
    return all;
  }
  Catalog load() {
    auto catalog = load_catalog({folder_.path()});
    EXPECT_TRUE(catalog) << catalog.error().line();
    return *catalog;
  }

  Folder folder_;
};

TEST_F(Plugins, ComeInTheOrderOfThePage) {
  add("zeta", "overall", 1);
  add("beta", "use", 2, {"10_ten.sql", "02_two.sql"});
  add("alpha", "use", 2);
  add("gamma", "quality", 0);
  folder_.write("i18n/en.json", "{}");  // no plug-in
  EXPECT_THAT(names(load().plugins),
              ElementsAre("zeta.one", "alpha.one", "beta.two", "beta.ten", "gamma.one"));
}

TEST_F(Plugins, ThatCannotBeReadAreNamedAndTheOthersStay) {
  add("good", "use", 1);
  add("empty", "use", 1, {});
  folder_.write("wrong/plugin.json", "{");
  folder_.write("twin/plugin.json", R"({"name": "good", "title": "T", "help": "H", "chapter": "use"})");
  add("twice", "use", 1, {"01_a.sql", "02_a.sql"});
  const Catalog catalog = load();
  EXPECT_THAT(names(catalog.plugins), ElementsAre("good.one"));
  ASSERT_EQ(catalog.problems.size(), 4u);
  EXPECT_THAT(catalog.problems[0].what, HasSubstr("the plug-in 'empty' has no report"));
  EXPECT_THAT(catalog.problems[2].what, HasSubstr("there are two plug-ins 'good'"));
  EXPECT_THAT(catalog.problems[1].what, HasSubstr("there are two reports 'twice.a'"));
  EXPECT_THAT(catalog.problems[3].what, HasSubstr("wrong/plugin.json:1:"));
  EXPECT_FALSE(load_catalog({folder_.path("missing")}));
}

TEST_F(Plugins, AreChosenByName) {
  add("alpha", "use", 1, {"01_a.sql", "02_b.sql"});
  add("beta", "use", 2, {"01_a.sql", "02_b.sql"});
  const auto plugins = load().plugins;
  EXPECT_THAT(names(*chosen(plugins, {"beta"}, {"alpha.b"})), ElementsAre("alpha.b", "beta.a", "beta.b"));
  EXPECT_EQ(chosen(plugins, {"betta"}, {}).error().remedy_text, "did you mean 'beta'?");
  EXPECT_EQ(chosen(plugins, {}, {"alpha.c"}).error().remedy_text, "did you mean 'alpha.a'?");
}

TEST_F(Plugins, TakeParameters) {
  add("alpha", "use", 1);
  auto plugins = load().plugins;
  ASSERT_TRUE(set_parameters(plugins, {{"alpha.one.top", "7"}}));
  EXPECT_EQ(plugins[0].reports[0].parameters[0].value, "7");
  EXPECT_EQ(set_parameters(plugins, {{"alpha.one.to", "7"}}).error().remedy_text,
            "did you mean 'alpha.one.top'?");
  EXPECT_THAT(set_parameters(plugins, {{"alpha.one.top", "7.5"}}).error().what,
              HasSubstr("is a whole number"));
}

TEST_F(Plugins, SpeakOtherLanguages) {
  add("alpha", "use", 1);
  add("beta", "use", 2);
  folder_.write("i18n/en.json", R"({"page.title": "Report", "unit.h": "hours"})");
  folder_.write("i18n/ru.json",
                R"({"page.title": "Отчёт", "alpha.title": "А", "alpha.one.note": "Как читать"})");
  folder_.write("beta/i18n/ru.json", R"({"beta.one.param.top": "сколько"})");
  auto plugins = load().plugins;
  const std::vector<std::string> folders = {folder_.path()};
  EXPECT_THAT(languages(folders, plugins), ElementsAre("en", "ru"));
  auto messages = load_messages(folders, plugins, "ru");
  ASSERT_TRUE(messages) << messages.error().line();
  EXPECT_EQ(messages->at("page.title"), "Отчёт");
  EXPECT_EQ(messages->at("unit.h"), "hours");  // English where Russian lacks it
  translate(plugins, *messages);
  EXPECT_EQ(plugins[0].title, "А");
  EXPECT_EQ(plugins[0].reports[0].title, "Title");
  EXPECT_EQ(plugins[0].reports[0].note, "Как читать");
  EXPECT_EQ(plugins[1].reports[0].parameters[0].help, "сколько");
  EXPECT_FALSE(load_messages(folders, plugins, "ru", Fallback::none)->contains("unit.h"));
  EXPECT_THAT(load_messages(folders, plugins, "fr").error().remedy_text, HasSubstr("en, ru"));
  folder_.write("i18n/de.json", R"({"page.title": 3})");
  EXPECT_THAT(load_messages(folders, plugins, "de").error().what,
              HasSubstr("de.json:1:16: 'page.title' must be a text"));
}

TEST_F(Plugins, ListAllTheirTexts) {
  add("alpha", "use", 1);
  const auto all =
      all_messages({{"page.title", "Report"}, {"column.n", "count"}}, load().plugins, {"n", "core_h"});
  EXPECT_EQ(all.at("alpha.one.title"), "Title");
  EXPECT_EQ(all.at("alpha.one.param.top"), "how many");
  EXPECT_EQ(all.at("column.n"), "count");
  EXPECT_EQ(all.at("column.core_h"), "core h");
  EXPECT_FALSE(all.contains("alpha.one.left_out"));
}

}  // namespace
}  // namespace sickbay::workload
