// SPDX-License-Identifier: Apache-2.0
// The plan of a lab, its texts and its cleanup list: pure parts.
#include "lab/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/cleanup.h"
#include "lab/fault_mounts.h"
#include "lab/slurm_conf.h"
#include "lab/slurm_version.h"
#include "lab/watch.h"

namespace sickbay::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Layout plan(Wishes wishes) {
  auto layout = plan_layout(std::move(wishes));
  EXPECT_TRUE(layout.has_value());
  return *layout;
}

TEST(Layout, SurvivesItsOwnFile) {
  Wishes w;
  w.name = "night-2", w.nodes = 3, w.spares = 2, w.cpus = 4, w.slurm_user = "slurm", w.sickbayd = false,
  w.agents = false, w.release = "/opt/slurm-26.05", w.shown = {"/root/a b", "/tmp/x/"};
  const Layout l = plan(w);
  auto again = parse_layout(print_layout(l));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(print_layout(*again), print_layout(l));
  EXPECT_EQ(again->machines().size(), 5u);
  EXPECT_TRUE(again->machines()[3].spare);
  EXPECT_EQ(again->range, l.range);
  EXPECT_EQ(again->wishes.release, "/opt/slurm-26.05");
  EXPECT_THAT(again->wishes.shown, ElementsAre("/root/a b", "/tmp/x"));
}

struct BadWish {
  const char* what;
  Wishes wishes;
};
TEST(Layout, RefusesWhatCannotWork) {
  const auto with = [](auto change) {
    Wishes w;
    change(w);
    return w;
  };
  for (const BadWish& row : {
           BadWish{"upper case", with([](Wishes& w) { w.name = "Lab"; })},
           {"slash", with([](Wishes& w) { w.name = "a/b"; })},
           {"no name", with([](Wishes& w) { w.name = ""; })},
           {"long name", with([](Wishes& w) { w.name = std::string(25, 'a'); })},
           {"no node", with([](Wishes& w) { w.nodes = 0; })},
           {"too many nodes", with([](Wishes& w) { w.nodes = 101; })},
           {"space in the folder", with([](Wishes& w) { w.folder = "/tmp/a b"; })},
           {"a folder longer than a socket's name",
            with([](Wishes& w) { w.folder = "/" + std::string(80, 'a'); })},
           {"another SlurmUser", with([](Wishes& w) { w.slurm_user = "alice"; })},
       }) {
    auto layout = plan_layout(row.wishes);
    ASSERT_FALSE(layout.has_value()) << row.what;
    EXPECT_EQ(layout.error().code, ErrorCode::usage) << row.what;
    EXPECT_FALSE(layout.error().remedy().empty()) << row.what;
  }
}

TEST(Layout, NamesTheLineOfABrokenFile) {
  auto layout = parse_layout("name lab\nnodes six\n");
  ASSERT_FALSE(layout.has_value());
  EXPECT_THAT(layout.error().what, HasSubstr("lab.conf:2"));
}

TEST(Layout, LoginHostsAreNoNodes) {
  Wishes wishes;
  wishes.logins = 2;
  const Layout l = plan(wishes);
  ASSERT_EQ(l.logins().size(), 2u);
  EXPECT_EQ(l.hosts().size(), l.machines().size() + 2);
  EXPECT_TRUE(l.machine("login2").value().login);
  EXPECT_THAT(slurm_conf(l, true), Not(HasSubstr("login")));
  EXPECT_THAT(hosts_file(l), HasSubstr(" login2\n"));
  EXPECT_EQ(parse_layout(print_layout(l)).value().logins().size(), 2u);
}

TEST(Layout, TwoLabsShareNothing) {
  Wishes a, b;
  a.name = "a", b.name = "b";
  const Layout one = plan(a), two = plan(b);
  EXPECT_NE(one.dir(), two.dir());
  EXPECT_NE(one.bridge, two.bridge);
  EXPECT_NE(one.first_port, two.first_port);
  EXPECT_LE(one.bridge.size(), 15u);  // IFNAMSIZ
}

TEST(Layout, TheSlurmHasItsOwnMungeEverywhere) {
  const Layout l = plan({});
  const std::string conf = slurm_conf(l, true);
  // slurmctld reaches slurmdbd by AccountingStoragePass, not by AuthInfo.
  EXPECT_THAT(conf, HasSubstr("AuthInfo=socket=" + l.path("run/munge.sock")));
  EXPECT_THAT(conf, HasSubstr("AccountingStoragePass=" + l.path("run/munge.sock")));
  EXPECT_THAT(slurmdbd_conf(l), HasSubstr("AuthInfo=socket=" + l.path("run/munge.sock")));
  EXPECT_THAT(conf, HasSubstr("PartitionName=main Nodes=n[1-6] Default=YES"));
  EXPECT_THAT(conf, HasSubstr("PartitionName=small Nodes=n1 "));
  EXPECT_THAT(conf, HasSubstr("PartitionName=spare Nodes=n7 Hidden=YES"));
  EXPECT_THAT(conf, Not(HasSubstr("/etc/slurm")));
}

struct VersionRow {
  const char* said;
  int version, since;
  const char* cgroup_none;
};
TEST(SlurmVersion, EachReleaseHasItsRow) {
  for (const VersionRow& row : {VersionRow{"slurm-wlm 22.05.8\n", 2205, 2205, "CgroupAutomount=no\n"},
                                {"slurm 21.08.8-2\n", 2108, 2205, "CgroupAutomount=no\n"},
                                {"slurm-wlm 24.11.5\n", 2411, 2411, "CgroupPlugin=disabled\n"},
                                {"slurm-wlm 26.05.5", 2605, 2411, "CgroupPlugin=disabled\n"}}) {
    auto version = parse_slurm_version(row.said);
    ASSERT_TRUE(version.has_value()) << row.said;
    EXPECT_EQ(*version, row.version);
    EXPECT_EQ(slurm_release(*version).since, row.since) << row.said;
    EXPECT_EQ(slurm_release(*version).cgroup_none, row.cgroup_none) << row.said;
  }
  EXPECT_EQ(slurm_version_text(2205), "22.05");
  for (const char* text : {"", "slurm", "slurm x.y", "slurm-wlm 24"})
    EXPECT_FALSE(parse_slurm_version(text).has_value()) << text;
}

TEST(Layout, AddsItsUsersToThoseOfTheHost) {
  const Layout l = plan({});
  const std::string text = passwd_file(l, "root:x:0:0:root:/root:/bin/sh\nbob:x:7:7::/:/bin/sh");
  EXPECT_THAT(text, HasSubstr("\nalice:x:60001:60001:"));
  EXPECT_THAT(text, HasSubstr("\nbob:x:7:7:"));
  EXPECT_THAT(text, Not(HasSubstr("bob:x:60002")));  // the host's own bob stays
  EXPECT_THAT(group_file("root:x:0:"), HasSubstr("\nalice:x:60001:"));
}

TEST(Cleanup, ReadsWhatItWrote) {
  const std::vector<CleanupItem> items = {{CleanupItem::Kind::folder, "/var/tmp/x", {}},
                                          {CleanupItem::Kind::link, "/var/tmp/y z", {}},
                                          {CleanupItem::Kind::process, "holder-n1", {17, 4711}},
                                          {CleanupItem::Kind::cgroup, "/sys/fs/cgroup/cpu/x", {}}};
  std::string text;
  for (const CleanupItem& item : items) text += print_item(item);
  auto again = parse_cleanup(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, items);
}

TEST(Cleanup, LeavesOutALineThatWasCutShort) {
  auto items = parse_cleanup("folder /var/tmp/x\nprocess 17 47");
  ASSERT_TRUE(items.has_value());
  EXPECT_EQ(items->size(), 1u);
}

TEST(Cleanup, StopsAtWhatItDoesNotKnow) {
  for (const char* text : {"disk /dev/sda\n", "process x 1 y\n", "process 17\n", "folder\n", "\n"})
    EXPECT_FALSE(parse_cleanup(text).has_value()) << text;
}

TEST(Mounts, ReadsTheKernelsTable) {
  const auto mounts = parse_mountinfo(
      "36 35 98:0 / / rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
      "40 36 0:30 /a\\040b /mnt/c\\134d ro,nosuid - tmpfs sickbay-f3 rw\n"
      "broken\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].source, "/dev/root");
  EXPECT_EQ(mounts[1].path, "/mnt/c\\d");
  EXPECT_EQ(mounts[1].root, "/a b");
  EXPECT_EQ(mounts[1].options, "ro,nosuid");
  EXPECT_EQ(mounts[1].source, "sickbay-f3");
}

TEST(Ranks, AreWhatStepsStarted) {
  using namespace std::string_literals;
  EXPECT_EQ(step_of_environment("A=1\0SLURM_JOB_ID=17\0SLURM_STEP_ID=0\0"s), "17.0");
  EXPECT_EQ(step_of_environment("SLURM_JOB_ID=17\0B=2"s), "");  // a batch script
  EXPECT_EQ(step_of_environment("SLURM_JOB_ID=17\0SLURM_STEP_ID=x"s), "");
  EXPECT_EQ(step_of_environment(""), "");
}

}  // namespace
}  // namespace sickbay::lab
