// SPDX-License-Identifier: Apache-2.0
// Which folders the machines of a lab are shown, and which cannot be.  That users see them:
// test/slurm/any_folder.sh.
#include "lab/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder of the test's own.
struct Place {
  Place() {
    std::string name = (fs::temp_directory_path() / "sickbay-shown.XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path = fs::canonical(name).string();
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string folder(const std::string& name) const {
    fs::create_directories(path + "/" + name);
    return path + "/" + name;
  }
  std::string path;
};

TEST(Shown, ABuildFolderComesWithItsCheckout) {
  const Place place;
  const std::string build = place.folder("build"), bin = place.folder("build/bin"),
                    from = place.folder("from");
  std::ofstream(build + "/CMakeCache.txt") << "//comment\nCMAKE_HOME_DIRECTORY:INTERNAL=" << from << "\n";
  EXPECT_THAT(folders_of_program(bin + "/sickbay", {}), ElementsAre(build, bin, from));
}

TEST(Shown, ACheckoutThatIsGoneIsLeftOut) {
  const Place place;
  const std::string build = place.folder("build"), bin = place.folder("build/bin");
  std::ofstream(build + "/CMakeCache.txt") << "CMAKE_HOME_DIRECTORY:INTERNAL=" << place.path << "/gone\n";
  EXPECT_THAT(folders_of_program(bin + "/sickbay", {}), ElementsAre(build, bin));
}

TEST(Shown, AnInstallationComesWithItsParts) {
  const Place place;
  const std::string bin = place.folder("bin"), libexec = place.folder("libexec/sickbay"),
                    share = place.folder("share/sickbay");
  place.folder("lib/others");
  EXPECT_THAT(folders_of_program(bin + "/sickbay", {}), ElementsAre(bin, libexec, share));
}

TEST(Shown, LibrariesThatAreNotTheSystemsCome) {
  EXPECT_THAT(
      folders_of_program("/opt/bin/sickbay", {"/usr/lib/libc.so.6", "/lib/x.so", "/srv/duck/libduckdb.so"}),
      ElementsAre("/opt/bin", "/srv/duck"));
}

TEST(Shown, WhatCannotBeIsRefused) {
  const Place place;
  EXPECT_TRUE(check_shown({place.folder("a")}).has_value());
  for (const std::string& bad : {std::string("/tmp"), place.path + "/gone"}) {
    auto checked = check_shown({bad});
    ASSERT_FALSE(checked.has_value()) << bad;
    EXPECT_THAT(checked.error().what, HasSubstr(bad));
    EXPECT_FALSE(checked.error().remedy().empty());
  }
}

// Nothing is changed on the host: a closed folder on the way is no reason to refuse.
TEST(Shown, AClosedFolderOnTheWayIsFine) {
  const Place place;  // mkdtemp makes it with mode 700
  const std::string inner = place.folder("inner");
  ASSERT_EQ(::chmod(place.path.c_str(), 0700), 0);
  EXPECT_TRUE(check_shown({inner}).has_value());
}

}  // namespace
}  // namespace sickbay::lab
