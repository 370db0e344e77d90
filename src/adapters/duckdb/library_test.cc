// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/library.h"

#include <gtest/gtest.h>

#include <string>

namespace sickbay::duck {
namespace {

// The header and the library come from two packages; they must be of one version.
TEST(Library, IsThePinnedOne) {
  ASSERT_TRUE(load_library());
  EXPECT_EQ(std::string(lib.duckdb_library_version()), "v1.4.4");
  ASSERT_TRUE(load_library()) << "a second time";
}

}  // namespace
}  // namespace sickbay::duck
