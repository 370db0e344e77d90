// SPDX-License-Identifier: Apache-2.0
// What a replay is made of, and which jobs stand in its way.  (The commands as a whole: test/cli/undo.sh.)
#include "apps/cli/undo/redo.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Record recorded() {
  Record record{"c17", {}, "/home/alice/job.sh", {"--record", "--check=cmp a b"}, {}, {}};
  record.submission.sbatch_options = {"-N", "2"};
  record.submission.script_args = {"fast", "a b"};
  record.submission.environment = {"A=1", "KEEP=x", "SICKBAY_CHECKPOINT_JOB=9", "SICKBAY_REPLAYS=9.4"};
  return record;
}

TEST(Redo, TheWordsAreThoseOfTheSubmission) {
  Record record = recorded();
  EXPECT_THAT(
      words_again(record, "", "", "job.sh", false),
      ElementsAre("--record", "--check=cmp a b", "--require-case", "-N", "2", "job.sh", "fast", "a b"));
  record.submission.sbatch_options = {"-xn1", "--exclude", "n2"};
  EXPECT_THAT(words_again(record, "n[3-4]", "n5", "-odd", true),
              ElementsAre("--record", "--check=cmp a b", "--require-case", "--json", "-xn1", "--exclude",
                          "n2", "--exclude=n2,n[3-4]", "--nodelist=n5", "--", "-odd", "fast", "a b"));
  // What the script excludes is excluded still, but not where the line has overridden it already.
  record.submission.script = "#!/bin/sh\n#SBATCH -x n8\n#SBATCH --exclude=n9\ntrue\n";
  EXPECT_THAT(words_again(record, "n[3-4]", "", "job.sh", false), Contains("--exclude=n2,n[3-4]"));
  record.submission.sbatch_options.clear();
  EXPECT_THAT(words_again(record, "n[3-4]", "", "job.sh", false), Contains("--exclude=n9,n[3-4]"));
  EXPECT_THAT(words_again(record, "", "", "job.sh", false), Not(Contains(HasSubstr("--exclude"))));
  // --wrap has no script.
  record.submission.script_args.clear();
  record.submission.sbatch_options = {"--wrap=true"};
  EXPECT_THAT(words_again(record, "", "", "", false),
              ElementsAre("--record", "--check=cmp a b", "--require-case", "--wrap=true"));
}

TEST(Redo, TheEnvironmentIsTheRecordedOneAsChanged) {
  std::string top = (fs::temp_directory_path() / "sickbay-redo.XXXXXX").string();
  ASSERT_NE(::mkdtemp(top.data()), nullptr);
  const Objects objects(top);
  ASSERT_TRUE(objects.make());
  const std::string two = *objects.keep_text("2");
  const Json work = Json::object({{"environment:A", two}, {"environment:KEEP", ""}, {"file:/x", "d"}});
  Json position =
      Json::object({{"op", "17.6"}, {"checkpoint", 3}, {"folder", "/scratch/17.solver"}, {"work", work}});
  EXPECT_THAT(*environment_again(recorded(), position, objects),
              ElementsAre("A=2", "SICKBAY_REPLAYS=17.6", "SICKBAY_CHECKPOINT_FROM=3",
                          "SICKBAY_CHECKPOINT_JOB=17", "SICKBAY_CHECKPOINTS=/scratch"));
  // From the beginning: nothing tells it to go on.
  position.set("checkpoint", 0);
  EXPECT_THAT(*environment_again(recorded(), position, objects), ElementsAre("A=2", "SICKBAY_REPLAYS=17.6"));
  // Of a checkpoint program of the user's own the number is all that we know.
  position.set("checkpoint", 4).set("folder", "/scratch/mine");
  EXPECT_THAT(*environment_again(recorded(), position, objects), Contains("SICKBAY_CHECKPOINT_FROM=4"));
  EXPECT_THAT(*environment_again(recorded(), position, objects),
              Not(Contains("SICKBAY_CHECKPOINT_JOB=mine")));
  position.set("work", Json::object({{"environment:A", std::string(64, '0')}}));
  EXPECT_FALSE(environment_again(recorded(), position, objects)) << "a value that was not kept";
  fs::remove_all(top);
}

TEST(LiveJobs, ThoseOfTheHistoryAndRunsInItsFolderStandInTheWay) {
  const auto all = parse_live_jobs(
      "17 RUNNING\t/home/alice\t\n"
      "18 PENDING\t/home/alice\tmine sickbay:c17.r2\n"
      "19 RUNNING\t/home/alice/sickbay-c17/work-r3\tsickbay:c17.r3\n"
      "20 RUNNING\t/home/alice\tsickbay:c170.r2\n"
      "21 COMPLETING\t/with\tblanks in it\n"
      "garbage\n"
      "x RUNNING\t/home\t\n"
      "22 RUNNING\t/no/comment\n");
  std::vector<JobId> ids;
  for (const LiveJob& one : all) ids.push_back(one.job);
  EXPECT_THAT(ids, ElementsAre(17, 18, 19, 20, 21));
  EXPECT_EQ(all[1].state, "PENDING");
  EXPECT_EQ(all[1].folder, "/home/alice");
  EXPECT_EQ(all[1].comment, "mine sickbay:c17.r2");
  const std::vector<JobId> jobs{17, 31};
  const std::vector<std::string> cases{"c17", "c20"};
  ids.clear();
  for (const LiveJob& one : concerning(all, jobs, cases, "/home/alice")) ids.push_back(one.job);
  EXPECT_THAT(ids, ElementsAre(17, 18)) << "a run in a copy does no harm, another case's is not ours";
  EXPECT_THAT(concerning(all, {}, {}, "/home/alice"), IsEmpty());
}

}  // namespace
}  // namespace sickbay::cli
