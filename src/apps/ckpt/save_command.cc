// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt save and restore.
#include <fmt/format.h>

#include "apps/ckpt/commands.h"
#include "base/json.h"
#include "ckpt/declared.h"
#include "ckpt/go_back.h"
#include "ckpt/take.h"

namespace sickbay::ckpt {

Result<int> save_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  const auto folder = folder_of_program(o);
  if (!folder) return tl::unexpected<Error>(folder.error());
  const auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(waiting.error());
  const auto sources = declared_files(*folder, o.patterns, place->me, o.own, place->root);
  if (!sources) return tl::unexpected<Error>(sources.error());
  auto series = series_of(o, *place, true);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  TakeWish wish;
  wish.label = o.label;
  wish.full = o.full;
  wish.threads = threads_here();
  wish.fewest = o.fewest;
  wish.most = o.most;
  if (o.keep > 0) wish.keep.count = static_cast<std::size_t>(o.keep);
  const auto taken = take_checkpoint(*series, place->me, *sources, wish, *waiting);
  if (!taken) return tl::unexpected<Error>(taken.error());
  tell_notes(taken->notes);
  flush_behind(o, *place, taken->number, false, Telling::to_its_end);  // (the step would end behind it)
  if (place->me.rank != 0) return 0;
  tell_sickbayd(news_of(*taken, *series, place->me), place->me, Telling::to_its_end);
  if (o.json)
    fmt::print("{}\n", Json::object({{"checkpoint", taken->number},
                                     {"parent", taken->parent ? Json(*taken->parent) : Json()},
                                     {"ranks", place->me.ranks},
                                     {"bytes", taken->raw},
                                     {"stored_bytes", taken->written},
                                     {"seconds", static_cast<double>(taken->took.count()) / 1e6},
                                     {"folder", series->store.folder()},
                                     {"tier", taken->fast ? "fast" : "shared"},
                                     {"notes", Json(taken->notes)}})
                           .dump());
  else
    fmt::print("{}\n", taken->number);
  return 0;
}

Result<int> restore_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  const auto folder = folder_of_program(o);
  if (!folder) return tl::unexpected<Error>(folder.error());
  const auto waiting = waiting_of(o);
  if (!waiting) return tl::unexpected<Error>(waiting.error());
  auto series = series_of(o, *place, true);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  const BackWish wish{
      .from = o.from, .begin_at = place->begin_at, .target = *folder, .threads = threads_here()};
  const auto back = go_back(*series, place->me, wish, *waiting);
  if (!back) return tl::unexpected<Error>(back.error());
  tell_notes(back->notes);
  if (back->number != 0) tell_sickbayd(news_of(*back, *series, place->me), place->me, Telling::to_its_end);
  constexpr int kNoneYet = 1;
  if (place->me.rank == 0 && o.json)
    fmt::print("{}\n", Json::object({{"checkpoint", back->number == 0 ? Json() : Json(back->number)},
                                     {"label", back->label},
                                     {"bytes", back->raw},
                                     {"seconds", static_cast<double>(back->took.count()) / 1e6},
                                     {"notes", Json(back->notes)}})
                           .dump());
  else if (place->me.rank == 0)
    fmt::print("{}\n", back->number == 0 ? "none" : fmt::format("{}", back->number));
  return back->number == 0 ? kNoneYet : 0;
}

}  // namespace sickbay::ckpt
