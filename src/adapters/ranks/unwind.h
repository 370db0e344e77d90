// SPDX-License-Identifier: Apache-2.0
// Unwinder: the frames of a Snapshot, by the tables that compilers leave for exceptions, and their names.
//
// elfutils' libdwfl reads the files of the program and of its libraries; without debugging symbols the tables
// are there all the same (.eh_frame), and the libraries' own names (.dynsym).  The files are the user's, so
// whoever calls this must have the user's rights and no more (apps/ranks).  No file of debugging symbols is
// looked for: that could ask servers on the network.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "adapters/ranks/snapshot.h"
#include "base/result.h"
#include "model/rank_look.h"

namespace sickbay::ranks {

class Unwinder {
 public:
  /// Of process `pid`.  What it has loaded is read now; opened are the files when a frame needs them. Errors:
  /// denied, not_found (it has ended), os.
  static Result<std::unique_ptr<Unwinder>> of(pid_t pid);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;

  /// The frames of a thread of the process.  Never empty: the place where it stood is always known.  Not
  /// `whole`, where a frame could not be left or the copy of the stack was too short.
  RankStack frames(const Snapshot& snapshot);

 private:
  struct Parts;
  explicit Unwinder(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sickbay::ranks
