// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/fingerprints.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/identify/failure_words.h"
#include "model/node_reason.h"
#include "model/srun_message.h"

namespace sickbay::identify {
namespace {

// One broken pointer shows as any of these, as chance or a library's handler has it.
constexpr auto kMemorySignals = std::to_array<int>({SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGTRAP});

constexpr auto kFailureWords = std::to_array<std::string_view>(
    {"error",    "fail",      "cannot",        "can't",     "could not", "unable",  "no such",  "exists",
     "denied",   "not found", "not permitted", "refused",   "invalid",   "illegal", "fatal",    "exception",
     "assert",   "abort",     "panic",         "traceback", "timed out", "timeout", "no space", "quota",
     "overflow", "undefined", "unexpected",    "corrupt",   "mismatch",  "killed"});

// Every launcher and every language begins its complaint with the same words, whatever it complains of.
// (Where a machine has several slurmd, theirs name the node: "slurmstepd-n3: ".)
constexpr auto kLauncherWords = std::to_array<std::string_view>(
    {"srun: ", "slurmstepd", "slurmd: ", "traceback (most recent", "abort(", "mpi_abort", "mpirun", "mpiexec",
     "prterun", "application terminated", "exit string", "bad termination", "caught signal",
     "] signal: ", "*** process received", "core dumped", "slurm_script: line"});

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = to_lower(c);
  return lower;
}

template <std::size_t N>
bool has_any(const std::string& text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

bool is_name_char(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '.' || c == '-' ||
         c == '/' || c == '~';
}

bool same_family(int a, int b) {
  const auto in = [](int s) {
    return std::find(kMemorySignals.begin(), kMemorySignals.end(), s) != kMemorySignals.end();
  };
  return a == b || (in(a) && in(b));
}

bool is_about_time(Symptom symptom) { return symptom == Symptom::stall || symptom == Symptom::abnormal_time; }

struct End {
  int code, signal;
  friend bool operator==(const End&, const End&) = default;
};

// Whether it tells of the launcher's sweeping alone: where one rank ends badly srun ends the others, and its
// own code is the greatest of all: 7, or 143 where the swept ones were heard in time.
bool is_swept(const End& end) {
  const int signal = end.signal != 0 ? end.signal : end.code - 128;
  return signal == SIGTERM || signal == SIGKILL;
}

// How it ended, as Slurm says: where the script ended with 0, the step that did not is what failed.
End end_for_slurm(const Run& run) {
  return run.symptom == Symptom::steps_failed ? End{run.job.step_exit_code, run.job.step_exit_signal}
                                              : End{run.job.exit_code, run.job.exit_signal};
}

// The same; where the code is that of ranks which were swept away, the one that died first.
End end_of(const Run& run) {
  const auto hidden = hidden_exit(run);
  return hidden ? End{hidden->code, 0} : end_for_slurm(run);
}

bool has_output(const Run& run) { return run.trace && !run.trace->last_lines.empty(); }

// What the two outputs say, where all that Slurm says of both is the same.
Likeness by_complaints(const Run& a, const Run& b) {
  const std::vector<std::string> of_a = complaints_of(a), of_b = complaints_of(b);
  if (of_a.empty() && of_b.empty()) return Likeness::same;
  if (of_a.empty() || of_b.empty()) return Likeness::unclear;
  const bool share = std::any_of(of_a.begin(), of_a.end(), [&](const std::string& line) {
    return std::find(of_b.begin(), of_b.end(), line) != of_b.end();
  });
  return share ? Likeness::same : Likeness::different;
}

// The signal of a rank is the strongest word, then the complaints of the output, then the exit code, which a
// script or srun may have made.
Likeness likeness_by_exit(const Run& a, const Run& b) {
  const int signal_a = fault_signal(a), signal_b = fault_signal(b);
  if (signal_a != 0 && signal_b != 0) {
    if (!same_family(signal_a, signal_b)) return Likeness::different;
    if (signal_a != signal_b) return Likeness::unclear;
    // The signal is the stronger word: other complaints beside it only make it doubtful.
    return by_complaints(a, b) == Likeness::different ? Likeness::unclear : Likeness::same;
  }
  if (signal_a != 0 || signal_b != 0)
    // A script may hide the signal in a code of its own; only its output would have told.
    return has_output(a) && has_output(b) ? Likeness::different : Likeness::unclear;
  const Likeness said = by_complaints(a, b);
  if (end_of(a) == end_of(b)) return said;
  // srun killed the other ranks, and which code came out of that is chance: the codes say nothing, the
  // outputs do.
  if (is_swept(end_of(a)) || is_swept(end_of(b))) {
    if (said == Likeness::different) return said;
    return said == Likeness::same && !complaints_of(a).empty() ? Likeness::same : Likeness::unclear;
  }
  // Another code with the same complaint may be one cause; another code and nothing else to compare is not.
  return said == Likeness::same && !complaints_of(a).empty() ? Likeness::unclear : Likeness::different;
}

}  // namespace

std::string_view to_string(Likeness likeness) {
  constexpr auto kNames = std::to_array<std::string_view>({"same", "unclear", "different"});
  return kNames[static_cast<std::size_t>(likeness)];
}

std::optional<FirstExit> hidden_exit(const Run& run) {
  const End slurms = end_for_slurm(run);
  if (!run.trace || !is_swept(slurms)) return std::nullopt;
  for (const std::string& line : run.trace->last_lines) {
    const auto message = read_srun_message(line);
    if (!message) continue;
    // (The same code is not hidden: a script that ends with 137 by itself.)
    if (message->kind != SrunMessage::Kind::task_exit || End{message->number, 0} == slurms)
      return std::nullopt;
    return FirstExit{message->number, message->tasks.size() == 1 ? message->tasks[0] : -1};
  }
  return std::nullopt;
}

// A shell hands a signal on as 128 + signal.
int fault_signal(const Run& run) {
  if (run.trace && is_own_fault(run.trace->signal)) return run.trace->signal;
  const End end = end_of(run);
  if (is_own_fault(end.signal)) return end.signal;
  return end.code > 128 && is_own_fault(end.code - 128) ? end.code - 128 : 0;
}

std::string normalised(std::string_view line, const std::vector<std::string>& hosts) {
  std::string text;
  const auto put = [&](std::string_view word) {
    if (!text.ends_with(word)) text += word;
  };
  for (std::size_t at = 0; at < line.size();) {
    if (!is_name_char(line[at])) {
      const char c = line[at++];
      if (c != ' ' && c != '\t')
        text += c;
      else
        put(" ");
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_name_char(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    at = end;
    // A path may hold the job's id, a copy's folder or a temporary name.
    if (word.find('/') != std::string_view::npos)
      put("/");
    else if (std::any_of(word.begin(), word.end(), is_digit) ||
             std::find(hosts.begin(), hosts.end(), word) != hosts.end())
      put("#");
    else
      text += lowered(word);
  }
  return std::string(trimmed(text));
}

std::vector<std::string> complaints_of(const Run& run) {
  std::vector<std::string> lines;
  if (!run.trace) return lines;
  // What it says of why it ended comes first: it may stand above the last lines, and needs no word of
  // failure. What only follows on another end differs by chance, and that it gave up all failures have in
  // common.
  if (says_why(run))
    lines.push_back(run.trace->cause.starts_with(kHeapIsCorrupt) ? std::string(kHeapIsCorrupt)
                                                                 : normalised(run.trace->cause, run.nodes));
  for (const std::string& line : run.trace->last_lines) {
    const std::string lower = lowered(line);
    if (has_any(lower, kLauncherWords) || !has_any(lower, kFailureWords)) continue;
    std::string plain = normalised(line, run.nodes);
    if (std::find(lines.begin(), lines.end(), plain) == lines.end()) lines.push_back(std::move(plain));
  }
  return lines;
}

Likeness likeness_of(const Run& a, const Run& b) {
  // A program that is too slow ends by its time limit in one run and later than expected in the other. No
  // other two symptoms are one cause.
  if (a.symptom != b.symptom)
    return is_about_time(a.symptom) && is_about_time(b.symptom) ? Likeness::unclear : Likeness::different;
  if (a.symptom == Symptom::wrong_result || a.symptom == Symptom::node_dead) return Likeness::same;
  if (!is_about_time(a.symptom)) return likeness_by_exit(a, b);
  // Both ran out of time: only a rank that died before in one of them makes it doubtful.
  return same_family(fault_signal(a), fault_signal(b)) ? Likeness::same : Likeness::unclear;
}

bool output_speaks_of_writing(const Run& run) {
  return run.trace && (speaks_of_writing(run.trace->message) || speaks_of_writing(run.trace->cause) ||
                       std::any_of(run.trace->last_lines.begin(), run.trace->last_lines.end(),
                                   [](const std::string& line) { return speaks_of_writing(line); }));
}

std::string named_node(const Run& run) {
  if (!run.trace || !has_host(run.nodes, run.trace->node)) return "";
  const bool lost = run.symptom == Symptom::node_dead && run.trace->signal == 0;
  return is_own_fault(run.trace->signal) || lost ? run.trace->node : "";
}

}  // namespace sickbay::identify
