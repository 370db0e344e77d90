// SPDX-License-Identifier: Apache-2.0
#include "model/sbatch_options.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using Words = std::vector<std::string>;

constexpr CommandOption kOwn[] = {{"deliver", 0, OptionValue::none},
                                  {"no-rerun", 0, OptionValue::none},
                                  {"check", 0, OptionValue::required},
                                  {"workdir", 0, OptionValue::required}};

// "name=value name" of options, for short expectations.
std::string listed(const std::vector<GivenOption>& options) {
  std::string text;
  for (const GivenOption& given : options) text += (text.empty() ? "" : " ") + given.text();
  return text;
}

TEST(SbatchOptions, TableHoldsEachNameAndLetterOnce) {
  std::string letters;
  for (const CommandOption& row : sbatch_option_table()) {
    EXPECT_EQ(find_sbatch_option(row.name), &row);
    if (row.letter == 0) continue;
    EXPECT_EQ(letters.find(row.letter), letters.npos) << row.letter;
    letters += row.letter;
  }
  EXPECT_EQ(letters.size(), 34U);  // as many as sbatch 22.05.8 has
  EXPECT_EQ(find_sbatch_option("nodeli"), nullptr);
}

TEST(SbatchOptions, FindsTheScript) {
  const struct {
    Words words;
    const char* options;
    const char* own;
    const char* script;  // null: standard input
    Words args;
  } rows[] = {
      {{}, "", "", nullptr, {}},
      {{"job.sh"}, "", "", "job.sh", {}},
      {{"job.sh", "-N2", "--deliver"}, "", "", "job.sh", {"-N2", "--deliver"}},
      {{"-N", "2", "job.sh", "a b"}, "--nodes=2", "", "job.sh", {"a b"}},
      {{"-N2", "-n", "4", "job.sh"}, "--nodes=2 --ntasks=4", "", "job.sh", {}},
      {{"--nodes", "2", "--hold", "job.sh"}, "--nodes=2 --hold", "", "job.sh", {}},
      {{"--nodes=2", "--comment=", "job.sh"}, "--nodes=2 --comment=", "", "job.sh", {}},
      {{"--comment", "--hold", "job.sh"}, "--comment=--hold", "", "job.sh", {}},

      // clusters of letters, and values that stay in the word
      {{"-HN2", "job.sh"}, "--hold --nodes=2", "", "job.sh", {}},
      {{"-HN", "2", "job.sh"}, "--hold --nodes=2", "", "job.sh", {}},
      {{"-k", "job.sh"}, "--no-kill", "", "job.sh", {}},
      {{"-koff", "job.sh"}, "--no-kill=off", "", "job.sh", {}},
      {{"--nice", "job.sh"}, "--nice", "", "job.sh", {}},
      {{"--nice=10", "job.sh"}, "--nice=10", "", "job.sh", {}},
      {{"--exclusive", "user"}, "--exclusive", "", "user", {}},

      // abbreviations and synonyms
      {{"--job", "x", "job.sh"}, "--job-name=x", "", "job.sh", {}},
      {{"--tasks-per-node=2", "job.sh"}, "--ntasks-per-node=2", "", "job.sh", {}},

      {{"--", "-odd-name.sh", "--deliver"}, "", "", "-odd-name.sh", {"--deliver"}},
      {{"-", "x"}, "", "", "-", {"x"}},
      {{"--wrap", "hostname"}, "--wrap=hostname", "", nullptr, {}},

      // ours between theirs
      {{"--deliver", "-N2", "--check", "cmp a b", "job.sh", "--check"},
       "--nodes=2",
       "--deliver --check=cmp a b",
       "job.sh",
       {"--check"}},
      {{"--no-rerun", "--no-req", "job.sh"}, "--no-requeue", "--no-rerun", "job.sh", {}},
      {{"--deliv", "job.sh"}, "--deliv", "", "job.sh", {}},  // ours are never cut

      // a newer Slurm's option goes through
      {{"--brand-new=3", "-9ab", "-H9", "job.sh"}, "--brand-new=3 -9ab --hold -9", "", "job.sh", {}},
  };
  for (const auto& row : rows) {
    auto line = parse_sbatch_line(row.words, kOwn);
    ASSERT_TRUE(line) << ::testing::PrintToString(row.words) << line.error().line();
    EXPECT_EQ(listed(line->options), row.options);
    EXPECT_EQ(listed(line->own), row.own);
    EXPECT_EQ(line->script, row.script ? std::optional<std::string>(row.script) : std::nullopt);
    EXPECT_EQ(line->script_args, row.args);
  }
}

TEST(SbatchOptions, PassesTheirWordsAsGiven) {
  auto line = parse_sbatch_line(
      Words{"--deliver", "-HN", "2", "--nodes", "3", "--check=x", "--mem=1G", "--", "s"}, kOwn);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->passed, (Words{"-HN", "2", "--nodes", "3", "--mem=1G"}));
  EXPECT_EQ(line->last("nodes")->value, "3");  // the last one counts
  EXPECT_EQ(line->last("exclude"), nullptr);
  EXPECT_EQ(line->last_own("check")->value, "x");
  EXPECT_FALSE(line->heterogeneous);
}

TEST(SbatchOptions, SeesHeterogeneousJobs) {
  auto line = parse_sbatch_line(Words{"-N1", ":", "-N2", "--mem=1G", "job.sh", ":"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->heterogeneous);
  EXPECT_EQ(line->passed, (Words{"-N1", ":", "-N2", "--mem=1G"}));
  EXPECT_EQ(line->script, "job.sh");
  EXPECT_EQ(line->script_args, Words{":"});
}

TEST(SbatchOptions, RefusesWhatSbatchRefuses) {
  const struct {
    Words words;
    const char* what;
  } rows[] = {
      {{"--nodes"}, "option '--nodes' needs a value"},
      {{"-N"}, "option '-N' (--nodes) needs a value"},
      {{"-HN"}, "option '-N' (--nodes) needs a value"},
      {{"--check"}, "option '--check' needs a value"},
      {{"--hold=yes", "s"}, "option '--hold' takes no value, and was given 'yes'"},
      {{"--deliver=yes", "s"}, "option '--deliver' takes no value, and was given 'yes'"},
      {{"--pa", "s"}, "option '--pa' is ambiguous: --parsable, --partition"},
      {{"--clust=a"}, "option '--clust' is ambiguous: --cluster, --cluster-constraint, --clusters"},
  };
  for (const auto& row : rows) {
    auto line = parse_sbatch_line(row.words, kOwn);
    ASSERT_FALSE(line) << row.what;
    EXPECT_EQ(line.error().code, ErrorCode::usage);
    EXPECT_EQ(line.error().what, row.what);
    EXPECT_FALSE(line.error().remedy_text.empty());
  }
}

// The words expected here are those that sbatch 22.05.8 handed to getopt_long for the same script.
TEST(SbatchOptions, ReadsDirectives) {
  auto options = parse_script_options(
      "#!/bin/sh\n"
      "#SBATCH -N2 --comment 'two words' # not this\n"
      "#SBATCH --job-name=\"a \\\"b\" --comment=a'b c'd\n"
      "#SBATCH\t-c1 --comment='back\\slash' --comment=\"x#y\"\n"
      " #SBATCH -J indented\n"
      "##SBATCH --hold\n"
      "#SBATCH --comment=a#b -c2\n"
      "\n"
      "#SBATCH -v\n"
      "echo\n"
      "#SBATCH --array=1-3\n");
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(listed(*options),
            "--nodes=2 --comment=two words --job-name=a \"b --comment=ab cd --cpus-per-task=1 "
            "--comment=backslash --comment=x#y --comment=a --verbose");

  EXPECT_EQ(listed(*parse_script_options("#SBATCH --comment=a\\ -v")), "--comment=a --verbose");
  EXPECT_EQ(listed(*parse_script_options("#SBATCH --comment\n#SBATCH x")), "--comment=x");
  EXPECT_TRUE(parse_script_options("")->empty());
  EXPECT_TRUE(parse_script_options("#!/bin/sh")->empty());
}

TEST(SbatchOptions, NamesABadDirective) {
  auto open_quote = parse_script_options("#!/bin/sh\n\n#SBATCH --comment='x\n");
  ASSERT_FALSE(open_quote);
  EXPECT_EQ(open_quote.error().what, "line 3 of the script: the quote ' does not end");
  auto no_value = parse_script_options("#!/bin/sh\n#SBATCH --nodes\n");
  ASSERT_FALSE(no_value);
  EXPECT_EQ(no_value.error().line(),
            "option '--nodes' needs a value (while reading the script's #SBATCH lines)");
}

TEST(SbatchOptions, HeterogeneousLines) {
  EXPECT_TRUE(has_heterogeneous_line("#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n"));
  EXPECT_TRUE(has_heterogeneous_line("#!/bin/sh\n#SBATCH packjob"));
  EXPECT_FALSE(has_heterogeneous_line("#!/bin/sh\n#SBATCH -J hetjob\necho\n#SBATCH hetjob\n"));
  EXPECT_FALSE(has_heterogeneous_line(""));
}

}  // namespace
}  // namespace sickbay
