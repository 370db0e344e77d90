// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/protocol.h"

#include <gtest/gtest.h>

namespace sickbay::slurm {
namespace {

std::string length_of(std::uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}

TEST(SlurmProtocol, AFrameIsALengthAndItsJson) {
  EXPECT_EQ(frame(Json::object({{"a", 1}})), std::string("\0\0\0\7", 4) + "{\"a\":1}");
}

TEST(SlurmProtocol, FramesComeTogetherHoweverTheyAreCut) {
  const Json one = Json::object({{"id", 1}, {"call", "find"}}), two = Json::array({1, "x"});
  const std::string bytes = frame(one) + frame(two);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    FrameReader reader;
    std::vector<Json> got;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      for (auto next = reader.next(); next && *next; next = reader.next()) got.push_back(**next);
    }
    ASSERT_EQ(got.size(), 2U) << "step " << step;
    EXPECT_EQ(got[0], one);
    EXPECT_EQ(got[1], two);
    EXPECT_EQ(reader.buffered(), 0U);
  }
}

TEST(SlurmProtocol, WhatIsNoFrameIsAnError) {
  const std::string rows[] = {
      length_of(kMaxFrame + 1),  // refused before its bytes come
      length_of(0),              // no JSON
      length_of(3) + "{a}",      // broken
      length_of(7) + "{\"a\":1}" + length_of(1) + "]",
  };
  for (const std::string& bytes : rows) {
    FrameReader reader;
    reader.feed(bytes);
    auto next = reader.next();
    while (next && *next) next = reader.next();
    ASSERT_FALSE(next) << bytes.size();
    EXPECT_EQ(next.error().code, ErrorCode::bad_input);
  }
}

TEST(SlurmProtocol, RequestsAndRepliesSurviveTheTrip) {
  const Request request{7, "cancel", Json::object({{"job_id", 17}})};
  EXPECT_EQ(Request::from_json(request.to_json()), request);

  const auto fine = Reply::from_json(Reply{7, Json(true), 1200}.to_json());
  ASSERT_TRUE(fine);
  EXPECT_EQ(fine->id, 7);
  EXPECT_EQ(fine->took_us, 1200);
  EXPECT_EQ(fine->outcome, Json(true));

  const Error error = Error(ErrorCode::refused_by_slurm, "no").because("so").remedied_by("do");
  const auto bad = Reply::from_json(Reply{8, fail(error), 3}.to_json());
  ASSERT_TRUE(bad);
  ASSERT_FALSE(bad->outcome);
  EXPECT_EQ(bad->outcome.error().code, ErrorCode::refused_by_slurm);
  EXPECT_EQ(bad->outcome.error().what, "no");
  EXPECT_EQ(bad->outcome.error().cause, "so");
  EXPECT_EQ(bad->outcome.error().remedy(), "do");
}

TEST(SlurmProtocol, NullIsAnAnswerAndNothingIsNot) {
  EXPECT_TRUE(Reply::from_json(Reply{1, Json(), 0}.to_json()));
  EXPECT_FALSE(Reply::from_json(Json::object({{"id", 1}, {"took_us", 0}})));
  EXPECT_FALSE(Reply::from_json(Json::object({{"ok", true}})));
  EXPECT_FALSE(Reply::from_json(Json::array({1})));
  EXPECT_FALSE(Request::from_json(Json::object({{"id", "1"}, {"call", "find"}})));
  EXPECT_FALSE(Request::from_json(Json::object({{"id", 1}})));
}

}  // namespace
}  // namespace sickbay::slurm
