// SPDX-License-Identifier: Apache-2.0
#include "model/node_reason.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(NodeReason, TellsWhoSetANodeDown) {
  const struct {
    const char* what;
    const char* now;
    const char* before;
    bool silent;
    DownBy by;
  } rows[] = {
      {"silence", "Not responding", "", true, DownBy::slurm},
      {"scontrol shows who and when behind it", "Not responding [slurm@2026-01-01T00:00:00]", "", true,
       DownBy::slurm},
      {"a reboot that nobody asked for", "Node unexpectedly rebooted", "", false, DownBy::slurm},
      {"a person", "disk exchange", "", false, DownBy::operators},
      {"a person, of a silent node", "rack 4 loses power", "", true, DownBy::operators},
      {"a person without words", "", "", false, DownBy::operators},
      {"lost after a person had drained it", "disk exchange", "disk exchange", true, DownBy::slurm},
      {"a person sets DOWN what he has drained", "disk exchange", "disk exchange", false, DownBy::operators},
      {"another reason than the drain's", "power off", "disk exchange", true, DownBy::operators},
      {"NHC is a person's program", "NHC: check_hw_mcelog: edac errors", "", false, DownBy::operators},
      {"words in the middle are a person's", "was Not responding, took it out", "", false, DownBy::operators},
  };
  for (const auto& row : rows) EXPECT_EQ(who_set_down(row.now, row.before, row.silent), row.by) << row.what;
}

TEST(NodeReason, EveryRowIsKnownAndHasASource) {
  for (const SlurmReasonRow& row : slurm_reasons()) {
    EXPECT_TRUE(is_slurms_reason(row.begins));
    EXPECT_TRUE(row.source.starts_with("slurm")) << row.begins;
  }
  EXPECT_FALSE(is_slurms_reason(""));
}

TEST(NodeReason, KnowsANodeThatCouldNotStartAJob) {
  const struct {
    const char* text;
    bool no_launch;
  } rows[] = {
      {"SlurmdSpoolDir is full", true},
      {"batch job complete failure", true},
      {"Prolog error [slurm@2026-01-01T00:00:00]", true},
      {"Job env setup error", true},
      {"Duplicate jobid", false},
      {"Epilog error", false},
      {"Kill task failed", false},
      {"prolog is being tested", false},
      {"", false},
  };
  for (const auto& row : rows) EXPECT_EQ(says_no_launch(row.text), row.no_launch) << row.text;
}

TEST(NodeReason, KnowsNoSpaceFromAnotherFailureToWrite) {
  EXPECT_TRUE(says_no_space("cannot write in /tmp: No space left on device"));
  EXPECT_TRUE(says_no_space("write: Disk quota exceeded"));
  EXPECT_FALSE(says_no_space("cannot write in /tmp: Input/output error"));
  EXPECT_TRUE(speaks_of_writing("IOError: Cannot write to scratch"));
  EXPECT_TRUE(speaks_of_writing("OSError: [Errno 28] No space left on device: '/tmp/x'"));
  EXPECT_FALSE(speaks_of_writing("exit 3"));
}

}  // namespace
}  // namespace sickbay
