// SPDX-License-Identifier: Apache-2.0
// Adjoining periods add up: over made-up logs with all oddities of real ones, cut at random, the parts of
// each shipped report sum to what it says of the whole, row by row; and its core-hours are those of a sum
// that knows nothing of DuckDB.
//
// Not summed are figures that are no sums (shares, medians, people): kSums names the units that are, kNoSums
// the columns of such units that are none, each with its why.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>

#include "shipped_parts.h"
#include "workload/report/run_one.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kDay = 86400, kBegin = 18748 * kDay;  // 2021-05-01
constexpr int kDays = 75;                                    // over two turns of a month

// A job as the log has it; what it lacks is empty.
struct MadeJob {
  std::string user, state, application, partition;
  std::optional<std::int64_t> submit, start, end, elapsed;
  std::int64_t cores = 1;
};

std::string number(std::optional<std::int64_t> value) { return value ? std::to_string(*value) : "NULL"; }
std::string time(std::optional<std::int64_t> seconds) {
  return seconds ? fmt::format("make_timestamp({})", *seconds * 1000000) : "NULL";
}

class Periods : public Shipped, public testing::WithParamInterface<unsigned> {
 protected:
  Periods() : random_(GetParam()) {}

  std::int64_t any(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool one_in(int n) { return any(1, n) == 1; }
  template <class... T>
  std::string of(T... words) {
    const std::vector<std::string> all = {words...};
    return all[static_cast<std::size_t>(any(0, static_cast<std::int64_t>(all.size()) - 1))];
  }

  MadeJob make_job() {
    MadeJob job;
    job.user = one_in(20) ? "" : of("ann", "bob", "cat", "dan");
    job.application = of("vasp", "lammps", "unknown");
    job.partition = of("cpu", "gpu");
    job.cores = any(1, 64);
    job.submit = kBegin + any(0, kDays * kDay);
    const std::int64_t wait = one_in(3) ? 0 : one_in(10) ? any(0, 20 * kDay) : any(0, kDay);
    const std::int64_t run = one_in(15) ? 0 : one_in(8) ? any(0, 40 * kDay) : any(1, kDay);
    job.state = of("COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED", "OUT_OF_MEMORY");
    job.start = *job.submit + wait;
    job.end = *job.start + run;
    job.elapsed = run;
    switch (any(1, 25)) {
      case 1:  // waits
        job.state = "PENDING", job.start.reset(), job.end.reset(), job.elapsed = 0;
        break;
      case 2:  // runs
        job.state = "RUNNING", job.end.reset();
        break;
      case 3:  // cancelled before it began
        job.state = "CANCELLED", job.start.reset(), job.elapsed = 0, job.end = *job.submit + wait;
        break;
      case 4:  // the log does not know when it began (SWF)
        job.start.reset(), job.end.reset();
        break;
      case 5:  // nor when it was submitted
        job.submit.reset(), job.start.reset();
        break;
      case 6:  // a clock that was set back
        job.end = *job.start - any(1, 1000);
        break;
      case 7:  // suspended for a while
        job.elapsed = run / 2;
        break;
      default:
        break;
    }
    return job;
  }

  void fill_random() {
    fill("SET threads = 1");  // of 700 rows, more cost more than they are worth
    std::string sql =
        "INSERT INTO jobs (job_id, job_id_raw, array_job_id, cluster, user_name, account, partition, qos, "
        "job_name, "
        "application, labelled_by, state, submit_time, eligible_time, start_time, end_time, elapsed, "
        "time_limit, cpus, "
        "req_cpus, nodes, tasks, cpu_time, total_cpu, req_mem, max_rss, ave_rss, job_rss, disk_read, "
        "disk_write, energy, "
        "gpus, gpu_type, gpu_util_milli, exit_code, exit_signal, node_list, restarts, repairs, flaws) "
        "VALUES ";
    for (int i = 0; i < 700; ++i) {
      MadeJob job = make_job();
      const auto id = one_in(30) && i > 0 ? i - 1 : i;  // a job that ran again
      const bool measured = !one_in(4);
      const std::int64_t core_s = job.cores * *job.elapsed;
      const bool gpus = job.partition == "gpu";
      sql += fmt::format(
          "{}('{}', {}, {}, '{}', {}, 'a{}', '{}', 'q', 'n{}', '{}', 'keyword', '{}', {}, {}, {}, {}, {}, "
          "{}, "
          "{}, {}, {}, {}, "
          "{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, '{}', {}, {}, {})",
          i == 0 ? "" : ", ", id, id, one_in(3) ? number(id / 10 * 10) : "NULL", of("c", "c", "d"),
          job.user.empty() ? "NULL" : "'" + job.user + "'", any(1, 3), job.partition, id / 10,
          job.application, job.state, time(job.submit), one_in(3) ? "NULL" : time(job.submit),
          time(job.start), time(job.end), *job.elapsed,
          one_in(3) ? "NULL" : std::to_string(*job.elapsed + any(1, kDay)), job.cores, job.cores, any(1, 4),
          job.cores, one_in(3) ? "NULL" : std::to_string(core_s),
          measured ? std::to_string(core_s * any(0, 1100)) : "NULL", measured ? "4294967296" : "NULL",
          any(0, 1) * 1000000, 1000000, measured ? "2147483648" : "NULL",
          measured ? std::to_string(any(0, 1'000'000'000'000)) : "NULL",
          measured ? std::to_string(any(0, 1'000'000'000'000)) : "NULL", measured ? any(0, 1) * 3'600'000 : 0,
          gpus ? std::to_string(any(1, 4)) : "NULL", gpus && one_in(2) ? "'a100'" : "NULL",
          gpus && measured ? number(any(0, 1000)) : "NULL", any(0, 2), any(0, 1) * 9,
          of("n1", "n[1-2]", "n[2-4]"), one_in(10) ? 1 : 0, any(0, 1) * 2, any(0, 1) * 64);
      jobs_.push_back(std::move(job));
    }
    fill(sql);
    fill(
        "INSERT INTO nodes (node, cpus, cluster, valid_from) VALUES ('n1', 16, 'c', NULL), ('n2', 16, 'c', "
        "NULL), "
        "('n2', 24, 'c', '2021-06-01 05:00:00'), ('n3', 16, 'c', NULL), ('n4', 16, 'c', '2021-05-20'), "
        "('n1', 64, 'd', NULL), ('n1', 9, 'e', NULL)");
    for (int i = 0; i < 20; ++i) {
      const std::int64_t begin = kBegin + any(0, kDays * kDay);
      fill(fmt::format("INSERT INTO node_events VALUES ('n{}', 'DOWN', {}, {}, 16, 'r', '{}')", any(1, 4),
                       time(begin), time(begin + any(60, 10 * kDay)), of("c", "d")));
      fill(
          fmt::format("INSERT INTO job_failures VALUES (NULL, {}, 0, 'NODE_FAIL', {}, 1000000, {}, false, "
                      "360000, 720000)",
                      any(0, 600), time(begin), any(0, 1)));
      fill(fmt::format("INSERT INTO job_checkpoints VALUES (NULL, {}, 0, 1, {}, 90000)", any(0, 600),
                       time(begin)));
    }
    for (Plugin& plugin : plugins_)
      for (ReportSpec& spec : plugin.reports)
        for (Parameter& parameter : spec.parameters) {
          if (parameter.name == "top" || parameter.name == "users" || parameter.name == "sizes" ||
              parameter.name == "sample")
            parameter.value = "90000";
          if (spec.id() == "floods.bursts" && parameter.name == "jobs") parameter.value = "1";
          if (spec.id() == "floods.bursts" && parameter.name == "seconds") parameter.value = "100000";
        }
  }

  void take_period(std::int64_t from, std::int64_t to) {
    order_.views.filter.from = from_unix_seconds(from);
    order_.views.filter.to = from_unix_seconds(to);
    order_.views.compare = Period{from_unix_seconds(from), from_unix_seconds(to)};
    make_views();
  }

  std::mt19937 random_;
  std::vector<MadeJob> jobs_;
};

const std::set<std::string> kSums = {"jobs", "core-h", "GPU-h", "node-h", "GiB-h", "SU"};
// "report.column" or "*.column" of other units that are sums, too.
const std::set<std::string> kAlsoSums = {"energy.application.energy",  "energy.application.lost_energy",
                                         "energy.month.energy",        "fsutilz.volume.read",
                                         "fsutilz.volume.written",     "fsutilz.ratio.read",
                                         "fsutilz.ratio.written",      "fsutilz.top.read",
                                         "fsutilz.top.written",        "nodes.failures.events",
                                         "nodes.failures.down_h",      "nodes.failures.suspicion",
                                         "recovery.causes.failures",   "recovery.causes.from_checkpoint",
                                         "recovery.jobs.failures",     "recovery.jobs.from_checkpoint",
                                         "recovery.worth.checkpoints", "recovery.worth.failures"};
const std::set<std::string> kNoSums = {
    "cpuutilz.people.core_h_per_job",  // a mean
    "recovery.causes.jobs",            // different jobs: one may fail in two periods
    "recovery.worth.jobs",
    "recovery.jobs.checkpoint_core_h",  // those of jobs that failed in the period
};

bool is_sum(const ReportSpec& spec, const std::string& column, const std::string& unit) {
  const std::string name = spec.id() + "." + column;
  return kAlsoSums.contains(name) || (kSums.contains(unit) && !kNoSums.contains(name));
}

// Core-hours of a comparison are per day.
double times(const ReportSpec& spec, const std::string& unit, double days) {
  return spec.plugin == "compare" && unit == "core-h" ? days : 1;
}

// Sums of a report's columns by what its rows are about, "row | column" -> sum.
using Sums = std::map<std::string, double>;

void add(const ReportSpec& spec, const duck::ResultTable& table, double days, Sums& sums) {
  std::set<std::string> keys;
  for (const char* option : {"x", "group", "name"})
    if (const auto at = spec.chart.options.find(option); at != spec.chart.options.end())
      keys.insert(at->second);
  if (spec.chart.kind == "heatmap") keys.insert(spec.chart.options.at("y"));
  if (spec.chart.kind == "tiles") keys = {"name", "unit"};
  if (keys.empty() && !table.columns.empty()) keys.insert(table.columns[0].name);
  for (const auto& row : table.rows) {
    std::string key, own_unit;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (keys.contains(table.columns[c].name)) key += cell(row[c], table.columns[c].type) + " | ";
      if (spec.chart.kind == "tiles" && table.columns[c].name == "unit")
        own_unit = std::get<std::string>(row[c]);
    }
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string& column = table.columns[c].name;
      const auto said = spec.units.find(column);
      const std::string unit = said != spec.units.end() ? said->second : column == "value" ? own_unit : "";
      if (!is_sum(spec, column, unit)) continue;
      double value = 0;
      if (const auto* real = std::get_if<double>(&row[c])) value = *real;
      if (const auto* whole = std::get_if<std::int64_t>(&row[c])) value = static_cast<double>(*whole);
      sums[key + column] += value * times(spec, unit, days);
    }
  }
}

// Whether any of its columns is a sum; tiles say theirs in rows.
bool has_sums(const ReportSpec& spec) {
  return spec.chart.kind == "tiles" ||
         std::any_of(spec.units.begin(), spec.units.end(),
                     [&](const auto& unit) { return is_sum(spec, unit.first, unit.second); });
}

// A seed takes every other report, and there are four, so that each report is tried on two logs.
TEST_P(Periods, AddUp) {
  fill_random();
  // All three lie among the jobs, so that each period has jobs over both of its ends.
  std::vector<std::int64_t> cuts;
  for (int i = 0; i < 3; ++i) cuts.push_back(kBegin + any(0, 20 * kDay) + i * 30 * kDay);

  std::map<std::string, Sums> whole, parts;
  const auto take = [&](std::int64_t from, std::int64_t to, std::map<std::string, Sums>& into) {
    take_period(from, to);
    ReportRunner runner(store_.connection(), order_);
    unsigned place = GetParam();
    for (const Plugin& plugin : plugins_)
      for (const ReportSpec& spec : plugin.reports) {
        if (++place % 2 == 0 || !has_sums(spec) ||
            std::count(spec.counts.begin(), spec.counts.end(), "store") > 0)
          continue;
        const ReportResult result = runner.run(spec);
        ASSERT_NE(result.outcome, Outcome::failed) << spec.id() << ": " << result.why;
        add(spec, result.table, static_cast<double>(to - from) / kDay, into[spec.id()]);
      }
  };
  take(cuts[0], cuts[2], whole);
  for (std::size_t i = 1; i < cuts.size(); ++i) take(cuts[i - 1], cuts[i], parts);

  std::size_t compared = 0;
  std::string told;
  for (const auto& [id, sums] : whole) {
    Sums all = parts[id];
    for (const auto& [key, sum] : sums) all.try_emplace(key, 0);
    std::size_t here = 0;
    for (const auto& [key, sum] : all) {
      const auto found = sums.find(key);
      const double expected = found == sums.end() ? 0 : found->second;
      // Figures by day are rounded to a thousandth.
      EXPECT_NEAR(sum, expected, 0.005 + 1e-9 * std::abs(expected)) << id << ": " << key;
      ++here;
    }
    compared += here;
    told += fmt::format("{} {}\n", id, here);
  }
  // SB_SHOW: what was compared, for people.
  if (std::getenv("SB_SHOW") != nullptr) std::cout << told;
  EXPECT_GT(compared, 250u);
}

// The same from the jobs alone: hours of the run within the period, by user, and all.
TEST_P(Periods, HaveTheCoreHoursOfAnIndependentSum) {
  fill_random();
  for (int round = 0; round < 2; ++round) {
    const std::int64_t from = kBegin + any(0, kDays * kDay), to = from + any(1, 30 * kDay);
    std::map<std::string, double> core_h;
    double all = 0;
    for (const MadeJob& job : jobs_) {
      const auto begin = job.start ? *job.start : job.end ? *job.end - *job.elapsed : *job.submit;
      auto end = begin + std::max<std::int64_t>(*job.elapsed, 1);
      if (job.end && *job.end > begin) end = *job.end;
      const double within =
          static_cast<double>(std::max<std::int64_t>(0, std::min(end, to) - std::max(begin, from)));
      const double hours =
          static_cast<double>(job.cores * *job.elapsed) / 3600 * within / static_cast<double>(end - begin);
      core_h[job.user.empty() ? "(no user)" : job.user] += hours;
      all += hours;
    }
    take_period(from, to);
    std::map<std::string, double> told;
    const ReportResult people = run("cpuutilz.people");
    for (const auto& row : people.table.rows)
      if (std::get<std::string>(row[0]) == "user" && std::holds_alternative<double>(row[4]))
        told[std::get<std::string>(row[1])] = std::get<double>(row[4]);
    for (const auto& [user, hours] : core_h) EXPECT_NEAR(told[user], hours, 1e-6) << user;
    // The tile's coverage is that of the report of coverage.
    std::string coverage;
    for (const auto& row : rows("jobwait.queue"))
      if (row.at("name") == "(all)") coverage = row.at("coverage");
    EXPECT_EQ(tiles()["Coverage of demand"], coverage);
    const ReportResult summary = run("systatus.summary");
    for (const auto& row : summary.table.rows)
      if (std::get<std::string>(row[0]) == "Core-hours used in the period") {
        EXPECT_NEAR(std::get<double>(row[1]), all, 1e-6);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Periods, testing::Range(1u, 5u));

// Each card says what it counts.
TEST_F(Shipped, SayWhatTheyCount) {
  for (const Plugin& plugin : plugins_)
    for (const ReportSpec& spec : plugin.reports) EXPECT_FALSE(spec.counts.empty()) << spec.id();
}

}  // namespace
}  // namespace sickbay::workload
