// SPDX-License-Identifier: Apache-2.0
// The file is {"sickbay_baseline":1,"metrics":{"membw":{"median":9500.0,"tolerance":0.3,...}}}.
#include "baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/robust.h"
#include "report.h"

namespace sickbay::verify {
namespace {

/// Recorded extremes are widened by this much: the next good node may lie a little further out.
constexpr double kWiden = 1.5;
constexpr double kWidest = 0.9;  ///< beyond this a low bound says nothing

Baseline::Row row_of(const Metric& metric, const std::vector<double>& values) {
  Baseline::Row row;
  row.median = median_of(values).value_or(0);
  row.samples = static_cast<int>(values.size());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double spread = metric.higher_is_better ? row.median - *least : *most - row.median;
  const double share = row.median > 0 ? kWiden * spread / row.median : 0;
  row.tolerance = std::max(metric.floor, metric.higher_is_better ? std::min(share, kWidest) : share);
  return row;
}

}  // namespace

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = {
      {"cpu", "cpu", "value", "Mpairs/s", true, 0.15},
      {"membw", "membw", "value", "MB/s", true, 0.25},
      {"disk", "disk", "value", "MB/s", true, 0.60},
      {"net_bandwidth", "net", "value", "MB/s", true, 0.30},
      {"net_latency", "net", "latency_us", "us", false, 1.00},
  };
  return table;
}

Result<Baseline> Baseline::load(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(Error(ErrorCode::not_found, "no baseline at " + path).because(std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  const std::string bytes = text.str();
  auto parsed = Json::parse(bytes, {.source = path});
  if (!parsed) return fail(std::move(parsed.error()).in("reading the baseline " + path));
  const Json& rows = (*parsed)["metrics"];
  if ((*parsed)["sickbay_baseline"].as_int() != 1 || !rows.is_object())
    return fail(Error(ErrorCode::bad_input, path + " is no baseline of this version")
                    .remedied_by("record one: sickbay-verify baseline " + path + " < lines of a good run"));
  Baseline baseline;
  for (const auto& [name, row] : rows.members()) {
    const bool known = std::any_of(metrics().begin(), metrics().end(),
                                   [&](const Metric& metric) { return metric.name == name; });
    if (!known) return fail(ErrorCode::bad_input, path + ": no metric is called '" + name + "'");
    Row read{row["median"].as_double(-1), row["tolerance"].as_double(-1),
             static_cast<int>(row["samples"].as_int())};
    if (!(read.median > 0) || !(read.tolerance >= 0))
      return fail(ErrorCode::bad_input, path + ": '" + name + "' needs a median over 0 and a tolerance");
    baseline.rows_[name] = read;
  }
  return baseline;
}

Result<Baseline> Baseline::record(std::istream& lines) {
  std::map<std::string_view, std::vector<double>> values;
  for (std::string text; std::getline(lines, text);) {
    if (text.empty() || text[0] != '{') continue;
    const auto line = Json::parse(text);
    if (!line || (*line)["sickbay_verify"].as_int() != 1) continue;
    if (!(*line)["ok"].as_bool(true) || (*line)["slow"].as_bool(false))
      return fail(
          Error(ErrorCode::bad_input,
                fmt::format("node {} was found {} in phase {}", (*line)["node"].as_string(),
                            (*line)["ok"].as_bool(true) ? "slow" : "wrong", (*line)["phase"].as_string()))
              .because("a baseline is what good nodes do")
              .remedied_by("leave that node out, or repair it, and record again"));
    for (const Metric& metric : metrics())
      if ((*line)["phase"].as_string() == metric.phase && (*line)[metric.field].is_number())
        values[metric.name].push_back((*line)[metric.field].as_double());
  }
  if (values.empty())
    return fail(Error(ErrorCode::bad_input, "no line with a value on standard input")
                    .remedied_by("run sickbay-verify on good nodes and feed its output"));
  Baseline baseline;
  for (const Metric& metric : metrics())
    if (const auto it = values.find(metric.name); it != values.end())
      baseline.rows_[std::string(metric.name)] = row_of(metric, it->second);
  return baseline;
}

Status Baseline::save(const std::string& path) const {
  Json rows = Json::object();
  for (const Metric& metric : metrics()) {
    const auto it = rows_.find(metric.name);
    if (it == rows_.end()) continue;
    rows.set(std::string(metric.name), Json::object({{"median", it->second.median},
                                                     {"tolerance", it->second.tolerance},
                                                     {"unit", metric.unit},
                                                     {"samples", it->second.samples}}));
  }
  const std::string beside = path + ".new";
  std::ofstream out(beside);
  out << Json::object({{"sickbay_baseline", 1}, {"metrics", rows}}).pretty() << "\n";
  out.close();
  if (!out || std::rename(beside.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(beside.c_str());
    return fail(Error(ErrorCode::storage_broken, "cannot write the baseline " + path).because(why));
  }
  return {};
}

void Baseline::judge(Finding& finding) const {
  for (const Metric& metric : metrics()) {
    if (finding.phase != metric.phase) continue;
    const auto row = rows_.find(metric.name);
    if (row == rows_.end()) continue;
    const bool own = metric.field == "value";
    const double* value = own ? &finding.value : nullptr;
    for (const auto& [name, number] : finding.also)
      if (name == metric.field) value = &number;
    if (!value) continue;
    const double bound = row->second.median *
                         (metric.higher_is_better ? 1 - row->second.tolerance : 1 + row->second.tolerance);
    if (own) (metric.higher_is_better ? finding.lowest : finding.highest) = bound;
    if (metric.higher_is_better ? *value >= bound : *value <= bound) continue;
    finding.slow = true;
    finding.detail += fmt::format("{}{} of {:.4g} {} is off the baseline ({:.4g}, at {} {:.4g})",
                                  finding.detail.empty() ? "" : "; ", metric.name, *value, metric.unit,
                                  row->second.median, metric.higher_is_better ? "least" : "most", bound);
  }
}

}  // namespace sickbay::verify
