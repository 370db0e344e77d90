// SPDX-License-Identifier: Apache-2.0
// Is the decider of engine/recover worth it?  10,000 simulated faults on 200 nodes, whose cure rates it does
// not know.
//
// Each fault is of one of four components with rates of their own.  Against it: always from the lowest cell
// (the paper's decider), always from the highest, and one that knows the hidden rates from the start, by
// which regret is measured.  All of them meet the same faults.  Two worlds: in `nested` each fault has a
// lowest cell that cures it, and whatever is above that cures it, too; in `apart` each restart has its chance
// by itself.  Both ways of reckoning (Nesting) are run in both.  Figures are medians over seeds.
//
// The second part is the paper's claim 5.1, that parallel restart of dependent nodes gains more in larger
// systems: its group of eight (Table 2) many times, and dependent sets that grow with the system.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/recover/availability.h"
#include "engine/recover/choose.h"
#include "engine/recover/rates.h"
#include "figure.h"

namespace {

using namespace sickbay;
using namespace sickbay::recover;

constexpr int kFaults = 10'000, kNodes = 200, kSeeds = 7;
constexpr Seconds kPerson{3600};
constexpr std::size_t kCells = 4;
constexpr std::array<Level, kCells> kPath = {Level::component, Level::component, Level::node, Level::group};
constexpr std::array<double, kCells> kTakes = {10, 25, 240, 900};

// What restarts cure, given that those below did not.  Not known to who decides.
struct Hidden {
  const char* component;
  std::array<double, kCells> cures;
};
constexpr std::array<Hidden, 4> kHidden = {{
    {"slurmd", {0.90, 0.30, 0.70, 0.90}},
    {"munged", {0.55, 0.50, 0.80, 0.90}},
    {"mount", {0.03, 0.08, 0.85, 0.90}},
    {"fabric", {0.01, 0.02, 0.10, 0.95}},
}};

struct Fault {
  std::size_t of = 0;  // index into kHidden
  int node = 0;
  std::array<double, kCells> luck{};   // restart k cures where it is under q_k
  std::array<double, kCells> takes{};  // s
};

std::vector<Fault> make_faults(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<> unit(0, 1);
  std::lognormal_distribution<> spread(0, 0.3);
  std::vector<Fault> faults(kFaults);
  for (Fault& f : faults) {
    f.of = random() % kHidden.size();
    f.node = static_cast<int>(random() % kNodes);
    for (std::size_t k = 0; k < kCells; ++k) {
      f.luck[k] = unit(random);
      f.takes[k] = kTakes[k] * spread(random);
    }
  }
  return faults;
}

std::vector<Step> true_path(std::size_t of) {
  std::vector<Step> path;
  const double mean = std::exp(0.3 * 0.3 / 2);  // of the spread
  for (std::size_t k = 0; k < kCells; ++k)
    path.push_back({k, kPath[k], Seconds(kTakes[k] * mean), kHidden[of].cures[k]});
  return path;
}

enum class Who { ours, ours_nested, bottom_up, top_down, knowing };

// Time to recovery of each fault.
std::vector<double> run(const std::vector<Fault>& faults, Nesting world, Who who) {
  Rates rates;
  std::vector<double> times;
  times.reserve(faults.size());
  for (const Fault& f : faults) {
    std::array<std::string, kCells> cells, kinds;
    const std::string node = fmt::format("n{}", f.node);
    const std::string component = kHidden[f.of].component;
    const std::string fault = fault_kind(FaultClass::component, component);
    cells = {node + "/" + component, node + "/net+" + component, node, "job:1"};
    kinds = {"component " + component, "component net+" + component, "node", "group"};
    std::size_t start = 0;
    if (who == Who::top_down) start = kCells - 1;
    if (who == Who::knowing) start = choose(true_path(f.of), kPerson, world)->start;
    if (who == Who::ours || who == Who::ours_nested) {
      std::vector<Step> path;
      for (std::size_t k = 0; k < kCells; ++k)
        path.push_back({k, kPath[k], rates.restart_time(cells[k], kinds[k]).value_or(Seconds(kTakes[k])),
                        rates.cure_rate(cells[k], kinds[k], kPath[k], fault)});
      start = choose(path, kPerson, who == Who::ours_nested ? Nesting::nested : Nesting::apart)->start;
    }
    double time = 0;
    bool cured = false;
    for (std::size_t k = start; k < kCells && !cured; ++k) {
      time += f.takes[k];
      // A first restart of a higher cell restarts what is below it.
      for (std::size_t below = k == start && world == Nesting::nested ? 0 : k; below <= k; ++below)
        cured = cured || f.luck[below] < kHidden[f.of].cures[below];
      rates.restarted(cells[k], kinds[k], kPath[k], fault, cured,
                      std::chrono::duration_cast<Micros>(Seconds(f.takes[k])));
    }
    times.push_back(cured ? time : time + kPerson.count());
  }
  return times;
}

double mean(const std::vector<double>& values, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}
double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void decider(Nesting world, const std::string& word) {
  std::array<std::vector<double>, 5> mttr;
  std::array<std::vector<double>, 2> first, last;  // regret of ours, by reckoning
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<Fault> faults = make_faults(seed);
    const std::vector<double> best = run(faults, world, Who::knowing);
    for (std::size_t who = 0; who < mttr.size(); ++who) {
      const std::vector<double> times = run(faults, world, static_cast<Who>(who));
      mttr[who].push_back(mean(times, 0, kFaults));
      if (who >= first.size()) continue;
      first[who].push_back(mean(times, 0, 1000) - mean(best, 0, 1000));
      last[who].push_back(mean(times, kFaults - 1000, kFaults) - mean(best, kFaults - 1000, kFaults));
    }
  }
  constexpr std::array kNames = {"ours", "ours_nested", "bottom_up", "top_down", "knowing"};
  for (std::size_t who = 0; who < mttr.size(); ++who)
    bench::figure((word + "_mttr_" + kNames[who]).c_str(), median(mttr[who]), "s");
  for (std::size_t who = 0; who < first.size(); ++who) {
    bench::figure((word + "_regret_first_1000_" + kNames[who]).c_str(), median(first[who]), "s/fault");
    bench::figure((word + "_regret_last_1000_" + kNames[who]).c_str(), median(last[who]), "s/fault");
  }
  bench::require(median(mttr[0]) <= median(mttr[2]) && median(mttr[0]) <= median(mttr[3]),
                 "the decider is worse than one that is fixed");
}

// A system of `nodes` nodes, MTTF 10 days and 30 s each, in dependent sets of these sizes over and over.
struct Whole {
  Seconds serial, parallel, mttf;
};
Whole system_of(int nodes, const std::vector<int>& sets) {
  std::vector<Member> before, after;
  std::vector<Seconds> mttf;
  std::size_t next = 0;
  for (int left = nodes; left > 0; ++next) {
    const int size = std::min(left, sets[next % sets.size()]);
    const std::vector<Seconds> takes(static_cast<std::size_t>(size), Seconds(30));
    for (int i = 0; i < size; ++i) {
      mttf.push_back(Seconds(10 * 86400));
      before.push_back({1, serial_time(takes)});
      after.push_back({1, parallel_time(takes)});
    }
    left -= size;
  }
  return {*mttr_of(before), *mttr_of(after), *series_mttf(mttf)};
}

void scale() {
  double last = 0;
  for (const int nodes : {8, 80, 800, 8000}) {
    const Whole same = system_of(nodes, {1, 1, 2, 1, 3});
    const std::string word = fmt::format("scale_{}_", nodes);
    if (nodes == 8) bench::require(same.serial == Seconds(60) && same.parallel == Seconds(30), "Table 2");
    bench::figure((word + "same_sets_mttr_ratio").c_str(), same.serial / same.parallel, "times");
    bench::figure((word + "same_sets_availability_serial").c_str(),
                  100 * availability(same.mttf, same.serial), "%");
    bench::figure((word + "same_sets_availability_parallel").c_str(),
                  100 * availability(same.mttf, same.parallel), "%");
    const Whole grown = system_of(nodes, {std::max(1, nodes / 8)});  // an eighth hangs on one switch, say
    bench::figure((word + "sets_of_an_eighth_mttr_ratio").c_str(), grown.serial / grown.parallel, "times");
    const double gain = availability(same.mttf, same.parallel) - availability(same.mttf, same.serial);
    bench::require(gain > last, "the gain does not grow");
    last = gain;
  }
}

}  // namespace

int main() {
  decider(Nesting::nested, "nested");
  decider(Nesting::apart, "apart");
  scale();
}
