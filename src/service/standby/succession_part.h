// SPDX-License-Identifier: Apache-2.0
// SuccessionPart: a sickbayd that is one of two.  It joins the lease (engine/succession) with the loop, the
// witnesses and the journal, and says when this one begins, up to where what it committed counts, and when it
// must stop.
//
// Its life: start(); prepare() is called once, when the lease was given for the first time: the journal is
// opened and replayed then, however long that takes, and prepared() says that it is done.  begin(term)
// follows as soon as the lease is held: the event term_began is committed then, before anything else, so that
// the first that hold() gets is it.  From then on hold() lets go what counts.  lost(): another may act soon;
// this process ends.  Source: doc/design/standby.md.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/succession/candidate.h"
#include "engine/succession/pairing.h"
#include "model/event.h"
#include "ports/lifetime.h"
#include "ports/loop.h"
#include "service/standby/feed.h"
#include "service/standby/lease_desk.h"

namespace sickbay {

class SuccessionPart {
 public:
  struct Setup {
    std::string name;                    ///< of this one
    std::vector<std::string> witnesses;  ///< an odd number
    succession::Timing timing = {};
    Micros patience{2'000'000};     ///< with the standby, for each event
    Micros longest_act{0};          ///< what is begun must end within the lease
    std::function<Micros()> clock;  ///< never steps, and runs on while the host sleeps
    succession::Random random;
    std::int64_t journal_term = 0;  ///< the highest in our journal, or copy
    bool prompt = false;            ///< we were active last, or nobody was and we are the first of the two
    bool yields = false;            ///< we were active last, and handed over
  };
  /// What the events of the subject kTermSubject say of the last term; to be given all of them.
  struct Before {
    std::int64_t term = 0;
    std::string who;
    bool is_over = false;  ///< it was handed over
    void take(const Event& event);
  };
  static Event term_began(std::int64_t term, const std::string& who);

  struct Listener {
    std::function<void()> prepare;
    std::function<void(std::int64_t term)> begin;
    std::function<void()> lost;
    std::function<void(Micros until)> holds;  ///< from begin() on, with each renewal; by Setup::clock
  };
  SuccessionPart(Loop& loop, Setup setup, Listener listener);

  void start();
  LeaseDesk& desk() { return desk_; }

  // Of the standby.
  void heard_active(std::int64_t term);
  void copy_has_term(std::int64_t term);
  /// An operator has it begin although the other alone has all that was acknowledged.
  void allow_loss();

  // Of the active.
  void prepared();
  /// For the controller: all up to `seq` is committed, and `then`, what follows of it, waits until it counts.
  void hold(std::int64_t seq, std::function<void()> then);
  void standby_has(std::int64_t seq);
  /// An operator has it hand over: the event that must be committed first (as any that comes in).  When
  /// that counts it stops, and lost() follows; when it begins anew it lets the other go first.
  Event hand_over(const std::string& by);
  /// For the feed: active or not.
  StandbyFeed::Standing standing() const;

  bool is_active() const { return kept_ && succession::may_act(state_, setup_.clock()); }
  /// For `sickbay status`: {name, role, term, lease_left_us, alone, standby_seq, held, lacks, witnesses}.
  Json view() const;

 private:
  void term_is_kept(std::int64_t seq);
  void took(succession::Actions actions);
  void look();
  void settle();
  void let_go();
  void step_down();
  void arm(Micros wake_at);

  Loop& loop_;
  const Setup setup_;
  Listener listener_;
  LeaseDesk desk_;
  succession::State state_;
  std::optional<succession::Pairing> pairing_;
  bool hands_over_ = false, preparing_ = false, prepared_ = false, begun_ = false, kept_ = false,
       lost_ = false, looking_ = false;
  std::int64_t over_at_ = 0;  ///< the event that ends our term
  std::deque<std::pair<std::int64_t, std::function<void()>>> held_;
  Loop::TimerId timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay
