// SPDX-License-Identifier: Apache-2.0
// What every command of sickbay-ckpt begins with: by its words and the environment.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "apps/ckpt/commands.h"
#include "base/duration.h"
#include "base/text_table.h"
#include "base/words.h"

namespace sickbay::ckpt {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int threads_here() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "sickbay-ckpt: note: {}\n", for_terminal(note));
}

Result<Place> place_of(const Options& o) {
  Place place;
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  Known known;
  if (o.job > 0) known.job = o.job;
  // A replay (sickbay redo) goes on in the series of the job that it goes back in.
  const auto replayed = to_integer(variable("SICKBAY_CHECKPOINT_JOB"));
  if (o.job == 0 && replayed && *replayed > 0) known.job = *replayed;
  if (o.rank >= 0) known.rank = o.rank;
  if (o.ranks > 0) known.ranks = o.ranks;
  known.session = o.session;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  auto me = participant_from(variable, known, ::getuid(), host, fmt::format("alone-{}-{}", ::getpid(), now));
  if (!me) return tl::unexpected<Error>(std::move(me.error()));
  place.me = std::move(*me);
  place.root = o.store.empty() ? variable("SICKBAY_CHECKPOINTS") : o.store;
  if (place.root.empty() && !variable("SLURM_SUBMIT_DIR").empty())
    place.root = variable("SLURM_SUBMIT_DIR") + "/sickbay-checkpoints";
  if (place.root.empty())
    return fail(
        Error(ErrorCode::usage, "no folder for checkpoints is named")
            .remedied_by("set SICKBAY_CHECKPOINTS, or give --store, a folder that all processes see"));
  place.root = std::filesystem::absolute(place.root).lexically_normal().string();
  while (place.root.size() > 1 && place.root.ends_with('/')) place.root.pop_back();
  return place;
}

Result<std::string> folder_of_program(const Options& o) {
  std::error_code wrong;
  const auto path = std::filesystem::canonical(o.folder.empty() ? "." : o.folder, wrong);
  if (wrong) return fail(ErrorCode::not_found, fmt::format("no folder {}: {}", o.folder, wrong.message()));
  return path.string();
}

Result<Waiting> waiting_of(const Options& o) {
  const auto patience = parse_duration(o.timeout);
  if (!patience) return tl::unexpected<Error>(patience.error());
  return real_waiting(*patience);
}

std::int64_t replay_begins_at(const Options& o) {
  // It counts for the series that it is said of.
  return o.job == 0 ? to_integer(variable("SICKBAY_CHECKPOINT_FROM")).value_or(0) : 0;
}

Result<std::optional<Micros>> mttf_of(const Options& o, const Participant& me) {
  const std::string& text = o.mttf.empty() ? o.node_mttf : o.mttf;
  if (text.empty()) return std::nullopt;
  const auto given = parse_duration(text);
  if (!given) return tl::unexpected<Error>(given.error());
  if (given->count() <= 0) return fail(ErrorCode::usage, fmt::format("{} is no time to failure", text));
  return o.mttf.empty() ? *given / me.nodes : *given;
}

}  // namespace sickbay::ckpt
