// SPDX-License-Identifier: Apache-2.0
// Finds the ranks of a job on this node: which process is which rank of which program.
//
// The launchers leave it in the environment: Open MPI's mpirun, PMIx, PMI (MPICH's mpiexec, srun --mpi=pmi2),
// and srun itself.  A rank's own children have the same environment, and so have the shells around it, so
// that of all processes of one rank one must be chosen: the outermost that has MPI's library loaded; where
// none has, the innermost that a chain of single, waiting parents leads to.  Only processes of the job's user
// are looked at, and only of this job: by control group or by the slurmstepd above them (adapters/node).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/node/process_table.h"
#include "model/rank_look.h"

namespace sickbay::ranks {

/// What an environment says of its process.
struct RankNumber {
  std::string world;  ///< as Rank::world
  std::int64_t rank = -1, size = -1;
  bool by_mpi = false;  ///< a launcher of MPI said so, not srun alone
  friend bool operator==(const RankNumber&, const RankNumber&) = default;
};
/// Reads an environment ("NAME=value" each with a NUL behind it): rank -1 where the process is none.
RankNumber rank_number(std::string_view environment);

struct FoundRank {
  RankNumber number;
  std::int64_t pid = 0, started = 0;  ///< `started` in ticks after boot: pids are given again
  std::string name;
};
struct FoundRanks {
  std::vector<FoundRank> ranks;  ///< by world and rank, kMostRanksOfNode at most
  std::vector<Unread> unread;
  std::int64_t uid = -1;  ///< whose they are
};

/// The ranks of `job` that belong to `uid`; with -1 to the one user, not root, who has processes in it.
/// Errors: no /proc; conflict, where several users have.
Result<FoundRanks> find_ranks(node::ProcessTable& table, std::int64_t job, std::int64_t uid);
/// Those processes, whatever they are: of what is no rank by its environment the number is its place in the
/// list.  Errors: as above, for processes of several users.
Result<FoundRanks> name_ranks(node::ProcessTable& table, const std::vector<std::int64_t>& pids);

}  // namespace sickbay::ranks
