// SPDX-License-Identifier: Apache-2.0
// Where a stack stands: in which call of MPI, on which path of the user's.  Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/rank_look.h"

namespace sickbay::hang {

struct Place {
  bool in_mpi = false;
  bool copies = false;     ///< it moves data within MPI
  std::uint64_t back = 0;  ///< RankStack::back, where it is in MPI
  std::string strange;     ///< within MPI: a library whose code is neither MPI's nor what that stands on
  std::string call;        ///< the outermost one
  std::vector<std::string> frames;  ///< of the path, innermost first
};

Place place_of(const RankStack& stack);

/// "MPI_Recv < exchange < main", cut where it is long.
std::string path_text(const std::vector<std::string>& frames);

/// Of two paths what they have in common, from main inwards.
std::vector<std::string> common(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace sickbay::hang
