// SPDX-License-Identifier: Apache-2.0
#include "meminfo.h"

#include <fstream>

namespace sickbay::verify {

std::uint64_t meminfo_bytes(std::string_view name, const std::string& root) {
  std::ifstream in(root + "/proc/meminfo");
  std::string word, unit;
  for (std::uint64_t kib = 0; in >> word >> kib; std::getline(in, unit))
    if (word.ends_with(':') && std::string_view(word).substr(0, word.size() - 1) == name) return kib * 1024;
  return 0;
}

}  // namespace sickbay::verify
