// SPDX-License-Identifier: Apache-2.0
// NodeList: the answer to GET /v1/nodes, made seldom.
//
// The list of ten thousand nodes takes tens of milliseconds to make, anybody may ask for it at any time, and
// while it is made the loop does nothing else.  So its text is kept: it is told again while nothing has
// changed, for as long as the list of nodes itself may be old, and while it is so young that making it again
// would take more than a tenth of the loop's time.  In a small cluster that is at once.
// It is written as text, and no JSON value of it is made: that took ten times as long.  What Slurm says of a
// node, which is most of it and seldom news, stays as text from one list to the next.
//
// The same holds of its service: a node that a year's verdicts speak against has a hundred reasons to leave.
// Of a node's cases, and of these reasons, the list has the newest few and how many others there are: in a
// year they are hundreds of thousands.  Who wants more asks for one node, GET /v1/nodes/NODE, and has
// (nearly) all.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/time.h"
#include "engine/drain/node_view.h"
#include "model/job.h"

namespace sickbay {

class Agents;
class Controller;
class JsonText;

class NodeList {
 public:
  /// `controller` must outlive it.
  explicit NodeList(const Controller& controller) : controller_(controller) {}

  /// The body of the answer; good until the next call.  `stale`: slurmctld did not answer.  `agents` may be
  /// null.
  const std::string& text(bool stale, const Agents* agents);
  /// The body of the answer about one node, made anew; nothing where there is no such node.
  std::optional<std::string> node_text(const std::string& name, bool stale, const Agents* agents) const;

  static constexpr std::size_t kListed = 3;  ///< cases of each kind, and reasons, that a node has in the list
  static constexpr std::size_t kTold = 1'000;  ///< and alone: no node is asked about for the sake of more

 private:
  /// What the list is made from, as far as it says by itself that it has changed.
  using Version = std::tuple<bool, std::uint64_t, std::uint64_t, std::uint64_t>;
  /// A node as Slurm showed it last.
  struct Shown {
    NodeInfo node;
    std::string members;  ///< of its JSON object, without the brackets
    bool usable = false;
    std::string service;         ///< the text of its member "service", for as long as
    bool service_lasts = false;  ///< it says nothing of the time, and
    drain::ViewKey service_of;   ///< this is the same
  };
  struct Sources;
  /// Writes the list to `list`, in the place of what was there.
  void make(bool stale, const Agents* agents, std::string& list);
  static void write_service(JsonText& text, const drain::Known& known, const std::string& name, Shown& shown,
                            std::size_t most);
  static void show(Shown& shown, const NodeInfo& node);
  void refresh_shown();
  /// The members of a node; `blamers`: cases that blame it, of which the newest `most` are written.
  static void write_node(JsonText& text, const Sources& from, const std::string& name, Shown& shown,
                         const std::set<std::int64_t>& blamers, std::size_t most);

  const Controller& controller_;
  std::map<std::string, Shown> shown_;  ///< as of the last list
  std::string text_, next_;  ///< the next one is written where the last but one was: megabytes come and go
  Version version_;
  TimePoint made_ = kNoTime;
  Micros cost_{0};
};

}  // namespace sickbay
