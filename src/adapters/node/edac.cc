// SPDX-License-Identifier: Apache-2.0
// edac, dimm: memory errors as the memory controllers count them.
#include <fmt/format.h>

#include "adapters/node/families.h"

namespace sickbay::node {
namespace {

constexpr std::string_view kControllers = "/sys/devices/system/edac/mc";

std::vector<std::string> controllers(const Tree& tree) {
  std::vector<std::string> found;
  for (const std::string& name : tree.list(kControllers))
    if (name.starts_with("mc") && tree.exists(fmt::format("{}/{}/ce_count", kControllers, name)))
      found.push_back(fmt::format("{}/{}", kControllers, name));
  return found;
}

OperationEnd no_controller() {
  return unknown(fmt::format("{} has no memory controller: no ECC, or no driver for it", kControllers));
}

}  // namespace

OperationEnd edac(const Call& call) {
  std::int64_t corrected = 0, uncorrected = 0;
  const auto all = controllers(*call.tree);
  if (all.empty()) return no_controller();
  for (const std::string& folder : all) {
    // "noinfo" are errors that no module could be given; the controller's counts hold them.
    corrected += call.tree->count(folder + "/ce_count");
    uncorrected += call.tree->count(folder + "/ue_count");
  }
  return found(Json::object({{"memory_corrected_errors", corrected},
                             {"memory_uncorrected_errors", uncorrected},
                             {"memory_corrected_new", call.since_last("corrected", corrected)}}));
}

OperationEnd dimm(const Call& call) {
  const auto all = controllers(*call.tree);
  if (all.empty()) return no_controller();
  std::string label, place;
  // An uncorrected error weighs more than any number of corrected ones.
  std::pair<std::int64_t, std::int64_t> worst{0, 0};
  bool any = false;
  for (const std::string& folder : all)
    for (const std::string& name : call.tree->list(folder)) {
      // The kernel calls them rank0 and so on where the controller counts by chip-select rows.
      if (!name.starts_with("dimm") && !name.starts_with("rank")) continue;
      any = true;
      const std::string module = folder + "/" + name;
      const std::pair errors{call.tree->count(module + "/dimm_ue_count"),
                             call.tree->count(module + "/dimm_ce_count")};
      if (errors <= worst) continue;
      worst = errors;
      label = call.tree->word(module + "/dimm_label").value_or("");
      if (label.empty()) label = name;  // the board has no labels in the driver's table
      place = folder.substr(kControllers.size() + 1) + " " +
              call.tree->word(module + "/dimm_location").value_or(name);
    }
  if (!any)
    return unknown(
        fmt::format("{} lists no memory module: its driver does not tell them apart", kControllers));
  if (label.size() > 250) label.resize(250);
  if (place.size() > 250) place.resize(250);
  return found(Json::object(
      {{"dimm_label", label}, {"dimm_place", place}, {"dimm_errors", worst.first + worst.second}}));
}

}  // namespace sickbay::node
