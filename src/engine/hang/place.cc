// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/place.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "model/mpi_call.h"
#include "model/rank_report.h"
#include "model/runtime_library.h"

namespace sickbay::hang {
namespace {

constexpr std::size_t kInnerFrames = 8, kOuterFrames = 3;  // of a path

// What moves data, as the libraries of C and MPI name it.
constexpr auto kCopies = std::to_array<std::string_view>(
    {"memcpy", "memmove", "memset", "process_vm_readv", "process_vm_writev", "MPIR_Localcopy",
     "opal_convertor_pack", "opal_convertor_unpack", "yaksa", "uct_mm_ep_am_bcopy", "uct_cma_ep"});

// The first function of the user's, in C and in Fortran.
bool is_main(std::string_view function) { return function == "main" || function == "MAIN__"; }

}  // namespace

Place place_of(const RankStack& stack) {
  Place place;
  const auto& frames = stack.frames;
  std::size_t outermost = frames.size();
  std::optional<std::string> call;
  for (std::size_t i = 0; i < frames.size(); ++i)
    // The outermost call is the user's; further in MPI may use its own functions (MPI_Allreduce by
    // MPI_Recv).
    if (auto name = mpi_call(frames[i].function)) outermost = i, call = std::move(name);
  // A function of the user's that MPI calls (an operation, an error handler) is the user's work.
  const auto users =
      std::ranges::find_if(frames, [](const RankFrame& f) { return f.program && !mpi_call(f.function); });
  place.in_mpi = call && static_cast<std::size_t>(users - frames.begin()) > outermost;
  std::size_t from = 0;
  if (place.in_mpi) {
    place.back = stack.back;
    place.call = *call;
    place.frames.push_back(*call);
    from = outermost + 1;
    for (std::size_t i = 0; i < outermost && place.strange.empty(); ++i)
      if (frames[i].function != "..." && whose_code(frames[i].module) == WhoseCode::users)
        place.strange = frames[i].module.empty() ? frames[i].function : frames[i].module;
    for (const std::string_view copy : kCopies)
      place.copies |= !frames.empty() && frames.front().function.find(copy) != std::string::npos;
  } else if (users != frames.end() && users != frames.begin()) {
    // What the user called, not what that is made of: "sleep", not "clock_nanosleep".
    from = static_cast<std::size_t>(users - frames.begin()) - 1;
  }
  // Nor above the function that a thread began with.
  std::size_t end = frames.size();
  while (end > from && whose_code(frames[end - 1].module) == WhoseCode::base) --end;
  if (end == from) end = frames.size();
  for (std::size_t i = from; i < end; ++i) {
    // Below main there is only the C library, which says nothing to a reader.  (Where main ends in a call,
    // the compiler may have left no frame of it.)
    if (i > from && frames[i].function.starts_with("__libc_start")) break;
    place.frames.push_back(frames[i].function);
    if (is_main(frames[i].function)) break;
  }
  return place;
}

std::string path_text(const std::vector<std::string>& frames) {
  std::string text;
  const auto add = [&](std::string_view one) {
    if (!text.empty()) text += " < ";
    text += one;
  };
  const bool cut = frames.size() > kInnerFrames + kOuterFrames + 1;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (cut && i == kInnerFrames) add("...");
    if (cut && i >= kInnerFrames && i < frames.size() - kOuterFrames) continue;
    add(frames[i]);
  }
  return text.substr(0, kMostPath);
}

std::vector<std::string> common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [end, other] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return {end.base(), a.end()};
}

}  // namespace sickbay::hang
