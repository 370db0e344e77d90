// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/nhc_actions.h"

#include <gtest/gtest.h>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/import_nhc.h"
#include "engine/diagnose/lint.h"

namespace sickbay::diagnose {
namespace {

TEST(NhcActions, WhatIsPlainlyAnActionIsOne) {
  const struct {
    const char* line;
    const char* action;
  } rows[] = {
      {"check_fs_free /tmp 1%; reboot", "reboot"},
      {"check_fs_free /tmp 1% || /sbin/reboot -f", "reboot"},
      {"site_check || shutdown -r now", "shutdown"},
      {"check_cmd_status -t 5 -r 0 /usr/sbin/poweroff", "poweroff"},
      {"/sbin/init 6", "init 6"},
      {"[[ $(df -P /tmp | wc -l) -gt 5 ]] && { rm -rf /tmp/*; }", "rm"},
      {"site_check -e 'umount -f /scratch'", "umount"},
      {"mountpoint -q /scratch || mount /scratch", "mount"},
      {"x=$(pgrep hog) && kill -9 $x", "kill"},
      {"pgrep -f hog && pkill hog", "pkill"},
      {"lsmod | grep -q lnet || modprobe lnet", "modprobe"},
      {"systemctl is-active munge || systemctl restart munge", "systemctl restart"},
      {"systemctl --no-block stop hog", "systemctl stop"},
      {"service ntpd status || service ntpd restart", "service restart"},
      {"site_check || scontrol update nodename=$HOSTNAME state=drain reason=x", "scontrol update"},
      {"ipmitool chassis power cycle", "ipmitool cycle"},
      {"nvidia-smi --gpu-reset", "nvidia-smi --gpu-reset"},
      {"ip link set ib0 up", "ip set"},
      {"mkfs.xfs /dev/nvme0n1", "mkfs.xfs"},
      {"echo 3 > /proc/sys/vm/drop_caches", "a file is written"},
      {"date >> /var/log/site.log", "a file is written"},

      // Checks, as sites write them.
      {"site_check_licenses 3", ""},
      {"[[ -e /etc/gpu ]] && check_nv_healthmon", ""},
      {"check_all_fs_used xfs 98%", ""},
      {"check_file_test -t 0", ""},
      {"mount | grep -q /scratch", ""},
      {"mount -t lustre | grep -q work", ""},
      {"kill -0 $(cat /run/x.pid)", ""},
      {"systemctl is-active --quiet munge", ""},
      {"service munge status >/dev/null 2>&1", ""},
      {"scontrol show node $HOSTNAME | grep -q IDLE", ""},
      {"scontrol ping", ""},
      {"ipmitool sensor 2> /dev/null | grep -q Fan", ""},
      {"nvidia-smi -q -d ECC", ""},
      {"ip -br link show ib0", ""},
      {"check_cmd_output -m '/reboot/' last -x", ""},
      {"uptime | awk '{ if ($3 > 100) exit 1 }'", ""},
      {"[[ $(nproc) -gt 3 ]] || die 1 'too few, see /usr/share/doc/remove'", ""},
      {"check_ps_loadavg $A", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(nhc_action(row.line), row.action) << row.line;
}

// What acts has the kind of a repair, so that nobody runs it without a permission, whatever the period says.
TEST(NhcActions, ALineThatActsIsARepairAndSaidToBeOne) {
  const struct {
    const char* check;
    bool repairs;
    const char* note;
  } rows[] = {
      {"check_fs_free /tmp 1%; reboot", true,
       "the shell would have to read it; it acts (reboot): a repair, which runs only where repairs are "
       "permitted"},
      {"check_cmd_status -t 5 -r 0 /sbin/reboot", true,
       "it acts (reboot): a repair, which runs only where repairs are permitted"},
      {"/usr/bin/systemctl restart munge", true,
       "it acts (systemctl restart): a repair, which runs only where repairs are permitted"},
      {"site_check_licenses 3", false, "it is no check of NHC's own"},
      {"check_cmd_status -t 5 -r 0 /usr/bin/systemctl is-active munge", false, ""},
      // What a built-in operation looks at does nothing, whatever it looks for.
      {"check_ps_service -u root umount", false, ""},
      {"check_fs_mount_rw -f /reboot", false, ""},
  };
  for (const auto& row : rows) {
    const auto made = import_nhc(std::string("* || ") + row.check, "nhc.conf", {"n1"});
    ASSERT_TRUE(made) << row.check;
    EXPECT_EQ(made->lines.at(0).note, row.note) << row.check;
    auto read = read_specifications(made->files, {"n1", {}});
    ASSERT_TRUE(read) << row.check;
    DuktapePredicates compiler;
    auto rules = compile(read->at(0), compiler);
    ASSERT_TRUE(rules) << row.check;
    int acting = 0;
    for (const OperationSpec& o : (*rules)->specification.operations) acting += repairs(o);
    EXPECT_EQ(acting > 0, row.repairs) << row.check;
    for (const LintFinding& f : lint(**rules)) EXPECT_FALSE(f.error) << row.check << ": " << f.text;
  }
}

}  // namespace
}  // namespace sickbay::diagnose
