// SPDX-License-Identifier: Apache-2.0
// Job ids and states, also in the forms that only old or narrow logs have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/slurm_state.h"
#include "workload/job/values.h"
#include "workload/job/values_test_parts.h"
#include "workload/read/reader.h"

namespace sickbay::workload {
namespace {

TEST(JobWords, states_are_those_of_parse_job_state) {
  std::vector<std::string> seeds = {"CANCELLED by 1000",
                                    "OUT_OF_ME+",
                                    "COMPLETED,COMPLETING",
                                    "NF",
                                    "BIT27",
                                    "cancelled BY 7",
                                    "REQUEUED",
                                    "RE+",
                                    "CANCELLED+"};
  for (const JobBaseRow& row : job_bases()) seeds.emplace_back(row.name);
  for (const JobFlagRow& row : job_flags()) seeds.emplace_back(row.name);
  Texts texts(seeds, "ABCDEFILMNOPRSTU_,+ 0123");
  int known = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string text = texts.next();
    if (text.empty()) continue;
    const auto slow = parse_job_state(text);
    Row row;
    row.clear();
    parse_state(text, row);
    if (!slow) {
      if (text.starts_with("CANCELLED by ")) continue;
      ASSERT_EQ(row.get(Text::state), text);
      ASSERT_EQ(row.get(Num::flaws), bit(Flaw::unknown_state)) << text;
      continue;
    }
    ++known;
    ASSERT_EQ(row.get(Text::state), base_name(*slow)) << text;
    ASSERT_FALSE(row.has(Num::flaws)) << text;
    if (const auto uid = cancelled_by(text)) {
      ASSERT_EQ(row.find(Num::cancelled_by), *uid);
    }
    if (slow->flags != 0) {
      ASSERT_EQ(row.get(Text::state_text), text);
    }
  }
  EXPECT_GT(known, 10000);
}

TEST(JobWords, job_ids) {
  const auto show = [](std::string_view text) {
    Row row;
    row.clear();
    if (!parse_job_id(text, row)) return std::string("no");
    const auto number = [&](Num f) { return row.has(f) ? std::to_string(row.get(f)) : std::string("-"); };
    return fmt::format("{} {} '{}' raw {} array {} {} {} het {} {}", static_cast<int>(row.kind),
                       row.get(Text::job_id), row.get(Text::step), number(Num::job_id_raw),
                       number(Num::array_job_id), number(Num::array_task_id), number(Num::array_tasks),
                       number(Num::het_job_id), number(Num::het_offset));
  };
  EXPECT_EQ(show("123"), "0 123 '' raw 123 array - - - het - -");
  EXPECT_EQ(show("123.0"), "1 123 '0' raw 123 array - - - het - -");
  EXPECT_EQ(show("123.batch"), "2 123 'batch' raw 123 array - - - het - -");
  EXPECT_EQ(show("123.4294967294"), "2 123 'batch' raw 123 array - - - het - -");
  EXPECT_EQ(show("1933171.ext+"), "3 1933171 'extern' raw 1933171 array - - - het - -");
  EXPECT_EQ(show("5.interactive"), "1 5 'interactive' raw 5 array - - - het - -");
  EXPECT_EQ(show("4103947_9"), "0 4103947_9 '' raw - array 4103947 9 - het - -");
  EXPECT_EQ(show("4103947_9.extern"), "3 4103947_9 'extern' raw - array 4103947 9 - het - -");
  EXPECT_EQ(show("4103947_[9-11,13%2]"), "0 4103947_[9-11,13%2] '' raw - array 4103947 - 4 het - -");
  EXPECT_EQ(show("4103947_[9-11,13,16-20]"), "0 4103947_[9-11,13,16-20] '' raw - array 4103947 - 9 het - -");
  EXPECT_EQ(show("7_[0-99:2]"), "0 7_[0-99:2] '' raw - array 7 - 50 het - -");
  EXPECT_EQ(show("7_[1,3,...]"), "0 7_[1,3,...] '' raw - array 7 - - het - -");
  EXPECT_EQ(show("7_[1-300+"), "0 7_[1-300+ '' raw - array 7 - - het - -");
  EXPECT_EQ(show("7_4294967294"), "0 7_4294967294 '' raw - array 7 - - het - -");
  EXPECT_EQ(show("9380968+0"), "0 9380968+0 '' raw - array - - - het 9380968 0");
  EXPECT_EQ(show("9380968+1.batch"), "2 9380968+1 'batch' raw - array - - - het 9380968 1");
  EXPECT_EQ(show("123_4.0"), "1 123_4 '0' raw - array 123 4 - het - -");
  for (const char* text : {"", "a", ".batch", "123.", "123_", "123+", "123x", "JobID", "12_[", "12_[]",
                           "12_[a]", "12_[5-3]", "12_[1-9:0]", "1_2_3", "12345678901234567890", " 1"})
    EXPECT_EQ(show(text), "no") << text;
}

TEST(JobWords, hashes_of_jobs) {
  EXPECT_EQ(hash_job("c", "12"), hash_job("c", "12"));
  EXPECT_NE(hash_job("c1", "2"), hash_job("c", "12")) << "where the cluster ends matters";
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 200000; ++i) hashes.push_back(hash_job("", std::to_string(60000000 + i)));
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace sickbay::workload
