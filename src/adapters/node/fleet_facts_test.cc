// SPDX-License-Identifier: Apache-2.0
// Facts of a recorded machine, and that this one has some.
#include "adapters/node/fleet_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;

struct Machine {
  fs::path root = fs::temp_directory_path() / ("fleet_facts_test." + std::to_string(::getpid()));
  Machine() { fs::create_directories(root); }
  ~Machine() { fs::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
};

std::string mount_line(const std::string& place, const std::string& type) {
  return "36 25 0:31 / " + place + " rw,relatime shared:1 - " + type + " source rw\n";
}

TEST(FleetFacts, OfARecordedMachine) {
  const Machine machine;
  machine.write("proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Chip 6248\n\nprocessor\t: 1\nmodel name\t: Chip 6248\n");
  machine.write("proc/meminfo", "MemTotal:       196403200 kB\nMemFree: 1 kB\n");
  machine.write("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
  machine.write("proc/sys/kernel/arch", "x86_64\n");
  machine.write("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n");
  machine.write("sys/class/net/eth0/device/x", "");
  machine.write("sys/class/net/eth0/operstate", "up\n");
  machine.write("sys/class/net/eth0/speed", "25000\n");
  machine.write("sys/class/net/eth1/device/x", "");
  machine.write("sys/class/net/eth1/operstate", "down\n");
  machine.write("sys/class/net/eth1/speed", "-1\n");
  machine.write("sys/class/net/veth9/operstate", "up\n");
  machine.write("sys/class/net/veth9/speed", "10000\n");
  machine.write("proc/self/mountinfo",
                mount_line("/", "ext4") + mount_line("/home", "nfs4") + mount_line("/proc", "proc") +
                    mount_line("/run/user/1000", "tmpfs") + mount_line("/dev/shm", "tmpfs") +
                    mount_line("/tmp/job.17", "tmpfs") + mount_line("/tmp", "tmpfs") +
                    mount_line("/net", "autofs") + mount_line("/net/archive", "nfs4") +
                    mount_line("/var/lib/docker/overlay2/x", "ext4") + mount_line("/scratch", "lustre") +
                    mount_line("/proc/sys/fs/binfmt_misc", "autofs") + "nonsense\n");
  EXPECT_EQ(
      read_fleet_facts(machine.root.string()).dump(),
      R"({"cpu":"Chip 6248","cores":"2","memory_mib":"191800","kernel":"6.1.0-28-amd64","arch":"x86_64",)"
      R"("os":"debian 12","link:eth0":"25000","mount:/":"ext4","mount:/home":"nfs4","mount:/tmp":"tmpfs",)"
      R"("mount:/scratch":"lustre"})");
}

// What fell off the bus is seen by its number alone; 0 is one, too.
TEST(FleetFacts, CountsDevices) {
  const Machine machine;
  machine.write("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  machine.write("sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  machine.write("sys/block/sda/device/state", "running\n");
  machine.write("sys/block/sdb/device/state", "running\n");
  machine.write("sys/block/loop0/size", "8\n");
  EXPECT_EQ(read_fleet_facts(machine.root.string()).dump(), R"({"gpus":"1","infiniband":"0","disks":"2"})");
  machine.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  fs::remove_all(machine.root / "sys/bus/pci/devices/0000:3b:00.0");
  EXPECT_EQ(read_fleet_facts(machine.root.string()).dump(), R"({"gpus":"0","infiniband":"1","disks":"2"})");
}

TEST(FleetFacts, OfNothing) {
  const Machine machine;
  EXPECT_EQ(read_fleet_facts(machine.root.string()).dump(), "{}");
}

TEST(FleetFacts, OfThisMachine) {
  const Json facts = read_fleet_facts();
  for (const char* name : {"arch", "cores", "kernel", "memory_mib"})
    EXPECT_TRUE(facts[name].is_string()) << name;
}

}  // namespace
}  // namespace sickbay
