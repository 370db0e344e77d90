// SPDX-License-Identifier: Apache-2.0
#include "model/runtime_library.h"

#include <algorithm>
#include <array>

namespace sickbay {
namespace {

// Beginnings of names; a version or the end follows ("libc.so.6", "libc-2.31.so").
constexpr auto kBase = std::to_array<std::string_view>(
    {"libc.", "libc-", "libpthread.", "libpthread-", "libm.", "libm-", "libdl.", "libdl-", "librt.", "librt-",
     "ld-linux", "ld-2", "libstdc++.", "libgcc_s.", "libgfortran.", "libquadmath.", "linux-vdso", "[vdso"});
// MPICH, Open MPI with its parts, UCX, libfabric and what these load; the libraries of OpenMP.
constexpr auto kRuntime = std::to_array<std::string_view>(
    {"libmpi",      "libpmpi",    "libucp.",      "libucs.",  "libucs_",    "libuct.",  "libuct_",
     "libucm.",     "libucm_",    "libucc.",      "libucc_",  "libfabric.", "libopen-", "mca_",
     "libpmi",      "libprrte.",  "libprte.",     "libevent", "libhwloc.",  "libpsm_",  "libpsm2.",
     "libibverbs.", "librdmacm.", "libmlx4",      "libmlx5",  "libefa.",    "libnuma.", "libgomp.",
     "libomp.",     "libiomp5.",  "libslurm_pmi", "libnl-"});

template <std::size_t n>
bool begins(std::string_view module, const std::array<std::string_view, n>& names) {
  return std::ranges::any_of(names, [&](std::string_view one) { return module.starts_with(one); });
}

}  // namespace

WhoseCode whose_code(std::string_view module) {
  if (begins(module, kBase)) return WhoseCode::base;
  return begins(module, kRuntime) ? WhoseCode::runtime : WhoseCode::users;
}

}  // namespace sickbay
