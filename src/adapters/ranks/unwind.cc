// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/unwind.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fnv.h"
#include "model/mpi_call.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostUnwound = 1024;            // of a recursion without end the rest says no more
constexpr std::size_t kInnermost = kMostFrames - 17;  // named of a longer stack, with the outermost 16
constexpr std::size_t kMostFunction = 120;

// A frame before it has a name.
struct Place {
  Dwarf_Addr pc = 0;
  bool called = false;  // pc is where it goes on after a call
  std::uint64_t sp = 0;
  std::vector<std::uint64_t> kept;
};

// No server, no search for files of debugging symbols.
int no_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

void mix(std::uint64_t& digest, const void* bytes, std::size_t size) {
  digest = fnv64({static_cast<const char*>(bytes), size}, digest);
}
void mix(std::uint64_t& digest, std::uint64_t number) { mix(digest, &number, sizeof number); }

std::string readable(const char* symbol) {
  if (symbol[0] != '_' || symbol[1] != 'Z') return std::string(symbol).substr(0, kMostFunction);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                    &std::free);
  std::string text = status == 0 && name ? name.get() : symbol;
  // Without its parameters: a template's fill the line.  "operator()" keeps its own pair.
  const std::size_t from = text.starts_with('(') ? 1 : 0;
  std::size_t depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && depth > 0) --depth;
    if (text[i] == '(' && depth == 0 && i > 0 && !std::string_view(text).substr(0, i).ends_with("operator")) {
      text.resize(i);
      break;
    }
  }
  return text.substr(0, kMostFunction);
}

std::string file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

}  // namespace

struct Unwinder::Parts {
  struct Name {
    std::string function, module;
    bool program = false;
  };
  pid_t pid = 0;
  std::string program;  ///< path, as in the list of what is mapped
  Dwfl_Callbacks files{};
  Dwfl_Thread_Callbacks threads{};
  Dwfl* dwfl = nullptr;
  bool attached = false;
  std::map<Dwarf_Addr, Name> names;  ///< by the place that was looked up
  // Of the call under way.
  const Snapshot* snapshot = nullptr;
  std::vector<Place> places;

  ~Parts() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  static pid_t next_thread(Dwfl*, void* self, void** state) {
    if (*state != nullptr) return 0;
    *state = self;
    return static_cast<Parts*>(self)->snapshot->tid;
  }
  // Only the copy of the stack is read: the thread runs on meanwhile, and its memory is another by now.
  static bool memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
    const Snapshot& s = *static_cast<Parts*>(self)->snapshot;
    if (address < s.sp || s.stack.size() < sizeof *word || address - s.sp > s.stack.size() - sizeof *word)
      return false;
    std::memcpy(word, s.stack.data() + (address - s.sp), sizeof *word);
    return true;
  }
  static bool registers(Dwfl_Thread* thread, void* self) {
    const Snapshot& s = *static_cast<Parts*>(self)->snapshot;
    const std::vector<Dwarf_Word> words(s.registers.begin(), s.registers.begin() + s.register_count);
    dwfl_thread_state_register_pc(thread, s.pc);
    return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(words.size()), words.data());
  }
  static int frame(Dwfl_Frame* frame, void* self) {
    auto& places = static_cast<Parts*>(self)->places;
    Place place;
    bool activation = false;
    if (!dwfl_frame_pc(frame, &place.pc, &activation)) return DWARF_CB_ABORT;
    // (An activation: the innermost frame or one that a signal interrupted, where pc is the place itself.)
    place.called = !activation;
    Dwarf_Word word = 0;
    if (dwfl_frame_reg(frame, static_cast<unsigned>(stack_pointer_number()), &word) == 0) place.sp = word;
    for (const int number : kept_registers())
      place.kept.push_back(dwfl_frame_reg(frame, static_cast<unsigned>(number), &word) == 0 ? word : 0);
    places.push_back(std::move(place));
    return places.size() < kMostUnwound ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  const Name& name(const Place& place) {
    // Where it goes on after a call may be the next function already.
    const Dwarf_Addr at = place.pc - (place.called ? 1 : 0);
    const auto [entry, is_new] = names.try_emplace(at);
    Name& found = entry->second;
    if (!is_new) return found;
    Dwfl_Module* module = dwfl_addrmodule(dwfl, at);
    if (module == nullptr) {
      found.function = fmt::format("{:#x}", at);
      return found;
    }
    Dwarf_Addr begin = 0;
    const char* path = dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr, nullptr, nullptr);
    found.module = file_name(path != nullptr ? path : "");
    found.program = path != nullptr && program == path;
    const char* symbol = dwfl_module_addrname(module, at);
    found.function = symbol != nullptr && *symbol != '\0' ? readable(symbol)
                                                          : fmt::format("{}+{:#x}", found.module, at - begin);
    return found;
  }
};

Unwinder::Unwinder(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Unwinder::~Unwinder() = default;

Result<std::unique_ptr<Unwinder>> Unwinder::of(pid_t pid) {
  auto parts = std::make_unique<Parts>();
  parts->pid = pid;
  parts->files.find_elf = dwfl_linux_proc_find_elf;
  parts->files.find_debuginfo = no_debuginfo;
  parts->dwfl = dwfl_begin(&parts->files);
  if (parts->dwfl == nullptr) return fail(ErrorCode::os, dwfl_errmsg(-1));
  const int failed = dwfl_linux_proc_report(parts->dwfl, pid);
  if (failed != 0 || dwfl_report_end(parts->dwfl, nullptr, nullptr) != 0) {
    const std::string why = failed > 0 ? std::strerror(failed) : dwfl_errmsg(-1);
    return fail(failed == ENOENT || failed == ESRCH   ? ErrorCode::not_found
                : failed == EACCES || failed == EPERM ? ErrorCode::denied
                                                      : ErrorCode::os,
                "what the process has loaded cannot be listed: " + why);
  }
  parts->program = program_of(pid);
  return std::unique_ptr<Unwinder>(new Unwinder(std::move(parts)));
}

RankStack Unwinder::frames(const Snapshot& snapshot) {
  Parts& p = *parts_;
  p.snapshot = &snapshot;
  p.places.clear();
  bool to_the_end = false;
  // libdwfl takes one state for a process; which thread it is of is asked anew each time.
  if (!p.attached) {
    p.threads = {Parts::next_thread, nullptr, Parts::memory, Parts::registers, nullptr, nullptr};
    p.attached = dwfl_attach_state(p.dwfl, nullptr, p.pid, &p.threads, &p);
  }
  // 0: it ended by itself, at the first function or where no table says how to go on.
  if (p.attached) to_the_end = dwfl_getthread_frames(p.dwfl, snapshot.tid, Parts::frame, &p) == 0;
  // No table for the first place even: its address alone still says in which library it stands.
  if (p.places.empty()) p.places.push_back({snapshot.pc, false, snapshot.sp, {}});

  RankStack stack;
  stack.whole = to_the_end;
  const std::size_t all = p.places.size();
  std::size_t user = 0;  // the first frame outside all calls of MPI
  bool own_mpi = false;  // linked into the program: its variables change with every poll
  for (std::size_t i = 0; i < all; ++i) {
    if (all > kMostFrames && i >= kInnermost && i < all - 16) {
      if (i == kInnermost) stack.frames.push_back({"...", "", false});
      continue;
    }
    const Parts::Name& name = p.name(p.places[i]);
    if (mpi_call(name.function)) user = i + 1, own_mpi = name.program;
    stack.frames.push_back({name.function, name.module, name.program});
  }
  // What is compared between two looks: does the program outside MPI stand where it stood, with the same
  // values? Within a call of MPI everything moves with each poll.
  stack.held = kFnvBegin;
  if (user > 0 && !own_mpi) mix(stack.held, snapshot.data);
  if (user == all) return stack;  // nothing outside it was found: there is nothing to compare
  const Place& outside = p.places[user];
  if (user > 0 && outside.called) stack.back = outside.pc;
  for (std::size_t i = user; i < all; ++i) mix(stack.held, p.places[i].pc);
  for (const std::uint64_t word : outside.kept) mix(stack.held, word);
  // Of a stack that is longer than the copy, what the frames hold that were found: where the copy ends
  // depends on how deep the library stands.  Nor what lies beyond the outermost frame of a thread that is not
  // the first: its own variables, MPI's among them, and the processor on which it runs (rseq(2)).
  const std::uint64_t from = outside.sp - snapshot.sp;
  const std::uint64_t to =
      snapshot.complete && snapshot.tid == p.pid ? snapshot.stack.size() : p.places.back().sp - snapshot.sp;
  if (from <= to && to <= snapshot.stack.size()) mix(stack.held, snapshot.stack.data() + from, to - from);
  return stack;
}

}  // namespace sickbay::ranks
