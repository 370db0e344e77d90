// SPDX-License-Identifier: Apache-2.0
// The file by which a node's agent tells programs on it that it is leaving (model/leaving.h): any user may
// read it, and only root may write there.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace sickbay {

class LeavingFile {
 public:
  explicit LeavingFile(std::string path) : path_(std::move(path)) {}

  /// What it says; nothing where it is not there, or says something that no agent writes.
  std::optional<TimePoint> shown() const;
  /// Replaces it, or removes it (nothing); its folder is made.  Errors: as write_durably and make_folder.
  Status show(std::optional<TimePoint> since) const;

 private:
  std::string path_;
};

}  // namespace sickbay
