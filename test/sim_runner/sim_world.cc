// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/sim_world.h"

#include <fmt/format.h>

#include "adapters/sim/past_journal.h"
#include "engine/identify/further.h"
#include "engine/identify/rerun.h"

namespace sickbay::sim {

SimWorld::SimWorld(SimOptions cluster, Config config, Journal* journal)
    : cluster_(loop_, std::move(cluster)),
      processes_(loop_, cluster_),
      manager_(cluster_, on_work),
      journal_(journal ? *journal : own_journal_),
      config_(std::move(config)) {
  config_.drain.examine = drain::wants_boots(config_.drain);  // (else stories are told without agents)
}

SimWorld::~SimWorld() { kill_sickbayd(); }

SimDaemon::World SimWorld::parts() {
  return {loop_, cluster_, manager_, processes_, cases_, config_, agents, on_work};
}

namespace {

constexpr std::int64_t kMostLookedBack = 20'000;  // events; a bench has more, and measures something else

}  // namespace

// What a snapshot would hold that was made after some event of the journal, another one each time: each
// restart of each story goes on from one.
std::optional<KeptState> SimWorld::look_back() {
  const std::int64_t events = journal_.last_seq();
  if (events < 2 || events > kMostLookedBack) return std::nullopt;
  const std::int64_t seq = 1 + events * 7919 / 31 % events;
  PastJournal past(journal_, seq);
  SimDaemon daemon(parts(), past);
  if (more_seats) more_seats(daemon.seats);
  SB_CHECK(daemon.controller.replay(), "a journal of our own replays");
  return KeptState{seq, daemon.controller.save()};
}

void SimWorld::start_sickbayd() {
  SB_CHECK(!daemon_, "one sickbayd per cluster");
  const std::optional<KeptState> kept = look_back();
  std::string whole, whole_text;
  if (kept) {
    SimDaemon daemon(parts(), journal_);
    if (more_seats) more_seats(daemon.seats);
    SB_CHECK(daemon.controller.replay(), "a journal of our own replays");
    whole = daemon.controller.save();
    whole_text = daemon.controller.canonical_text();
  }
  daemon_ = std::make_unique<SimDaemon>(parts(), journal_);
  if (more_seats) more_seats(daemon_->seats);
  const auto replayed = daemon_->controller.replay(kept ? &*kept : nullptr);
  SB_CHECK(replayed && !replayed->unreadable, "a journal of our own replays");
  SB_CHECK(!kept || daemon_->controller.canonical_text() == whole_text, "a kept state is that of a replay");
  SB_CHECK(!kept || daemon_->controller.save() == whole, "also in what is derived");
  daemon_->submissions.sweep();
  daemon_->controller.on_committed([this](const Event& event) {
    if (on_event) on_event(event);
  });
  daemon_->controller.start();
}

void SimWorld::kill_sickbayd() {
  cluster_.drop_answers();
  processes_.drop_answers();
  daemon_.reset();
}

Controller& SimWorld::controller() {
  SB_CHECK(daemon_, "sickbayd runs");
  return daemon_->controller;
}

void SimWorld::submit(const Submission& submission, const Json& options, const Json& more,
                      Done<std::int64_t> done) {
  if (!daemon_) return done(fail(ErrorCode::daemon_away, "sickbayd does not answer"));
  daemon_->submit(submission, options, more, std::move(done));
}

bool SimWorld::answer_rerun(std::int64_t case_no, identify::RerunWay how, const std::string& by) {
  if (!controller().seats().cases().state().open.contains(case_no)) return false;
  Event event;
  event.subject = case_name(case_no);
  event.kind = identify::kRerunAnswered;
  event.body = Json::object({{"how", identify::to_string(how)}, {"by", by}});
  controller().take({std::move(event)});
  return true;
}

bool SimWorld::requeue_case(std::int64_t case_no, const std::string& by) {
  const identify::Case* subject = identify::case_of(controller().seats().cases().state(), case_no);
  if (subject == nullptr || identify::refuses_further(*subject)) return false;
  const identify::Policy& policy = controller().seats().cases().policy();
  controller().take(
      {new_event(case_name(case_no), identify::kRequeueAsked,
                 identify::further_order(by, policy.further_runs, false, policy.further_node_hours))});
  return true;
}

void SimWorld::cancel_case(std::int64_t case_no, const std::string& by) {
  Event event;
  event.subject = case_name(case_no);
  event.kind = identify::kCancelRequested;
  event.body = Json::object({{"by", by}});
  controller().take({std::move(event)});
}

}  // namespace sickbay::sim
