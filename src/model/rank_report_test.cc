// SPDX-License-Identifier: Apache-2.0
#include "model/rank_report.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TaskIds ids(std::string_view text) { return *TaskIds::parse(text); }

RankGroup group(Standing standing, std::string_view ranks, std::string path) {
  return {"step 0", 8, standing, "", std::move(path), ids(ranks), Micros(5)};
}

TEST(RankReport, WhatIsPrintedIsRead) {
  RankReport report;
  for (int i = 0; i <= static_cast<int>(Standing::unread); ++i)
    report.groups.push_back(group(static_cast<Standing>(i), "0-2,4", "MPI_Recv < main"));
  report.network_rate = 17;
  report.unsent_bytes = 0;
  report.unread = {{"rank 3", "no"}};
  const auto again = read_rank_report(to_json(report));
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(*again, report);
}

TEST(RankReport, WhatIsNone) {
  const Json good = to_json(group(Standing::waits, "1", "main"));
  for (const auto& [key, value] : std::vector<Json::Member>{
           {"standing", "sits"}, {"standing", 3}, {"ranks", ""}, {"ranks", "x"}, {"ranks", "0-5000000"}}) {
    Json bad = good;
    bad.set(key, value);
    EXPECT_FALSE(read_rank_group(bad)) << bad.dump();
  }
  EXPECT_FALSE(read_rank_report(Json::object()));
  EXPECT_FALSE(read_rank_report(Json::object({{"groups", Json::Array(kMostGroups + 1, good)}})));
  Json strange = good;
  strange.set("path", std::string(5000, '\n'));
  EXPECT_EQ(read_rank_group(strange)->path, std::string(kMostPath, '?'));
}

TEST(RankReport, AGroupForPeople) {
  EXPECT_EQ(text_of(group(Standing::waits, "0-2,4-7", "MPI_Allreduce < solve < main")),
            "ranks 0-2,4-7: MPI_Allreduce < solve < main");
  EXPECT_EQ(text_of(group(Standing::computes, "3", "work < main")), "rank 3: computes in work < main");
  EXPECT_EQ(text_of(group(Standing::unread, "3", "no")), "rank 3: not read: no");
  EXPECT_EQ(text_of(group(Standing::stopped, "3", "")), "rank 3: is stopped");
  const std::string many = ranks_text(ids("0-9999:2"));
  EXPECT_TRUE(many.starts_with("5000 ranks (0,2,4,")) << many;
  EXPECT_LT(many.size(), 130u);
}

}  // namespace
}  // namespace sickbay
