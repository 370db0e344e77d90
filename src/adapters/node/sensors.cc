// SPDX-License-Identifier: Apache-2.0
// temperature: the sensors of hwmon.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

constexpr std::string_view kHwmon = "/sys/class/hwmon";

// The numbers N of files tempN_input or fanN_input among `names`.
std::vector<std::string> inputs(const std::vector<std::string>& names, std::string_view kind) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (!name.starts_with(kind) || !name.ends_with("_input")) continue;
    const std::string number = name.substr(kind.size(), name.size() - kind.size() - 6);
    if (to_integer(number)) found.push_back(number);
  }
  return found;
}

}  // namespace

OperationEnd temperature(const Call& call) {
  const Tree& tree = *call.tree;
  std::optional<double> highest, margin;
  std::string place;
  std::int64_t fans = 0, stopped = 0;
  for (const std::string& chip : tree.list(kHwmon)) {
    const std::string folder = fmt::format("{}/{}", kHwmon, chip);
    const auto names = tree.list(folder);
    for (const std::string& n : inputs(names, "temp")) {
      const auto value = tree.number(fmt::format("{}/temp{}_input", folder, n));
      // Millidegrees.  A sensor that is not connected says -128 or 255 and more, or fails to read.
      if (!value || *value <= -60'000 || *value >= 200'000) continue;
      const double degrees = static_cast<double>(*value) / 1000;
      if (!highest || degrees > *highest) {
        highest = degrees;
        place = tree.word(folder + "/name").value_or(chip) + " " +
                tree.word(fmt::format("{}/temp{}_label", folder, n)).value_or("temp" + n);
        if (place.size() > 250) place.resize(250);
      }
      const auto critical = tree.number(fmt::format("{}/temp{}_crit", folder, n));
      // A driver that knows no limit says 0 or a number that no sensor reaches.
      if (critical && *critical > 0 && *critical < 200'000) {
        const double left = static_cast<double>(*critical) / 1000 - degrees;
        margin = std::min(margin.value_or(left), left);
      }
    }
    for (const std::string& n : inputs(names, "fan")) {
      const auto speed = tree.number(fmt::format("{}/fan{}_input", folder, n));
      if (!speed) continue;
      ++fans;
      const auto least = tree.number(fmt::format("{}/fan{}_min", folder, n));
      const auto alarm = tree.number(fmt::format("{}/fan{}_alarm", folder, n));
      // Its own limit or its chip's alarm: without either nobody knows that 0 is not how it should be (a fan
      // that stands still when it is cool).
      stopped += (least && *speed < *least) || (alarm && *alarm != 0);
    }
  }
  if (!highest) return unknown(fmt::format("{} has no temperature: no sensor driver is loaded", kHwmon));
  return found(Json::object({{"temperature_highest", *highest},
                             {"temperature_place", place},
                             {"temperature_margin", or_null(margin)},
                             {"fans", fans},
                             {"fans_stopped", stopped}}));
}

}  // namespace sickbay::node
