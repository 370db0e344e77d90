// SPDX-License-Identifier: Apache-2.0
// The text of a job that waits: what `sickbay why` prints of GET /v1/jobs/ID/pending (doc/formats/api.md).
//
// Pure: answer and page in, text out.  The sentence stands first; then what would let the job run, and who
// can see to it; last the nodes by what keeps them from the job.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

inline constexpr int kExitNeverAsItIs = 21;  ///< of `why`: the job waits, and will not start as it is

/// The exit code of `sickbay why` for a job that waits: 20, or 21 where somebody must change something first.
int pending_exit_code(const Json& pending);
std::string pending_text(const Json& pending, const TextPage& page);
/// The first job of a case view that waits; 0: none does.
std::int64_t waiting_job(const Json& view);
/// `text` with the stamps of sickbayd's texts ("2026-11-22T14:00:00Z") in the reader's zone.
std::string in_local_time(std::string_view text);

}  // namespace sickbay::cli
