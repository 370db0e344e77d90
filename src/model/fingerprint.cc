// SPDX-License-Identifier: Apache-2.0
// One reader per speaker.  Each looks at one line and gives a clue with a weight, or nothing.  Programs,
// their languages and libraries, which say why, have a table of their own: failure_text.cc.
#include "model/fingerprint.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/srun_message.h"

namespace sickbay {
namespace {

constexpr std::size_t kLongestLine = 4096;  ///< longer ones are read up to here

constexpr std::size_t kMostNames = 1024;  ///< of nodes or tasks on one line

/// Heaviest first.  Between equals the first in the text wins: it is the cause of those after it.
enum Weight : int {
  weight_none = 0,
  weight_swept,      ///< SIGKILL, SIGTERM: often the consequence of another death
  weight_exit_code,  ///< a task ended with a code, or the step was ended: whichever is said first
  weight_aborted,    ///< MPI says that it gives up
  weight_limit,      ///< Slurm ended the job: time, memory
  weight_signal,     ///< a fault of the program's own, without a node
  weight_task,       ///< the same with rank and node
  weight_node,       ///< Slurm says that a node failed
};

struct Clue {
  int weight = weight_none;
  std::optional<int> rank{}, signal{};
  std::string node{};
  bool out_of_memory = false;
};

/// The number that `text` begins with.
std::optional<int> leading_number(std::string_view text) {
  int value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && digits < 9 && is_digit(text[digits]); ++digits)
    value = value * 10 + (text[digits] - '0');
  return digits > 0 ? std::optional(value) : std::nullopt;
}

std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const auto rest = text_after(text, mark);
  return rest ? leading_number(*rest) : std::nullopt;
}

/// The name that `text` begins with, as host names go.
std::string leading_name(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && n < 255 &&
         (is_digit(text[n]) || (to_lower(text[n]) >= 'a' && to_lower(text[n]) <= 'z') || text[n] == '-' ||
          text[n] == '_' || text[n] == '.'))
    ++n;
  return std::string(text.substr(0, n));
}

Clue signal_clue(std::optional<int> signal, std::optional<int> rank, std::string node) {
  Clue clue{.rank = rank, .signal = signal, .node = std::move(node)};
  const bool own = signal && is_own_fault(*signal);
  clue.weight = !own ? weight_swept : (clue.rank || !clue.node.empty()) ? weight_task : weight_signal;
  return clue;
}

/// srun and slurmstepd.
std::optional<Clue> read_slurm(std::string_view line) {
  using Kind = SrunMessage::Kind;
  const auto message = read_srun_message(line, kMostNames);
  if (!message) return std::nullopt;
  Clue clue;
  // More than one node or task on a line: it does not say which.
  if (message->nodes.size() == 1) clue.node = message->nodes[0];
  if (message->tasks.size() == 1) clue.rank = message->tasks[0];
  switch (message->kind) {
    case Kind::task_signal: {
      clue.signal = message->number;
      clue.weight = is_own_fault(message->number) ? weight_task : weight_swept;
      break;
    }
    // Where a task ends badly srun ends the step, which slurmstepd then tells as a step that was cancelled.
    case Kind::task_exit:
    case Kind::cancelled:
      clue.weight = weight_exit_code;
      break;
    case Kind::task_oom:
      clue.signal = message->number;
      clue.weight = weight_limit;
      clue.out_of_memory = true;
      break;
    case Kind::launch_failed:
    case Kind::node_failure:
    case Kind::lost_node:
      clue.weight = weight_node;
      break;
    case Kind::oom_kill:
      clue.weight = weight_limit;
      clue.out_of_memory = true;
      break;
    case Kind::time_limit:
    case Kind::refused:
    case Kind::cannot_exec:
      clue.weight = weight_limit;
      break;
  }
  return clue;
}

/// UCX, under MPICH and Open MPI: "[n3:18650:0:18650] Caught signal 11 (Segmentation fault: ...)".
std::optional<Clue> read_ucx(std::string_view line) {
  const auto signal = number_after(line, "Caught signal ");
  if (!signal || line.empty() || line.front() != '[') return std::nullopt;
  return signal_clue(signal, {}, leading_name(line.substr(1)));
}

/// MPICH: hydra's report, MPI_Abort, and the head of an error stack.
std::optional<Clue> read_mpich(std::string_view line) {
  if (const auto words = text_after(line, "APPLICATION TERMINATED WITH THE EXIT STRING: ")) {
    const auto signal = number_after(*words, "(signal ");
    if (signal) return signal_clue(signal, {}, "");
    return Clue{.weight = weight_exit_code};
  }
  if (line.substr(0, 6) ==
      "Abort(") {  // "Abort(1) on node 2 (rank 2 in comm 0): application called MPI_Abort"
    Clue clue{.weight = weight_aborted};
    clue.rank = number_after(line, "(rank ");
    return clue;
  }
  if (line.substr(0, 15) == "Fatal error in " || line.find("Assertion failed in file ") != line.npos) {
    Clue clue{.weight = weight_aborted};
    clue.rank = number_after(line, "rank ");
    return clue;
  }
  return std::nullopt;
}

/// Open MPI: mpirun's report and the handler's "[n3:12345] Signal: Segmentation fault (11)".
std::optional<Clue> read_open_mpi(std::string_view line) {
  if (const auto rest = text_after(line, "noticed that process rank ")) {
    const auto node = text_after(*rest, " on node ");
    return signal_clue(number_after(line, "exited on signal "), leading_number(*rest),
                       node ? leading_name(*node) : "");
  }
  if (const auto rest = text_after(line, "] Signal: "); rest && line.front() == '[')
    return signal_clue(number_after(*rest, "("), {}, leading_name(line.substr(1)));
  if (const auto rest = text_after(line, "MPI_ABORT was invoked on rank "))
    return Clue{.weight = weight_aborted, .rank = leading_number(*rest)};
  return std::nullopt;
}

/// The batch script's shell: "slurm_script: line 5: 12345 Segmentation fault      (core dumped) ./a.out".
std::optional<Clue> read_shell(std::string_view line) {
  const auto rest = text_after(line, ": line ");
  if (!rest) return std::nullopt;
  auto words = text_after(*rest, ": ");
  if (!words) return std::nullopt;
  // The process id stands between; where there is none, it is another message of the shell.
  const auto begin = words->find_first_not_of(" 0123456789");
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  *words = words->substr(begin);
  // Two blanks part the signal's words from the command.
  const int signal = signal_of_words(words->substr(0, std::min(words->find("  "), words->size())));
  if (signal == 0) return std::nullopt;
  return signal_clue(signal, {}, "");
}

/// libgfortran's handler: "Program received signal SIGSEGV: Segmentation fault - invalid memory reference."
std::optional<Clue> read_gfortran(std::string_view line) {
  constexpr std::string_view kMark = "Program received signal ";
  constexpr int kMostSignals = 31;
  if (!line.starts_with(kMark)) return std::nullopt;
  const std::string_view rest = line.substr(kMark.size());
  const std::string_view name = rest.substr(0, rest.find(':'));
  for (int signal = 1; signal <= kMostSignals; ++signal)
    if (signal_name(signal) == name) return signal_clue(signal, {}, "");
  return std::nullopt;
}

constexpr auto kReaders = std::to_array<std::optional<Clue> (*)(std::string_view)>(
    {read_slurm, read_ucx, read_mpich, read_open_mpi, read_gfortran, read_shell});

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Appends the last lines of `lines`, at most `count` of them and `bytes` of bytes; empty ones are left out.
void append_tail(std::vector<std::string>& to, const std::vector<std::string_view>& lines, std::size_t count,
                 std::size_t bytes) {
  std::vector<std::string> kept;
  for (auto it = lines.rbegin(); it != lines.rend() && kept.size() < count; ++it) {
    if (trimmed(*it).empty()) continue;
    std::string line = safe_line(it->substr(0, bytes));
    // The newest lines have the room; what does not fit ends it, so that no line is left out between two.
    if (line.size() > bytes) break;
    bytes -= line.size();
    kept.push_back(std::move(line));
  }
  to.insert(to.end(), std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

/// Length of the well-formed UTF-8 sequence at the front of `bytes`; 0 when there is none (Unicode, table
/// 3-7).
std::size_t utf8_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : (first & 0xf0) == 0xe0         ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

}  // namespace

std::string safe_line(std::string_view bytes) {
  std::string line;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const auto first = static_cast<unsigned char>(bytes[0]);
    const bool c1_control = length == 2 && first == 0xc2 && static_cast<unsigned char>(bytes[1]) < 0xa0;
    if (first == '\t')
      line += ' ';
    else if (first == '\r' && bytes.size() == 1)
      break;  // the end of a line from another system
    else if (length == 0 || c1_control || first < ' ' || first == 0x7f)
      line += "\uFFFD";
    else
      line += bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

// A line is of the first reader that knows it.  Of all clues the heaviest decides, and names the line.
Fingerprint read_fingerprint(std::string_view out_tail, std::string_view err_tail) {
  const auto out = lines_of(out_tail), err = lines_of(err_tail);
  Fingerprint found;
  Clue best;
  std::string_view deciding;
  FailureReader reasons;
  // Error output first: between equals the first wins, and srun speaks there.
  for (const auto* lines : {&err, &out}) {
    for (std::string_view line : *lines) {
      line = line.substr(0, kLongestLine);
      reasons.read(line);
      for (const auto reader : kReaders) {
        const auto clue = reader(line);
        if (!clue) continue;
        if (clue->weight > best.weight) {
          best = *clue;
          deciding = line;
        }
        break;
      }
    }
    reasons.end();
  }
  found.rank = best.rank;
  found.signal = best.signal;
  found.out_of_memory = best.out_of_memory;
  if (!best.node.empty()) found.node = best.node;
  if (best.signal) found.signal_name = signal_name(*best.signal);
  found.cause = reasons.best().words;
  found.cause_tells = reasons.best().telling;
  // Where no launcher speaks, the program's own word is what there is.
  found.message = safe_line(trimmed(deciding.empty() ? std::string_view(reasons.best().line) : deciding));

  // Half for each; what one does not need the other may have.
  const auto need = [](const auto& lines) {
    return std::min<std::size_t>(
        kFingerprintLines, static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](auto line) {
          return !trimmed(line).empty();
        })));
  };
  const std::size_t err_lines =
      std::min(need(err), std::max(kFingerprintLines / 2, kFingerprintLines - need(out)));
  const std::size_t err_bytes = need(out) == 0 ? kFingerprintBytes : kFingerprintBytes / 2;
  const std::size_t out_bytes = err_lines == 0 ? kFingerprintBytes : kFingerprintBytes / 2;
  append_tail(found.last_lines, out, kFingerprintLines - err_lines, out_bytes);
  append_tail(found.last_lines, err, err_lines, err_bytes);
  return found;
}

}  // namespace sickbay
