// SPDX-License-Identifier: Apache-2.0
// Folders of the host that every machine of a lab must see, each at its own path: the lab's own, and those of
// the programs under test.
//
// Two things may stand in the way, and neither is changed on the host.  Something is mounted over them: a
// machine has a /tmp of its own, and a fault may cover more.  Or others may not enter a folder above them, as
// /root with its mode of 700, and the lab's users are others.  So each folder is held open, and bound back
// to its path in the machine's own mount namespace, read-only but for the lab's.  A folder that may not be
// entered is covered there by an empty one that may be, which holds nothing but the way down.  With the
// namespace all of it is gone.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// Where `program` (a path of a file in DIR/bin) keeps its parts: the build folder and the checkout it was
/// configured from, or the folders of an installation; and the folder of each of `libraries` that is not
/// the system's.
std::vector<std::string> folders_of_program(const std::string& program,
                                            const std::vector<std::string>& libraries);
/// The same of the running program.
std::vector<std::string> own_folders();

/// The checkout that the running program was built from; empty where it was installed.
std::string own_checkout();

/// Whether the machines of a lab will see all of these, and its users may run our programs.  Errors: usage
/// or not_found, with cause and remedy.  Looks only; before anything is started.
Status check_shown(const std::vector<std::string>& folders);

/// The folders of a lab, held open while something is mounted over them.
class Shown {
 public:
  /// Opens those that lie below `place`; to be called in the machine's mount namespace.
  static Result<Shown> hold(const Layout& layout, const std::string& place = "/");
  /// Makes them visible again, each at its path and for everybody.  What is so already stays as it is.
  Status show() const;

  Shown(Shown&& other) noexcept : held_(std::move(other.held_)) { other.held_.clear(); }
  Shown& operator=(Shown&&) = delete;
  ~Shown();

 private:
  struct Held {
    std::string path;
    bool writable;
    int fd;
  };
  Shown() = default;
  Status show(const Held& held) const;
  std::vector<Held> held_;  // the one above before the one below
};

}  // namespace sickbay::lab
