// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace sickbay::verify {

bool Watch::hear(std::string_view line) {
  const double quiet = std::exchange(quiet_, 0);
  if (line.substr(0, 1) != "{" || line.find("sickbay_verify") == std::string_view::npos) return true;
  const auto json = Json::parse(line);
  if (!json || (*json)["sickbay_verify"].as_int() != 1) return true;
  const std::string& phase = (*json)["phase"].as_string();
  // (The script's own words are no rank's.)
  if (phase == "host" || phase == "launch" || phase == "silent") return true;
  const auto [it, is_new] = heard_.try_emplace(static_cast<int>((*json)["rank"].as_int()));
  Rank& rank = it->second;
  rank.node = (*json)["node"].as_string();
  rank.silent = 0;
  if (phase == "alive") {
    const auto ticks = static_cast<std::uint64_t>((*json)["ticks"].as_int());
    // (Who waits in MPI for one that never began beats, and says nothing new.)
    if (std::exchange(rank.ticks, ticks) != ticks)
      rank.stuck = 0;
    else if (!is_new)
      quiet_ = quiet;
    return false;
  }
  rank.stuck = 0;
  if (phase == "start")
    rank.mode = (*json)["mode"].as_string();
  else if (phase == "done")
    rank.done = true;
  else
    rank.after = phase;
  return true;
}

void Watch::pass(double seconds) {
  quiet_ += seconds;
  for (auto& [number, rank] : heard_) rank.silent += seconds, rank.stuck += seconds;
}

bool Watch::in_vain() const {
  if (heard_.empty()) return !nodes_.empty() && quiet_ >= limits_.first;
  const auto done = std::ranges::count_if(heard_, [](const auto& each) { return each.second.done; });
  if (done >= ranks_) return false;
  if (std::ranges::any_of(heard_, [&](const auto& each) { return goes_on(each.second); })) return false;
  // Who was not heard at all may yet come.
  return static_cast<int>(heard_.size()) >= ranks_ || quiet_ >= 2 * limits_.silence;
}

std::vector<Gone> Watch::gone() const {
  const auto done = std::ranges::count_if(heard_, [](const auto& each) { return each.second.done; });
  const bool some_silent =
      static_cast<int>(heard_.size()) < ranks_ || std::ranges::any_of(heard_, [&](const auto& each) {
        return !each.second.done && each.second.silent >= limits_.silence;
      });
  std::vector<Gone> all;
  for (const auto& [number, rank] : heard_) {
    const bool silent = rank.silent >= limits_.silence;
    const bool waits_for_others = rank.mode != "node" && !silent;
    if (rank.done || goes_on(rank) || (waits_for_others && some_silent)) continue;
    const std::string where = rank.after.empty() ? "in its first phase" : "after phase " + rank.after;
    all.push_back({rank.node, number, rank.mode,
                   fmt::format("{} {:.0f} s {}, while {} of {} came to the end",
                               silent ? "nothing was heard of it for" : "it lives, but did nothing for",
                               silent ? rank.silent : rank.stuck, where, done, ranks_)});
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto is_there = [&](const auto& each) { return each.second.node == nodes_[i]; };
    if (std::ranges::any_of(heard_, is_there)) continue;
    all.push_back(
        {nodes_[i], static_cast<int>(i), heard_.empty() ? "node" : heard_.begin()->second.mode,
         fmt::format("it did not say its first word within {:.0f} s{}", quiet_,
                     ranks_ == 1 ? "" : fmt::format(", while {} of {} came to the end", done, ranks_))});
  }
  return all;
}

std::string line_of(const Gone& gone) {
  return Json::object({{"sickbay_verify", 1},
                       {"node", gone.node},
                       {"rank", gone.rank},
                       {"phase", "silent"},
                       {"mode", gone.mode},
                       {"ok", false},
                       {"slow", false},
                       {"detail", gone.detail}})
      .dump();
}

}  // namespace sickbay::verify
