// SPDX-License-Identifier: Apache-2.0
// What every command of sickbay-ckpt begins with: by its words and the environment.
#include <fmt/format.h>
#include <sched.h>

#include <cstdio>
#include <filesystem>

#include "apps/ckpt/commands.h"
#include "base/duration.h"
#include "base/text_table.h"

namespace sickbay::ckpt {

int threads_here() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "sickbay-ckpt: note: {}\n", for_terminal(note));
}

void tell_sickbayd(const News& news, const Participant& me, Telling how) {
  if (me.rank == 0) (void)tell(sickbay_program(environment), news, me, how);
}

Result<Place> place_of(const Options& o) {
  auto found = place_here({o.job, o.rank, o.ranks, o.session, o.store, o.fast});
  if (!found) return tl::unexpected<Error>(std::move(found.error()));
  Place place;
  static_cast<JobPlace&>(place) = std::move(*found);
  return place;
}

Result<Series> series_of(const Options& o, const Place& place, bool uses) {
  auto series = Series::open(*place.files, place.root, place.me.job, o.name);
  if (!series || !place.fast) return series;
  if (auto fast = series->use_fast(*place.fast, place.me, uses); !fast)
    fmt::print(stderr, "{}\n", fast.error().message("sickbay-ckpt"));
  use_keepers(*series, flush_program(environment), place, o.name);
  return series;
}

void flush_behind(const Options& o, const Place& place, std::int64_t number, bool again, Telling how) {
  if (!place.fast) return;
  const auto patience = parse_duration(o.timeout);
  const FlushOrder order{.number = number,
                         .keep = o.keep,
                         .again = again,
                         .patience = patience ? *patience : FlushOrder().patience};
  if (const auto done = start_flush(flush_program(environment), place, o.name, order, how); !done)
    tell_notes({done.error().line()});
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

Result<std::optional<Micros>> mttf_of(const Options& o, const Participant& me) {
  const std::string& text = o.mttf.empty() ? o.node_mttf : o.mttf;
  if (text.empty()) return std::nullopt;
  const auto given = parse_duration(text);
  if (!given) return tl::unexpected<Error>(given.error());
  if (given->count() <= 0) return fail(ErrorCode::usage, fmt::format("{} is no time to failure", text));
  return o.mttf.empty() ? *given / me.nodes : *given;
}

}  // namespace sickbay::ckpt
