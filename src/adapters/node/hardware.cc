// SPDX-License-Identifier: Apache-2.0
// hardware: which parts a node has.
#include "adapters/node/families.h"

namespace sickbay::node {
namespace {

bool has_program(const Tree& tree, const std::string& name) {
  for (const char* folder : kProgramFolders)
    if (tree.exists(folder + ("/" + name))) return true;
  return false;
}

}  // namespace

OperationEnd hardware(const Call& call) {
  const Tree& tree = *call.tree;
  const auto any = [&tree](const char* folder, std::string_view with) {
    const auto names = tree.list(folder);
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return with.empty() || tree.exists(std::string(folder) + "/" + name + std::string(with));
    });
  };
  // Without them everything would look absent, and every check that needs a part would be left out unseen.
  if (!tree.exists("/proc") || !tree.exists("/sys")) return unknown("there is no /proc and /sys");
  const bool disks = any("/sys/block", "/device");
  const auto interrupts = tree.read("/proc/interrupts");
  return found(
      Json::object({{"has_ecc", any("/sys/devices/system/edac/mc", "/ce_count")},
                    {"has_machine_checks", interrupts && interrupts_of(*interrupts, "MCE").has_value()},
                    {"has_sensors", any("/sys/class/hwmon", "/temp1_input")},
                    {"has_disks", disks},
                    {"has_smart", disks && has_program(tree, "smartctl")},
                    {"has_infiniband", any("/sys/class/infiniband", "/ports")},
                    {"has_gpu", has_program(tree, "nvidia-smi") && gpus_on_the_bus(tree) > 0},
                    {"has_management_controller", tree.exists("/dev/ipmi0") && has_program(tree, "ipmitool")},
                    {"has_default_route", !default_route(tree.read("/proc/net/route").value_or("")).empty()},
                    {"has_controller", slurm_controllers(tree).has_value()},
                    {"has_kernel_log", tree.exists("/dev/kmsg")}}));
}

}  // namespace sickbay::node
