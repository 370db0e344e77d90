// SPDX-License-Identifier: Apache-2.0
// memory, swap: from /proc/meminfo, and the expected size from SMBIOS.
#include "adapters/node/families.h"
#include "adapters/node/parse.h"

namespace sickbay::node {

OperationEnd memory(const Call& call) {
  const auto text = call.tree->read("/proc/meminfo");
  if (!text) return unknown(text.error().what);
  const auto total = field_of(*text, "MemTotal");
  const auto available = field_of(*text, "MemAvailable");
  if (!total || *total == 0) return unknown("/proc/meminfo has no MemTotal");
  std::optional<std::int64_t> expected;
  if (call.integer("expected") > 0)
    expected = call.integer("expected");
  else if (const auto table = call.tree->read("/sys/firmware/dmi/tables/DMI"))
    expected = smbios_memory(*table);
  Json out = Json::object({{"memory_total", *total}, {"memory_available", or_null(available)}});
  out.set("memory_available_percent",
          available ? percent_of(static_cast<double>(*available), static_cast<double>(*total)) : Json());
  out.set("memory_expected", or_null(expected));
  out.set("memory_missing_percent",
          expected ? percent_of(static_cast<double>(*expected - *total), static_cast<double>(*expected))
                   : Json());
  return found(std::move(out));
}

OperationEnd swap(const Call& call) {
  const auto text = call.tree->read("/proc/meminfo");
  if (!text) return unknown(text.error().what);
  const auto total = field_of(*text, "SwapTotal"), free = field_of(*text, "SwapFree");
  if (!total || !free) return unknown("/proc/meminfo has no SwapTotal and SwapFree");
  const std::int64_t used = std::max<std::int64_t>(*total - *free, 0);
  return found(Json::object(
      {{"swap_total", *total},
       {"swap_used", used},
       {"swap_used_percent", percent_of(static_cast<double>(used), static_cast<double>(*total))}}));
}

}  // namespace sickbay::node
