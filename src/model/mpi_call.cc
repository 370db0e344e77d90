// SPDX-License-Identifier: Apache-2.0
#include "model/mpi_call.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::size_t kLongestName = 80;  // the longest of MPI 4.0 has 40

// Calls whose partner need not be a rank that runs: to hold them for a deadlock after seconds would blame a
// start on ten thousand nodes, or a slow file server.
constexpr auto kOutside = std::to_array<std::string_view>(
    {"MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Comm_accept", "MPI_Comm_connect",
     "MPI_Comm_join", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Lookup_name", "MPI_Publish_name",
     "MPI_Abort"});

constexpr auto kTests = std::to_array<std::string_view>(
    {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe",
     "MPI_Request_get_status", "MPI_Request_get_status_all", "MPI_Request_get_status_any",
     "MPI_Request_get_status_some", "MPI_Parrived"});

}  // namespace

std::optional<std::string> mpi_call(std::string_view name) {
  if (name.size() > kLongestName) return std::nullopt;
  // A symbol's version ("MPI_Recv@@LIBMPI_1") is no part of its name.
  name = name.substr(0, name.find('@'));
  // The profiling interface: PMPI_Recv is MPI_Recv's other name.
  if (name.starts_with('P') || name.starts_with('p')) name.remove_prefix(1);
  // Open MPI's Fortran bindings: ompi_recv_f, of which mpi_recv_ is another name.  (Without its _f a function
  // of that kind is one within the library.)
  if (name.starts_with("ompi_") && name.ends_with("_f")) name.remove_prefix(1);
  const bool c = name.starts_with("MPI_");
  if (!c && !name.starts_with("mpi_")) return std::nullopt;
  name.remove_prefix(4);
  // What Fortran's compilers and bindings put behind a name.
  bool fortran = !c;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view end : {"_f08ts", "_f08", "_f90", "_cdesc", "_f", "_"})
      if (name.size() > end.size() && name.ends_with(end)) {
        name.remove_suffix(end.size());
        fortran = again = true;
        break;
      }
  }
  if (name.empty() || !std::ranges::all_of(name, [](char ch) {
        return is_digit(ch) || ch == '_' || (to_lower(ch) >= 'a' && to_lower(ch) <= 'z');
      }))
    return std::nullopt;
  std::string call = "MPI_";
  for (const char ch : name) call += fortran ? to_lower(ch) : ch;
  // As the standard writes it: MPI_Recv, whatever language called it.
  call[4] = to_upper(call[4]);
  return call;
}

bool is_test(std::string_view call) { return std::ranges::find(kTests, call) != kTests.end(); }

MpiWait what_it_waits_for(std::string_view call) {
  if (call.starts_with("MPI_File_") || std::ranges::find(kOutside, call) != kOutside.end())
    return MpiWait::outside;
  return MpiWait::ranks;
}

}  // namespace sickbay
