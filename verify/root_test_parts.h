// SPDX-License-Identifier: Apache-2.0
// A folder that stands for "/" in the tests of what is read of a machine.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sickbay::verify {

/// Empty at first, and gone with the test.
struct Root {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("verify_test." + std::to_string(::getpid()));
  Root() { std::filesystem::create_directories(path); }
  ~Root() { std::filesystem::remove_all(path); }
  Root(const Root&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
};

}  // namespace sickbay::verify
