// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/nodes_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sickbay::smd {
namespace {

namespace fs = std::filesystem;

class NodesFile : public ::testing::Test {
 protected:
  NodesFile() {
    char name[] = "/tmp/smd_nodes_XXXXXX";
    folder = ::mkdtemp(name);
    path = nodes_file_path(folder, 17);
  }
  ~NodesFile() override { fs::remove_all(folder); }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& file, const std::string& text) const { std::ofstream(file) << text; }

  std::string folder, path;
};

TEST_F(NodesFile, IsThePapers) {
  EXPECT_EQ(nodes_file_path("/tmp", 151), "/tmp/smd_job_151_nodes.sh");
  EXPECT_EQ(nodes_file_path("/", 151), "/smd_job_151_nodes.sh");
  EXPECT_EQ(nodes_file_text({"dario,prometeo", 2, "2(x2)"}),
            text_of(SB_PAPER "/smd_job_nodes.sh") +
                "export SLURM_OVERLAP=1\nexport SLURM_MEM_PER_NODE=0\n"
                "unset SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU\n");
  EXPECT_EQ(nodes_file_text({"n1", 1, ""}).find("CPUS"), std::string::npos);
}

// What a shell makes of it: the values as they were, and nothing of them is run.
TEST_F(NodesFile, IsWhatAShellReads) {
  for (const std::string shell : {"sh", "bash"})
    for (const std::string value : {"n[1-3],m7", "a b", "$(touch pwned)", "`touch pwned`", "a;touch pwned",
                                    "a'b\"c", "~root", "a&b|c", "*", "a\\b", "#a", "n\xc3\xa4"}) {
      put(path, nodes_file_text({value, 3, "8(x3),4"}));
      const std::string command = "cd " + folder + " && SLURM_TASKS_PER_NODE=1 " + shell +
                                  " -c '. ./smd_job_17_nodes.sh; printf \"%s|%s|%s|%s|%s|%s\" "
                                  "\"$SLURM_NODELIST\" \"$SLURM_JOB_NODELIST\" "
                                  "\"$SLURM_NNODES\" \"$SLURM_JOB_NUM_NODES\" \"$SLURM_JOB_CPUS_PER_NODE\" "
                                  "\"${SLURM_TASKS_PER_NODE-unset}\"' "
                                  "> said";
      ASSERT_EQ(std::system(command.c_str()), 0) << value;
      EXPECT_EQ(text_of(folder + "/said"), value + "|" + value + "|3|3|8(x3),4|unset") << shell;
      EXPECT_FALSE(fs::exists(folder + "/pwned")) << value;
    }
  EXPECT_EQ(nodes_file_text({"n1\ntouch pwned\r\x7f", 1, ""}).find("\ntouch"), std::string::npos);
}

TEST_F(NodesFile, IsTheUsersAlone) {
  ::umask(0);
  ASSERT_TRUE(write_nodes_file(path, "one\n"));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_TRUE(write_nodes_file(path, "two\n")) << "again";
  EXPECT_EQ(read_nodes_file(path).value(), "two\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
      << "nothing is left beside it";
}

TEST_F(NodesFile, FollowsNoLinkAndWritesIntoNoFileOfAnother) {
  const std::string victim = folder + "/victim";
  put(victim, "precious");
  fs::create_symlink(victim, path);
  EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::denied);
  ASSERT_TRUE(write_nodes_file(path, "new\n"));
  EXPECT_EQ(text_of(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(text_of(path), "new\n");

  // One that another holds open, or has a second name for, is not written into.
  fs::remove(path);
  fs::create_hard_link(victim, path);
  ASSERT_TRUE(write_nodes_file(path, "new\n"));
  EXPECT_EQ(text_of(victim), "precious");

  fs::remove(path);
  fs::create_directory(path);
  const Status folder_there = write_nodes_file(path, "new\n");
  ASSERT_FALSE(folder_there);
  EXPECT_THAT(folder_there.error().message("smd"), ::testing::HasSubstr("--folder"));
  EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::denied);
  fs::remove(path);

  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::denied) << "and it does not hang";
  fs::remove(path);

  put(path, "export X=1\n");
  ::chmod(path.c_str(), 0622);
  EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::denied);
  ::chmod(path.c_str(), 0600);
  EXPECT_TRUE(read_nodes_file(path));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::denied) << "another user's";
  }
}

TEST_F(NodesFile, TroublesAreTold) {
  EXPECT_EQ(write_nodes_file(nodes_file_path(folder + "/none", 1), "x").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_nodes_file(path).error().code, ErrorCode::not_found);
  put(folder + "/file", "");
  EXPECT_EQ(write_nodes_file(nodes_file_path(folder + "/file", 1), "x").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace sickbay::smd
