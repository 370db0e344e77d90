// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/pending_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace sickbay::cli {
namespace {

class PendingText : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "EST5", 1);  // so that a stamp that stays in UTC is seen
    tzset();
  }
  void TearDown() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static Json json(std::string_view text) { return Json::parse(text).value(); }
};

constexpr std::string_view kWaits = R"({"job_id":17,"reason":"ReqNodeNotAvail",
  "reason_detail":"UnavailableNodes:n2\u001b[31m","lasting":false,"expected_start":1795377600000000,
  "sentence":"Job 17 waits: reservation maint takes n[1-4] from 2026-11-22T14:10:00Z to 2026-11-22T18:00:00Z.",
  "reasons":[{"code":"reservation_ahead","text":"it","remedy":"a time limit under 2 h fits","who":"user","lasting":false},
             {"code":"begin_time","text":"it is not to start before 2026-11-22T14:00:00Z","remedy":"wait","who":"time","lasting":false}],
  "facts":{"partition":"batch","nodes":[{"hurdle":"idle","nodes":"n[1,3-4]","count":3,"reason":""},
                                        {"hurdle":"drained","nodes":"n2","count":1,"reason":"disk"}]}})";

TEST_F(PendingText, Whole) {
  EXPECT_EQ(pending_text(json(kWaits), {}),
            "Job 17 waits: reservation maint takes n[1-4] from 2026-11-22 09:10:00 to 2026-11-22 13:00:00.\n"
            "  Slurm's reason: ReqNodeNotAvail (UnavailableNodes:n2\\x1b[31m)\n"
            "  expected start: 2026-11-22 15:00:00, as slurmctld reckons now; it may be earlier or later\n"
            "\nWhat would let it run\n"
            "  - a time limit under 2 h fits (for the job's owner)\n"
            "  - it is not to start before 2026-11-22 09:00:00: wait (nothing to do)\n"
            "\nNodes of partition batch\n"
            "  NODES     COUNT  STATE    REASON\n"
            "  n[1,3-4]      3  idle\n"
            "  n2            1  drained  disk\n");
}

// A newer or broken sickbayd must not break the page.
TEST_F(PendingText, BearsWhatIsNotThere) {
  EXPECT_EQ(pending_text(Json::object({{"sentence", "Job 17 waits."}, {"reason", "None"}}), {}),
            "Job 17 waits.\n  Slurm's reason: None\n\nWhat would let it run\n");
  EXPECT_EQ(pending_exit_code(Json::object()), 20);
  EXPECT_EQ(pending_exit_code(Json::object({{"lasting", true}})), 21);
}

TEST_F(PendingText, StampsAreTheReadersTime) {
  const struct {
    const char* text;
    const char* local;
  } rows[] = {
      {"", ""},
      {"until 2026-11-22T14:00:00Z.", "until 2026-11-22 09:00:00."},
      {"2026-11-22T14:00:00Z2026-11-22T15:00:00Z", "2026-11-22 09:00:002026-11-22 10:00:00"},
      {"2026-13-22T14:00:00Z", "2026-13-22T14:00:00Z"},
      {"a text that is not a stampZ", "a text that is not a stampZ"},
  };
  for (const auto& row : rows) EXPECT_EQ(in_local_time(row.text), row.local);
}

TEST_F(PendingText, TheRunThatWaitsIsAsked) {
  EXPECT_EQ(waiting_job(json(R"({"runs":[{"kind":"program","state":"FAILED","end":5,"job_id":7},
    {"kind":"verification","state":"PENDING","end":0,"job_id":8},{"kind":"program","state":"PENDING","end":0,"job_id":9}]})")),
            9);
  EXPECT_EQ(waiting_job(json(R"({"runs":[{"kind":"program","state":"RUNNING","end":0,"job_id":7}]})")), 0);
  EXPECT_EQ(waiting_job(Json()), 0);
}

}  // namespace
}  // namespace sickbay::cli
