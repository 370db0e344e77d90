// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/sim_world.h"

#include <fmt/format.h>

#include "adapters/sim/past_journal.h"
#include "engine/identify/further.h"
#include "engine/identify/rerun.h"
#include "model/sbatch_array.h"
#include "service/case_request.h"
#include "service/submissions.h"

namespace sickbay::sim {

class SimWorld::CaseFolders final : public CaseStore {
 public:
  Status save(std::int64_t case_no, const Submission& submission) override {
    saved_[case_no] = submission;
    return {};
  }
  Result<Submission> load(std::int64_t case_no) override {
    const auto found = saved_.find(case_no);
    if (found == saved_.end())
      return fail(ErrorCode::not_found, fmt::format("no folder of case {}", case_no));
    return found->second;
  }
  Status remove(std::int64_t case_no) override {
    saved_.erase(case_no);
    return {};
  }
  Result<std::vector<std::int64_t>> list() const override {
    std::vector<std::int64_t> numbers;
    for (const auto& [no, submission] : saved_) numbers.push_back(no);
    return numbers;
  }

 private:
  std::map<std::int64_t, Submission> saved_;
};

/// The cluster, with a watch on what sickbayd does with a snapshot.
class SimWorld::TimedManager final : public ResourceManager {
 public:
  TimedManager(ResourceManager& manager, const ProcessLoop::Timed& timed)
      : manager_(manager), timed_(timed) {}
  void submit_program(ProgramOrder order, Done<Submitted> done) override {
    manager_.submit_program(std::move(order), std::move(done));
  }
  void submit_verification(VerificationOrder order, Done<Submitted> done) override {
    manager_.submit_verification(std::move(order), std::move(done));
  }
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override {
    manager_.find(std::move(key), uid, std::move(done));
  }
  void release(JobHandle job, Done<bool> done) override { manager_.release(std::move(job), std::move(done)); }
  void cancel(JobHandle job, Done<bool> done) override { manager_.cancel(std::move(job), std::move(done)); }
  void begin_now(JobHandle job, Done<bool> done) override {
    manager_.begin_now(std::move(job), std::move(done));
  }
  void requeue(RequeueOrder order, Done<Requeued> done) override {
    manager_.requeue(std::move(order), std::move(done));
  }
  void refresh(RefreshOrder order, Done<Snapshot> done) override {
    if (!timed_) return manager_.refresh(std::move(order), std::move(done));
    manager_.refresh(std::move(order), [this, done = std::move(done)](Result<Snapshot> seen) {
      const auto began = std::chrono::steady_clock::now();
      done(std::move(seen));
      timed_("refresh", std::chrono::steady_clock::now() - began);
    });
  }
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override {
    manager_.history(std::move(jobs), std::move(done));
  }
  void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) override {
    manager_.dependents(std::move(order), std::move(done));
  }
  void waiting(Done<std::vector<WaitingJobs>> done) override { manager_.waiting(std::move(done)); }
  void drain(std::string node, std::string reason, Done<bool> done) override {
    manager_.drain(std::move(node), std::move(reason), std::move(done));
  }
  void undrain(std::string node, std::string prefix, Done<bool> done) override {
    manager_.undrain(std::move(node), std::move(prefix), std::move(done));
  }
  void set_down(std::string node, std::string reason, Done<bool> done) override {
    manager_.set_down(std::move(node), std::move(reason), std::move(done));
  }
  void reboot(RebootOrder order, Done<bool> done) override {
    manager_.reboot(std::move(order), std::move(done));
  }
  void explain(JobId job, Done<PendingFacts> done) override { manager_.explain(job, std::move(done)); }
  void slurm_user(Done<std::uint32_t> done) override { manager_.slurm_user(std::move(done)); }
  NodeReplacement& node_replacement() override { return manager_.node_replacement(); }
  std::vector<CallCount> calls() const override { return manager_.calls(); }

 private:
  ResourceManager& manager_;
  const ProcessLoop::Timed& timed_;
};

struct SimWorld::Daemon {
  ProcessLoop loop;
  TimedManager manager;
  Effects effects;
  Seats seats;
  Controller controller;
  Submissions submissions;

  Daemon(SimWorld& world, Journal& journal)
      : loop(world.loop_, world.on_work),
        manager(world.cluster_, world.on_work),
        effects(loop, manager, world.processes_, *world.folders_, world.config_,
                {.script = "#!/bin/sh\nexec sickbay-verify.sh\n", .environment = {}, .uid = 0, .gid = 0}),
        seats(world.config_),
        controller(loop, journal, manager, effects, seats, world.config_),
        submissions(loop, controller, *world.folders_, world.config_.keep_submission,
                    [](const Error&) { SB_CHECK(false, "nothing in memory fails to go"); }) {
    effects.set_examine([this, &world](const std::string& node, const std::string&, Done<Json> done) {
      examine(world.agents[node], node, std::move(done));
    });
  }
  // As an agent does it, and as its task expires where there is none.
  void examine(const std::string& how, const std::string& node, Done<Json> done) {
    const bool silent = how == "silent", sick = how == "sick";
    loop.at(loop.now() + (silent ? std::chrono::minutes(30) : std::chrono::seconds(2)), [=] {
      if (silent) return done(fail(ErrorCode::timed_out, "no agent on " + node + " has done the diagnosis"));
      Json told =
          Json::object({{"passed", !sick}, {"whole", true}, {"faults", sick ? 1 : 0}, {"unknown", 0}});
      if (sick) told.set("drains", 1).set("sick", "node/disk: disk is broken");
      done(std::move(told));
    });
  }
};

SimWorld::SimWorld(SimOptions cluster, Config config, Journal* journal)
    : cluster_(loop_, std::move(cluster)),
      processes_(loop_, cluster_),
      journal_(journal ? *journal : own_journal_),
      config_(std::move(config)),
      folders_(std::make_unique<CaseFolders>()) {
  config_.drain.examine = drain::wants_boots(config_.drain);  // (else stories are told without agents)
}

SimWorld::~SimWorld() { kill_sickbayd(); }

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
  Daemon daemon(*this, past);
  if (more_seats) more_seats(daemon.seats);
  SB_CHECK(daemon.controller.replay(), "a journal of our own replays");
  return KeptState{seq, daemon.controller.save()};
}

void SimWorld::start_sickbayd() {
  SB_CHECK(!daemon_, "one sickbayd per cluster");
  const std::optional<KeptState> kept = look_back();
  std::string whole, whole_text;
  if (kept) {
    Daemon daemon(*this, journal_);
    if (more_seats) more_seats(daemon.seats);
    SB_CHECK(daemon.controller.replay(), "a journal of our own replays");
    whole = daemon.controller.save();
    whole_text = daemon.controller.canonical_text();
  }
  daemon_ = std::make_unique<Daemon>(*this, journal_);
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
  const std::int64_t no = daemon_->controller.seats().cases().new_case_number();
  (void)folders_->save(no, submission);
  Event opened = new_event(
      case_name(no), identify::kCaseOpened,
      Json::object({{"owner", submission.owner.to_json()},
                    {"options", options_with_way(options, identify::to_string(config_.identify.rerun))},
                    {"script_name", submission.script_name},
                    {"work_dir", submission.work_dir},
                    {"output_dir", fmt::format("{}/sickbay-{}", submission.work_dir, case_name(no))},
                    {"notes", Json::array()}}));
  for (const auto& [name, value] : more.members()) opened.body.set(name, value);
  if (const auto array = array_of(submission)) opened.body.set("array", *array);
  daemon_->controller.take({std::move(opened)}, [this, submission, no, done = std::move(done)](Status kept) {
    if (!kept) return done(fail(kept.error()));
    const auto submitted = cluster_.sbatch(submission);
    if (!submitted) return done(fail(submitted.error()));
    if (!daemon_) return done(fail(ErrorCode::daemon_away, "sickbayd died before the job was bound"));
    Event bound = new_event(
        case_name(no), identify::kJobBound,
        Json::object({{"run", RunId{no, RunKind::program, 1}.text()}, {"job_id", submitted->job_id}}));
    daemon_->controller.take({std::move(bound)}, [no, done](Status bound_kept) {
      if (!bound_kept) return done(fail(bound_kept.error()));
      done(no);
    });
  });
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
