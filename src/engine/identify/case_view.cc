// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/case_view.h"

#include <fmt/format.h>

#include "base/hostlist.h"
#include "engine/identify/array.h"
#include "engine/identify/further.h"
#include "engine/identify/join.h"
#include "engine/identify/launch.h"
#include "engine/identify/lossy.h"
#include "engine/identify/node_notes.h"
#include "engine/identify/provisional.h"
#include "engine/identify/rerun.h"
#include "engine/identify/starved.h"

namespace sickbay::identify {
namespace {

Json trace_view(const Run& run) {
  if (!run.trace) return Json();
  const Trace& t = *run.trace;
  Json view = Json::object({{"rank", t.rank < 0 ? Json() : Json(t.rank)},
                            {"node", t.node},
                            {"signal", t.signal},
                            {"signal_name", t.signal_name},
                            {"message", t.message},
                            {"last_lines", t.last_lines}});
  if (!t.cause.empty()) view.set("cause", t.cause).set("cause_tells", to_string(t.cause_tells));
  return view;
}

Json verification_view(const Run& run) {
  if (!run.is_verification()) return Json();
  Json nodes = Json::array(), links = Json::array();
  for (const NodeResult& r : run.results) {
    Json line =
        r.peer.empty() ? Json::object({{"node", r.node}}) : Json::object({{"a", r.node}, {"b", r.peer}});
    line.set("result", r.result).set("reason", r.reason);
    if (!r.fault.empty()) line.set("fault", r.fault);
    (r.peer.empty() ? nodes : links).push(std::move(line));
  }
  Json view = Json::object({{"checks", run.checks},
                            {"nodes", std::move(nodes)},
                            {"links", std::move(links)},
                            {"refusal", run.refusal}});
  // It was no job of this case.
  if (!run.results.empty() && !run.results.front().from.empty()) view.set("from", run.results.front().from);
  return view;
}

Json earlier_view(const Run& run) {
  Json list = Json::array();
  for (const Incarnation& one : run.earlier)
    list.push(Json::object({{"restart", one.restart_cnt},
                            {"state", one.state},
                            {"nodes", compress_hostlist(one.nodes)},
                            {"down_nodes", compress_hostlist(one.down_nodes)},
                            {"ended_at", to_micros(one.ended_at)}}));
  return list;
}

Json lossy_view(const Lossy& one) {
  return Json::object({{"node", one.node},
                       {"nodes", one.nodes},
                       {"seconds", std::int64_t{one.seen.count()}},
                       {"sent", one.sent},
                       {"lost", one.lost},
                       {"others_sent", one.others_sent},
                       {"others_lost", one.others_lost},
                       {"echoes", one.echoes},
                       {"echoes_lost", one.echoes_lost}});
}

Json starved_view(const Run& run) {
  Json list = Json::array();
  for (const Starved& one : run.starved)
    list.push(Json::object({{"node", one.node},
                            {"process", one.process},
                            {"seconds", std::int64_t{one.seen.count()}},
                            {"waited_permille", one.waited},
                            {"stopped_permille", one.stopped},
                            {"others_permille", one.others},
                            {"throttled_ms", one.throttled.count() / 1000},
                            {"apart", one.apart}}));
  return list;
}

Json run_view(const Run& run) {
  Json view = Json::object({{"run", run.id.text()},
                            {"kind", run.is_program() ? "program"
                                     : run.is_check() ? "check"
                                                      : "verification"},
                            {"attempt", run.attempt},
                            {"checks", run.is_program() ? Json() : Json(run.checks)},
                            {"job_id", run.job.job_id},
                            {"state", run.job.state},
                            {"flags", run.job.flags},
                            {"nodes", compress_hostlist(run.nodes)},
                            {"submit", to_micros(run.job.submit)},
                            {"start", to_micros(run.job.start)},
                            {"end", to_micros(run.job.end)},
                            {"exit_code", run.job.exit_code},
                            {"exit_signal", run.job.exit_signal},
                            {"reason", run.refusal.empty() ? run.job.reason : run.refusal},
                            {"outcome", to_string(run.outcome)},
                            {"symptom", to_string(run.symptom)},
                            {"down_nodes", compress_hostlist(run.down_nodes)},
                            {"excluded", compress_hostlist(run.excluded)},
                            {"reused", compress_hostlist(run.reused)},
                            {"output", run.job.std_out},
                            {"error_output", run.job.std_err},
                            {"wanted_at", to_micros(run.wanted_at)},
                            {"ended_at", to_micros(run.ended_at)},
                            {"fingerprint", trace_view(run)},
                            {"verification", verification_view(run)}});
  if (!run.earlier.empty()) view.set("earlier", earlier_view(run));
  if (!run.starved.empty()) view.set("starved", starved_view(run));
  if (run.lossy) view.set("lossy", lossy_view(*run.lossy));
  if (run.hang.is_object())
    view.set("hang", Json(run.hang))
        .set("hang_at", to_micros(run.hang_at))
        .set("hang_over_at", to_micros(run.hang_over_at));
  if (run.suspicion.is_object()) view.set("suspicion", Json(run.suspicion));
  return view;
}

// `what`: of which kind it is, where a reader may weigh it otherwise under one verdict than under another.
void add_evidence(Json& list, const std::string& node, std::string_view side, std::string text,
                  const Run& run, std::string_view what = "") {
  Json row =
      Json::object({{"node", node}, {"side", side}, {"text", std::move(text)}, {"run", run.id.text()}});
  if (!what.empty()) row.set("what", what);
  list.push(std::move(row));
}

// Who reads it shall see that nothing is held against the node: it was silent, from when to when.
void add_suspect(Json& list, const Suspect& s) {
  list.push(Json::object(
      {{"node", s.node},
       {"side", "suspect"},
       {"text", s.cleared_at == kNoTime ? fmt::format("does not answer Slurm since {}", format_time(s.at))
                                        : fmt::format("did not answer Slurm from {} to {}", format_time(s.at),
                                                      format_time(s.cleared_at))},
       {"run", s.run.text()}}));
}

// By node and side, in the order in which it is known: restarts, runs, V, silence, findings.  A verdict
// weighs it; here it is told as it is.
Json evidence_view(const Case& c) {
  Json list = Json::array();
  for (const Run& run : c.programs) {
    for (const Incarnation& one : run.earlier)
      for (const std::string& node : one.down_nodes)
        add_evidence(
            list, node, "against",
            fmt::format("went down during {} before its restart {}", run.id.text(), one.restart_cnt + 1),
            run);
    for (const std::string& node : run.down_nodes)
      add_evidence(list, node, "against", "went down during " + run.id.text(), run);
    for (const NodeNote& note : run.node_notes)
      // A person's DOWN is told, and speaks against nobody.
      add_evidence(list, note.node, note.what == NodeNote::What::taken ? "told" : "against", words_of(note),
                   run);
    for (const Starved& one : run.starved)
      add_evidence(list, one.node, speaks_against_node(run, one) ? "against" : "told", words_of(one), run,
                   "starved");
    // What is over, and decides nothing: a node that is named for it is told of, and so are both ends.
    if (run.lossy)
      for (const std::string& node : ends_of(*run.lossy))
        add_evidence(list, node, run.lossy->node.empty() ? "told" : "against", words_of(*run.lossy), run,
                     "lossy");
    if (run.outcome == Outcome::failed && run.trace && !run.trace->node.empty())
      add_evidence(list, run.trace->node, "against",
                   run.trace->rank >= 0 ? fmt::format("rank {} failed first there", run.trace->rank)
                                        : "a rank failed first there",
                   run, "first_death");
  }
  for (const Run& run : c.verifications)
    for (const NodeResult& r : run.results) {
      const std::string name = r.peer.empty() ? r.node : r.node + " - " + r.peer;
      if (r.result == "ok") {
        // (That a link is well speaks for neither end by itself.)
        if (r.peer.empty()) add_evidence(list, name, "for", "the verification program passed", run);
      } else if (r.result != "unknown")
        add_evidence(list, name, "against", "verification " + r.result + ": " + r.reason, run);
    }
  for (const Suspect& s : c.suspects) add_suspect(list, s);
  for (const CaseSign& s : c.signs)
    list.push(Json::object({{"node", s.node},
                            {"side", "against"},
                            {"text", fmt::format("{} {}: {}", s.sign.source, s.sign.rule, s.sign.text)},
                            {"run", s.run.text()}}));
  return list;
}

Json options_view(const Options& o, const Reruns& reruns) {
  Json view = Json::object({{"deliver", o.deliver},
                            {"rerun", reruns.checked ? Json(to_string(reruns.wish)) : Json(o.rerun)},
                            {"requeue", o.requeue},
                            {"check", o.check},
                            {"expect_time_s", o.expect_time_s}});
  // (An older version's way to say where a re-run goes.)
  if (!reruns.checked) view.set("workdir", o.workdir);
  if (o.recover) view.set("recover", true);
  if (o.until_verdict) view.set("until_verdict", true);
  if (o.hang != HangMode::off) view.set("hang", std::string(to_string(o.hang)));
  return view;
}

Json verdict_view(const Case& c) {
  if (!c.verdict) return {};
  // It said what the job waited for, and nothing of that stays.
  const bool over = c.verdict->rule == kRuleNotStarted && !c.verdict->final && !c.programs.empty() &&
                    !is_held_by_slurm(c.programs.front());
  return over ? Json() : c.verdict->to_json();
}

// What squeue and sacct call its job: "1234", "1234_7" for a task of an array.
void add_job(Json& view, const Case& c) {
  if (c.array) view.set("array", c.array->expression);
  if (c.parent != 0) view.set("parent", case_name(c.parent)).set("task", c.task.text());
  if (c.resumes != 0) view.set("resumes", case_name(c.resumes));
}

}  // namespace

std::string_view case_state(const Case& c) {
  if (c.is_closed()) return "closed";
  if (c.job_id() == 0) return "unbound";
  if (c.array) return c.array->failures.empty() ? "watching" : "investigating";
  if (!ended(c.programs.front().outcome)) return "watching";
  // Something is missing that only free nodes can give; where nothing is, a run is on its way.
  const bool waits = c.verdict && !c.verdict->final && c.verdict->cause == Cause::inconclusive &&
                     !c.verdict->missing.empty() && !is_provisional_rule(c.verdict->rule);
  return waits ? "waiting" : "investigating";
}

Json case_summary(const Case& c) {
  Json view = Json::object({{"case", c.name()},
                            {"job_id", c.job_id()},
                            {"user", c.owner.user},
                            {"state", case_state(c)},
                            {"verdict", verdict_view(c)},
                            {"opened", to_micros(c.opened)},
                            {"closed", to_micros(c.closed)},
                            {"waits_for", waits_for(c)}});
  add_job(view, c);
  for (const Run& run : c.programs)
    // Of a run that has ended the verdict tells it.
    if (run.hangs() && !ended(run.outcome)) view.set("hang", run.hang["text"]);
  if (!c.programs.empty())
    if (const Run& first = c.programs.front();
        first.outcome == Outcome::failed && first.trace && first.trace->knows_cause())
      view.set("cause", first.trace->cause);
  return view;
}

Json case_view(const Case& c) {
  Json runs = Json::array();
  for (const Run& run : c.programs) runs.push(run_view(run));
  for (const Run& run : c.verifications) runs.push(run_view(run));
  for (const Run& run : c.result_checks) runs.push(run_view(run));
  Json view = Json::object({{"case", c.name()},
                            {"job_id", c.job_id()},
                            {"owner", c.owner.to_json()},
                            {"opened", to_micros(c.opened)},
                            {"closed", to_micros(c.closed)},
                            {"state", case_state(c)},
                            {"verdict", verdict_view(c)},
                            {"runs", std::move(runs)},
                            {"evidence", evidence_view(c)},
                            {"options", options_view(c.options, c.reruns)},
                            {"notes", c.notes},
                            {"work_dir", c.work_dir},
                            {"output_dir", c.output_dir}});
  add_job(view, c);
  // (A case of an older version has neither.)
  if (Json reruns = reruns_view(c); !reruns.is_null()) view.set("rerun", std::move(reruns));
  if (Json further = further_view(c); !further.is_null()) view.set("further", std::move(further));
  if (Json shared = shared_view(c); !shared.is_null()) view.set("same_failure", std::move(shared));
  return view;
}

// All that decide() looks at must be in here: replay equality is tested by this text (decisions.md 13).
std::string canonical_text(const State& state) {
  Json nodes = Json::array();
  for (const auto& [name, n] : state.records) {
    Json signs = Json::array();
    for (const Sign& sign : n.signs)
      signs.push(Json::array({sign.source, sign.rule, to_micros(sign.at), to_micros(sign.gone_at)}));
    nodes.push(Json::object({{"node", name},
                             {"signs", std::move(signs)},
                             {"passed_at", to_micros(n.passed_at)},
                             {"failed_at", to_micros(n.failed_at)},
                             {"failed_case", n.failed_case}}));
  }
  std::string text =
      Json::object({{"last_case", state.last_case}, {"nodes", std::move(nodes)}}).dump() + "\n";
  for (const auto& [no, c] : state.cases) {
    Json line = case_view(c);
    Json inner = Json::array();  // what the view leaves out and decide() looks at
    for (const auto* runs : {&c.programs, &c.verifications, &c.result_checks})
      for (const Run& r : *runs) {
        Json one = Json::object({{"bound", r.bound},
                                 {"releases", r.releases},
                                 {"spent", r.spent},
                                 {"alone", r.alone},
                                 {"release_done", r.release_done},
                                 {"cancel_wanted", r.cancel_wanted},
                                 {"output_read", r.output_read},
                                 {"bad_constraints", r.bad_constraints},
                                 {"released_at", to_micros(r.released_at)},
                                 {"seen_at", to_micros(r.seen_at)},
                                 {"released_boot", to_micros(r.released_boot)},
                                 {"job", r.job.to_json()}});
        if (r.is_held) one.set("is_held", true);
        inner.push(std::move(one));
      }
    line.set("inner", std::move(inner)).set("cancel_requested", c.cancel_requested);
    if (c.reruns.checked) line.set("reruns", reruns_text(c));
    if (c.left_at != kNoTime) line.set("left_at", to_micros(c.left_at));
    if (c.array) line.set("tasks", array_view(state, c));
    if (c.first != 0) line.set("first", c.first);
    if (c.resumption)
      line.set("resumption", Json::object({{"recovery", c.resumption->recovery},
                                           {"restart_cnt", c.resumption->restart_cnt},
                                           {"without", c.resumption->without},
                                           {"due", state.resuming.contains(no)}}));
    text += line.dump() + "\n";
  }
  return text + state.speeds.canonical_text();
}

}  // namespace sickbay::identify
