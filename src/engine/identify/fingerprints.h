// SPDX-License-Identifier: Apache-2.0
// Did two runs of P fail in the same way?  Failures that differ are not one cause: a program that dies of
// SIGBUS and then cannot make a folder that its first run left has told of two things.
//
// What is compared is what a cause would repeat: the symptom, the signal, the exit code, and what the output
// complains of, without all that differs from run to run.  Where a program died, and when, says nothing here.
// Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/identify/case.h"

namespace sickbay::identify {

enum class Likeness : std::uint8_t {
  same,
  unclear,    ///< nothing speaks against one cause, and too little for it
  different,  ///< whatever made one fail so does not make the other fail so
};
std::string_view to_string(Likeness likeness);

/// How alike two failed runs are.  Symmetric.
Likeness likeness_of(const Run& a, const Run& b);

/// `line` without numbers, addresses, paths and the names of `hosts`, which differ between runs of one
/// program.
std::string normalised(std::string_view line, const std::vector<std::string>& hosts);
/// What the output of a failed run complains of: its lines with a word of failure in them, normalised, but
/// for those that every launcher writes.  Oldest first, each once.
std::vector<std::string> complaints_of(const Run& run);

/// How the first rank that ended badly ended, as srun told it before it swept the others away.
struct FirstExit {
  int code = 0;
  int task = -1;  ///< its rank; -1 where srun named several at once
};
/// Where Slurm's own code is that of ranks which srun swept away, it hides the one that began it; else
/// nothing.
std::optional<FirstExit> hidden_exit(const Run& run);

/// The signal of a fault of its own that a run died of; 0 for none.
int fault_signal(const Run& run);
/// P's output says that it could not write.
bool output_speaks_of_writing(const Run& run);
/// P's output names a node, and as good as says that the node was where it went wrong: a rank died there of
/// a fault of its own, or Slurm says that the node failed.  "" where it names none.
std::string named_node(const Run& run);

}  // namespace sickbay::identify
