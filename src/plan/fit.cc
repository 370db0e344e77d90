// SPDX-License-Identifier: Apache-2.0
#include "plan/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/minimise.h"
#include "plan/seen.h"

namespace sickbay::plan {
namespace {

// Stamps of lists are whole minutes: what is shorter was somewhere within one.
constexpr double kLeastH = 0.5 / 60;
// fit_level() needs four periods at least, each with some failures: of fewer than 16 the level is constant.
constexpr std::size_t kLeastForLevel = 16, kEventsOfPeriod = 6, kMostPeriods = 36;

// --- time between failures

// What one node was seen to do: stretches in service, each ended by a failure of its own or cut off.
struct Stretch {
  double hours = 0;
  bool failed = false;
};
using Life = std::vector<Stretch>;

std::vector<Life> lives_of(const Seen& seen, std::size_t nodes) {
  std::vector<Life> lives(nodes);
  std::vector<double> up_since(nodes, 0.0);
  for (const SeenFailure& f : seen.failures) {
    // A failure of a burst ends a stretch without being one of the node's own: for its own law it is a
    // cut-off.
    lives[f.node].push_back({std::max(f.start - up_since[f.node], kLeastH), !f.in_burst});
    // (Of an unknown length it is taken as mended at once.)
    up_since[f.node] = std::max(up_since[f.node], f.start + f.length);
  }
  // Nodes that the list never names have lived through all of it: left out, the rate would be too high.
  for (std::size_t i = 0; i < nodes; ++i)
    if (up_since[i] < seen.span) lives[i].push_back({seen.span - up_since[i], false});
  return lives;
}

// Minus ln of the likelihood.  Rates that are gamma-distributed with mean 1 and this shape are integrated
// out: for a node of d failures and cumulated hazard H that is gamma(a + d) / gamma(a) a^a / (a + H)^(a + d).
double minus_ln(const std::vector<Life>& lives, double scale, double shape, double spread) {
  double sum = 0;
  for (const Life& life : lives) {
    double hazard = 0, failed = 0;
    for (const Stretch& one : life) {
      const double t = one.hours / scale;
      hazard += shape == 1 ? t : std::pow(t, shape);
      if (!one.failed) continue;
      ++failed;
      sum += std::log(shape / scale) + (shape - 1) * std::log(t);
    }
    sum += spread == 0 ? -hazard
                       : std::lgamma(spread + failed) - std::lgamma(spread) + spread * std::log(spread) -
                             (spread + failed) * std::log(spread + hazard);
  }
  return -sum;
}

UpTimes fit_up(const std::vector<Life>& lives) {
  double hours = 0, failed = 0;
  for (const Life& life : lives)
    for (const Stretch& one : life) {
      hours += one.hours;
      failed += one.failed;
    }
  UpTimes up;
  // (A list of nothing but bursts has no failure of a node's own; half a one keeps the mean finite.)
  up.mean_h = hours / std::max(failed, 0.5);
  struct Kind {
    const char* name;
    bool weibull, gamma;
  };
  constexpr Kind kKinds[] = {{"exponential, nodes alike", false, false},
                             {"Weibull, nodes alike", true, false},
                             {"exponential, nodes differ", false, true},
                             {"Weibull, nodes differ", true, true}};
  double best = std::numeric_limits<double>::infinity();
  std::size_t chosen = 0;
  for (const Kind& kind : kKinds) {
    std::vector<double> begin = {std::log(up.mean_h)};
    // All parameters are searched as logarithms, for they are positive.
    if (kind.weibull) begin.push_back(std::log(0.8));
    if (kind.gamma) begin.push_back(0.0);
    const auto shape = [&](const std::vector<double>& x) { return kind.weibull ? std::exp(x[1]) : 1.0; };
    const auto spread = [&](const std::vector<double>& x) { return kind.gamma ? std::exp(x.back()) : 0.0; };
    Minimum least{begin, 0};
    if (begin.size() == 1)  // known in closed form: the mean
      least.value = minus_ln(lives, up.mean_h, 1, 0);
    else
      least = minimise(
          [&](const std::vector<double>& x) {
            // Outside of these no node of flesh and solder is, and the likelihood is flat.
            if (shape(x) < 0.1 || shape(x) > 10 || (kind.gamma && (spread(x) < 0.02 || spread(x) > 1e4)))
              return std::numeric_limits<double>::infinity();
            return minus_ln(lives, std::exp(x[0]), shape(x), spread(x));
          },
          begin, 0.4, 250);
    const double aic = 2 * static_cast<double>(begin.size()) + 2 * least.value;
    up.tried.push_back({kind.name, aic, false});
    // By two at least: less is what a parameter that means nothing often gains.
    if (aic >= best - kLeastGain) continue;
    best = aic;
    chosen = up.tried.size() - 1;
    up.shape = shape(least.at);
    up.spread = spread(least.at);
  }
  up.tried[chosen].chosen = true;
  return up;
}

// --- repair times

// ln of the probability that a standard normal is over `z`.
double ln_over(double z) { return std::log(std::max(0.5 * std::erfc(z / std::sqrt(2.0)), 1e-300)); }

struct Repair {
  double hours = 0;
  bool ended = true;  ///< else it took longer
  double at = 0;      ///< start
};

// The largest distance between what was seen and a law.
template <class Law>
double distance(std::vector<double> hours, Law below) {
  std::sort(hours.begin(), hours.end());
  double most = 0;
  const auto n = static_cast<double>(hours.size());
  for (std::size_t i = 0; i < hours.size(); ++i) {
    // Equal values are one step.
    std::size_t last = i;
    while (last + 1 < hours.size() && hours[last + 1] == hours[i]) ++last;
    const double p = below(hours[i]);
    most = std::max(
        {most, std::abs(static_cast<double>(last + 1) / n - p), std::abs(p - static_cast<double>(i) / n)});
    i = last;
  }
  return most;
}

// ln(hours) by periods.
std::vector<Measured> measured_repairs(const std::vector<Repair>& repairs, double period, std::size_t count,
                                       double mean, double variance) {
  std::vector<double> sum(count, 0.0), n(count, 0.0);
  for (const Repair& one : repairs) {
    const auto j = std::min(static_cast<std::size_t>(one.at / period), count - 1);
    sum[j] += std::log(one.hours) - mean;
    n[j] += 1;
  }
  std::vector<Measured> periods;
  for (std::size_t j = 0; j < count; ++j)
    periods.push_back(n[j] < 2 ? Measured{0, 0, false} : Measured{sum[j] / n[j], variance / n[j], true});
  return periods;
}

RepairTimes fit_repair(std::vector<Repair> repairs, double span, std::size_t periods) {
  RepairTimes fit;
  double total = 0, ended = 0, sum = 0, squares = 0;
  for (Repair& one : repairs) {
    one.hours = std::max(one.hours, kLeastH);
    total += one.hours;
    ended += one.ended;
    sum += std::log(one.hours);
    squares += std::log(one.hours) * std::log(one.hours);
  }
  const auto n = static_cast<double>(repairs.size());
  // Not 0: a list of equal lengths would have an infinite likelihood.
  const double mean = sum / n, variance = std::max(squares / n - mean * mean, 1e-4);
  const double period = span / static_cast<double>(periods);
  if (periods > 1) {
    const auto measured = measured_repairs(repairs, period, periods, mean, variance);
    fit.level = fit_level(measured, period);
    // What belongs to a period is taken from its repairs, as far as it is more than chance.
    const double more = fit.level.drift * fit.level.drift + fit.level.scatter * fit.level.scatter;
    if (more > 0)
      for (Repair& one : repairs) {
        const Measured& m = measured[std::min(static_cast<std::size_t>(one.at / period), periods - 1)];
        if (m.known) one.hours *= std::exp(-m.value * more / (more + m.variance));
      }
  }
  if (fit.level.constant()) {
    fit.level.level = 0;
    fit.level.variance = variance / n;
    fit.level.period_h = period;
  }

  // The most likely mean of an exponential law: all the time that was seen, by the repairs that ended in it.
  const double scale = total / std::max(ended, 0.5);
  double minus_exponential = 0;
  for (const Repair& one : repairs)
    minus_exponential += one.hours / scale + (one.ended ? std::log(scale) : 0);
  const Minimum lognormal = minimise(
      [&](const std::vector<double>& x) {
        const double sigma = std::exp(x[1]);
        double minus = 0;
        for (const Repair& one : repairs) {
          const double z = (std::log(one.hours) - x[0]) / sigma;
          // The constant is the square root of 2 pi. A repair that was cut off counts as longer than was
          // seen.
          minus += one.ended ? 0.5 * z * z + std::log(sigma * one.hours * 2.5066282746310002) : -ln_over(z);
        }
        return minus;
      },
      {mean, 0.5 * std::log(variance)}, 0.3);
  // AIC: two for each parameter, and twice -ln of the likelihood.
  fit.tried = {{"exponential", 2 + 2 * minus_exponential, false},
               {"lognormal", 4 + 2 * lognormal.value, false}};
  fit.mu = lognormal.at[0];
  fit.sigma = std::exp(lognormal.at[1]);
  fit.law = fit.tried[1].aic < fit.tried[0].aic ? RepairLaw::lognormal : RepairLaw::exponential;
  fit.mean_h = fit.law == RepairLaw::exponential ? scale : std::exp(fit.mu + fit.sigma * fit.sigma / 2);

  // Neither may fit: then the list's own repair times say more than a curve through them.
  std::vector<double> hours;
  for (const Repair& one : repairs)
    if (one.ended) hours.push_back(one.hours);
  const double off = distance(hours, [&](double h) {
    return fit.law == RepairLaw::exponential ? 1 - std::exp(-h / scale)
                                             : 1 - std::exp(ln_over((std::log(h) - fit.mu) / fit.sigma));
  });
  // Kolmogorov and Smirnov's bound at 5 % (1.36 / sqrt(n)); of fewer than 30 a curve tells more than the
  // list does.
  if (hours.size() >= 30 && off > 1.36 / std::sqrt(static_cast<double>(hours.size()))) {
    fit.law = RepairLaw::empirical;
    fit.mean_h = 0;
    for (const double h : hours) fit.mean_h += h / static_cast<double>(hours.size());
    std::sort(hours.begin(), hours.end());
    fit.sample_h = std::move(hours);
  } else {
    fit.tried[fit.law == RepairLaw::lognormal].chosen = true;
  }
  return fit;
}

// --- what changed

std::size_t periods_for(std::size_t events) {
  return events < kLeastForLevel ? 1 : std::clamp<std::size_t>(events / kEventsOfPeriod, 4, kMostPeriods);
}

LocalLevel fit_rate(const Seen& seen, std::size_t events) {
  const std::size_t count = periods_for(events);
  const double period = seen.span / static_cast<double>(count);
  std::vector<double> counts(count, 0.0);
  for (const SeenFailure& f : seen.failures)
    // A burst is one event of the rate, however many nodes it hits.
    if (!f.in_burst || f.first_of_burst)
      counts[std::min(static_cast<std::size_t>(f.start / period), count - 1)] += 1;
  const double mean = static_cast<double>(events) / static_cast<double>(count);
  std::vector<Measured> periods;
  // Half a failure more: a period without any has a logarithm, too. 1 / count is the variance of the
  // logarithm of a Poisson count.
  for (const double c : counts) periods.push_back({std::log((c + 0.5) / mean), 1 / (c + 0.5), true});
  LocalLevel level = fit_level(periods, period);
  if (level.constant()) {
    level.level = 0;
    level.variance = 1 / static_cast<double>(events);
  }
  return level;
}

}  // namespace

double Model::failures_per_node_hour() const {
  double hit = 0;
  for (const auto& burst : bursts.repairs_h) hit += static_cast<double>(burst.size());
  const double of_bursts = hit / (static_cast<double>(nodes) * span_h);
  return std::exp(rate.level) * (1 / up.mean_h + of_bursts);
}

Result<Model> fit_model(const System& system, std::size_t nodes, TimePoint from, TimePoint until) {
  const auto refuse = [&](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by(std::move(remedy)));
  };
  if (until <= from) return refuse("the list of failures spans no time", "give a list of some months");
  if (nodes == 0) nodes = system.nodes.size();
  if (nodes < system.nodes.size())
    return refuse(fmt::format("the list names {} nodes, which are more than {}", system.nodes.size(), nodes),
                  "say with --nodes-of-list how many nodes the list is about");
  const Seen seen = seen_of(system, from, until);
  if (seen.failures.size() < kLeastFailures)
    return refuse(fmt::format("{} failures are too few to plan with", seen.failures.size()),
                  fmt::format("give a longer list, with {} failures or more", kLeastFailures));

  Model model;
  model.nodes = nodes;
  model.span_h = seen.span;
  model.failures = seen.failures.size();
  model.down_h = seen.down_h;
  model.most_down = seen.most_down;
  model.bursts.pairs_seen = seen.pairs;
  model.bursts.pairs_by_chance = seen.pairs_by_chance;
  model.bursts.repairs_h = seen.bursts;
  model.bursts.per_h = static_cast<double>(seen.bursts.size()) / seen.span;
  std::vector<Repair> repairs;
  for (const SeenFailure& f : seen.failures) {
    model.alone += !f.in_burst;
    // One that the end of the list cut off still says how long it took at least.
    if (f.length_known || f.cut_off) repairs.push_back({f.length, !f.cut_off, f.start});
  }
  // A burst is one event, however many nodes it hits.
  const std::size_t events = model.alone + seen.bursts.size();
  model.up = fit_up(lives_of(seen, nodes));
  model.rate = fit_rate(seen, events);
  if (repairs.size() < 3)
    return refuse(fmt::format("only {} failures say when they ended", repairs.size()),
                  "give ends or durations in the list");
  model.repair = fit_repair(std::move(repairs), seen.span, periods_for(events));
  return model;
}

std::vector<std::string> describe(const Model& m) {
  std::vector<std::string> lines;
  const auto best = [](const std::vector<Choice>& tried) {
    const auto it = std::find_if(tried.begin(), tried.end(), [](const Choice& c) { return c.chosen; });
    return it == tried.end() ? tried.begin() : it;
  };
  const auto of_others = [&](const std::vector<Choice>& tried) {
    std::string text;
    for (const Choice& c : tried)
      if (!c.chosen)
        text += fmt::format("{}{} {:+.1f}", text.empty() ? "" : ", ", c.name, c.aic - best(tried)->aic);
    return text;
  };
  lines.push_back(fmt::format(
      "Time between failures of a node: {} (AIC of the others: {}); mean {:.0f} h of service{}{}.",
      best(m.up.tried)->name, of_others(m.up.tried), m.up.mean_h,
      m.up.shape == 1 ? "" : fmt::format(", shape {:.2f}", m.up.shape),
      m.up.spread == 0 ? ""
                       : fmt::format("; rates of nodes scatter by {:.0f} %", 100 / std::sqrt(m.up.spread))));
  if (m.bursts.repairs_h.empty()) {
    lines.push_back(fmt::format("Bursts: none ({:.0f} failures within 10 min of another, {:.1f} by chance).",
                                m.bursts.pairs_seen, m.bursts.pairs_by_chance));
  } else {
    std::size_t most = 0;
    for (const auto& burst : m.bursts.repairs_h) most = std::max(most, burst.size());
    lines.push_back(
        fmt::format("Bursts: {} of up to {} nodes at once hold {} of {} failures ({:.0f} within 10 min of "
                    "another, {:.1f} "
                    "by chance).",
                    m.bursts.repairs_h.size(), most, m.failures - m.alone, m.failures, m.bursts.pairs_seen,
                    m.bursts.pairs_by_chance));
  }
  if (m.repair.law == RepairLaw::empirical)
    lines.push_back(fmt::format(
        "Repair times: as in the list, mean {:.2f} h; neither an exponential nor a lognormal law fits them.",
        m.repair.mean_h));
  else
    lines.push_back(fmt::format("Repair times: {} (AIC of the other: {}); mean {:.2f} h.",
                                best(m.repair.tried)->name, of_others(m.repair.tried), m.repair.mean_h));
  const auto change = [&](std::string_view what, const LocalLevel& level) {
    if (level.constant()) return fmt::format("{}: no change that is more than chance.", what);
    return fmt::format(
        "{}: not constant (AIC of constant {:+.1f}); at the end {:.2f} times the mean of the list, "
        "{:.0f} % drift and {:.0f} % scatter in {:.0f} days.",
        what, level.aic_constant - level.aic, std::exp(level.level), 100 * level.drift, 100 * level.scatter,
        level.period_h / 24);
  };
  lines.push_back(change("Rate of failures", m.rate));
  lines.push_back(change("Length of repairs", m.repair.level));
  return lines;
}

}  // namespace sickbay::plan
