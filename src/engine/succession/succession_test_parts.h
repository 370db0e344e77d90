// SPDX-License-Identifier: Apache-2.0
// A world in virtual time for tests: two sickbayds with their journals, the nodes that witness, and a network
// that loses, delays and doubles what they say.  Clocks differ; all of them crash and come back.
//
// The world watches what must never be: two that may act at once, and one that begins, or acknowledges,
// without all that was acknowledged.  What it finds is in `wrong`.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/succession/candidate.h"
#include "engine/succession/pairing.h"
#include "engine/succession/witness.h"

namespace sickbay::succession {

using namespace std::chrono_literals;

/// Faults of a program, to see that the world finds them.
struct Planted {
  bool no_wait = false;        ///< a witness grants at once after its start
  bool late_clock = false;     ///< a lease is counted from the answer, not from the ask
  bool alone_at_once = false;  ///< what the standby lacks is acknowledged before the witnesses know
  std::int64_t skew = 10'000;  ///< of each clock, in parts of a million, either way
};

class World {
 public:
  struct Entry {
    std::int64_t term = 0, id = 0;  ///< id 0: the term begins
    int who = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  World(std::size_t witnesses, std::uint64_t seed, Planted planted = {})
      : random_(seed), planted_(planted), nodes_(witnesses) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].clock = some_clock();
      start_witness(i, 0s - kLongestLease);
    }
    for (int i = 0; i < 2; ++i) {
      hosts_[i].clock = some_clock();
      start_host(i);
    }
  }

  std::vector<std::string> wrong;
  std::vector<Entry> acknowledged;
  double loss = 0, twice = 0, slow = 0;  ///< of each message
  bool hosts_cut = false;                ///< the link between the two
  bool is_restless = true;               ///< events keep coming

  Micros now() const { return now_; }
  std::mt19937_64& random() { return random_; }
  bool is_up(int host) const { return hosts_[host].up; }
  State& state(int host) { return hosts_[host].state; }
  const std::vector<Entry>& log(int host) const { return hosts_[host].log; }
  bool is_alone(int host) const { return !hosts_[host].pairing || hosts_[host].pairing->is_alone(); }
  std::size_t witnesses() const { return nodes_.size(); }
  const Witness* witness(std::size_t i) const { return nodes_[i].witness ? &*nodes_[i].witness : nullptr; }
  bool acts(int host) const {
    const Host& h = hosts_[host];
    return h.up && may_act(h.state, h.clock.at(now_));
  }

  void kill_host(int host) {
    hosts_[host].up = false;
    hosts_[host].pairing.reset();
    ++hosts_[host].life;
  }
  /// Its journal is what it was.
  void start_host(int host) {
    Host& h = hosts_[host];
    h.up = true;
    h.paused_until = 0us;
    ++h.life;
    h.pairing.reset();
    std::int64_t term = 0;
    bool is_ours = host == 0;  // the first of the two, where neither ever was
    for (const Entry& e : h.log)
      if (e.id == 0) term = e.term, is_ours = e.who == host;
    h.state = begin(name(host), nodes_.size(), timing, term, is_ours, h.clock.at(now_));
    later(0us, [this, host, life = h.life] { turn(host, life); });
  }
  void kill_witness(std::size_t i) {
    nodes_[i].witness.reset();
    ++nodes_[i].life;
  }
  void start_witness(std::size_t i) { start_witness(i, nodes_[i].clock.at(now_)); }
  void forget_disk(std::size_t i) { nodes_[i].disk = {}; }
  /// Its process stands still, and its clock does not.
  void pause_host(int host, Micros length) { hosts_[host].paused_until = now_ + length; }
  void cut(int host, std::size_t witness, bool is_cut) { nodes_[witness].cut[host] = is_cut; }
  bool is_cut(int host, std::size_t witness) const { return nodes_[witness].cut[host]; }

  void later(Micros in, std::function<void()> what) { queue_[{now_ + in, ++turns_}] = std::move(what); }
  void run(Micros length) {
    const Micros end = now_ + length;
    while (!queue_.empty() && queue_.begin()->first.first <= end) {
      const auto first = queue_.begin();
      now_ = first->first.first;
      const std::function<void()> what = std::move(first->second);
      queue_.erase(first);
      what();
    }
    now_ = end;
  }
  /// Runs until `good`, at most for `length`.
  bool run_until(Micros length, const std::function<bool()>& good) {
    for (const Micros end = now_ + length; now_ < end && !good();) run(100ms);
    return good();
  }

  Timing timing;

 private:
  struct Clock {
    Micros offset{0};
    std::int64_t parts = 0;  ///< of a million, that it goes faster
    Micros at(Micros t) const { return offset + t + Micros(t.count() / 1000 * parts / 1000); }
  };
  struct Host {
    Clock clock;
    bool up = false;
    int life = 0;
    Micros paused_until{0};
    State state;
    std::optional<Pairing> pairing;
    std::vector<Entry> log;     ///< on its disk
    std::int64_t question = 0;  ///< of the follower, the last
    Micros asked{-1h};
    bool waits = false;
  };
  struct Node {
    Clock clock;
    std::optional<Witness> witness;
    int life = 0;
    Witness::Record disk;
    std::array<bool, 2> cut{};
  };

  static std::string name(int host) { return host == 0 ? "head1" : "head2"; }
  bool chance(double of) { return std::uniform_real_distribution<>(0, 1)(random_) < of; }
  Clock some_clock() {
    const std::int64_t skew = planted_.skew;
    // Clocks of one host begin with its boot, and say nothing to others.
    return {Micros(random_() % 1'000'000'000),
            std::uniform_int_distribution<std::int64_t>(-skew, skew)(random_)};
  }
  Random draw() {
    return [this] { return static_cast<std::uint32_t>(random_()); };
  }

  void start_witness(std::size_t i, Micros started) {
    Node& n = nodes_[i];
    n.witness.emplace(n.disk, planted_.no_wait ? started - kLongestLease : started);
    ++n.life;
  }

  // One message: it is lost, comes later, or twice.
  void carry(bool is_cut, const std::function<void()>& arrives) {
    if (is_cut || chance(loss)) return;
    for (int copies = chance(twice) ? 2 : 1; copies > 0; --copies)
      later(Micros(chance(slow) ? random_() % 45'000'000 : 200 + random_() % 30'000), arrives);
  }

  void send(int host, const Actions& actions) {
    for (const auto& [witness, ask] : actions.send)
      carry(nodes_[witness].cut[host], [this, host, life = hosts_[host].life, witness = witness, ask = ask] {
        at_witness(host, life, witness, ask);
      });
  }

  void at_witness(int host, int life, std::size_t i, const LeaseAsk& ask) {
    Node& n = nodes_[i];
    if (!n.witness) return;
    const LeaseAnswer answer = n.witness->take(ask, n.clock.at(now_));
    const auto back = [this, host, life, i, answer] {
      carry(nodes_[i].cut[host], [this, host, life, i, answer] {
        Host& h = hosts_[host];
        if (!h.up || h.life != life) return;
        if (h.paused_until > now_) return;  // its buffer is full
        if (planted_.late_clock && h.state.sent.contains(answer.serial))
          h.state.sent[answer.serial].at = h.clock.at(now_);
        send(host, receive(h.state, i, answer, h.clock.at(now_), draw()));
        look(host);
      });
    };
    if (!n.witness->must_keep()) return back();
    // The write takes its time, and a crash before its end leaves what was there before.
    later(Micros(random_() % 20'000), [this, i, life = n.life, back] {
      Node& node = nodes_[i];
      if (!node.witness || node.life != life) return;
      node.disk = node.witness->record();
      node.witness->kept();
      back();
    });
  }

  // Each process looks around it a few times a second.
  void turn(int host, int life) {
    Host& h = hosts_[host];
    if (!h.up || h.life != life) return;
    later(Micros(50'000 + random_() % 100'000), [this, host, life] { turn(host, life); });
    if (h.paused_until > now_) return;
    send(host, tick(h.state, h.clock.at(now_), draw()));
    look(host);
    if (h.state.role != Role::active) follow(host);
    if (is_restless && acts(host) && h.pairing && chance(0.7)) {
      h.log.push_back({h.state.term, ++ids_, host});
      h.pairing->committed(size(h), h.clock.at(now_));
      settle(host);
    }
  }

  static std::int64_t size(const Host& h) { return static_cast<std::int64_t>(h.log.size()); }

  // What follows of a change of state.
  void look(int host) {
    Host& h = hosts_[host];
    if (h.state.role != Role::active) {
      h.pairing.reset();
      return;
    }
    if (acts(0) && acts(1)) wrong.push_back("two may act at " + std::to_string(now_.count()));
    if (!h.pairing) {
      check_log(h, "begins");
      h.log.push_back({h.state.term, 0, host});
      ++h.question, h.waits = false;  // nobody hears what the other still says
      journal_has(h.state, h.state.term);
      h.pairing.emplace(2s);
      h.pairing->committed(size(h), h.clock.at(now_));
      send(host, say_sole(h.state, true, h.clock.at(now_)));
    }
    settle(host);
  }

  void settle(int host) {
    Host& h = hosts_[host];
    if (planted_.alone_at_once || (is_sole_known(h.state) && !h.state.sole.name.empty()))
      h.pairing->alone_is_known();
    if (h.pairing->tick(h.clock.at(now_)))
      send(host, say_sole(h.state, h.pairing->is_alone(), h.clock.at(now_)));
    const auto counts = static_cast<std::size_t>(h.pairing->counts_up_to());
    if (counts <= acknowledged.size()) return;
    check_log(h, "acknowledges");
    for (std::size_t i = acknowledged.size(); i < counts; ++i) acknowledged.push_back(h.log[i]);
  }

  void check_log(const Host& h, const char* what) {
    if (h.log.size() < acknowledged.size() ||
        !std::equal(acknowledged.begin(), acknowledged.end(), h.log.begin()))
      wrong.push_back(h.state.self + " " + what + " without all that was acknowledged, at " +
                      std::to_string(now_.count()));
  }

  // One question at a time: what is answered late is answered to nobody.
  void follow(int host) {
    Host& h = hosts_[host];
    if (h.waits && now_ < h.asked + 1s) return;
    h.waits = true;
    h.asked = now_;
    const std::int64_t question = ++h.question, had = size(h);
    const Entry last = h.log.empty() ? Entry{} : h.log.back();
    const int life = h.life;
    carry(hosts_cut, [this, host, life, question, had, last] {
      const int other = 1 - host;
      Host& o = hosts_[other];
      if (!o.up || o.paused_until > now_ || !acts(other) || !o.pairing) return;
      const bool fits = had <= size(o) && (had == 0 || o.log[static_cast<std::size_t>(had) - 1] == last);
      if (fits) {
        o.pairing->standby_has(had);
        settle(other);
      }
      const auto from = fits ? had : 0;
      std::vector<Entry> rows(o.log.begin() + from, o.log.end());
      carry(hosts_cut, [this, host, life, question, from, rows, term = o.state.term] {
        Host& f = hosts_[host];
        if (!f.up || f.life != life || f.question != question || f.paused_until > now_) return;
        f.waits = false;
        f.question++;  // answered twice is answered once
        if (f.state.role == Role::active) return;
        heard_active(f.state, term, f.clock.at(now_));
        f.log.resize(static_cast<std::size_t>(from));
        for (const Entry& e : rows) {
          f.log.push_back(e);
          if (e.id == 0) journal_has(f.state, e.term);
        }
      });
    });
  }

  std::mt19937_64 random_;
  Planted planted_;
  Micros now_{0};
  std::uint64_t turns_ = 0;
  std::int64_t ids_ = 0;
  std::map<std::pair<Micros, std::uint64_t>, std::function<void()>> queue_;
  std::array<Host, 2> hosts_;
  std::vector<Node> nodes_;
};

/// What befalls a world: one thing after another, at random, for `length`.
inline void trouble(World& w, Micros length, bool disks_forget) {
  auto& g = w.random();
  for (const Micros end = w.now() + length; w.now() < end;) {
    const int host = static_cast<int>(g() % 2);
    const std::size_t node = g() % w.witnesses();
    switch (g() % 16) {
      case 0:
        w.kill_host(host);
        break;
      case 1:
      case 2:
        if (!w.is_up(host)) w.start_host(host);
        break;
      case 3:
        w.pause_host(host, Micros(g() % 90'000'000));
        break;
      case 4:
        w.hosts_cut = !w.hosts_cut;
        break;
      case 5:
        w.hosts_cut = false;
        break;
      case 6:
        w.kill_witness(node);
        break;
      case 7:
      case 8:
        if (w.witness(node) != nullptr) break;
        if (disks_forget && g() % 2) w.forget_disk(node);
        w.start_witness(node);
        break;
      case 9:
        w.cut(host, node, !w.is_cut(host, node));
        break;
      case 10: {
        const bool from_all = g() % 2 == 0;
        for (std::size_t i = 0; i < w.witnesses(); ++i) w.cut(host, i, from_all || g() % 3 == 0);
        break;
      }
      case 11:
        w.loss = 0.3 * static_cast<double>(g() % 2);
        w.slow = 0.3 * static_cast<double>(g() % 3);
        break;
      case 12:
      case 13:
        for (std::size_t i = 0; i < w.witnesses(); ++i) w.cut(host, i, false);
        break;
      default:
        break;  // and nothing for a while
    }
    w.run(Micros(g() % 12'000'000));
  }
}

inline void heal(World& w);

/// The active is cut off in the middle of its work, again and again: where leases and promises meet.
inline void cut_off_the_active(World& w, int times) {
  auto& g = w.random();
  for (int i = 0; i < times; ++i) {
    heal(w);
    w.run_until(kLongestLease + w.timing.lease + 20s,
                [&] { return (w.acts(0) && !w.is_alone(0)) || (w.acts(1) && !w.is_alone(1)); });
    const int active = w.acts(0) ? 0 : 1;
    w.slow = 0.3 * static_cast<double>(g() % 3);
    w.run(Micros(g() % 20'000'000));
    w.hosts_cut = true;
    for (std::size_t n = 0; n < w.witnesses(); ++n) w.cut(active, n, true);
    for (std::size_t n = 0; n < w.witnesses(); ++n) {
      if (g() % 2 == 0 || w.witness(n) == nullptr) continue;
      w.kill_witness(n);
      w.start_witness(n);
    }
    w.run(Micros(g() % 5'000'000));
    w.slow = 0;
    w.run(w.timing.lease + Micros(g() % 40'000'000));
  }
}

/// All is well again from now on.
inline void heal(World& w) {
  w.loss = w.twice = w.slow = 0;
  w.hosts_cut = false;
  for (std::size_t i = 0; i < w.witnesses(); ++i) {
    for (int host = 0; host < 2; ++host) w.cut(host, i, false);
    if (w.witness(i) == nullptr) w.start_witness(i);
  }
  for (int host = 0; host < 2; ++host) {
    w.pause_host(host, 0us);
    if (!w.is_up(host)) w.start_host(host);
  }
}

}  // namespace sickbay::succession
