// SPDX-License-Identifier: Apache-2.0
#include "sample_document.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

namespace sickbay::workload {
namespace {

using duck::Type;
using duck::Value;
using Row = std::vector<Value>;

constexpr std::int64_t kDay = 86'400'000'000, kStart = 1'619'827'200'000'000;  // 2021-05-01

// Names as logs have them, and as somebody who means ill would choose them.
constexpr std::array kNames = {
    "lammps",
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=2>",
    "a\"onmouseover=\"window.hit=3",
    "o'brien & søn <b>bold</b>",
    "gromacs",
    "vasp",
    "quantum-espresso-with-a-name-that-does-not-end-before-the-edge-of-the-page-is-reached_v7.2_final2",
    "=HYPERLINK(\"http://example.org\")",
    "第一性原理计算程序",
    "молекулярная динамика",
    "javascript:window.hit=4",
    "{b|rich} %s {{body}} ${x}",
    "line\nbreak\tand\x01"
    "control",
    "right\u202eleft",
    "bad\xff"
    "bytes",
    "--><!--",
    "openfoam",
    "wrf",
    "cp2k",
    "namd",
    "nwchem",
    "siesta",
    "abinit",
    "orca",
    "gaussian",
    "star-ccm",
    "fluent",
    "ansys",
    "relion",
    "alphafold",
    "tensorflow",
    "pytorch",
    "blast",
    "matlab",
    "r-script"};

class Dice {
 public:
  double up_to(double most) { return most * static_cast<double>(engine_() % 1'000'000) / 1e6; }

 private:
  std::mt19937 engine_{20211121};
};

struct Made {
  std::string name, title, chart_kind;
  std::map<std::string, std::string> options;
  std::vector<std::pair<duck::ResultColumn, std::string>> columns;
};

ReportResult result_of(const std::string& plugin, Made made, std::vector<Row> rows) {
  ReportResult result;
  result.spec.plugin = plugin;
  result.spec.name = made.name;
  result.spec.title = made.title;
  result.spec.note =
      "Read from left to right; a high bar at the left means that few users hold much of the system.\nA "
      "second line.";
  result.spec.left_out = "Jobs that never began, and jobs under 30 minutes.";
  result.spec.sql =
      "SELECT user_name, sum(core_h) AS core_h -- <script>window.hit=5</script>\nFROM j GROUP BY ALL ORDER "
      "BY 2 DESC";
  result.spec.chart = {made.chart_kind, made.options};
  for (auto& [column, unit] : made.columns) {
    if (!unit.empty()) result.spec.units[column.name] = unit;
    result.table.columns.push_back(column);
  }
  result.table.rows = std::move(rows);
  return result;
}

std::vector<ReportResult> quality() {
  std::vector<ReportResult> all;
  std::vector<Row> coverage;
  for (const char* name :
       {"submit", "eligible", "start", "end", "max_rss", "total_cpu", "req_gpus", "energy"})
    coverage.push_back({name, std::string(name).size() > 6 ? 71.25 : 99.96, std::int64_t{1'145'393}});
  all.push_back(result_of(
      "quality",
      {"coverage",
       "How far each column is filled",
       "hbar",
       {{"x", "column_name"}, {"y", "share"}},
       {{{"column_name", Type::text}, ""}, {{"share", Type::real}, "%"}, {{"jobs", Type::integer}, "jobs"}}},
      coverage));
  all.push_back(result_of("quality",
                          {"imports",
                           "What was imported",
                           "none",
                           {},
                           {{{"source", Type::text}, ""},
                            {{"rows", Type::integer}, "count"},
                            {{"at", Type::time}, ""},
                            {{"whole", Type::boolean}, ""}}},
                          {{"/data/sacct <2021>.txt", std::int64_t{3'400'000}, kStart + 36'000'000'000, true},
                           {"b.txt", Value(), Value(), false}}));
  return all;
}

std::vector<ReportResult> overall(Dice& dice) {
  std::vector<ReportResult> all;
  all.push_back(result_of("systatus",
                          {"summary",
                           "The period at a glance",
                           "tiles",
                           {},
                           {{{"jobs", Type::integer}, "jobs"},
                            {{"core_h", Type::real}, "core-h"},
                            {{"availability", Type::real}, "%"},
                            {{"utilisation", Type::real}, "%"},
                            {{"coverage", Type::real}, "%"},
                            {{"users", Type::integer}, "users"},
                            {{"median_wait", Type::real}, "s"},
                            {{"first_job", Type::time}, ""},
                            {{"energy", Type::real}, "kWh"}}},
                          {{std::int64_t{1'145'393}, 98'765'432.1, 98.7, 81.25, 64.0, std::int64_t{412},
                            4321.0, kStart + 12'345'000'000, Value()}}));
  all.push_back(result_of("systatus",
                          {"kinds",
                           "Figures by name",
                           "tiles",
                           {},
                           {{{"name", Type::text}, ""},
                            {{"value", Type::real}, ""},
                            {{"unit", Type::text}, ""},
                            {{"note", Type::text}, ""}}},
                          {{"Recognition rate", 97.11, "%", "over jobs longer than 30 minutes"},
                           {"Memory <asked>", 5821.5, "GiB", "of 9,000"}}));
  std::vector<Row> days, states, months;
  for (int day = 0; day < 184; ++day) {
    const double use = 84 + 10 * std::sin(day / 9.0) - (day % 37 == 0 ? 30 : 0) + dice.up_to(6);
    days.push_back({kStart + day * kDay, std::min(use, 100.0),
                    day == 50 ? Value() : Value(std::min(100.0, 95 + dice.up_to(5)))});
    for (const char* state : {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL",
                              "PREEMPTED", "DEADLINE", "BOOT_FAIL", "REQUEUED", "<u>X</u>"})
      if (state[0] != 'N' || day % 5 == 0)
        states.push_back(
            {kStart + day * kDay, state, state[0] == 'C' ? 4000 + dice.up_to(2000) : dice.up_to(400)});
  }
  for (int month = 0; month < 6; ++month)
    months.push_back({kStart + month * 31 * kDay / 31 * 30 + (month ? 0 : 0),
                      static_cast<std::int64_t>(12'000 + dice.up_to(9000)), 100'000 + dice.up_to(900'000)});
  const std::vector<std::pair<duck::ResultColumn, std::string>> day_columns = {
      {{"day", Type::time}, ""}, {{"utilisation", Type::real}, "%"}, {{"availability", Type::real}, "%"}};
  all.push_back(result_of("systatus",
                          {"use",
                           "Utilisation and availability by day",
                           "line",
                           {{"x", "day"}, {"y", "utilisation,availability"}, {"mark", "80"}},
                           day_columns},
                          days));
  all.push_back(result_of(
      "systatus", {"one", "Utilisation by day", "line", {{"x", "day"}, {"y", "utilisation"}}, day_columns},
      days));
  all.push_back(result_of(
      "systatus",
      {"states",
       "Core-hours by state",
       "stacked_area",
       {{"x", "day"}, {"y", "core_h"}, {"group", "state"}},
       {{{"day", Type::time}, ""}, {{"state", Type::text}, ""}, {{"core_h", Type::real}, "core-h"}}},
      states));
  all.push_back(result_of(
      "systatus",
      {"months",
       "Jobs and core-hours by month",
       "bar",
       {{"x", "month"}, {"y", "jobs,core_h"}},
       {{{"month", Type::time}, ""}, {{"jobs", Type::integer}, "jobs"}, {{"core_h", Type::real}, "core-h"}}},
      months));
  return all;
}

std::vector<ReportResult> use(Dice& dice) {
  std::vector<ReportResult> all;
  std::vector<Row> users, classes, waits, week, days, panels;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const double hours = 4'000'000 / std::pow(static_cast<double>(i) + 1, 1.2);
    users.push_back({kNames[i], hours, static_cast<std::int64_t>(hours / 90)});
    panels.push_back({kNames[i], hours, static_cast<std::int64_t>(hours / 90), 100 - dice.up_to(60)});
  }
  for (int i = 0; i < 700; ++i)
    users.push_back({fmt::format("user{:03}", i), 900.0 / (i + 1), std::int64_t{i}});
  for (const char* size : {"1", "2-8", "9-32", "33-128", "129-512", "513-2048", "> 2048"})
    for (const char* state : {"COMPLETED", "FAILED", "CANCELLED"})
      classes.push_back({size, state, dice.up_to(state[0] == 'C' ? 90'000 : 20'000)});
  for (const char* partition : {"cpu", "gpu", "bigmem", "debug", "<i>nice</i>"}) {
    const double middle = 30 + dice.up_to(9000);
    waits.push_back({partition, 0.0, middle / 9, middle, middle * 6, middle * 90});
  }
  for (int day = 0; day < 7; ++day)
    for (int hour = 0; hour < 24; ++hour)
      week.push_back({std::int64_t{day}, std::int64_t{hour},
                      60 + dice.up_to(3000) * std::exp(-std::pow((hour - 14) / 5.0, 2))});
  for (int i = 0; i < 120; ++i)
    days.push_back({kStart + i * kDay, static_cast<std::int64_t>(dice.up_to(5000)),
                    static_cast<std::int64_t>(dice.up_to(5000))});
  const std::vector<std::pair<duck::ResultColumn, std::string>> user_columns = {
      {{"user_name", Type::text}, ""}, {{"core_h", Type::real}, "core-h"}, {{"jobs", Type::integer}, "jobs"}};
  all.push_back(result_of(
      "use", {"users", "Core-hours by user", "pareto", {{"x", "user_name"}, {"y", "core_h"}}, user_columns},
      users));
  all.push_back(result_of(
      "use",
      {"apps", "Core-hours by application", "hbar", {{"x", "user_name"}, {"y", "core_h"}}, user_columns},
      users));
  all.push_back(result_of("use",
                          {"panels",
                           "Core-hours, jobs and efficiency by application",
                           "hbar",
                           {{"x", "application"}, {"y", "core_h,jobs,cpu_eff"}},
                           {{{"application", Type::text}, ""},
                            {{"core_h", Type::real}, "core-h"},
                            {{"jobs", Type::integer}, "jobs"},
                            {{"cpu_eff", Type::real}, "%"}}},
                          panels));
  all.push_back(result_of("use",
                          {"names",
                           "Core-hours by application, upright and logarithmic",
                           "bar",
                           {{"x", "user_name"}, {"y", "core_h"}, {"log", "y"}},
                           user_columns},
                          users));
  all.push_back(result_of(
      "use",
      {"classes",
       "Core-hours by size and outcome",
       "bar",
       {{"x", "size_class"}, {"y", "core_h"}, {"group", "state"}, {"stacked", "yes"}},
       {{{"size_class", Type::text}, ""}, {{"state", Type::text}, ""}, {{"core_h", Type::real}, "core-h"}}},
      classes));
  all.push_back(result_of("use",
                          {"days",
                           "Jobs submitted and started by day",
                           "bar",
                           {{"x", "day"}, {"y", "submitted,started"}},
                           {{{"day", Type::time}, ""},
                            {{"submitted", Type::integer}, "jobs"},
                            {{"started", Type::integer}, "jobs"}}},
                          days));
  // What the log does not tell: one figure, or all; and days as SQL's DATE gives them.
  const std::vector<std::pair<duck::ResultColumn, std::string>> gpu_columns = {
      {{"day", Type::text}, ""}, {{"core_h", Type::real}, "core-h"}, {{"gpu_h", Type::real}, "GPU-h"}};
  std::vector<Row> dates;
  for (int i = 1; i <= 28; ++i)
    dates.push_back({fmt::format("2021-02-{:02}", i), 100 + dice.up_to(50), Value()});
  all.push_back(result_of("use",
                          {"part_known",
                           "Core-hours and GPU-hours by day",
                           "line",
                           {{"x", "day"}, {"y", "core_h,gpu_h"}},
                           gpu_columns},
                          dates));
  all.push_back(result_of(
      "use", {"unknown", "GPU-hours by day", "bar", {{"x", "day"}, {"y", "gpu_h"}}, gpu_columns}, dates));
  const std::vector<std::pair<duck::ResultColumn, std::string>> wait_columns = {
      {{"partition", Type::text}, ""}, {{"low", Type::real}, "s"}, {{"q1", Type::real}, "s"},
      {{"median", Type::real}, "s"},   {{"q3", Type::real}, "s"},  {{"high", Type::real}, "s"}};
  const std::map<std::string, std::string> wait_options = {
      {"x", "partition"}, {"low", "low"},   {"q1", "q1"}, {"median", "median"},
      {"q3", "q3"},       {"high", "high"}, {"log", "y"}};
  all.push_back(result_of("use", {"wait", "Waiting by partition", "box", wait_options, wait_columns}, waits));
  for (std::size_t i = 0; i < 14; ++i) {
    const double middle = 30 + dice.up_to(90'000);
    waits.push_back({kNames[i], middle / 40, middle / 9, middle, middle * 3, middle * 20});
  }
  all.push_back(
      result_of("use", {"wait_apps", "Waiting by application", "box", wait_options, wait_columns}, waits));
  all.push_back(result_of(
      "use",
      {"week",
       "Median wait by weekday and hour of submission",
       "heatmap",
       {{"x", "hour"}, {"y", "weekday"}, {"value", "wait_s"}},
       {{{"weekday", Type::integer}, ""}, {{"hour", Type::integer}, "none"}, {{"wait_s", Type::real}, "s"}}},
      week));
  return all;
}

// Rows that say less than they seem to: the first of many, one name of two kinds, days and classes that lack.
std::vector<ReportResult> odd() {
  std::vector<ReportResult> all;
  const std::vector<std::pair<duck::ResultColumn, std::string>> kinds = {{{"kind", Type::text}, ""},
                                                                         {{"name", Type::text}, ""},
                                                                         {{"core_h", Type::real}, "core-h"},
                                                                         {{"share", Type::real}, "%"}};
  const std::vector<Row> names = {
      {"partition", "gpu", 50.0, 50.0}, {"QOS", "gpu", 30.0, 30.0}, {"all", "(all)", 10.0, 10.0}};
  all.push_back(result_of(
      "odd",
      {"first", "The first of many", "pareto", {{"x", "name"}, {"y", "core_h"}, {"share", "share"}}, kinds},
      names));
  ReportResult two = result_of("odd",
                               {"kinds",
                                "One name of two kinds",
                                "hbar",
                                {{"x", "name"}, {"y", "core_h"}, {"group", "kind"}, {"suffix", "kind"}},
                                kinds},
                               names);
  two.spec.words = {"kind"};
  all.push_back(two);
  const std::vector<std::pair<duck::ResultColumn, std::string>> days = {{{"day", Type::time}, ""},
                                                                        {{"jobs", Type::integer}, "jobs"}};
  std::vector<Row> few;
  for (const int day : {0, 1, 5, 60, 61}) few.push_back({kStart + day * kDay, std::int64_t{day + 1}});
  all.push_back(
      result_of("odd", {"gaps", "Days without a job", "line", {{"x", "day"}, {"y", "jobs"}}, days}, few));
  few.resize(1);
  all.push_back(result_of(
      "odd", {"one_day", "One day", "line", {{"x", "day"}, {"y", "jobs"}, {"mark", "80"}}, days}, few));
  // Months as SQL gives dates, one of them without a job; weeks; the rest of a report beside ours; a tree.
  const std::vector<std::pair<duck::ResultColumn, std::string>> use = {
      {{"begins", Type::text}, ""}, {{"name", Type::text}, ""}, {{"core_h", Type::real}, "core-h"}};
  std::vector<Row> months, weeks, tree;
  for (const char* month : {"2021-05-01", "2021-06-01", "2021-08-01"})
    for (int i = 0; i < 11; ++i)
      months.push_back({month, i == 10 ? "(all others)" : fmt::format("a{:02}", i), 20.0 - i});
  for (const char* week : {"2021-05-03", "2021-05-10", "2021-05-24"}) weeks.push_back({week, "a", 1.0});
  for (int i = 0; i < 100; ++i)
    tree.push_back({"", fmt::format("account{:02}", i), i % 2 == 0 ? 1.0 : 50.0 + i});
  const std::map<std::string, std::string> over_time = {
      {"x", "begins"}, {"y", "core_h"}, {"group", "name"}, {"stacked", "yes"}};
  all.push_back(result_of("odd", {"months", "Use by month", "bar", over_time, use}, months));
  all.push_back(result_of("odd", {"weeks", "Use by week", "bar", over_time, use}, weeks));
  all.push_back(result_of("odd",
                          {"tree",
                           "The largest, in their order",
                           "hbar",
                           {{"x", "name"}, {"y", "core_h"}, {"largest", "yes"}},
                           use},
                          tree));
  all.push_back(
      result_of("odd",
                {"classes",
                 "Classes as they come",
                 "bar",
                 {{"x", "what it does in words"}, {"y", "jobs"}, {"group", "size_class"}},
                 {{{"what it does in words", Type::text}, ""},
                  {{"size_class", Type::text}, ""},
                  {{"jobs", Type::integer}, "jobs"}}},
                {{"read and write alike", "large", std::int64_t{1}},
                 {"write over 10 times more than it reads", "small", std::int64_t{2}},
                 {"read 2 to 10 times more", "small", std::int64_t{3}},
                 {"do neither of the two, or not so that one could tell", "none", std::int64_t{3}}}));
  all.push_back(result_of(
      "odd",
      {"mark",
       "Marks on the second line",
       "line",
       {{"x", "day"}, {"y", "availability,utilisation"}, {"mark", "80"}, {"mark_of", "utilisation"}},
       {{{"day", Type::time}, ""}, {{"availability", Type::real}, "%"}, {{"utilisation", Type::real}, "%"}}},
      {{kStart, 50.0, 90.0}, {kStart + kDay, 99.0, 70.0}, {kStart + 2 * kDay, 99.0, Value()}}));
  all.push_back(
      result_of("odd",
                {"log",
                 "Figures of several powers of ten",
                 "bar",
                 {{"x", "name"}, {"y", "mean,most"}, {"log", "y"}},
                 {{{"name", Type::text}, ""}, {{"mean", Type::real}, "GiB"}, {{"most", Type::real}, "GiB"}}},
                {{"a", 0.5, 700.0}, {"b", 30.0, 9000.0}, {"c", Value(), 20.0}}));
  std::vector<Row> cells;
  for (std::int64_t hour = 0; hour < 20; ++hour)
    cells.push_back({hour, "one", hour == 7 ? 90000.0 : 100.0 + static_cast<double>(hour),
                     hour == 3 ? std::int64_t{2} : std::int64_t{500}});
  all.push_back(result_of("odd",
                          {"outlier",
                           "One cell far above the others",
                           "heatmap",
                           {{"x", "hour"}, {"y", "name"}, {"value", "wait"}, {"count", "jobs"}},
                           {{{"hour", Type::integer}, ""},
                            {{"name", Type::text}, ""},
                            {{"wait", Type::real}, "s"},
                            {{"jobs", Type::integer}, "jobs"}}},
                          cells));
  all.push_back(result_of("odd",
                          {"quantiles",
                           "Quantiles by their names",
                           "box",
                           {{"x", "name"},
                            {"low", "cores_p5"},
                            {"q1", "cores_p25"},
                            {"median", "cores_p50"},
                            {"q3", "cores_p75"},
                            {"high", "cores_p95"},
                            {"least", "cores_least"},
                            {"most", "cores_most"},
                            {"count", "jobs"}},
                           {{{"name", Type::text}, ""},
                            {{"cores_p5", Type::real}, "cores"},
                            {{"cores_p25", Type::real}, "cores"},
                            {{"cores_p50", Type::real}, "cores"},
                            {{"cores_p75", Type::real}, "cores"},
                            {{"cores_p95", Type::real}, "cores"},
                            {{"cores_least", Type::real}, "cores"},
                            {{"cores_most", Type::real}, "cores"},
                            {{"jobs", Type::integer}, "jobs"}}},
                          // Beyond both whiskers; one extreme is the whisker's end, the other is not known.
                          {{"a", 1.0, 2.0, 4.0, 8.0, 16.0, 0.5, 90.0, std::int64_t{40}},
                           {"b", 2.0, 3.0, 5.0, 8.0, 9.0, 2.0, Value(), std::int64_t{3}}}));
  all.push_back(result_of("odd",
                          {"profile",
                           "A profile with an unknown figure",
                           "radar",
                           {{"name", "name"}, {"axes", "users,jobs,io,wait"}, {"places", "_rank"}},
                           {{{"name", Type::text}, ""},
                            {{"users", Type::real}, "users"},
                            {{"users_rank", Type::real}, "ratio"},
                            {{"jobs", Type::real}, "jobs"},
                            {{"jobs_rank", Type::real}, "ratio"},
                            {{"io", Type::real}, "GiB"},
                            {{"io_rank", Type::real}, "ratio"},
                            {{"wait", Type::real}, "s"},
                            {{"wait_rank", Type::real}, "ratio"}}},
                          {{"a", 40.0, 1.0, 700.0, 0.5, Value(), Value(), 60.0, 0.25},
                           {"b", 3.0, 0.5, 700.0, 0.5, 2.0, 0.5, 90.0, 0.5}}));
  return all;
}

std::vector<ReportResult> applications(Dice& dice) {
  std::vector<ReportResult> all;
  std::vector<Row> features, points;
  const std::vector<const char*> axes = {
      "users",          "jobs",         "core_hours",   "activity", "success",
      "fluctuation",    "typical_size", "largest_size", "run_time", "memory_per_process",
      "memory_per_job", "input_output", "wait"};
  std::string names;
  std::vector<std::pair<duck::ResultColumn, std::string>> columns = {{{"application", Type::text}, ""}};
  for (const char* axis : axes) {
    columns.push_back({{axis, Type::real}, "ratio"});
    names += (names.empty() ? "" : ",") + std::string(axis);
  }
  for (std::size_t i = 0; i < 12; ++i) {
    Row row = {kNames[i]};
    for (std::size_t a = 0; a < axes.size(); ++a)
      row.push_back(a == 5 && i == 2 ? Value() : Value(0.15 + dice.up_to(0.8)));
    features.push_back(row);
  }
  for (int i = 0; i < 8000; ++i) {
    const double cores = std::pow(2.0, std::floor(dice.up_to(12)));
    points.push_back({kNames[static_cast<std::size_t>(i % 5)], static_cast<std::int64_t>(cores),
                      i % 400 == 0 ? 0.0 : std::exp(dice.up_to(6) + dice.up_to(6))});
  }
  all.push_back(result_of("appfeature",
                          {"radar",
                           "Thirteen features of the main applications",
                           "radar",
                           {{"name", "application"}, {"axes", names}},
                           columns},
                          features));
  all.push_back(result_of("appfeature",
                          {"size",
                           "Run time against size",
                           "scatter",
                           {{"x", "cores"}, {"y", "elapsed_s"}, {"group", "application"}, {"log", "xy"}},
                           {{{"application", Type::text}, ""},
                            {{"cores", Type::integer}, "cores"},
                            {{"elapsed_s", Type::real}, "s"}}},
                          points));
  points.resize(300);
  all.push_back(result_of("appfeature",
                          {"few",
                           "Run time against size, some jobs",
                           "scatter",
                           {{"x", "cores"}, {"y", "elapsed_s"}},
                           {{{"application", Type::text}, ""},
                            {{"cores", Type::integer}, "cores"},
                            {{"elapsed_s", Type::real}, "s"}}},
                          points));
  ReportResult failed = result_of(
      "appfeature", {"broken", "A report whose SQL is wrong", "bar", {{"x", "a"}, {"y", "b"}}, {}}, {});
  failed.outcome = Outcome::failed;
  failed.why = "Binder Error: column \"<script>window.hit=6</script>\" not found\nLINE 3: ^";
  all.push_back(failed);
  ReportResult empty =
      result_of("appfeature", {"empty", "GPU-hours by application", "bar", {{"x", "a"}, {"y", "b"}}, {}}, {});
  empty.outcome = Outcome::empty;
  all.push_back(empty);
  ReportResult absent =
      result_of("appfeature", {"energy", "Energy by application", "bar", {{"x", "a"}, {"y", "b"}}, {}}, {});
  absent.outcome = Outcome::left_out;
  absent.why = "the log has no energy";
  all.push_back(absent);
  return all;
}

}  // namespace

Document sample_document() {
  Dice dice;
  Document document;
  document.title = "Workload of hpc-1 </title><script>window.hit=7</script>";
  document.made_at = "2026-11-21 13:00 UTC";
  document.version = "0.1.0";
  document.facts = {{"Period", "2021-05-01 to 2021-10-31 (184 days)"},
                    {"Sources", "sacct.txt, 1,145,393 jobs <script>window.hit=8</script>"},
                    {"Only", "partitions cpu, gpu"},
                    {"Time zone", "Europe/Berlin"}};
  document.plugins = {
      {"systatus",
       "State of the system",
       "How much of the system was there, and how much of that was used.",
       "overall",
       "",
       10,
       {}},
      {"use", "Use and waiting", "Who used what, and waited how long.", "use", "", 20, {}},
      {"appfeature", "What applications are like", "", "applications", "", 30, {}},
      {"odd", "Odd logs", "What charts make of little.", "use", "", 25, {}},
      {"quality", "Quality of the data", "What was missing, repaired or rejected.", "quality", "", 40, {}}};
  document.orders["size_class"] = {"small", "large"};
  for (auto part : {overall(dice), use(dice), odd(), applications(dice), quality()})
    for (ReportResult& result : part) document.results.push_back(std::move(result));
  return document;
}

}  // namespace sickbay::workload
