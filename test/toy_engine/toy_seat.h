// SPDX-License-Identifier: Apache-2.0
// The seat of the toy engine: the one file that joins an engine to sickbayd.
#pragma once
#include "base/state_archive.h"
#include "service/seat.h"
#include "test/toy_engine/toy.h"

namespace sickbay {

class ToySeat final : public Seat {
 public:
  explicit ToySeat(const cluster::Cluster& cluster) : cluster_(cluster) {}

  std::string_view name() const override { return toy::kName; }
  void apply(const Event& event) override {
    toy::apply(state_, event);
    if (state_.things.contains(event.subject)) touch(event.subject);
  }
  Turn decide(const std::string& subject, TimePoint now) override {
    ++asked;
    toy::Decision d = toy::decide(cluster_, state_, subject, now);
    return {std::move(d.claims), std::move(d.records), std::move(d.commands), d.wake_at};
  }
  void touch_all() override {
    for (const auto& [name, thing] : state_.things) touch(name);
  }
  Wish wish() const override {
    Wish wish;
    wish.jobs = !watched_jobs().empty();
    if (wish.jobs) {
      wish.nodes_every = std::chrono::milliseconds(500);
      wish.despite_floor = true;
    }
    return wish;
  }
  std::vector<WatchedJob> watched_jobs() const override {
    std::vector<WatchedJob> jobs;
    for (const auto& [name, thing] : state_.things)
      if (thing.job_id != 0 && !thing.dropped)
        jobs.push_back({thing.job_id, thing.uid, "", name, name + ".job"});
    return jobs;
  }
  std::string canonical_text() const override { return toy::canonical_text(state_); }

  void save(StateWriter& out) const override { out(state_); }
  void restore(StateReader& in) override {
    state_ = {};
    in(state_);
  }

  const toy::State& state() const { return state_; }
  int asked = 0;

 private:
  const cluster::Cluster& cluster_;
  toy::State state_;
};

}  // namespace sickbay
