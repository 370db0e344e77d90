// SPDX-License-Identifier: Apache-2.0
// A folder of one command's own under $TMPDIR, which goes with all that is in it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace sickbay::cli {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent ? parent : "/tmp") + "/sickbay.XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// "" where it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sickbay::cli
