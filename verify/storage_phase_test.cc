// SPDX-License-Identifier: Apache-2.0
#include "storage_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "phases.h"
#include "seconds.h"

namespace sickbay::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kMounts[] =
    "22 1 8:2 / / rw - xfs /dev/sda2 rw\n"
    "30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw\n"
    "31 22 0:41 / /a\\040b rw - lustre mgs:/x rw\n"
    "32 22 0:42 / /auto rw - autofs map rw\n"
    "33 32 0:43 / /auto/alice rw - nfs4 server:/alice rw\n"
    "35 22 0:44 / /t\\011b\\134c rw - fuse.daos dfuse rw\n"
    "34 22 8:3 / /scratch rw - ext4 /dev/sdb rw\n"
    "garbage\n- - -\n";

TEST(Storage, PlacesFromElsewhere) {
  EXPECT_THAT(shared_places(kMounts, 9), ElementsAre("/home", "/a b", "/t\tb\\c"));
  EXPECT_THAT(shared_places(kMounts, 1), ElementsAre("/home"));
  EXPECT_EQ(mount_of(kMounts, "/home/alice/run"), "/home");
  EXPECT_EQ(mount_of(kMounts, "/homes/alice"), "/");
  EXPECT_EQ(mount_of(kMounts, "/auto/alice/x"), "/auto/alice");
  EXPECT_EQ(mount_of("", "/x"), "/");
}

TEST(Storage, WhoAnswersAndWhoDoesNot) {
  EXPECT_THAT(ask_places({"/", "/no/such/folder", "/"}, 20),
              ElementsAre(Pair("/", ""), Pair("/no/such/folder", "No such file or directory")));
  // A place that hangs holds up nobody: nothing is waited for.
  const double begun = seconds_now();
  EXPECT_THAT(ask_places({"/"}, 0), ElementsAre(Pair("/", "no answer within 0 s")));
  EXPECT_LT(seconds_now() - begun, 10);
}

TEST(Storage, TheJobsFolder) {
  Options options;
  options.folder = "/no/such/folder";
  const Finding away = storage_phase(options);
  EXPECT_TRUE(away.ok) << "a folder that is not there may never have been";
  EXPECT_THAT(away.words, ElementsAre(Pair("folder", "/no/such/folder"), Pair("mount", "/"),
                                      Pair("folder_is", "No such file or directory")));
  options.folder = "/";
  EXPECT_THAT(storage_phase(options).words, ::testing::Contains(Pair("folder_is", "there")));
}

}  // namespace
}  // namespace sickbay::verify
