// SPDX-License-Identifier: Apache-2.0
// From words to a document, as any caller of the workload has it.
#include "workload/report/make_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

using testing::HasSubstr;

constexpr const char* kUsers =
    "-- title: Jobs of users\n-- note: n\n-- units: jobs=jobs\n-- param: top integer 20 how many\n"
    "SELECT user_name, count(*) AS jobs FROM j GROUP BY ALL ORDER BY 1 LIMIT getvariable('top');\n";

class MakeReport : public testing::Test {
 protected:
  MakeReport() {
    store_with_jobs(store());
    folder_.write("plugins/own/plugin.json",
                  R"({"name": "own", "title": "Own", "help": "What we need.", "chapter": "use"})");
    folder_.write("plugins/own/01_users.sql", kUsers);
    wishes_.folders = {folder_.path("plugins")};
  }
  std::string store() const { return folder_.path("s.duckdb"); }
  Result<RunOrder> plan(const Site& site = default_site(), const ReportChoice& choice = {}) {
    auto catalog = load_catalog(wishes_.folders);
    if (!catalog) return fail(catalog.error());
    auto plugins = choose_reports(*catalog, site, choice);
    if (!plugins) return fail(plugins.error());
    return plan_report(std::move(*plugins), site, wishes_, *parse_time("2021-06-15T12:00:00Z"));
  }
  Result<Document> make(const Site& site = default_site(), const ReportChoice& choice = {}) {
    auto order = plan(site, choice);
    if (!order) return fail(order.error());
    return make_report(store(), std::move(*order), 1);
  }

  Folder folder_;
  ReportWishes wishes_;
};

TEST_F(MakeReport, MakesTheDocumentOfAStore) {
  wishes_.made_at = "today";
  auto document = make();
  ASSERT_TRUE(document) << document.error().line();
  EXPECT_EQ(document->made_at, "today");
  ASSERT_EQ(document->results.size(), 1u);
  EXPECT_EQ(document->results[0].outcome, Outcome::made) << document->results[0].why;
  EXPECT_EQ(document->results[0].table.rows.size(), 2u);
}

TEST_F(MakeReport, OwnWordsGoBeforeTheSitesAndThoseBeforeTheHouses) {
  auto plain = plan();
  ASSERT_TRUE(plain) << plain.error().line();
  EXPECT_EQ(plain->language, "en");
  EXPECT_EQ(plain->time_zone, "UTC");
  EXPECT_EQ(plain->title, "");
  Site site = default_site();
  site.title = "Ours";
  site.time_zone = "Europe/Berlin";
  auto of_site = plan(site);
  ASSERT_TRUE(of_site) << of_site.error().line();
  EXPECT_EQ(of_site->title, "Ours");
  EXPECT_EQ(of_site->time_zone, "Europe/Berlin");
  EXPECT_FALSE(of_site->views.zone.empty());
  wishes_.title = "Mine";
  wishes_.time_zone = "Asia/Shanghai";
  auto own = plan(site);
  ASSERT_TRUE(own) << own.error().line();
  EXPECT_EQ(own->title, "Mine");
  EXPECT_EQ(own->time_zone, "Asia/Shanghai");
}

TEST_F(MakeReport, AParameterOfTheCommandLineLiesOverTheSites) {
  Site site = default_site();
  site.parameters = {{"own.users.top", "1"}};
  auto document = make(site);
  ASSERT_TRUE(document) << document.error().line();
  EXPECT_EQ(document->results[0].table.rows.size(), 1u);
  document = make(site, {.plugins = {}, .reports = {}, .parameters = {{"own.users.top", "2"}}});
  ASSERT_TRUE(document) << document.error().line();
  EXPECT_EQ(document->results[0].table.rows.size(), 2u);
}

TEST_F(MakeReport, WhatIsWrongWithTheWordsIsToldBeforeTheStoreIsOpened) {
  auto unknown = plan(default_site(), {.plugins = {"owm"}, .reports = {}, .parameters = {}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().remedy_text, "did you mean 'own'?");
  wishes_.period.from = "yesterday";
  auto no_time = plan();
  ASSERT_FALSE(no_time);
  EXPECT_EQ(no_time.error().code, ErrorCode::usage);
  wishes_.period = {};
  wishes_.time_zone = "Mars/Olympus";
  auto no_zone = plan();
  ASSERT_FALSE(no_zone);
  EXPECT_THAT(no_zone.error().what, HasSubstr("Mars/Olympus"));
}

TEST_F(MakeReport, OneThreadMeansOneConnection) {
  EXPECT_EQ(plan()->connections, 2);
  wishes_.threads = 1;
  EXPECT_EQ(plan()->connections, 1);
}

TEST_F(MakeReport, ThePeriodChoosesTheJobs) {
  wishes_.period = {"2021-05-10", "2021-05-16", ""};
  auto document = make();
  ASSERT_TRUE(document) << document.error().line();
  ASSERT_EQ(document->results[0].table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(document->results[0].table.rows[0][0]), "bob");
}

TEST_F(MakeReport, AStoreThatIsNotThereIsNotMade) {
  auto order = plan();
  ASSERT_TRUE(order);
  auto document = make_report(folder_.path("none.duckdb"), std::move(*order), 1);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("none.duckdb")));
}

TEST(LoadSite, TheUsersFileStandsBesideTheSites) {
  const Folder folder;
  folder.write("etc/site.json", R"({"title": "Ours", "users": "who.json"})");
  folder.write("etc/who.json", R"({"ann": {"name": "Ann A."}})");
  folder.write("other.json", R"({"bob": {"name": "Bob B."}})");
  auto site = load_site(folder.path("etc/site.json"), "");
  ASSERT_TRUE(site) << site.error().line();
  EXPECT_EQ(site->title, "Ours");
  ASSERT_EQ(site->users.size(), 1u);
  EXPECT_EQ(site->users[0].user, "ann");
  site = load_site(folder.path("etc/site.json"), folder.path("other.json"));
  ASSERT_TRUE(site) << site.error().line();
  ASSERT_EQ(site->users.size(), 1u);
  EXPECT_EQ(site->users[0].user, "bob") << "a file that is named goes before the site's";
  site = load_site("", "");
  ASSERT_TRUE(site);
  EXPECT_TRUE(site->users.empty());
  EXPECT_EQ(load_site(folder.path("none.json"), "").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace sickbay::workload
