// SPDX-License-Identifier: Apache-2.0
// SwimGroups: which nodes watch each other for which job, and what their agents say of one another.
//
// Engines say which jobs want it (Seat::wish, swim_groups); each job's nodes that have an agent become a
// group with a number and a key of its own.  An agent gets its groups whole, in the answer to its long poll,
// when they are others than those it says it has.  Keys are made here, live in memory only, and travel over
// the channel that MUNGE signs; after a restart of ours there are new ones.  All on the loop's thread.
// Source: doc/design/detect.md.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ports/lifetime.h"
#include "service/controller.h"

namespace sickbay {

class SwimGroups {
 public:
  /// `random` gives so many random bytes; `wake` is told of nodes whose groups have changed.  `controller`
  /// must outlive it.
  SwimGroups(Loop& loop, Controller& controller, std::uint16_t port,
             std::function<std::string(std::size_t)> random,
             std::function<void(const std::string& node)> wake);

  /// The agent of `node` has asked something, from there; `version` is that of the groups it has, where it
  /// knows of such.
  void heard(const std::string& node, const std::string& address);
  void can_watch(const std::string& node);
  /// What its agent is to be told: {version, port, groups}; null where `version` is what it has.
  Json news(const std::string& node, std::int64_t version) const;
  /// What an agent says of others: events for the journal, none where nothing is new.  Errors: bad_input,
  /// not_found (no such group, or the node is not in it: it has ended).
  Result<std::vector<Event>> take_report(const std::string& node, const Json& body) const;

  std::size_t groups() const { return groups_.size(); }
  static constexpr std::size_t kMostItems = 4096;  ///< of one report

 private:
  struct Group {
    JobId job = 0;
    std::uint32_t number = 0;
    std::string key;
    std::vector<std::string> wanted, members;  ///< sorted
    std::vector<std::string> addresses;        ///< of the members
    std::vector<std::uint16_t> ports;          ///< of their slurmds; 0 where Slurm tells none
  };
  struct Member {
    std::string address;
    bool can_watch = false;
    std::int64_t version = 0;  ///< of its groups; 0: it has none
  };
  void refresh_soon();
  void refresh();

  Loop& loop_;
  Controller& controller_;
  const std::uint16_t port_;
  const std::function<std::string(std::size_t)> random_;
  const std::function<void(const std::string&)> wake_;
  std::map<JobId, Group> groups_;
  std::map<std::string, Member> members_;
  std::int64_t last_version_;
  bool refreshing_ = false;
  Lifetime lifetime_;
};

}  // namespace sickbay
