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
#include "engine/diagnose/nhc_words.h"

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

// What looks, before what is done.
const OperationSpec& look_of(const Rules& rules, std::size_t at = 0) {
  for (const OperationSpec& o : rules.specification.operations)
    if (o.name.starts_with("look_") && at-- == 0) return o;
  ADD_FAILURE() << "there is no such look";
  return rules.specification.operations.front();
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
      "export NHC_RM=slurm: setting\n"
      "MARK_OFFLINE=0: setting\n"
      "DEBUG=1: setting\n"
      "check_hw_cpuinfo 2 32 64: whole\n"
      "check_hw_physmem 256gb 256gb 5%: whole\n"
      "check_hw_physmem_free 512MB: whole\n"
      "check_hw_swap 0 8g 64m: whole\n"
      "check_hw_swap_free 1MB: whole\n"
      "check_hw_mem 264g 264g 3%: whole\n"
      "check_hw_mem_free 1024: whole\n"
      "check_hw_mcelog: whole\n"
      "check_hw_ib 100 mlx5_0:1: whole\n"
      "check_hw_eth eno1: whole\n"
      "check_nv_healthmon: in part: lost processors and uncorrected memory errors, not all that the vendor's "
      "tool looks at\n"
      "check_hw_gm myri0: whole\n"
      "check_hw_topology 2: stub: it is no check of NHC's own\n"
      "check_dmi_data_match \"BIOS Information: Version: 2.4\": whole\n"
      "check_dmi_data_match -n -t \"Memory Device\" \"*Speed: 800 MHz\": whole\n"
      "check_dmi_raw_data_match '!' \"Not Specified\": whole\n"
      "check_fs_mount_rw -f /: whole\n"
      "check_fs_mount_rw -t tmpfs -f /dev/shm -f /run: whole\n"
      "check_fs_mount -r -s 'nas1:/home' -t nfs4 -o '/(^|,)vers=4.2(,|$)/' -f /home: whole\n"
      "check_fs_mount_ro /opt nas1:/opt nfs: whole\n"
      "check_fs_free /tmp 10%: whole\n"
      "check_fs_free / 4GB: whole\n"
      "check_fs_used /var 90%: whole\n"
      "check_fs_used /var 20G: whole\n"
      "check_fs_ifree /tmp 1k: whole\n"
      "check_fs_iused /tmp 95%: whole\n"
      "check_fs_size /scratch 1T: whole\n"
      "check_fs_inodes /tmp 1k 100M: whole\n"
      "check_fs_iused /tmp 2M: whole\n"
      "check_all_fs_used xfs 98%: stub: it is no check of NHC's own\n"
      "check_ps_service -u root -S sshd: whole\n"
      "check_ps_service -r munged: whole\n"
      "check_ps_service -0 -d rsyslogd rsyslog: whole\n"
      "check_ps_service -k telnetd: in part: what it does to the process is left out\n"
      "check_ps_daemon slurmd root: whole\n"
      "check_ps_loadavg 130 '' 100: whole\n"
      "check_ps_loadavg $((2*HW_CORES)): whole\n"
      "check_ps_unauth_users log syslog kill: whole\n"
      "check_ps_unauth_users: whole\n"
      "check_ps_physmem -0 20%: whole\n"
      "check_ps_physmem -u bob -k 32G: in part: what it does to the process is left out\n"
      "check_ps_blacklist sshd '!root': whole\n"
      "check_ps_service -f -m '/python3 .*agent/' site-agent: whole\n"
      "check_ps_cpu -0 -u '!root' 99%: whole\n"
      "check_ps_mem 64g: whole\n"
      "check_ps_time -m '*python*' 90m30s: whole\n"
      "check_ps_kswapd 120 5 log: whole\n"
      "check_ps_userproc_lineage log syslog: whole\n"
      "check_ps_unauth_users ignore: whole\n"
      "check_file_test -r -w -x -d -k /tmp /var/tmp: whole\n"
      "check_file_test '-!' -e /etc/nologin: whole\n"
      "check_file_test -t 0: stub: it names no absolute paths\n"
      "check_file_stat -m 0666 -u 0 -g 0 -t 1 -T 3 /dev/null: whole\n"
      "check_file_stat -n 7200 -M 0600 -G adm /var/log/messages: whole\n"
      "check_file_contents /etc/passwd \"/^root:x:0:0:/\" \"sshd:*\": whole\n"
      "TIMEOUT=20: setting\n"
      "export LICENSES=12 SITE=north: setting\n"
      "SPECIAL=1: setting\n"
      "WHERE=$(hostname): setting: only scripts of the site know its value: the shell would have to read it\n"
      "check_cmd_status -t 1 -r 1 selinuxenabled: whole\n"
      "check_cmd_output -m '/is running/'            /usr/sbin/service rpcbind status: whole\n"
      "check_cmd_output -t $TIMEOUT -e \"showlic --site $SITE\" -m \"$LICENSES free\": whole\n"
      "check_cmd_dmesg -m '!/Xid/': whole\n"
      "check_net_ping -c 2 mgmt: whole\n"
      "check_net_socket -n \"web server\" -p tcp -s LISTEN -l '*:80' -d 'httpd': whole\n"
      "/usr/local/sbin/check_lustre --fast: whole\n"
      "check_fs_mount_rw /tmp && check_fs_free /tmp 5%: whole\n"
      "check_ps_loadavg $((HW_CORES*3/2)) \"$HW_THREADS\": whole\n"
      "site_check_licenses 3: stub: it is no check of NHC's own\n"
      "site_check_licenses $SPECIAL: stub: nothing in this file says what $SPECIAL is\n"
      "check_fs_free /tmp 1%; reboot: stub: the shell would have to read it; it acts (reboot): a repair, "
      "which "
      "runs only where repairs are permitted\n"
      "[[ -e /etc/gpu ]] && check_nv_healthmon: stub: it is no check of NHC's own\n"
      "check_moab_sched -t 10 -v 7.2.3: no: it asks another resource manager\n"
      "check_file_contents $PBS_SERVER_HOME/mom_priv/config '/^x$/': no: it asks another resource manager\n"
      "export NHC_RM=pbs: no: it asks another resource manager\n"
      "check_cmd_output -m 'x' type bash: stub: its command is one of the shell\n");
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
  EXPECT_THAT(shown(*made), HasSubstr("check_hw_ib 100 mlx5_0:1: whole"));  // {ib[01-16]} says itself which
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
      {"/(a{1,20}){1,20}/", "its target is an expression that is not taken"},
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
  EXPECT_EQ(when("check_hw_physmem lots"), "nhc_check_failed") << "a stub";
}

// What a check means, to the letter where a verdict turns on it: >= or >, which number, which user.
TEST(ImportNhc, FaultsAreThoseOfNhc) {
  const struct {
    const char* check;
    const char* fault;
    const char* look;  // of the operation: builtin and arguments
  } rows[] = {
      {"check_ps_loadavg 130 '' 100", "load_1 >= 130 OR load_15 >= 100", "load {}"},
      {"check_ps_loadavg $((2*HW_CORES))", "load_1 >= (2 * cpu_cores)", "load {}"},
      {"check_ps_loadavg $(( HW_CORES * 3 / 2 ))", "load_1 >= Math.floor((cpu_cores * 3) / 2)", "load {}"},
      {"check_ps_loadavg $((2*16))", "load_1 >= 32", "load {}"},
      {"check_ps_loadavg $HW_THREADS", "load_1 >= cpu_threads", "load {}"},
      {"check_hw_cpuinfo 2 '' 64", "cpu_sockets != 2 OR cpu_threads != 64", "cpu_info {}"},
      {"check_hw_eth eth1", "NOT net_device_present", R"(net_device {"device":"eth1","module":""})"},
      {"check_hw_gm myri0", "NOT net_device_present OR NOT net_module_loaded",
       R"(net_device {"device":"myri0","module":"gm"})"},
      {"check_hw_ib 56 mlx4_0:1", "NOT ib_user_access OR ib_links_up == 0",
       R"(ib_link {"rate":56.0,"device":"mlx4_0","port":1})"},
      {"check_hw_mcelog", "memory_corrected_day > 9 OR memory_uncorrected_day > 0", "memory_errors {}"},
      {"check_dmi_data_match -t 'Memory Device' '*Speed: 1866 MHz'", "dmi_looked_at == 0 OR dmi_matches == 0",
       R"(dmi {"match":"*Speed: 1866 MHz","type":"Memory Device"})"},
      {"check_dmi_raw_data_match '!' x y", "dmi_looked_at == 0 OR dmi_matches > 0",
       R"(dmi {"match":"x y","raw":true})"},
      {"check_fs_mount -s '/^nas/' -o '/hard/' -f /home", "NOT mounted_as_expected",
       R"(mount_match {"path":"/home","source":"/^nas/","options":"/hard/"})"},
      {"check_fs_mount_rw -t devpts -s '/(none|devpts)/' -f /dev/pts", "NOT mounted_as_expected",
       R"(mount_match {"path":"/dev/pts","source":"/(none|devpts)/","type":"devpts","options":"/(^|,)rw($|,)/"})"},
      {"check_fs_used /var 20G", "filesystem_used >= 21474836480", R"(filesystem {"path":"/var"})"},
      {"check_fs_inodes /tmp 1k 1M", "inodes < 1024 OR inodes > 1048576", R"(filesystem {"path":"/tmp"})"},
      {"check_file_test -r -w /tmp /var/tmp", "NOT file_tests_passed",
       R"(file_test {"tests":"rw","paths":"/tmp\n/var/tmp","negated":false})"},
      {"check_file_stat -m 0666 -u 0 -t 1 -T 3 /dev/null",
       "NOT file_exists OR file_uid != 0 OR file_major != 1 OR file_minor != 3 OR file_permissions != 438",
       R"(file_stat {"path":"/dev/null"})"},
      {"check_file_stat -n 7200 -M 0600 -G adm /x",
       "NOT file_exists OR file_age > 7200 OR (file_permissions & 384) != 384 OR file_group != \"adm\"",
       R"(file_stat {"path":"/x"})"},
      {"check_file_contents /etc/passwd '/^root/' '!toor:*'", "NOT file_as_expected",
       R"(file_contents {"path":"/etc/passwd","expect":"/^root/\n!toor:*"})"},
      {"check_cmd_status -t 1 -r 1 selinuxenabled", "command_timed_out OR command_exit != 1",
       R"(command {"command":"selinuxenabled"})"},
      {"check_cmd_output -m '/ok/' -e 'a  b' ",
       "command_timed_out OR command_exit != 0 OR NOT command_as_expected",
       R"(command {"command":"a\nb","expect":"/ok/"})"},
      {"check_net_ping -c 2 n1 n2", "NOT ping_answered",
       R"(ping {"hosts":"n1\nn2","count":2,"ttl":2,"deadline":1})"},
      {"check_net_socket -p tcp -s LISTEN -l '*:80'", "sockets == 0",
       R"(sockets {"protocol":"tcp","local":"*:80","state":"LISTEN"})"},
      {"check_net_socket '-!' -l '*:23'", "sockets > 0", R"(sockets {"local":"*:23"})"},
      {"check_ps_service -u root sshd", "processes_matched == 0",
       R"(process_match {"match":"*sshd","whole":false,"user":"root"})"},
      {"check_ps_service -k telnetd", "processes_matched > 0",
       R"(process_match {"match":"*telnetd","whole":false})"},
      {"check_ps_daemon slurmd root", "processes_matched == 0",
       R"(process_match {"contains":"slurmd","user":"root"})"},
      {"check_ps_blacklist sshd '!root'", "processes_matched > 0",
       R"(process_match {"contains":"sshd","user":"!root"})"},
      {"check_ps_physmem 20%", "processes_over > 0", R"(process_use {"memory_percent":20,"first_uid":1000})"},
      {"check_ps_mem -A 1g", "processes_over > 0", R"(process_use {"virtual":1073741824,"first_uid":0})"},
      {"check_ps_time 1m30s", "processes_over > 0", R"(process_use {"cpu_seconds":90,"first_uid":1000})"},
      {"check_ps_cpu 99%", "processes_over > 0", R"(process_use {"cpu_percent":99,"first_uid":1000})"},
      {"check_ps_userproc_lineage", "stray_processes > 0",
       R"(stray_processes {"above":"/\\bslurmstepd\\b/","first_uid":1000,"except":"root,nobody"})"},
      {"check_ps_unauth_users -n backup", "foreign_processes > 0",
       R"(processes {"first_uid":1000,"except":"root,nobody,backup"})"},
      {"/opt/site/check -x 'a b'", "command_timed_out OR command_exit != 0",
       R"(command {"command":"/opt/site/check\n-x\na b"})"},
      {"site_check 3", "nhc_check_failed", R"(nhc_check {"line":"site_check 3"})"},
  };
  for (const auto& row : rows) {
    const auto made = import_nhc(std::string("* || ") + row.check, "nhc.conf", {});
    ASSERT_TRUE(made && made->files.size() == 1) << row.check;
    const auto rules = rules_for(*made, "n1");
    EXPECT_EQ(rules->specification.predicates.at(1).when, row.fault) << row.check;
    const OperationSpec& look = look_of(*rules);
    EXPECT_EQ(look.run.substr(8) + " " + look.arguments.dump(), row.look) << row.check;
  }
  const auto made = import_nhc("* || check_ps_kswapd 100 5", "nhc.conf", {});
  EXPECT_EQ(rules_for(*made, "n1")->specification.predicates.at(1).when,
            "kswapd_threads > 1 AND (kswapd_highest > 100 OR (kswapd_lowest == 0 AND kswapd_highest > "
            "Math.floor(100 / 2)) "
            "OR (kswapd_lowest != 0 AND kswapd_highest >= kswapd_lowest * (5 + 1)))");
}

TEST(ImportNhc, SettingsHoldBehindThem) {
  const auto take = [](const std::string& text) { return import_nhc(text, "nhc.conf", {}).value(); };
  const auto operation = [](const NhcImport& made, std::size_t at) {
    return look_of(*rules_for(made, "n1"), at);
  };
  const auto actions = [](const NhcImport& made) {
    std::string names;
    const auto rules = rules_for(made, "n1");
    for (const OperationSpec& o : rules->specification.operations)
      if (o.name == "tell" || o.name == "take_out") names += o.name + " ";
    return names;
  };
  EXPECT_EQ(actions(take("* || check_hw_eth a\n* || MARK_OFFLINE=0\n* || check_hw_eth b\n")),
            "take_out tell ");
  EXPECT_EQ(actions(take("* || MARK_OFFLINE=0\n* || check_hw_eth b\n")), "tell ");
  // A time limit of its own, else 5 s; NHC's bounds both.
  EXPECT_EQ(operation(take("* || check_cmd_status -t 9 -r 0 a"), 0).timeout, std::chrono::seconds(9));
  EXPECT_EQ(operation(take("* || TIMEOUT=7\n* || check_cmd_status -t 9 -r 0 a"), 0).timeout,
            std::chrono::seconds(7));
  EXPECT_EQ(operation(take("* || export TIMEOUT=7\n* || site_check"), 0).timeout, std::chrono::seconds(7));
  EXPECT_EQ(
      operation(take("* || export A='x y' B=2\n* || C=3\n* || check_cmd_status -r 0 a \"$A\" $A ${C}"), 0)
          .arguments.dump(),
      R"({"command":"a\nx y\nx\ny\n3","environment":"A=x y\nB=2\n"})");
  EXPECT_EQ(operation(take("* || export PATH=\"/opt/x/bin:$PATH\"\n* || check_cmd_status -r 0 a"), 0)
                .arguments["environment"]
                .as_string(),
            "PATH=/opt/x/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
  EXPECT_EQ(
      operation(take("* || MAX_SYS_UID=499\n* || NHC_AUTH_USERS='root backup'\n* || check_ps_unauth_users"),
                0)
          .arguments.dump(),
      R"({"first_uid":500,"except":"root,backup"})");
  // Set for some nodes only: nobody knows it for all, and the stub of a line for all is not told.
  const NhcImport some = take("n1 || A=5\n* || check_ps_loadavg $A\nn1 || check_ps_loadavg $A\n");
  EXPECT_EQ(shown(some),
            "A=5: setting\n"
            "check_ps_loadavg $A: stub: nothing in this file says what $A is\n"
            "check_ps_loadavg $A: whole\n");
  EXPECT_EQ(operation(take("* || A=$(hostname)\n* || site_check $A"), 0).arguments.dump(),
            R"({"line":"site_check $A","settings":"A=$(hostname)\n"})");
}

TEST(ImportNhc, ForOneNodeItsLinesAlone) {
  const auto made = import_nhc_here(
      "n1* || A=1\nn2 || A=2\n*.site || check_ps_loadavg $A\n{n[1-3]} || check_hw_eth a\n!n1 || check_hw_eth "
      "b\n"
      "n2 || site_check\n",
      "nhc.conf", {"n1", "n1.site"});
  ASSERT_TRUE(made);
  EXPECT_EQ(shown(*made),
            "A=1: setting\n"
            "A=2: elsewhere: its target does not mean this node\n"
            "check_ps_loadavg $A: whole\n"
            "check_hw_eth a: whole\n"
            "check_hw_eth b: elsewhere: its target does not mean this node\n"
            "site_check: elsewhere: its target does not mean this node\n");
  ASSERT_EQ(made->files.size(), 1u);
  EXPECT_EQ(rules_for(*made, "whatever")->specification.predicates.at(1).when, "load_1 >= 1");
  EXPECT_EQ(summary_of(made->lines), "6 of 6 lines taken: 2 whole, 1 settings, 3 for other nodes");
}

TEST(NhcWords, AreThoseOfAShell) {
  const NhcVariables variables = {{"A", "one two"}, {"N", "12"}, {"EMPTY", ""}};
  const struct {
    const char* check;
    const char* words;
  } rows[] = {
      {"a b  c", "a|b|c"},
      {"a 'b c' \"d e\" f\\ g", "a|b c|d e|f g"},
      {"a $A \"$A\" '$A' ${A}x", "a|one|two|one two|$A|one|twox"},
      {"a $EMPTY \"$EMPTY\" b", "a||b"},
      {"a '' b # c", "a||b"},
      {"a b#c '/^\\$x/' \"/^\\$x/\" x$", "a|b#c|/^\\$x/|/^$x/|x$"},
      {"a && b c", "a&b|c"},
      {"a $((N * 2)) $(( (N+1)%5 )) $((N-13))", "the shell would have to reckon it"},
      {"a $((N * 2)) $(( (N+1)%5 )) x$((N/5))", "a|24|3|x2"},
      {"a $((010))", "a|8"},
      {"a $((HW_CORES + $N))", "a|$((({cpu_cores} + 12)))"},
      {"a x$((HW_CORES))", "a count of processors is a part of a word"},
      {"a $(b)", "the shell would have to read it"},
      {"a `b`", "the shell would have to read it"},
      {"a | b", "the shell would have to read it"},
      {"a; b", "the shell would have to read it"},
      {"a \"`b`\"", "the shell would have to read it"},
      {"a > b", "the shell would have to read it"},
      {"a ${A:-x}", "the shell would have to read it"},
      {"a $NOBODY", "nothing in this file says what $NOBODY is"},
      {"a &&", "&& joins no two commands"},
      {"a 'b", "open"},
      {"a \"b", "open"},
  };
  for (const auto& row : rows) {
    const NhcWords words = split_nhc_check(row.check, variables);
    std::string text = words.open_quote ? "open" : words.shell;
    if (text.empty())
      for (std::size_t i = 0; i < words.commands.size(); ++i) {
        if (i > 0) text += "&";
        for (std::size_t k = 0; k < words.commands[i].size(); ++k)
          text += (k > 0 ? "|" : "") + words.commands[i][k];
      }
    EXPECT_EQ(text, row.words) << row.check;
  }
}

// A backslash must stand twice in nhc.conf to reach the check once.
TEST(ImportNhc, LinesAreReadAsTheShellsReadDoes) {
  const auto lines = parse_nhc_conf("* || a 'x\\\\.y' \\\\$z \\\n b\\.c\n* || d \\", "nhc.conf");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(0).check, "a 'x\\.y' \\$z  b.c");
  EXPECT_EQ(lines->at(1).check, "d");
  EXPECT_EQ(lines->at(1).line, 3);
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
// Found by fuzz/growth.cc: the description of a rule is its line, and one of over 1024 characters was refused
// by our own reader.
TEST(ImportNhc, ALineOfAnyLengthGivesASpecificationThatIsRead) {
  for (const char* line : {"* || check_fs_mount_rw -f /{}", "* || check_ps_service -S {}",
                           "* || check_cmd_status -r 0 {}", "* || check_file_test -e /{}", "* || {} && true"})
    for (const std::size_t length : {100, 1020, 5000})
      for (const char* letter : {"a", "ü"}) {
        std::string word;
        while (word.size() < length) word += letter;
        const auto made = import_nhc(fmt::format(fmt::runtime(line), word) + "\n", "nhc.conf", cluster());
        if (!made || made->files.empty()) continue;
        const auto read = read_specifications(made->files, {"n01", {}});
        EXPECT_TRUE(read) << line << " " << length << " " << letter << ": "
                          << read.error().what.substr(0, 300);
      }
}

}  // namespace sickbay::diagnose
