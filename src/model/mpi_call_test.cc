// SPDX-License-Identifier: Apache-2.0
#include "model/mpi_call.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(MpiCall, NamesOfCFortranAndLibraries) {
  const struct {
    std::string_view function, call;  // "": it is none
  } rows[] = {
      {"MPI_Recv", "MPI_Recv"},
      {"PMPI_Recv", "MPI_Recv"},
      {"MPI_Recv@@LIBMPI_1.0", "MPI_Recv"},
      {"mpi_recv_", "MPI_Recv"},
      {"mpi_recv__", "MPI_Recv"},
      {"mpi_recv", "MPI_Recv"},
      {"pmpi_allreduce_", "MPI_Allreduce"},
      {"ompi_recv_f", "MPI_Recv"},
      {"pompi_comm_spawn_multiple_f", "MPI_Comm_spawn_multiple"},
      {"ompi_coll_base_barrier_f2c", ""},
      {"MPI_Allreduce_f08ts", "MPI_Allreduce"},
      {"mpi_allreduce_f08_", "MPI_Allreduce"},
      {"PMPI_Type_create_struct", "MPI_Type_create_struct"},
      {"mpi_file_read_all_", "MPI_File_read_all"},
      {"MPI_Barrier_", "MPI_Barrier"},
      {"MPID_Recv", ""},
      {"MPIR_Wait_impl", ""},
      {"MPIDI_POSIX_progress", ""},
      {"ompi_request_default_wait", ""},
      {"opal_progress", ""},
      {"main", ""},
      {"MPI::Comm::Recv(void*, int)", ""},
      {"MPI_", ""},
      {"PMPI_", ""},
      {"P", ""},
      {"", ""},
      {"mpi_recv(x)", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(mpi_call(row.function).value_or(""), row.call) << row.function;
  EXPECT_FALSE(mpi_call("MPI_" + std::string(200, 'x')));
}

TEST(MpiCall, WhatOnlyAsks) {
  for (const char* call : {"MPI_Test", "MPI_Testany", "MPI_Iprobe", "MPI_Improbe"})
    EXPECT_TRUE(is_test(call)) << call;
  for (const char* call : {"MPI_Wait", "MPI_Probe", "MPI_Test_cancelled", "MPI_Recv", ""})
    EXPECT_FALSE(is_test(call)) << call;
}

TEST(MpiCall, WhatMayWaitForOthersThanRanks) {
  for (const char* call :
       {"MPI_Init", "MPI_Init_thread", "MPI_Comm_spawn", "MPI_File_write_all", "MPI_Abort"})
    EXPECT_EQ(what_it_waits_for(call), MpiWait::outside) << call;
  for (const char* call : {"MPI_Recv", "MPI_Finalize", "MPI_Barrier", "MPI_Comm_split", "MPI_Waitall"})
    EXPECT_EQ(what_it_waits_for(call), MpiWait::ranks) << call;
}

}  // namespace
}  // namespace sickbay
