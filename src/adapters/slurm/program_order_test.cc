// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/program_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sickbay::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ProgramOrder order() {
  ProgramOrder one;
  one.key = "c17.r2.a1";
  one.submission.owner = {"alice", 60001, 60001};
  one.submission.script = "#!/bin/sh\ntrue\n";
  one.submission.script_name = "dir/job.sh";
  one.submission.work_dir = "/home/alice";
  one.submission.environment = {"PATH=/usr/bin", "LD_PRELOAD=/evil.so", "SLURM_CONF=/evil.conf"};
  one.output_dir = "/home/alice/sickbay-c17";
  return one;
}

SbatchSite site() { return {"/usr/bin/sbatch", "/etc/slurm/slurm.conf", "ALL", ""}; }

ProgramSubmission prepared(const ProgramOrder& one, const SbatchSite& where = site()) {
  auto made = program_submission(one, where);
  EXPECT_TRUE(made) << made.error().line();
  return made ? std::move(*made) : ProgramSubmission();
}

/// The value of the last --NAME= in argv, as sbatch takes it; "-" where it is not there.
std::string option(const ProgramSubmission& made, const std::string& name) {
  std::string value = "-";
  for (const std::string& word : made.spec.argv)
    if (word.starts_with("--" + name + "=")) value = word.substr(name.size() + 3);
  return value;
}

/// The job's environment, NUL as line break.
std::string environment(const ProgramSubmission& made) {
  std::string text = made.spec.extra_fds.at(0).second;
  for (char& c : text)
    if (c == '\0') c = '\n';
  return "\n" + text;
}

TEST(ProgramOrderLine, AnOrdinaryJobIsHeldKeyedAndItsOwners) {
  const auto made = prepared(order());
  EXPECT_THAT(made.spec.argv,
              ElementsAre("/usr/bin/sbatch", "--parsable", "--hold", "--comment=sickbay:c17.r2.a1",
                          "--job-name=job.sh", "--output=/home/alice/sickbay-c17/slurm-%j.out",
                          "--error=/home/alice/sickbay-c17/slurm-%j.err", "--export-file=9", "--export=ALL",
                          "/dev/stdin"));
  EXPECT_EQ(made.spec.input, order().submission.script);
  EXPECT_EQ(made.spec.folder, "/home/alice");
  ASSERT_TRUE(made.spec.as_user);
  EXPECT_EQ(made.spec.as_user->uid, 60001U);
  EXPECT_THAT(made.dropped, IsEmpty());
}

TEST(ProgramOrderLine, OfAJobArrayOnlyTheOneTaskRunsAgain) {
  auto one = order();
  one.submission.sbatch_options = {"-a", "0-19%4", "--array=0-9"};
  one.submission.environment.push_back("SBATCH_ARRAY_INX=1-3");
  one.submission.script = "#!/bin/sh\n#SBATCH --array=0-99\ntrue\n";
  one.array_task = 0;
  const auto made = prepared(one);
  EXPECT_EQ(option(made, "array"), "0");
  EXPECT_THAT(made.spec.argv, Not(Contains(HasSubstr("0-9"))));
  EXPECT_THAT(made.dropped, IsEmpty()) << "it is replaced, and the case has a note of it";
}

TEST(ProgramOrderLine, NothingOfTheUsersReachesSbatchItself) {
  auto one = order();
  one.submission.environment.push_back("SBATCH_PARTITION=small");
  const auto made = prepared(one);
  EXPECT_THAT(made.spec.environment,
              ElementsAre("SLURM_CONF=/etc/slurm/slurm.conf", "SBATCH_PARTITION=small"));
  EXPECT_THAT(environment(made), HasSubstr("\nLD_PRELOAD=/evil.so\n"));
  EXPECT_THAT(environment(made), HasSubstr("\nSICKBAY_RUN=2\n"));
  EXPECT_THAT(environment(made), HasSubstr("\nSLURM_JOB_NAME=job.sh\n"));
}

TEST(ProgramOrderLine, OptionsThatTieItDownAreDroppedEverywhere) {
  auto one = order();
  one.submission.sbatch_options = {"-N2",      "-wn1",      "-Hb",    "now+1",
                                   "--depend", "afterok:1", "--wait", "--spank=x"};
  one.submission.script = "#!/bin/sh\n#SBATCH --deadline=now+1hour -t5\n#SBATCH --test-only\ntrue\n";
  one.submission.environment.push_back("SBATCH_WAIT=1");
  const auto made = prepared(one);
  EXPECT_THAT(made.dropped,
              ElementsAre("--nodelist=n1", "--hold", "--begin=now+1", "--dependency=afterok:1", "--wait",
                          "#SBATCH --deadline=now+1hour", "#SBATCH --test-only", "SBATCH_WAIT=1"));
  EXPECT_EQ(made.spec.argv[1], "--nodes=2");
  EXPECT_EQ(made.spec.argv[2], "--spank=x");
  EXPECT_EQ(made.spec.argv[3], "--parsable");
  EXPECT_EQ(made.spec.input, "#!/bin/sh\n#SBATCH \"--time=5\"\n##SBATCH --test-only\ntrue\n");
  EXPECT_THAT(made.spec.environment, Not(Contains("SBATCH_WAIT=1")));
}

TEST(ProgramOrderLine, TheFolderOfSubmissionIsWhereItRuns) {
  auto one = order();
  one.submission.environment = {"SLURM_SUBMIT_DIR=/home/alice/of_another_job", "PWD=/home/alice"};
  EXPECT_THAT(environment(prepared(one)), HasSubstr("\nSLURM_SUBMIT_DIR=/home/alice\n"));
  EXPECT_THAT(environment(prepared(one)), HasSubstr("\nPWD=/home/alice\n"));
  one.work_dir = "/home/alice/copy";
  EXPECT_EQ(prepared(one).spec.folder, "/home/alice/copy");
  EXPECT_THAT(environment(prepared(one)), HasSubstr("\nSLURM_SUBMIT_DIR=/home/alice/copy\n"));
  EXPECT_THAT(environment(prepared(one)), HasSubstr("\nPWD=/home/alice/copy\n"));
  EXPECT_THAT(environment(prepared(one)), Not(HasSubstr("of_another_job")));
}

TEST(ProgramOrderLine, ExportSetsWhatItNamesInItsOrder) {
  auto one = order();
  one.submission.environment = {"A=1", "B=2", "C=3", "A=4", "SPANK_X=5", "no_value", "=none"};
  const struct {
    const char* asked;
    const char* environment;
  } rows[] = {
      {"--export=ALL", "\nA=4\nB=2\nC=3\nSPANK_X=5\n"},
      {"--export=B", "\nSPANK_X=5\nB=2\nSLURM_EXPORT_ENV=B\n"},
      // Of a name that stands twice one value only is asked for: the first, as getenv() finds it.
      {"--export=A,Z,C=9", "\nSPANK_X=5\nA=1\nC=9\nSLURM_EXPORT_ENV=A,Z,C=9\n"},
      {"--export=all,B=8", "\nSPANK_X=5\nA=4\nB=8\nC=3\n"},
      // Only the last ALL counts: 30,000 of them with as large an environment once took minutes.
      {"--export=ALL,B=8,Z=7,ALL,C=9,ALL", "\nSPANK_X=5\nB=2\nZ=7\nC=3\nA=4\n"},
  };
  for (const auto& row : rows) {
    one.submission.sbatch_options = {row.asked};
    EXPECT_TRUE(environment(prepared(one)).starts_with(row.environment))
        << row.asked << ": " << environment(prepared(one));
  }
}

TEST(ProgramOrderLine, CommentExcludeAndNameAreJoinedWithTheUsersOwn) {
  const struct {
    std::vector<std::string> options, variables;
    const char* script;
    const char *comment, *exclude, *name;
  } rows[] = {
      {{"--comment=a b", "-x", "n1", "-J", "mine"}, {}, "", "a b sickbay:c17.r2.a1", "n1,n7", "mine"},
      {{}, {}, "#SBATCH --comment=s -x n[2-3] -J there", "s sickbay:c17.r2.a1", "n[2-3],n7", "-"},
      // The command line wins over the script, and variables stand between them.
      {{"-x", "n1"}, {}, "#SBATCH -x n2", "sickbay:c17.r2.a1", "n1,n7", "job.sh"},
      {{}, {"SBATCH_JOB_NAME=var"}, "#SBATCH -J there", "sickbay:c17.r2.a1", "n7", "-"},
      {{}, {}, "", "sickbay:c17.r2.a1", "n7", "job.sh"},
  };
  for (const auto& row : rows) {
    auto one = order();
    one.submission.sbatch_options = row.options;
    one.submission.script = std::string("#!/bin/sh\n") + row.script + "\ntrue\n";
    one.submission.environment.insert(one.submission.environment.end(), row.variables.begin(),
                                      row.variables.end());
    one.exclude = {"n7"};
    const auto made = prepared(one);
    EXPECT_EQ(option(made, "comment"), row.comment);
    EXPECT_EQ(option(made, "exclude"), row.exclude);
    EXPECT_EQ(option(made, "job-name"), row.name);
  }
}

TEST(ProgramOrderLine, AnExcludeFileCannotBeJoinedAndIsReported) {
  auto one = order();
  one.submission.sbatch_options = {"--exclude=./bad"};
  one.exclude = {"n7"};
  const auto made = prepared(one);
  EXPECT_EQ(option(made, "exclude"), "n7");
  EXPECT_THAT(made.dropped, ElementsAre("--exclude=./bad"));
}

TEST(ProgramOrderLine, ArgumentsAndPipesStayAsTheyWere) {
  auto one = order();
  one.submission.script_name = "stdin";
  one.submission.script_args = {"-N1", "two words"};
  const auto made = prepared(one);
  EXPECT_EQ(option(made, "job-name"), "sbatch");
  EXPECT_EQ(made.spec.argv.back(), "two words");
  EXPECT_EQ(made.spec.argv.end()[-3], "/dev/stdin");
}

TEST(ProgramOrderLine, AWrappedCommandHasNoScript) {
  auto one = order();
  // As `sickbay submit` keeps it: sbatch refuses a script beside --wrap, so that no such job ever ran again.
  one.submission.script = "#!/bin/sh\n\n#SBATCH --begin=now+1\nhostname\n";
  one.submission.script_name = "wrap";
  one.submission.sbatch_options = {"-N1", "--wrap=#SBATCH --begin=now+1\nhostname"};
  const auto made = prepared(one);
  EXPECT_THAT(made.spec.argv, Contains(HasSubstr("--wrap=")));
  EXPECT_THAT(made.spec.argv, Not(Contains("/dev/stdin")));
  EXPECT_EQ(made.spec.argv.back().substr(0, 2), "--");
  EXPECT_EQ(made.spec.input, "");
  EXPECT_EQ(option(made, "job-name"), "wrap");
  EXPECT_THAT(made.dropped, IsEmpty()) << "sbatch reads no options there either";
}

TEST(ProgramOrderLine, ACopyOfTheFolderTakesThePlaceOfChdir) {
  auto one = order();
  one.submission.sbatch_options = {"-D", "sub"};
  EXPECT_EQ(option(prepared(one), "chdir"), "sub");
  one.work_dir = "/home/alice/copy";
  const auto made = prepared(one);
  EXPECT_EQ(option(made, "chdir"), "/home/alice/copy");
  EXPECT_EQ(made.spec.folder, "/home/alice/copy");
}

TEST(ProgramOrderLine, ExportMeansWhatItMeantTheFirstTime) {
  const struct {
    const char* value;
    const char* option;
    std::vector<std::string> there, not_there;
  } rows[] = {
      {"ALL", "ALL", {"A=1", "B=2", "SLURM_X=3"}, {"SLURM_EXPORT_ENV"}},
      {"NONE", "SICKBAY_RUN=2", {"SLURM_X=3", "SLURM_EXPORT_ENV=NONE"}, {"A=", "B="}},
      {"NIL", "SICKBAY_RUN=2", {"SLURM_X=3"}, {"A=", "B="}},
      {"A,C=4", "SICKBAY_RUN=2", {"A=1", "C=4", "SLURM_X=3", "SLURM_EXPORT_ENV=A,C=4"}, {"B="}},
      {"ALL,A='x,y'", "SICKBAY_RUN=2", {"A=x,y", "B=2"}, {"A=1"}},
      {"MISSING", "SICKBAY_RUN=2", {}, {"MISSING=", "A="}},
  };
  for (const auto& row : rows) {
    auto one = order();
    one.submission.environment = {"A=1", "B=2", "SLURM_X=3"};
    one.submission.sbatch_options = {std::string("--export=") + row.value};
    const auto made = prepared(one);
    EXPECT_EQ(option(made, "export"), row.option) << row.value;
    for (const std::string& name : row.there)
      EXPECT_THAT(environment(made), HasSubstr("\n" + name + "\n")) << row.value;
    for (const std::string& name : row.not_there)
      EXPECT_THAT(environment(made), Not(HasSubstr("\n" + name))) << row.value;
    EXPECT_THAT(environment(made), HasSubstr("\nSICKBAY_RUN=2\n"));
  }
  auto one = order();
  one.submission.environment = {"A=1", "SBATCH_EXPORT=NONE"};
  EXPECT_EQ(option(prepared(one), "export"), "SICKBAY_RUN=2");
}

TEST(ProgramOrderLine, LimitsGoAsFarAsTheSiteAndTheUserLetThem) {
  const struct {
    const char *site, *except, *user;
    const char *nofile, *core;
  } rows[] = {
      {"ALL", "", nullptr, "=777", "=18446744073709551615"},
      {"NONE", "", nullptr, "", ""},
      {"NOFILE", "", nullptr, "=777", ""},
      {"", "NOFILE", nullptr, "", "=18446744073709551615"},
      {"NONE", "", "--propagate", "=U777", "=U18446744073709551615"},
      {"ALL", "", "--propagate=CORE", "", "=U18446744073709551615"},
      {"ALL", "", "--propagate=NONE", "", ""},
  };
  for (const auto& row : rows) {
    auto one = order();
    one.submission.limits = {{"NOFILE", 777}, {"CORE", -1}};
    if (row.user) one.submission.sbatch_options = {row.user};
    SbatchSite where = site();
    where.propagate = row.site;
    where.propagate_except = row.except;
    const auto made = prepared(one, where);
    const std::string text = environment(made);
    for (const auto& [name, value] : {std::pair{"NOFILE", row.nofile}, {"CORE", row.core}}) {
      const std::string variable = std::string("\nSLURM_RLIMIT_") + name;
      if (*value)
        EXPECT_THAT(text, HasSubstr(variable + value + "\n")) << row.site << row.except;
      else
        EXPECT_THAT(text, Not(HasSubstr(variable))) << row.site << row.except;
    }
    EXPECT_EQ(made.spec.limits, one.submission.limits);
  }
}

TEST(ProgramOrderLine, WhatCannotRunAgainIsRefused) {
  const struct {
    std::vector<std::string> options;
    const char* script;
  } rows[] = {
      {{"-N1", ":", "-N2"}, "#!/bin/sh\n"},
      {{}, "#!/bin/sh\n#SBATCH hetjob\n"},
      {{"-M", "other"}, "#!/bin/sh\n"},
      {{}, "#!/bin/sh\n#SBATCH --clusters=other\n"},
      {{"job.sh"}, "#!/bin/sh\n"},
      {{"--bb=capacity=1G"}, "#!/bin/sh\n"},
      {{}, "#!/bin/sh\n#SBATCH --bbf=spec\n"},
      {{}, "#!/bin/sh\n#SBATCH -N1\n#DW jobdw type=scratch capacity=1GB\ntrue\n"},
      {{}, "#!/bin/sh\n#BB create_persistent name=x\ntrue\n"},
      {{"--cluster-constraint=a"}, "#!/bin/sh\n"},
  };
  for (const auto& row : rows) {
    auto one = order();
    one.submission.sbatch_options = row.options;
    one.submission.script = row.script;
    const auto made = program_submission(one, site());
    ASSERT_FALSE(made) << row.script;
    EXPECT_EQ(made.error().code, ErrorCode::bad_input);
  }
}

TEST(ProgramOrderLine, AFolderThatIsNotOnThisHostIsTheNodesMatter) {
  SbatchSite elsewhere = site();
  elsewhere.folder_is_here = false;
  auto one = order();
  auto made = prepared(one, elsewhere);
  EXPECT_EQ(made.spec.folder, "/");
  EXPECT_EQ(option(made, "chdir"), "/home/alice");
  EXPECT_EQ(option(made, "output"), "/home/alice/sickbay-c17-%j.out")
      << "nobody here can make a folder there";
  EXPECT_EQ(option(made, "error"), "/home/alice/sickbay-c17-%j.err");
  one.submission.script = "#!/bin/sh\n#SBATCH --chdir=sub\ntrue\n";
  EXPECT_EQ(option(prepared(one, elsewhere), "chdir"), "/home/alice/sub");
  one.submission.sbatch_options = {"--chdir=/scratch"};
  made = prepared(one, elsewhere);
  EXPECT_EQ(std::count(made.spec.argv.begin(), made.spec.argv.end(), "--chdir=/scratch"), 1);
  one.work_dir = "/home/alice/copy";
  made = prepared(one, elsewhere);
  EXPECT_EQ(made.spec.folder, "/home/alice/copy") << "a copy was made here, so it is here";
  EXPECT_EQ(option(made, "output"), "/home/alice/sickbay-c17/slurm-%j.out");
}

TEST(ProgramOrderLine, ItMailsNobodyAndHasNoPriorityOfItsOwn) {
  auto one = order();
  one.submission.sbatch_options = {"--mail-type=ALL", "--priority=9", "-v", "-N1"};
  one.submission.script = "#!/bin/sh\n#SBATCH --mail-user=alice --mail-type=END\n#SBATCH -n2\ntrue\n";
  one.submission.environment.push_back("SBATCH_PRIORITY=9");
  const auto made = prepared(one);
  for (const std::string& word : made.spec.argv) {
    EXPECT_FALSE(word.starts_with("--mail")) << word;
    EXPECT_FALSE(word.starts_with("--priority")) << word;
  }
  EXPECT_EQ(made.spec.input, "#!/bin/sh\n#SBATCH \"--ntasks=2\"\n##SBATCH -n2\ntrue\n");
  EXPECT_THAT(made.spec.environment, Not(Contains("SBATCH_PRIORITY=9")));
  EXPECT_THAT(made.dropped, IsEmpty()) << "nobody needs to be told";
}

TEST(ProgramOrderLine, TheRightToBeRequeuedStaysAsItWas) {
  const struct {
    std::vector<std::string> options, variables;
    const char* script;
    int yes, no;
  } rows[] = {
      {{}, {}, "", 0, 0},
      {{"--requeue"}, {}, "", 1, 0},
      {{"--no-requeue"}, {}, "", 0, 1},
      {{}, {"SBATCH_REQUEUE=1"}, "#SBATCH --no-requeue", 0, 0},
  };
  for (const auto& row : rows) {
    auto one = order();
    one.submission.sbatch_options = row.options;
    one.submission.environment = row.variables;
    one.submission.script = std::string("#!/bin/sh\n") + row.script + "\ntrue\n";
    const auto made = prepared(one);
    EXPECT_EQ(std::ranges::count(made.spec.argv, "--requeue"), row.yes);
    EXPECT_EQ(std::ranges::count(made.spec.argv, "--no-requeue"), row.no);
    EXPECT_EQ(made.spec.input, one.submission.script);
    for (const std::string& variable : row.variables) EXPECT_THAT(made.spec.environment, Contains(variable));
  }
}

// Slurm would hold a re-run that fails by itself, for ever.
TEST(ProgramOrderLine, AnExpeditedRequeueBecomesAPlainOne) {
  const struct {
    std::vector<std::string> options, variables;
    const char* script;
    std::vector<std::string> argv;
    const char* variable;
    const char* input;
  } rows[] = {
      {{"--requeue=expedite"}, {}, "#SBATCH -n2", {"--requeue"}, "", "#SBATCH -n2"},
      {{}, {}, "#SBATCH --requeue=expedite", {"--requeue"}, "", "#SBATCH"},
      {{"--no-requeue"}, {}, "#SBATCH --requeue=expedite", {"--requeue", "--no-requeue"}, "", "#SBATCH"},
      {{}, {}, "#SBATCH --requeue=expedite --no-requeue", {}, "", "#SBATCH \"--no-requeue\""},
      {{}, {"SBATCH_REQUEUE=expedite"}, "", {}, "SBATCH_REQUEUE=1", ""},
      {{}, {"SBATCH_REQUEUE=yes"}, "", {}, "SBATCH_REQUEUE=yes", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.options) + row.script);
    auto one = order();
    one.submission.sbatch_options = row.options;
    one.submission.environment = row.variables;
    one.submission.script = std::string("#!/bin/sh\n") + row.script + "\ntrue\n";
    const auto made = prepared(one);
    std::vector<std::string> words;
    for (const std::string& word : made.spec.argv)
      if (word.find("requeue") != std::string::npos) words.push_back(word);
    EXPECT_EQ(words, row.argv);
    EXPECT_EQ(made.spec.input, std::string("#!/bin/sh\n") + row.input + "\ntrue\n");
    if (*row.variable != '\0') {
      EXPECT_THAT(made.spec.environment, Contains(row.variable));
    }
    EXPECT_THAT(made.dropped, IsEmpty());
  }
}

TEST(ProgramOrderLine, APercentInAFolderIsNoPattern) {
  auto one = order();
  one.output_dir = "/home/100%j";
  EXPECT_EQ(option(prepared(one), "output"), "/home/100%%j/slurm-%j.out");
}

TEST(Sbatch, ItsAnswerIsAJobId) {
  EXPECT_EQ(parse_parsable("17\n"), JobId{17});
  EXPECT_EQ(parse_parsable("17;cluster\n"), JobId{17});
  for (const char* text : {"", "0", "Submitted batch job 17", "17x", "-1", "99999999999"})
    EXPECT_FALSE(parse_parsable(text)) << text;
}

TEST(Sbatch, ItsFailuresHaveCodes) {
  const struct {
    const char* words;
    ErrorCode code;
  } rows[] = {
      {"sbatch: error: Batch job submission failed: Invalid partition name specified\n",
       ErrorCode::refused_by_slurm},
      {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n",
       ErrorCode::slurm_away},
      {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n",
       ErrorCode::timed_out},
      {"sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n",
       ErrorCode::timed_out},
      {"sbatch: error: Munge encode failed: Failed to access \"x\"\n", ErrorCode::munge_away},
  };
  for (const auto& row : rows) {
    ProcessOutcome outcome;
    outcome.exit_code = 1;
    outcome.err = row.words;
    const Error error = sbatch_error(outcome);
    EXPECT_EQ(error.code, row.code) << row.words;
    EXPECT_THAT(error.what, Not(HasSubstr("sbatch: error"))) << error.what;
  }
}

}  // namespace
}  // namespace sickbay::slurm
