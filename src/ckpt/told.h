// SPDX-License-Identifier: Apache-2.0
// What processes that take a checkpoint tell each other on the board, and how a control file comes of it.
//
// Rank 0 begins by saying all that the control file will hold but the images; each process answers with its
// own.  So whoever has these files can make the same control file: where rank 0 dies after all have saved,
// the next one does.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/control.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

/// What rank 0 says when it begins: `control` without its images; `before`: whose packs may be used.
Json begun_json(std::int64_t turn, const checkpoint::Control& control, std::optional<std::int64_t> before,
                std::int64_t ranks, std::int64_t in_job);

/// What a process answers that has saved, in its fast place or on shared storage.
Json saved_json(std::int64_t turn, std::int64_t number, const std::string& label,
                const checkpoint::Image& image, bool fast);
/// Did one of them save in its fast place?
bool any_fast(const std::vector<Json>& answers);

/// Adds what all have answered, by rank, to `control`.  Errors: what one has failed with; conflict: one is at
/// another checkpoint or has saved another state; bad_input.
Status add_images(checkpoint::Control& control, std::int64_t turn, const std::vector<Json>& answers);

/// Publishes a checkpoint that all had saved when their rank 0 died: its number, nothing where there is none
/// such.  What is not there in full, does not fit or is older than one that exists is let be.
/// REQUIRES: the store's lock is held, so that this rank 0 is dead.
std::optional<std::int64_t> publish_left(Series& series);
/// For who it is published for.
std::string note_of_left(std::int64_t number);

}  // namespace sickbay::ckpt
