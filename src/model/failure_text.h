// SPDX-License-Identifier: Apache-2.0
// FailureText: what a program, the run-time system of its language or a library says of why it ended.
//
// srun and Slurm say who died, and of which signal or code (srun_message.h).  Why it died stands in other
// lines, and each language has its own: a Fortran runtime error, a failed assertion, the last line of a
// Python traceback, the end of an error stack of MPICH.  Each form is a row of a table in failure_text.cc.
// Some take several lines, and the lines of other ranks may stand between them. All of it is a user's text: a
// clue for people and for comparing runs, never proof.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sickbay {

/// How much a message tells.  The names are those of the journal and of the API ("cause_tells").
enum class Telling : std::uint8_t {
  nothing,
  follows,   ///< what another end brings about: a connection that is gone, a signal of the launcher
  gives_up,  ///< the program ended itself, without a word on why
  says,      ///< why it ended
};
std::string_view to_string(Telling telling);
/// The value of a name; `nothing` for a name that is unknown.
Telling telling_from(std::string_view name);

struct FailureText {
  Telling telling = Telling::nothing;
  std::string words;  ///< fit for a sentence, without addresses: "MPI_Send: Invalid rank has value 2 ..."
  std::string line;   ///< the line that it was read from
};

inline constexpr std::size_t kMostFailureWords = 200;  ///< bytes of FailureText::words

/// Corruption of the heap shows in one message or another of glibc, as chance has it: the words of all of
/// them begin with this.
inline constexpr std::string_view kHeapIsCorrupt = "the heap is corrupted";

/// Reads an output line by line, and keeps the message that tells most; between equals the first, for it is
/// the cause of those after it.  Total.  O(bytes read); what it keeps is bounded.
class FailureReader {
 public:
  /// `line` without its line end.
  void read(std::string_view line);
  /// The text is over: what follows belongs to another one.
  void end();
  const FailureText& best() const { return best_; }

 private:
  /// A message that goes on in later lines.
  struct Open {
    int lines = 0;          ///< so many more lines may belong to it; 0: it is not open
    std::uint64_t of = 0;   ///< the message that they are about, by number: 0 for one that was not kept
    std::string name = {};  ///< what the first line told
  };

  void go_on(std::string_view line);
  bool goes_on_in_traceback(std::string_view line);
  void begin(std::size_t form, std::string_view line, std::string_view rest);
  std::uint64_t offer(Telling telling, std::string_view words, std::string_view line);
  void refine(const Open& open, std::string_view words);

  FailureText best_;
  std::uint64_t offers_ = 0, kept_ = 0;  ///< numbers of messages: offered so far; the one in best_
  Open place_, exception_, traceback_, stack_, call_;
  bool has_frame_ = false;         ///< of the traceback: a line of it was read
  std::uint64_t last_raised_ = 0;  ///< the message of the last traceback
};

}  // namespace sickbay
