// SPDX-License-Identifier: Apache-2.0
#include "workload/report/period.h"

#include <gtest/gtest.h>

namespace sickbay::workload {
namespace {

const TimePoint kNow = *parse_time("2021-06-15T12:00:00Z");
TimeZone utc_zone() { return *TimeZone::make("UTC"); }
std::string time_of(const std::string& text, const TimeZone& zone = utc_zone()) {
  auto time = parse_report_time(text, zone, kNow);
  return time ? format_time(*time) : time.error().what;
}

TEST(ReportTime, HasTheFormsThatPeopleWrite) {
  struct Case {
    const char *text, *time;
  };
  const Case cases[] = {
      {"2021", "2021-01-01T00:00:00Z"},
      {"2021-05", "2021-05-01T00:00:00Z"},
      {"2021-05-03", "2021-05-03T00:00:00Z"},
      {"2021-05-03T10:30", "2021-05-03T10:30:00Z"},
      {"2021-05-03 10:30:15", "2021-05-03T10:30:15Z"},
      {"30d", "2021-05-16T12:00:00Z"},
      {"90s", "2021-06-15T11:58:30Z"},
      {"", "'' is no time"},
      {"May", "'May' is no time"},
      {"2021-13", "'2021-13' is no time"},
      {"12", "'12' is no time"},  // a bare number could be anything
  };
  for (const Case& c : cases) EXPECT_EQ(time_of(c.text), c.time) << c.text;
}

TEST(ReportTime, IsOfTheReportsZone) {
  EXPECT_EQ(time_of("2021-05-03", *TimeZone::make("Asia/Shanghai")), "2021-05-02T16:00:00Z");
}

std::string comparison(const std::string& text, const Filter& filter) {
  auto period = parse_comparison(text, filter, utc_zone(), kNow);
  return period ? format_time(period->from) + " " + format_time(period->to) : period.error().what;
}

TEST(Comparison, IsNamedOrThePreviousPeriod) {
  Filter may;
  may.from = *parse_report_time("2021-05-01", utc_zone(), kNow);
  may.to = *parse_report_time("2021-05-11", utc_zone(), kNow);
  EXPECT_EQ(comparison("previous", may), "2021-04-21T00:00:00Z 2021-05-01T00:00:00Z");
  EXPECT_EQ(comparison("2021-01..2021-02", may), "2021-01-01T00:00:00Z 2021-02-01T00:00:00Z");
  EXPECT_EQ(comparison("previous", {}), "'--compare previous' needs --from and --to");
  EXPECT_EQ(comparison("2021-01", may), "'2021-01' is no period");
  EXPECT_EQ(comparison("2021-02..2021-01", may), "the period '2021-02..2021-01' ends before it begins");
  EXPECT_EQ(comparison("2021-01..never", may), "'never' is no time");
}

TEST(Period, GoesWithItsZoneIntoTheViews) {
  ViewOrder views;
  ASSERT_TRUE(
      set_period({"2021-05-01", "2021-05-11", "previous"}, *TimeZone::make("Europe/Berlin"), kNow, views));
  EXPECT_EQ(format_time(*views.filter.from), "2021-04-30T22:00:00Z");
  EXPECT_EQ(format_time(views.compare->from), "2021-04-20T22:00:00Z");
  EXPECT_FALSE(views.zone.empty());
  auto backwards = set_period({"2021-05-11", "2021-05-01", ""}, utc_zone(), kNow, views);
  ASSERT_FALSE(backwards);
  EXPECT_EQ(backwards.error().what, "the period ends before it begins");
}

}  // namespace
}  // namespace sickbay::workload
