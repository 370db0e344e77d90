// SPDX-License-Identifier: Apache-2.0
#include "model/event_lines.h"

#include <gtest/gtest.h>

#include <sstream>

namespace sickbay {
namespace {

Event some(std::int64_t seq) {
  Event event = new_event("c1", "case_opened", Json::object({{"text", "a\nb"}}));
  event.seq = seq;
  event.at = from_unix_seconds(seq);
  return event;
}

TEST(EventLines, AreWhatTheJournalPrints) {
  const std::string text = some(1).text() + "\n\n  " + some(2).text() + "\r\n" + some(3).text();
  std::vector<Event> seen, streamed;
  const auto count = for_each_event(std::string_view(text), [&](const Event& e) { seen.push_back(e); });
  ASSERT_TRUE(count) << count.error().line();
  EXPECT_EQ(*count, 3u);
  EXPECT_EQ(seen, (std::vector<Event>{some(1), some(2), some(3)}));
  std::istringstream lines(text);
  ASSERT_TRUE(for_each_event(lines, [&](const Event& e) { streamed.push_back(e); }));
  EXPECT_EQ(streamed, seen);
  EXPECT_EQ(*for_each_event(std::string_view(), [](const Event&) { FAIL(); }), 0u);
}

TEST(EventLines, WhatIsNoneIsToldByItsLine) {
  for (const char* bad :
       {"{}", "no", "{\"seq\":1}", "[]", "{\"seq\":\"1\",\"at\":1,\"subject\":\"c1\",\"kind\":\"k\"}"}) {
    int heard = 0;
    const auto read =
        for_each_event(some(1).text() + "\n\n" + bad + "\n" + some(2).text(), [&](const Event&) { ++heard; });
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::bad_input);
    EXPECT_NE(read.error().line().find("line 3 "), std::string::npos) << read.error().line();
    EXPECT_EQ(heard, 1);
  }
}

}  // namespace
}  // namespace sickbay
