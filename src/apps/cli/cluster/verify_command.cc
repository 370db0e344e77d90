// SPDX-License-Identifier: Apache-2.0
// sickbay verify: the known-good program on chosen nodes, as a job of whoever asks; with --fleet sickbayd's
// matter (verify_fleet.h).
//
// Nothing of sickbayd is needed for the former: sinfo tells the idle nodes, sbatch submits V, and what V
// printed is read with the same reader that a case uses (model/verify_report.h), so both judge alike.  The
// output is written into the current folder, which nodes and caller are taken to share, as with any batch
// job.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "adapters/posix/installed_file.h"
#include "apps/cli/answer.h"
#include "apps/cli/child.h"
#include "apps/cli/cluster/job_end.h"
#include "apps/cli/cluster/verify_fleet.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/sbatch_reply.h"
#include "model/verify_report.h"

namespace sickbay::cli {
namespace {

constexpr int kNodeFailed = 1;  // "the answer is no"

struct VerifyOptions {
  std::string nodes, partition, baseline, script, time_limit = "10";
  bool full = false, keep = false, json = false;
  bool fleet = false;
  VerifyFleetOptions of_fleet;
};

// Slurm knows the partition.  (sinfo itself says nothing about one that it does not know.)
Status check_partition(const std::string& partition) {
  std::vector<std::string> known;
  ChildSpec sinfo;
  sinfo.argv = {"sinfo", "--noheader", "--all", "--format=%R"};
  auto code = run_child(sinfo, [&](std::string_view line) { known.emplace_back(trimmed(line)); });
  if (!code) return fail(code.error());
  if (std::find(known.begin(), known.end(), partition) != known.end()) return {};
  Error error(ErrorCode::not_found, fmt::format("there is no partition {}", quote_for_message(partition)));
  const std::string meant = did_you_mean(partition, known);
  error.remedy_text =
      meant.empty() ? "'sinfo' lists the partitions" : fmt::format("did you mean '{}'?", meant);
  return fail(std::move(error));
}

// The idle nodes of a partition (the default one for ""), by sinfo.
Result<std::vector<std::string>> idle_nodes(std::string& partition) {
  std::vector<std::string> names;
  ChildSpec sinfo;
  sinfo.argv = {"sinfo", "--noheader", "--Node", "--states=idle", "--format=%N %P %t"};
  if (!partition.empty()) sinfo.argv.push_back("--partition=" + partition);
  auto code = run_child(sinfo, [&](std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string name, of, state;
    words >> name >> of >> state;
    // sinfo marks the default partition with a star; "idle*" is a node that does not answer.
    const bool is_default = of.ends_with('*');
    if (is_default) of.pop_back();
    if (state != "idle" || (partition.empty() && !is_default)) return;
    if (partition.empty()) partition = of;
    if (of == partition) names.push_back(name);
  });
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(Error(ErrorCode::refused_by_slurm, fmt::format("sinfo failed with exit code {}", *code)));
  if (names.empty() && !partition.empty())
    if (auto known = check_partition(partition); !known) return fail(known.error());
  if (names.empty())
    return fail(
        Error(ErrorCode::conflict, "no node is idle now")
            .remedied_by(
                "name the nodes: the job then waits until they are free; 'sickbay nodes' lists them"));
  return sorted_hosts(std::move(names));
}

// Nothing where there is no such file; a script that says nothing leaves an empty one.
std::optional<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct VerifyRun {
  JobId job_id = 0;
  int exit_code = 0;
  std::vector<std::string> nodes;
  std::string out, err, out_path, err_path;
};

// Runs V as a job, to its end, and reads what it left.
Result<VerifyRun> run_verification(const VerifyOptions& o) {
  VerifyRun run;
  std::string partition = o.partition;
  auto nodes = o.nodes.empty() ? idle_nodes(partition) : expand_hostlist(o.nodes);
  if (!nodes) return fail(nodes.error());
  run.nodes = sorted_hosts(std::move(*nodes));
  const std::string script = o.script.empty() ? installed_file("sickbay-verify.sh") : o.script;
  if (script.empty())
    return fail(
        Error(ErrorCode::not_found, "the shipped verification script sickbay-verify.sh is not installed")
            .remedied_by("install Sickbay again, or name a script with --script"));

  // For the job's environment; what the caller has set himself stays.
  if (const std::string program = installed_file("sickbay-verify"); !program.empty())
    setenv("SICKBAY_VERIFY", program.c_str(), 0);
  setenv("SICKBAY_VERIFY_OPTS", o.full ? "" : "--quick", 0);

  const std::string list = compress_hostlist(run.nodes);
  ChildSpec sbatch;
  sbatch.argv = {"sbatch",
                 "--parsable",
                 "--no-requeue",
                 "--job-name=sickbay-verify",
                 fmt::format("--nodes={}", run.nodes.size()),
                 "--nodelist=" + list,
                 "--time=" + o.time_limit,
                 "--output=sickbay-verify-%j.out",
                 "--error=sickbay-verify-%j.err"};
  if (!partition.empty()) sbatch.argv.push_back("--partition=" + partition);
  sbatch.argv.push_back(script);
  auto code = run_child(sbatch, [&](std::string_view line) {
    const auto job_id = parse_sbatch_reply(line, true);
    if (!job_id) return;
    run.job_id = *job_id;
    fmt::print(stderr, "sickbay: verifying {} as job {}\n", list, run.job_id);
  });
  if (!code) return fail(code.error());
  if (run.job_id == 0)
    return fail(Error(ErrorCode::refused_by_slurm,
                      fmt::format("sbatch did not take the verification of {} (exit code {})", list, *code))
                    .because("its own words stand above"));
  const auto ended = wait_for_end(run.job_id);
  if (!ended) return fail(ended.error());
  run.exit_code = *ended;
  run.out_path = fmt::format("sickbay-verify-{}.out", run.job_id);
  run.err_path = fmt::format("sickbay-verify-{}.err", run.job_id);
  auto out = read_text(run.out_path);
  if (!out)
    return fail(Error(ErrorCode::not_found, fmt::format("job {} left no {} here", run.job_id, run.out_path))
                    .because("the nodes do not share this folder, or the job did not start")
                    .remedied_by(fmt::format("run it in a folder that all nodes share; see 'sacct -j {}'",
                                             run.job_id)));
  run.out = std::move(*out);
  run.err = read_text(run.err_path).value_or("");
  return run;
}

// Lets sickbay-verify make the baseline from the lines of this run.
Status record_baseline(const std::string& path, const std::string& lines) {
  const std::string program = installed_file("sickbay-verify");
  ChildSpec child;
  child.argv = {program.empty() ? "sickbay-verify" : program, "baseline", path};
  child.input = lines;
  auto code = run_child(child, [](std::string_view line) { fmt::print(stderr, "{}", line); });
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(
        Error(ErrorCode::bad_input, fmt::format("no baseline was written to {}", quote_for_message(path)))
            .because("sickbay-verify's own words stand above"));
  return {};
}

Json report_json(const VerifyRun& run, const VerifyReport& report) {
  Json nodes = Json::array(), links = Json::array();
  for (const NodeVerification& n : report.nodes)
    nodes.push(Json::object({{"node", n.node}, {"result", to_string(n.result)}, {"reason", n.reason}}));
  for (const LinkVerification& l : report.links)
    links.push(
        Json::object({{"a", l.node}, {"b", l.peer}, {"result", to_string(l.result)}, {"reason", l.reason}}));
  return Json::object({{"job_id", run.job_id},
                       {"result", to_string(report.overall)},
                       {"summary", report.summary},
                       {"nodes", std::move(nodes)},
                       {"links", std::move(links)}});
}

std::string report_text(const VerifyReport& report, const TextPage& page) {
  const auto cell = [](VerifyResult result) {
    const bool ok = result == VerifyResult::ok, failed = result == VerifyResult::failed;
    return TextTable::Cell(std::string(to_string(result)), ok ? "32" : failed ? "31" : "33");
  };
  TextTable table({{"NODE"}, {"RESULT"}, {"REASON", TextTable::Column::Align::left, true}});
  for (const NodeVerification& n : report.nodes) table.add({n.node, cell(n.result), for_terminal(n.reason)});
  for (const LinkVerification& l : report.links)
    table.add({l.node + " - " + l.peer, cell(l.result), for_terminal(l.reason)});
  return table.text({.width = page.width, .colours = page.colours}) + "\n" + for_terminal(report.summary) +
         "\n";
}

Result<int> run_verify(const VerifyOptions& o) {
  if (auto limit = parse_time_limit(o.time_limit); !limit) return fail(limit.error());
  auto run = run_verification(o);
  if (!run) return fail(run.error());
  const VerifyReport report = parse_verify_report(run->out, run->err, run->nodes, run->exit_code);
  if (o.json)
    print_json(report_json(*run, report));
  else
    print(report_text(report, page_of_stdout()));
  // What somebody may want to look at stays.
  if (!o.keep && report.overall == VerifyResult::ok) {
    unlink(run->out_path.c_str());
    unlink(run->err_path.c_str());
  } else if (!o.json) {
    fmt::print("output: {} and .err\n", run->out_path);
  }
  if (report.overall == VerifyResult::ok && !o.baseline.empty()) {
    if (auto recorded = record_baseline(o.baseline, run->out); !recorded) return fail(recorded.error());
    if (!o.json) fmt::print("baseline of {} nodes: {}\n", run->nodes.size(), o.baseline);
  }
  return report.overall == VerifyResult::failed ? kNodeFailed : 0;
}

}  // namespace

void add_verify_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("verify", "run the known-good program on nodes, and tell which are faulty");
  auto o = std::make_shared<VerifyOptions>();
  c->add_option("HOSTLIST", o->nodes, "the nodes, as n[1-3]; default: all idle ones of the partition");
  c->add_option("-p,--partition", o->partition, "the partition; default: Slurm's")->type_name("NAME");
  c->add_flag("--full", o->full, "the long test: up to a minute a node");
  c->add_option("-t,--time", o->time_limit, "time limit of the job, as sbatch's")
      ->type_name("TIME")
      ->capture_default_str();
  c->add_option("--record-baseline", o->baseline,
                "if all is well, write what these nodes measured to this file")
      ->type_name("FILE");
  c->add_option("--script", o->script, "another verification script (doc/formats/verify.md)")
      ->type_name("FILE");
  c->add_flag("--keep", o->keep, "keep the output files also when all is well");
  c->add_flag("--json", o->json, "print the report as JSON");
  auto* fleet =
      c->add_flag("--fleet", o->fleet,
                  "sickbayd verifies idle nodes, those first that were verified longest ago; HOSTLIST: only "
                  "these, whenever they are idle (for operators)");
  c->add_option("--budget", o->of_fleet.budget,
                "with --fleet: so many nodes at most; default: 'patrol.budget'")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->needs(fleet);
  c->add_flag("--wait", o->of_fleet.wait, "with --fleet: until the round is over, then tell what was found")
      ->needs(fleet);
  auto* dry_run = c->add_flag("--dry-run", o->of_fleet.dry_run,
                              "with --fleet: only say which nodes it would take, and why not "
                              "the others")
                      ->needs(fleet);
  auto* show = c->add_flag("--show", o->of_fleet.show, "with --fleet: the round that is open, or was last")
                   ->needs(fleet)
                   ->excludes(dry_run);
  c->add_flag("--stop", o->of_fleet.stop, "with --fleet: end the round that is open")
      ->needs(fleet)
      ->excludes(dry_run)
      ->excludes(show);
  c->footer(
      "The job runs as you, in the current folder, which the nodes must share.\n"
      "With --fleet they are jobs of the service, behind all others in the queue, ended where users' jobs "
      "come to\n"
      "wait for these nodes, and never on more nodes at one time than the breaker lets be out. A node that "
      "fails\n"
      "is drained as a verdict would drain it ('drain.act'); a slow one is told.\n"
      "Exit codes: 0 no node failed; 1 a node or link failed; slow and unknown ones are named, and are no "
      "failure.\n");
  c->callback([o, &ending] {
    o->of_fleet.nodes = o->nodes;
    o->of_fleet.json = o->json;
    ending = {o->fleet ? run_verify_fleet(o->of_fleet) : run_verify(*o), o->json};
  });
}

}  // namespace sickbay::cli
