// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/case_view.h"

#include <fmt/format.h>

#include "base/hostlist.h"

namespace sickbay::identify {
namespace {

Json trace_view(const Run& run) {
  if (!run.trace) return Json();
  const Trace& t = *run.trace;
  return Json::object({{"rank", t.rank < 0 ? Json() : Json(t.rank)},
                       {"node", t.node},
                       {"signal", t.signal},
                       {"signal_name", t.signal_name},
                       {"message", t.message},
                       {"last_lines", t.last_lines}});
}

Json verification_view(const Run& run) {
  if (!run.is_verification()) return Json();
  Json nodes = Json::array(), links = Json::array();
  for (const NodeResult& r : run.results) {
    if (r.peer.empty())
      nodes.push(Json::object({{"node", r.node}, {"result", r.result}, {"reason", r.reason}}));
    else
      links.push(Json::object({{"a", r.node}, {"b", r.peer}, {"result", r.result}, {"reason", r.reason}}));
  }
  return Json::object({{"checks", run.checks},
                       {"nodes", std::move(nodes)},
                       {"links", std::move(links)},
                       {"refusal", run.refusal}});
}

Json run_view(const Run& run) {
  return Json::object({{"run", run.id.text()},
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
}

void add_evidence(Json& list, const std::string& node, std::string_view side, std::string text,
                  const Run& run) {
  list.push(
      Json::object({{"node", node}, {"side", side}, {"text", std::move(text)}, {"run", run.id.text()}}));
}

Json evidence_view(const Case& c) {
  Json list = Json::array();
  for (const Run& run : c.programs) {
    for (const std::string& node : run.down_nodes)
      add_evidence(list, node, "against", "went down during " + run.id.text(), run);
    if (run.outcome == Outcome::failed && run.trace && !run.trace->node.empty())
      add_evidence(list, run.trace->node, "against",
                   run.trace->rank >= 0 ? fmt::format("rank {} failed first there", run.trace->rank)
                                        : "a rank failed first there",
                   run);
  }
  for (const Run& run : c.verifications)
    for (const NodeResult& r : run.results) {
      const std::string name = r.peer.empty() ? r.node : r.node + " - " + r.peer;
      if (r.result == "ok") {
        if (r.peer.empty()) add_evidence(list, name, "for", "the verification program passed", run);
      } else if (r.result != "unknown")
        add_evidence(list, name, "against", "verification " + r.result + ": " + r.reason, run);
    }
  for (const CaseSign& s : c.signs)
    list.push(Json::object({{"node", s.node},
                            {"side", "against"},
                            {"text", fmt::format("{} {}: {}", s.sign.source, s.sign.rule, s.sign.text)},
                            {"run", s.run.text()}}));
  return list;
}

Json options_view(const Options& o) {
  return Json::object({{"deliver", o.deliver},
                       {"rerun", o.rerun},
                       {"requeue", o.requeue},
                       {"check", o.check},
                       {"expect_time_s", o.expect_time_s},
                       {"workdir", o.workdir}});
}

Json verdict_view(const Case& c) { return c.verdict ? c.verdict->to_json() : Json(); }

JobId first_job(const Case& c) { return c.programs.empty() ? 0 : c.programs.front().job.job_id; }

}  // namespace

std::string_view case_state(const Case& c) {
  if (c.is_closed()) return "closed";
  if (c.programs.empty()) return "unbound";
  if (!ended(c.programs.front().outcome)) return "watching";
  return c.verdict && !c.verdict->final && c.verdict->cause == Cause::inconclusive ? "waiting"
                                                                                   : "investigating";
}

Json case_summary(const Case& c) {
  return Json::object({{"case", c.name()},
                       {"job_id", first_job(c)},
                       {"user", c.owner.user},
                       {"state", case_state(c)},
                       {"verdict", verdict_view(c)},
                       {"opened", to_micros(c.opened)},
                       {"closed", to_micros(c.closed)}});
}

Json case_view(const Case& c) {
  Json runs = Json::array();
  for (const Run& run : c.programs) runs.push(run_view(run));
  for (const Run& run : c.verifications) runs.push(run_view(run));
  for (const Run& run : c.result_checks) runs.push(run_view(run));
  return Json::object({{"case", c.name()},
                       {"job_id", first_job(c)},
                       {"owner", c.owner.to_json()},
                       {"opened", to_micros(c.opened)},
                       {"closed", to_micros(c.closed)},
                       {"state", case_state(c)},
                       {"verdict", verdict_view(c)},
                       {"runs", std::move(runs)},
                       {"evidence", evidence_view(c)},
                       {"options", options_view(c.options)},
                       {"notes", c.notes},
                       {"work_dir", c.work_dir},
                       {"output_dir", c.output_dir}});
}

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
      for (const Run& r : *runs)
        inner.push(Json::object({{"bound", r.bound},
                                 {"releases", r.releases},
                                 {"release_done", r.release_done},
                                 {"cancel_wanted", r.cancel_wanted},
                                 {"output_read", r.output_read},
                                 {"bad_constraints", r.bad_constraints},
                                 {"released_at", to_micros(r.released_at)},
                                 {"seen_at", to_micros(r.seen_at)},
                                 {"released_boot", to_micros(r.released_boot)},
                                 {"job", r.job.to_json()}}));
    line.set("inner", std::move(inner)).set("cancel_requested", c.cancel_requested);
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace sickbay::identify
