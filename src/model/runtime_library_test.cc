// SPDX-License-Identifier: Apache-2.0
#include "model/runtime_library.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(RuntimeLibrary, WhoseCodeItIs) {
  for (const char* name :
       {"libc.so.6", "libc-2.31.so", "ld-linux-x86-64.so.2", "libstdc++.so.6.0.30", "[vdso]"})
    EXPECT_EQ(whose_code(name), WhoseCode::base) << name;
  for (const char* name : {"libmpich.so.12.2.1", "libmpi.so.40.30.4", "libmpi_mpifh.so.40", "libucs.so.0.0.0",
                           "libuct_ib.so.0", "libfabric.so.1", "libopen-pal.so.40", "mca_btl_tcp.so",
                           "libpmix.so.2", "libevent_core-2.1.so.7", "libgomp.so.1.0.0"})
    EXPECT_EQ(whose_code(name), WhoseCode::runtime) << name;
  // Also what begins alike: a user's own library must never be taken for MPI's.
  for (const char* name : {"a.out", "", "libsolver.so", "libcrypto.so.3", "libmath.so",
                           "libpython3.11.so.1.0", "libucrt.so", "libcuda.so.1"})
    EXPECT_EQ(whose_code(name), WhoseCode::users) << name;
}

}  // namespace
}  // namespace sickbay
