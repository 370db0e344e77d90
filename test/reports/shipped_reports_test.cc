// SPDX-License-Identifier: Apache-2.0
// The shipped reports: each over a small store made by hand (small.sql) against golden/PLUGIN.REPORT.txt,
// over a store without jobs and one that holds nothing but NULLs; and what the published definitions give.
//
// SB_REWRITE=1 writes golden/ anew: only commit what you can work out from small.sql on paper.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "shipped_parts.h"
#include "workload/job/fields.h"

namespace sickbay::workload {
namespace {

TEST_F(Shipped, AreThoseOfTheDesign) {
  std::map<std::string, std::size_t> reports;
  std::size_t all = 0;
  for (const Plugin& plugin : plugins_) {
    reports[plugin.name] = plugin.reports.size();
    all += plugin.reports.size();
    for (const ReportSpec& spec : plugin.reports) {
      EXPECT_EQ(spec.fault, "") << spec.id();
      EXPECT_FALSE(spec.left_out.empty()) << spec.id() << " does not say what it leaves out";
    }
  }
  const std::map<std::string, std::size_t> designed = {{"systatus", 6},   {"cpuutilz", 4}, {"memutilz", 4},
                                                       {"fsutilz", 4},    {"jobstate", 4}, {"jobwait", 4},
                                                       {"appfeature", 10}};
  for (const auto& [plugin, count] : designed) EXPECT_EQ(reports[plugin], count) << plugin;
  EXPECT_GE(all, 29u + 14u);
}

TEST_F(Shipped, GiveTheKnownAnswers) {
  fill_small();
  // Thresholds that a store of a dozen jobs can reach.
  ASSERT_TRUE(set_parameters(plugins_, {{"floods.bursts.jobs", "2"}}));
  order_.views.compare = Period{at("2021-05-02T00:00:00Z"), at("2021-05-03T00:00:00Z")};
  make_views();
  const bool rewrite = std::getenv("SB_REWRITE") != nullptr;
  std::set<std::string> files;
  for (const Plugin& plugin : plugins_)
    for (const ReportSpec& spec : plugin.reports) {
      SCOPED_TRACE(spec.id());
      const ReportResult result = run_report(store_.connection(), spec, order_);
      EXPECT_EQ(result.outcome, Outcome::made) << result.why;
      const std::string path = SB_HERE "/golden/" + spec.id() + ".txt";
      files.insert(path);
      if (rewrite) std::ofstream(path) << as_text(result.table);
      EXPECT_EQ(as_text(result.table), contents(path));
    }
  for (const auto& file : std::filesystem::directory_iterator(SB_HERE "/golden"))
    EXPECT_TRUE(files.contains(file.path().string())) << file.path() << " is of no report";
}

TEST_F(Shipped, TakeAStoreWithoutJobs) {
  std::vector<std::string> columns;
  auto errors = check_reports(store_.connection(), plugins_, columns);
  ASSERT_TRUE(errors) << errors.error().line();
  for (const Error& error : *errors) ADD_FAILURE() << error.line() << ": " << error.cause;
}

TEST_F(Shipped, TakeJobsThatSayNothing) {
  fill(
      "INSERT INTO jobs (job_id) VALUES (NULL), (NULL), ('3'); INSERT INTO nodes (node) VALUES (NULL); "
      "INSERT INTO node_events (node) VALUES (NULL); "
      "INSERT INTO job_failures (job_id_raw) VALUES (NULL), (3); "
      "INSERT INTO job_checkpoints (job_id_raw) VALUES (NULL), (3); INSERT INTO imports (source) "
      "VALUES (NULL); "
      "INSERT INTO rejects (source) VALUES (NULL)");
  make_views();
  for (const Plugin& plugin : plugins_)
    for (ReportSpec spec : plugin.reports) {
      spec.needs.clear();  // run what would be left out, too
      const ReportResult result = run_report(store_.connection(), spec, order_);
      EXPECT_TRUE(result.outcome == Outcome::made || result.outcome == Outcome::empty)
          << spec.id() << ": " << result.why;
      // Nothing is known, so nothing may be a figure over 0 but counts of the three jobs and shares of them.
      for (const auto& row : result.table.rows)
        for (std::size_t c = 0; c < row.size(); ++c)
          if (const auto* real = std::get_if<double>(&row[c])) {
            EXPECT_TRUE(*real == 0 || std::abs(*real - 100.0 / 3) < 0.1 || *real == 100 || *real == 3)
                << spec.id() << "." << result.table.columns[c].name << " = " << *real;
          }
    }
}

// A bound on rows for each list, or the page of a large site would not open.
TEST_F(Shipped, AreBounded) {
  fill(
      "INSERT INTO jobs (job_id, job_id_raw, array_job_id, cluster, user_name, account, partition, qos, "
      "job_name, application, state, node_list, "
      "submit_time, eligible_time, start_time, end_time, elapsed, time_limit, cpus, nodes, cpu_time, "
      "total_cpu, req_mem, max_rss, ave_rss, job_rss, "
      "disk_read, disk_write, energy, gpus, gpu_util_milli, restarts) "
      "SELECT i, i // 2, i // 3, 'c', 'u' || i, 'a' || i, 'p' || i, 'q' || i, 'n' || i, 'app' || i, "
      "['COMPLETED', 'NODE_FAIL'][1 + i % 2], 'n' || i, t, t, t, t + "
      "INTERVAL 2 HOUR, 7200, 9000, 1, 1, 7200, 36000, 1073741824, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM (SELECT i, "
      "TIMESTAMP '2021-05-01' + i * INTERVAL 1 MINUTE AS t FROM range(1000) r(i))");
  make_views();
  for (const Plugin& plugin : plugins_)
    for (const ReportSpec& spec : plugin.reports) {
      const ReportResult result = run_report(store_.connection(), spec, order_);
      EXPECT_NE(result.outcome, Outcome::failed) << spec.id() << ": " << result.why;
      EXPECT_LE(result.table.rows.size(), spec.id() == "quality.audit" ? 300u : 110u) << spec.id();
    }
}

// Table 3 of the paper: the coverage of each queue from its used and demanded core-hours.  Four of the
// printed coverages (nice2 97.63, interact 53.91, nice10 46.72, vis 34.68) come from inputs before they were
// rounded.
TEST_F(Shipped, GiveTheCoverageOfThePapersTable3) {
  struct Row {
    const char* queue;
    double used, demanded;  // 10,000 core-hours
    const char* coverage;
  };
  const Row table[] = {{"small", 7858.99, 8940.95, "87.90"}, {"big", 4704.23, 5365.00, "87.68"},
                       {"nice9", 1184.99, 1363.86, "86.89"}, {"nice4", 595.53, 698.65, "85.24"},
                       {"work", 161.32, 262.13, "61.54"},    {"nice1", 82.04, 94.33, "86.97"},
                       {"nice2", 69.95, 71.64, "97.64"},     {"interact", 20.25, 37.57, "53.90"},
                       {"nice10", 4.45, 9.53, "46.69"},      {"vis", 0.11, 0.31, "35.48"}};
  for (const Row& row : table) {
    // One job of 10,000 cores: its run time makes the used core-hours, its wait the queued ones.
    const auto run_s = std::llround(row.used * 3600), wait_s = std::llround((row.demanded - row.used) * 3600);
    fill(
        fmt::format("INSERT INTO jobs (job_id, partition, state, submit_time, start_time, end_time, elapsed, "
                    "cpus, cpu_time) "
                    "SELECT '{0}', '{0}', 'COMPLETED', t, t + INTERVAL {2} SECOND, t + INTERVAL {3} SECOND, "
                    "{1}, 10000, {1}0000 "
                    "FROM (SELECT TIMESTAMP '2018-05-01' AS t)",
                    row.queue, run_s, wait_s, wait_s + run_s));
  }
  make_views();
  const ReportResult result = run("jobwait.queue");
  ASSERT_EQ(result.outcome, Outcome::made) << result.why;
  std::map<std::string, std::string> coverage;
  for (const auto& row : result.table.rows)
    coverage[std::get<std::string>(row[1])] = fmt::format("{:.2f}", std::get<double>(row[5]));
  for (const Row& row : table) EXPECT_EQ(coverage[row.queue], row.coverage) << row.queue;
  EXPECT_EQ(coverage["(all)"], "87.16");
}

// The bits of the page of the data's quality are those that the merge sets.
TEST_F(Shipped, NameEachRepairAndFlaw) {
  const std::string fields = contents(SB_HERE "/../../src/workload/job/fields.h");
  for (const auto& [word, bits] : {std::pair("enum class Repair", 1), std::pair("enum class Flaw", 2)}) {
    std::string body = fields.substr(fields.find(word));
    body = body.substr(body.find('{') + 1, body.find("};") - body.find('{') - 1);
    int place = 0;
    for (std::size_t i = 0; i < body.size();) {
      if (body.compare(i, 2, "//") == 0) {
        i = body.find('\n', i);
      } else if (std::islower(static_cast<unsigned char>(body[i]))) {
        const std::size_t end = body.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", i);
        const std::string name = body.substr(i, end - i);
        fill(fmt::format("DELETE FROM jobs; INSERT INTO jobs (job_id, {}) VALUES ('1', {})",
                         bits == 1 ? "repairs" : "flaws", 1 << place));
        make_views();
        const auto all = rows("quality.repairs");
        ASSERT_EQ(all.size(), 1u) << name;
        EXPECT_EQ(all[0].at("kind"), name);
        EXPECT_EQ(all[0].at("what"), bits == 1 ? "mended" : "left");
        ++place;
        i = end;
      } else {
        ++i;
      }
    }
    EXPECT_GT(place, 7) << word;
  }
}

// Without node events nobody knows what was available; without nodes not even how much there is.
TEST_F(Shipped, NeverTakeAvailabilityFromJobsAlone) {
  fill_small();
  fill("DELETE FROM node_events");
  make_views();
  EXPECT_FALSE(tiles().contains("Availability"));
  EXPECT_EQ(tiles()["Utilisation"], "20.18");  // 155.01 of 768 core-hours
  for (const auto& row : rows("systatus.utilisation")) {
    EXPECT_EQ(row.at("availability"), "-");
    EXPECT_EQ(row.at("available_core_h"), "-");
  }
  fill("DELETE FROM nodes");
  make_views();
  EXPECT_FALSE(tiles().contains("Utilisation"));
  order_.plugins = plugins_;
  const auto document = make_document(store_.connection(), order_);
  ASSERT_TRUE(document);
  for (const ReportResult& result : document->results)
    if (result.spec.id() == "systatus.utilisation") {
      EXPECT_EQ(result.outcome, Outcome::left_out);
    }
}

// The days of a zone: what ran from 20:00 to 04:00 UTC lies, in Berlin in May, from 22:00 to 06:00.
TEST_F(Shipped, SpreadCoreHoursOverTheDaysOfTheZone) {
  fill(
      "INSERT INTO jobs (job_id, state, submit_time, start_time, end_time, elapsed, cpus, cpu_time) VALUES "
      "('1', 'COMPLETED', '2021-05-01 20:00:00', '2021-05-01 20:00:00', '2021-05-04 04:00:00', 201600, 10, "
      "2016000)");
  order_.views.filter.from = at("2021-04-30T22:00:00Z");
  order_.views.filter.to = at("2021-05-04T22:00:00Z");
  order_.views.zone = TimeZone::make("Europe/Berlin")->changes();
  make_views();
  std::string days;
  for (const auto& row : rows("systatus.flow")) days += row.at("day") + " " + row.at("core_h") + "\n";
  EXPECT_EQ(days, "2021-05-01 20\n2021-05-02 240\n2021-05-03 240\n2021-05-04 60\n");
}

}  // namespace
}  // namespace sickbay::workload
