// SPDX-License-Identifier: Apache-2.0
// On real files.  As root two more: another user's files, and a full disk (a small tmpfs).
#include "apps/folder/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr TreeBounds kWide{1 << 30, 100'000};

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    top = testing::TempDir() + "sickbay_tree_XXXXXX";
    ASSERT_NE(::mkdtemp(top.data()), nullptr);
    // Others may enter: some tests go on as somebody else.
    fs::permissions(top, fs::perms(0777));
    from = top + "/from";
    to = top + "/to";
    fs::create_directory(from);
  }
  void TearDown() override {
    std::error_code ignored;
    for (auto& entry : fs::recursive_directory_iterator(top, ignored))
      if (entry.is_directory() && !entry.is_symlink())
        fs::permissions(entry.path(), fs::perms(0700), ignored);
    fs::remove_all(top, ignored);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(from + "/" + name) << text; }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  TreeSize copied() {
    auto size = copy_tree(from, to, kWide);
    EXPECT_TRUE(size) << size.error().line();
    return size ? *size : TreeSize();
  }
  // In a child without root's rights over files; what it says is 0 for true.
  static bool as_somebody(const std::function<bool()>& holds) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool left = ::geteuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0);
      ::_exit(left && holds() ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::string top, from, to;
};

TEST_F(TreeTest, ACopyHasAllThatTheFolderHas) {
  write("a", "one");
  write("new\nline \xff", "two");
  fs::create_directory(from + "/sub");
  write("sub/b", "three");
  fs::permissions(from + "/sub/b", fs::perms(04755));
  fs::permissions(from + "/sub", fs::perms(0555));
  const timespec times[2] = {{1000, 0}, {2000, 5000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (from + "/a").c_str(), times, 0), 0);
  const TreeSize size = copied();
  EXPECT_EQ(size.files, 4U);
  EXPECT_EQ(size.left_out + size.unreadable + size.links_out, 0U);
  EXPECT_EQ(read(to + "/a"), "one");
  EXPECT_EQ(read(to + "/new\nline \xff"), "two");
  EXPECT_EQ(read(to + "/sub/b"), "three");
  struct stat about = {};
  ASSERT_EQ(::stat((to + "/a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mtim.tv_sec, 2000);
  ASSERT_EQ(::stat((to + "/sub/b").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0755U) << "a set-id bit is not handed on";
  ASSERT_EQ(::stat((to + "/sub").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0555U);
  const auto measured = measure_tree(from, kWide);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->files, size.files);
}

TEST_F(TreeTest, WhatIsOursIsLeftOutAndWhatIsNoFile) {
  write("a", "one");
  fs::create_directories(from + "/sickbay-c17/work-r2");
  fs::create_directory(from + "/sickbay-cases");
  fs::create_directories(from + "/.sickbay/objects");
  ASSERT_EQ(::mkfifo((from + "/pipe").c_str(), 0600), 0);
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string short_name = top.size() + 12 < sizeof name.sun_path ? from + "/socket" : "/tmp/none";
  std::copy(short_name.begin(), short_name.end(), name.sun_path);
  ASSERT_EQ(::bind(s, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ::close(s);
  const auto measured = measure_tree(from, kWide);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->left_out, 2U);
  EXPECT_EQ(copied().left_out, 2U);
  EXPECT_FALSE(fs::exists(to + "/sickbay-c17"));
  EXPECT_FALSE(fs::exists(to + "/.sickbay"));
  EXPECT_TRUE(fs::exists(to + "/sickbay-cases"));
  EXPECT_FALSE(fs::exists(to + "/pipe"));
}

TEST_F(TreeTest, HolesStayHolesAndNamesOfOneFileStayOne) {
  write("sparse", "x");
  fs::resize_file(from + "/sparse", 1ULL << 30);
  write("one", std::string(100'000, 'x'));
  fs::create_directory(from + "/sub");
  fs::create_hard_link(from + "/one", from + "/sub/two");
  const auto measured = measure_tree(from, {1 << 20, 100});
  ASSERT_TRUE(measured);
  EXPECT_FALSE(measured->over) << "a hole takes no space";
  EXPECT_LT(measured->bytes, 150'000U) << "one file is counted once";
  copied();
  struct stat about = {};
  ASSERT_EQ(::stat((to + "/sparse").c_str(), &about), 0);
  EXPECT_EQ(about.st_size, 1 << 30);
  EXPECT_LT(about.st_blocks, 1000);
  EXPECT_EQ(std::ifstream(to + "/sparse").get(), 'x');
  EXPECT_TRUE(fs::equivalent(to + "/one", to + "/sub/two"));
  EXPECT_FALSE(fs::equivalent(to + "/one", from + "/one")) << "what the copy's run writes is not the user's";
}

TEST_F(TreeTest, LinksIntoTheFolderLeadIntoTheCopyAndOthersToWhereTheyLed) {
  write("a", "one");
  std::ofstream(top + "/outside") << "out";
  fs::create_directory(from + "/sub");
  fs::create_symlink("../a", from + "/sub/inside");
  fs::create_symlink(from + "/a", from + "/absolute");
  fs::create_symlink("../../outside", from + "/sub/relative_out");
  fs::create_symlink(top + "/outside", from + "/absolute_out");
  fs::create_symlink("nowhere", from + "/dangling");
  EXPECT_EQ(copied().links_out, 2U);
  EXPECT_EQ(fs::read_symlink(to + "/sub/inside"), "../a");
  EXPECT_EQ(fs::read_symlink(to + "/absolute"), to + "/a");
  EXPECT_EQ(read(to + "/sub/relative_out"), "out");
  EXPECT_EQ(read(to + "/absolute_out"), "out");
  EXPECT_EQ(fs::read_symlink(to + "/dangling"), "nowhere");
  std::ofstream(to + "/absolute") << "changed";
  EXPECT_EQ(read(from + "/a"), "one");
}

TEST_F(TreeTest, OnlyLinksThatTheirOwnerMayWriteThroughLeadOut) {
  fs::create_directory(top + "/scratch");
  fs::permissions(top + "/scratch", fs::perms(0777));
  std::ofstream(top + "/scratch/file") << "x";
  fs::permissions(top + "/scratch/file", fs::perms(0666));
  std::ofstream(top + "/scratch/read_only") << "x";
  fs::permissions(top + "/scratch/read_only", fs::perms(0444));
  const std::pair<const char*, std::string> links[] = {
      {"folder", top + "/scratch"},         {"file", top + "/scratch/file"},
      {"not_yet", top + "/scratch/new"},    {"read_only", top + "/scratch/read_only"},
      {"program", "/usr/bin/env"},          {"system", "/usr"},
      {"no_folder", top + "/gone/further"}, {"nothing", "/dev/null"}};
  for (const auto& [name, target] : links) fs::create_symlink(target, from + "/" + name);
  EXPECT_TRUE(as_somebody([&] {
    const auto size = copy_tree(from, to, kWide);
    return size && size->links_out == 3;
  }));
}

TEST_F(TreeTest, ItStopsAtItsBounds) {
  for (int i = 0; i < 300; ++i) write("f" + std::to_string(i), std::string(5000, 'x'));
  const auto files = measure_tree(from, {1 << 30, 100});
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->over);
  EXPECT_EQ(files->files, 101U) << "a million files must not be counted first";
  const auto bytes = measure_tree(from, {100'000, 100'000});
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(bytes->over);
  EXPECT_LT(bytes->files, 100U);
  const auto late = measure_tree(from, {1 << 30, 100'000, Clock::now()});
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->time_over);
  EXPECT_LT(late->files, 100U);
  // A folder that grew after it was measured.
  for (const TreeBounds& bounds :
       {TreeBounds{1 << 30, 100}, {100'000, 100'000}, {1 << 30, 100'000, Clock::now()}}) {
    EXPECT_FALSE(copy_tree(from, to, bounds));
    EXPECT_FALSE(fs::exists(to)) << "half a copy is left";
  }
}

TEST_F(TreeTest, WhatItsUserMayNotReadIsLeftOutAndNamed) {
  write("secret", "x");
  write("open", "y");
  fs::permissions(from + "/open", fs::perms(0644));
  fs::permissions(from + "/secret", fs::perms(0));
  fs::create_directory(from + "/closed");
  fs::permissions(from + "/closed", fs::perms(0));
  fs::permissions(from, fs::perms(0755));
  EXPECT_TRUE(as_somebody([&] {
    const auto measured = measure_tree(from, kWide);
    const auto made = copy_tree(from, to, kWide);
    return measured && measured->unreadable == 2 && made && made->unreadable == 2 &&
           made->first_unreadable.starts_with(from) && read(to + "/open") == "y" &&
           !fs::exists(to + "/secret");
  }));
}

TEST_F(TreeTest, AFolderThatIsGoneIsAnError) {
  EXPECT_EQ(measure_tree(top + "/gone", kWide).error().code, ErrorCode::not_found);
  EXPECT_EQ(copy_tree(top + "/gone", to, kWide).error().code, ErrorCode::not_found);
  EXPECT_FALSE(fs::exists(to));
  fs::create_directory(to);
  EXPECT_EQ(copy_tree(from, to, kWide).error().code, ErrorCode::conflict);
}

TEST_F(TreeTest, RemovalFollowsNoLinkAndOpensItsOwnFolders) {
  write("kept", "x");
  fs::create_directories(to + "/sub/deep");
  std::ofstream(to + "/sub/deep/f") << "x";
  fs::create_directory_symlink(from, to + "/sub/link");
  fs::create_symlink(from + "/kept", to + "/file_link");
  fs::permissions(to + "/sub/deep", fs::perms(0555));
  fs::permissions(to + "/sub", fs::perms(0));
  fs::permissions(to, fs::perms(0555));
  if (::geteuid() == 0) {
    for (const std::string& one : {to, to + "/sub", to + "/sub/deep", to + "/sub/deep/f"})
      ASSERT_EQ(::chown(one.c_str(), 65534, 65534), 0);
  }
  EXPECT_TRUE(
      as_somebody([&] { return remove_tree(to, Clock::now() + std::chrono::minutes(1)).has_value(); }));
  EXPECT_FALSE(fs::exists(to));
  EXPECT_EQ(read(from + "/kept"), "x");
  const auto again = remove_tree(to, Clock::now());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, 0U);
  fs::create_directory_symlink(from, to);
  EXPECT_EQ(remove_tree(to, Clock::now() + std::chrono::minutes(1)).error().code, ErrorCode::bad_input);
  EXPECT_EQ(read(from + "/kept"), "x");
}

TEST_F(TreeTest, RemovalEndsInTime) {
  for (int i = 0; i < 200; ++i) write("f" + std::to_string(i), "");
  EXPECT_EQ(remove_tree(from, Clock::now()).error().code, ErrorCode::timed_out);
  EXPECT_TRUE(fs::exists(from));
}

TEST_F(TreeTest, AFullDiskLeavesNoHalfOfACopy) {
  if (::geteuid() != 0) {
    // Without root the disk cannot be made full; that a broken copy goes is shown by ItStopsAtItsBounds.
    EXPECT_FALSE(copy_tree(from, "/proc/none", kWide));
    return;
  }
  write("a", std::string(200'000, 'x'));
  write("b", std::string(2'000'000, 'x'));
  const std::string disk = top + "/disk";
  fs::create_directory(disk);
  ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", 0, "size=1m"), 0);
  const auto made = copy_tree(from, disk + "/to", kWide);
  const bool gone = !fs::exists(disk + "/to");
  // What is mounted inside of a folder is not its own.
  fs::create_directory(from + "/mounted");
  ASSERT_EQ(::mount(disk.c_str(), (from + "/mounted").c_str(), nullptr, MS_BIND, nullptr), 0);
  std::ofstream(disk + "/other") << "x";
  const auto beside = copy_tree(from, to, kWide);
  const auto removed = remove_tree(from, Clock::now() + std::chrono::minutes(1));
  const bool kept = fs::exists(disk + "/other");
  ::umount((from + "/mounted").c_str());
  ::umount(disk.c_str());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::storage_full) << made.error().what;
  EXPECT_TRUE(gone);
  ASSERT_TRUE(beside) << beside.error().line();
  EXPECT_EQ(beside->left_out, 1U);
  EXPECT_FALSE(removed) << "a mounted folder was removed";
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace sickbay
