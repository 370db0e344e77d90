// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/duration.h"
#include "base/hostlist.h"
#include "test/sim_runner/scenario_acts.h"
#include "test/sim_runner/scenario_jobs.h"
#include "test/sim_runner/scenario_run.h"
#include "test/sim_runner/scenario_words.h"

namespace sickbay::sim {
namespace {

Status cluster_line(const Words& words, Scenario& into) {
  if (words.size() < 2) return bad("say: cluster HOSTLIST [slurmd-timeout=TIME] ...");
  into.cluster.partitions = {{"batch", words[1]}};
  static const std::map<std::string, std::chrono::milliseconds SimOptions::*> kTimes = {
      {"slurmd-timeout", &SimOptions::slurmd_timeout},
      {"answer-time", &SimOptions::answer_time},
  };
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (const auto time = kTimes.find(key); time != kTimes.end()) {
      const auto length = duration_word({words[i]}, key);
      if (!length) return fail(length.error());
      into.cluster.*(time->second) = *length;
    } else if (key == "min-job-age") {
      const auto length = duration_word({words[i]}, key);
      if (!length) return fail(length.error());
      into.cluster.min_job_age = std::chrono::duration_cast<std::chrono::seconds>(*length);
    } else if (key == "features") {
      const auto colon = value.find(':');
      if (colon == std::string::npos) return bad("say: features=NAME:HOSTLIST");
      if (const auto nodes = expand_hostlist(value.substr(colon + 1)); !nodes) return fail(nodes.error());
      into.cluster.features.emplace_back(value.substr(0, colon), value.substr(colon + 1));
    } else if (key == "partition") {
      const auto colon = value.find(':');
      if (colon == std::string::npos) return bad("say: partition=NAME:HOSTLIST");
      into.cluster.partitions.push_back({value.substr(0, colon), value.substr(colon + 1)});
    } else {
      return bad(fmt::format("a cluster has no '{}'", key));
    }
  }
  for (const auto& partition : into.cluster.partitions)
    if (const auto nodes = expand_hostlist(partition.nodes); !nodes) return fail(nodes.error());
  return {};
}

Status at_line(const Words& words, Scenario& into) {
  if (words.size() < (words.size() > 2 && words[2] == "undo-drains" ? 3U : 4U))
    return bad("say: at TIME NODE|job|slurmctld|sickbayd|disk|lose|undo-drains ...");
  const auto time = parse_duration(words[1]);
  if (!time) return fail(time.error());
  const Words rest(words.begin() + 2, words.end());
  const auto special = act_words().find(rest[0]);
  auto act = special != act_words().end() ? special->second(rest) : node_act(rest);
  if (!act) return fail(act.error());
  into.acts.push_back({*time, fmt::format("{}", fmt::join(rest, " ")), std::move(*act)});
  return {};
}

/// "background full [from=TIME] for=TIME [run=TIME]"
Status full_line(const Words& words, Scenario& into) {
  std::chrono::seconds from{1}, lasts{0}, run{1800};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    const auto time = parse_duration(value);
    if (!time) return fail(time.error());
    if (key != "from" && key != "for" && key != "run")
      return bad(fmt::format("a full cluster has no '{}'", key));
    (key == "from"  ? from
     : key == "for" ? lasts
                    : run) = std::chrono::duration_cast<std::chrono::seconds>(*time);
  }
  if (lasts.count() <= 0 || run.count() <= 0)
    return bad("say: background full [from=TIME] for=TIME [run=TIME]");
  into.acts.push_back({from, "other people fill the cluster", [lasts, run](ScenarioRun& on) -> Status {
                         on.world.cluster().fill_with_strangers(lasts, run);
                         return {};
                       }});
  return {};
}

Status background_line(const Words& words, Scenario& into) {
  if (words.size() > 1 && words[1] == "full") return full_line(words, into);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    const auto count = number(value);
    if (!count || *count < 0) return bad(fmt::format("'{}' is no count", words[i]));
    if (key == "live")
      into.background.live_jobs = static_cast<std::size_t>(*count);
    else if (key == "nodes")
      into.background.busy_nodes = static_cast<std::size_t>(*count);
    else
      return bad(fmt::format("other people's jobs have no '{}'", key));
  }
  return {};
}

Status reservation_line(const Words& words, Scenario& into) {
  if (words.size() < 5) return bad("say: reservation NAME nodes=HOSTLIST from=TIME to=TIME users=NAME,...");
  SimReservation made{.name = words[1], .nodes = {}, .start = {}, .end = {}, .users = {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "nodes") {
      if (const auto nodes = expand_hostlist(value); !nodes) return fail(nodes.error());
      made.nodes = value;
    } else if (key == "from" || key == "to") {
      const auto time = parse_duration(value);
      if (!time) return fail(time.error());
      (key == "from" ? made.start : made.end) = TimePoint() + *time;
    } else if (key == "users") {
      for (std::size_t at = 0; at < value.size();) {
        const auto end = std::min(value.find(',', at), value.size());
        made.users.push_back(uid_of(value.substr(at, end - at)));
        at = end + 1;
      }
    } else {
      return bad(fmt::format("a reservation has no '{}'", key));
    }
  }
  if (made.nodes.empty() || made.end <= made.start)
    return bad("a reservation has nodes, and ends after it begins");
  into.reservations.push_back(std::move(made));
  return {};
}

Status take_line(const std::string& line, Scenario& into) {
  const Words words = words_of(line);
  if (words.empty() || words[0][0] == '#') return {};
  if (words[0] == "cluster") return cluster_line(words, into);
  if (words[0] == "job") return job_line(words, into);
  if (words[0] == "at") return at_line(words, into);
  if (words[0] == "background") return background_line(words, into);
  if (words[0] == "reservation") return reservation_line(words, into);
  if (words[0] == "config") {
    auto config = parse_config(line.substr(line.find("config") + 6), "config");
    if (!config) return fail(config.error());
    into.config = std::move(*config);
    return {};
  }
  if (words[0] == "seed" && words.size() == 2) {
    into.cluster.seed = static_cast<std::uint64_t>(number(words[1]).value_or(0));
    return {};
  }
  if (words[0] == "show" && words.size() == 2) {
    static const std::map<std::string_view, bool Scenario::*> kShown = {
        {"claims", &Scenario::show_claims},
        {"answers", &Scenario::show_answers},
        {"places", &Scenario::show_places},
        {"history", &Scenario::show_history},
    };
    if (const auto shown = kShown.find(words[1]); shown != kShown.end()) {
      into.*(shown->second) = true;
      return {};
    }
  }
  if (words[0] == "until" && words.size() == 2) {
    const auto time = parse_duration(words[1]);
    if (!time) return fail(time.error());
    into.until = *time;
    return {};
  }
  return bad(fmt::format("a scenario has no line '{}'", words[0]));
}

}  // namespace

std::uint32_t uid_of(std::string_view user) {
  constexpr std::array<std::string_view, 5> kUsers{"alice", "bob", "carol", "dave", "erin"};
  if (user == "root") return 0;
  const auto found = std::find(kUsers.begin(), kUsers.end(), user);
  return 1001 + static_cast<std::uint32_t>(found - kUsers.begin());
}

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  scenario.cluster.write_outputs = false;
  int number_of_line = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string line(text.substr(at, end - at));
    at = std::min(end + 1, text.size());
    ++number_of_line;
    if (line == "----") {
      scenario.expected = text.substr(at);
      break;
    }
    scenario.given += line + "\n";
    if (auto taken = take_line(line, scenario); !taken)
      return fail(std::move(taken.error()).in(fmt::format("reading line {}: {}", number_of_line, line)));
  }
  if (scenario.jobs.empty() && scenario.acts.empty()) return bad("nothing happens in this scenario");
  if (scenario.config.verify.folder.empty()) scenario.config.verify.folder = "/shared/verify";
  scenario.given += "----\n";
  return scenario;
}

}  // namespace sickbay::sim
