// SPDX-License-Identifier: Apache-2.0
#include "ckpt/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/robust.h"
#include "base/text.h"

namespace sickbay::ckpt {
namespace {

constexpr const char* kStateName = "series.json";
constexpr std::size_t kMostStateBytes = 64 << 10, kMostCosts = 9;

}  // namespace

Result<Series> Series::open(checkpoint::Files& files, const std::string& root, JobId job,
                            const std::string& name) {
  std::string folder = fmt::format("{}/{}", root, job);
  if (!name.empty()) folder += "." + name;
  if (!name.empty() && (!checkpoint::is_plain_name(name) || name.size() > 64))
    return fail(Error(ErrorCode::usage, fmt::format("{} cannot be the name of a series of checkpoints",
                                                    quote_for_message(name)))
                    .remedied_by("take up to 64 printable characters without '/', the first no '.'"));
  auto store = checkpoint::Store::open(files, folder);
  if (!store) return tl::unexpected<Error>(std::move(store.error()));
  if (auto made = files.make_folder(folder + "/board"); !made)
    return tl::unexpected<Error>(std::move(made.error()));
  auto noted = checkpoint::Store::open(files, folder + "/board/fast");
  if (!noted) return tl::unexpected<Error>(std::move(noted.error()));
  return Series{&files, std::move(*store), folder + "/board", std::move(*noted)};
}

Status Series::use_fast(const FastWish& wish, const Participant& me, bool uses) {
  flushes = true;
  auto opened = open_fast(*files, wish, store.folder(), me, uses);
  if (!opened) return tl::unexpected<Error>(std::move(opened.error()));
  fast = std::move(*opened);
  return {};
}

Result<std::vector<checkpoint::Listed>> list_all(const Series& series) {
  std::map<std::int64_t, checkpoint::Listed> all;
  for (const checkpoint::Store* store : {&series.store, &series.noted}) {
    auto listed = store->list();
    if (!listed) return listed;
    for (checkpoint::Listed& one : *listed) {
      checkpoint::Listed& found = all[one.number];
      // The store's goes before that of board/fast; a damaged one gives way to a whole one.
      if (!found.control) found = std::move(one);
    }
  }
  std::vector<checkpoint::Listed> list;
  for (auto& [number, one] : all) list.push_back(std::move(one));
  return list;
}

std::int64_t newest_of(const std::vector<checkpoint::Listed>& listed) {
  std::int64_t newest = 0;
  for (const checkpoint::Listed& one : listed)
    if (one.control) newest = std::max(newest, one.number);
  return newest;
}

Result<checkpoint::Control> find_control(const Series& series, std::int64_t number) {
  auto control = series.store.read_control(number);
  if (control) return control;
  auto noted = series.noted.read_control(number);
  // Where neither has it, the store's error says why: the notes are there only where there are fast places.
  return noted ? noted : control;
}

SeriesState read_state(const Series& series) {
  SeriesState state;
  const auto text = checkpoint::read_whole(*series.files, series.board + "/" + kStateName, kMostStateBytes);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  // (Numbers are also looked for among the files, so that none comes twice after a loss.)
  if (!json) return state;
  state.last = std::max<std::int64_t>((*json)["last"].as_int(), 0);
  state.tip = std::clamp<std::int64_t>((*json)["tip"].as_int(), 0, state.last);
  state.tip_job = (*json)["tip_job"].as_int();
  state.tip_restart = (*json)["tip_restart"].as_int();
  for (const Json& cost : (*json)["costs_ms"].items())
    state.costs_ms.push_back(std::max<std::int64_t>(cost.as_int(), 0));
  state.begun_us = std::max<std::int64_t>((*json)["begun_us"].as_int(), 0);
  state.leaving_done_us = std::max<std::int64_t>((*json)["leaving_done_us"].as_int(), 0);
  state.asked_done = (*json)["asked_done"].as_string();
  state.asked_error = (*json)["asked_error"].as_string();
  return state;
}

Status write_state(const Series& series, const SeriesState& state) {
  Json costs = Json::array();
  for (const std::int64_t cost : state.costs_ms) costs.push(cost);
  Json json = Json::object({{"last", state.last},
                            {"tip", state.tip},
                            {"tip_job", state.tip_job},
                            {"tip_restart", state.tip_restart},
                            {"costs_ms", std::move(costs)}});
  if (state.begun_us > 0) json.set("begun_us", state.begun_us);
  if (state.leaving_done_us > 0) json.set("leaving_done_us", state.leaving_done_us);
  if (!state.asked_done.empty()) json.set("asked_done", state.asked_done);
  if (!state.asked_error.empty()) json.set("asked_error", state.asked_error);
  return checkpoint::write_whole(*series.files, series.board, kStateName, json.dump() + "\n");
}

void add_cost(SeriesState& state, Micros cost) {
  state.costs_ms.push_back(cost.count() / 1000);
  if (state.costs_ms.size() > kMostCosts)
    state.costs_ms.erase(state.costs_ms.begin(), state.costs_ms.end() - kMostCosts);
}

// The median of the last nine: one save on a busy file system must not change the rhythm.
std::optional<Micros> usual_cost(const SeriesState& state) {
  std::vector<double> costs(state.costs_ms.begin(), state.costs_ms.end());
  const auto middle = median_of(std::move(costs));
  if (!middle) return std::nullopt;
  return Micros(static_cast<std::int64_t>(*middle * 1000));
}

}  // namespace sickbay::ckpt
