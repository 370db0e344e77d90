// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/plan/plan_result.h"
#include "base/duration.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

using plan::Figure;

using Written = std::string (*)(double);

Json figure_json(const Figure& figure) {
  return Json::object(
      {{"mean", figure.mean}, {"low", figure.low}, {"high", figure.high}, {"error", figure.error}});
}

Json level_json(const plan::LocalLevel& level) {
  return Json::object({{"factor", std::exp(level.level)},
                       {"drift", level.drift},
                       {"scatter", level.scatter},
                       {"period_h", level.period_h}});
}

Json choices_json(const std::vector<plan::Choice>& tried) {
  Json all = Json::array();
  for (const plan::Choice& one : tried)
    all.push(Json::object({{"law", one.name}, {"aic", one.aic}, {"chosen", one.chosen}}));
  return all;
}

Json model_json(const plan::Model& m) {
  Json why = Json::array();
  for (const std::string& line : plan::describe(m)) why.push(line);
  return Json::object(
      {{"nodes", m.nodes},
       {"hours", m.span_h},
       {"failures", m.failures},
       {"node_hours_down", m.down_h},
       {"most_down", m.most_down},
       {"up", Json::object({{"mean_h", m.up.mean_h},
                            {"shape", m.up.shape},
                            {"gamma_shape", m.up.spread > 0 ? Json(m.up.spread) : Json()},
                            {"tried", choices_json(m.up.tried)}})},
       {"repair", Json::object({{"mean_h", m.repair.mean_h},
                                {"as_in_list", m.repair.law == plan::RepairLaw::empirical},
                                {"tried", choices_json(m.repair.tried)},
                                {"level", level_json(m.repair.level)}})},
       {"bursts", Json::object({{"count", m.bursts.repairs_h.size()}, {"failures", m.failures - m.alone}})},
       {"rate", level_json(m.rate)},
       {"why", std::move(why)}});
}

}  // namespace

std::string hours_text(double hours) {
  if (!std::isfinite(hours)) return "-";
  const double seconds = hours * 3600;
  const std::string text =
      describe_duration(Micros(static_cast<std::int64_t>(std::abs(seconds) * 1e6 + 0.5)));
  return seconds < 0 ? "-" + text : text;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  std::string text = fmt::format("{:.{}f}", value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  if (text.find('.') != text.npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  if (text == "-0") text = "0";
  const std::size_t sign = text.front() == '-' ? 1 : 0;
  for (std::size_t at = std::min(text.find('.'), text.size()); at > sign + 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string share_text(double share) {
  // Near 100 % the digits that count are those of what is missing.
  const double missing = 100 * std::min(share, 1 - share);
  return fmt::format("{:.{}f} %", 100 * share, missing > 1 ? 1 : missing > 0.1 ? 2 : 3);
}

std::string between(const Figure& figure, std::string (*written)(double)) {
  return fmt::format("{} to {}", written(figure.low), written(figure.high));
}

std::string plan_text(const PlanResult& r, const TextPage& page) {
  const plan::Setting& s = r.question.setting;
  std::string text = fmt::format(
      "{}{}: {} failures of {} nodes in {} days ({} to {}), {} node-hours lost, at most {} down at once\n",
      safe(r.source), r.system.empty() ? "" : ", " + safe(r.system),
      number_text(static_cast<double>(r.model.failures)), number_text(static_cast<double>(r.model.nodes)),
      number_text(r.model.span_h / 24), r.from, r.until, number_text(r.model.down_h), r.model.most_down);
  text += heading("What the list says", page);
  for (const std::string& line : plan::describe(r.model)) text += paragraph("- ", line, page);

  text += heading(
      fmt::format("{} nodes, {} spares, for {} days", s.nodes, s.spares, number_text(s.hours / 24)), page);
  TextTable table({{"FIGURE"}, {"MEAN", TextTable::Column::Align::right}, {"90 % OF REPLICATIONS"}});
  const auto row = [&](std::string name, const Figure& figure, Written written) {
    table.add({std::move(name), written(figure.mean), between(figure, written)});
  };
  row("availability of nodes", r.overview.availability, share_text);
  row("failures", r.overview.failures, number_text);
  row("node-hours out of service", r.overview.down_h, number_text);
  row("most nodes down at once", r.overview.most_down, number_text);
  row("failures that find a spare", r.overview.finds_spare, share_text);
  row("jobs that never wait for a spare", r.overview.never_waits, share_text);
  row("useful part of jobs' time", r.overview.efficiency, share_text);
  row("work lost to failures", r.overview.lost_share, share_text);
  row("writing checkpoints", r.overview.checkpoint_share, share_text);
  row("restarting", r.overview.restart_share, share_text);
  row("waiting for a node", r.overview.waiting_share, share_text);
  row("time to finish a job", r.overview.time_to_finish_h, hours_text);
  text += table.text({page.width, page.colours, 0, true});
  text += paragraph(
      "",
      fmt::format("Jobs of {} nodes with {} of work, a checkpoint each {} that costs {}, restart {}{}.",
                  s.job.nodes, hours_text(s.job.hours), hours_text(s.job.interval_h),
                  hours_text(s.job.cost_h), hours_text(s.job.restart_h),
                  s.job.replaced ? "" : ", queued again for " + hours_text(s.job.requeue_h)),
      page);

  if (r.spares) {
    const auto& a = *r.spares;
    text += heading(fmt::format("How many spares for {}?", share_text(a.wanted)), page);
    text += paragraph("",
                      fmt::format("{} spares ({} to {} in 90 % of replications): {} of the jobs never wait "
                                  "for a node, and {} of the failures find a spare.",
                                  a.spares, a.low, a.high, share_text(a.reached), share_text(a.finds_spare)),
                      page);
  }
  if (r.interval) {
    const auto& a = *r.interval;
    text += heading("Which interval between checkpoints?", page);
    text += paragraph(
        "",
        fmt::format("{} of work ({} to {} are not told apart): {} of the time is useful.  Daly's formula "
                    "says {} ({} useful), Young's {}; a failure hits the job each {}.",
                    hours_text(a.best_h), hours_text(a.low_h), hours_text(a.high_h), share_text(a.by_best),
                    hours_text(a.daly_h), share_text(a.by_daly), hours_text(a.young_h), hours_text(a.mtbf_h)),
        page);
  }
  if (r.repair) {
    const auto& a = *r.repair;
    text += heading(fmt::format("What are repairs worth that are {} times as fast?", number_text(a.factor)),
                    page);
    text +=
        paragraph("",
                  fmt::format("{} node-hours a year ({} in 90 % of replications): {} of nodes out of "
                              "service, {} of nodes whose job waits.  The mean outage falls from {} to {}.",
                              number_text(a.gained_h.mean), between(a.gained_h, number_text),
                              number_text(a.down_h.mean), number_text(a.waiting_h.mean),
                              hours_text(a.mean_before_h), hours_text(a.mean_after_h)),
                  page);
  }
  text += heading("How it was reached", page);
  text +=
      paragraph("",
                fmt::format("{} replications of {} days, seed {}; each draws the rates that the list "
                            "leaves open, so 90 % of the replications are the interval for one such time.  "
                            "The error of the mean is {} of availability.",
                            r.question.replications, number_text(s.hours / 24), r.question.seed,
                            share_text(r.overview.availability.error)),
                page);
  return text;
}

Json plan_json(const PlanResult& r) {
  const plan::Setting& s = r.question.setting;
  const plan::Overview& o = r.overview;
  Json json =
      Json::object({{"source", r.source},
                    {"system", r.system},
                    {"from", r.from},
                    {"until", r.until},
                    {"seed", static_cast<std::int64_t>(r.question.seed)},
                    {"replications", r.question.replications},
                    {"model", model_json(r.model)},
                    {"setting", Json::object({{"nodes", s.nodes},
                                              {"spares", s.spares},
                                              {"hours", s.hours},
                                              {"job_nodes", s.job.nodes},
                                              {"job_hours", s.job.hours},
                                              {"interval_h", s.job.interval_h},
                                              {"checkpoint_cost_h", s.job.cost_h},
                                              {"restart_h", s.job.restart_h},
                                              {"replaced", s.job.replaced},
                                              {"requeue_h", s.job.requeue_h},
                                              {"reboot_cures", s.repairs.reboot_cures},
                                              {"reboot_h", s.repairs.reboot_h}})},
                    {"cluster", Json::object({{"availability", figure_json(o.availability)},
                                              {"failures", figure_json(o.failures)},
                                              {"node_hours_down", figure_json(o.down_h)},
                                              {"most_down", figure_json(o.most_down)},
                                              {"finds_spare", figure_json(o.finds_spare)},
                                              {"never_waits", figure_json(o.never_waits)},
                                              {"efficiency", figure_json(o.efficiency)},
                                              {"lost", figure_json(o.lost_share)},
                                              {"checkpoints", figure_json(o.checkpoint_share)},
                                              {"restarts", figure_json(o.restart_share)},
                                              {"waiting", figure_json(o.waiting_share)},
                                              {"time_to_finish_h", figure_json(o.time_to_finish_h)}})}});
  if (r.spares) {
    Json curve = Json::array();
    for (const auto& p : r.spares->curve)
      curve.push(Json::object({{"spares", p.spares}, {"never_waits", figure_json(p.never_waits)}}));
    json.set("spares", Json::object({{"wanted", r.spares->wanted},
                                     {"spares", r.spares->spares},
                                     {"low", r.spares->low},
                                     {"high", r.spares->high},
                                     {"never_waits", r.spares->reached},
                                     {"finds_spare", r.spares->finds_spare},
                                     {"curve", std::move(curve)}}));
  }
  if (r.interval) {
    Json curve = Json::array();
    for (const auto& p : r.interval->curve)
      curve.push(Json::object(
          {{"interval_h", p.interval_h}, {"efficiency", figure_json(p.efficiency)}, {"as_good", p.as_good}}));
    json.set("interval", Json::object({{"best_h", r.interval->best_h},
                                       {"low_h", r.interval->low_h},
                                       {"high_h", r.interval->high_h},
                                       {"daly_h", r.interval->daly_h},
                                       {"young_h", r.interval->young_h},
                                       {"mtbf_h", r.interval->mtbf_h},
                                       {"efficiency", r.interval->by_best},
                                       {"efficiency_of_daly", r.interval->by_daly},
                                       {"curve", std::move(curve)}}));
  }
  if (r.repair)
    json.set("repair", Json::object({{"factor", r.repair->factor},
                                     {"node_hours_a_year", figure_json(r.repair->gained_h)},
                                     {"down", figure_json(r.repair->down_h)},
                                     {"waiting", figure_json(r.repair->waiting_h)},
                                     {"mean_before_h", r.repair->mean_before_h},
                                     {"mean_after_h", r.repair->mean_after_h}}));
  return json;
}

std::string validation_text(const plan::Validation& result, const TextPage& page) {
  constexpr auto kRight = TextTable::Column::Align::right;
  TextTable table({{"SYSTEM"},
                   {"NODES", kRight},
                   {"FITTED"},
                   {"PREDICTED"},
                   {"5 %", kRight},
                   {"50 %", kRight},
                   {"95 %", kRight},
                   {"CAME", kRight},
                   {"HELD"}});
  for (const plan::Cut& cut : result.cuts)
    for (const plan::Check& check : cut.checks)
      table.add({safe(cut.system),
                 std::to_string(cut.nodes),
                 fmt::format("{} in {:.0f} d", cut.fitted_failures, cut.fitted_h / 24),
                 fmt::format("{}, {:.0f} d", check.what, cut.predicted_h / 24),
                 number_text(check.low),
                 number_text(check.median),
                 number_text(check.high),
                 number_text(check.seen),
                 {check.held() ? "yes" : "no", check.held() ? kGood : kBad}});
  std::string text = table.text({page.width, page.colours, 0, true});
  if (std::any_of(result.cuts.begin(), result.cuts.end(), [](const auto& cut) { return !cut.why.empty(); }))
    text += heading("Where it did not hold", page);
  for (const plan::Cut& cut : result.cuts) {
    std::string why;
    for (const std::string& one : cut.why) why += (why.empty() ? "" : "; ") + one;
    if (!why.empty())
      text += paragraph("- ", fmt::format("{} from {:.0f} %: {}", cut.system, 100 * cut.share, why), page);
  }
  if (!result.left_out.empty()) text += heading("Left out", page);
  for (const std::string& one : result.left_out) text += paragraph("- ", one, page);
  text += heading("How often the interval of 90 % held", page);
  const auto line = [&](std::string_view name, std::string_view what) {
    const auto [all, good] = result.held(what);
    if (all == 0) return;
    text += fmt::format("{}: {} of {} ({:.0f} %)", name, good, all,
                        100.0 * static_cast<double>(good) / static_cast<double>(all));
    if (!what.empty())
      text += fmt::format("; the upper end is {} times the lower in the middle case",
                          number_text(result.width(what)));
    text += "\n";
  };
  for (const char* what : plan::kPredicted) line(what, what);
  line("all", "");
  return text;
}

Json validation_json(const plan::Validation& result) {
  Json cuts = Json::array();
  for (const plan::Cut& cut : result.cuts) {
    Json checks = Json::array();
    for (const plan::Check& check : cut.checks)
      checks.push(Json::object({{"what", check.what},
                                {"low", check.low},
                                {"median", check.median},
                                {"high", check.high},
                                {"seen", check.seen},
                                {"held", check.held()}}));
    cuts.push(Json::object({{"system", cut.system},
                            {"nodes", cut.nodes},
                            {"share", cut.share},
                            {"fitted_failures", cut.fitted_failures},
                            {"fitted_h", cut.fitted_h},
                            {"predicted_h", cut.predicted_h},
                            {"checks", std::move(checks)},
                            {"why", Json(cut.why)}}));
  }
  const auto [all, good] = result.held("");
  return Json::object(
      {{"cuts", std::move(cuts)}, {"left_out", Json(result.left_out)}, {"checks", all}, {"held", good}});
}

}  // namespace sickbay::cli
