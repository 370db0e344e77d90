// SPDX-License-Identifier: Apache-2.0
// TwoSickbayds: two whole sickbayds over one simulated Slurm, of which one or the other is killed at any
// moment.
//
// Controllers, effects, engines, journals (on real files), leases, witnesses and the copy are those of the
// product; Slurm, the network and time are simulated.  A story goes on meanwhile: jobs of users fail on sick
// nodes or by themselves, nodes are drained and given back, jobs are put back into the queue.  Users and
// agents are patient: what was not acknowledged they say again.
//
// What must hold, and is looked at while it happens:
//  - an effect is seen at Slurm only after its intent counts, and at most once for each key;
//  - never do two act;
//  - what was acknowledged stands in both journals in the end, at its place, and what was submitted on both
//  hosts;
//  - each case ends with the verdict, and each node as it does, without kills.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_processes.h"
#include "service/case_store_test_parts.h"
#include "test/sim_runner/sim_daemon.h"
#include "test/standby/two_heads.h"

namespace sickbay {

class TwoSickbayds {
 public:
  /// A fault of ours, to see that it is found.
  enum class Plant {
    none,
    acts_before_it_counts,  ///< what follows of events does not wait until they count
    acts_without_lease,     ///< the second's clock is so slow that it acts when its lease is long over
    looks_for_nothing       ///< what was under way is not looked up by its key, but done again
  };
  explicit TwoSickbayds(std::uint64_t seed, Plant plant = Plant::none);
  ~TwoSickbayds();
  TwoSickbayds(const TwoSickbayds&) = delete;

  /// How a story ended: what can be compared with the same story without kills.
  struct Ended {
    std::vector<std::string> cases;  ///< of each job, and of what went on from it
    std::vector<std::string> nodes;  ///< that are out
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  /// Plays the whole story with at most `kills` of them, and looks at what must hold.
  Ended play(int kills);

  int kills = 0;                    ///< that met a running one
  int take_overs = 0;               ///< terms that another one than before began
  int mid_effect = 0;               ///< kills in the moment after something was done at Slurm
  std::size_t effects = 0;          ///< that were seen at Slurm
  std::vector<std::string> broken;  ///< rules, in words
  std::size_t acknowledged() const { return acknowledged_.size(); }

 private:
  enum class Kind { bug, signal, fails_once, completes, sick_node, recovers };
  struct UserJob {
    Kind kind = Kind::bug;
    std::string name;
    Micros at{0};
    Submission submission;
    Json options = Json::object(), more = Json::object();
    std::int64_t case_no = 0;
    JobId job = 0;
    bool bound = false;
  };
  class Active;
  class Forgetful;

  sim::SimOptions cluster_options();
  void plan_story();
  void watch_effects();
  void saw_job(const JobInfo& job);
  void saw_node(const NodeInfo& node);
  void tell_event(int no, const Event& event);
  void counts(const Event& event);
  void wrong(std::string what);
  sim::SimDaemon* acting();
  sim::SimDaemon& daemon_of(int no);
  /// What is done to what, as intents_ and done_ count it.
  static std::string on(std::string_view verb, const std::string& what);
  void nag(std::size_t job);
  void nag_finding(const std::string& subject, const std::string& result);
  bool is_over();
  std::string what_is_left();
  void befall(int& left);
  void cut_some_link();
  void check_journals();
  void check_submissions();
  Ended ended();

  const std::uint64_t seed_;
  const Plant plant_;
  std::mt19937_64 story_;   ///< of the story, the same with kills and without
  std::mt19937_64 random_;  ///< of what befalls it
  Config config_;
  std::map<std::string, std::string> agents_;
  sim::ProcessLoop::Timed on_work_;
  MemoryStore cases_[3];  ///< on the disk of each, from 1
  TwoHeads heads_;
  sim::SimCluster cluster_;
  sim::SimProcesses processes_;
  std::unique_ptr<ResourceManager> manager_;
  Active* active_[3] = {nullptr, nullptr, nullptr};
  std::vector<UserJob> jobs_;
  std::set<std::string> findings_;  ///< whose event counts
  TimePoint began_ = kNoTime;

  std::int64_t moments_ = 0;        ///< at which a kill is worth the most
  std::int64_t effect_moment_ = 0;  ///< the last of them that was an effect
  int last_acting_ = 0;
  std::map<std::int64_t, std::string> acknowledged_;  ///< text by number
  std::map<std::string, int> intents_;                ///< that count: by verb and what it acts on
  std::set<std::string> intended_;                    ///< their keys
  std::map<std::string, std::set<JobId>> jobs_of_key_;
  std::set<JobId> cancelled_;
  std::map<JobId, std::uint32_t> restarts_;
  std::map<std::string, bool> drained_;
  std::map<std::string, int> done_;  ///< effects, as intents_
};

}  // namespace sickbay
