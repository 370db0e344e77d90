// SPDX-License-Identifier: Apache-2.0
#include "plan/failure_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay::plan {
namespace {

using ::testing::HasSubstr;

TEST(FailureList, ReadsColumnsByNameInAnyOrder) {
  const struct {
    std::string_view about, text;
  } rows[] = {
      {"end", "node,start,end\nn1,2005-06-21T10:54:00Z,2005-06-21T11:00:00Z\n"},
      {"duration", "node,start,duration\nn1,2005-06-21T10:54:00Z,6m\n"},
      {"sacct's duration", "duration,node,start\n00:06:00,n1,2005-06-21T10:54:00Z\n"},
      {"seconds", "Start,End,Node\n1119351240,1119351600,n1\n"},
      {"no zone", "node,start,end\nn1,2005-06-21 10:54,2005-06-21 11:00:00\n"},
      {"others", "id,node,why,start,end\n1,n1,\"a, b\",1119351240,1119351600\n"},
      {"CRLF, a mark, a remark", "\xef\xbb\xbfnode,start,end\r\n# mine\r\n\r\nn1,1119351240,1119351600\r\n"},
      {"both: the end holds", "node,start,end,duration\nn1,1119351240,1119351600,9h\n"},
  };
  for (const auto& row : rows) {
    const auto list = parse_failure_list(row.text);
    ASSERT_TRUE(list) << row.about << ": " << list.error().line();
    ASSERT_EQ(list->systems.size(), 1U) << row.about;
    const System& one = list->systems.front();
    ASSERT_EQ(one.failures.size(), 1U) << row.about;
    EXPECT_EQ(one.nodes, std::vector<std::string>{"n1"}) << row.about;
    EXPECT_EQ(to_unix_seconds(one.failures[0].start), 1119351240) << row.about;
    EXPECT_EQ(to_unix_seconds(one.failures[0].end), 1119351600) << row.about;
    EXPECT_EQ(list->bad_rows, 0U) << row.about;
  }
}

TEST(FailureList, TellsBadRowsWithLineAndRemedy) {
  const struct {
    std::string_view row, what, remedy;
  } rows[] = {
      {",1119351240,1119351600", "no name", "needs a node"},
      {"n1,yesterday,1119351600", "'yesterday' is no time", "2005-06-21"},
      {"n1,,1119351600", "is no time", "2005-06-21"},
      {"n1,99999999999,", "is no time", "since 1970"},
      {"n1,1119351240,1119351239", "ends before it starts", "leave the end empty"},
      {"n1,1119351240,,6", "'6' is no duration", "with its unit"},
      {"n1,1119351240,,99999999d", "after 2200", "unit"},
      {"\"n1,1119351240,1119351600", "quote", "double"},
  };
  for (const auto& row : rows) {
    const auto list =
        parse_failure_list("node,start,end,duration\nn0,1,2\n" + std::string(row.row) + "\nn2,5,6\n");
    ASSERT_TRUE(list) << row.row;
    EXPECT_EQ(list->rows, 3U);
    ASSERT_EQ(list->bad_rows, 1U) << row.row;
    EXPECT_EQ(list->bad[0].line, 3U);
    EXPECT_THAT(list->bad[0].what, HasSubstr(row.what));
    EXPECT_THAT(list->bad[0].remedy, HasSubstr(row.remedy));
  }
}

TEST(FailureList, RefusesWhatIsNone) {
  for (const std::string_view text : {"", "\n\n", "node,start\n1,2\n", "start,end\n1,2\n", "node,end\n1,2\n",
                                      "node,start,end\n", "node,start,end\nn1,x,y\n", "\"node,start,end\n"}) {
    const auto list = parse_failure_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(list.error().remedy_text.empty());
  }
}

TEST(FailureList, MergesWhatOverlapsOnANodeAndSortsTheRest) {
  const auto list = parse_failure_list(
      "node,start,end,system,cause\n"
      "b,100,200,x,\n"
      "a,150,160,x,fan\n"
      "b,150,300,x,disk\n"  // within the first
      "b,300,310,x,\n"      // right behind it: another
      "a,10,,x,\n"          // back at a time not known, at the latest before 150
      "a,1,2,w,\n");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->merged, 1U);
  ASSERT_EQ(list->systems.size(), 2U);
  EXPECT_EQ(list->systems[0].name, "w");
  const System& x = list->systems[1];
  ASSERT_EQ(x.failures.size(), 4U);
  EXPECT_EQ(to_unix_seconds(x.failures[0].start), 10);
  EXPECT_EQ(x.failures[0].end, kNever);
  EXPECT_EQ(to_unix_seconds(x.failures[1].end), 300);
  EXPECT_EQ(x.failures[1].cause, "disk");
  EXPECT_EQ(to_unix_seconds(x.until), 310);
  const auto again = parse_failure_list(failure_list_text(*list));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->systems, list->systems);
}

TEST(FailuresOfJournal, TakesWhatSlurmLostAndNotWhatAPersonTook) {
  const auto look = [](int seq, int minute, std::string_view groups) {
    return "{\"seq\":" + std::to_string(seq) + ",\"at\":" + std::to_string(60'000'000LL * minute) +
           ",\"v\":2,\"subject\":\"cluster\",\"kind\":\"nodes_seen\",\"body\":{\"groups\":[" +
           std::string(groups) + "]}}\n";
  };
  const std::string text =
      look(
          1, 1,
          R"({"nodes":"n[1-3]","state":"IDLE","usable":true,"down":false,"partitions":[]},)"
          R"({"nodes":"n4","state":"DOWN","usable":false,"down":true,"reason":"Not responding","reason_uid":0})") +
      look(2, 10, R"({"nodes":"n1","state":"IDLE+NOT_RESPONDING","down":false})") +
      look(3, 12,
           R"({"nodes":"n1","state":"DOWN","down":true,"reason":"Not responding","reason_uid":64030},)"
           R"({"nodes":"n2","state":"DOWN","down":true,"reason":"new disk","reason_uid":0})") +
      "{\"seq\":4,\"at\":780000000,\"v\":1,\"subject\":\"c1\",\"kind\":\"case_closed\",\"body\":{}}\n" +
      look(5, 20, R"({"nodes":"n[1-2,4]","state":"IDLE","down":false})") +
      look(6, 30, R"({"nodes":"n3","state":"IDLE+NOT_RESPONDING","down":false})") +
      look(7, 31,
           R"({"nodes":"n3","state":"DOWN","down":true,"reason":"Not responding","reason_uid":64030})");
  const auto list = failures_of_journal(text);
  ASSERT_TRUE(list) << list.error().line();
  const System& one = list->systems.at(0);
  ASSERT_EQ(one.failures.size(), 2U);
  EXPECT_EQ(one.nodes[one.failures[0].node], "n1");
  EXPECT_EQ(to_unix_seconds(one.failures[0].start), 720);
  EXPECT_EQ(to_unix_seconds(one.failures[0].end), 1200);
  EXPECT_EQ(one.nodes[one.failures[1].node], "n3");
  EXPECT_EQ(one.failures[1].end, kNever);

  EXPECT_FALSE(failures_of_journal("no journal\n"));
  EXPECT_FALSE(failures_of_journal(look(1, 1, R"({"nodes":"n1","state":"IDLE","down":false})")));
}

}  // namespace
}  // namespace sickbay::plan
