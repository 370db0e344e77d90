// SPDX-License-Identifier: Apache-2.0
// cpuinfo names the processor differently on each architecture; the first name that is there is taken.
#include "machine_kind.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string_view>

#include "base/text.h"
#include "meminfo.h"

namespace sickbay::verify {
namespace {

/// "name : value" without blanks around either.
std::pair<std::string, std::string> field_of(const std::string& line) {
  const auto colon = line.find(':');
  if (colon == std::string::npos) return {};
  const std::string_view text = line;
  return {std::string(trimmed(text.substr(0, colon))), std::string(trimmed(text.substr(colon + 1)))};
}

}  // namespace

std::string machine_kind(const std::string& root) {
  std::map<std::string, std::string> first;
  int processors = 0;
  std::ifstream cpuinfo(root + "/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    auto [name, value] = field_of(line);
    if (name == "processor" || name.rfind("processor ", 0) == 0) ++processors;  // (s390: "processor 0")
    if (!name.empty()) first.emplace(std::move(name), std::move(value));
  }
  // x86 and LoongArch; POWER; ARM, where implementer and part are numbers; RISC-V.
  std::string model;
  for (const char* name : {"model name", "Model Name", "cpu", "CPU part", "uarch", "isa"})
    if (const auto it = first.find(name); model.empty() && it != first.end()) model = it->second;
  if (model.empty() || processors == 0) return "";
  // To a GiB: what the firmware keeps for itself differs by some MiB between equal machines.
  return fmt::format("{} x{}, {} GiB", model, processors,
                     (meminfo_bytes("MemTotal", root) + (1 << 29)) >> 30);
}

}  // namespace sickbay::verify
