// SPDX-License-Identifier: Apache-2.0
// A row for each form; the first that fits a line is taken.  Forms are anchored at the line's beginning, but
// for a few whose first word is the name of a program or a file.
#include "model/failure_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "model/fingerprint.h"
#include "model/mpi_call.h"

namespace sickbay {
namespace failure_text {  // (of its own: other parsers have forms, too)
namespace {

constexpr std::size_t kLongestLine = 4096;  ///< longer ones are read up to here

// How many lines later a message may go on: other ranks speak in between.
constexpr int kPlaceLines = 1, kExceptionLines = 8, kTracebackLines = 400, kStackLines = 64, kCallLines = 16;

constexpr auto kTellings = std::to_array<std::string_view>({"", "follows", "gives_up", "says"});
static_assert(kTellings.size() == static_cast<std::size_t>(Telling::says) + 1);

bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; }

std::size_t count_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return n;
}

/// `text` up to the first of `marks`, which stand before what differs from run to run.
template <std::size_t N>
std::string_view up_to(std::string_view text, const std::array<std::string_view, N>& marks) {
  for (const std::string_view mark : marks) text = text.substr(0, text.find(mark));
  return text;
}

/// The last part of a path: folders differ between a user's runs, and are long.
std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The line without what launchers put before it: "3: " of srun --label, "[rank0]: " of torchrun.
std::string_view without_label(std::string_view line) {
  const std::size_t digits = count_digits(line);
  if (digits > 0 && digits < 8 && line.substr(digits, 2) == ": ") return line.substr(digits + 2);
  constexpr std::string_view kRank = "[rank";
  if (line.starts_with(kRank)) {
    const std::size_t n = count_digits(line.substr(kRank.size()));
    if (n > 0 && line.substr(kRank.size() + n, 3) == "]: ") return line.substr(kRank.size() + n + 3);
  }
  return line;
}

/// The line without Open MPI's "[n3:12345] ".
std::string_view without_speaker(std::string_view line) {
  constexpr std::size_t kLongest = 300;
  if (!line.starts_with('[')) return line;
  const std::size_t end = line.substr(0, kLongest).find("] ");
  return end == std::string_view::npos ? line : line.substr(end + 2);
}

// --- words: what is said of a line that fits.  `rest` is what stands behind the marks of its row.

using Words = std::string (*)(std::string_view line, std::string_view rest);

std::string whole_line(std::string_view line, std::string_view) { return std::string(trimmed(line)); }
std::string the_rest(std::string_view, std::string_view rest) { return std::string(trimmed(rest)); }
std::string heap_words(std::string_view line, std::string_view) {
  return std::string(kHeapIsCorrupt) + " (" + std::string(trimmed(line)) + ")";
}
/// glibc before 2.26: "*** Error in `./a.out': double free or corruption (out): 0x0000000001c6a010 ***".
std::string old_heap_words(std::string_view, std::string_view rest) {
  return heap_words(up_to(rest, std::to_array<std::string_view>({": 0x", " ***"})), "");
}
std::string smashed_words(std::string_view, std::string_view) {
  return "stack smashing detected: a variable on the stack was written beyond its end";
}
std::string overflow_words(std::string_view, std::string_view) {
  return "buffer overflow detected by the C library";
}
std::string exception_words(std::string_view, std::string_view rest) {
  return "uncaught exception " + std::string(rest.substr(0, rest.find('\'')));
}
std::string typed_exception_words(std::string_view, std::string_view rest) {
  return "uncaught exception " + std::string(trimmed(rest));
}
/// "a.out: solve.c:12: main: Assertion `n > 0' failed.": without the program's name.
std::string assertion_words(std::string_view line, std::string_view) {
  const std::size_t colon = line.find(": ");
  const std::string_view after = line.substr(colon + 2);
  return std::string(trimmed(after.starts_with("Assertion `") ? line : after));
}
/// "AddressSanitizer: heap-buffer-overflow on address 0x602000000038 at pc ...".
std::string sanitizer_words(std::string_view, std::string_view rest) {
  return std::string(trimmed(up_to(
      rest, std::to_array<std::string_view>({" on address 0x", " on unknown address", " (pid=", " 0x"}))));
}
/// "file.c:5:12: runtime error: division by zero": without the folder of the file.
std::string undefined_words(std::string_view line, std::string_view rest) {
  const std::string_view place = line.substr(0, line.size() - rest.size());
  return std::string(base_name(place)) + std::string(trimmed(rest));
}
std::string shell_words(std::string_view line, std::string_view) {
  constexpr std::string_view kLine = ": line ";
  const std::size_t at = line.find(kLine);
  if (at == std::string_view::npos) return std::string(trimmed(line));
  return std::string(trimmed(line.substr(at + 2)));
}
std::string memory_words(std::string_view, std::string_view) {
  return "out of memory: the kernel killed a process for the memory that the job may use";
}
std::string abort_words(std::string_view, std::string_view rest) {
  // "MPI_COMM_WORLD, 3) - process 2"; the code may be negative.
  const std::size_t comma = rest.find(", ");
  const std::string_view code = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  const std::size_t minus = code.starts_with('-') ? 1 : 0;
  const std::size_t digits = count_digits(code.substr(minus));
  std::string words = "the program called MPI_Abort";
  if (digits > 0) words += ", code " + std::string(code.substr(0, minus + digits));
  return words;
}
std::string ucx_words(std::string_view, std::string_view rest) { return "UCX: " + the_rest("", rest); }
/// "Assertion `x == 0' failed: region 0x55..": what follows is of this run alone.
std::string ucx_assertion_words(std::string_view, std::string_view rest) {
  constexpr std::string_view kFailed = "' failed";
  return "UCX: Assertion `" + std::string(rest.substr(0, rest.find(kFailed))) + std::string(kFailed);
}
std::string tcp_words(std::string_view line, std::string_view) {
  return "Open MPI: " + std::string(line.substr(line.rfind("mca_btl_tcp_")));
}
std::string after_stars(std::string_view line, std::string_view) {
  return std::string(trimmed(without_speaker(line).substr(4)));
}

// --- further conditions

using Check = bool (*)(std::string_view line, std::string_view rest);

bool any_line(std::string_view, std::string_view) { return true; }
bool is_over(std::string_view, std::string_view rest) { return rest.empty() || rest.front() == ' '; }
/// gfortran's STOP with a code other than 0: "STOP 3".  A text is how many programs end well.
bool is_code(std::string_view, std::string_view rest) {
  rest = trimmed(rest);
  return !rest.empty() && rest.size() < 10 && count_digits(rest) == rest.size() &&
         rest.find_first_not_of('0') != std::string_view::npos;
}
/// "==4711==ERROR: ": only digits between the marks.
bool has_process(std::string_view line, std::string_view) {
  const std::size_t n = count_digits(line.substr(2));
  return n > 0 && line.substr(2 + n, 2) == "==";
}
/// "file.c:5:12: runtime error: ".
bool has_place(std::string_view line, std::string_view) {
  const std::string_view place = line.substr(0, line.find(": runtime error: "));
  return !place.empty() && is_digit(place.back()) && place.find(':') != std::string_view::npos &&
         place.find(' ') == std::string_view::npos;
}
/// The launcher's signals tell of another's end.
bool is_interrupt(std::string_view, std::string_view rest) {
  return rest.find("(SIGTERM)") != std::string_view::npos ||
         rest.find("(SIGINT)") != std::string_view::npos || rest.find("(SIGKILL)") != std::string_view::npos;
}
bool is_command_missing(std::string_view line, std::string_view) {
  return line.find(": line ") != std::string_view::npos;
}

/// What a form begins, where it goes on in later lines.
enum class Begins : std::uint8_t { nothing, place, fortran, exception, traceback, stack, call, mpi_class };

struct Form {
  std::string_view lead;  ///< the line begins with it
  std::string_view part;  ///< and has it behind that; "" for none
  std::string_view tail;  ///< and ends with it; "" for none
  Telling telling;
  Words words = whole_line;
  Begins begins = Begins::nothing;
  Check check = any_line;
};

using enum Telling;
// Real text of each stands in failure_text_test.cc.
constexpr auto kForms = std::to_array<Form>({
    // Fortran: libgfortran, Intel
    {"At line ", " of file ", "", gives_up, whole_line, Begins::place},
    {"Fortran runtime error: ", "", "", says, whole_line, Begins::fortran},
    {"ERROR STOP", "", "", says, whole_line, Begins::nothing, is_over},
    {"STOP ", "", "", says, whole_line, Begins::nothing, is_code},
    {"forrtl: ", "process ", "", follows, whole_line, Begins::nothing, is_interrupt},
    {"forrtl: severe (", "", "", says},
    {"forrtl: error (", "", "", says},
    // glibc
    {"*** stack smashing detected ***", "", "", says, smashed_words},
    {"*** buffer overflow detected ***", "", "", says, overflow_words},
    {"double free or corruption", "", "", says, heap_words},
    {"corrupted size vs. prev_size", "", "", says, heap_words},
    {"corrupted double-linked list", "", "", says, heap_words},
    {"free(): ", "", "", says, heap_words},
    {"malloc(): ", "", "", says, heap_words},
    {"realloc(): ", "", "", says, heap_words},
    {"malloc_consolidate(): ", "", "", says, heap_words},
    {"munmap_chunk(): ", "", "", says, heap_words},
    {"mremap_chunk(): ", "", "", says, heap_words},
    {"*** Error in `", "': ", "", says, old_heap_words},
    // C, C++
    {"", ": Assertion `", "' failed.", says, assertion_words},
    {"Assertion failed: ", "", "", says},
    {"terminate called after throwing an instance of '", "", "", says, exception_words, Begins::exception},
    {"terminate called without an active exception", "", "", says},
    {"terminate called recursively", "", "", says},
    {"libc++abi: terminating", "exception of type ", "", says, typed_exception_words},
    {"pure virtual method called", "", "", says},
    // sanitizers
    {"==", "==ERROR: ", "", says, sanitizer_words, Begins::nothing, has_process},
    {"==", "==WARNING: ", "", says, sanitizer_words, Begins::nothing, has_process},
    {"WARNING: ThreadSanitizer: ", "", "", says,
     [](std::string_view, std::string_view rest) { return "ThreadSanitizer: " + sanitizer_words("", rest); }},
    {"", ": runtime error: ", "", says, undefined_words, Begins::nothing, has_place},
    // Python
    {"Traceback (most recent call last):", "", "", nothing, whole_line, Begins::traceback},
    {"SyntaxError: ", "", "", says},
    {"IndentationError: ", "", "", says},
    {"Fatal Python error: ", "", "", says},
    // MPICH and those that stand on it
    {"Abort(", ": Fatal error in ", "", says, whole_line, Begins::stack},
    {"Fatal error in ", "", "", says, whole_line, Begins::stack},
    {"Abort(", "application called MPI_Abort(", "", gives_up, abort_words},
    {"application called MPI_Abort(", "", "", gives_up, abort_words},
    {"Assertion failed in file ", "", "", says},
    {"Attempting to use an MPI routine ", "", "", says},
    // Open MPI
    {"*** An error occurred in ", "", "", nothing, whole_line, Begins::call},
    {"*** MPI_ERR_", "", "", says, after_stars, Begins::mpi_class},
    {"*** The MPI_", "", "", says, after_stars},
    {"MPI_ABORT was invoked on rank ", "", "", gives_up,
     [](std::string_view, std::string_view) { return std::string("the program called MPI_Abort"); }},
    {"ORTE has lost communication with a remote daemon", "", "", follows},
    {"PRTE has lost communication with a remote daemon", "", "", follows},
    {"A process or daemon was unable to complete a TCP connection", "", "", follows},
    {"[", "mca_btl_tcp_", "", follows, tcp_words},
    // UCX
    {"[", " UCX  ERROR ", "", follows, ucx_words},
    {"[", " Assertion `", "", says, ucx_assertion_words},
    // Slurm, the loader and the shell: it never came to its first line, or not to its last one
    {"slurmstepd", "oom_kill event", "", says, memory_words},
    {"slurmstepd", "oom-kill event", "", says, memory_words},
    {"srun: error: ", ": Out Of Memory", "", says, memory_words},
    {"slurmstepd", "execve(): ", "", says,
     [](std::string_view,
        std::string_view rest) { return "the program could not be started: " + the_rest("", rest); }},
    {"", "error while loading shared libraries: ", "", says,
     [](std::string_view,
        std::string_view rest) { return "error while loading shared libraries: " + the_rest("", rest); }},
    {"", ": symbol lookup error: ", "", says,
     [](std::string_view, std::string_view rest) { return "symbol lookup error: " + the_rest("", rest); }},
    // (Scripts go on after it: `module` is missing where nobody needs it.)
    {"", ": command not found", "", follows, shell_words, Begins::nothing, is_command_missing},
    {"", ": line ", ": No such file or directory", follows, shell_words},
    {"", "sh: ", ": not found", follows, the_rest},
});

/// What stands behind the marks of `form` in `line`, or nothing where it does not fit.
std::optional<std::string_view> rest_of(const Form& form, std::string_view line) {
  if (!line.starts_with(form.lead) || !line.ends_with(form.tail)) return std::nullopt;
  std::string_view rest = line.substr(form.lead.size());
  if (form.lead == "==") rest = line;  // "==4711==ERROR: ": the second mark may begin within the first
  if (!form.part.empty()) {
    const std::size_t at = rest.find(form.part);
    if (at == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(at + form.part.size());
  }
  return form.check(line, rest) ? std::optional(rest) : std::nullopt;
}

/// MPICH's "internal_Send", Intel's "PMPI_Send": "MPI_Send".
std::string name_of_call(std::string_view name) {
  std::size_t n = 0;
  while (n < name.size() && n < 80 && is_word_char(name[n])) ++n;
  name = name.substr(0, n);
  constexpr std::string_view kInternal = "internal_";
  if (name.starts_with(kInternal)) return "MPI_" + std::string(name.substr(kInternal.size()));
  return mpi_call(name).value_or(std::string(name));
}

/// The text of a line of MPICH's error stack, "internal_Send(78).: Invalid rank has value 2 ..."; nothing for
/// another line.  The text may be empty.
std::optional<std::string_view> text_in_stack(std::string_view line) {
  constexpr std::string_view kUnknown = "(unknown)";
  std::size_t at = 0;
  if (line.starts_with(kUnknown))
    at = kUnknown.size();
  else
    while (at < line.size() && at < 120 && is_word_char(line[at])) ++at;
  if (at == 0 || line.substr(at, 1) != "(") return std::nullopt;
  ++at;
  at += count_digits(line.substr(at));
  if (line.substr(at, 1) != ")") return std::nullopt;
  ++at;
  while (at < line.size() && line[at] == '.') ++at;
  if (line.substr(at, 1) != ":") return std::nullopt;
  return trimmed(line.substr(at + 1));
}

/// The line with which a Python traceback ends: "ValueError: bad matrix", "mpi4py.MPI.Exception: ...".
bool is_raised(std::string_view line) {
  std::size_t n = 0;
  while (n < line.size() && is_word_char(line[n])) ++n;
  if (n == 0 || !is_letter(line.front())) return false;
  const std::string_view name = line.substr(0, n);
  const bool like_a_class = name.find('.') != std::string_view::npos || name.ends_with("Error") ||
                            (name.front() >= 'A' && name.front() <= 'Z');
  return like_a_class && (n == line.size() || line.substr(n, 2) == ": " || line.substr(n) == ":");
}

// Fit to be shown, and no longer than what is kept.
std::string bounded(std::string_view words) {
  return std::string(whole_characters(safe_line(trimmed(words)), kMostFailureWords));
}

}  // namespace
}  // namespace failure_text

std::string_view to_string(Telling telling) {
  return failure_text::kTellings[static_cast<std::size_t>(telling)];
}

Telling telling_from(std::string_view name) {
  const auto at = std::find(failure_text::kTellings.begin(), failure_text::kTellings.end(), name);
  return at == failure_text::kTellings.end() ? Telling::nothing
                                             : static_cast<Telling>(at - failure_text::kTellings.begin());
}

std::uint64_t FailureReader::offer(Telling telling, std::string_view words, std::string_view line) {
  const std::uint64_t number = ++offers_;
  if (telling <= best_.telling) return 0;
  // Behind a known beginning nothing may stand: then the line is all that it says.
  std::string said = failure_text::bounded(words);
  if (said.empty()) said = failure_text::bounded(line);
  if (said.empty()) return 0;
  kept_ = number;
  best_.telling = telling;
  best_.line = std::string(line);
  best_.words = std::move(said);
  return number;
}

void FailureReader::refine(const Open& open, std::string_view words) {
  if (open.of == 0 || open.of != kept_) return;
  if (std::string said = failure_text::bounded(words); !said.empty()) best_.words = std::move(said);
}

// A later line of a traceback.  True where it is one of it.
bool FailureReader::goes_on_in_traceback(std::string_view line) {
  if (line.starts_with(' ') || line.starts_with('\t')) {
    has_frame_ = has_frame_ || line.starts_with("  File ");
    return has_frame_;
  }
  if (!has_frame_ || !failure_text::is_raised(line)) return false;
  traceback_.lines = 0;
  // Ctrl-C and the launcher's SIGINT: another's doing.
  const Telling telling = line.starts_with("KeyboardInterrupt") ? Telling::follows : Telling::says;
  // Of exceptions that were raised for each other the last one ended it (traceback_.of: the one before).
  if (traceback_.of != 0 && telling == Telling::says) {
    refine(traceback_, trimmed(line));
    last_raised_ = traceback_.of;
  } else {
    last_raised_ = offer(telling, trimmed(line), line);
  }
  traceback_.of = 0;
  return true;
}

// Lines that may belong to a message that an earlier one began.
void FailureReader::go_on(std::string_view line) {
  if (exception_.lines > 0) {
    --exception_.lines;
    constexpr std::string_view kWhat = "what():  ";
    if (const std::string_view text = trimmed(line); text.starts_with(kWhat)) {
      refine(exception_, exception_.name + ": " + std::string(text.substr(kWhat.size())));
      exception_.lines = 0;
    }
  }
  if (stack_.lines > 0) {
    const auto text = failure_text::text_in_stack(line);
    // A stack is written at once: what is no line of it ends it, for a program may print "step(3): 0.5".
    stack_.lines = text ? stack_.lines - 1 : 0;
    // (The first line of it is the call with its arguments, which are addresses for the most part.)
    if (text && !text->empty() && !(text->starts_with("MPI_") && text->ends_with(" failed")))
      refine(stack_, stack_.name + ": " + std::string(*text));
  }
  if (call_.lines > 0) --call_.lines;
  if (traceback_.lines > 0) --traceback_.lines;
}

void FailureReader::begin(std::size_t form, std::string_view line, std::string_view rest) {
  const failure_text::Form& row = failure_text::kForms[form];
  switch (row.begins) {
    case failure_text::Begins::nothing:
      offer(row.telling, row.words(line, rest), line);
      break;
    case failure_text::Begins::place: {
      // "At line 13 of file solve.f90 (unit = 10, file = 'x')"
      const std::string_view number = line.substr(row.lead.size());
      const std::size_t digits = failure_text::count_digits(number);
      const std::string_view file =
          trimmed(failure_text::up_to(rest, std::to_array<std::string_view>({" ("})));
      if (digits == 0 || file.empty()) break;
      place_ = {failure_text::kPlaceLines, 0,
                "line " + std::string(number.substr(0, digits)) + " of " +
                    std::string(failure_text::base_name(file))};
      break;
    }
    case failure_text::Begins::fortran:
      offer(row.telling, std::string(trimmed(line)) + (place_.name.empty() ? "" : " (" + place_.name + ")"),
            line);
      break;
    case failure_text::Begins::exception: {
      const std::string words = row.words(line, rest);
      const std::uint64_t kept = offer(row.telling, words, line);
      // (Of several ranks the first one's is kept, whoever's text comes next.)
      if (kept != 0 || exception_.lines == 0) exception_ = {failure_text::kExceptionLines, kept, words};
      break;
    }
    case failure_text::Begins::traceback:
      // (A second rank's may begin within the first one's: whichever is read to its end first is told.)
      traceback_.lines = failure_text::kTracebackLines;
      has_frame_ = false;
      break;
    case failure_text::Begins::stack: {
      // "internal_Send: Invalid rank, error stack:"
      const std::size_t colon = rest.find(": ");
      std::string call = failure_text::name_of_call(rest);
      std::string_view what = colon == std::string_view::npos ? "" : rest.substr(colon + 2);
      what = trimmed(failure_text::up_to(what, std::to_array<std::string_view>({", error stack"})));
      // An error of the network below, which most often is another rank's end.
      const bool other = what.starts_with("Other MPI error") || what.starts_with("Unknown error");
      std::string words = what.empty() ? call + " failed" : call + ": " + std::string(what);
      stack_ = {failure_text::kStackLines, offer(other ? Telling::follows : row.telling, words, line),
                std::move(call)};
      break;
    }
    case failure_text::Begins::call:
      call_ = {failure_text::kCallLines, 0, failure_text::name_of_call(rest)};
      break;
    case failure_text::Begins::mpi_class: {
      // Errors of the network below, as above.
      const bool other = rest.starts_with("OTHER") || rest.starts_with("INTERN") ||
                         rest.starts_with("UNKNOWN") || rest.starts_with("PROC_FAILED");
      offer(other ? Telling::follows : row.telling,
            (call_.lines > 0 ? call_.name + ": " : "") + row.words(line, rest), line);
      break;
    }
  }
}

void FailureReader::read(std::string_view line) {
  line = failure_text::without_label(line.substr(0, failure_text::kLongestLine));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  go_on(line);
  if (traceback_.lines > 0 && goes_on_in_traceback(line)) return;
  if (last_raised_ != 0 && (line.starts_with("During handling of the above exception") ||
                            line.starts_with("The above exception was the direct cause"))) {
    traceback_.of = last_raised_;
    last_raised_ = 0;
    return;
  }
  const std::string_view spoken = failure_text::without_speaker(line);
  bool fitted = false;
  for (std::size_t i = 0; i < failure_text::kForms.size() && !fitted; ++i) {
    // Open MPI's own lines have a speaker before them.
    const std::string_view text = failure_text::kForms[i].lead.starts_with("*** ") ? spoken : line;
    const auto rest = failure_text::rest_of(failure_text::kForms[i], text);
    if (!rest) continue;
    fitted = true;
    // The place of the line before is no cause by itself where a warning follows.
    begin(i, text, *rest);
    if (failure_text::kForms[i].begins == failure_text::Begins::place) return;
  }
  if (place_.lines == 0) return;
  if (!line.starts_with("Fortran runtime "))
    offer(Telling::gives_up, "the Fortran program stopped at " + place_.name, place_.name);
  place_ = {};
}

void FailureReader::end() {
  if (place_.lines > 0)
    offer(Telling::gives_up, "the Fortran program stopped at " + place_.name, place_.name);
  place_ = exception_ = traceback_ = stack_ = call_ = {};
  has_frame_ = false;
  last_raised_ = 0;
}

}  // namespace sickbay
