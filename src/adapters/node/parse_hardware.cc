// SPDX-License-Identifier: Apache-2.0
// Parsers of what hardware says: memory, processors, SMBIOS, and the programs that ask it.
#include <algorithm>

#include "adapters/node/parse.h"
#include "base/json.h"
#include "base/text.h"
#include "base/words.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

// The sum, held at the bound: garbage must not overflow.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return std::min(a + std::clamp<std::int64_t>(b, 0, kMostInteger), kMostInteger);
}

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }
std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t length) {
  std::uint32_t value = 0;
  for (std::size_t i = length; i-- > 0;) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

// A number of JSON that may be absent.
std::optional<std::int64_t> integer_in(const Json& json) {
  if (!json.is_int()) return std::nullopt;
  return std::clamp<std::int64_t>(json.as_int(), 0, kMostInteger);
}

}  // namespace

std::optional<std::int64_t> field_of(std::string_view text, std::string_view name) {
  while (const auto line = next_line(text)) {
    if (!line->starts_with(name) || line->size() <= name.size() || (*line)[name.size()] != ':') continue;
    std::string_view rest = line->substr(name.size() + 1);
    const auto value = to_integer(next_word(rest));
    if (!value || *value < 0 || *value > kMostInteger / 1024) return std::nullopt;
    return next_word(rest) == "kB" ? *value * 1024 : *value;
  }
  return std::nullopt;
}

namespace {

struct SmbiosMemory {
  std::int64_t bytes = 0, modules = 0;
};

SmbiosMemory memory_devices(std::string_view table) {
  // Source: SMBIOS 3.4 (DSP0134), 6.1.2 and 7.18.  A structure: type, length, handle; then strings, each
  // ended by a NUL, and one more NUL.
  SmbiosMemory sum;
  while (table.size() >= 4) {
    const unsigned type = byte_at(table, 0);
    const std::size_t length = byte_at(table, 1);
    if (length < 4 || length > table.size()) break;
    if (type == 17 && length >= 0x0e) {
      const std::uint32_t size = little_endian(table, 0x0c, 2);
      std::int64_t bytes = 0;
      if (size == 0x7fff && length >= 0x20)  // too large for 15 bits: MiB in a field of its own
        bytes = static_cast<std::int64_t>(little_endian(table, 0x1c, 4) & 0x7fffffffU) << 20;
      else if (size != 0 && size != 0xffff)  // 0: empty slot; ffff: unknown
        bytes = static_cast<std::int64_t>(size & 0x7fffU) << ((size & 0x8000U) != 0 ? 10 : 20);
      sum.bytes = plus(sum.bytes, bytes);
      sum.modules += bytes > 0;
    }
    const std::size_t end = table.find(std::string_view("\0\0", 2), length);
    // Type 127 ends the table; a structure without its end is the last that can be read.
    if (type == 127 || end == std::string_view::npos) break;
    table.remove_prefix(end + 2);
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> smbios_memory(std::string_view table) {
  const SmbiosMemory sum = memory_devices(table);
  if (sum.bytes == 0) return std::nullopt;
  return sum.bytes;
}

std::optional<std::int64_t> smbios_memory_modules(std::string_view table) {
  const SmbiosMemory sum = memory_devices(table);
  if (sum.modules == 0) return std::nullopt;
  return sum.modules;
}

std::optional<std::int64_t> count_list(std::string_view list) {
  std::int64_t count = 0;
  list = trimmed(list);
  if (list.empty()) return 0;
  while (!list.empty()) {
    std::string_view range = next_part(list, ',');
    const auto first = to_integer(next_part(range, '-'));
    const auto last = range.empty() ? first : to_integer(range);
    // Bounded: a list of garbage must not make a count that nobody has.
    if (!first || !last || *first < 0 || *last < *first || *last > 1'000'000) return std::nullopt;
    count += *last - *first + 1;
  }
  return count;
}

std::optional<std::int64_t> interrupts_of(std::string_view text, std::string_view name) {
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    std::string_view word = next_word(rest);
    if (word.size() != name.size() + 1 || !word.starts_with(name) || word.back() != ':') continue;
    std::int64_t sum = 0;
    // One number for each processor.
    for (;;) {
      const auto count = to_integer(next_word(rest));
      if (!count) return sum;  // what follows is the row's description
      sum = plus(sum, *count);
    }
  }
  return std::nullopt;
}

SmartAnswer parse_smart(std::string_view text) {
  SmartAnswer answer;
  const auto json = Json::parse(text);
  if (!json) {
    answer.message = "no JSON (smartctl before version 7?)";
    return answer;
  }
  const Json& passed = (*json)["smart_status"]["passed"];
  if (passed.is_bool()) answer.passed = passed.as_bool();
  for (const Json& message : (*json)["smartctl"]["messages"].items())
    if (answer.message.empty()) answer.message = message["string"].as_string();
  if (const auto used = integer_in((*json)["nvme_smart_health_information_log"]["percentage_used"]))
    answer.wear_percent = std::min<std::int64_t>(*used, 100);  // goes on counting to 255
  for (const Json& row : (*json)["ata_smart_attributes"]["table"].items())
    // Attribute 5 of ATA: reallocated sectors.
    if (row["id"].as_int() == 5) answer.reallocated = integer_in(row["raw"]["value"]);
  return answer;
}

std::vector<GpuLine> parse_gpus(std::string_view csv) {
  std::vector<GpuLine> gpus;
  while (const auto line = next_line(csv)) {
    std::string_view rest = *line;
    GpuLine gpu;
    // Lower case, as sysfs writes addresses.
    for (const char c : trimmed(next_part(rest, ','))) gpu.bus += to_lower(c);
    // A message in the place of the table ("Unable to determine the device handle ...") has no address.
    if (std::count(gpu.bus.begin(), gpu.bus.end(), ':') != 2) continue;
    gpu.temperature = to_fraction(trimmed(next_part(rest, ',')));
    gpu.uncorrected = to_integer(trimmed(next_part(rest, ',')));
    if (gpu.uncorrected) gpu.uncorrected = std::clamp<std::int64_t>(*gpu.uncorrected, 0, kMostInteger);
    while (!rest.empty()) gpu.throttled |= trimmed(next_part(rest, ',')) == "Active";
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

PowerSupplies parse_power_supplies(std::string_view text) {
  // PS1 Status       | C8h | ok  | 10.1 | Presence detected, Failure detected
  PowerSupplies found;
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    next_part(rest, '|');
    next_part(rest, '|');
    const std::string_view state = trimmed(next_part(rest, '|'));
    next_part(rest, '|');
    const std::string_view said = rest;
    // Sensors of volts and watts have numbers here; only those that detect presence are supplies.
    if (state == "ns" || said.find("Presence detected") == std::string_view::npos) continue;
    ++found.all;
    // "Failure detected", "Predictive failure", "Power Supply AC lost", and the states of a supply whose
    // input is out of range.
    found.failed += said.find("ailure") != std::string_view::npos ||
                    said.find("lost") != std::string_view::npos ||
                    said.find("out-of-range") != std::string_view::npos;
  }
  return found;
}

std::optional<std::string> upsc_value(std::string_view text, std::string_view name) {
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    if (next_part(rest, ':') == name) return std::string(trimmed(rest));
  }
  return std::nullopt;
}

}  // namespace sickbay::node
