// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/import_nhc.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/hostlist.h"
#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/findings.h"
#include "engine/diagnose/lint.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::diagnose {
namespace {

using testing::HasSubstr;

const std::string& sample() {
  static const std::string text = [] {
    std::ifstream in(SB_RULES "/../src/engine/diagnose/testdata/nhc.conf");
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return text;
}
std::vector<std::string> cluster() { return expand_hostlist("n[00-19],gpu[1-4],ib[01-16],login1").value(); }

std::string shown(const NhcImport& made) {
  std::string out;
  for (const NhcTaken& t : made.lines)
    out += fmt::format("{}: {}{}{}\n", t.check, to_string(t.how), t.note.empty() ? "" : ": ", t.note);
  return out;
}

// As a node of this name, all files laid over each other.
std::shared_ptr<const Rules> rules_for(const NhcImport& made, const std::string& node) {
  auto read = read_specifications(made.files, {node, {}});
  if (!read) ADD_FAILURE() << read.error().message("test");
  static DuktapePredicates compiler;
  auto rules = compile(read.value().at(0), compiler);
  if (!rules) ADD_FAILURE() << rules.error().message("test");
  return *rules;
}

TEST(ImportNhc, TakesWhatABuiltInOperationEqualsAndSaysWhyNotTheRest) {
  const auto made = import_nhc(sample(), "nhc.conf", cluster());
  ASSERT_TRUE(made) << made.error().message("test");
  EXPECT_EQ(
      shown(*made),
      "export NHC_RM=slurm: no: it is a setting of NHC\n"
      "MARK_OFFLINE=0: no: it is a setting of NHC\n"
      "DEBUG=1: no: it is a setting of NHC\n"
      "check_hw_cpuinfo 2 32 64: in part: sockets and cores are not counted, threads are\n"
      "check_hw_physmem 256gb 256gb 5%: whole\n"
      "check_hw_physmem_free 512MB: whole\n"
      "check_hw_swap 0 8g 64m: whole\n"
      "check_hw_swap_free 1MB: whole\n"
      "check_hw_mem 264g 264g 3%: whole\n"
      "check_hw_mem_free 1024: whole\n"
      "check_hw_mcelog: no: it asks the mcelog daemon; builtin:edac and builtin:machine_checks count in the "
      "kernel\n"
      "check_hw_ib 100 mlx5_0:1: in part: all ports of the adapter are looked at\n"
      "check_hw_eth eno1: in part: a link that is down is a fault, a device that is missing is unknown\n"
      "check_nv_healthmon: in part: lost processors and uncorrected memory errors, not all that the vendor's "
      "tool looks at\n"
      "check_dmi_data_match \"BIOS Information: Version: 2.4\": no: no built-in operation reads SMBIOS "
      "strings\n"
      "check_fs_mount_rw -f /: whole\n"
      "check_fs_mount_rw -t tmpfs -f /dev/shm -f /run: whole\n"
      "check_fs_mount -r -s 'nas1:/home' -t nfs4 -o '/(^|,)vers=4\\.2(,|$)/' -f /home: in part: the source "
      "is not compared; mount options are not compared\n"
      "check_fs_mount_ro /opt nas1:/opt nfs: in part: the source is not compared\n"
      "check_fs_free /tmp 10%: whole\n"
      "check_fs_free / 4GB: whole\n"
      "check_fs_used /var 90%: whole\n"
      "check_fs_used /var 20G: no: used space is told as a share only\n"
      "check_fs_ifree /tmp 1k: whole\n"
      "check_fs_iused /tmp 95%: whole\n"
      "check_fs_size /scratch 1T: whole\n"
      "check_all_fs_used xfs 98%: no: no built-in operation looks at all file systems of a type\n"
      "check_ps_service -u root -S sshd: in part: the owner of the process is not compared\n"
      "check_ps_service -r munged: whole\n"
      "check_ps_service -0 -d rsyslogd rsyslog: whole\n"
      "check_ps_service -k telnetd: no: it wants the service not to run\n"
      "check_ps_daemon slurmd root: in part: the owner of the process is not compared\n"
      "check_ps_loadavg 130 '' 100: whole\n"
      "check_ps_loadavg $((2*HW_CORES)): no: it is more than a check with plain arguments: the shell would "
      "have to read it\n"
      "check_ps_unauth_users log syslog kill: whole\n"
      "check_ps_unauth_users: whole\n"
      "check_ps_physmem -0 20%: whole\n"
      "check_ps_physmem -u bob -k 32G: no: it looks at some processes only\n"
      "check_ps_blacklist sshd '!root': no: it wants a process not to run\n"
      "check_file_test -r -w -x -d -k /tmp /var/tmp: no: no built-in operation looks at files\n"
      "check_cmd_status -t 1 -r 1 selinuxenabled: no: it runs a command of its own; write an operation for "
      "it (doc/formats/operation.md)\n"
      "check_cmd_output -m '/is running/'            /usr/sbin/service rpcbind status: no: it runs a command "
      "of its own; write an operation for it (doc/formats/operation.md)\n"
      "check_net_ping -c 2 mgmt: no: it sends ICMP; builtin:reach opens a TCP connection\n"
      "site_check_licenses 3: no: it is no check of NHC's own\n"
      "check_fs_free /tmp 1%; reboot: no: it is more than a check with plain arguments: the shell would have "
      "to read it\n");
  ASSERT_EQ(made->files.size(), 6u);
  for (const char* node : {"n05", "gpu1", "ib03", "login1"}) {
    const auto rules = rules_for(*made, node);
    for (const LintFinding& f : lint(*rules))
      ADD_FAILURE() << node << ": " << f.place.text() << ": " << f.text;
  }
  EXPECT_LT(rules_for(*made, "login1")->productions.size(), rules_for(*made, "n05")->productions.size());
}

TEST(ImportNhc, TargetsThatArePatternsNeedTheClustersNodes) {
  const auto made = import_nhc(sample(), "nhc.conf", {});
  ASSERT_TRUE(made);
  EXPECT_THAT(shown(*made), HasSubstr("check_nv_healthmon: no: which nodes its target means is told only "
                                      "where --nodes names the cluster's\n"));
  EXPECT_THAT(shown(*made), HasSubstr("check_hw_ib 100 mlx5_0:1: in part"));  // {ib[01-16]} says itself which
}

TEST(ImportNhc, TargetsMeanWhatNhcMeans) {
  const struct {
    const char* target;
    const char* nodes;
  } rows[] = {
      {"*", "all"},
      {"n0*", "n[00-09]"},
      {"!n*", "gpu[1-4],ib[01-16],login1"},
      {"/^n0[0-3]$/", "n[00-03]"},
      {"/pu/", "gpu[1-4]"},
      {"!/[0-9][0-9]/", "gpu[1-4],login1"},
      {"{n[00-03],gpu2}", "gpu2,n[00-03]"},
      {"!{n[00-19],ib[01-16]}", "gpu[1-4],login1"},
      {"gpu3", "gpu3"},
      {"x*", "its target fits none of the cluster's nodes"},
      {"n[00-03]",
       "its target fits none of the cluster's nodes; a range stands in braces, without them [] is one "
       "character"},
      {"/(/", "its target is an expression that is not taken"},
      {"/(a*)\\1/", "its target is an expression that is not taken"},
      {"/a{1,200}/", "its target is an expression that is not taken"},
  };
  for (const auto& row : rows) {
    const NhcNodes nodes = resolve_nhc_target(row.target, sorted_hosts(cluster()));
    EXPECT_EQ(nodes.all                  ? "all"
              : nodes.unresolved.empty() ? compress_hostlist(nodes.names)
                                         : nodes.unresolved,
              row.nodes)
        << row.target;
  }
}

TEST(ImportNhc, ARepairComesFirstWhereItIsAllowed) {
  const auto made = import_nhc("* || check_ps_service -r munged", "nhc.conf", {});
  ASSERT_TRUE(made);
  const auto rules = rules_for(*made, "n1");
  const auto run = [&](bool repair, bool helps) {
    RunStarted started;
    started.initial = {{"repair", repair}};
    const Driven d = drive(rules, permitted(started),
                           {{"look_service", ok(Json::object({{"service_up", false}}))},
                            {"mend_1", ok()},
                            {"again_1", ok(Json::object({{"service_up", helps}}))}});
    std::string out;
    for (const Instance& i : d.run.instances) out += rules->specification.operations[i.operation].name + " ";
    return out;
  };
  EXPECT_EQ(run(false, false), "look_service take_out ");
  EXPECT_EQ(run(true, true), "look_service mend_1 again_1 ");
  EXPECT_EQ(run(true, false), "look_service mend_1 again_1 take_out ");
}

TEST(ImportNhc, SizesAndSharesBecomeBounds) {
  const auto when = [](const std::string& check) {
    const auto made = import_nhc("* || " + check, "nhc.conf", {});
    return made && !made->files.empty() ? rules_for(*made, "n1")->specification.predicates.at(1).when
                                        : shown(*made);
  };
  EXPECT_EQ(when("check_hw_physmem 1024 1g 5%"),
            "memory_total + (memory_total) * 5 / 100 < 1048576 OR memory_total - (memory_total) * 5 / 100 > "
            "1073741824");
  EXPECT_EQ(when("check_fs_free /tmp 3%"), "filesystem_used_percent > 97");
  EXPECT_EQ(when("check_fs_ifree /tmp 1k"), "inodes_free < 1024");
  EXPECT_EQ(when("check_fs_ifree /tmp 100"), "inodes_free < 100");
  EXPECT_EQ(when("check_fs_mount_rw -t ext4 -f /"),
            "NOT mount_present OR mount_read_only OR mount_type != \"ext4\"");
  EXPECT_EQ(when("check_hw_physmem lots"), "check_hw_physmem lots: no: its sizes cannot be read\n");
}

TEST(ImportNhc, LinesWithFaultsAreRefusedWithTheirNumber) {
  const struct {
    const char* text;
    const char* error;
  } rows[] = {
      {"# fine\n* check_fs_free /\n", "nhc.conf:2: '* check_fs_free /' has no '||'"},
      {"\n\n|| check_fs_free /\n", "nhc.conf:3: '|| check_fs_free /' lacks the target"},
      {"* ||\n", "nhc.conf:1: '* ||' lacks the check"},
      {"* || check_x 'a\n", "nhc.conf:1: a quote is open in 'check_x \\'a'"},
  };
  for (const auto& row : rows) {
    const auto made = import_nhc(row.text, "nhc.conf", {});
    ASSERT_FALSE(made) << row.text;
    EXPECT_EQ(made.error().what, row.error);
  }
}

}  // namespace
}  // namespace sickbay::diagnose
