// SPDX-License-Identifier: Apache-2.0
// Built-in operations on recorded machines: what each finds, and why it finds nothing where it does not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <sys/stat.h>

#include <cmath>
#include <map>
#include <thread>

#include "adapters/node/node_test_parts.h"
#include "model/builtin_operations.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

using Ended = OperationEnd::Result;

struct Row {
  const char* tree;
  const char* operation;
  const char* arguments;  // JSON; inputs are not needed, since an argument may be given for each
  Ended result;
  const char* outputs;  // JSON
  const char* text;
};

const Row kRows[] = {
    {"vm", "hardware", "{}", Ended::ok,
     R"({"has_ecc":false,"has_machine_checks":true,"has_sensors":false,"has_disks":true,"has_smart":false,"has_infiniband":false,"has_gpu":false,"has_management_controller":false,"has_default_route":true,"has_controller":false,"has_kernel_log":false})",
     ""},
    {"server", "hardware", "{}", Ended::ok,
     R"({"has_ecc":true,"has_machine_checks":true,"has_sensors":true,"has_disks":true,"has_smart":true,"has_infiniband":true,"has_gpu":true,"has_management_controller":true,"has_default_route":false,"has_controller":true,"has_kernel_log":false})",
     ""},
    {"vm", "parts", "{}", Ended::ok,
     R"({"parts_missing":0,"parts_missing_list":"","parts_processors":2,"parts_memory":null,"parts_memory_modules":null,"parts_disks":1,"parts_gpus":0,"parts_infiniband":0})",
     ""},
    // What is not there is an answer, and not unknown; without SMBIOS the kernel's memory may be a tenth
    // less.
    {"vm", "parts",
     R"({"gpus": 2, "infiniband": 1, "infiniband_devices": "mlx5_0", "network_devices": "eth0, eth7", "disks": 1, "processors": 4, "memory": 27000000000, "memory_modules": 3})",
     Ended::ok,
     R"({"parts_missing":7,"parts_missing_list":"2 of 4 processors, 2 of 2 GPUs, 1 of 1 InfiniBand adapters, InfiniBand adapter mlx5_0, network device eth7","parts_processors":2,"parts_memory":null,"parts_memory_modules":null,"parts_disks":1,"parts_gpus":0,"parts_infiniband":0})",
     ""},
    {"vm", "parts", R"({"memory": 34359738368})", Ended::ok,
     R"x({"parts_missing":1,"parts_missing_list":"memory (23 GiB of 32 GiB)","parts_processors":2,"parts_memory":null,"parts_memory_modules":null,"parts_disks":1,"parts_gpus":0,"parts_infiniband":0})x",
     ""},
    {"server", "parts",
     R"({"memory": 274877906944, "memory_modules": 3, "infiniband": 2, "infiniband_devices": "mlx5_0,mlx5_1", "gpus": 2, "disks": 2, "processors": 127})",
     Ended::ok,
     R"({"parts_missing":0,"parts_missing_list":"","parts_processors":127,"parts_memory":274877906944,"parts_memory_modules":3,"parts_disks":2,"parts_gpus":2,"parts_infiniband":2})",
     ""},
    {"server", "parts", R"({"memory": 300647710720, "memory_modules": 8, "disks": 3})", Ended::ok,
     R"x({"parts_missing":7,"parts_missing_list":"5 of 8 memory modules, memory (256 GiB of 280 GiB), 1 of 3 disks","parts_processors":127,"parts_memory":274877906944,"parts_memory_modules":3,"parts_disks":2,"parts_gpus":2,"parts_infiniband":2})x",
     ""},
    {"vm", "memory", "{}", Ended::ok,
     R"({"memory_total":25276502016,"memory_available":22945603584,"memory_available_percent":91,"memory_expected":null,"memory_missing_percent":null})",
     ""},
    {"vm", "memory", R"({"expected": 34359738368})", Ended::ok,
     R"({"memory_total":25276502016,"memory_available":22945603584,"memory_available_percent":91,"memory_expected":34359738368,"memory_missing_percent":26})",
     ""},
    {"server", "memory", "{}", Ended::ok,
     R"({"memory_total":270174781440,"memory_available":6754369536,"memory_available_percent":3,"memory_expected":274877906944,"memory_missing_percent":2})",
     ""},
    {"old", "memory", "{}", Ended::ok,
     R"({"memory_total":16777216000,"memory_available":null,"memory_available_percent":null,"memory_expected":null,"memory_missing_percent":null})",
     ""},
    {"garbage", "memory", "{}", Ended::unknown, "{}", "/proc/meminfo has no MemTotal"},
    {"vm", "swap", "{}", Ended::ok, R"({"swap_total":0,"swap_used":0,"swap_used_percent":0})", ""},
    {"server", "swap", "{}", Ended::ok,
     R"({"swap_total":8589930496,"swap_used":6442447872,"swap_used_percent":75})", ""},
    {"garbage", "swap", "{}", Ended::unknown, "{}", "/proc/meminfo has no SwapTotal and SwapFree"},
    {"vm", "cpus", "{}", Ended::ok,
     R"({"cpus_present":2,"cpus_online":2,"cpus_offline":0,"cpu_frequency_percent":null,"cpu_throttles":null,"cpu_throttled_percent":null})",
     ""},
    {"server", "cpus", "{}", Ended::ok,
     R"({"cpus_present":128,"cpus_online":127,"cpus_offline":1,"cpu_frequency_percent":34,"cpu_throttles":null,"cpu_throttled_percent":null})",
     ""},
    {"garbage", "cpus", "{}", Ended::unknown, "{}", "cannot read /sys/devices/system/cpu/present and online"},
    {"vm", "load", "{}", Ended::ok,
     R"({"load_1":1.5,"load_5":9.95,"load_15":8.5,"load_per_cpu":0.75,"uptime":14492})", ""},
    {"garbage", "load", "{}", Ended::unknown, "{}", "/proc/loadavg holds no three numbers"},
    {"vm", "machine_checks", "{}", Ended::ok, R"({"machine_checks":0})", ""},
    {"server", "machine_checks", "{}", Ended::ok, R"({"machine_checks":3})", ""},
    {"old", "machine_checks", "{}", Ended::unknown, "{}",
     "cannot read /proc/interrupts: No such file or directory"},
    {"vm", "temperature", "{}", Ended::unknown, "{}",
     "/sys/class/hwmon has no temperature: no sensor driver is loaded"},
    {"server", "temperature", "{}", Ended::ok,
     R"({"temperature_highest":97.5,"temperature_place":"coretemp Package id 1","temperature_margin":2.5,"fans":2,"fans_stopped":1})",
     ""},
    {"garbage", "temperature", "{}", Ended::unknown, "{}",
     "/sys/class/hwmon has no temperature: no sensor driver is loaded"},
    {"server", "edac", "{}", Ended::ok,
     R"({"memory_corrected_errors":15,"memory_uncorrected_errors":1,"memory_corrected_new":null})", ""},
    {"garbage", "edac", "{}", Ended::unknown, "{}",
     "/sys/devices/system/edac/mc has no memory controller: no ECC, or no driver for it"},
    {"server", "dimm", "{}", Ended::ok,
     R"({"dimm_label":"CPU1_DIMM_C2","dimm_place":"mc1 channel 2 slot 1","dimm_errors":4})", ""},
    {"vm", "disks", "{}", Ended::ok, R"({"disks":1,"disks_dead":0,"disk_dead":"","disk_errors_new":null})",
     ""},
    {"server", "disks", "{}", Ended::ok,
     R"({"disks":2,"disks_dead":1,"disk_dead":"sda","disk_errors_new":null})", ""},
    {"old", "disks", "{}", Ended::unknown, "{}", "/sys/block has no disk"},
    {"server", "disk_place", R"({"disk_dead": "sda"})", Ended::ok,
     R"({"disk_place":"pci-0000:18:00.0-sas-phy7-lun-0","disk_slot":"Slot 07","disk_model":"OLD DISK","disk_serial":null})",
     ""},
    {"vm", "disk_place", R"({"disk_failing": "vda"})", Ended::ok,
     R"({"disk_place":"../devices/pci0000:00/0000:00:02.0/virtio1/block/vda","disk_slot":null,"disk_model":null,"disk_serial":null})",
     ""},
    {"server", "disk_place", R"({"disk_dead": "../sda"})", Ended::unknown, "{}",
     "no disk is named: disk_dead and disk_failing are empty"},
    {"server", "disk_smart", "{}", Ended::ok,
     R"({"disks_failing":1,"disk_failing":"sda","disk_wear_percent":100,"disk_reallocated":88})", ""},
    {"server", "disk_smart", R"({"device": "nvme0n1"})", Ended::ok,
     R"({"disks_failing":0,"disk_failing":"","disk_wear_percent":100,"disk_reallocated":0})", ""},
    {"vm", "disk_smart", "{}", Ended::unknown, "{}", "cannot run 'smartctl': No such file or directory"},
    {"server", "gpu", "{}", Ended::ok,
     R"({"gpus_present":2,"gpus_lost":1,"gpu_uncorrected_errors":2,"gpus_throttled":1,"gpu_temperature_highest":83.0})",
     "nvidia-smi ended with exit code 15"},
    {"vm", "gpu", "{}", Ended::unknown, "{}", "the PCI bus has no NVIDIA display or 3D controller"},
    {"server", "power_supplies", "{}", Ended::ok, R"({"power_supplies":2,"power_supplies_failed":1})", ""},
    {"server", "ups", "{}", Ended::ok, R"({"ups_on_battery":true,"ups_charge_percent":63,"ups_runtime":540})",
     ""},
    {"server", "ups", R"({"ups": "-l"})", Ended::unknown, "{}", "'-l' is no name of a UPS"},
    {"server", "mount", R"({"path": "/home"})", Ended::ok,
     R"({"mount_present":true,"mount_read_only":false,"mount_type":"nfs4"})", ""},
    {"server", "mount", R"({"path": "/scratch/"})", Ended::ok,
     R"({"mount_present":true,"mount_read_only":true,"mount_type":"ext4"})", ""},
    {"vm", "mount", R"({"path": "/mnt/with blank"})", Ended::ok,
     R"({"mount_present":true,"mount_read_only":false,"mount_type":"tmpfs"})", ""},
    {"vm", "mount", R"({"path": "/home"})", Ended::ok,
     R"({"mount_present":false,"mount_read_only":null,"mount_type":null})", ""},
    {"vm", "mount", R"({"path": "home"})", Ended::unknown, "{}", "'home' is no absolute path"},
    {"garbage", "mount", R"({"path": "/home"})", Ended::unknown, "{}", "/proc/self/mountinfo lists no mount"},
    {"vm", "read_only_mounts", "{}", Ended::ok,
     R"({"read_only_mounts":0,"read_only_places":"","root_read_only":false})", ""},
    {"server", "read_only_mounts", "{}", Ended::ok,
     R"({"read_only_mounts":1,"read_only_places":"/scratch","root_read_only":false})", ""},
    {"old", "read_only_mounts", "{}", Ended::ok,
     R"({"read_only_mounts":1,"read_only_places":"/","root_read_only":true})", ""},
    {"server", "remount", R"({"path": "/scratch"})", Ended::fault, R"({"mount_done":false})",
     "mount ended with exit code 32: 'mount: -o remount /scratch'"},
    {"server", "remount", R"({"path": "/data"})", Ended::unknown, "{}",
     "/etc/fstab has no line for '/data': nothing says how to mount it"},
    {"vm", "nic", "{}", Ended::ok,
     R"({"nic_up":true,"nic_speed":null,"nic_full_duplex":null,"nic_errors_new":null,"nic_link_changes_new":null})",
     "eth0"},
    {"old", "nic", "{}", Ended::ok,
     R"({"nic_up":false,"nic_speed":null,"nic_full_duplex":null,"nic_errors_new":null,"nic_link_changes_new":null})",
     "em2"},
    {"server", "nic", R"({"device": "bond0"})", Ended::ok,
     R"({"nic_up":true,"nic_speed":25000,"nic_full_duplex":true,"nic_errors_new":null,"nic_link_changes_new":null})",
     "bond0"},
    {"server", "nic", R"({"device": "../../../proc"})", Ended::unknown, "{}",
     "/sys/class/net has no device '../../../proc'"},
    {"garbage", "nic", "{}", Ended::unknown, "{}",
     "/proc/net/route has no default route: give the argument `device`"},
    {"vm", "tcp", "{}", Ended::ok,
     R"({"tcp_sent":null,"tcp_retransmitted_percent":null,"tcp_lost_percent":null})", ""},
    {"garbage", "tcp", "{}", Ended::unknown, "{}", "/proc/net/snmp has no OutSegs and RetransSegs of Tcp"},
    {"server", "infiniband", "{}", Ended::ok,
     R"({"ib_ports":2,"ib_ports_active":1,"ib_rate_lowest":100.0,"ib_errors_new":null})", ""},
    {"vm", "infiniband", "{}", Ended::unknown, "{}", "/sys/class/infiniband has no adapter"},
    {"server", "infiniband", R"({"device": "mlx5_7"})", Ended::unknown, "{}",
     "/sys/class/infiniband has no adapter 'mlx5_7'"},
    {"vm", "clock", "{}", Ended::ok, R"({"clock_synchronised":null,"clock_offset":null})",
     "neither a server nor a folder is given: the offset is unknown"},
    {"vm", "reach", "{}", Ended::unknown, "{}",
     "there is no /etc/slurm/slurm.conf, /run/slurm/conf/slurm.conf, /etc/slurm-llnl/slurm.conf: give the "
     "argument "
     "`host`"},
    {"vm", "reach", R"({"host": "127.0.0.1", "port": 70000})", Ended::unknown, "{}", "70000 is no TCP port"},
    {"vm", "memory_hogs", "{}", Ended::ok,
     R"({"memory_hogs":1,"memory_hog_size":16384000000,"memory_hog_name":"a (b) c"})", ""},
    {"vm", "memory_hogs", R"({"percent": 90, "size": 3000000})", Ended::ok,
     R"({"memory_hogs":3,"memory_hog_size":16384000000,"memory_hog_name":"a (b) c"})", ""},
    {"garbage", "memory_hogs", "{}", Ended::unknown, "{}", "/proc/meminfo has no MemTotal"},
    {"vm", "memory_process", "{}", Ended::ok,
     R"({"process_pid":501,"process_started":9100,"process_name":"a (b) c","process_user":"alice","process_job":null,"process_memory":16384000000})",
     ""},
    {"server", "memory_process", "{}", Ended::ok,
     R"({"process_pid":901,"process_started":5100,"process_name":"lmp","process_user":"alice","process_job":17,"process_memory":204800000000})",
     ""},
    {"garbage", "memory_process", "{}", Ended::unknown, "{}", "/proc lists no process"},
    {"vm", "zombies", "{}", Ended::ok, R"({"zombies":0,"zombie_parent":null,"zombie_parent_name":null})", ""},
    {"server", "zombies", "{}", Ended::ok,
     R"({"zombies":1,"zombie_parent":951,"zombie_parent_name":"launcher"})", ""},
    {"vm", "processes", "{}", Ended::ok, R"({"processes":4,"foreign_processes":2,"foreign_users":"alice"})",
     ""},
    {"vm", "processes", R"({"except": "nobody, alice"})", Ended::ok,
     R"({"processes":4,"foreign_processes":0,"foreign_users":""})", ""},
    {"server", "processes", "{}", Ended::ok, R"({"processes":7,"foreign_processes":2,"foreign_users":"bob"})",
     ""},
    {"server", "processes", R"({"except": "60002"})", Ended::ok,
     R"({"processes":7,"foreign_processes":0,"foreign_users":""})", ""},
    {"old", "processes", "{}", Ended::unknown, "{}",
     "job 99 has no process of its user yet: nobody can say whose processes may go"},
    {"vm", "jobs", "{}", Ended::ok,
     R"({"jobs":0,"job_largest":null,"job_user":null,"job_state":null,"job_nice":null,"job_cpu_time":null,"job_memory":null,"job_read":null,"job_written":null})",
     ""},
    {"server", "jobs", "{}", Ended::ok,
     R"({"jobs":1,"job_largest":17,"job_user":"alice","job_state":"R","job_nice":0,"job_cpu_time":36.0,"job_memory":204804096000,"job_read":4097,"job_written":8194})",
     ""},
    // (What went over the connections the kernel tells of this machine's alone.)
    {"server", "job_network", R"({"job_largest": 17})", Ended::ok,
     R"({"job_connections":1,"job_sent":null,"job_received":null})", ""},
    {"server", "job_network", R"({"job_largest": 18})", Ended::unknown, "{}", "job 18 has no process here"},
    {"server", "job_slurm", R"({"job_largest": 17})", Ended::ok,
     R"({"job_priority":4294901759,"job_slurm_state":"RUNNING","job_partition":"main","job_qos":"normal"})",
     ""},
    {"server", "job_slurm", R"({"job_largest": 18})", Ended::unknown, "{}",
     "squeue ended with exit code 1: 'slurm_load_jobs error: Invalid job id specified'"},
    {"server", "job_slurm", R"({"job_largest": 16})", Ended::unknown, "{}", "Slurm knows no job 16"},
    {"server", "slurm_ping", "{}", Ended::ok, R"({"slurmctld_up":true,"slurmctld_down":"ctl"})", ""},
    {"server", "job_gone", R"({"process_job": 17})", Ended::ok, R"({"job_gone":false})", ""},
    {"server", "job_gone", R"({"process_job": 18})", Ended::ok, R"({"job_gone":true})", ""},
    {"server", "process_gone", R"({"process_pid": 901, "process_started": 5100})", Ended::ok,
     R"({"process_gone":false})", ""},
    {"server", "process_gone", R"({"process_pid": 901, "process_started": 5099})", Ended::ok,
     R"({"process_gone":true})", ""},
    {"server", "process_gone", R"({"process_pid": 950, "process_started": 6000})", Ended::ok,
     R"({"process_gone":true})", ""},
    {"server", "process_gone", R"({"process_pid": 5, "process_started": 1})", Ended::ok,
     R"({"process_gone":true})", ""},
    {"server", "process_gone", R"({"process_pid": 952, "process_started": 1})", Ended::unknown, "{}",
     "/proc/952/stat cannot be understood"},
    {"server", "service", R"({"name": "slurmd"})", Ended::ok, R"({"service_up":true,"service_pid":800})", ""},
    {"server", "service", R"({"name": "gpfs"})", Ended::ok, R"({"service_up":true,"service_pid":null})", ""},
    {"server", "service", R"({"name": "munge", "program": "munged"})", Ended::ok,
     R"({"service_up":false,"service_pid":null})", ""},
    {"vm", "service", R"({"name": "munge", "program": "munged"})", Ended::ok,
     R"({"service_up":true,"service_pid":400})", ""},
    // Dead, though its pid file and its zombie are there.
    {"old", "service", R"({"name": "munge", "program": "munged"})", Ended::ok,
     R"({"service_up":false,"service_pid":null})", ""},
    {"old", "service", R"({"name": "mariadb", "program": "mariadbd"})", Ended::ok,
     R"({"service_up":true,"service_pid":301})", ""},
    {"vm", "service", R"({"name": "../x"})", Ended::unknown, "{}", "'../x' is no name of a service"},
    {"server", "restart_service", R"({"name": "munge"})", Ended::ok, R"({"service_restarted":true})",
     "restarted munge"},
    {"server", "restart_service", R"({"name": "other"})", Ended::fault, R"({"service_restarted":false})",
     "systemctl ended with exit code 1: 'restart other.service'"},
    {"old", "restart_service", R"({"name": "munge"})", Ended::ok, R"({"service_restarted":true})",
     "restarted munge"},
    {"vm", "restart_service", R"({"name": "munge"})", Ended::unknown, "{}",
     "neither systemd runs here nor is there /etc/init.d/munge"},
    {"server", "cancel_job", R"({"process_job": 17, "enabled": true})", Ended::ok,
     R"({"job_cancelled":true})", "cancelled job 17"},
    {"server", "cancel_job", R"({"process_job": 17})", Ended::unknown, "{}",
     "it is off: the argument `enabled` is not true"},
    {"server", "kill_process", R"({"process_pid": 901, "process_started": 5100})", Ended::unknown, "{}",
     "it is off: the argument `enabled` is not true"},
    {"server", "kill_leftovers", "{}", Ended::unknown, "{}",
     "the root is not that of this machine: its processes are not here"},
    {"vm", "memory", R"({"expcted": 1})", Ended::unknown, "{}", "builtin:memory has no argument 'expcted'"},
    {"vm", "drain", "{}", Ended::unknown, "{}", "builtin:drain is done by sickbayd"},
};

TEST(NodeOperations, FindWhatIsThere) {
  std::map<std::string, std::unique_ptr<TestFolder>> trees;
  for (const Row& row : kRows) {
    auto& tree = trees[row.tree];
    if (!tree) {
      tree = std::make_unique<TestFolder>();
      unpack(row.tree, *tree);
    }
    Machine machine(tree->path());
    const OperationEnd end = machine.run(row.operation, Json::parse(row.arguments).value());
    const std::string what = std::string(row.tree) + ": " + row.operation + " " + row.arguments;
    EXPECT_EQ(end.result, row.result) << what << ": " << end.text;
    EXPECT_EQ(end.outputs.dump(), row.outputs) << what;
    EXPECT_EQ(end.text, row.text) << what;
  }
}

// Whatever an operation gives, the table says of what type it is; and every built-in one can be run.
TEST(NodeOperations, GiveWhatTheTableSays) {
  for (const char* name : {"vm", "server", "old", "garbage"}) {
    TestFolder tree;
    unpack(name, tree);
    Machine machine(tree.path());
    for (const BuiltinOperation& o : builtin_operations()) {
      if (o.place == BuiltinPlace::agent || o.place == BuiltinPlace::program) continue;
      Json arguments = Json::object();
      for (const BuiltinArgument& a : o.arguments)
        if (a.standard.empty())
          arguments.set(std::string(a.name), a.type == ValueType::string ? Json("/tmp") : Json(17));
      for (int i = 0; i < 2; ++i) {  // the second has counts since the last call
        const OperationEnd end = machine.run(std::string(o.name), arguments);
        EXPECT_EQ(end.text.find("is done by"), std::string::npos) << end.text;
        if (end.result == Ended::unknown) {
          EXPECT_FALSE(end.text.empty()) << o.name;
          EXPECT_EQ(end.outputs.size(), 0U) << o.name;
          continue;
        }
        ASSERT_EQ(end.outputs.size(), o.outputs.size()) << o.name;
        for (const BuiltinOutput& out : o.outputs) {
          ASSERT_TRUE(end.outputs.has(out.name)) << o.name << " " << out.name;
          const Json& value = end.outputs[out.name];
          if (!value.is_null()) {
            const auto typed = value_from_json(value, out.type);
            EXPECT_TRUE(typed) << o.name << " " << out.name << " " << (typed ? "" : typed.error().what);
          }
        }
      }
    }
  }
}

TEST(NodeOperations, CountsSinceTheLastCall) {
  TestFolder tree;
  unpack("server", tree);
  unpack("old", tree);  // for its quota; other files of it take the place of the server's
  Machine machine(tree.path());
  for (const char* name : {"edac", "tcp", "disks", "infiniband", "cpus"}) machine.run(name);
  machine.run("nic", Json::object({{"device", "bond0"}}));
  tree.write("/sys/devices/system/edac/mc/mc0/ce_count", "20\n");
  tree.write("/proc/net/snmp", "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 1010000 50500\n");
  tree.write("/sys/block/sda/device/ioerr_cnt", "0x1c\n");
  tree.write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "9\n");
  tree.write("/sys/class/net/bond0/statistics/rx_errors", "20\n");
  tree.write("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "6\n");
  tree.write("/sys/fs/cgroup/cpu/nodes/n3/cpu.stat", "throttled_time 9000000000000\n");
  EXPECT_EQ(machine.run("edac").outputs["memory_corrected_new"], Json(8));
  const Json tcp = machine.run("tcp").outputs;
  // (A kernel without TcpExt does not tell what was sent again for nothing.)
  EXPECT_EQ(tcp.dump(), R"({"tcp_sent":10000,"tcp_retransmitted_percent":5.0,"tcp_lost_percent":null})");
  EXPECT_EQ(machine.run("disks").outputs["disk_errors_new"], Json(2));
  EXPECT_EQ(machine.run("infiniband").outputs["ib_errors_new"], Json(2));
  EXPECT_EQ(machine.run("nic", Json::object({{"device", "bond0"}})).outputs["nic_errors_new"], Json(3));
  const Json cpus = machine.run("cpus").outputs;
  EXPECT_EQ(cpus["cpu_throttles"], Json(1));
  EXPECT_EQ(cpus["cpu_throttled_percent"], Json(100));  // more than there was time for is all of it
  // A counter that fell began anew: nothing can be said, and then it counts on.
  tree.write("/sys/devices/system/edac/mc/mc0/ce_count", "1\n");
  EXPECT_TRUE(machine.run("edac").outputs["memory_corrected_new"].is_null());
  EXPECT_EQ(machine.run("edac").outputs["memory_corrected_new"], Json(0));
}

TEST(NodeOperations, WhatTcpLostIsNotWhatItSentAgain) {
  struct Look {
    std::string_view why;
    int sent, again, needless, opening;  // since the last look
    std::string_view lost;
  };
  constexpr Look kLooks[] = {
      {"the first look has no count", 0, 0, 0, 0, "null"},
      {"the first share has none before it", 10000, 500, 0, 0, "null"},
      {"as much again", 10000, 500, 0, 0, "5.0"},
      {"more: the look before still had less", 10000, 1000, 0, 0, "5.0"},
      {"a busy host: all had arrived the first time", 10000, 300, 300, 0, "0.0"},
      {"one burst of 450", 10000, 450, 0, 0, "0.0"},
      {"and quiet again", 10000, 0, 0, 0, "0.0"},
      {"a peer that is away is asked again and again", 1000, 100, 0, 100, "0.0"},
      {"still", 1000, 100, 0, 100, "0.0"},
      {"a network that doubles packets", 1000, 100, 5000, 0, "0.0"},
      {"nothing was sent", 0, 0, 0, 0, "null"},
      {"the look before has no share", 1000, 100, 0, 0, "null"},
  };
  TestFolder tree;
  Machine machine(tree.path());
  Look sum{};
  for (const Look& look : kLooks) {
    sum = {"",
           sum.sent + look.sent,
           sum.again + look.again,
           sum.needless + look.needless,
           sum.opening + look.opening,
           ""};
    tree.write("/proc/net/snmp", fmt::format("Tcp: OutSegs RetransSegs\nTcp: {} {}\n", sum.sent, sum.again));
    tree.write("/proc/net/netstat",
               fmt::format("TcpExt: TCPDSACKRecv TCPSynRetrans\nTcpExt: {} {}\n", sum.needless, sum.opening));
    EXPECT_EQ(machine.run("tcp").outputs["tcp_lost_percent"].dump(), look.lost) << look.why;
  }
}

TEST(NodeOperations, FilesThatVanishOrBlockAreUnknown) {
  TestFolder tree;
  Machine machine(tree.path());
  for (const char* name :
       {"memory", "swap", "cpus", "load", "machine_checks", "read_only_mounts", "tcp", "zombies"}) {
    const OperationEnd end = machine.run(name);
    EXPECT_EQ(end.result, Ended::unknown) << name;
    EXPECT_FALSE(end.text.empty()) << name;
  }
  std::filesystem::create_directory(tree.path() + "/proc");
  ASSERT_EQ(::mkfifo((tree.path() + "/proc/meminfo").c_str(), 0600), 0);  // nobody ever writes to it
  EXPECT_EQ(machine.run("memory").text, "/proc/meminfo has no MemTotal");
  std::filesystem::create_directory(tree.path() + "/proc/loadavg");
  EXPECT_EQ(machine.run("load").text, "cannot read /proc/loadavg: Is a directory");
}

TEST(NodeOperations, ClockByAFolder) {
  // The kernel stamps the file with the clock that we read.
  TestFolder folder;
  Machine machine("/");
  const OperationEnd end = machine.run("clock", Json::object({{"folder", folder.path()}}));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_LT(std::abs(end.outputs["clock_offset"].as_double(99)), 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(machine.run("clock", Json::object({{"folder", folder.path() + "/none"}})).text,
            "cannot write a file in '" + folder.path() + "/none': No such file or directory");
}

TEST(NodeOperations, ClockByATimeServer) {
  // A server whose clock is 100 s ahead, and which first sends what nobody asked for.
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  std::thread server([fd] {
    char request[48];
    sockaddr_in client{};
    socklen_t length = sizeof client;
    if (::recvfrom(fd, request, sizeof request, 0, reinterpret_cast<sockaddr*>(&client), &length) != 48)
      return;
    std::string answer(48, '\0');
    answer[0] = 0x24;
    answer[1] = 1;
    const auto when = static_cast<std::uint32_t>(::time(nullptr) + 2208988800LL + 100);
    for (int i = 0; i < 4; ++i)
      answer[static_cast<std::size_t>(40 + i)] = static_cast<char>(when >> (24 - 8 * i));
    const auto send = [&] {
      ::sendto(fd, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&client), length);
    };
    send();  // forged: it does not hold what was asked
    answer.replace(24, 8, std::string(request + 40, 8));
    send();
  });
  Machine machine("/");
  const OperationEnd end =
      machine.run("clock", Json::object({{"server", "127.0.0.1"}, {"port", ntohs(address.sin_port)}}));
  server.join();
  ::close(fd);
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_NEAR(end.outputs["clock_offset"].as_double(), -100, 5);
}

TEST(NodeOperations, ReachesWhoListens) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const Json arguments = Json::object({{"host", "127.0.0.1"}, {"port", ntohs(address.sin_port)}});
  Machine machine("/");
  const OperationEnd refused = machine.run("reach", arguments);
  EXPECT_EQ(refused.result, Ended::ok);
  EXPECT_EQ(refused.outputs.dump(), R"({"reachable":false,"reach_time":null})");
  EXPECT_NE(refused.text.find("Connection refused"), std::string::npos) << refused.text;
  ASSERT_EQ(::listen(fd, 1), 0);
  const OperationEnd there = machine.run("reach", arguments);
  EXPECT_EQ(there.outputs["reachable"], Json(true)) << there.text;
  ::close(fd);
}

// Each answer of scontrol's, as a program in the place of scontrol gives it.
TEST(NodeOperations, AskSlurmsControllersForAnAnswer) {
  const struct {
    const char *script, *outputs, *text;
    int limit_ms = 30'000;
  } rows[] = {
      {"echo 'Slurmctld(primary) at ctl is UP'", R"({"slurmctld_up":true,"slurmctld_down":""})", ""},
      {"echo 'Slurmctld(primary) at ctl is DOWN'; exit 1", R"({"slurmctld_up":false,"slurmctld_down":"ctl"})",
       "no controller answers"},
      {"echo 'Slurmctld(primary) at a is DOWN'; echo 'Slurmctld(backup) at b is DOWN'",
       R"({"slurmctld_up":false,"slurmctld_down":"a,b"})", "no controller answers"},
      {"echo 'Slurmctld(primary) at a is DOWN'; exec /bin/sleep 600",
       R"({"slurmctld_up":false,"slurmctld_down":"a"})", "no answer in time", 2000},
      {"exec /bin/sleep 600", R"({"slurmctld_up":false,"slurmctld_down":""})", "no answer in time", 500},
      {"echo 'scontrol: error: no configuration' >&2; exit 1", "{}",
       "scontrol ended with exit code 1 and names no controller: 'scontrol: error: no configuration'"},
      {"kill -9 $$", "{}", "scontrol was killed by signal 9"},
  };
  for (const auto& row : rows) {
    TestFolder tree;
    tree.write("/usr/bin/scontrol", fmt::format("#!/bin/sh\n{}\n", row.script));
    std::filesystem::permissions(tree.path() + "/usr/bin/scontrol", std::filesystem::perms(0755));
    Machine machine(tree.path());
    OperationCall call;
    call.operation = "ask";
    call.run = "builtin:slurm_ping";
    call.time_limit = std::chrono::milliseconds(row.limit_ms);
    const OperationEnd end = machine.run(std::move(call));
    EXPECT_EQ(end.outputs.dump(), row.outputs) << row.script;
    EXPECT_EQ(end.text, row.text) << row.script;
  }
}

TEST(NodeOperations, OfThisMachine) {
  Machine machine("/");
  for (const char* name : {"memory", "swap", "cpus", "load", "memory_hogs", "zombies", "processes", "jobs",
                           "tcp", "read_only_mounts", "filesystem", "memory_process"}) {
    const OperationEnd end = machine.run(name);
    // (A job that begins in a lab on this machine just now has no process yet, and that is said.)
    const bool begins = end.text.find("has no process of its user yet") != std::string::npos;
    EXPECT_TRUE(end.result == Ended::ok || begins) << name << ": " << end.text;
  }
  const OperationEnd root = machine.run("filesystem", Json::object({{"path", "/nowhere"}}));
  EXPECT_EQ(root.text, "cannot ask the file system at '/nowhere': No such file or directory");
}

}  // namespace
}  // namespace sickbay::node
