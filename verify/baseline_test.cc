// SPDX-License-Identifier: Apache-2.0
// Record, save, load, judge: the whole way of a baseline, on real files.
#include "baseline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "report.h"

namespace sickbay::verify {
namespace {

std::string line(const char* phase, double value, const char* more = "") {
  std::ostringstream text;
  text << R"({"sickbay_verify":1,"node":"n1","rank":0,"phase":")" << phase
       << R"(","ok":true,"slow":false,"value":)" << value << more << "}\n";
  return text.str();
}

Baseline recorded(const std::string& lines) {
  std::istringstream in(lines);
  auto baseline = Baseline::record(in);
  EXPECT_TRUE(baseline) << (baseline ? "" : baseline.error().line());
  return baseline.value_or(Baseline());
}

TEST(Baseline, TakesTheMedianAndAToleranceThatHoldsAllThatWasRecorded) {
  const Baseline baseline = recorded("noise\n" + line("membw", 100) + line("membw", 60) + line("membw", 110) +
                                     line("cpu", 40) + line("net", 900, R"(,"latency_us":10)"));
  EXPECT_EQ(baseline.rows().at("membw").median, 100);
  EXPECT_NEAR(baseline.rows().at("membw").tolerance, 0.6, 1e-9);  // 1.5 times the way to the worst
  EXPECT_NEAR(baseline.rows().at("cpu").tolerance, 0.15, 1e-9);   // the floor
  EXPECT_EQ(baseline.rows().at("net_latency").median, 10);
  EXPECT_EQ(baseline.rows().count("disk"), 0u);
}

TEST(Baseline, JudgesByBothSides) {
  const Baseline baseline = recorded(line("cpu", 40) + line("net", 900, R"(,"latency_us":10)"));
  const struct {
    const char* phase;
    double value, latency;
    bool slow;
  } rows[] = {
      {"cpu", 40, 0, false},
      {"cpu", 35, 0, false},
      {"cpu", 33, 0, true},
      {"cpu", 80, 0, false},
      {"net", 900, 10, false},
      {"net", 500, 10, true},
      {"net", 900, 21, true},
      {"net", 900, 1, false},
      // Nothing recorded for it: never slow.
      {"disk", 0.001, 0, false},
  };
  for (const auto& row : rows) {
    Finding finding{.phase = row.phase, .value = row.value};
    if (row.latency > 0) finding.also = {{"latency_us", row.latency}};
    baseline.judge(finding);
    EXPECT_EQ(finding.slow, row.slow) << row.phase << " " << row.value << " " << row.latency;
    EXPECT_EQ(finding.detail.empty(), !row.slow) << finding.detail;
  }
}

TEST(Baseline, ComesBackFromItsFile) {
  const std::string path = ::testing::TempDir() + "baseline_test." + std::to_string(::getpid());
  const Baseline baseline = recorded(line("cpu", 40) + line("disk", 300));
  ASSERT_TRUE(baseline.save(path));
  const auto loaded = Baseline::load(path);
  ASSERT_TRUE(loaded) << loaded.error().line();
  EXPECT_EQ(loaded->rows().size(), 2u);
  EXPECT_EQ(loaded->rows().at("disk").median, 300);
  std::remove(path.c_str());
}

TEST(Baseline, RefusesBadNodesAndBadFiles) {
  for (const char* lines :
       {"", "no line\n", R"({"sickbay_verify":1,"node":"n3","phase":"cpu","ok":false,"value":1})",
        R"({"sickbay_verify":1,"node":"n3","phase":"cpu","ok":true,"slow":true,"value":1})"}) {
    std::istringstream in(lines);
    EXPECT_FALSE(Baseline::record(in)) << lines;
  }
  EXPECT_EQ(Baseline::load("/nonexistent").error().code, ErrorCode::not_found);
  const std::string path = ::testing::TempDir() + "baseline_test_bad." + std::to_string(::getpid());
  for (const char* text : {"", "{", "[]", R"({"sickbay_baseline":2,"metrics":{}})",
                           R"({"sickbay_baseline":1,"metrics":{"gpu":{"median":1,"tolerance":0}}})",
                           R"({"sickbay_baseline":1,"metrics":{"cpu":{"median":0,"tolerance":0}}})"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(Baseline::load(path).error().code, ErrorCode::bad_input) << text;
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace sickbay::verify
