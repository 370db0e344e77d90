// SPDX-License-Identifier: Apache-2.0
#include "plan/answers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/checkpoint_interval.h"

namespace sickbay::plan {
namespace {

// Hours: 365.25 days.
constexpr double kYear = 8766;

std::vector<Outcome> all_of(const Model& model, const Question& question) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(question.replications);
  for (std::size_t i = 0; i < question.replications; ++i)
    // By number and seed: a question asked with another setting meets the same failures, replication by
    // replication.
    outcomes.push_back(simulate(model, question.setting, question.seed, i));
  return outcomes;
}

Figure figure_of(const std::vector<Outcome>& outcomes, const std::function<double(const Outcome&)>& of) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const Outcome& one : outcomes) values.push_back(of(one));
  return plan::figure_of(std::move(values));
}

// What a value of Student's law exceeds in one case of twenty (Cornish and Fisher's expansion).
double t90(double freedom) {
  constexpr double z = 1.6449, z3 = z * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto at = static_cast<std::size_t>(place);
  if (at + 1 >= values.size()) return values.back();
  return values[at] + (place - static_cast<double>(at)) * (values[at + 1] - values[at]);
}

Figure figure_of(std::vector<double> values) {
  Figure figure;
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double x : values) figure.mean += x / n;
  for (const double x : values) squares += (x - figure.mean) * (x - figure.mean);
  if (n > 1) figure.error = t90(n - 1) * std::sqrt(squares / (n - 1) / n);
  figure.low = quantile(values, 0.05);
  figure.high = quantile(std::move(values), 0.95);
  return figure;
}

Overview overview(const Model& model, const Question& question) {
  const auto outcomes = all_of(model, question);
  const auto of = [&](const std::function<double(const Outcome&)>& f) { return figure_of(outcomes, f); };
  const auto share = [&](double Outcome::*part) {
    return of([part](const Outcome& o) { return o.job_time_h > 0 ? o.*part / o.job_time_h : 0; });
  };
  const std::size_t spares = question.setting.spares;
  const double hours = question.setting.job.hours;
  Overview all;
  all.failures = of([](const Outcome& o) { return static_cast<double>(o.failures); });
  all.down_h = of([](const Outcome& o) { return o.down_h; });
  all.most_down = of([](const Outcome& o) { return static_cast<double>(o.most_down); });
  all.availability = of([](const Outcome& o) { return o.availability(); });
  all.finds_spare = of([&](const Outcome& o) { return o.finds_spare(spares); });
  all.never_waits = of([&](const Outcome& o) { return o.never_waits(spares); });
  all.efficiency = of([](const Outcome& o) { return o.efficiency(); });
  all.lost_share = share(&Outcome::lost_h);
  all.checkpoint_share = share(&Outcome::checkpoint_h);
  all.restart_share = share(&Outcome::restart_h);
  all.waiting_share = share(&Outcome::waiting_h);
  // By time per work and not by the jobs that ended: long ones are those that the end of the year cuts off.
  // A job that makes no headway at all has no such time; it is told as that of the whole simulation.
  all.time_to_finish_h = of([&](const Outcome& o) {
    return o.useful_h > 0 ? std::min(hours * o.job_time_h / o.useful_h, o.job_time_h) : o.job_time_h;
  });
  return all;
}

SparesAnswer how_many_spares(const Model& model, const Question& question, double wanted) {
  Question asked = question;
  asked.setting.never_wait = true;
  SparesAnswer answer;
  answer.wanted = wanted;
  // At least one job must have its nodes.
  const std::size_t most = asked.setting.nodes - std::min(asked.setting.job.nodes, asked.setting.nodes);
  // How many nodes are down does not depend on the spares; whom a failure hits does a little, for an idle
  // spare has no job.  So it is asked without any and then with those that this takes.
  for (int round = 0; round < 2; ++round) {
    asked.setting.spares = std::min(answer.spares, most);
    const auto outcomes = all_of(model, asked);
    std::size_t beyond = 1;
    for (const Outcome& one : outcomes) beyond = std::max(beyond, one.jobs_by_down.size());
    // The jobs of all replications by the most nodes that were down, then what each replication would need.
    std::vector<double> jobs(beyond, 0.0), needed;
    double all = 0;
    for (const Outcome& one : outcomes) {
      for (std::size_t d = 0; d < one.jobs_by_down.size(); ++d) jobs[d] += one.jobs_by_down[d];
      all += static_cast<double>(one.jobs);
      std::size_t need = 0;
      while (need + 1 < beyond && one.never_waits(need) < wanted) ++need;
      needed.push_back(static_cast<double>(need));
    }
    double up_to = jobs[0];
    answer.spares = 0;
    while (answer.spares + 1 < beyond && all > 0 && up_to < wanted * all) up_to += jobs[++answer.spares];
    answer.reached = all > 0 ? up_to / all : 1;
    answer.low = static_cast<std::size_t>(std::floor(quantile(needed, 0.05)));
    answer.high = static_cast<std::size_t>(std::ceil(quantile(needed, 0.95)));
    answer.finds_spare =
        figure_of(outcomes, [&](const Outcome& o) { return o.finds_spare(answer.spares); }).mean;
    answer.curve.clear();
    // A quarter beyond the answer, in some 40 points: enough for a figure.
    const std::size_t end = std::min(std::max(answer.high, answer.spares) * 5 / 4 + 2, beyond);
    const std::size_t step = std::max<std::size_t>(end / 40, 1);
    for (std::size_t s = 0; s <= end; s += step)
      answer.curve.push_back({s, figure_of(outcomes, [&](const Outcome& o) { return o.never_waits(s); })});
  }
  return answer;
}

IntervalAnswer which_interval(const Model& model, const Question& question) {
  Question asked = question;
  Job& job = asked.setting.job;
  IntervalAnswer answer;
  answer.mtbf_h = 1 / (model.failures_per_node_hour() * static_cast<double>(job.nodes));
  answer.young_h = young_interval(job.cost_h, answer.mtbf_h);
  answer.daly_h = daly_interval(job.cost_h, answer.mtbf_h);
  // A quarter to four times what the formula says, by steps of a fourth root of two; no longer than the job.
  std::vector<std::vector<double>> efficiency;
  for (int step = -8; step <= 8; ++step) {
    const double interval = answer.daly_h * std::pow(2, step / 4.0);
    // (Daly's own value is asked for in any case, as what the others are compared with.)
    if (interval > job.hours && step > 0) break;
    job.interval_h = std::min(interval, job.hours);
    std::vector<double> values;
    for (std::size_t i = 0; i < asked.replications; ++i)
      values.push_back(simulate(model, asked.setting, asked.seed, i).efficiency());
    answer.curve.push_back({job.interval_h, figure_of(values), false});
    efficiency.push_back(std::move(values));
    if (step == 0) answer.by_daly = answer.curve.back().efficiency.mean;
  }
  const auto best = static_cast<std::size_t>(
      std::max_element(answer.curve.begin(), answer.curve.end(),
                       [](const auto& a, const auto& b) { return a.efficiency.mean < b.efficiency.mean; }) -
      answer.curve.begin());
  answer.best_h = answer.low_h = answer.high_h = answer.curve[best].interval_h;
  answer.by_best = answer.curve[best].efficiency.mean;
  for (std::size_t i = 0; i < answer.curve.size(); ++i) {
    std::vector<double> behind;
    for (std::size_t r = 0; r < asked.replications; ++r)
      // Difference by difference under the same failures: that tells apart what the scatter of years would
      // hide.
      behind.push_back(efficiency[best][r] - efficiency[i][r]);
    const Figure difference = figure_of(std::move(behind));
    answer.curve[i].as_good = difference.mean <= difference.error;
    if (!answer.curve[i].as_good) continue;
    answer.low_h = std::min(answer.low_h, answer.curve[i].interval_h);
    answer.high_h = std::max(answer.high_h, answer.curve[i].interval_h);
  }
  return answer;
}

RepairAnswer worth_of_repair(const Model& model, const Question& question, double factor) {
  Question faster = question;
  faster.setting.repairs.factor /= factor;
  faster.setting.repairs.reboot_h /= factor;
  // The same time before the begin, that nodes and jobs meet the same failures.
  if (question.setting.warm_h < 0)
    faster.setting.warm_h =
        std::clamp(6 * model.repair.mean_h * question.setting.repairs.factor, 24.0, 1500.0);
  Question before = question;
  before.setting.warm_h = faster.setting.warm_h;
  const double years = question.setting.hours / kYear,
               others = static_cast<double>(question.setting.job.nodes) - 1;
  std::vector<double> gained, down, waiting;
  RepairAnswer answer;
  answer.factor = factor;
  double failures_before = 0, failures_after = 0, down_before = 0, down_after = 0;
  for (std::size_t i = 0; i < question.replications; ++i) {
    const Outcome a = simulate(model, before.setting, question.seed, i);
    const Outcome b = simulate(model, faster.setting, question.seed, i);
    down.push_back((a.down_h - b.down_h) / years);
    // The node that a job waits for is down, and counted there.
    waiting.push_back((a.waiting_h - b.waiting_h) * others / years);
    gained.push_back(down.back() + waiting.back());
    failures_before += static_cast<double>(a.failures);
    failures_after += static_cast<double>(b.failures);
    down_before += a.down_h;
    down_after += b.down_h;
  }
  answer.gained_h = figure_of(std::move(gained));
  answer.down_h = figure_of(std::move(down));
  answer.waiting_h = figure_of(std::move(waiting));
  answer.mean_before_h = failures_before > 0 ? down_before / failures_before : 0;
  answer.mean_after_h = failures_after > 0 ? down_after / failures_after : 0;
  return answer;
}

}  // namespace sickbay::plan
