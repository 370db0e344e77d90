// SPDX-License-Identifier: Apache-2.0
#include "model/script_words.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Words, AreReadPlainly) {
  const struct {
    const char* line;
    std::vector<std::string> words;
  } rows[] = {
      {"srun ./solve -i a.dat", {"srun", "./solve", "-i", "a.dat"}},
      {"./solve < a.dat > out.dat 2>err.dat", {"./solve", "a.dat", "2"}},
      {"./solve >> 'out.dat' a.dat", {"./solve", "a.dat"}},
      {"./solve --conf=a.cfg;next|more&", {"./solve", "--conf", "a.cfg", "next", "more"}},
      {"x=$(cat \"a b\")", {"x", "$", "cat", "a", "b"}},
      {"./solve >&2 a.dat", {"./solve", "2", "a.dat"}},
      {"", {}},
  };
  for (const auto& row : rows) EXPECT_EQ(words_of(row.line), row.words) << row.line;
}

ShellNames names() {
  return {{"HOME=/home/alice/", "USER=alice", "SCRATCH=/scratch/alice", "PWD=/home/alice/run",
           "EMPTY=", "SLURM_SUBMIT_DIR=/home/alice/run", "SLURM_JOB_ID=5", "no_value"},
          "alice"};
}

TEST(ShellNames, AreWrittenOut) {
  const struct {
    const char* line;
    const char* expanded;
  } rows[] = {
      {"cd $HOME/run", "cd /home/alice/run"},
      {"cd ${HOME}/run", "cd /home/alice/run"},
      {"cd ~/run", "cd /home/alice/run"},
      {"cd ~alice/run; cd ~bob/run", "cd /home/alice/run; cd ~bob/run"},
      {"cd \"/home/$USER/run\"", "cd /home/alice/run"},
      {"cd '$SCRATCH'/run1", "cd /scratch/alice/run1"},
      {"cd ${SCRATCH%/}/run1 next", "cd /scratch/alice/run1 next"},
      {"cd ${SCRATCH:-/tmp}/x ${NONE:-/tmp}/x", "cd /scratch/alice/x /tmp/x"},
      {"cd ${NONE:-${HOME}}/x}", "cd /home/alice/x}"},
      {"--out=~/x a~b x:~/y", "--out=/home/alice/x a~b x:/home/alice/y"},
      {"cd $PWD $SLURM_SUBMIT_DIR ${PWD}/x", "cd $PWD $SLURM_SUBMIT_DIR ${PWD}/x"},
      {"$NONE ${NONE} $1 $$ $( $", "$NONE ${NONE} $1 $$ $( $"},
      {"a\\ b \\$HOME", "a b $HOME"},
      {"/a//b/./c/.d", "/a/b/c/.d"},
      {"B=$HOME/x; cd $B/y", "B=/home/alice/x; cd /home/alice/x/y"},
      {"export B='/a b' && cd \"$B/c\"", "export B=/a b && cd /a b/c"},
      {"HOME=$(mktemp -d); cd $HOME/x", "HOME=$(mktemp -d); cd $HOME/x"},
      {"--B=/x $B", "--B=/x $B"},
      {"x$EMPTY/y ${EMPTY", "x/y "},
      {"", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(names().expand(row.line), row.expanded) << row.line;
  ShellNames later = names();
  later.expand("RUN=~/run");
  EXPECT_EQ(later.expand("cd $RUN"), "cd /home/alice/run");
}

TEST(ShellNames, AreWrittenOutWithinABound) {
  ShellNames shell({"LONG=" + std::string(ShellNames::kLongestValue, 'x'), "A=" + std::string(1000, 'a')},
                   "alice");
  EXPECT_EQ(shell.expand("$LONG"), "$LONG") << "no path is that long";
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "$A";
  for (int i = 0; i < 20 && !shell.too_much(); ++i) shell.expand(line);
  EXPECT_TRUE(shell.too_much());
  EXPECT_EQ(shell.expand("$A"), "$A");
  // One that doubles itself ends as not known.
  ShellNames doubles({"D=xx"}, "alice");
  for (int i = 0; i < 40; ++i) doubles.expand("D=$D$D");
  EXPECT_FALSE(doubles.too_much());
}

TEST(NamesPath, AtItsEnds) {
  for (const char* line : {"cd /home/al", "/home/al/x", "-I/home/al/x", "x -o/home/al", "--out=/home/al",
                           "a:/home/al:b", "(/home/al)", "/home/alice /home/al"})
    EXPECT_TRUE(names_path(line, "/home/al")) << line;
  for (const char* line :
       {"/home/alice", "/mnt/home/al", "x/home/al", "/home/al-2", "/home/al.old", "/home", "-ab/home/al"})
    EXPECT_FALSE(names_path(line, "/home/al")) << line;
  EXPECT_TRUE(names_path("cd /home/al", "/home/al/"));
  EXPECT_TRUE(names_path("cd /home/a b/c", "/home/a b"));
  EXPECT_FALSE(names_path("cd /", "/"));
  EXPECT_FALSE(names_path("cd x", ""));
}

TEST(WritesElsewhere, WhereOutputIsPlainlyDirectedThere) {
  for (const char* line : {"x > /abs", "x >> /abs/y", "x >/abs", "x 2>/abs", "x &> /abs", "x >| /abs",
                           "x -o /abs", "x -o/abs", "x --output=/abs", "x --out=/abs", "x --output /abs",
                           "x --out\t/abs", "x > /tmpfiles/y", "x > /tmp/../etc/y", "-o /abs"})
    EXPECT_TRUE(writes_elsewhere(line)) << line;
  for (const char* line :
       {"x > out", "x > /dev/null", "x >/dev/null 2>&1", "x > /tmp/y", "x -o /tmp", "x -o out /abs",
        "x --outer=/abs", "x --output=out", "x < /abs", "p->/abs", "x -a-o /abs", "x -o", "x >", ">&2 /abs"})
    EXPECT_FALSE(writes_elsewhere(line)) << line;
}

}  // namespace
}  // namespace sickbay
