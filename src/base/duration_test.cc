// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sickbay {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(TimeLimit, ParsesAndPrints) {
  const struct {
    const char* text;
    std::int64_t s;
    const char* printed;
  } rows[] = {
      {"30", 1800, "00:30:00"},
      {"0", 0, "00:00:00"},
      {"12:30", 750, "00:12:30"},
      {"02:00:00", 7200, "02:00:00"},
      {"1-0", 86400, "1-00:00:00"},
      {"1-12", 129600, "1-12:00:00"},
      {"1-12:30", 131400, "1-12:30:00"},
      {"1-01:01:01", 90061, "1-01:01:01"},

      // Fields over 59, as Slurm 22.05 reads them.
      {"0:90", 90, "00:01:30"},
      {"90:00", 5400, "01:30:00"},
      {"100:00:00", 360000, "4-04:00:00"},
      {"1-25", 176400, "2-01:00:00"},
      {"1-1:61:61", 93721, "1-02:02:01"},

      {"4294967293", 257698037580, "2982616-04:13:00"},
  };
  for (const auto& row : rows) {
    const auto limit = parse_time_limit(row.text);
    ASSERT_TRUE(limit) << row.text << ": " << limit.error().line();
    EXPECT_EQ(*limit, TimeLimit::of(seconds(row.s))) << row.text;
    EXPECT_EQ(format_time_limit(*limit), row.printed);
    EXPECT_EQ(parse_time_limit(row.printed).value(), *limit);
  }
  for (const char* text : {"UNLIMITED", "unlimited", "INFINITE", "-1"})
    EXPECT_EQ(*parse_time_limit(text), TimeLimit::unlimited()) << text;
  EXPECT_EQ(format_time_limit(TimeLimit::unlimited()), "UNLIMITED");
  EXPECT_EQ(*parse_time_limit("Partition_Limit"), TimeLimit{});
  EXPECT_EQ(format_time_limit(TimeLimit{}), "Partition_Limit");
  EXPECT_EQ(TimeLimit::of(seconds(61)).minutes().count(), 2);
  EXPECT_EQ(TimeLimit::of(seconds(60)).minutes().count(), 1);
}

TEST(TimeLimit, Refuses) {
  for (const char* text : {"", " ", "5m", "1.5", "-5", "+5", " 5", "5 ", "1-", ":30", "30:", "1:2:3:4",
                           "1-1-1", "1-1:1:1:1", "INVALID", "1d", "10:00.5", "1-02:03:04 "}) {
    const auto limit = parse_time_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_THAT(limit.error().message("sickbay"), HasSubstr("write minutes, MM:SS")) << text;
  }
  // Slurm 22.05 reads the first as a negative number.
  for (const char* text : {"4294967294", "999999999999-0", "999999999999:00:00"})
    EXPECT_THAT(parse_time_limit(text).error().what, HasSubstr("longer than any limit")) << text;
  EXPECT_FALSE(parse_time_limit("9999999999999"));
  EXPECT_FALSE(parse_time_limit(std::string(1000, '9')));
}

TEST(Elapsed, ParsesAndPrints) {
  const struct {
    const char* text;
    std::int64_t us;
    const char* printed;
  } rows[] = {
      {"00:00:00", 0, "00:00:00"},
      {"03:34:13", 12'853'000'000, "03:34:13"},
      {"1-05:50:00", 107'400'000'000, "1-05:50:00"},
      {"00:05.908", 5'908'000, "00:00:05.908"},
      {"59:59.999", 3'599'999'000, "00:59:59.999"},
      {"90:00", 5'400'000'000, "01:30:00"},
      {"00:00.012", 12'000, "00:00:00.012"},
      {"00:00:00.000001", 1, "00:00:00.000001"},
      {"00:00.5", 500'000, "00:00:00.500"},
      {"7-17:10:15.25", 666'615'250'000, "7-17:10:15.250"},
      {"1000:00:00", 3'600'000'000'000, "41-16:00:00"},
  };
  for (const auto& row : rows) {
    const auto elapsed = parse_elapsed(row.text);
    ASSERT_TRUE(elapsed) << row.text << ": " << elapsed.error().line();
    EXPECT_EQ(elapsed->count(), row.us) << row.text;
    EXPECT_EQ(format_elapsed(*elapsed), row.printed);
    EXPECT_EQ(parse_elapsed(row.printed).value(), *elapsed);
  }
  EXPECT_EQ(format_elapsed(microseconds(-1)), "INVALID");
}

TEST(Elapsed, Refuses) {
  for (const char* text :
       {"", "12", "1-02", "1-02:03", "00:60", "00:60:00", "1-24:00:00", "00:00.", "00:00.1234567", "00:00,5",
        "INVALID", "UNLIMITED", "-00:01", "999999999999-00:00:00", "107000000-00:00:00", "00:00:00:00"})
    EXPECT_FALSE(parse_elapsed(text)) << text;
}

TEST(Duration, ParsesAndPrints) {
  const struct {
    const char* text;
    std::int64_t us;
    const char* printed;
  } rows[] = {
      {"0s", 0, "0s"},
      {"0d", 0, "0s"},
      {"7us", 7, "7us"},
      {"250ms", 250'000, "250ms"},
      {"1000ms", 1'000'000, "1s"},
      {"30s", 30'000'000, "30s"},
      {"90s", 90'000'000, "90s"},
      {"5m", 300'000'000, "5m"},
      {"2h", 7'200'000'000, "2h"},
      {"7d", 604'800'000'000, "7d"},
      {"007d", 604'800'000'000, "7d"},
      {"9223372036854775807us", 9223372036854775807, "9223372036854775807us"},
  };
  for (const auto& row : rows) {
    const auto duration = parse_duration(row.text);
    ASSERT_TRUE(duration) << row.text << ": " << duration.error().line();
    EXPECT_EQ(duration->count(), row.us) << row.text;
    EXPECT_EQ(format_duration(*duration), row.printed);
    EXPECT_EQ(parse_duration(row.printed).value(), *duration);
  }
}

TEST(Duration, Refuses) {
  const struct {
    const char *text, *what;
  } rows[] = {
      {"", "'' is not a duration"},
      {"s", "'s' is not a duration"},
      {"30", "'30' has no unit"},
      {"1.5h", "'1.5h' is not a duration"},
      {"1h30m", "'1h30m' is not a duration"},
      {"30 s", "'30 s' is not a duration"},
      {"5M", "'5M' is not a duration"},  // a month? a minute?
      {"-5s", "'-5s' is not a duration"},
      {"9223372036854775808us", "is too long a duration"},
      {"99999999999999999999999us", "is too long a duration"},
      {"106751992d", "is too long a duration"},
  };
  for (const auto& row : rows) {
    const auto duration = parse_duration(row.text);
    ASSERT_FALSE(duration) << row.text;
    EXPECT_THAT(duration.error().what, HasSubstr(row.what));
    EXPECT_THAT(duration.error().remedy_text, HasSubstr("250ms"));
  }
}

TEST(Duration, ForPeople) {
  const struct {
    std::int64_t us;
    const char* text;
  } rows[] = {
      {0, "0 s"},
      {7, "7 us"},
      {850'000, "850 ms"},
      {999'999, "999 ms"},
      {1'000'000, "1 s"},
      {1'050'000, "1 s"},
      {2'500'000, "2.5 s"},
      {9'990'000, "9.9 s"},
      {12'900'000, "12 s"},
      {60'000'000, "1 min"},
      {72'000'000, "1 min 12 s"},
      {3'600'000'000, "1 h"},
      {7'500'000'000, "2 h 5 min"},
      {273'600'000'000, "3 d 4 h"},
      {-2'500'000, "-2.5 s"},
      {std::numeric_limits<std::int64_t>::min(), "-106751991 d 4 h"},
  };
  for (const auto& row : rows) EXPECT_EQ(describe_duration(microseconds(row.us)), row.text) << row.us;
}

}  // namespace
}  // namespace sickbay
