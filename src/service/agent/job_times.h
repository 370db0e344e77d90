// SPDX-License-Identifier: Apache-2.0
// JobTimes: this node's part in seeing whether the processes of a job get the processors that they ask for,
// and whether its network loses packets meanwhile.
//
// sickbayd says in the answers to the long poll of which jobs (service/rank_watches.h).  Of each the kernel's
// counters are read every kEvery, and the states of its processes kSamples times between (who is stopped and
// continued in turns is to be seen at it); engine/hang/waiting.h adds up what was waited, and the process
// that lost most is told to sickbayd.  That is read by the agent itself, in some 40 microseconds for each
// process and thread; where a look is dear the pauses are longer, kBudget of a processor at the most. Source:
// doc/design/identify.md, "Starved processes", "Lossy links".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/hang/losing.h"
#include "engine/hang/waiting.h"
#include "model/job.h"
#include "ports/echo.h"
#include "ports/loop.h"

namespace sickbay::agent {

/// Where the counters come from (adapters/node/wait_times.h).
struct TimesSource {
  /// Of the processes of `job` that belong to `uid`: those found before, or with `search` all.
  std::function<Result<JobCounts>(JobId job, std::uint32_t uid, bool search)> count;
  std::function<std::vector<std::pair<std::int64_t, char>>(const std::vector<std::int64_t>& pids)> states;
  /// The job is not looked at any more.
  std::function<void(JobId job)> forget;
  std::function<Result<TcpLook>()> connections;  ///< of the node; none: they are not looked at
  OpenEcho echo;                                 ///< likewise
};

class JobTimes {
 public:
  /// `report` gets {job, times, network}, to be sent to sickbayd.
  JobTimes(Loop& loop, TimesSource source, std::function<void(Json)> report,
           std::function<void(const std::string& line)> log);
  ~JobTimes();

  /// All jobs of this node that are to be looked at, [{job, uid, pause_ms, ask}]; those that are there go on.
  void take(const Json& jobs);
  std::size_t jobs() const { return jobs_.size(); }

  static constexpr std::chrono::seconds kEvery{5}, kSearchEvery{30}, kTellAnyway{60};
  static constexpr int kSamples = 10;                 ///< of states, between two looks
  static constexpr int kBudget = 1000;                ///< one part of so many of a processor
  static constexpr std::size_t kMostSampled = 16;     ///< processes of a job at one time
  static constexpr std::int64_t kWorthTelling = 100;  ///< lost so much, in thousandths, it is told at once
  static constexpr std::size_t kEchoes = 2000, kEchoesAStep = 100;  ///< to each host that is asked

 private:
  struct Job {
    std::uint32_t uid = 0;
    Micros pause{0};  ///< between two reports
    hang::Waiting waiting;
    int samples_left = 0, looks = 0;
    Micros step{0};  ///< from one sample to the next
    Loop::TimerId timer = 0;
    TimePoint searched_at = kNoTime, told_at = kNoTime;
    bool failed = false;
    hang::Losing losing;
    bool asked = false, network_failed = false;
    std::size_t echoes_left = 0;
    std::vector<std::unique_ptr<Echo>> echoes;  ///< under way
    std::vector<EchoCount> echoed;
  };
  Micros look_at_network(Job& job);
  void ask(Job& job, const Json& addresses);
  void step_echoes(Job& job);
  void step(JobId id);
  void look(JobId id, Job& job);
  void tell(JobId id, Job& job);

  Loop& loop_;
  const TimesSource source_;
  const std::function<void(Json)> report_;
  const std::function<void(const std::string&)> log_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
};

}  // namespace sickbay::agent
