// SPDX-License-Identifier: Apache-2.0
// What a process has mapped into its memory: /proc/PID/maps, read in one place.  Source: proc(5).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/node/tree.h"

namespace sickbay::ranks {

struct Mapped {
  std::uint64_t from = 0, to = 0;  ///< addresses, without `to`
  bool writable = false, executable = false;
  std::string path;          ///< of its file; "[stack]" and the like; "" of memory without a name
  std::uint64_t offset = 0;  ///< of its file: where what is mapped begins
  friend bool operator==(const Mapped&, const Mapped&) = default;
};

/// Reads the text of /proc/PID/maps; what is no such line is left out.
std::vector<Mapped> parse_maps(std::string_view text);
/// Of process `pid`, by addresses; nothing where that cannot be read.
std::vector<Mapped> mapped_by(const node::Tree& tree, std::int64_t pid);
/// The mapping of process `pid` that holds `address`; nothing where none does.  Makes no list: a thread may
/// stand meanwhile.
std::optional<Mapped> mapping_of(const node::Tree& tree, std::int64_t pid, std::uint64_t address);

/// Whether a file is a library of MPI, by its name: libmpi.so.40, libmpich.so.12, libmpi_mpifh.so.40,
/// libpmpi.so.12.
bool is_mpi_library(std::string_view path);

}  // namespace sickbay::ranks
