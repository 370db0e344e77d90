// SPDX-License-Identifier: Apache-2.0
// Seats: the engines of this sickbayd, and what they share.
//
// A new engine is one line in the constructor.  Controller and watch see all() and nothing of an engine; the
// API and the metrics, which show each engine's own things, ask for it by name.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "service/seats/blackhole_seat.h"
#include "service/seats/detect_seat.h"
#include "service/seats/drain_seat.h"
#include "service/seats/fleet_seat.h"
#include "service/seats/history_seat.h"
#include "service/seats/identify_seat.h"
#include "service/seats/nonstop_seat.h"
#include "service/seats/patrol_seat.h"
#include "service/seats/recover_seat.h"

namespace sickbay {

struct Config;

class Seats {
 public:
  explicit Seats(const Config& config);
  Seats(const Seats&) = delete;
  ~Seats();

  const std::vector<std::unique_ptr<Seat>>& all() const { return all_; }
  /// Another engine than those of the constructor; to be added before the replay.
  void add(std::unique_ptr<Seat> seat) { all_.push_back(std::move(seat)); }

  cluster::Cluster& cluster() { return cluster_; }
  const cluster::Cluster& cluster() const { return cluster_; }

  IdentifySeat& cases() { return *cases_; }
  const IdentifySeat& cases() const { return *cases_; }
  const DrainSeat& drains() const { return *drains_; }
  const NonstopSeat& nonstop() const { return *nonstop_; }
  const DetectSeat& detects() const { return *detects_; }
  const FleetSeat& fleet() const { return *fleet_; }
  const BlackholeSeat& blackholes() const { return *blackholes_; }
  PatrolSeat& patrols() { return *patrols_; }
  const PatrolSeat& patrols() const { return *patrols_; }
  RecoverSeat& recoveries() { return *recoveries_; }
  const RecoverSeat& recoveries() const { return *recoveries_; }
  const HistorySeat& histories() const { return *histories_; }

  /// Takes in one event: the cluster first, then every engine.
  void apply(const Event& event);
  /// The same for an event of the journal, which may be of an older version.
  void replay(Event event);
  /// The canonical text of everything that a replay must bring back.
  std::string canonical_text() const;
  /// The same as bytes, with what is derived from it, and back (seat_states.cc).
  void save(StateWriter& out) const;
  void restore(StateReader& in);

 private:
  template <class S, class... Args>
  S* seat(Args&&... args) {
    auto made = std::make_unique<S>(cluster_, std::forward<Args>(args)...);
    S* here = made.get();
    all_.push_back(std::move(made));
    return here;
  }

  cluster::Cluster cluster_;
  std::vector<std::unique_ptr<Seat>> all_;
  IdentifySeat* cases_;
  DrainSeat* drains_;
  NonstopSeat* nonstop_;
  DetectSeat* detects_;
  FleetSeat* fleet_;
  BlackholeSeat* blackholes_;
  PatrolSeat* patrols_;
  RecoverSeat* recoveries_;
  HistorySeat* histories_;
};

}  // namespace sickbay
