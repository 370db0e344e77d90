// SPDX-License-Identifier: Apache-2.0
// The shipped reports where the data are odd: what a log lacks, what lies beyond the period, names that two
// kinds of things share, and ties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shipped_parts.h"

namespace sickbay::workload {
namespace {

// A log that names no users (drac-2021) has no ranking of users, not one bar "(no user)".
TEST_F(Shipped, RankNoUsersWhereTheLogNamesNone) {
  fill_small();
  fill("UPDATE jobs SET user_name = NULL, uid = 1");
  order_.plugins = plugins_;
  const auto document = make_document(store_.connection(), order_);
  ASSERT_TRUE(document) << document.error().line();
  std::vector<std::string> left_out;
  for (const ReportResult& result : document->results)
    if (result.outcome == Outcome::left_out && result.why.find("user_name") != result.why.npos)
      left_out.push_back(result.spec.id());
  EXPECT_THAT(left_out, testing::UnorderedElementsAre(
                            "accounts.users", "appfeature.people", "appfeature.users", "cpuutilz.people",
                            "efficiency.wasted", "floods.bursts", "gpu.user", "idle.users", "limits.users",
                            "memutilz.over_request", "people.months", "quality.audit"));
}

// A job that touches the period and ends months after it would add bars to the right of it.
TEST_F(Shipped, ShowNoMonthsBeyondThePeriod) {
  fill_small();
  fill(
      "INSERT INTO jobs (job_id, state, submit_time, start_time, end_time, elapsed, cpus, cpu_time, energy, "
      "gpus) VALUES ('9', 'COMPLETED', '2021-05-02', '2021-05-02', '2021-08-02', 7948800, 1, 7948800, 3600, "
      "1), "
      "('8', 'COMPLETED', '2021-04-02', '2021-04-02', '2021-05-01 01:00:00', 100, 1, 100, 3600, 1)");
  make_views();
  for (const char* id : {"cpuutilz.size", "energy.month", "gpu.month"})
    for (const auto& row : rows(id)) EXPECT_EQ(row.at("month"), "2021-05-01") << id;
}

// Of two as frequent the first by name, whichever thread saw which first.
TEST_F(Shipped, TakeTheFirstByNameOfThoseAsFrequent) {
  const char* const jobs =
      "INSERT INTO jobs (job_id, array_job_id, user_name, job_name, application, state, submit_time, "
      "start_time, "
      "end_time, elapsed, cpus, cpu_time, total_cpu, exit_code, exit_signal, node_list) "
      "SELECT i, 7, 'ann', ['y', 'x'][1 + i % 2], ['vasp', 'cp2k'][1 + i % 2], 'FAILED', t, t, t + INTERVAL "
      "1 "
      "HOUR, 3600, 1, 3600, 1000, [3, 2][1 + i % 2], [11, 9][1 + i % 2], 'n1' FROM (SELECT {} AS i, "
      "TIMESTAMP "
      "'2021-05-01' AS t FROM range(5000) r(n))";
  for (const char* number : {"n", "4999 - n"}) {
    fill(
        "DELETE FROM jobs; DELETE FROM node_events; INSERT INTO node_events (node, state, begins, ends, "
        "cpus, reason) VALUES ('n1', 'DOWN', "
        "'2021-05-01', "
        "'2021-05-02', 1, 'b'), ('n1', 'DOWN', '2021-05-01', '2021-05-02', 1, 'a')");
    fill(fmt::format(fmt::runtime(jobs), number));
    make_views();
    EXPECT_EQ(rows("efficiency.wasted")[0]["application"], "cp2k");
    EXPECT_EQ(rows("arrays.arrays")[0]["application"], "cp2k");
    EXPECT_EQ(rows("arrays.arrays")[0]["array"], "7 x");
    EXPECT_EQ(rows("jobstate.trend")[0]["top_exit_code"], "2");
    EXPECT_EQ(rows("jobstate.trend")[0]["top_signal"], "9");
    EXPECT_EQ(rows("nodes.failures")[0]["reason"], "a");
  }
}

// A Pareto of the first rows ends under 100 % by what the others hold.
TEST_F(Shipped, TakeTheSharesOfParetosFromTheWhole) {
  fill_small();
  fill("UPDATE jobs SET energy = 3600 WHERE user_name = 'bob'");
  std::size_t paretos = 0;
  for (const Plugin& plugin : plugins_)
    for (const ReportSpec& spec : plugin.reports) {
      if (spec.chart.kind != "pareto") continue;
      ++paretos;
      ASSERT_TRUE(spec.chart.options.contains("share")) << spec.id();
      EXPECT_EQ(spec.units.at(spec.chart.options.at("share")), "%") << spec.id();
    }
  EXPECT_EQ(paretos, 3u);
  ASSERT_TRUE(set_parameters(
      plugins_,
      {{"cpuutilz.application.top", "1"}, {"energy.application.top", "1"}, {"efficiency.wasted.top", "1"}}));
  make_views();
  for (const char* id : {"cpuutilz.application", "energy.application", "efficiency.wasted"}) {
    const auto all = rows(id);
    ASSERT_EQ(all.size(), 1u) << id;
    EXPECT_LT(std::stod(all[0].at("share")), 99.9) << id;
  }
}

// Two clusters with a node n1 each, of which one grew; a third of which the store has nodes alone.  What awk
// makes of the same is compared in test/cli/clusters.sh.
TEST_F(Shipped, KeepClustersApart) {
  fill(
      "INSERT INTO nodes (cluster, node, cpus, valid_from) VALUES ('a', 'n1', 16, NULL), ('a', 'n2', 16, "
      "NULL), "
      "('a', 'n2', 32, '2021-05-02'), ('b', 'n1', 64, NULL), ('z', 'n1', 1000, NULL);"
      "INSERT INTO node_events (cluster, node, state, begins, ends, reason) VALUES "
      "('a', 'n2', 'DOWN', '2021-05-02', '2021-05-02 06:00:00', 'disk'), "
      "('b', 'n1', 'DOWN', '2021-05-01 12:00:00', '2021-05-01 18:00:00', 'fan'), "
      "('z', 'n1', 'DOWN', '2021-05-01', '2021-05-03', 'gone');"
      "INSERT INTO jobs (cluster, job_id, job_id_raw, partition, state, submit_time, start_time, end_time, "
      "elapsed, "
      "cpus, cpu_time, node_list) VALUES "
      "('a', '1', 1, 'cpu', 'NODE_FAIL', '2021-05-01', '2021-05-01', '2021-05-02 12:00:00', 129600, 16, "
      "2073600, "
      "'n1'), ('b', '1', 1, 'cpu', 'NODE_FAIL', '2021-05-01', '2021-05-01', '2021-05-01 12:00:00', 43200, 8, "
      "345600, "
      "'n1'), ('c', '1', 1, 'cpu', 'COMPLETED', '2021-05-01', '2021-05-01', '2021-05-02', 86400, 500, "
      "43200000, "
      "'n1')");
  order_.views.filter.from = at("2021-05-01T00:00:00Z");
  order_.views.filter.to = at("2021-05-03T00:00:00Z");
  make_views();
  const auto apart = rows("systatus.clusters");
  ASSERT_EQ(apart.size(), 3u);  // by core-hours: c, a, b; z has no jobs
  EXPECT_EQ(apart[0].at("cluster"), "c");
  EXPECT_EQ(apart[0].at("utilisation"), "-");
  // a: n1 768; n2 384 and 768, of which 192 were lost.
  EXPECT_EQ(apart[1].at("total_core_h"), "1920");
  EXPECT_EQ(apart[1].at("available_core_h"), "1728");
  EXPECT_EQ(apart[1].at("availability"), "90");
  EXPECT_EQ(apart[1].at("utilisation"), "33.33");  // 576 of 1728
  EXPECT_EQ(apart[2].at("total_core_h"), "3072");
  EXPECT_EQ(apart[2].at("utilisation"), "3.571");  // 96 of 2688
  // Of both, without c, whose nodes are not known: 672 of 4416; before, all jobs over all nodes: 1572 %.
  EXPECT_EQ(tiles()["Utilisation"], "15.22");
  EXPECT_EQ(tiles()["Availability"], "88.46");  // 4416 of 4992
  double available = 0, used = 0;
  for (const auto& row : rows("systatus.utilisation")) {
    available += std::stod(row.at("available_core_h"));
    used += std::stod(row.at("used_core_h"));
  }
  EXPECT_DOUBLE_EQ(available, 4416);
  EXPECT_DOUBLE_EQ(used, 672);
  std::set<std::string> nodes, partitions;
  for (const auto& row : rows("nodes.failures"))
    nodes.insert(row.at("cluster") + " " + row.at("node") + " " + row.at("node_fail_jobs") + " " +
                 row.at("events"));
  EXPECT_THAT(nodes, testing::ElementsAre("a n1 1 0", "a n2 0 1", "b n1 1 1", "z n1 0 1"));
  for (const auto& row : rows("systatus.top"))
    if (row.at("kind") == "partition") partitions.insert(row.at("name"));
  EXPECT_THAT(partitions, testing::ElementsAre("cpu@a", "cpu@b", "cpu@c"));
  order_.views.filter.clusters = {"b"};
  make_views();
  EXPECT_EQ(tiles()["Utilisation"], "3.571");
  EXPECT_EQ(rows("systatus.clusters").size(), 1u);
  EXPECT_EQ(rows("systatus.top")[0].at("name"), "cpu");
}

// A log without a cluster and a list of nodes without one, beside events that name it: all are of the one.
TEST_F(Shipped, TakeTheOnlyClusterWhereNoneIsNamed) {
  fill_small();
  fill("UPDATE jobs SET cluster = NULL; UPDATE nodes SET cluster = NULL");
  make_views();
  EXPECT_EQ(tiles()["Availability"], "90.62");
  EXPECT_EQ(tiles()["Utilisation"], "22.27");
  ASSERT_EQ(rows("systatus.clusters").size(), 1u);
  EXPECT_EQ(rows("systatus.clusters")[0].at("cluster"), "c");
  fill("UPDATE node_events SET cluster = 'd' WHERE node = 'n1'");  // now it could be c or d
  make_views();
  EXPECT_FALSE(tiles().contains("Availability"));
  EXPECT_EQ(tiles()["Utilisation"], "20.18") << "jobs and nodes without a name still belong together";
}

// bridges.txt says neither times nor users: its reports are of jobs, and no axis is made of nothing.
TEST_F(Shipped, RankByJobsWhereTheLogHasNoTimes) {
  fill(
      "INSERT INTO jobs (job_id, array_job_id, job_name, application, labelled_by, state, cpus) SELECT i, i "
      "// 4, 'a', "
      "['vasp', 'cp2k', 'cp2k', 'unknown'][1 + i % 4], 'keyword', 'COMPLETED', 4 FROM range(40) r(i)");
  make_views();
  const auto radar = rows("appfeature.radar");
  ASSERT_EQ(radar.size(), 2u);
  EXPECT_EQ(radar[0].at("application"), "cp2k");
  EXPECT_EQ(radar[0].at("jobs"), "20");
  EXPECT_EQ(radar[0].at("jobs_rank"), "1");
  EXPECT_EQ(radar[0].at("core_hours"), "-");
  EXPECT_EQ(radar[0].at("core_hours_rank"), "-");
  EXPECT_EQ(radar[0].at("main_users"), "-: 20, -, 100 %");
  EXPECT_EQ(rows("appfeature.coverage")[0].at("job_share"), "75");
  EXPECT_EQ(rows("appfeature.ranking")[0].at("application"), "cp2k");
  EXPECT_EQ(rows("arrays.arrays")[0].at("tasks"), "4");
  order_.plugins = plugins_;
  const auto document = make_document(store_.connection(), order_);
  ASSERT_TRUE(document);
  for (const ReportResult& result : document->results)
    if (result.spec.id() == "appfeature.boxes") {
      EXPECT_EQ(result.outcome, Outcome::left_out);
    }
}

}  // namespace
}  // namespace sickbay::workload
