// SPDX-License-Identifier: Apache-2.0
// accounts.json and sacctmgr's dump to one list, and the tables that SQL has of it.
#include "workload/report/accounts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

using testing::HasSubstr;

std::string told(const std::vector<SiteAccount>& accounts) {
  std::string text;
  for (const SiteAccount& a : accounts) {
    text += fmt::format("{} under '{}' of '{}'", a.account, a.parent, a.pi);
    if (a.budget) text += fmt::format(" {} {} {}..{}", *a.budget, a.budget_of, a.since, a.until);
    text += "\n";
  }
  return text;
}

constexpr const char* kJson = R"(// of our site
{"phys": {"parent": "science", "pi": "Prof. P", "budget": 100.5, "from": "2026-01-01", "to": "2027-01-01"},
 "theory": {"parent": "phys", "budget": 10, "unit": "GPU-h"},
 "science": {}, "alone": {}, "lost": {"parent": "elsewhere"}})";

// As Slurm 22.05 writes it.
constexpr const char* kDump =
    "# To edit this file start with a cluster line for the new cluster\n"
    "# Cluster - 'cluster_name':MaxNodesPerJob=50\n"
    "Cluster - 'lab':Fairshare=1:QOS='normal'\n"
    "Parent - 'root'\n"
    "User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n"
    "Account - 'science':Description='science: all':Organization='science':Fairshare=1\n"
    "Parent - 'science'\n"
    "Account - "
    "'phys':Description='phys':Organization='science':Fairshare=1:GrpTRESMins=cpu=6000,gres/gpu=60\n"
    "Account - 'chem':Description='chem':Organization='science':Fairshare=1:GrpTRESMins=mem=5,billing=120\n"
    "Parent - 'phys'\n"
    "User - 'ann':Coordinator='phys,chem':DefaultAccount='phys':Fairshare=1\n"
    "User - 'bob':DefaultAccount='phys':Fairshare=1\n";

TEST(Accounts, ReadJson) {
  const auto accounts = parse_accounts(kJson, "a.json");
  ASSERT_TRUE(accounts) << accounts.error().line();
  EXPECT_EQ(told(*accounts),
            "phys under 'science' of 'Prof. P' 100.5 SU 2026-01-01..2027-01-01\n"
            "theory under 'phys' of 'Prof. P' 10 GPU-h ..\n"
            "science under '' of ''\n"
            "alone under '' of ''\n"
            "lost under 'elsewhere' of ''\n"
            "elsewhere under '' of ''\n");
}

TEST(Accounts, ReadWhatSacctmgrDumps) {
  const auto accounts = parse_accounts(kDump, "dump");
  ASSERT_TRUE(accounts) << accounts.error().line();
  EXPECT_EQ(told(*accounts),
            "science under '' of ''\n"
            "phys under 'science' of 'ann' 100 core-h ..\n"
            "chem under 'science' of 'ann' 2 SU ..\n");
}

TEST(Accounts, NameEachFaultWithItsPlace) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"a": {"parnt": "b"}})", "a.json:1:17: unknown key 'parnt'; did you mean 'parent'?"},
      {R"({"a": 3})", "a.json:1:7: what is said of the account 'a' must be an object"},
      {R"([])", "a.json:1:1: must be an object"},
      {R"({"a": {"budget": -1}})", "'budget' must be a number of 0 or more"},
      {R"({"a": {"unit": "hours"}})", "there is no unit 'hours' of budgets"},
      {R"({"a": {"from": "2026-13-01"}})", "'from' must be a day as \"2026-01-01\""},
      {R"({"a": {"parent": "b"}, "b": {"parent": "a"}})", "the accounts above 'a' make a ring"},
      {R"({"a": {"parent": "a"}})", "the accounts above 'a' make a ring"},
      {"Cluster - 'x'\nUsers - 'ann'\n", "a.json:2: this is no line of sacctmgr's dump"}};
  for (const auto& [text, said] : rows) {
    const auto accounts = parse_accounts(text, "a.json");
    ASSERT_FALSE(accounts) << text;
    EXPECT_THAT(accounts.error().what, HasSubstr(said)) << text;
  }
}

TEST(Accounts, AreTablesOfSql) {
  Store store = *Store::open({});
  const auto ask = [&](const std::string& sql) {
    std::string text;
    auto table = store.connection().query(sql);
    if (!table) return table.error().line();
    for (const auto& row : table->rows) {
      for (const auto& value : row)
        if (const auto* word = std::get_if<std::string>(&value))
          text += *word + " ";
        else if (const auto* number = std::get_if<std::int64_t>(&value))
          text += std::to_string(*number) + " ";
        else
          text += "- ";
      text += "\n";
    }
    return text;
  };
  for (const char* text : {"{}", kJson}) {
    const auto accounts = parse_accounts(text, "a.json");
    ASSERT_TRUE(accounts);
    ASSERT_TRUE(store.connection().execute(accounts_sql(*accounts)));
  }
  EXPECT_EQ(ask("SELECT path, pi, budget_of, epoch(since)::BIGINT, epoch(until)::BIGINT FROM accounts ORDER "
                "BY path"),
            "alone - - - - \nelsewhere - - - - \nelsewhere/lost - - - - \nscience - - - - \n"
            "science/phys Prof. P SU 1767225600 1798761600 \nscience/phys/theory Prof. P GPU-h - - \n");
  EXPECT_EQ(ask("SELECT above, steps FROM account_tree WHERE account = 'theory' ORDER BY steps"),
            "theory 0 \nphys 1 \nscience 2 \n");
}

}  // namespace
}  // namespace sickbay::workload
