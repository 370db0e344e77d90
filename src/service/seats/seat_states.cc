// SPDX-License-Identifier: Apache-2.0
// Each seat's state as bytes, and back: two lines for each engine.
//
// What a seat has besides its engine's state is here where a replay sets it (the stamp of the last event,
// when to compare); not what is given out and not yet in the journal, nor what is kept only to be quicker.
// All in one file, since it is the templates of base/state_archive.h that cost the compiler time.
#include "base/state_archive.h"
#include "service/seats/seats.h"

namespace sickbay {
namespace {

// Never half: what does not come back whole leaves the seat as it is when it is made.
template <class T>
void restore_fresh(StateReader& in, T& state) {
  T fresh{};
  in(fresh);
  state = in.good() ? std::move(fresh) : T{};
}

}  // namespace

void BlackholeSeat::save(StateWriter& out) const { out(state_, last_); }
void BlackholeSeat::restore(StateReader& in) {
  restore_fresh(in, state_);
  restore_fresh(in, last_);
}

void DetectSeat::save(StateWriter& out) const { out(state_, last_); }
void DetectSeat::restore(StateReader& in) {
  restore_fresh(in, state_);
  restore_fresh(in, last_);
}

void DrainSeat::save(StateWriter& out) const { out(state_); }
void DrainSeat::restore(StateReader& in) { restore_fresh(in, state_); }

void FleetSeat::save(StateWriter& out) const { out(state_, due_); }
void FleetSeat::restore(StateReader& in) {
  restore_fresh(in, state_);
  restore_fresh(in, due_);
}

void HistorySeat::save(StateWriter& out) const { out(state_); }
void HistorySeat::restore(StateReader& in) { restore_fresh(in, state_); }

void IdentifySeat::save(StateWriter& out) const { out(state_); }
void IdentifySeat::restore(StateReader& in) { restore_fresh(in, state_); }

void NonstopSeat::save(StateWriter& out) const { out(state_); }
void NonstopSeat::restore(StateReader& in) { restore_fresh(in, state_); }

void PatrolSeat::save(StateWriter& out) const { out(state_, last_); }
void PatrolSeat::restore(StateReader& in) {
  restore_fresh(in, state_);
  restore_fresh(in, last_);
}

void RecoverSeat::save(StateWriter& out) const { out(state_); }
void RecoverSeat::restore(StateReader& in) { restore_fresh(in, state_); }

void Seats::save(StateWriter& out) const {
  out(cluster_);
  for (const auto& seat : all_) seat->save(out);
}

void Seats::restore(StateReader& in) {
  restore_fresh(in, cluster_);
  for (const auto& seat : all_) seat->restore(in);
}

}  // namespace sickbay
