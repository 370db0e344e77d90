// SPDX-License-Identifier: Apache-2.0
// Names of MPI: is a function a call of MPI, and what is its one name, from C, C++ and Fortran?
//
// A library gives each call two names, MPI_Recv and PMPI_Recv (MPI 4.0, 15.2: the profiling interface), and
// its Fortran bindings more, by the compiler's habit: mpi_recv_, pmpi_recv__, MPI_Recv_f08ts.  People and
// comparisons want one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sickbay {

/// The C name of the call ("MPI_Recv") where `function`, as a symbol has it, is one; nothing where it is
/// not: functions within a library (MPID_Recv, MPIR_Wait, ompi_request_wait) are none.
std::optional<std::string> mpi_call(std::string_view function);

/// Whether a call only asks for what is there, and returns at once: MPI_Test and its like, MPI_Iprobe.  Who
/// does nothing else waits as well.  `call` as mpi_call() gives it.
bool is_test(std::string_view call);

/// What a call that does not return may be waiting for.
enum class MpiWait : std::uint8_t {
  ranks,    ///< other ranks of its own program
  outside,  ///< programs that are yet to start or to connect, or storage
};
/// `call` as mpi_call() gives it.
MpiWait what_it_waits_for(std::string_view call);

}  // namespace sickbay
