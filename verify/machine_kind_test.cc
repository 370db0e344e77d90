// SPDX-License-Identifier: Apache-2.0
// What architectures write into /proc/cpuinfo, as folders of real files.
#include "machine_kind.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sickbay::verify {
namespace {

namespace fs = std::filesystem;

TEST(MachineKind, NamesProcessorCountAndMemory) {
  const struct {
    const char* cpuinfo;
    const char* kind;
  } rows[] = {
      {"processor\t: 0\nvendor_id\t: X\nmodel name\t: Chip 6248 @ 2.5GHz\n\nprocessor\t: 1\n"
       "model name\t: Chip 6248 @ 2.5GHz\n",
       "Chip 6248 @ 2.5GHz x2, 16 GiB"},
      {"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported x1, 16 GiB"},
      {"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "0xd0c x1, 16 GiB"},
      {"", ""},
      {"processor\t: 0\n", ""},
      {"nonsense\n:\n", ""},
  };
  const fs::path root = fs::temp_directory_path() / ("machine_kind_test." + std::to_string(::getpid()));
  fs::create_directories(root / "proc");
  std::ofstream(root / "proc/meminfo") << "MemTotal:       16500000 kB\nMemFree:  5 kB\n";
  for (const auto& row : rows) {
    std::ofstream(root / "proc/cpuinfo") << row.cpuinfo;
    EXPECT_EQ(machine_kind(root), row.kind) << row.cpuinfo;
  }
  fs::remove_all(root);
  EXPECT_EQ(machine_kind(root), "");
}

}  // namespace
}  // namespace sickbay::verify
