// SPDX-License-Identifier: Apache-2.0
#include "ports/http.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Http, AnErrorSurvivesTheWire) {
  Error sent =
      Error(ErrorCode::slurm_away, "could not drain n042").because("slurmctld is silent").in("acting");
  const HttpResponse response = error_response(sent);
  EXPECT_EQ(response.status, 503);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].first, "Retry-After");

  const Error got = error_from_response(response.status, response.body);
  EXPECT_EQ(got.code, ErrorCode::slurm_away);
  EXPECT_EQ(got.what, sent.line());
  EXPECT_EQ(got.cause, sent.cause);
  EXPECT_EQ(got.remedy(), sent.remedy());
}

TEST(Http, OnlyA503SaysWhenToTryAgain) {
  EXPECT_TRUE(error_response(Error(ErrorCode::denied, "no")).headers.empty());
  EXPECT_EQ(error_response(Error(ErrorCode::busy, "full")).headers.size(), 1U);
}

TEST(Http, ABodyThatIsNoErrorIsShown) {
  for (const char* body : {"<html>", "", "{}", "[1]", R"({"code":1,"what":"x"})"}) {
    const Error error = error_from_response(502, body);
    EXPECT_EQ(error.code, ErrorCode::internal);
    EXPECT_NE(error.what.find("502"), std::string::npos) << error.what;
  }
}

TEST(Http, FindsQueryValues) {
  HttpRequest request;
  request.query = {{"all", ""}, {"user", "ann"}, {"user", "bob"}};
  EXPECT_EQ(request.query_value("all"), "");
  EXPECT_EQ(request.query_value("user"), "ann");
  EXPECT_EQ(request.query_value("use"), std::nullopt);
}

}  // namespace
}  // namespace sickbay
