// SPDX-License-Identifier: Apache-2.0
// sickbay plan: spares, checkpoint interval and repair times for a cluster, simulated from a list of
// failures.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <map>

#include "adapters/posix/files.h"
#include "adapters/posix/installed_file.h"
#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/plan/plan_result.h"
#include "base/duration.h"
#include "base/spelling.h"
#include "base/text.h"
#include "model/checkpoint_interval.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kMostOfList = std::size_t{1} << 30;
constexpr std::size_t kMostNodes = 1'000'000;

struct PlanOptions {
  std::string failures, journal, system, html;
  std::string spares, repair;  // what is asked; empty: not
  bool interval = false, validate = false, json = false, no_replacement = false;
  std::size_t nodes = 0, nodes_of_list = 0, have_spares = 0, job_nodes = 0, replications = 100;
  std::uint64_t seed = 1;
  std::string days = "365d", job_hours = "24h", cost = "60s", restart = "60s", every, requeue_wait = "0s",
              reboot, reboot_cures;
};

tl::unexpected<Error> refuse_plan(std::string what, std::string remedy) {
  return fail(Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy)));
}

// "99%", "99.5 %" or "0.99".
Result<double> parse_share(std::string_view option, std::string_view text) {
  std::string_view digits = trimmed(text);
  const bool percent = digits.ends_with('%');
  if (percent) digits = trimmed(digits.substr(0, digits.size() - 1));
  double value = -1;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (percent) value /= 100;
  if (wrong != std::errc() || end != digits.data() + digits.size() || !(value > 0 && value < 1))
    return refuse_plan(fmt::format("{}: {} is no share between 0 and 1", option, quote_for_message(text)),
                       "write it as 99% or 0.99");
  return value;
}

Result<double> parse_hours(std::string_view option, std::string_view text, bool zero) {
  const auto length = parse_duration(text);
  if (!length) return fail(Error(length.error()).in(fmt::format("reading {}", option)));
  const double hours = static_cast<double>(length->count()) / 3.6e9;
  if (hours <= 0 && !zero)
    return refuse_plan(fmt::format("{} must be longer than nothing", option), "write it as 30m");
  return hours;
}

Result<double> parse_factor(std::string_view text) {
  std::string_view digits = trimmed(text);
  if (digits.ends_with('x')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (wrong != std::errc() || end != digits.data() + digits.size() || !(value > 0 && value <= 1000))
    return refuse_plan(fmt::format("--repair: {} is no factor", quote_for_message(text)),
                       "write it as 2x: repairs that are twice as fast");
  return value;
}

Result<plan::FailureList> read_list(const PlanOptions& o) {
  if (o.failures.empty() == o.journal.empty())
    return refuse_plan(
        o.failures.empty() ? "sickbay plan needs a list of failures" : "two sources of failures",
        "give --failures FILE (CSV: node,start,end), or --journal FILE (of 'sickbay journal --json')");
  const std::string& path = o.failures.empty() ? o.journal : o.failures;
  auto text = read_file(path, kMostOfList);
  if (!text) return fail(about_path(std::move(text.error())));
  auto list = o.failures.empty() ? plan::failures_of_journal(*text) : plan::parse_failure_list(*text);
  if (!list) return fail(std::move(list.error()).in("reading " + path));
  for (const plan::BadRow& row : list->bad)
    warn(Error(ErrorCode::bad_input, fmt::format("line {} is left out: {}", row.line, row.what))
             .remedied_by(row.remedy));
  if (list->bad_rows > list->bad.size())
    warn(Error(ErrorCode::bad_input,
               fmt::format("{} more of {} rows are left out", list->bad_rows - list->bad.size(), list->rows))
             .remedied_by("mend the lines that are named above first"));
  return list;
}

Result<plan::System> chosen_system(plan::FailureList list, const std::string& name) {
  std::vector<std::string> names;
  for (plan::System& one : list.systems) {
    if (one.name == name || (name.empty() && list.systems.size() == 1)) return std::move(one);
    names.push_back(one.name);
  }
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
  if (name.empty())
    return refuse_plan(
        fmt::format("the list is of {} systems, {}", names.size(), quote_for_message(all, 200)),
        "say which with --system");
  const std::string meant = did_you_mean(name, names);
  return refuse_plan(
      "the list has no system " + quote_for_message(name),
      meant.empty() ? "there are: " + quote_for_message(all, 200) : "did you mean '" + meant + "'?");
}

Result<plan::Question> read_question(const PlanOptions& o, const plan::Model& model) {
  plan::Question q;
  q.replications = o.replications;
  q.seed = o.seed;
  plan::Setting& s = q.setting;
  s.nodes = o.nodes;
  s.spares = o.have_spares;
  s.job.nodes = o.job_nodes > 0 ? o.job_nodes : std::max<std::size_t>(o.nodes / 10, 1);
  s.job.replaced = !o.no_replacement;
  const struct {
    const char* option;
    const std::string& text;
    bool zero;
    double& into;
  } rows[] = {{"--days", o.days, false, s.hours},
              {"--job-hours", o.job_hours, false, s.job.hours},
              {"--checkpoint-cost", o.cost, true, s.job.cost_h},
              {"--restart", o.restart, true, s.job.restart_h},
              {"--requeue-wait", o.requeue_wait, true, s.job.requeue_h}};
  for (const auto& row : rows) {
    auto hours = parse_hours(row.option, row.text, row.zero);
    if (!hours) return fail(std::move(hours.error()));
    row.into = *hours;
  }
  if (s.spares + s.job.nodes > s.nodes)
    return refuse_plan(
        fmt::format("{} nodes do not hold {} spares and a job of {}", s.nodes, s.spares, s.job.nodes),
        "take fewer of --have-spares or --job-nodes");
  if (o.reboot.empty() != o.reboot_cures.empty())
    return refuse_plan("--reboot and --reboot-cures belong together",
                       "say how long a reboot takes, and which share of failures it cures");
  if (!o.reboot.empty()) {
    auto hours = parse_hours("--reboot", o.reboot, false);
    if (!hours) return fail(std::move(hours.error()));
    auto share = parse_share("--reboot-cures", o.reboot_cures);
    if (!share) return fail(std::move(share.error()));
    s.repairs.reboot_h = *hours;
    s.repairs.reboot_cures = *share;
  }
  const double mtbf = 1 / (model.failures_per_node_hour() * static_cast<double>(s.job.nodes));
  s.job.interval_h =
      // Where a checkpoint costs nothing no formula has an interval: then there is none but the end of the
      // job.
      s.job.cost_h > 0 ? std::min(daly_interval(s.job.cost_h, mtbf), s.job.hours) : s.job.hours;
  if (!o.every.empty()) {
    auto hours = parse_hours("--checkpoint-every", o.every, false);
    if (!hours) return fail(std::move(hours.error()));
    s.job.interval_h = *hours;
  }
  return q;
}

Result<int> run_validate(const PlanOptions& o, const plan::FailureList& list) {
  // A number that is given stands for the one system that there is; of several each has those that it names.
  const auto nodes = [&](const plan::System&) { return list.systems.size() == 1 ? o.nodes_of_list : 0; };
  const auto result = plan::validate(list, nodes, o.replications, o.seed);
  if (o.json)
    print_json(validation_json(result));
  else
    print(validation_text(result, page_of_stdout()));
  return 0;
}

Result<int> run_plan(const PlanOptions& o) {
  if (o.replications < 2 || o.replications > 1'000'000)
    return refuse_plan("--replications must be from 2 to 1000000", "100 are enough for two digits");
  auto list = read_list(o);
  if (!list) return fail(std::move(list.error()));
  if (o.validate) return run_validate(o, *list);
  if (o.nodes == 0 || o.nodes > kMostNodes)
    return refuse_plan("sickbay plan needs the number of nodes",
                       fmt::format("give --nodes N, up to {}", kMostNodes));
  auto system = chosen_system(std::move(*list), o.system);
  if (!system) return fail(std::move(system.error()));
  auto model = plan::fit_model(*system, o.nodes_of_list, system->from, system->until);
  if (!model) return fail(std::move(model.error()));
  auto question = read_question(o, *model);
  if (!question) return fail(std::move(question.error()));

  PlanResult result;
  result.source = o.failures.empty() ? o.journal : o.failures;
  result.system = system->name;
  result.from = format_time(system->from).substr(0, 10);
  result.until = format_time(system->until).substr(0, 10);
  result.model = std::move(*model);
  result.question = *question;
  const bool all = o.spares.empty() && o.repair.empty() && !o.interval;
  double wanted = 0.99, factor = 2;
  if (!o.spares.empty()) {
    auto share = parse_share("--spares", o.spares);
    if (!share) return fail(std::move(share.error()));
    wanted = *share;
  }
  if (!o.repair.empty()) {
    auto given = parse_factor(o.repair);
    if (!given) return fail(std::move(given.error()));
    factor = *given;
  }
  if (o.interval && question->setting.job.cost_h <= 0)
    return refuse_plan("--interval asks for a checkpoint that costs something", "give --checkpoint-cost 30s");
  result.overview = plan::overview(result.model, *question);
  if (all || !o.spares.empty()) result.spares = plan::how_many_spares(result.model, *question, wanted);
  if ((all && question->setting.job.cost_h > 0) || o.interval)
    result.interval = plan::which_interval(result.model, *question);
  if (all || !o.repair.empty()) result.repair = plan::worth_of_repair(result.model, *question, factor);

  if (!o.html.empty()) {
    const std::string css = installed_file("reports/page/page.css");
    if (css.empty())
      return fail(Error(ErrorCode::not_found, "the shipped file reports/page/page.css is not installed")
                      .remedied_by("install Sickbay again, or leave --html out"));
    auto looks = read_file(css, std::size_t{1} << 20);
    if (!looks) return fail(std::move(looks.error()));
    if (auto written = write_durably(o.html, plan_page(result, *looks), 0644); !written)
      return fail(about_path(std::move(written.error())));
  }
  if (o.json)
    print_json(plan_json(result));
  else
    print(plan_text(result, page_of_stdout()));
  return 0;
}

}  // namespace

void add_plan_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand(
      "plan", "what if: spares, checkpoint interval and repair times, simulated from past failures");
  auto o = std::make_shared<PlanOptions>();
  c->add_option("--nodes", o->nodes, "nodes of the cluster to plan, spares among them")->type_name("N");
  c->add_option("--failures", o->failures,
                "CSV with a header: node, start, and end or duration; cause, system")
      ->type_name("FILE");
  c->add_option("--journal", o->journal,
                "instead: the output of 'sickbay journal --json'; nodes that Slurm lost")
      ->type_name("FILE");
  c->add_option("--system", o->system, "which one, where the list has a column 'system'")->type_name("NAME");
  c->add_option("--nodes-of-list", o->nodes_of_list, "nodes that the list is about; else those that it names")
      ->type_name("N");
  c->add_option("--spares", o->spares,
                "how many spares, that this share of jobs never waits for a node (99%)")
      ->type_name("P%");
  c->add_flag("--interval", o->interval, "which interval between checkpoints");
  c->add_option("--repair", o->repair, "what repairs are worth that are so many times as fast (2x)")
      ->type_name("F");
  c->add_option("--have-spares", o->have_spares, "spares that there are now (0)")->type_name("N");
  c->add_option("--job-nodes", o->job_nodes, "nodes of a job; a tenth of the cluster where it is left out")
      ->type_name("W");
  c->add_option("--job-hours", o->job_hours, "work of a job (24h)")->type_name("TIME");
  c->add_option("--checkpoint-cost", o->cost, "time that a checkpoint takes (60s)")->type_name("TIME");
  c->add_option("--checkpoint-every", o->every,
                "work between two now; by Daly's formula where it is left out")
      ->type_name("TIME");
  c->add_option("--restart", o->restart, "from a node's replacement to work again (60s)")->type_name("TIME");
  c->add_flag("--no-replacement", o->no_replacement, "a job that loses a node is queued again");
  c->add_option("--requeue-wait", o->requeue_wait, "then it waits so long (0s)")->type_name("TIME");
  c->add_option("--reboot", o->reboot, "a reboot takes so long, and cures the share --reboot-cures")
      ->type_name("TIME");
  c->add_option("--reboot-cures", o->reboot_cures, "this share of failures; the others are as in the list")
      ->type_name("P%");
  c->add_option("--days", o->days, "time that is simulated (365d)")->type_name("TIME");
  c->add_option("--replications", o->replications, "how often (100)")->type_name("N");
  c->add_option("--seed", o->seed, "of the random numbers; the same seed, the same answer (1)")
      ->type_name("N");
  c->add_flag("--validate", o->validate,
              "fit the first part of each system's list, predict the rest, say how often the interval held");
  c->add_option("--html", o->html, "write the answers as one page, too")->type_name("FILE");
  c->add_flag("--json", o->json, "print the answers as JSON");
  c->footer(
      "All three questions are answered where none of --spares, --interval and --repair is asked.\n"
      "Intervals hold 90 % of the replications: what one such year may come to.\n"
      "Times: 90s, 30m, 2h, 365d. No sickbayd is needed.\n");
  c->callback([o, &ending] { ending = {run_plan(*o), o->json}; });
}

}  // namespace sickbay::cli
