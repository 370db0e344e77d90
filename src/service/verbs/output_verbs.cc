// SPDX-License-Identifier: Apache-2.0
// The verb read_output: what a run left behind, read as whoever owns the file.  Only looks, and may be
// repeated.
#include <fmt/format.h>

#include <array>

#include "model/fingerprint.h"
#include "model/ids.h"
#include "model/slurm_state.h"
#include "model/verbs.h"
#include "model/verify_report.h"
#include "ports/process_runner.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

constexpr std::size_t kTailBytes = 64 * 1024;  // of a program's output: its last lines
constexpr std::size_t kReportBytes = 8 << 20;  // of a verification's: all of it

Json trace_json(const Fingerprint& f) {
  return Json::object({{"rank", f.rank ? *f.rank : -1},
                       {"node", f.node.value_or("")},
                       {"signal", f.signal.value_or(0)},
                       {"signal_name", f.signal_name},
                       {"out_of_memory", f.out_of_memory},
                       {"message", f.message},
                       {"last_lines", f.last_lines},
                       {"cause", f.cause},
                       {"cause_tells", to_string(f.cause_tells)}});
}

Json results_json(const VerifyReport& report) {
  Json list = Json::array();
  for (const auto& n : report.nodes) {
    Json item = Json::object({{"node", n.node},
                              {"peer", ""},
                              {"result", to_string(n.result)},
                              {"fault", to_string(n.fault)},
                              {"reason", n.reason}});
    if (!n.kind.empty() && !n.figures.empty()) {
      Json figures = Json::object();
      for (const auto& [phase, value] : n.figures) figures.set(phase, value);
      item.set("kind", n.kind).set("figures", std::move(figures));
    }
    list.push(std::move(item));
  }
  for (const auto& l : report.links)
    list.push(Json::object(
        {{"node", l.node},
         {"peer", l.peer},
         {"result", to_string(l.result)},
         {"fault", to_string(l.result == VerifyResult::slow ? VerifyFault::slow : VerifyFault::network)},
         {"reason", l.reason}}));
  return list;
}

// A program of that user does it: opened here it would be opened with the rights of root.
void tail(VerbTools& tools, const std::string& path, std::size_t bytes, const ProcessSpec::Credentials& as,
          Done<std::string> done) {
  if (path.empty())
    return tools.loop.post(
        [done] { done(fail(ErrorCode::not_found, "Slurm does not say where the output is")); });
  ProcessSpec spec;
  spec.argv = {"/usr/bin/tail", "-c", std::to_string(bytes), "--", path};
  spec.environment = {"LC_ALL=C"};
  spec.as_user = as;
  spec.output_limit = bytes + 1;
  tools.processes.run(std::move(spec), [path, done](Result<ProcessOutcome> r) {
    if (!r) return done(fail(r.error()));
    if (r->exit_code != 0)
      return done(fail(ErrorCode::not_found,
                       fmt::format("cannot read {}: {}", path, r->err.substr(0, r->err.find('\n')))));
    done(std::move(r->out));
  });
}

// The code of a job that came to its own end.  One that was cancelled, ran into its limit or lost a node has
// the code 0, too, and it says nothing.
std::optional<int> own_exit_code(const Json& args) {
  const auto state = parse_job_state(args["state"].as_string());
  if (!state || (state->base != JobBase::completed && state->base != JobBase::failed)) return std::nullopt;
  return static_cast<int>(args["exit_code"].as_int());
}

// P's output is read as its owner: he chose the path. V's is ours.
void read_output(VerbTools& tools, const Command& command, bool, Answer answer) {
  const auto id = parse_run_id(command.args["run"].as_string());
  const bool of_patrol = parse_patrol_run(command.args["run"].as_string()).has_value();
  if (!id && !of_patrol) return answer(fail(ErrorCode::internal, "read_output of no run: " + command.key));
  ProcessSpec::Credentials as{tools.config.verify.user, tools.verification.uid, tools.verification.gid};
  const bool program = id && id->kind == RunKind::program;
  if (program) {
    auto saved = saved_submission(tools, command);
    if (!saved) return answer(fail(saved.error()));
    as = {saved->owner.user, saved->owner.uid, saved->owner.gid};
  }
  const std::size_t bytes = program ? kTailBytes : kReportBytes;
  const std::string out = command.args["out"].as_string(), err = command.args["err"].as_string();
  tail(tools, out, bytes, as,
       [&tools, command, as, bytes, program, out, err, answer](Result<std::string> out_text) {
         if (!out_text) return answer(fail(out_text.error()));
         auto finish = [command, program, answer, text = *out_text](Result<std::string> err_text) {
           const std::string errors = err_text ? *err_text : std::string();
           if (program) return answer(Json::object({{"trace", trace_json(read_fingerprint(text, errors))}}));
           const VerifyReport report = parse_verify_report(text, errors, command.args["nodes"].as_strings(),
                                                           own_exit_code(command.args));
           answer(Json::object({{"results", results_json(report)}, {"why", report.summary}}));
         };
         if (err.empty() || err == out) return finish(std::string());
         tail(tools, err, bytes, as, finish);
       });
}

}  // namespace

std::span<const VerbRow> output_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({{verb::kReadOutput, read_output}});
  return kRows;
}

}  // namespace sickbay
