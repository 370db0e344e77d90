// SPDX-License-Identifier: Apache-2.0
// decide(): what an open case needs next.  Read next_steps() from the top: it is the flow of a case.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

constexpr std::chrono::seconds kRequeueGrace{
    60};  // a preempted job that Slurm will run again is back by then

// One look at one case.  Collects commands; keeps no state of its own.
class Look {
 public:
  Look(const State& state, const Policy& policy, const Case& c, TimePoint now)
      : state_(state), policy_(policy), c_(c), now_(now) {}

  Decision result() {
    if (!c_.is_closed()) next_steps();
    return std::move(out_);
  }

 private:
  void next_steps() {
    if (c_.programs.empty()) return await_job();
    if (c_.cancel_requested) return finish_cancelled();
    const Run& first = c_.programs.front();
    if (first.outcome == Outcome::failed || first.outcome == Outcome::out_of_memory) read_output(first);
    for (const Run& run : c_.programs)
      if (run.outcome == Outcome::checking) drive_result_check(run);
    if (!ended(first.outcome)) return;
    if (first.outcome != Outcome::ok && first.outcome != Outcome::failed)
      return finish_without_experiment(first);

    auto verdict = judge(state_, policy_, c_, now_);
    if (verdict && verdict->final && retry_could_change(*verdict)) verdict->final = false;
    if (verdict) say(*verdict);
    if (verdict && verdict->final) return wind_up(*verdict);
    experiment();
  }

  // --- ends that need no experiment

  void await_job() {
    if (c_.cancel_requested) return end_with(Cause::cancelled, "The job was never submitted.");
    if (now_ >= c_.opened + policy_.bind_limit)
      return end_with(Cause::expired, "No job was bound to this case in time.");
    wake(c_.opened + policy_.bind_limit);
  }

  void finish_cancelled() {
    if (cancel_own_runs("the case was cancelled")) return;
    end_with(Cause::cancelled, fmt::format("The investigation was cancelled{}.",
                                           c_.cancelled_by.empty() ? "" : " by " + c_.cancelled_by));
  }

  void finish_without_experiment(const Run& first) {
    switch (first.outcome) {
      case Outcome::cancelled:
        return end_with(Cause::cancelled, "The job was cancelled; it did not fail.");
      case Outcome::deadline:
        return end_with(Cause::deadline, "The job could not end before its --deadline.");
      case Outcome::lost:
        return end_with(Cause::inconclusive,
                        fmt::format("Slurm has lost job {}; submit it again.", first.job.job_id));
      case Outcome::out_of_memory:
        if (!first.output_read || cancel_own_runs("the job ran out of memory")) return;
        return end_with(Cause::out_of_memory, "The job used more memory than it was given.",
                        {"ask for more memory (--mem, --mem-per-cpu), or use more nodes"});
      case Outcome::no_failure:
        if (now_ < first.ended_at + kRequeueGrace) return wake(first.ended_at + kRequeueGrace);
        return end_with(Cause::cancelled, "The job was preempted; it did not fail.",
                        {"submit it again, or with --requeue"});
      default:
        return;
    }
  }

  void end_with(Cause cause, std::string sentence, std::vector<std::string> next = {}) {
    Verdict v;
    v.cause = cause;
    v.final = true;
    v.sentence = std::move(sentence);
    v.next = std::move(next);
    v.rule = "end";
    v.at = now_;
    say(v);
    close();
  }

  // --- the experiment

  void experiment() {
    const Facts f = facts_of(state_, policy_, c_, now_);
    if (c_.options.rerun) drive_program(2);
    drive_check(1);
    // V on r2's nodes starts as soon as they are known: beside r2 where cores are free, else right after it.
    if (const Run* r2 = c_.program(2)) {
      if (r2->outcome == Outcome::failed) read_output(*r2);
      const bool beside =
          r2->outcome == Outcome::running && c_.programs.front().symptom != Symptom::abnormal_time;
      if (beside || (r2->outcome == Outcome::failed && !r2->never_began())) drive_check(2);
    }
    const bool needs_third =
        f.a1 == a_fail && f.c1 == c_ok && (f.a2 == a_fail || f.a2 == a_down) && f.c2 == c_failed;
    if (needs_third && policy_.max_reruns >= 2) {
      drive_program(3);
      if (const Run* r3 = c_.program(3)) {
        if (r3->outcome == Outcome::failed) read_output(*r3);
        if (r3->outcome == Outcome::running || (r3->outcome == Outcome::failed && !r3->never_began()))
          drive_check(3);
      }
    }
    if (needs_control()) drive_check(0);
    for (const Run& v : c_.verifications) follow(v);
    // A verification whose question has gone away (its re-run completed) is not worth node time.
    for (int n = 2; n <= 3; ++n)
      if (const Run* run = c_.program(n); run && run->outcome == Outcome::ok)
        if (const Run* v = c_.check_of(n)) cancel(*v, "its re-run completed");
    for (const Run& v : c_.verifications)
      if (const Run* judged = c_.program(v.checks); judged && v.wanted_at < judged->wanted_at)
        cancel(v, "its re-run was submitted anew");
  }

  void drive_program(int n) {
    const Run* run = c_.program(n);
    if (run == nullptr) return submit_program(n, 1, false);
    if (tries_again(state_, policy_, c_, *run, now_))
      return submit_program(n, run->attempt + 1, run->refused_its_nodes());
    follow(*run);
    if (run->live() && run->outcome == Outcome::pending && run->release_done) {
      // Tried on 22.05: Slurm takes a held job that it has no nodes for, and holds it again when released.
      if (run->bad_constraints)
        cancel(*run, "Slurm has no nodes for it besides those it must keep away from");
      else if (now_ >= run->released_at + policy_.rerun_wait)
        cancel(*run, "it found no free nodes in time");
      else
        wake(run->released_at + policy_.rerun_wait);
    }
  }

  // `--check`: a small job of the owner that looks at what a COMPLETED run left (no user code runs on this
  // host).
  void drive_result_check(const Run& run) {
    if (const Run* check = c_.result_check_of(run.id.n)) return follow(*check);
    const RunId id{c_.no, RunKind::check, static_cast<int>(c_.result_checks.size()) + 1};
    command(id.text() + ".a1:submit", "submit_program",
            Json::object({{"run", id.text()},
                          {"attempt", 1},
                          {"checks", run.id.n},
                          {"check", c_.options.check},
                          {"partition", run.job.partition},
                          {"work_dir", run.job.work_dir},
                          {"output", run.job.std_out},
                          {"output_dir", c_.output_dir},
                          {"uid", c_.owner.uid}}));
  }

  void drive_check(int n) {
    const Run* v = c_.check_of(n);
    const Run* p = c_.program(n);
    if (v == nullptr) {
      std::vector<std::string> nodes;
      if (n == 0) {
        if (std::string name = control_node(state_, c_); !name.empty()) nodes.push_back(std::move(name));
      } else if (p) {
        for (const std::string& name : p->nodes)
          if (auto node = state_.nodes.find(name); node == state_.nodes.end() || !node->second.down)
            nodes.push_back(name);
      }
      if (!nodes.empty()) submit_verification(n, static_cast<int>(c_.verifications.size()) + 1, 1, nodes);
      return;
    }
    follow(*v);
    const bool lost_a_node = std::any_of(v->nodes.begin(), v->nodes.end(), [&](const std::string& name) {
      auto node = state_.nodes.find(name);
      return node != state_.nodes.end() && node->second.down;
    });
    if (v->live() && v->outcome == Outcome::pending && lost_a_node)
      cancel(*v, "a node that it waits for went down");
    const TimePoint since = std::max(v->released_at, p ? p->ended_at : kNoTime);
    if (v->live() && v->outcome == Outcome::pending && v->release_done && (!p || ended(p->outcome))) {
      const TimePoint limit = since + policy_.verification_wait;
      if (now_ >= limit)
        cancel(*v, fmt::format(
                       "V was queued for {} min",
                       std::chrono::duration_cast<std::chrono::minutes>(policy_.verification_wait).count()));
      else
        wake(limit);
    }
    if (retry_due(*v)) {
      // One that Slurm lost is not to blame for it and goes again at once.
      const TimePoint when =
          v->ended_at + (v->outcome == Outcome::lost ? std::chrono::seconds(0) : policy_.verification_retry);
      if (now_ >= when)
        submit_verification(n, v->id.n, v->attempt + 1, v->nodes);
      else
        wake(when);
    }
  }

  // An ended verification that says nothing and may be tried again.
  bool retry_due(const Run& v) const {
    if (!ended(v.outcome) || v.attempt >= policy_.verification_attempts) return false;
    if (const Run* p = c_.program(v.checks); p && v.checks > 1 && p->outcome == Outcome::ok) return false;
    if (v.outcome != Outcome::not_started && v.outcome != Outcome::lost && !v.output_read &&
        v.outcome != Outcome::cancelled)
      return false;
    return std::none_of(v.results.begin(), v.results.end(),
                        [](const NodeResult& r) { return r.result != "unknown"; });
  }

  bool retry_could_change(const Verdict& v) const {
    // Other rows that lack a verification stand, with the lower confidence that the table gives them.
    if (v.cause != Cause::inconclusive || (v.rule != "V13" && v.rule != "V15")) return false;
    return std::any_of(c_.verifications.begin(), c_.verifications.end(),
                       [&](const Run& run) { return retry_due(run); });
  }

  bool needs_control() const {
    for (int n = 1; n <= 3; ++n)
      if (check_of(state_, policy_, c_, n, now_) == Check::open)
        if (const Run* v = c_.check_of(n); v && ended(v->outcome) && v->output_read) return true;
    return false;
  }

  // Bind, release, read: the life of a run that we submitted (decisions.md 17).
  void follow(const Run& run) {
    if (!run.bound) return;
    const bool held_again = run.release_done && run.job.held && run.outcome == Outcome::pending &&
                            run.seen_at > run.released_at && run.released_boot != state_.controller_boot;
    if (!ended(run.outcome) && !run.cancel_wanted && (run.releases == 0 || held_again))
      command(run.key() + ":release" + (run.releases == 0 ? "" : std::to_string(run.releases + 1)), "release",
              handle(run));
    if (run.is_verification() && ended(run.outcome) && run.outcome != Outcome::lost &&
        run.job.start != kNoTime)
      read_output(run);
  }

  // --- after the verdict

  void wind_up(const Verdict& verdict) {
    const bool keep = c_.options.deliver && verdict.cause == Cause::node;
    if (keep)
      for (const Run& run : c_.programs)
        if (run.id.n > 1) follow(run);
    if (cancel_own_runs("the verdict stands", keep)) return;
    for (const Run& run : c_.programs)
      if (run.outcome == Outcome::failed && run.bound && !run.output_read) {
        read_output(run);
        return;
      }
    close();
  }

  // True while a run of ours is still on its way; asks for its end.
  bool cancel_own_runs(const std::string& why, bool keep_programs = false) {
    bool waiting = false;
    for (const auto* runs : {&c_.programs, &c_.verifications, &c_.result_checks})
      for (const Run& run : *runs) {
        if (run.is_program() && run.id.n == 1) continue;
        if (ended(run.outcome)) continue;
        if (run.outcome == Outcome::checking) continue;  // its job is over; the check itself is in the list
        waiting = true;
        if (run.is_program() && keep_programs) continue;
        if (run.bound) cancel(run, why);
      }
    return waiting;
  }

  // --- commands

  void submit_program(int n, int attempt, bool relaxed) {
    const Placement place = place_rerun(state_, policy_, c_, n, relaxed, now_);
    const RunId id{c_.no, RunKind::program, n};
    command(fmt::format("{}.a{}:submit", id.text(), attempt), "submit_program",
            Json::object({{"run", id.text()},
                          {"attempt", attempt},
                          {"exclude", place.exclude},
                          {"reused", place.reused},
                          {"output_dir", c_.output_dir},
                          {"workdir", c_.options.workdir},
                          {"uid", c_.owner.uid}}));
  }

  void submit_verification(int checks, int n, int attempt, const std::vector<std::string>& nodes) {
    // Speed is judged only where time is the symptom; else V may share its nodes, and need not wait for r2 to
    // leave them.
    const Run* p = c_.program(checks);
    const bool time_matters =
        p && (p->symptom == Symptom::stall || p->symptom == Symptom::abnormal_time || !ended(p->outcome)) &&
        c_.programs.front().symptom != Symptom::abnormal_exit;
    const RunId id{c_.no, RunKind::verification, n};
    command(fmt::format("{}.a{}:submit", id.text(), attempt), "submit_verification",
            Json::object({{"run", id.text()},
                          {"attempt", attempt},
                          {"checks", checks},
                          {"nodes", nodes},
                          {"exclusive", time_matters},
                          {"partition", c_.programs.front().job.partition}}));
  }

  void cancel(const Run& run, const std::string& why) {
    if (!run.bound || ended(run.outcome) || run.cancel_wanted) return;
    Json args = handle(run);
    args.set("why", why);
    command(run.key() + ":cancel", "cancel", std::move(args));
  }

  void read_output(const Run& run) {
    if (run.output_read) return;
    command(run.key() + ":output", "read_output",
            Json::object({{"run", run.id.text()},
                          {"job_id", run.job.job_id},
                          {"out", run.job.std_out},
                          {"err", run.job.std_err},
                          {"nodes", run.nodes},
                          {"exit_code", run.job.exit_code},
                          {"state", run.job.state}}));
  }

  static Json handle(const Run& run) {
    return Json::object({{"job_id", run.job.job_id},
                         {"uid", run.job.uid},
                         {"submit", to_micros(run.job.submit)},
                         {"key", run.key()}});
  }

  void command(std::string key, std::string verb, Json args) {
    out_.commands.push_back({std::move(key), c_.name(), std::move(verb), std::move(args)});
  }

  void say(const Verdict& v) {
    if (c_.verdict && c_.verdict->rule == v.rule && c_.verdict->final == v.final &&
        c_.verdict->nodes == v.nodes)
      return;
    record(kVerdict, v.to_json());
  }
  void close() { record(kCaseClosed, Json::object()); }
  void record(std::string_view kind, Json body) {
    Event event;
    event.subject = c_.name();
    event.kind = kind;
    event.body = std::move(body);
    out_.records.push_back(std::move(event));
  }
  void wake(TimePoint when) { out_.wake_at = std::min(out_.wake_at, when); }

  const State& state_;
  const Policy& policy_;
  const Case& c_;
  TimePoint now_;
  Decision out_;
};

}  // namespace

Check check_of(const State& state, const Policy& policy, const Case& c, int program_run, TimePoint now) {
  const Run* v = c.check_of(program_run);
  const Run* p = c.program(program_run);
  if (v == nullptr) {
    // All nodes of the run are down: V has nowhere to speak.
    // The same where the run never had any.
    const bool nobody = p && ended(p->outcome) && p->down_nodes.size() == p->nodes.size();
    return nobody ? Check::unknown : Check::none;
  }
  if (!ended(v->outcome)) return Check::open;
  if (v->outcome == Outcome::lost && v->attempt < policy.verification_attempts) return Check::open;
  const bool ran =
      v->outcome != Outcome::not_started && v->outcome != Outcome::lost && v->job.start != kNoTime;
  if (ran && !v->output_read) return Check::open;
  const bool time_matters = p && (p->symptom == Symptom::stall || p->symptom == Symptom::abnormal_time);
  std::vector<std::string> bad;
  bool all_ok = !v->results.empty(), passed_here = false;
  for (const NodeResult& r : v->results) {
    if (r.result == "failed" || (time_matters && r.result == "slow")) bad.push_back(r.node);
    if (r.result == "unknown" || r.result == "failed") all_ok = false;
    if (r.result == "ok" && r.peer.empty()) passed_here = true;
  }
  if (bad.empty()) {
    if (!all_ok) return Check::unknown;
    std::size_t judged = 0;
    for (const NodeResult& r : v->results) judged += r.peer.empty();
    return judged >= v->nodes.size() ? Check::ok : Check::unknown;
  }
  // V convicts only where it has shown that it can pass: else V itself, or what all nodes share, is broken.
  if (passed_here) return Check::failed;
  for (const auto& [name, node] : state.nodes)
    if (node.passed_at != kNoTime && now - node.passed_at < policy.control_age &&
        std::find(bad.begin(), bad.end(), name) == bad.end())
      return Check::failed;
  const Run* control = c.check_of(0);
  if (control == nullptr) return control_node(state, c).empty() ? Check::unknown : Check::open;
  const bool spoke = control->output_read || control->job.start == kNoTime;
  return ended(control->outcome) && spoke ? Check::unknown : Check::open;
}

Decision decide(const State& state, const Policy& policy, const Case& subject, TimePoint now) {
  return Look(state, policy, subject, now).result();
}

}  // namespace sickbay::identify
