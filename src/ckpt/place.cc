// SPDX-License-Identifier: Apache-2.0
#include "ckpt/place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/words.h"

namespace sickbay::ckpt {

Result<JobPlace> place_from(const Variable& variable, const PlaceWish& wish, std::uint32_t uid,
                            const std::string& host, const std::string& unique) {
  Known known;
  if (wish.job > 0) known.job = wish.job;
  // A replay (sickbay redo) goes on in the series of the job that it goes back in.
  const auto replayed = to_integer(variable("SICKBAY_CHECKPOINT_JOB"));
  if (wish.job == 0 && replayed && *replayed > 0) known.job = *replayed;
  if (wish.rank >= 0) known.rank = wish.rank;
  if (wish.ranks > 0) known.ranks = wish.ranks;
  known.session = wish.session;
  JobPlace place;
  auto me = participant_from(variable, known, uid, host, unique);
  if (!me) return tl::unexpected<Error>(std::move(me.error()));
  place.me = std::move(*me);
  // What sickbay redo says counts for the series that it says it of.
  if (wish.job == 0) place.begin_at = to_integer(variable("SICKBAY_CHECKPOINT_FROM")).value_or(0);
  place.root = wish.store.empty() ? variable("SICKBAY_CHECKPOINTS") : wish.store;
  if (place.root.empty() && !variable("SLURM_SUBMIT_DIR").empty())
    place.root = variable("SLURM_SUBMIT_DIR") + "/sickbay-checkpoints";
  if (place.root.empty())
    return fail(Error(ErrorCode::usage, "no folder for checkpoints is named")
                    .remedied_by("set SICKBAY_CHECKPOINTS (sickbay-ckpt: or give --store), a folder that all "
                                 "processes see"));
  // One spelling of a path: the fast place is named by its hash.
  place.root = std::filesystem::absolute(place.root).lexically_normal().string();
  while (place.root.size() > 1 && place.root.ends_with('/')) place.root.pop_back();
  place.fast_text = wish.fast.empty() ? variable("SICKBAY_CHECKPOINT_FAST") : wish.fast;
  auto fast = parse_fast(place.fast_text);
  if (!fast) return tl::unexpected<Error>(std::move(fast.error()));
  place.fast = std::move(*fast);
  return place;
}

Result<JobPlace> place_here(const PlaceWish& wish) {
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return place_from(environment, wish, ::getuid(), host, fmt::format("alone-{}-{}", ::getpid(), now));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace sickbay::ckpt
