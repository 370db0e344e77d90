// SPDX-License-Identifier: Apache-2.0
// The logs of test/fixtures/workload, as the tests of the readers want them: a file's bytes.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace sickbay::workload {

/// The bytes of test/fixtures/workload/`name`; a test that finds none fails.
inline std::string fixture(const std::string& name) {
  std::ifstream in(std::string(SB_FIXTURES) + "/workload/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

}  // namespace sickbay::workload
