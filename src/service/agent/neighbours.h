// SPDX-License-Identifier: Apache-2.0
// Neighbours: this node's part in the groups of nodes that watch each other (engine/swim).
//
// sickbayd says in the answers to the long poll which groups there are (service/swim_groups.h); a group
// begins when it is told of and ends when it is told of no more.  One UDP socket serves them all; where no
// group is, there is none, and nothing is done.  Whatever comes must bear the seal of a group's key before it
// is read.  What the members say of one another goes to `report`, but for one: whose slurmd's port answers
// this node by TCP is not lost, whatever its agent does (it may have been started anew where sickbayd cannot
// tell it its groups).  Source: doc/design/detect.md.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/swim/swim.h"
#include "ports/datagrams.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "ports/tcp_question.h"

namespace sickbay::agent {

class Neighbours {
 public:
  /// `report` gets {group, items: [{node, silent, seen_by, silent_ms}]}, to be sent to sickbayd.  Without
  /// `ask` whoever is silent is reported unasked.
  Neighbours(Loop& loop, std::string node, OpenDatagrams open, AskByTcp ask, swim::Random random,
             std::function<void(Json)> report, std::function<void(const std::string& line)> log);
  ~Neighbours();

  /// All groups of this node, as sickbayd tells them; those that are there go on.  What cannot be read is
  /// left out, and said.
  void take(const Json& told);
  /// Of the groups told last; 0 before.
  std::int64_t version() const { return version_; }
  std::size_t groups() const { return groups_.size(); }

 private:
  struct Group;
  struct Members {
    std::vector<std::string> nodes, addresses;
    std::vector<std::uint16_t> slurmd_ports;  ///< 0: not told
    std::string key;
    std::uint32_t number = 0;
  };
  Result<Members> read(const Json& told) const;
  /// Whom this node has heard in its groups, by address, and how long ago.
  std::map<std::string, Micros> heard() const;
  void begin(Members members, const std::map<std::string, Micros>& before);
  void end_all();
  void come(std::string_view bytes);
  void follow(Group& group, swim::Actions actions);
  void ask(Group& group, SwimIndex member);
  void answered(std::uint32_t number, SwimIndex member, bool answers);
  void report(Group& group, const swim::Report& one);
  void say(const Group& group, const swim::Report& one);
  void ring(std::uint32_t number);

  Loop& loop_;
  const std::string node_;
  const OpenDatagrams open_;
  const AskByTcp ask_;
  swim::Random random_;
  const std::function<void(Json)> report_;
  const std::function<void(const std::string&)> log_;
  std::map<std::uint32_t, std::unique_ptr<Group>> groups_;  ///< by number
  std::unique_ptr<Datagrams> socket_;
  std::string address_;  ///< that the socket has
  std::uint16_t port_ = 0;
  std::int64_t version_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
