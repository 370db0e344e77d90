// SPDX-License-Identifier: Apache-2.0
// Where the checkpoints of this process's job lie, and which of its processes this is: by the environment,
// the same for the command and for the library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "ckpt/fast.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

/// What goes before the environment; as it stands here: nothing does.
struct PlaceWish {
  std::int64_t job = 0;
  std::int64_t rank = -1, ranks = 0;
  std::string session, store, fast{};
};

struct JobPlace {
  Participant me;
  std::string root;           ///< absolute; all processes see it
  std::int64_t begin_at = 0;  ///< of a replay, BackWish::begin_at
  std::string fast_text{};    ///< as it was given; "": there is none
  std::optional<FastWish> fast{};
};

/// Beside what participant_from reads: SICKBAY_CHECKPOINT_JOB (whose checkpoints, of a replay; and where
/// there is no Slurm), SICKBAY_CHECKPOINT_FROM, SICKBAY_CHECKPOINTS, else sickbay-checkpoints in
/// SLURM_SUBMIT_DIR; and SICKBAY_CHECKPOINT_FAST (fast.h). `unique` as there.  Errors: usage, as there, and
/// no folder is named; those of parse_fast.
Result<JobPlace> place_from(const Variable& variable, const PlaceWish& wish, std::uint32_t uid,
                            const std::string& host, const std::string& unique);
/// By the process's own environment, user and host.
Result<JobPlace> place_here(const PlaceWish& wish);
/// A variable of the process's environment; "" where it is not set.
std::string environment(const char* name);

}  // namespace sickbay::ckpt
