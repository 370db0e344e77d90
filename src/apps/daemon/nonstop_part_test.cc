// SPDX-License-Identifier: Apache-2.0
// Where nonstop.conf is looked for, and what is said of one that is not there or has a fault.
#include "apps/daemon/nonstop_part.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

using testing::HasSubstr;

TEST(NonstopConf, IsBesideSlurmConfUnlessNamed) {
  Config config;
  EXPECT_EQ(nonstop_conf_path(config, ""), "/etc/slurm/nonstop.conf");
  EXPECT_EQ(nonstop_conf_path(config, "/opt/slurm/etc/slurm.conf"), "/opt/slurm/etc/nonstop.conf");
  EXPECT_EQ(nonstop_conf_path(config, "slurm.conf"), "nonstop.conf");
  config.slurm.conf = "/site/slurm.conf";
  EXPECT_EQ(nonstop_conf_path(config, "/opt/slurm/etc/slurm.conf"), "/site/nonstop.conf");
  config.nonstop_server.conf = "/etc/sickbay/nonstop.conf";
  EXPECT_EQ(nonstop_conf_path(config, ""), "/etc/sickbay/nonstop.conf");
}

TEST(NonstopConf, AFaultIsToldWithItsLineAndARemedy) {
  char folder[] = "/tmp/sickbay_conf_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/nonstop.conf";
  const auto absent = read_nonstop_conf(path);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().remedy(), HasSubstr("nonstop.on"));
  std::ofstream(path) << "ControlAddr=ctl\nTimeLimitDelai=5\n";
  const auto wrong = read_nonstop_conf(path);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("nonstop.conf:2:"));
  EXPECT_FALSE(wrong.error().remedy().empty());
  std::ofstream(path) << "ControlAddr=ctl\nPort=7000\n";
  const auto good = read_nonstop_conf(path);
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->port, 7000);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sickbay
