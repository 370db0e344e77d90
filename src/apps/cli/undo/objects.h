// SPDX-License-Identifier: Apache-2.0
// What a user keeps of a recorded job, in his own folder: contents of files by their digest, and submissions.
//
//   WORKDIR/.sickbay/objects/9a/403ec8...   contents, by SHA-256; never changed, written once
//   WORKDIR/.sickbay/records/c17.json       what was submitted (record.h)
//
// All of it is his alone (0700, 0600): an environment may hold keys.  Nothing here is removed by going back;
// `rm -r .sickbay` is what ends it.  Copies of the folder for re-runs leave it out (apps/folder).
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::cli {

class Objects {
 public:
  /// Of the working folder of a submission.  Makes nothing yet.
  explicit Objects(const std::string& work_dir) : folder_(work_dir + "/.sickbay") {}
  const std::string& folder() const { return folder_; }

  /// Makes the folders, for this user alone.  Errors: as make_folder; denied, where they are another's or no
  /// folders (a link, say).
  Status make() const;

  /// Keeps what a file holds; its digest.  It is on the disk when this returns.  Errors: not_found, denied,
  /// conflict (it changed meanwhile), bad_input (no regular file), storage_full, storage_broken.
  Result<std::string> keep_file(const std::string& path) const;
  Result<std::string> keep_text(std::string_view text) const;

  /// Reads all of an object.  Errors: not_found (it was not kept), conflict (it is not what its name says).
  Status check(const std::string& digest) const;
  Result<std::string> read(const std::string& digest, std::size_t limit) const;
  std::string path_of(const std::string& digest) const;

  /// Gives the file `path` these contents and this mode, all or nothing: written beside it, compared with the
  /// digest, then renamed.  What it held before is the caller's to keep.  Where `path` is a link, the file
  /// that it leads to changes.  Errors: those of check(), and of writing.
  Status put_back(const std::string& digest, const std::string& path, unsigned mode) const;

 private:
  std::string folder_;
};

}  // namespace sickbay::cli
