// SPDX-License-Identifier: Apache-2.0
#include "model/nonstop_config.h"

#include <gtest/gtest.h>

namespace sickbay::wire {
namespace {

// The sample of the paper ("Failure Management Support"), as it stands there.
constexpr std::string_view kSample =
    "#\n# Sample nonstop.conf file\n#\n"
    "# Same as BackupAddr in slurm.conf\nBackupAddr=bacco\n"
    "# Same as ControlAddr in slurm.conf\nControlAddr=prometeo\n"
    "# Verbosity of plugin logging\nDebug=0\n"
    "# Count of hot spare nodes in partition \"batch\"\nHotSpareCount=batch:8\n"
    "# Maximum hot spare node use by any single job\nMaxSpareNodeCount=4\n"
    "# Port the slurmctld/nonstop plugin reads from\nPort=9114\n"
    "# Maximum time limit extension if no hot spares\nTimeLimitDelay=600\n"
    "# Time limit extension for each replaced node\nTimeLimitExtend=2\n"
    "# Users allowed to drain nodes\nUserDrainAllow=alan,brenda\n";

TEST(NonstopConf, ThePapersSampleIsRead) {
  const auto config = parse_nonstop_config(kSample);
  ASSERT_TRUE(config) << config.error().message("test");
  EXPECT_EQ(config->backup_addr, "bacco");
  EXPECT_EQ(config->control_addr, "prometeo");
  EXPECT_EQ(config->debug, 0);
  EXPECT_EQ(config->hot_spares, (std::vector<HotSpare>{{"batch", 8}}));
  EXPECT_EQ(config->max_spare_nodes, 4U);
  EXPECT_EQ(config->port, 9114);
  EXPECT_EQ(config->time_limit_delay, 600);
  EXPECT_EQ(config->time_limit_drop, 0);
  EXPECT_EQ(config->time_limit_extend, 2);
  EXPECT_EQ(config->drain_allow.names, (std::vector<std::string>{"alan", "brenda"}));
  EXPECT_FALSE(config->drain_allow.all);
  EXPECT_TRUE(config->drain_deny.empty());
  EXPECT_EQ(*parse_nonstop_config(format_nonstop_config(*config)), *config);
}

TEST(NonstopConf, NamesCommentsAndLinesAreSlurms) {
  const auto config = parse_nonstop_config(
      "controladdr=ctl BACKUPADDR = \"fe80::1\"   # two on a line\r\n"
      "hotsparecount=batch:8,debug:0,\\\n*:2\n"
      "UserDrainAllow=all\n\n  UserDrainDeny=bob\tReadTimeout=5 WriteTimeout=7\n"
      "#Port=1\n#ends in a backslash \\\nDebug=65535");
  ASSERT_TRUE(config) << config.error().message("test");
  EXPECT_EQ(config->control_addr, "ctl");
  EXPECT_EQ(config->backup_addr, "fe80::1");
  EXPECT_EQ(config->port, 6820) << "the default";
  EXPECT_EQ(config->hot_spares, (std::vector<HotSpare>{{"batch", 8}, {"*", 2}})) << "a count of 0 is none";
  EXPECT_EQ(config->hot_spares_text(), "batch:8,*:2");
  EXPECT_TRUE(config->drain_allow.all);
  EXPECT_EQ(config->drain_allow.text(), "ALL");
  EXPECT_EQ(config->drain_deny.text(), "bob");
  EXPECT_EQ(config->read_timeout, 5U);
  EXPECT_EQ(config->write_timeout, 7U);
  EXPECT_EQ(config->debug, 65535);
  EXPECT_EQ(*parse_nonstop_config(format_nonstop_config(*config)), *config);
  EXPECT_TRUE(parse_nonstop_config("ControlAddr=ctl\nUserDrainDeny=bob")->drain_allow.all)
      << "Deny alone allows all others";
}

TEST(NonstopConf, WhatIsWrongIsNamedWithItsLine) {
  struct Row {
    std::string text, what, cause;
  };
  const std::vector<Row> rows = {
      {"", "nonstop.conf: no ControlAddr", "nobody knows where the service runs"},
      {"Port=1", "nonstop.conf: no ControlAddr", "nobody knows where the service runs"},
      {"\n#\nControlAdr=ctl", "nonstop.conf:3: unknown key 'ControlAdr'", "did you mean ControlAddr?"},
      {"Include other.conf", "nonstop.conf:1: 'Include other.conf' is no Key=Value",
       "a name, '=' and a value are wanted, with closed quotes where there are any"},
      {"ControlAddr=\"ctl", "nonstop.conf:1: 'ControlAddr=\"ctl' is no Key=Value",
       "a name, '=' and a value are wanted, with closed quotes where there are any"},
      {"ControlAddr=ctl\n\\\n\nPORT=1\nPort=2", "nonstop.conf:5: Port a second time",
       "it stands in line 4 already"},
      {"ControlAddr=", "nonstop.conf:1: ControlAddr=''", "its value must be something"},
      {"ControlAddr=a,b", "nonstop.conf:1: ControlAddr='a,b'", "its value must be a host's name or address"},
      {"Port=0", "nonstop.conf:1: Port='0'", "its value must be a whole number from 1 to 65535"},
      {"Port=65536", "nonstop.conf:1: Port='65536'", "its value must be a whole number from 1 to 65535"},
      {"TimeLimitDrop=4min", "nonstop.conf:1: TimeLimitDrop='4min'",
       "its value must be a whole number from 0 to 65535"},
      {"MaxSpareNodeCount=-1", "nonstop.conf:1: MaxSpareNodeCount='-1'",
       "its value must be a whole number from 0 to 4294967295"},
      {"HotSpareCount=8", "nonstop.conf:1: HotSpareCount='8'",
       "its value must be partition:nodes, and more of them behind commas"},
      {"HotSpareCount=batch:8,", "nonstop.conf:1: HotSpareCount='batch:8,'",
       "its value must be partition:nodes, and more of them behind commas"},
      {"HotSpareCount=batch:8,batch:2", "nonstop.conf:1: HotSpareCount='batch:8,batch:2'",
       "its value must be each partition once, and 'batch' stands there twice"},
      {"UserDrainAllow=ALL,bob", "nonstop.conf:1: UserDrainAllow='ALL,bob'",
       "its value must be users' names or ALL, not both"},
      {"UserDrainAllow=,", "nonstop.conf:1: UserDrainAllow=','",
       "its value must be users' names behind commas, or ALL"},
      {"ControlAddr=ctl\nUserDrainAllow=alan\nUserDrainDeny=bob",
       "nonstop.conf: UserDrainDeny beside UserDrainAllow", "who is denied is of those that ALL allows"},
  };
  for (const Row& row : rows) {
    const auto config = parse_nonstop_config(row.text);
    ASSERT_FALSE(config) << row.text;
    EXPECT_EQ(config.error().code, ErrorCode::bad_input);
    EXPECT_EQ(config.error().what, row.what) << row.text;
    EXPECT_EQ(config.error().cause, row.cause) << row.text;
    EXPECT_FALSE(config.error().remedy_text.empty()) << row.text;
  }
  EXPECT_EQ(
      parse_nonstop_config("x", "/etc/slurm/nonstop.conf").error().what.find("/etc/slurm/nonstop.conf:1: "),
      0U);
}

}  // namespace
}  // namespace sickbay::wire
