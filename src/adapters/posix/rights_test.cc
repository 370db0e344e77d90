// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/rights.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

using testing::HasSubstr;

class Rights : public testing::Test {
 protected:
  Rights() {
    char name[] = "/tmp/sickbay_rights_XXXXXX";
    root_ = ::mkdtemp(name);
    std::filesystem::create_directories(root_ + "/etc/sickbay");
    for (const char* folder : {"/etc", "/etc/sickbay"}) ::chmod((root_ + folder).c_str(), 0755);
    std::ofstream(file()) << "{}";
    ::chmod(file().c_str(), 0644);
  }
  ~Rights() override { std::filesystem::remove_all(root_); }
  std::string file() const { return root_ + "/etc/sickbay/sickbay.json"; }
  std::string root_;
};

TEST_F(Rights, AFileThatOnlyWeMayChangeIsGood) {
  EXPECT_TRUE(only_ours_to_change(file()));
  EXPECT_TRUE(only_ours_to_change(root_ + "/etc/none.json")) << "it is not there, and nobody else can put it";
  EXPECT_TRUE(only_ours_to_change(root_ + "/etc/../etc/./sickbay//sickbay.json"));
}

TEST_F(Rights, WhatOthersMayWriteIsNot) {
  for (const auto& [at, mode] :
       {std::pair(file(), 0664U), std::pair(file(), 0646U), std::pair(root_ + "/etc/sickbay", 0775U),
        std::pair(root_ + "/etc", 0777U)}) {
    ::chmod(at.c_str(), mode);
    const Status good = only_ours_to_change(file());
    ASSERT_FALSE(good) << at;
    EXPECT_EQ(good.error().code, ErrorCode::denied);
    EXPECT_EQ(good.error().what, at + " may be written by others");
    EXPECT_EQ(good.error().remedy(), "chmod go-w " + at);
    ::chmod(at.c_str(), 0755);
  }
  EXPECT_TRUE(only_ours_to_change(file()));
  ::chmod((root_ + "/etc").c_str(), 0777);
  EXPECT_FALSE(only_ours_to_change(root_ + "/etc/none.json")) << "somebody else could put one there";
}

TEST_F(Rights, AFileOfSomebodyElseIsNot) {
  if (::getuid() != 0) return;
  for (const std::string& at : {file(), root_ + "/etc/sickbay"}) {
    ASSERT_EQ(::chown(at.c_str(), 65534, 65534), 0);
    const Status good = only_ours_to_change(file());
    ASSERT_FALSE(good) << at;
    EXPECT_THAT(good.error().what, HasSubstr(at + " belongs to uid 65534"));
    ASSERT_EQ(::chown(at.c_str(), 0, 0), 0);
  }
}

TEST_F(Rights, TheWayBehindALinkCounts) {
  std::filesystem::create_directory(root_ + "/shared");
  std::ofstream(root_ + "/shared/other.json") << "{}";
  ::chmod((root_ + "/shared/other.json").c_str(), 0644);
  ::chmod((root_ + "/shared").c_str(), 0755);
  std::filesystem::create_symlink("../../shared/other.json", root_ + "/etc/sickbay/link.json");
  EXPECT_TRUE(only_ours_to_change(root_ + "/etc/sickbay/link.json"));
  ::chmod((root_ + "/shared").c_str(), 0777);
  EXPECT_FALSE(only_ours_to_change(root_ + "/etc/sickbay/link.json"));
  ::chmod((root_ + "/shared").c_str(), 01777);
  EXPECT_TRUE(only_ours_to_change(root_ + "/etc/sickbay/link.json")) << "there only its owner replaces it";
  std::filesystem::create_symlink("round.json", root_ + "/etc/sickbay/round.json");
  EXPECT_FALSE(only_ours_to_change(root_ + "/etc/sickbay/round.json"));
}

}  // namespace
}  // namespace sickbay
