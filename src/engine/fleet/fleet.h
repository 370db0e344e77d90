// SPDX-License-Identifier: Apache-2.0
// The fleet engine: among nodes of one kind, the odd one out is a finding, with no value configured.
//
// Agents tell what they read (facts.h): mounts, memory, processors, versions, link speeds.  Nodes are put
// into classes by what does not change (classes.h), and in each class every fact has a usual value: the one
// that most have.  Who has another one, or lacks it, is told: "n3 lacks /home (nfs4), which 9,998 others
// mount".  All nodes that are odd in the same way are one finding.
//
// Versions change, and then the new value is odd first and the old one later.  Nodes that were seen to move
// from one value to another within Policy::quiet are one rollout, told once when it begins; who still has the
// old value when nothing has moved for that long is odd.  What a class of fewer than Policy::least nodes has
// says nothing: of two that differ nobody knows which is right.
//
// apply() and decide() as in engine/identify.  One subject: "fleet".  No I/O, no clock.  Nothing is drained
// by default.  Source: doc/design/fleet.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/event.h"

namespace sickbay::fleet {

inline constexpr std::string_view kName = "fleet";
inline constexpr std::string_view kSubject = "fleet";

/// What a site may set (configuration `fleet`).
struct Policy {
  bool on = true;
  std::size_t least = 4;                  ///< nodes of a class that have a word on a fact; fewer say nothing
  std::chrono::seconds settle{300};       ///< so long a fact must stand: a node that boots mounts one by one
  std::chrono::seconds quiet{86400};      ///< a rollout is over when no node has moved for so long
  std::chrono::milliseconds clock{1000};  ///< a clock so far off from the others' is odd
  /// Facts ("mount:/home", "mount:*") whose odd nodes are to be drained, under the breaker.  None by default.
  std::vector<std::string> drains;
};

/// Words that occur again and again, as numbers: ten thousand nodes have few different values.
class Words {
 public:
  Words() = default;
  Words(Words&&) = default;
  Words& operator=(Words&&) = default;
  int number(std::string_view word);
  /// The number of a word that is there; -1 of another.
  int find(std::string_view word) const;
  const std::string& word(int number) const { return *words_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return words_.size(); }
  /// All of it, for base/state_archive.h: the words in the order of their numbers.
  template <class A>
  void walk(A& archive) {
    std::vector<std::string> words;
    if constexpr (!A::kReads)
      for (const std::string* word : words_) words.push_back(*word);
    archive(words, many_);
    if constexpr (A::kReads) {
      numbers_.clear();
      words_.clear();
      for (const std::string& word : words) number(word);
    }
  }

  /// There are so many that it is time to ask which of them are in use.
  bool are_many() const { return words_.size() >= many_; }
  /// Forgets all but `used` (by number).  Gives the new number of each that is kept, in the same order.
  std::vector<int> keep(const std::vector<bool>& used);

 private:
  static constexpr std::size_t kFew = 4096;
  std::map<std::string, int, std::less<>> numbers_;
  std::vector<const std::string*> words_;  ///< keys of `numbers_`, which stay where they are
  std::size_t many_ = kFew;
};

inline constexpr int kLacks = -1;  ///< in the place of a value

/// One fact of one node, as it stands.
struct Fact {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  int name = 0, value = kLacks;      ///< numbers of words; kLacks: it was there and is gone
  int before = kLacks;               ///< the value before this one
  TimePoint since = kNoTime;         ///< journal stamp of the report that brought it
  bool moved = false;                ///< there was another before; else it came with the node's first report
};

struct Node {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  TimePoint first = kNoTime;         ///< its first report
  std::vector<Fact> facts;           ///< by name
  const Fact* fact(int name) const;
};

enum class Kind : std::uint8_t {
  odd,      ///< nodes that differ from what is usual
  rollout,  ///< nodes that are on their way from one value to another
};

/// What is told of one fact, as the journal has it.
struct Told {
  static constexpr int kFields = 10;  ///< base/state_archive.h
  Kind kind = Kind::odd;
  std::string of_class;            ///< words for it; empty for a rollout, which goes through all classes
  std::string fact;                ///< "mount:/home"
  std::string value, usual;        ///< "" where they lack it; of a rollout where it goes and comes from
  std::vector<std::string> nodes;  ///< sorted; of a rollout those that had moved when it was told
  std::size_t agree = 0;           ///< nodes that have the usual value
  std::string severity;            ///< "info", "warn" or "drain"
  std::string text;                ///< one sentence
  TimePoint since = kNoTime;       ///< journal stamp

  Json to_json() const;
  static Told from_json(const Json& json);
};

struct State {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  Words words;
  std::map<std::string, Node> nodes;
  std::map<std::string, Told> told;  ///< by its key
};

/// Total; `view` has taken in the event before.  True: decide() must be asked again.
bool apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<Event> records;  ///< fleet_odd of "fleet"; seq and at are 0
  TimePoint wake_at = kNever;
};
/// Compares all nodes.  O(nodes * facts): a cluster of 10,000 nodes with 40 facts takes some tens of
/// milliseconds, so it is asked once after a change, and not for each node.
Decision decide(const State& state, const Policy& policy, TimePoint now);

/// What is told of nodes now, for people: by node a list of {fact, value, usual, severity, text, since}; of
/// `only` alone where it is not null.
std::map<std::string, Json> views(const State& state, const std::string* only = nullptr);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

// Words of the journal (doc/formats/journal.md); kFleetOdd is in model/event_kinds.h, for drain hears it.
inline constexpr std::string_view kFactsSeen = "facts_seen";  ///< node:n3 {facts}: all that its agent tells

}  // namespace sickbay::fleet
