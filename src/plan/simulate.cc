// SPDX-License-Identifier: Apache-2.0
#include "plan/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "plan/job_clock.h"

namespace sickbay::plan {
namespace {

constexpr std::uint32_t kBurst = UINT32_MAX;  // no node
constexpr std::uint32_t kOther = UINT32_MAX;  // no job of ours
// Periods of one future: a bound for years of a list with very short ones.
constexpr std::size_t kMostSimulated = 10'000;

struct Event {
  double at;
  // An event is never taken out of the heap: when its node has moved on, its stamp is old and it is passed
  // over.
  std::uint32_t node, stamp;
  bool operator>(const Event& other) const { return at > other.at; }
};

// Time that runs as fast as nodes fail: a factor for each period.
class Pace {
 public:
  Pace(std::vector<double> factors, double warm, double period)
      : factors_(std::move(factors)), warm_(warm), period_(period) {}

  /// When `amount` of mean hours have passed since `now`.
  double after(double now, double amount) const {
    for (std::size_t j = place(now);; ++j) {
      const double end = warm_ + static_cast<double>(j + 1) * period_;
      if (j + 1 >= factors_.size() || (end - now) * factors_[j] >= amount) return now + amount / factors_[j];
      amount -= (end - now) * factors_[j];
      now = end;
    }
  }
  double factor(double now) const { return factors_[place(now)]; }

 private:
  std::size_t place(double now) const {
    // Before the begin the first period's rate holds, and after the last one the last.
    if (factors_.size() == 1 || now < warm_) return 0;
    return std::min(static_cast<std::size_t>((now - warm_) / period_), factors_.size() - 1);
  }

  std::vector<double> factors_;
  double warm_, period_;
};

Pace pace_of(const LocalLevel& level, const Setting& setting, double warm, Random& random) {
  LocalLevel drawn = level;
  if (!setting.draw_rates) drawn.variance = drawn.drift = drawn.scatter = 0;
  std::size_t count = 1;
  if (!drawn.constant() && drawn.period_h > 0)
    count = std::min(static_cast<std::size_t>(setting.hours / drawn.period_h) + 1, kMostSimulated);
  return Pace(future_of(drawn, count, random), warm, std::max(drawn.period_h, 1e-6));
}

class Cluster {
 public:
  Cluster(const Model& model, const Setting& setting, std::uint64_t seed, std::uint64_t number)
      : model_(model),
        setting_(setting),
        // Two streams: what jobs do must not change which nodes fail, so that settings can be compared under
        // the same failures.
        random_(seed, 2 * number),
        jobs_random_(seed, 2 * number + 1),
        warm_(setting.warm_h >= 0
                  ? setting.warm_h
                  // Six mean repairs: after that as many nodes are down as on any day.
                  : std::clamp(6 * model.repair.mean_h * setting.repairs.factor, 24.0, 1500.0)),
        end_(warm_ + setting.hours),
        failing_(pace_of(model.rate, setting, warm_, random_)),
        repairing_(pace_of(model.repair.level, setting, warm_, random_)),
        nodes_(setting.nodes) {
    const std::size_t working = setting.nodes - std::min(setting.spares, setting.nodes);
    // Jobs side by side; the nodes that are left over work for nobody of ours (kOther).
    clocks_.assign(working / std::max<std::size_t>(setting.job.nodes, 1), JobClock(setting.job));
    begin_nodes();
    if (model.bursts.per_h > 0)
      push(failing_.after(0, random_.exponential() / model.bursts.per_h), kBurst, 0);
    // At once, and not event by event: cheaper for ten thousand nodes.
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  Outcome run() {
    bool warm = true;
    while (!heap_.empty()) {
      const Event event = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      if (warm && event.at >= warm_) {
        begin_counting();
        warm = false;
      }
      if (event.node == kBurst) {
        burst(event.at);
      } else if (nodes_[event.node].stamp == event.stamp) {
        ++out_.events;
        nodes_[event.node].up ? fail(event.at, event.node, repair_time(event.at, event.node)) : repair(event);
      }
    }
    if (warm) begin_counting();
    for (JobClock& clock : clocks_) clock.go_on(end_, out_);
    out_.node_hours = static_cast<double>(setting_.nodes) * setting_.hours;
    return std::move(out_);
  }

 private:
  struct Node {
    Random random{0};
    double speed = 1;         // how much sooner than the mean it fails: its rate to the power of 1/shape
    std::uint32_t stamp = 0;  // of its one event that holds
    bool up = true;
  };

  void push(double at, std::uint32_t node, std::uint32_t stamp) {
    if (at >= end_) return;
    heap_.push_back({at, node, stamp});
    if (running_) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void begin_nodes() {
    const UpTimes& up = model_.up;
    const std::uint64_t seed = random_.bits();
    double sum = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      node.random = Random(seed, i);
      // Its rate is drawn from the gamma law with mean 1; Weibull's time runs by the rate to the power of
      // 1/shape.
      if (up.spread > 0) node.speed = std::pow(node.random.gamma(up.spread) / up.spread, 1 / up.shape);
      sum += node.speed;
    }
    // The rate of all nodes together is known better than how it is spread over them.
    scale_ = up.mean_h / std::tgamma(1 + 1 / up.shape) * sum / static_cast<double>(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      // They have run for long: what is left is a part of a stretch that was met because it is long.
      Node& node = nodes_[i];
      const double left =
          up.shape == 1 ? node.random.exponential()
                        : std::pow(node.random.gamma(1 + 1 / up.shape), 1 / up.shape) * node.random.uniform();
      push(failing_.after(0, scale_ * left / node.speed), static_cast<std::uint32_t>(i), 0);
    }
    running_ = true;
  }

  void push_failure(double now, std::uint32_t place) {
    Node& node = nodes_[place];
    const double e = node.random.exponential();
    // (A power of an exponential number is one of Weibull's law.)
    const double left = model_.up.shape == 1 ? e : std::pow(e, 1 / model_.up.shape);
    push(failing_.after(now, scale_ * left / node.speed), place, node.stamp);
  }

  double repair_time(double now, std::uint32_t place) {
    const RepairTimes& law = model_.repair;
    Random& random = nodes_[place].random;
    // Drawn in any case, so that another share cures others and moves no other random number.
    const bool cured = random.uniform() <= setting_.repairs.reboot_cures;
    double hours = 0;
    switch (law.law) {
      case RepairLaw::exponential:
        hours = law.mean_h * random.exponential();
        break;
      case RepairLaw::lognormal:
        hours = std::exp(law.mu + law.sigma * random.normal());
        break;
      case RepairLaw::empirical:
        hours = law.sample_h[random.below(law.sample_h.size())];
        break;
    }
    return cured ? setting_.repairs.reboot_h : hours * setting_.repairs.factor * repairing_.factor(now);
  }

  void burst(double now) {
    ++out_.events;
    push(failing_.after(now, random_.exponential() / model_.bursts.per_h), kBurst, 0);
    const auto& seen = model_.bursts.repairs_h[random_.below(model_.bursts.repairs_h.size())];
    // A burst takes the share of the cluster that it took of the list's.
    const double share = static_cast<double>(nodes_.size()) / static_cast<double>(model_.nodes);
    const auto count = std::max<std::size_t>(
        static_cast<std::size_t>(std::llround(static_cast<double>(seen.size()) * share)), 1);
    for (std::size_t i = 0; i < count; ++i) {
      const double hours = std::max(i < seen.size() ? seen[i] : seen[random_.below(seen.size())], 0.5 / 60) *
                           setting_.repairs.factor * repairing_.factor(now);
      const auto place = static_cast<std::uint32_t>(random_.below(nodes_.size()));
      if (nodes_[place].up) fail(now, place, hours);
    }
  }

  void fail(double now, std::uint32_t place, double hours) {
    Node& node = nodes_[place];
    node.up = false;
    ++node.stamp;
    push(now + hours, place, node.stamp);
    const std::size_t before = down_++;
    if (now >= warm_) {
      ++out_.failures;
      out_.most_down = std::max<std::size_t>(out_.most_down, down_);
    }
    // Only what lies within the counted time, also of an outage that began before it or ends behind it.
    out_.down_h += std::max(std::min(now + hours, end_) - std::max(now, warm_), 0.0);

    // Whom it hits: an idle spare, or one of the nodes at work; all that are up are alike.
    const std::size_t spares = std::min(setting_.spares, setting_.nodes);
    // Each node that is down has taken a spare, as long as there were some.
    const std::size_t idle = spares - std::min(before, spares);
    if (jobs_random_.uniform() * static_cast<double>(setting_.nodes - before) <= static_cast<double>(idle))
      return;
    if (now >= warm_) {
      ++out_.hits;
      if (out_.hits_by_down.size() <= down_) out_.hits_by_down.resize(down_ + 1, 0);
      ++out_.hits_by_down[down_];
    }
    // Jobs have no nodes of their own here: all nodes at work are as likely, and this says whose it was.
    const std::size_t slot = jobs_random_.below(setting_.nodes - spares) / setting_.job.nodes;
    const bool ours = slot < clocks_.size(), waits = !setting_.never_wait && down_ > spares;
    if (ours) {
      clocks_[slot].go_on(now, out_);
      clocks_[slot].fail(static_cast<std::uint32_t>(down_), out_);
      if (waits) clocks_[slot].wait();
    }
    if (waits) waiting_.push_back(ours ? static_cast<std::uint32_t>(slot) : kOther);
  }

  void repair(const Event& event) {
    Node& node = nodes_[event.node];
    node.up = true;
    ++node.stamp;
    --down_;
    push_failure(event.at, event.node);
    // Else it is a spare again. Who waits longest is served first.
    if (waiting_.empty()) return;
    const std::uint32_t slot = waiting_.front();
    waiting_.pop_front();
    if (slot == kOther) return;
    clocks_[slot].go_on(event.at, out_);
    clocks_[slot].got_node();
  }

  // What was before was only to bring nodes and jobs to where they are on any day.
  void begin_counting() {
    for (JobClock& clock : clocks_) clock.go_on(warm_, out_);
    const double down_h = out_.down_h;  // counted only behind the begin
    out_ = Outcome();
    out_.down_h = down_h;
    out_.most_down = down_;
  }

  const Model& model_;
  const Setting& setting_;
  Random random_, jobs_random_;
  double warm_, end_;
  Pace failing_, repairing_;
  std::vector<Node> nodes_;
  std::vector<JobClock> clocks_;
  std::vector<Event> heap_;
  std::deque<std::uint32_t> waiting_;
  std::size_t down_ = 0;
  double scale_ = 1;
  bool running_ = false;
  Outcome out_;
};

double share_up_to(const std::vector<std::uint32_t>& counts, std::size_t place) {
  double all = 0, some = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    if (i <= place) some += counts[i];
  }
  return all > 0 ? some / all : 1;
}

}  // namespace

double Outcome::never_waits(std::size_t spares) const { return share_up_to(jobs_by_down, spares); }
double Outcome::finds_spare(std::size_t spares) const { return share_up_to(hits_by_down, spares); }

Outcome simulate(const Model& model, const Setting& setting, std::uint64_t seed, std::uint64_t number) {
  return Cluster(model, setting, seed, number).run();
}

Model memoryless(std::size_t nodes, double mean_up_h, double mean_repair_h) {
  Model model;
  model.nodes = nodes;
  model.span_h = 8766;
  model.up.mean_h = mean_up_h;
  model.repair.mean_h = mean_repair_h;
  return model;
}

}  // namespace sickbay::plan
