// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/options.h"

#include <gmock/gmock.h>

#include <set>

namespace sickbay::smd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SmdOptions, AreReadInAllTheirForms) {
  const auto read = [](const std::vector<std::string>& words) { return parse_options(words, "").value(); };
  EXPECT_EQ(read({"-f", "17"}).action, Action::faulty);
  EXPECT_EQ(read({"17", "--faulty"}).job, 17U);
  EXPECT_EQ(read({"-j", "17"}).action, Action::job);
  EXPECT_EQ(read({"-c"}).action, Action::config);
  EXPECT_EQ(read({"--check-policy"}).action, Action::check_policy);
  EXPECT_THAT(read({"-r", "n3", "17"}).nodes, ElementsAre("n3"));
  EXPECT_THAT(read({"-rn3", "17"}).nodes, ElementsAre("n3"));
  EXPECT_THAT(read({"--replace=n[10,2-3],n2", "17"}).nodes, ElementsAre("n2", "n3", "n10"));
  EXPECT_THAT(read({"-D", "n3", "17"}).nodes, ElementsAre("n3"));
  EXPECT_EQ(read({"-e", "30", "17"}).minutes, 30U);
  EXPECT_EQ(read({"-e0", "17"}).action, Action::extend);
  Wish wish = read({"-d", "n3", "-R", "bad disk"});
  EXPECT_EQ(wish.reason, "bad disk");
  EXPECT_EQ(wish.job, 0U) << "a drain needs no job";
  wish = read({"-HG", "17"});
  EXPECT_TRUE(wish.failed && wish.failing);
  EXPECT_EQ(wish.action, Action::handle);
  wish = read({"-vHo", "/x", "--", "17"});
  EXPECT_TRUE(wish.verbose && wish.failed && !wish.failing);
  EXPECT_EQ(wish.folder, "/x");
  EXPECT_EQ(read({"-E", "17"}).action, Action::exports);
  wish = read({"-E", "-r", "n3", "17"});
  EXPECT_EQ(wish.action, Action::replace);
  EXPECT_TRUE(wish.exports);
  EXPECT_TRUE(read({"--json", "-f", "17"}).json);
  EXPECT_EQ(read({"-h"}).action, Action::help);
  EXPECT_EQ(read({"-V"}).action, Action::version);
}

TEST(SmdOptions, TheJobComesFromTheWordsElseTheEnvironment) {
  EXPECT_EQ(parse_options({"-f"}, "18")->job, 18U);
  EXPECT_EQ(parse_options({"-f", "17"}, "18")->job, 17U);
  EXPECT_EQ(parse_options({"-d", "n1"}, "18")->job, 18U);
  EXPECT_EQ(parse_options({"-f", "4294967293"}, "")->job, 4294967293U);
  EXPECT_THAT(parse_options({"-f"}, "").error().remedy_text, HasSubstr("SLURM_JOB_ID"));
  EXPECT_THAT(parse_options({"-f", "17.2"}, "").error().remedy_text, HasSubstr("without its step: 17"));
  EXPECT_THAT(parse_options({"-f", "17_2"}, "").error().remedy_text, HasSubstr("%A"));
  EXPECT_THAT(parse_options({"-f", "17+2"}, "").error().remedy_text, HasSubstr("%A"));
  for (const std::string bad : {"0", "-", "x", "17x", "4294967294", "99999999999999999999", "1 7", "+1"})
    EXPECT_FALSE(parse_options({"-f", "--", bad}, "")) << bad;
  EXPECT_FALSE(parse_options({"-f"}, "none")) << "what the environment has is looked at, too";
}

TEST(SmdOptions, WhatIsWrongIsNamed) {
  struct Row {
    std::vector<std::string> words;
    std::string what, remedy;
  };
  for (const Row& row : std::vector<Row>{
           {{}, "nothing is asked for", "-f"},
           {{"17"}, "nothing is asked for", "-f"},
           {{"-f", "17", "18"}, "'18' is one word too many", "one job id"},
           {{"-x", "17"}, "unknown option '-x'", "--help"},
           {{"-fx", "17"}, "unknown option '-x'", "--help"},
           {{"--repalce", "n1", "17"}, "unknown option '--repalce'", "did you mean '--replace'?"},
           {{"-r"}, "-r wants NODE", "-r NODE"},
           {{"--folder"}, "--folder wants DIR", "--folder DIR"},
           {{"--json=1", "-f"}, "takes no value", "--help"},
           {{"-r", "", "17"}, "no node", "n[1-3]"},
           {{"-r", "n[1-", "17"}, "never closed", "n[1-3]"},
           {{"-r", "n[0-9999]", "17"}, "n[0-9999]", "n[1-3]"},
           {{"-e", "-5", "17"}, "not a number of minutes", "whole number"},
           {{"-e", "1h", "17"}, "not a number of minutes", "whole number"},
           {{"-e", "9999999999", "17"}, "not a number of minutes", "whole number"},
           {{"-f", "-j", "17"}, "-j is one thing too many", "one thing after the other"},
           {{"-r", "n1", "-D", "n1", "17"}, "-D is one thing too many", "one thing after the other"},
           {{"-H", "-f", "17"}, "-f is one thing too many", "one thing after the other"},
           {{"-r", "n1", "-R", "x", "17"}, "-R is there without -d", "-d NODE -R TEXT"},
           {{"-d", "n1", "-R", "", "17"}, "-R is empty", "--help"},
           {{"-E", "-f", "17"}, "-E does not go with it", "-E alone"},
           {{"-E", "--json", "17"}, "both want standard output", "new_set"},
       }) {
    const auto wish = parse_options(row.words, "");
    ASSERT_FALSE(wish) << row.what;
    EXPECT_EQ(wish.error().code, ErrorCode::usage);
    EXPECT_THAT(wish.error().what, HasSubstr(row.what));
    EXPECT_THAT(wish.error().remedy_text, HasSubstr(row.remedy)) << row.what;
  }
}

TEST(SmdOptions, TheHelpHasThemAll) {
  std::set<char> letters;
  std::set<std::string> words;
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(words.insert(row.word).second) << row.word << " is there twice";
    if (row.letter != 0) {
      EXPECT_TRUE(letters.insert(row.letter).second) << row.letter;
    }
    EXPECT_THAT(help_text(), HasSubstr(std::string("--") + row.word));
  }
}

}  // namespace
}  // namespace sickbay::smd
