// SPDX-License-Identifier: Apache-2.0
// A cluster whose jobs are told to the engine one by one, as the journal would tell them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "engine/blackhole/blackhole.h"
#include "model/ids.h"

namespace sickbay::blackhole {

struct World {
  State state;
  cluster::View view;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::vector<Event> journal;
  bool keeps_journal = true;
  std::vector<std::pair<std::string, TimePoint>> alarms, overs, suspicions;  // node, when
  JobId last_job = 0;

  void take(Event event) {
    event.at = now;
    if (keeps_journal) journal.push_back(event);
    for (const std::string& node : apply(state, view, event))
      for (Event& record : decide(state, node).records) {
        (record.kind == kBlackHole            ? alarms
         : record.kind == kBlackHoleSuspected ? suspicions
                                              : overs)
            .emplace_back(node, now);
        take(std::move(record));
      }
  }
  void tell(const JobOutcome& outcome) {
    Event event = new_event("jobs", kJobsEnded, Json());
    event.body = Json::object({{"outcomes", Json::array({outcome.to_json()})}});
    take(std::move(event));
  }
  /// A job that starts now and has ended `lived` later; the clock goes on by `then` after its start.
  JobOutcome run(std::uint32_t uid, const std::string& program, std::vector<std::string> nodes, bool failed,
                 std::chrono::seconds lived = std::chrono::seconds(5),
                 std::chrono::seconds then = std::chrono::seconds(20)) {
    JobOutcome outcome;
    outcome.job = ++last_job;
    outcome.start = now;
    outcome.uid = uid;
    outcome.program = program;
    outcome.nodes = std::move(nodes);
    outcome.lived = lived;
    outcome.failed = failed;
    now += lived;
    tell(outcome);
    now = outcome.start + then;
    return outcome;
  }
  void ok(std::uint32_t uid, const std::string& program, const std::string& node) {
    run(uid, program, {node}, false);
  }
  void dies(std::uint32_t uid, const std::string& program, const std::string& node) {
    run(uid, program, {node}, true);
  }
  bool black(const std::string& node) const {
    const auto it = state.nodes.find(node);
    return it != state.nodes.end() && it->second.black;
  }
};

inline std::string program_of(std::uint32_t uid) {
  return "app" + std::string(1, static_cast<char>('a' + uid % 26));
}

/// What a healthy day leaves: each user ran `each` jobs, on n2 to n9.
inline World healthy_day(std::uint32_t users, int each = 10) {
  World world;
  for (int i = 0; i < each; ++i)
    for (std::uint32_t uid = 1; uid <= users; ++uid)
      world.ok(uid, program_of(uid), "n" + std::to_string(2 + (static_cast<unsigned>(i) + uid) % 8));
  world.now += std::chrono::minutes(10);
  return world;
}

}  // namespace sickbay::blackhole
