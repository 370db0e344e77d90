// SPDX-License-Identifier: Apache-2.0
// A network in virtual time: members of one group, datagrams that take their time and get lost, and what may
// befall nodes.
#pragma once
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <vector>

#include "engine/swim/swim.h"

namespace sickbay::swim {

using namespace std::chrono_literals;

inline const TimePoint kStart = from_unix_seconds(1'800'000'000);

class Network {
 public:
  struct Told {
    SwimIndex by;
    Report report;
    Micros at;
  };

  explicit Network(std::size_t members, std::uint64_t seed, const Timing& timing = {})
      : generator_(seed), timing_(timing), nodes_(members) {
    const auto group = static_cast<std::uint32_t>(generator_());
    group_ = group;
    for (SwimIndex i = 0; i < members; ++i) {
      nodes_[i].random = [this] { return static_cast<std::uint32_t>(generator_()); };
      nodes_[i].state = begin(group, members, i, timing, wall(i), nodes_[i].random);
      wake(i, kStart + std::chrono::microseconds(generator_() % 200'000));
    }
  }

  double loss = 0;                                ///< of each datagram
  Micros lag{0};                                  ///< at most so long a member waits for a processor
  std::set<std::pair<SwimIndex, SwimIndex>> cut;  ///< from, to: nothing arrives
  std::vector<Told> told;
  std::uint64_t messages = 0, bytes = 0;  ///< sent, with IP and UDP heads and the seal

  Micros now() const { return now_; }
  State& state(SwimIndex i) { return nodes_[i].state; }
  bool is_dead(SwimIndex i) const { return nodes_[i].dead; }
  std::size_t size() const { return nodes_.size(); }
  std::mt19937_64& generator() { return generator_; }

  void kill(SwimIndex i) { nodes_[i].dead = true; }
  /// Stops a process; what comes for it waits in its socket.
  void pause(SwimIndex i, Micros length) {
    nodes_[i].paused_until = std::max(nodes_[i].paused_until, now_ + length);
  }
  /// Its clock jumps.
  void step(SwimIndex i, Micros by) { nodes_[i].offset += by; }
  /// Its agent starts anew.
  void restart(SwimIndex i) {
    nodes_[i].state = begin(group_, size(), i, timing_, wall(i), nodes_[i].random);
    nodes_[i].inbox.clear();
    wake(i, kStart + now_);
  }
  void later(Micros at, std::function<void()> what) { events_.push({at, ++order_, std::move(what)}); }

  void run(Micros until) {
    while (!events_.empty() && events_.top().at <= until) {
      auto event = std::move(const_cast<Event&>(events_.top()));  // (popped next)
      events_.pop();
      now_ = event.at;
      event.what();
    }
    now_ = until;
  }

 private:
  struct Node {
    State state;
    Random random;
    bool dead = false;
    Micros paused_until{0}, offset{0};
    std::uint64_t turn = 0;  // the last timer counts
    std::vector<SwimMessage> inbox;
  };
  struct Event {
    Micros at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };

  TimePoint wall(SwimIndex i) const { return kStart + now_ + nodes_[i].offset; }
  Micros some(Micros most) {
    return most.count() == 0 ? Micros(0) : Micros(generator_() % static_cast<std::uint64_t>(most.count()));
  }

  void wake(SwimIndex i, TimePoint when) {
    const std::uint64_t turn = ++nodes_[i].turn;
    later(std::max(now_, Micros(when - kStart)) + some(lag), [this, i, turn] { ring(i, turn); });
  }
  // (As the loop does: timers first, then what waits in the socket.)
  void ring(SwimIndex i, std::uint64_t turn) {
    Node& node = nodes_[i];
    if (node.dead || turn != node.turn) return;
    if (now_ < node.paused_until) return later(node.paused_until, [this, i, turn] { ring(i, turn); });
    follow(i, tick(node.state, wall(i), node.random));
  }
  void arrive(SwimIndex to, SwimMessage message) {
    Node& node = nodes_[to];
    if (node.dead) return;
    if (now_ < node.paused_until)
      return later(node.paused_until + 1us, [this, to, message] { arrive(to, message); });
    follow(to, receive(node.state, message, wall(to), node.random));
  }
  void follow(SwimIndex i, Actions actions) {
    for (const Report& report : actions.reports) told.push_back({i, report, now_});
    for (SwimMessage& message : actions.send) {
      ++messages;
      bytes += format_swim_message(message).size() + 16 + 28;
      if (cut.contains({i, message.to})) continue;
      if (loss > 0 && std::uniform_real_distribution<>(0, 1)(generator_) < loss) continue;
      const SwimIndex to = message.to;
      later(now_ + 50us + some(450us) + some(lag),
            [this, to, message = std::move(message)] { arrive(to, message); });
    }
    wake(i, actions.wake_at - nodes_[i].offset);
  }

  std::mt19937_64 generator_;
  Timing timing_;
  std::uint32_t group_ = 0;
  std::vector<Node> nodes_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  Micros now_{0};
};

}  // namespace sickbay::swim
