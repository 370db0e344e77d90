// SPDX-License-Identifier: Apache-2.0
// sickbay-ckpt list, verify and interval: what is looked at alone.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "apps/ckpt/commands.h"
#include "base/duration.h"
#include "base/error_json.h"
#include "base/size.h"
#include "base/text_table.h"
#include "ckpt/due.h"

namespace sickbay::ckpt {

namespace {

// What is in no control file of the store lies in the fast places of nodes: this one may be one of them.
Status verify_fast(const Place& place, const Series& series, const checkpoint::Image& image,
                   std::map<std::string, checkpoint::Digest>& sure) {
  const auto folder = place.fast ? fast_store(*place.fast, series.store.folder(), place.me, image.rank)
                                 : Result<std::string>("");
  if (!folder) return tl::unexpected<Error>(folder.error());
  // (One that had no room there is on shared storage already.)
  auto there = series.store.verify_pack(image, sure, threads_here());
  if (there || there.error().code != ErrorCode::not_found) return there;
  if (folder->empty() || !std::filesystem::exists(*folder))
    return fail(
        ErrorCode::not_found,
        fmt::format("it has not come to shared storage; {} may have it in its fast place", image.node));
  const auto store = checkpoint::Store::open(*place.files, *folder);
  if (!store) return tl::unexpected<Error>(store.error());
  std::map<std::string, checkpoint::Digest> of_fast;
  return store->verify_pack(image, of_fast, threads_here());
}

}  // namespace

Result<int> look_command(const Options& o, bool whole) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  auto series = Series::open(*place->files, place->root, place->me.job, o.name);
  if (!series) return tl::unexpected<Error>(std::move(series.error()));
  const auto listed = list_all(*series);
  if (!listed) return tl::unexpected<Error>(listed.error());
  bool damaged = false, away = false;
  Json items = Json::array();
  TextTable table({{"CHECKPOINT", TextTable::Column::Align::right},
                   {"AT"},
                   {"AFTER"},
                   {"PROCESSES", TextTable::Column::Align::right},
                   {"SIZE", TextTable::Column::Align::right},
                   {"TIER"},
                   {"LABEL"},
                   {"STATE"}});
  std::map<std::string, checkpoint::Digest> sure;
  for (const checkpoint::Listed& one : *listed) {
    if (o.from != 0 && one.number != o.from) continue;
    std::string wrong = one.wrong;
    std::int64_t raw = 0;
    bool is_away = false;  // nothing is known of it from here
    const bool fast = one.control && !series->store.read_control(one.number);
    if (one.control)
      for (const checkpoint::Image& image : one.control->images) {
        raw += image.raw;
        const auto read = !whole ? Status()
                          : fast ? verify_fast(*place, *series, image, sure)
                                 : series->store.verify_pack(image, sure, threads_here());
        if (read || (!wrong.empty() && !is_away)) continue;
        wrong = fmt::format("rank {}: {}", image.rank, read.error().line());
        is_away = fast && read.error().code == ErrorCode::not_found;
      }
    damaged = damaged || (!wrong.empty() && !is_away);
    away = away || is_away;
    const auto& c = one.control;
    const std::string after = c && !c->ancestors.empty() ? fmt::format("{}", c->ancestors.front()) : "";
    items.push(Json::object({{"checkpoint", one.number},
                             {"at", c ? format_time(c->at) : ""},
                             {"parent", after.empty() ? Json() : Json(c->ancestors.front())},
                             {"ranks", c ? Json(c->images.size()) : Json()},
                             {"bytes", raw},
                             {"tier", fast ? "fast" : "shared"},
                             {"label", c ? c->label : ""},
                             {"wrong", wrong}}));
    table.add({fmt::format("{}", one.number), c ? format_time(c->at) : "", after,
               c ? fmt::format("{}", c->images.size()) : "", c ? describe_size({raw}) : "",
               fast ? "fast" : "shared", c ? for_terminal(c->label) : "",
               wrong.empty() ? (whole ? "whole" : "there")
                             : (is_away ? "not seen: " : "damaged: ") + for_terminal(wrong)});
  }
  if (whole && o.from != 0 && items.size() == 0)
    return fail(ErrorCode::not_found, fmt::format("there is no checkpoint {}", o.from));
  if (o.json)
    fmt::print("{}\n", Json::object({{"items", std::move(items)}}).dump());
  else
    fmt::print("{}", table.empty() ? "no checkpoints\n" : table.text());
  if (whole && damaged) return error_row(ErrorCode::bad_input).exit_code;
  return away && o.from != 0 ? error_row(ErrorCode::not_found).exit_code : 0;
}

Result<int> interval_command(const Options& o) {
  auto place = place_of(o);
  if (!place) return tl::unexpected<Error>(std::move(place.error()));
  std::optional<Micros> cost;
  std::string measured = "as given";
  if (o.cost.empty()) {
    const auto series = Series::open(*place->files, place->root, place->me.job, o.name);
    if (!series) return tl::unexpected<Error>(series.error());
    cost = usual_cost(read_state(*series));
    measured = "the middle of the last ones";
  } else {
    const auto given = parse_duration(o.cost);
    if (!given) return tl::unexpected<Error>(given.error());
    cost = *given;
  }
  if (!cost)
    return fail(Error(ErrorCode::not_found, "no checkpoint of this job was taken yet: its cost is not known")
                    .remedied_by("take one, or give what it costs: --cost 20s"));
  const auto mttf = mttf_of(o, place->me);
  if (!mttf) return tl::unexpected<Error>(mttf.error());
  if (!*mttf)
    return fail(Error(ErrorCode::usage, "how often do nodes fail?")
                    .remedied_by("give the mean time to failure of the job (--mttf 5d) or of a node "
                                 "(--node-mttf 900d); 'sickbay tree' shows what was measured"));
  const Micros length = *interval_of({.mttf = *mttf}, cost);
  const std::string why = fmt::format(
      "a checkpoint costs {} ({}), the job loses a node every {}{}: by Daly's formula {} of work between two",
      describe_duration(*cost), measured, describe_duration(**mttf),
      o.mttf.empty()
          ? fmt::format(" (one of {} every {})", place->me.nodes, describe_duration(**mttf * place->me.nodes))
          : "",
      describe_duration(length));
  if (o.json)
    fmt::print("{}\n", Json::object({{"seconds", static_cast<double>(length.count()) / 1e6},
                                     {"cost_seconds", static_cast<double>(cost->count()) / 1e6},
                                     {"mttf_seconds", static_cast<double>((*mttf)->count()) / 1e6},
                                     {"why", why}})
                           .dump());
  else
    fmt::print("{}\n{}\n", length.count() / 1'000'000, why);
  return 0;
}

}  // namespace sickbay::ckpt
