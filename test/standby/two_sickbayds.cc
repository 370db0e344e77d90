// SPDX-License-Identifier: Apache-2.0
#include "test/standby/two_sickbayds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/ids.h"
#include "model/verbs.h"

namespace sickbay {
namespace {

constexpr int kJobs = 4, kNodesEach = 6;
constexpr Micros kAskAgain{5'000'000};  // users and agents, where nobody has answered
constexpr Micros kLongest{std::chrono::hours(3)};
constexpr const char* kFoundOn = "n26";  // in a partition without jobs

// No engine knows it.  When it counts, all before it does.
Event asked_again() { return new_event("users", "asked_again", Json::object()); }

}  // namespace

/// One of the two while it is the active one.
class TwoSickbayds::Active final : public TwoHeads::Acting {
 public:
  Active(TwoSickbayds& world, int no, Journal& journal, TwoHeads::Hold hold)
      : world_(world),
        no_(no),
        daemon_({world.heads_.loop(), world.cluster_, *world.manager_, world.processes_, world.cases_[no],
                 world.config_, world.agents_, world.on_work_},
                journal) {
    daemon_.controller.on_committed([this](const Event& event) { world_.tell_event(no_, event); });
    SB_CHECK(daemon_.controller.replay(), "a journal of our own replays");
    daemon_.submissions.sweep();
    daemon_.controller.hold_by([this, hold = std::move(hold)](std::int64_t seq, std::function<void()> then) {
      ++world_.moments_;
      if (world_.plant_ == Plant::acts_before_it_counts) {
        then();
        return hold(seq, [] {});
      }
      hold(seq, [this, then = std::move(then)] {
        ++world_.moments_;
        then();
      });
    });
    world_.active_[no_] = this;
  }
  ~Active() override {
    world_.active_[no_] = nullptr;
    if (!has_begun_) return;  // it has asked Slurm nothing: what is under way is the other's
    world_.cluster_.drop_answers();
    world_.processes_.drop_answers();
  }
  void begin(Event term_began) override {
    has_begun_ = true;
    daemon_.controller.take({std::move(term_began)});
    daemon_.controller.start();
  }
  void take(Event event) override { daemon_.controller.take({std::move(event)}); }
  sim::SimDaemon& daemon() { return daemon_; }

 private:
  TwoSickbayds& world_;
  const int no_;
  bool has_begun_ = false;
  sim::SimDaemon daemon_;
};

/// Slurm knows nothing of what was submitted before.
class TwoSickbayds::Forgetful final : public sim::TimedManager {
 public:
  Forgetful(ResourceManager& manager, const sim::ProcessLoop::Timed& timed) : TimedManager(manager, timed) {}
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override {
    TimedManager::find(std::move(key), uid, [done = std::move(done)](Result<std::vector<JobInfo>> found) {
      if (found) found->clear();
      done(std::move(found));
    });
  }
};

TwoSickbayds::TwoSickbayds(std::uint64_t seed, Plant plant)
    : seed_(seed),
      plant_(plant),
      story_(seed * 2 + 1),
      random_(seed * 2 + 2),
      heads_(seed, {.lease = 45s,
                    .longest_act = 33s,
                    .rate_of_second = plant == Plant::acts_without_lease ? 0.1 : 1.0,
                    .cases = [this](int no) { return &cases_[no]; },
                    .acts =
                        [this](int no, SqliteJournal& journal, TwoHeads::Hold hold) {
                          return std::make_unique<Active>(*this, no, journal, std::move(hold));
                        }}),
      cluster_(heads_.loop(), cluster_options()),
      processes_(heads_.loop(), cluster_) {
  config_.verify.folder = "/shared/verify";
  config_.drain.act = true;
  config_.drain.examine = false;
  config_.identify.bind_limit = 2h;  // users go on asking, however long nobody acts
  if (plant_ == Plant::looks_for_nothing)
    manager_ = std::make_unique<Forgetful>(cluster_, on_work_);
  else
    manager_ = std::make_unique<sim::TimedManager>(cluster_, on_work_);
  watch_effects();
  plan_story();
}

// Whoever acts looks at the cluster and at this, to its end.
TwoSickbayds::~TwoSickbayds() {
  for (const int no : {1, 2}) heads_.kill_head(no);
}

// Each job has nodes of its own, so that it ends alike however the others come along.
sim::SimOptions TwoSickbayds::cluster_options() {
  sim::SimOptions options;
  options.seed = seed_;
  options.partitions.clear();
  for (int i = 0; i <= kJobs; ++i)
    options.partitions.push_back(
        {fmt::format("p{}", i), fmt::format("n[{}-{}]", kNodesEach * i + 1, kNodesEach * (i + 1)), 0});
  constexpr std::array kAnswerTimes{5, 400, 2000};
  options.answer_time = std::chrono::milliseconds(kAnswerTimes[story_() % kAnswerTimes.size()]);
  options.write_outputs = false;
  options.min_job_age =
      std::chrono::hours(2);  // however long nobody acts, the job can be put back into the queue
  return options;
}

void TwoSickbayds::wrong(std::string what) {
  broken.push_back(fmt::format("{:.1f} s: {}", static_cast<double>(heads_.elapsed().count()) / 1e6, what));
}

// --- the story

void TwoSickbayds::plan_story() {
  began_ = heads_.loop().now();
  for (int i = 0; i < kJobs; ++i) {
    UserJob job;
    job.kind = static_cast<Kind>(story_() % 6);
    job.name = fmt::format("job{}", i);
    job.at = Micros(story_() % 60'000'000);
    const bool is_sick = job.kind == Kind::sick_node || job.kind == Kind::recovers;
    std::string does;
    switch (job.kind) {
      case Kind::bug:
        does = "run=40s exit=1";
        break;
      case Kind::signal:
        does = "run=20s signal=SIGSEGV";
        break;
      case Kind::fails_once:
        does = "run=30s exit=1 fail-runs=1";
        break;
      case Kind::completes:
        does = "run=50s";
        break;
      case Kind::sick_node:
      case Kind::recovers:
        does = "run=90s";
        break;
    }
    const bool recovers = job.kind == Kind::recovers;
    job.submission.owner = {"alice", 1001, 1001};
    job.submission.script = "#!/bin/sh\n#SIM " + does + "\nsrun ./" + job.name + "\n";
    job.submission.script_name = job.name + ".sh";
    job.submission.sbatch_options = {"--nodes=2", "--time=30", fmt::format("--partition=p{}", i),
                                     recovers ? "--requeue" : "--no-requeue"};
    job.submission.work_dir = "/shared/alice";
    if (recovers) job.options.set("recover", true).set("requeue", true);
    job.more.set("script_digest", job.name);
    if (is_sick) {
      sim::SimNodeFaults faults;
      faults.kill_signal = sim::signal_number("SIGBUS");
      cluster_.set_faults(fmt::format("n{}", kNodesEach * i + 2), faults);
    }
    jobs_.push_back(std::move(job));
  }
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    heads_.loop().at(began_ + jobs_[i].at, [this, i] { nag(i); });
  // A node that is drained by its agent's word, and comes back.
  heads_.loop().at(began_ + 30s, [this] { nag_finding("f1", "fault"); });
  heads_.loop().at(began_ + 3min, [this] { nag_finding("f2", "ok"); });
}

std::string TwoSickbayds::on(std::string_view verb, const std::string& what) {
  return fmt::format("{} {}", verb, what);
}

sim::SimDaemon& TwoSickbayds::daemon_of(int no) { return active_[no]->daemon(); }

sim::SimDaemon* TwoSickbayds::acting() {
  for (const int no : {1, 2})
    if (active_[no] != nullptr && heads_.is_active(no)) return &daemon_of(no);
  return nullptr;
}

// As `sickbay submit` of a user who does not give up: the case, sbatch once, and its job.
void TwoSickbayds::nag(std::size_t i) {
  UserJob& job = jobs_[i];
  if (job.bound) return;
  heads_.loop().at(heads_.loop().now() + kAskAgain, [this, i] { nag(i); });
  sim::SimDaemon* daemon = acting();
  if (daemon == nullptr) return;
  if (job.case_no == 0) {
    // The same post again: it is known by its key where it was kept.
    const auto& cases = daemon->seats.cases().state().cases;
    const auto kept = std::ranges::find_if(
        cases, [&](const auto& entry) { return entry.second.script_digest == job.name; });
    const std::int64_t no = kept != cases.end() ? kept->first : daemon->seats.cases().new_case_number();
    std::vector<Event> events;
    if (kept == cases.end()) {
      SB_CHECK(daemon->world.cases.save(no, job.submission), "memory has room");
      events.push_back(daemon->opened(no, job.submission, job.options, job.more));
    } else {
      events.push_back(asked_again());
    }
    daemon->controller.take(std::move(events), [this, i, no](Status is) {
      if (!is || jobs_[i].case_no != 0) return;
      jobs_[i].case_no = no;
      const auto submitted = cluster_.sbatch(jobs_[i].submission);
      SB_CHECK(submitted, "slurmctld is there");
      jobs_[i].job = submitted->job_id;
    });
    return;
  }
  const identify::Case* subject = identify::case_of(daemon->seats.cases().state(), job.case_no);
  if (subject == nullptr)
    return wrong(fmt::format("{} was acknowledged, and is gone", case_name(job.case_no)));
  Event event = subject->job_id() == 0 ? sim::SimDaemon::bound(job.case_no, job.job) : asked_again();
  daemon->controller.take({std::move(event)}, [this, i](Status is) {
    if (is) jobs_[i].bound = true;
  });
}

// As the agent of a node, whose spool keeps what sickbayd has not taken in.
void TwoSickbayds::nag_finding(const std::string& subject, const std::string& result) {
  if (findings_.contains(subject)) return;
  heads_.loop().at(heads_.loop().now() + kAskAgain,
                   [this, subject, result] { nag_finding(subject, result); });
  sim::SimDaemon* daemon = acting();
  const bool is_next = subject == "f1" || findings_.contains("f1");  // a spool keeps its order
  if (daemon == nullptr || !is_next) return;
  bool is_kept = false;
  SB_CHECK(daemon->controller.journal().read_subject(subject, 0,
                                                     [&](const Event&) {
                                                       is_kept = true;
                                                       return false;
                                                     }),
           "a journal of our own is read");
  Event event = new_event(subject, std::string(kFinding),
                          Json::object({{"node", kFoundOn},
                                        {"specification", "node"},
                                        {"rule", "disk"},
                                        {"result", result},
                                        {"action", result == "fault" ? "drain" : "none"},
                                        {"boot_id", "boot"},
                                        {"text", "disk is broken"}}));
  daemon->controller.take({is_kept ? asked_again() : std::move(event)}, [this, subject](Status is) {
    if (is) findings_.insert(subject);
  });
}

bool TwoSickbayds::is_over() {
  sim::SimDaemon* daemon = acting();
  if (daemon == nullptr || !findings_.contains("f2")) return false;
  for (const UserJob& job : jobs_) {
    if (!job.bound) return false;
    // The job of a case that recovers goes on in another one.
    if (const auto now = cluster_.job(job.job); !now || now->state == "PENDING" || now->state == "RUNNING")
      return false;
  }
  const Seats& seats = daemon->seats;
  return seats.cases().state().open.empty() && seats.cases().state().resuming.empty() &&
         seats.recoveries().state().open.empty() && done_[on(verb::kUndrain, kFoundOn)] > 0 &&
         daemon->controller.ledger().open() == 0;
}

std::string TwoSickbayds::what_is_left() {
  sim::SimDaemon* daemon = acting();
  if (daemon == nullptr) return "nobody acts";
  std::string left =
      fmt::format(" head{}, {} parked, its look at Slurm is {}, {} events held, last {};", heads_.active(),
                  daemon->controller.parked(), daemon->controller.watch().complete() ? "whole" : "owed",
                  heads_.view(heads_.active())["held"].as_int(), daemon->controller.journal().last_seq());
  const Controller::Health& health = daemon->controller.health();
  if (!health.journal) left += " its journal: " + health.journal.error().line() + ";";
  for (const auto& no : daemon->seats.cases().state().open)
    left += fmt::format(" {} is open;", case_name(no));
  for (const Command& command : daemon->controller.ledger().unfinished())
    left += fmt::format(" {} is under way;", command.key);
  for (const UserJob& job : jobs_)
    if (!job.bound) left += fmt::format(" {} is not bound;", job.name);
  for (const char* finding : {"f1", "f2"})
    if (!findings_.contains(finding)) left += fmt::format(" {} is not told;", finding);
  if (done_[on(verb::kUndrain, kFoundOn)] == 0) {
    left += fmt::format(" {} is out:", kFoundOn);
    (void)daemon->controller.journal().read(0, [&](const Event& event) {
      if (event.subject == node_subject(kFoundOn) || event.subject == "f1" || event.subject == "f2")
        left += "\n  " + event.text();
      return true;
    });
  }
  return left;
}

// --- what befalls them

void TwoSickbayds::cut_some_link() {
  const int no = heads_.active() != 0 ? heads_.active() : 1 + static_cast<int>(random_() % 2);
  sim::SimLoop& loop = heads_.loop();
  const auto later = [&](Micros in, std::function<void()> then) {
    loop.at(loop.now() + in, std::move(then));
  };
  switch (random_() % 8) {
    case 0:
    case 1:
      heads_.cut_heads(true);
      return later(Micros(random_() % 40'000'000), [this] { heads_.cut_heads(false); });
    case 2:
      // It loses its witnesses, and does not know whether the other has them.
      // (As long as the other hears from it, the other does not ask them either.)
      for (const int node : {0, 1}) heads_.cut_node(node, no, true);
      heads_.cut_heads(true);
      later(120s, [this, no] {
        for (const int node : {0, 1}) heads_.cut_node(node, no, false);
        heads_.cut_heads(false);
      });
      if (random_() % 2 == 0) heads_.run(70s);
      return;
    case 3:
      return heads_.restart_node(static_cast<int>(random_() % 3));
    default:
      return;
  }
}

// A kill: at any time, or in a moment in which a commit, its counting or an effect has just been.
void TwoSickbayds::befall(int& left) {
  cut_some_link();
  if (random_() % 2 == 0) heads_.run_until(60s, [&] { return heads_.active() != 0; });
  const std::int64_t before = effect_moment_, until = moments_ + 1 + static_cast<std::int64_t>(random_() % 6);
  switch (random_() % 4) {
    case 0:
      heads_.run(Micros(random_() % 30'000'000));
      break;
    case 1:
      heads_.run_until(60s, [&] { return moments_ >= until; });
      break;
    default:
      heads_.run_until(60s, [&] { return effect_moment_ > before; });
  }
  const int active = heads_.active();
  const int no = active != 0 && random_() % 4 != 0 ? active : 1 + static_cast<int>(random_() % 2);
  if (!heads_.is_up(no)) return;
  if (no == active && moments_ == effect_moment_) ++mid_effect;
  heads_.kill_head(no);
  ++kills;
  --left;
  const Micros down = random_() % 5 < 2 ? Micros(100'000 + random_() % 5'000'000)
                                        : Micros(30'000'000 + random_() % 70'000'000);
  heads_.loop().at(heads_.loop().now() + down, [this, no] {
    if (!heads_.is_up(no)) heads_.start_head(no);
  });
}

TwoSickbayds::Ended TwoSickbayds::play(int kills_left) {
  const auto took = [&] { return heads_.loop().now() - began_; };
  const auto over = [&] { return is_over(); };
  // (Where two acted, nothing else is worth a wait: two journals of their own never become one again.)
  const auto is_wrong = [&] { return !broken.empty() || heads_.twice_active > 0; };
  while (kills_left > 0 && !is_wrong() && !is_over() && took() < kLongest) befall(kills_left);
  // All that was broken is mended by now, or soon.
  if (!is_wrong() && !heads_.run_until(kLongest, [&] { return is_wrong() || over(); }))
    wrong("the story does not end: " + what_is_left());
  if (!is_wrong() && !heads_.run_until(300s, [&] { return heads_.is_paired() && over(); }))
    wrong("the two do not find each other");
  heads_.run(Follower::kCompare + 5s);
  check_journals();
  check_submissions();
  return ended();
}

}  // namespace sickbay
