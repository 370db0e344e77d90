// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt flush: what lies in the fast places comes to shared storage, less urgently than the program
// beside it; then what jobs that are gone have left there is removed.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>

#include "apps/ckpt/commands.h"
#include "base/words.h"
#include "ckpt/flush.h"

namespace sickbay::ckpt {
namespace {

// States of Slurm out of which a job comes only by a person's word.
constexpr auto kOver =
    std::to_array<std::string_view>({"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
                                     "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"});

// By Slurm's own word.  No answer: it may run.
bool slurm_says_gone(JobId job) {
  const std::string command = fmt::format(
      "exec timeout 20 squeue --noheader --states=all --jobs={} --format=%T </dev/null 2>&1", job);
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return false;
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  const int ended = ::pclose(pipe);
  std::string_view rest = text;
  if (ended != 0) return text.find("Invalid job id specified") != std::string::npos;
  bool any = false;
  while (const auto line = next_line(rest)) {
    any = true;
    if (std::ranges::find(kOver, *line) == kOver.end()) return false;
  }
  return any;
}

// One process of a node at a time.
void sweep(const Place& place, const Fast& fast) {
  const auto lock = place.files->lock(fast.folder + "/lock.sweep");
  if (!lock) return;
  std::map<JobId, bool> known;
  const auto gone = [&](JobId job) {
    const auto [one, is_new] = known.try_emplace(job, false);
    if (is_new) one->second = slurm_says_gone(job);
    return one->second;
  };
  (void)sweep_fast(*place.files, fast, place.me, gone);
}

}  // namespace

Result<int> flush_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(std::move(waiting.error()));
  if (::nice(kFlushNiceness) == -1) tell_notes({"the flush cannot be made less urgent than the program"});
  auto series = series_of(o, *place, false);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  FlushWish wish{.number = o.number, .again = o.again, .in_background = o.background};
  if (o.keep > 0) wish.keep.count = static_cast<std::size_t>(o.keep);
  const auto flushed = flush(*series, place->me, wish, *waiting);
  if (flushed) tell_notes(flushed->notes);
  if (series->fast) sweep(*place, *series->fast);
  if (flushed) return 0;
  return tl::unexpected<Error>(Error(flushed.error()).in("flushing checkpoints to shared storage"));
}

}  // namespace sickbay::ckpt
