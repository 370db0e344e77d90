// SPDX-License-Identifier: Apache-2.0
// The lines of a rank as they leave it, and its exit code.
#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace sickbay::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Baseline baseline_of_40() {
  std::istringstream in(R"({"sickbay_verify":1,"node":"n1","phase":"cpu","ok":true,"value":40})");
  return *Baseline::record(in);
}

struct Said {
  std::string text;
  int code;
};

Said said(Finding finding) {
  ::testing::internal::CaptureStdout();
  Reporter reporter("n1", 0, baseline_of_40());
  reporter.start("node", "Chip x2");
  reporter.report(std::move(finding));
  const int code = reporter.done();
  return {::testing::internal::GetCapturedStdout(), code};
}

TEST(Reporter, OffTheBaselineIsSlowUnlessTheNodeWasBusy) {
  const Said slow = said({.phase = "cpu", .value = 20});
  EXPECT_EQ(slow.code, 3);
  EXPECT_THAT(slow.text, HasSubstr(R"("slow":true)"));
  EXPECT_THAT(slow.text, Not(HasSubstr("busy")));
  EXPECT_THAT(slow.text, HasSubstr(R"("kind":"Chip x2")"));

  const Said busy = said({.phase = "cpu", .busy = true, .value = 20});
  EXPECT_EQ(busy.code, 0);
  EXPECT_THAT(busy.text, HasSubstr(R"("off_while_busy":true)"));
  EXPECT_THAT(busy.text, HasSubstr("is off the baseline"));

  const Said well = said({.phase = "cpu", .busy = true, .value = 40});
  EXPECT_EQ(well.code, 0);
  EXPECT_THAT(well.text, Not(HasSubstr("off_while_busy")));
}

TEST(Reporter, WhatTheNodeWithheldIsSlowHoweverBusyItWas) {
  const Said both = said({.phase = "cpu", .slow = true, .busy = true, .value = 20, .detail = "throttled"});
  EXPECT_EQ(both.code, 3);
  EXPECT_THAT(both.text, HasSubstr(R"("slow":true)"));
}

TEST(Reporter, AWrongResultGoesBeforeAll) {
  const Said wrong = said({.phase = "cpu", .ok = false, .value = 20, .detail = "sums differ"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.text, Not(HasSubstr("baseline")));
}

}  // namespace
}  // namespace sickbay::verify
