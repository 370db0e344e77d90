// SPDX-License-Identifier: Apache-2.0
#include "base/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

TEST(MountTable, Mountinfo) {
  const auto mounts = parse_mountinfo(
      "22 1 8:2 / / rw - xfs /dev/sda2 rw\n"
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root ro,errors=continue\n"
      "31 22 0:41 / /a\\040b\\134c\\011d ro - lustre mgs:/x\\040y rw\n"
      "40 22 0:28 /docker/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
      "1 2 3 4 5 6 no dash\ngarbage\n- - -\n\n");
  ASSERT_THAT(mounts,
              ElementsAre(Field(&Mount::place, "/"), Field(&Mount::place, "/mnt2"),
                          Field(&Mount::place, "/a b\\c\td"), Field(&Mount::place, "/sys/fs/cgroup/cpu")));
  EXPECT_EQ(mounts[0].type, "xfs");
  EXPECT_FALSE(mounts[0].read_only);
  EXPECT_EQ(mounts[1].root, "/mnt1");
  EXPECT_TRUE(mounts[1].filesystem_read_only && mounts[1].read_only);
  EXPECT_EQ(mounts[2].source, "mgs:/x y");
  EXPECT_TRUE(mounts[2].read_only && !mounts[2].filesystem_read_only);
  EXPECT_EQ(mounts[3].root, "/docker/1");
  EXPECT_TRUE(has_option(mounts[3].filesystem_options, "cpu"));
  EXPECT_FALSE(has_option(mounts[3].filesystem_options, "cp"));
}

TEST(MountTable, Fstab) {
  const auto lines = parse_fstab("# a comment\n\nserver:/a\\040b /a\\040b nfs4 ro,hard 0 0\nonly two\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].place, "/a b");
  EXPECT_TRUE(lines[0].has("ro") && lines[0].has("hard") && !lines[0].has("rw"));
}

TEST(MountTable, Below) {
  const struct {
    const char *path, *folder;
    bool below;
  } rows[] = {
      {"/home", "/home", true},    {"/home/a", "/home", true}, {"/homes", "/home", false}, {"/x", "/", true},
      {"/home/a", "/home/", true}, {"/", "/home", false},      {"/tmp", "/tmp/", false},
  };
  for (const auto& row : rows) EXPECT_EQ(lies_below(row.path, row.folder), row.below) << row.path;
}

TEST(MountTable, FromElsewhere) {
  for (const char* type : {"nfs4", "lustre", "daos", "fuse.sshfs", "9p"})
    EXPECT_TRUE(is_from_elsewhere(type));
  for (const char* type : {"ext4", "tmpfs", "overlay", "autofs", "fuse", ""})
    EXPECT_FALSE(is_from_elsewhere(type)) << type;
}

}  // namespace
}  // namespace sickbay
