// SPDX-License-Identifier: Apache-2.0
// The periods and the runs.  What they find is in agent_findings.cc, the way to sickbayd in agent_link.cc.
#include "service/agent/agent.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/diagnose/explain.h"
#include "model/diagnosis_mode.h"

namespace sickbay::agent {
namespace {

constexpr std::chrono::minutes kLookAgain{5};  // at the periods: the node's use may have changed
constexpr std::chrono::seconds kNoPeriod{60};  // until the timetable is asked again where it has nothing
constexpr std::chrono::hours kRepairsKept{24 * 31};
constexpr std::size_t kMostOrders = 64;
constexpr std::chrono::seconds kLookForJobs{1};   // while the node is stressed
constexpr std::chrono::seconds kLookForSteps{5};  // else: a walk of /proc
constexpr std::chrono::seconds kAfterJob{10};     // no quick look at the end of a step so soon after another

std::vector<diagnose::RepairRun> repairs_in(const Json& state, const std::string& specification) {
  std::vector<diagnose::RepairRun> runs;
  for (const Json& item : state["repairs"].items())
    if (item["specification"].as_string() == specification)
      runs.push_back({item["operation"].as_string(), from_micros(item["at"].as_int())});
  return runs;
}

Json journal_json(const diagnose::Run& run) {
  Json lines = Json::array();
  for (const diagnose::JournalEntry& entry : run.journal)
    lines.push(Json::object({{"kind", diagnose::to_string(entry.kind)},
                             {"step", entry.step},
                             {"name", entry.name},
                             {"text", entry.text},
                             {"at", to_micros(entry.at)}}));
  return lines;
}

Json values_json(const diagnose::Run& run) {
  Json values = Json::object();
  for (std::size_t i = 0; i < run.facts.size(); ++i)
    if (run.facts[i].state != diagnose::Fact::State::none)
      values.set(run.rules->specification.characteristics[i].name,
                 run.facts[i].state == diagnose::Fact::State::known ? to_json(run.facts[i].value) : Json());
  return values;
}

std::string_view word_of(OperationEnd::Result result) {
  return result == OperationEnd::Result::ok      ? "ok"
         : result == OperationEnd::Result::fault ? "fault"
                                                 : "unknown";
}

Json operations_json(const diagnose::Run& run) {
  Json list = Json::array();
  const diagnose::Specification& s = run.rules->specification;
  for (const diagnose::Instance& i : run.instances)
    list.push(Json::object({{"operation", s.operations[i.operation].name},
                            {"production", s.productions[i.production].name},
                            {"result", word_of(i.result)},
                            {"text", i.text},
                            {"wall_us", i.started ? (i.ended_at - i.started_at).count() : 0}}));
  return list;
}

}  // namespace

Agent::Agent(Loop& loop, AgentStore& store, OperationRunner& runner, HttpClient* sickbayd,
             std::vector<std::shared_ptr<const diagnose::Rules>> rules, AgentOptions options)
    : loop_(loop),
      store_(store),
      runner_(runner),
      sickbayd_(sickbayd),
      peered_(
          runner, loop,
          sickbayd == nullptr
              ? PeeredOperations::Post()
              : [this](Json body, Done<Json> done) { ask_for_peer(std::move(body), std::move(done)); }),
      rules_(std::move(rules)),
      options_(std::move(options)),
      ticks_(rules_.size(), 0),
      due_(rules_.size()),
      began_(rules_.size()) {}

Agent::~Agent() {
  for (const Loop::TimerId timer : ticks_) loop_.cancel(timer);
  loop_.cancel(burden_watch_);
  loop_.cancel(job_watch_);
  if (running_) running_->leave();
}

void Agent::start() {
  tell_cut_repairs();
  tell_gone_rules();
  planned_use_ = use();
  for (std::size_t i = 0; i < rules_.size(); ++i) plan(i);
  if (options_.busy) watch_jobs();
  if (sickbayd_ != nullptr && options_.datagrams)
    neighbours_ = std::make_unique<Neighbours>(
        loop_, options_.node, options_.datagrams, options_.ask_by_tcp, options_.random,
        [this](Json report) { post_silent(std::move(report)); },
        [this](const std::string& line) { say(line); });
  if (sickbayd_ != nullptr && options_.look_at_ranks)
    rank_looks_ = std::make_unique<RankLooks>(
        loop_, options_.look_at_ranks, [this](Json report) { post_ranks(std::move(report)); },
        [this](const std::string& line) { say(line); });
  if (rank_looks_ && options_.times.count)
    job_times_ = std::make_unique<JobTimes>(
        loop_, options_.times, [this](Json report) { post_ranks(std::move(report)); },
        [this](const std::string& line) { say(line); });
  if (sickbayd_ != nullptr && options_.processes != nullptr)
    component_restarts_ =
        std::make_unique<ComponentRestarts>(loop_, *options_.processes, store_, options_.components,
                                            options_.repair, [this](const std::string& line) { say(line); });
  if (sickbayd_ != nullptr) serve_others();
  leaving_ = shown_leaving_ = options_.leaving;
  // (What an agent never wrote; and without sickbayd nobody would ever say that it is over.)
  if (options_.show_leaving && (!options_.leaving || sickbayd_ == nullptr))
    if (const Status cleared = options_.show_leaving(std::nullopt); !cleared)
      say("event=leaving_not_shown why=" + Json(cleared.error().line()).dump());
  if (sickbayd_ != nullptr) {
    // Ten thousand agents may have started with their nodes.
    later(share_of(options_.node, std::chrono::seconds(2)), [this] { hello(); });
    deliver();
  }
}

void Agent::later(Micros in, std::function<void()> what) {
  loop_.at(loop_.now() + in, lifetime_.guard(std::move(what)));
}

// --- when

diagnose::NodeUse Agent::use() const {
  const bool told = told_use_ && loop_.now() - told_at_ < kToldAge;
  if (told && *told_use_ != diagnose::NodeUse::idle) return *told_use_;
  // Idle is who has no job by Slurm and no step by the processes: what Slurm said may be half a minute old,
  // and a job between two of its steps has no process.  What nobody can tell is busy; where there is no
  // sickbayd to ask, the processes must do.
  if (!told && sickbayd_ != nullptr) return diagnose::NodeUse::busy;
  return options_.busy && !options_.busy().value_or(true) ? diagnose::NodeUse::idle : diagnose::NodeUse::busy;
}

// Why a job may be here; "" where there is none.  Both are asked: Slurm's word may be half a minute old, and
// a job between two of its steps has no process.
std::string Agent::why_busy() const {
  if (!told_use_ || loop_.now() - told_at_ >= kToldAge)
    return "sickbayd has not told of late whether a job is here";
  if (!told_idle_) return "Slurm shows the node as " + told_state_;
  const std::optional<bool> busy = options_.busy ? options_.busy() : std::nullopt;
  if (!busy) return "the processes cannot be listed: a job may be here";
  return *busy ? "a step of a job runs here" : "";
}

diagnose::Permits Agent::permits(const Order& wanted) const {
  const diagnose::Period* now =
      diagnose::find_period(rules_[wanted.rules]->specification, time_of_day(loop_.now()), use());
  diagnose::Permits permits;
  permits.repair = permit_repair({options_.repair, now, &wanted.initial, wanted.period, wanted.repair});
  // Whatever a specification makes of a mode: who asks for a quick look asks for no stress.
  permits.stress.why =
      wanted.asked && wanted.mode == kDiagnosisModes.front() ? "the quick mode was asked for" : why_busy();
  permits.stress.given = permits.stress.why.empty();
  permits.active.why = why_no_leave(wanted);
  permits.active.given = permits.active.why.empty();
  return permits;
}

void Agent::watch_burdens() {
  if (burden_watch_ != 0) return;
  burden_watch_ = loop_.at(loop_.now() + kLookForJobs, [this] {
    burden_watch_ = 0;
    end_burdens();
    if ((running_ && (running_->stresses() || running_->is_active())) || (helper_ && helper_->runs()))
      watch_burdens();
  });
}

void Agent::end_burdens() {
  if (helper_ && helper_->runs() && helper_needs_idle_)
    if (const std::string with_job = why_busy(); !with_job.empty()) helper_->end(with_job);
  const std::string busy = running_ && running_->stresses() ? why_busy() : "";
  if (!busy.empty()) {
    say("event=stress_ended why=" + Json(busy).dump());
    running_->end_stress(busy);
  }
  const std::string no_leave = running_ && running_->is_active() ? why_no_leave(running_order_) : "";
  if (no_leave.empty()) return;
  say("event=active_check_ended why=" + Json(no_leave).dump());
  running_->end_active(no_leave);
}

void Agent::plan(std::size_t i) {
  loop_.cancel(ticks_[i]);
  const TimePoint now = loop_.now();
  const diagnose::Specification& s = rules_[i]->specification;
  due_[i].clear();
  TimePoint next = now + kLookAgain;
  for (const diagnose::Period* period : diagnose::find_periods(s, time_of_day(now), use())) {
    const TimePoint due = next_tick(options_.node + "/" + s.name, pause_of(s, *period, options_.every), now);
    due_[i][period->name] = due;
    next = std::min(next, due);
  }
  if (due_[i].empty()) next = now + kNoPeriod;
  ticks_[i] = loop_.at(next, [this, i] { tick(i); });
}

void Agent::tick(std::size_t i) {
  const TimePoint now = loop_.now();
  use_may_have_changed();
  for (const diagnose::Period* period :
       diagnose::find_periods(rules_[i]->specification, time_of_day(now), use()))
    if (const auto due = due_[i].find(period->name); due != due_[i].end() && now >= due->second)
      order_period(i, *period);
  plan(i);
}

void Agent::order_period(std::size_t i, const diagnose::Period& period) {
  Order wanted;
  wanted.rules = i;
  wanted.period = period.name;
  wanted.initial = period.initial;
  order(std::move(wanted), false);
}

bool Agent::began_within(std::size_t i, const diagnose::Period& period, Micros pause) const {
  const auto last = began_[i].find(period.name);
  return last != began_[i].end() && loop_.now() - last->second < pause;
}

// A node that falls idle is looked at in that moment by what waits for idle nodes, unless it was within the
// pause of its period: the next tick may come when the next job is there.
void Agent::use_may_have_changed() {
  const diagnose::NodeUse is = use();
  if (std::exchange(planned_use_, is) == is) return;
  const TimePoint now = loop_.now();
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const diagnose::Specification& s = rules_[i]->specification;
    if (is == diagnose::NodeUse::idle)
      for (const diagnose::Period* period : diagnose::find_periods(s, time_of_day(now), is))
        if (period->node == diagnose::NodeUse::idle &&
            !began_within(i, *period, pause_of(s, *period, options_.every)))
          order_period(i, *period);
    plan(i);
  }
  look_at_held();
}

// Where a step has ended, the quick look is made at once: what it left behind is what the next job meets.
void Agent::watch_jobs() {
  const bool step = options_.busy().value_or(step_seen_);
  const bool ended = std::exchange(step_seen_, step) && !step;
  use_may_have_changed();
  const TimePoint now = loop_.now();
  if (ended)
    for (std::size_t i = 0; i < rules_.size(); ++i)
      for (const diagnose::Period* period :
           diagnose::find_periods(rules_[i]->specification, time_of_day(now), use())) {
        const std::string mode = mode_of(period->initial);
        if ((mode.empty() || mode == kDiagnosisModes.front()) && !began_within(i, *period, kAfterJob))
          order_period(i, *period);
      }
  job_watch_ = loop_.at(now + kLookForSteps, [this] { watch_jobs(); });
}

void Agent::order(Order wanted, bool first) {
  if (waits_for_leave(wanted)) return hold(std::move(wanted));
  // A run that takes longer than its period is not wanted twice.
  if (wanted.task == 0)
    for (const Order& other : orders_)
      if (other.task == 0 && other.rules == wanted.rules && other.asked == wanted.asked &&
          other.mode == wanted.mode && other.period == wanted.period)
        return;
  if (orders_.size() >= kMostOrders) return say("event=run_dropped why=\"too many wait\"");
  if (first)
    orders_.push_front(std::move(wanted));
  else
    orders_.push_back(std::move(wanted));
  next_order();
}

void Agent::next_order() {
  if (running_ || (helper_ && helper_->runs()) || orders_.empty()) return;
  Order wanted = std::move(orders_.front());
  orders_.pop_front();
  begin(std::move(wanted));
}

// --- a run

void Agent::begin(Order wanted) {
  const auto& rules = rules_[wanted.rules];
  const TimePoint now = loop_.now();
  run_number_ = std::max(run_number_ + 1, to_micros(now) / 1000);
  run_findings_.clear();
  diagnose::RunStarted began;
  began.at = now;
  began.permits = permits(wanted);
  began.initial = wanted.initial;
  // A specification that reads the permission by its name is told what came of it.
  for (auto& [name, value] : began.initial)
    if (name == diagnose::kMayRepair && value == Value(true)) value = began.permits.repair.given;
  if (!wanted.asked) wanted.mode = mode_of(wanted.initial);
  if (wanted.mode.empty()) wanted.mode = kDiagnosisModes.front();
  if (!wanted.asked) {
    began_[wanted.rules][wanted.period] = now;
    mode_ = wanted.mode;
    period_ = wanted.period;
  }
  const std::string& specification = rules->specification.name;
  (void)store_.update_state([&](Json& state) {
    began.spent = diagnose::spent_budgets(rules->specification, repairs_in(state, specification), now);
    for (const auto& [operation, runs] : state["unknown_runs"][specification].members())
      began.unknown_runs[operation] = static_cast<int>(runs.as_int());
  });
  Diagnosis::Hooks hooks;
  const auto note_of = [this, specification](const diagnose::RepairRun& repair) {
    return Json::object({{"specification", specification},
                         {"operation", repair.operation},
                         {"at", to_micros(repair.at)},
                         {"rule", repair.rule},
                         {"by", options_.self}});
  };
  hooks.before_repair = [this, specification, note_of](const diagnose::RepairRun& repair) {
    say(fmt::format("event=repair operation={} specification={}", repair.operation, specification));
    return store_.update_state([&](Json& state) {
      Json kept = Json::array();
      for (const Json& item : state["repairs"].items())
        if (from_micros(item["at"].as_int()) > repair.at - kRepairsKept) kept.push(item);
      kept.push(note_of(repair));
      state.set("repairs", std::move(kept));
    });
  };
  hooks.permits = [this, wanted] { return permits(wanted); };
  hooks.burdening = [this] { watch_burdens(); };
  hooks.after_repair = [this, specification, note_of](const diagnose::RepairRun& repair,
                                                      const diagnose::Instance& how) {
    tell_repair(specification, repair.rule, repair.operation, word_of(how.result), how.text,
                loop_.now() - repair.at);
    end_repair(note_of(repair));
  };
  hooks.found = [this, wanted](const diagnose::Finding& finding) { found(wanted, finding); };
  hooks.over = [this, wanted, now](const diagnose::Run& run, Micros cpu) { over(wanted, now, run, cpu); };
  running_order_ = wanted;
  running_ = std::make_shared<Diagnosis>(loop_, peered_, rules, std::move(hooks));
  running_->start(std::move(began));
}

void Agent::over(const Order& wanted, TimePoint began, const diagnose::Run& run, Micros cpu) {
  const Micros wall = loop_.now() - began;
  const std::string& specification = run.rules->specification.name;
  keep_found();
  tell_cleared(wanted, run);
  if (!run.stopped) keep_unknown_runs(specification, diagnose::unknown_runs_of(run));
  hold_for_what_was_refused(wanted, run);
  Json journal = journal_json(run);
  Json record = Json::object({{"at", to_micros(began)},
                              {"run", run_number_},
                              {"specification", specification},
                              {"period", wanted.period},
                              {"mode", wanted.mode},
                              {"whole", !run.stopped},
                              {"wall_us", wall.count()},
                              {"cpu_us", cpu.count()},
                              {"findings", run_findings_.size()},
                              {"journal", journal}});
  if (const Status logged = store_.log(record); !logged)
    say("event=journal_not_written " + logged.error().line());
  if (wanted.task != 0) {
    Json findings = Json::array(), productions = Json::array();
    for (const Json& item : run_findings_) findings.push(item);
    for (const diagnose::Explanation& e : diagnose::explain(run)) productions.push(diagnose::to_json(e));
    TaskState& task = tasks_[wanted.task];
    // A node that was not tested has not passed: sickbayd puts nodes back by this.  (The quick mode has no
    // such tests, whatever a specification puts into it.)
    if (running_ && wanted.mode != kDiagnosisModes.front() && !running_->left_out().empty())
      task.left_out = running_->left_out();
    task.whole = task.whole && !run.stopped && task.left_out.empty();
    task.runs.push(Json::object({{"specification", specification},
                                 {"mode", wanted.mode},
                                 {"whole", !run.stopped},
                                 {"at", to_micros(began)},
                                 {"wall_us", wall.count()},
                                 {"cpu_us", cpu.count()},
                                 {"journal", std::move(journal)},
                                 {"findings", std::move(findings)},
                                 {"values", values_json(run)},
                                 {"operations", operations_json(run)},
                                 {"productions", std::move(productions)}}));
    if (--task.left == 0) {
      const Json error =
          task.left_out.empty()
              ? Json()
              : Json::object({{"what", "a test that needs an idle node, or leave: " + task.left_out}});
      post_results(wanted.task, Json::object({{"whole", task.whole}, {"error", error}, {"runs", task.runs}}));
      tasks_.erase(wanted.task);
    }
  }
  // Not from inside the run that is just ending.
  loop_.post(lifetime_.guard([this] {
    running_.reset();
    take_changed_rules();
    begin_helper();
    next_order();
    if (!running_ && once_done_) std::exchange(once_done_, nullptr)();
  }));
  if (sickbayd_ != nullptr) deliver();
}

// --- other rules

void Agent::change_rules(std::vector<std::shared_ptr<const diagnose::Rules>> rules) {
  changed_rules_ = std::move(rules);
  take_changed_rules();
}

// Not in the middle of what counts its specifications: a run, or a task of which some are still to come.  One
// that waits for leave may wait for long: it begins anew with the new rules.
void Agent::take_changed_rules() {
  if (!changed_rules_ || running_) return;
  std::map<std::int64_t, Order> waiting;
  for (const Order& held : held_)
    if (held.task != 0) waiting[held.task] = held;
  const auto is_under_way = [&](const auto& task) { return !waiting.contains(task.first); };
  if (std::ranges::any_of(tasks_, is_under_way)) return;
  for (const Loop::TimerId timer : ticks_) loop_.cancel(timer);
  orders_.clear();
  held_.clear();
  rules_ = std::move(*changed_rules_);
  changed_rules_.reset();
  ticks_.assign(rules_.size(), 0);
  due_.assign(rules_.size(), {});
  began_.assign(rules_.size(), {});
  say(fmt::format("event=rules_changed specifications={}", rules_.size()));
  tell_gone_rules();
  greeted_mode_.clear();  // the next answer to a poll is followed by a greeting, which tells the digests
  for (std::size_t i = 0; i < rules_.size(); ++i) plan(i);
  for (const auto& [task, held] : waiting)
    begin_task(task, held.mode, held.repair.value_or(false), held.with_leave);
}

// --- on demand

void Agent::once(std::chrono::seconds limit, std::function<void()> done) {
  only_once_ = true;
  tell_cut_repairs();
  tell_gone_rules();
  once_done_ = [this, done = std::move(done)] {
    if (sickbayd_ == nullptr) return done();
    // One second for what waits; what does not get away is the agent's, or the next one's.
    auto ended = std::make_shared<bool>(false);
    const auto end = [ended, done] {
      if (!std::exchange(*ended, true)) done();
    };
    later(std::chrono::seconds(1), end);
    delivered_ = end;
    deliver();
  };
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    order(asked_for(i, std::string(kDiagnosisModes.front()), "once"), false);
  }
  if (rules_.empty()) return std::exchange(once_done_, nullptr)();
  later(limit, [this] {
    orders_.clear();
    if (running_) running_->stop("the time that Slurm gives is over");
  });
}

// A run that no period asked for.
Agent::Order Agent::asked_for(std::size_t i, const std::string& mode, std::string period) const {
  const diagnose::Specification& s = rules_[i]->specification;
  Order wanted;
  wanted.rules = i;
  wanted.period = std::move(period);
  wanted.asked = true;
  wanted.mode = mode;
  wanted.initial = initial_for(s, diagnose::find_period(s, time_of_day(loop_.now()), use()), mode);
  return wanted;
}

}  // namespace sickbay::agent
