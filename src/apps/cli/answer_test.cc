// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/answer.h"

#include <gtest/gtest.h>

namespace sickbay::cli {
namespace {

struct Said {
  int code;
  std::string out, err;
};
Said said_of(const Ending& ending) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = exit_code_of(ending);
  std::fflush(stdout);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Ending, AnExitCodeIsTheCommandsOwnAndSaysNothing) {
  for (const int code : {0, 1, 20}) {
    const Said said = said_of({code, true});
    EXPECT_EQ(said.code, code);
    EXPECT_EQ(said.out + said.err, "");
  }
}

TEST(Ending, AnErrorIsToldOnceAndGivesItsExitCode) {
  const Error error = Error(ErrorCode::busy, "sickbayd is busy").because("40 wait").remedied_by("wait");
  const Said said = said_of({fail(error)});
  EXPECT_EQ(said.code, error_row(ErrorCode::busy).exit_code);
  EXPECT_EQ(said.err, "sickbay: error: sickbayd is busy\n  cause:  40 wait\n  remedy: wait\n");
  EXPECT_EQ(said.out, "");
  const Said with_json = said_of({fail(error), true});
  EXPECT_EQ(with_json.err, said.err);
  auto json = Json::parse(with_json.out);
  ASSERT_TRUE(json) << with_json.out;
  EXPECT_EQ((*json)["code"].as_string(), "busy");
  EXPECT_EQ((*json)["remedy"].as_string(), "wait");
}

TEST(AboutPath, OnlyAMissingFileWithoutItsOwnRemedyGetsThatOfPaths) {
  EXPECT_EQ(about_path(Error(ErrorCode::not_found, "a")).remedy(),
            "check the path; a relative one begins at the current folder");
  EXPECT_EQ(about_path(Error(ErrorCode::not_found, "a").remedied_by("its own")).remedy(), "its own");
  EXPECT_EQ(about_path(Error(ErrorCode::denied, "a")).remedy(), error_row(ErrorCode::denied).remedy);
}

}  // namespace
}  // namespace sickbay::cli
