// SPDX-License-Identifier: Apache-2.0
// Reservations: nodes that are kept for some users.
//
// Tried on 22.05: who may not use one is refused at submission; a job whose limit would reach into one does
// not start on its nodes, and where that leaves too few it waits for ReqNodeNotAvail (a job of all nodes was
// shown Slurm's long text "Nodes required for job are DOWN, DRAINED or reserved ..." instead).
#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"

namespace sickbay::sim {

void SimCluster::add_reservation(const SimReservation& reservation) {
  const auto names = expand_hostlist(reservation.nodes);
  SB_CHECK(names, "the nodes of a reservation are a hostlist");
  for (const std::string& name : *names) nodes_[index_of(name)].reserved = true;
  reservations_.push_back(reservation);
  const auto changes = [this, names = *names] {
    for (const std::string& name : names) node_changed(index_of(name));
    schedule_soon();
  };
  for (const TimePoint when : {reservation.start, reservation.end})
    if (when > loop_.now())
      loop_.at(when, changes);
    else
      changes();
}

/// The one that has `node` at some time of [from, to].
const SimReservation* SimCluster::reservation_of(NodeIndex node, TimePoint from, TimePoint to) const {
  // Most nodes never are: no list need be read for them.
  if (!nodes_[node].reserved) return nullptr;
  for (const SimReservation& reservation : reservations_) {
    if (reservation.end <= from || reservation.start > to) continue;
    const auto names = expand_hostlist(reservation.nodes);
    if (std::count(names->begin(), names->end(), nodes_[node].name) > 0) return &reservation;
  }
  return nullptr;
}

bool SimCluster::reserved_for_others(NodeIndex node, const Job& job) const {
  const bool endless = job.info.time_limit_s == 0;
  const TimePoint now = loop_.now();
  if (!job.reservation.empty()) {
    const SimReservation* own = reservation_of(node, now, now);
    return !own || own->name != job.reservation;
  }
  const TimePoint end = endless ? TimePoint::max() : now + std::chrono::seconds(job.info.time_limit_s);
  return reservation_of(node, now, end) != nullptr;
}

/// sbatch's words where the job may not have the reservation that it asks for.
std::optional<std::string> SimCluster::refuses_reservation(const Job& job) const {
  if (job.reservation.empty()) return std::nullopt;
  for (const SimReservation& reservation : reservations_) {
    if (reservation.name != job.reservation || reservation.end <= loop_.now()) continue;
    if (std::count(reservation.users.begin(), reservation.users.end(), job.info.uid) > 0) return std::nullopt;
    return "Access denied to requested reservation";
  }
  return "Requested reservation is invalid";
}

}  // namespace sickbay::sim
