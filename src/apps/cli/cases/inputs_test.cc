// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sickbay::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InputsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = testing::TempDir() + "sickbay_inputs_XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder + "/" + name) << text; }

  Inputs find(const std::string& script, std::vector<std::string> words = {"job.sh"}) {
    const auto line = parse_sbatch_line(words);
    EXPECT_TRUE(line);
    Submission s;
    s.script = script;
    s.script_args = line->script_args;
    s.sbatch_options = line->passed;
    s.work_dir = folder;
    s.owner.user = "alice";
    s.environment = {"HOME=" + std::filesystem::path(folder).parent_path().string(), "USER=alice",
                     "RUN=" + std::filesystem::path(folder).filename().string(), "SCRATCH=/scratch/alice",
                     "PWD=" + folder};
    return find_inputs(*line, s, {folder, "/link/to/it"});
  }
  std::vector<std::string> names(const Inputs& found) const {
    std::vector<std::string> list;
    for (const InputFile& file : found.files) list.push_back(file.path.substr(folder.size() + 1));
    return list;
  }
  std::string folder;
};

TEST_F(InputsTest, FilesNamedByScriptAndArgumentsAreFound) {
  for (const char* name : {"solve", "a.dat", "b.dat", "c d", "in.txt", "never", "sub"}) write(name, name);
  const Inputs found = find("#!/bin/sh\n#SBATCH -N1 never\n# never\n./solve -i a.dat > never\n",
                            {"--input=in.txt", "job.sh", "b.dat", "c d", "gone.dat"});
  EXPECT_THAT(names(found), ElementsAre("./solve", "a.dat", "b.dat", "c d", "in.txt"));
  EXPECT_EQ(found.files[1].size, 5U);
  EXPECT_EQ(found.files[1].digest.size(), 64U);
  EXPECT_FALSE(found.names_folder);
  EXPECT_FALSE(found.submits_jobs);
}

TEST_F(InputsTest, TheFolderOfTheJobIsThatOfChdir) {
  std::filesystem::create_directory(folder + "/sub");
  write("sub/a.dat", "x");
  EXPECT_THAT(names(find("#!/bin/sh\n./x a.dat\n", {"-D", "sub", "job.sh"})), ElementsAre("sub/a.dat"));
  EXPECT_THAT(names(find("#!/bin/sh\n#SBATCH --chdir=sub\n./x a.dat\n")), ElementsAre("sub/a.dat"));
}

TEST_F(InputsTest, WhatIsNoRegularFileIsNoneAndNobodyWaitsForIt) {
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder + "/sub");
  EXPECT_THAT(find("#!/bin/sh\ncat pipe sub /dev/zero\n").files, IsEmpty());
}

TEST_F(InputsTest, ALargeFileHasNoDigestAndThereIsAMostOfThem) {
  write("big", "");
  std::filesystem::resize_file(folder + "/big", kInputBytes + 1);
  const Inputs one = find("#!/bin/sh\n./x big\n");
  ASSERT_EQ(one.files.size(), 1U);
  EXPECT_EQ(one.files[0].digest, "");
  EXPECT_EQ(one.files[0].size, kInputBytes + 1);
  std::string script = "#!/bin/sh\n";
  for (int i = 0; i < 100; ++i) {
    write("f" + std::to_string(i), "x");
    script += "cat f" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(find(script).files.size(), kMostInputs);
}

TEST_F(InputsTest, TheSameProgramHasTheSameDigest) {
  const std::string one = find("#!/bin/sh\ntrue\n").script_digest;
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(find("#!/bin/sh\ntrue\n").script_digest, one);
  EXPECT_NE(find("#!/bin/sh\nfalse\n").script_digest, one);
  EXPECT_NE(find("#!/bin/sh\ntrue\n", {"job.sh", "x"}).script_digest, one);
  EXPECT_NE(find("#!/bin/sh\ntrue\n", {"-N2", "job.sh"}).script_digest, one);
}

TEST_F(InputsTest, AScriptThatNamesItsFolderSaysSo) {
  EXPECT_TRUE(find("#!/bin/sh\ncd " + folder + "\n").names_folder);
  EXPECT_TRUE(find("#!/bin/sh\n./x /link/to/it/a\n").names_folder);
  EXPECT_TRUE(find("#!/bin/sh\n./x\n", {"job.sh", "--out=" + folder + "/o"}).names_folder);
  EXPECT_FALSE(find("#!/bin/sh\ncd " + folder + "2\n").names_folder);
  EXPECT_FALSE(find("#!/bin/sh\n# " + folder + "\n").names_folder);
}

TEST_F(InputsTest, ItMayNameItsFolderByVariables) {
  const std::string name = std::filesystem::path(folder).filename().string();
  for (const std::string& line :
       {"cd $HOME/" + name, "cd ${HOME}/" + name, "cd ~/" + name, std::string("cd \"$HOME/$RUN\""),
        std::string("cd \"$HOME\"/${RUN} && ./x"), "cd ~alice/" + name, "BASE=$HOME\ncd $BASE/" + name,
        std::string("./x > $SCRATCH/out")})
    EXPECT_TRUE(find("#!/bin/sh\n" + line + "\n").names_folder) << line;
  for (const std::string& line :
       {std::string("cd $SLURM_SUBMIT_DIR"), std::string("cd $PWD && ./x > $PWD/out"),
        std::string("cd ${SLURM_SUBMIT_DIR}"), "cd $HOME/" + name + "2",
        std::string("./x > /dev/null 2>/tmp/e"), "# cd $HOME/" + name,
        std::string("#SBATCH -o /scratch/alice/out\n./x")})
    EXPECT_FALSE(find("#!/bin/sh\n" + line + "\n").names_folder) << line;
  EXPECT_TRUE(find("#!/bin/sh\n./x\n", {"job.sh", "-o", "/scratch/alice/out"}).names_folder);
}

TEST_F(InputsTest, WithChdirItIsThatFolderThatIsNamed) {
  std::filesystem::create_directory(folder + "/sub");
  std::filesystem::create_symlink(folder + "/sub", folder + "/other");
  const std::vector<std::string> sub{"-D", "other", "job.sh"};
  EXPECT_TRUE(find("#!/bin/sh\ncd " + folder + "/sub\n", sub).names_folder);
  EXPECT_TRUE(find("#!/bin/sh\ncd " + folder + "/other\n", sub).names_folder);
  EXPECT_TRUE(find("#!/bin/sh\ncd /link/to/it/other\n", sub).names_folder);
  EXPECT_TRUE(find("#!/bin/sh\n#SBATCH -D sub\ncd ~/$RUN/sub\n").names_folder);
  EXPECT_FALSE(find("#!/bin/sh\n" + folder + "/bin/solve\n", sub).names_folder);
  EXPECT_TRUE(find("#!/bin/sh\ncd $SLURM_SUBMIT_DIR\n", sub).names_folder) << "which is not that of a copy";
}

TEST_F(InputsTest, ProgramsAreToldFromData) {
  write("solve", "x");
  write("a.dat", "x");
  std::filesystem::permissions(folder + "/solve", std::filesystem::perms::owner_all);
  const Inputs found = find("#!/bin/sh\n./solve a.dat\n");
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_TRUE(found.files[0].program);
  EXPECT_FALSE(found.files[1].program);
}

TEST_F(InputsTest, AScriptThatSubmitsJobsSaysSo) {
  EXPECT_TRUE(find("#!/bin/sh\nsbatch \"$0\"\n").submits_jobs);
  EXPECT_TRUE(find("#!/bin/sh\nx=$(/usr/bin/sbatch --parsable next.sh)\n").submits_jobs);
  EXPECT_TRUE(find("#!/usr/bin/python3\nrun([\"sbatch\", \"next.sh\"])\n").submits_jobs);
  EXPECT_FALSE(find("#!/bin/sh\n#SBATCH -N1\n./sbatch_like\n").submits_jobs);
}

}  // namespace
}  // namespace sickbay::cli
