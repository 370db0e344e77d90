// SPDX-License-Identifier: Apache-2.0
// Fingerprint: what the end of a failed job's output says about how it died.
//
// srun, Slurm, MPICH, Open MPI and UCX all write for people; each form is a row of a table with a weight, and
// the heaviest message wins: a rank that died of a fault of its own says more than the ranks that were swept
// away after it, though those come later in the text.  Why it died is another question, and other lines
// answer it: failure_text.h.  Nothing here is proof: the text is the user's.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/failure_text.h"

namespace sickbay {

struct Fingerprint {
  std::optional<int> rank;          ///< of the failing process
  std::optional<std::string> node;  ///< it ran on
  std::optional<int> signal;
  std::string signal_name;              ///< "SIGSEGV"; empty without a signal
  bool out_of_memory = false;           ///< Slurm says that it was killed for its memory
  std::vector<std::string> last_lines;  ///< oldest first; UTF-8 without control characters
  std::string message;                  ///< the line that decided, made safe in the same way
  /// Why it died, in words, as the program or a library says: "Fortran runtime error: ...".  Of whom `rank`,
  /// `node` and `signal` speak, the launcher says: both are of one end for the most part.
  std::string cause;
  Telling cause_tells = Telling::nothing;  ///< how much `cause` tells; nothing: it is empty
};

inline constexpr std::size_t kFingerprintLines = 20;
inline constexpr std::size_t kFingerprintBytes = 4096;  ///< of all last lines together

/// Reads the ends of a job's output and error (either may hold both).  Total: any bytes give a fingerprint,
/// an empty one where no form fits.  O(text).
Fingerprint read_fingerprint(std::string_view out_tail, std::string_view err_tail);

/// `bytes` as UTF-8 on one line: what is no UTF-8, and control characters (a terminal would obey them),
/// become U+FFFD; tabs become blanks.
std::string safe_line(std::string_view bytes);

}  // namespace sickbay
