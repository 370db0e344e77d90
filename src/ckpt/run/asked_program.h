// SPDX-License-Identifier: Apache-2.0
// A real program as what is watched: asked by a signal or a file, and heard by its done file.
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

#include "checkpoint/store.h"
#include "ckpt/run/child.h"
#include "ckpt/run/watched.h"

namespace sickbay::ckpt {

struct HowToAsk {
  int signal = 0;          ///< 0: by the file
  std::string ask_file;    ///< is made; the program removes it before it writes
  bool by_others = false;  ///< not by this process: another one's program tells it
  std::string done_file;
};

class AskedProgram : public Watched {
 public:
  AskedProgram(Child& child, HowToAsk how) : child_(child), how_(std::move(how)) {}

  bool ended() override { return child_.ended(); }
  bool ended_well() override { return child_.code() == 0; }
  std::int64_t wishes() override { return child_.wishes(); }
  void pause(Micros length) override { child_.pause(length); }
  void wait_for_end() override { child_.wait(); }

  Result<bool> make_ready() override;
  Status ask() override;
  /// A done file whose line is longer than 256 bytes is an error.
  Result<std::optional<std::string>> written() override;
  /// The done file is the same, and no file of `holds` was written after it.
  Status still_so() override;

  /// The state files that are this program's alone: it writes them before its done file.
  void holds(std::vector<checkpoint::Source> files) { files_ = std::move(files); }

 private:
  Child& child_;
  HowToAsk how_;
  struct ::stat mark_ {};  ///< of the done file
  std::vector<checkpoint::Source> files_;
};

/// What an earlier run left: files by which it was asked and answered.  Errors: as unlink.
Status clear_asking(const HowToAsk& how);

}  // namespace sickbay::ckpt
