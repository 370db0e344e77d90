// SPDX-License-Identifier: Apache-2.0
// gpu: NVIDIA devices of the PCI bus against what their driver says.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

// In the order that parse_gpus reads.
constexpr std::string_view kGpuQuery =
    "pci.bus_id,temperature.gpu,ecc.errors.uncorrected.volatile.total,"
    "clocks_throttle_reasons.hw_thermal_slowdown,clocks_throttle_reasons.sw_thermal_slowdown,"
    "clocks_throttle_reasons.hw_power_brake_slowdown";

}  // namespace

// Display (0x0300xx) and 3D (0x0302xx) controllers of vendor 10de.
std::int64_t gpus_on_the_bus(const Tree& tree) {
  std::int64_t count = 0;
  for (const std::string& device : tree.list("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + device;
    if (tree.word(folder + "/vendor") != "0x10de") continue;
    const std::string kind = tree.word(folder + "/class").value_or("");
    count += kind.starts_with("0x0300") || kind.starts_with("0x0302");
  }
  return count;
}

ChildPlan gpu(const Call& call) {
  const std::int64_t present = gpus_on_the_bus(*call.tree);
  if (present == 0) return {{}, {}, unknown("the PCI bus has no NVIDIA display or 3D controller")};
  ChildPlan plan;
  plan.programs.push_back(program_spec(
      call, {"nvidia-smi", fmt::format("--query-gpu={}", kGpuQuery), "--format=csv,noheader,nounits"}));
  plan.read = [present](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("nvidia-smi", outcomes[0])) return *missing;
    // Whatever its exit code: when one device is lost, the lines of the others may still hold.
    const auto gpus = parse_gpus(outcomes[0]->out);
    std::optional<std::int64_t> errors;
    std::optional<double> hottest;
    std::int64_t throttled = 0;
    for (const GpuLine& g : gpus) {
      if (g.uncorrected) errors = std::min(errors.value_or(0) + *g.uncorrected, kMostInteger);
      // Outside of this it is garbage of a sensor.
      if (g.temperature && *g.temperature > -60 && *g.temperature < 200)
        hottest = std::max(hottest.value_or(*g.temperature), *g.temperature);
      throttled += g.throttled;
    }
    // The program says its message on standard output and fails when one of them has fallen off the bus.
    const auto answered = static_cast<std::int64_t>(gpus.size());
    return found(Json::object({{"gpus_present", present},
                               {"gpus_lost", std::max<std::int64_t>(present - answered, 0)},
                               {"gpu_uncorrected_errors", or_null(errors)},
                               {"gpus_throttled", throttled},
                               {"gpu_temperature_highest", or_null(hottest)}}),
                 outcomes[0]->exit_code == 0
                     ? ""
                     : fmt::format("nvidia-smi ended with exit code {}", outcomes[0]->exit_code));
  };
  return plan;
}

}  // namespace sickbay::node
