// SPDX-License-Identifier: Apache-2.0
// The detect engine: a node of which others say that it does not answer is set DOWN, when that is so.
//
// What the agents of a job's nodes tell of each other (engine/swim) is a report and no more.  It is acted on
// when at least two nodes say it (of a group of two the other one), and then only if sickbayd itself gets no
// answer: neither from the node's slurmd, by TCP, while one of the accusers does answer the same question,
// nor from its agent.  So no node goes that is slow, paused, or cut off from its peers alone; of one that is
// cut off from sickbayd alone nobody complains.  Where more than half of a job's nodes are complained of, the
// network is cut: that is left to Slurm.  The breaker that all engines share bounds how many go
// (engine/cluster/breaker.h).
//
// apply() and decide() as in engine/identify.  Subjects: "node:n3" a node that is complained of, "job:17" a
// job that said how it wants it; "j17", a running job of several nodes, is only listened to.  No I/O, no
// clock.  Source: doc/design/detect.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/event.h"
#include "model/ids.h"

namespace sickbay::detect {

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "detect";

/// What a site may set (configuration `detect`).
struct Policy {
  bool fast = false;  ///< what a job gets that says nothing: false, Slurm's own detection alone
  bool act = true;    ///< false: all is decided and shown, nothing is done
};

inline constexpr std::chrono::seconds kFresh{6};  ///< how long a complaint counts; it is made again every 2 s
inline constexpr std::chrono::seconds kAskAgain{
    5};  ///< between two questions to a node that others complain of
inline constexpr std::chrono::seconds kAskRarely{60};  ///< after kAskedOften of them
inline constexpr int kAskedOften = 3;
/// What was found out of a node holds for so long: a command that Slurm did not take by then is not done.
inline constexpr std::chrono::seconds kHoldsFor{10};
inline constexpr std::size_t kMostNodes = 4096;  ///< of a job: what one group can have (model/swim_message.h)

/// A node that was complained of.
struct Suspect {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  JobId job = 0;
  std::size_t group = 0;                ///< members that watch each other
  std::map<std::string, TimePoint> by;  ///< who does not reach it, and when he said so last
  // The second way.
  bool asking = false;
  TimePoint asked = kNoTime;  ///< when the last question ended
  int asked_times = 0;        ///< since it was complained of
  bool gone = false;          ///< that question had no answer, and one to an accuser had
  // What came of it.
  bool setting = false, ours = false;  ///< DOWN by us, and not seen back
  TimePoint set_at = kNoTime;
  std::string held;  ///< why nothing is done, as the journal has it
  /// Commands so far: numbers of their keys, which are given once.
  struct Numbers {
    static constexpr int kFields = 2;  ///< base/state_archive.h
    int questions = 0, downs = 0;
    bool operator==(const Numbers&) const = default;
  } numbers;
};

/// A job that said how its lost nodes are to be found.
struct Group {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  JobId job = 0;
  bool fast = true;  ///< its nodes watch each other; false: Slurm alone, whatever the site's default is
  std::uint32_t uid = 0;
  std::string by;
  std::vector<std::string> nodes;  ///< as last seen running; sorted
  bool running = false;
  bool ended = false;  ///< seen; decide() forgets it, and the view with it
};

struct State {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::map<std::string, Suspect> nodes;
  std::map<JobId, Group> groups;
  /// Running jobs of more than one node, with their nodes, sorted; known while somebody has them listed
  /// (service/watch_nonstop.h).
  std::map<JobId, std::vector<std::string>> running;
};

/// Total.  `view` has taken in the event before.  Gives the subjects about which decide() must be asked
/// again.
std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<cluster::Claim> claims;
  std::vector<Command> commands;  ///< verbs: ask_node, set_down
  std::vector<Event> records;
  TimePoint wake_at = kNever;
};
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const cluster::BreakerPolicy& breaker, const std::string& subject, TimePoint now);

/// Whether the journal must hear that `by` does not reach `node`: not each of the repeats.
bool is_news(const State& state, const std::string& node, const std::vector<std::string>& by, TimePoint now);
/// Who does not reach the node, for people: {job, by, at, set_down, held}; null where nobody complains.
Json complaint_view(const State& state, const std::string& node, TimePoint now);
/// Whether anybody complains of the node, so that a word of its own is news.
bool is_suspect(const State& state, const std::string& node);
/// Whether the engine needs to see nodes at once.
bool wants_nodes(const State& state, TimePoint now);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

/// The reason that Slurm itself gives: with any other, ReturnToService=1 would not bring the node back when
/// it answers again.
inline constexpr std::string_view kReason = "Not responding";

// Words of the journal (doc/formats/journal.md).
inline constexpr std::string_view kNodeSilent = "node_silent";    ///< node:n3 {job, group, by, silent_ms}
inline constexpr std::string_view kNodeAnswers = "node_answers";  ///< node:n3 {by}: a sign of life
inline constexpr std::string_view kDetectHeld = "detect_held";    ///< node:n3 {why}: nothing is done
using sickbay::kDetectAsked;

}  // namespace sickbay::detect
