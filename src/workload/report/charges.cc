// SPDX-License-Identifier: Apache-2.0
#include "workload/report/charges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "adapters/duckdb/database.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::workload {
namespace {

tl::unexpected<Error> wrong(std::string_view word, std::string_view what) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{} {}", quote_for_message(word), what))
                  .remedied_by("write weights as Slurm's TRESBillingWeights: "
                               "\"CPU=1.0,Mem=0.25G,GRES/gpu=2.0\"; known are CPU, Mem, Node, GRES/gpu and "
                               "GRES/gpu:KIND"));
}

// How many GiB the unit behind a weight of memory is; 0: there is no such unit.
double gib_of(char unit) {
  switch (to_upper(unit)) {
    case 'K':
      return std::ldexp(1, -20);
    case 'M':
      return std::ldexp(1, -10);
    case 'G':
      return 1;
    case 'T':
      return std::ldexp(1, 10);
    case 'P':
      return std::ldexp(1, 20);
    default:
      return 0;
  }
}

// Written so that SQL reads the same number again.
std::string number(double value) { return fmt::format("{}::DOUBLE", value); }

bool starts_ignoring_case(std::string_view text, std::string_view with) {
  return equal_ignoring_case(text.substr(0, with.size()), with);
}

// The weight of a GPU of the job's kind.
std::string gpu_weight_sql(const ChargeRate& rate) {
  std::string sql;
  for (const auto& [kind, weight] : rate.gpu_kinds)
    sql += fmt::format(" WHEN gpu_type = {} THEN {}", duck::quote(kind), number(weight));
  return sql.empty() ? number(rate.gpu) : fmt::format("CASE{} ELSE {} END", sql, number(rate.gpu));
}

// Service-unit-seconds of a job by one rate; a resource that is not known costs nothing.
std::string rate_sql(const ChargeRate& rate, bool most, std::string_view core_s) {
  std::vector<std::string> parts;
  if (rate.core != 0) parts.push_back(fmt::format("{} * coalesce({}, 0)", number(rate.core), core_s));
  const auto add = [&](const std::string& weight, std::string_view amount) {
    parts.push_back(fmt::format("{} * coalesce({} * elapsed, 0)", weight, amount));
  };
  if (rate.gib != 0) add(number(rate.gib), "req_mem / 1073741824.0::DOUBLE");
  if (rate.node != 0) add(number(rate.node), "nodes");
  if (rate.gpu != 0 || !rate.gpu_kinds.empty()) add(gpu_weight_sql(rate), "gpus");
  if (parts.empty()) return "0::DOUBLE";
  std::string sql;
  for (const std::string& part : parts) sql += (sql.empty() ? "" : most ? ", " : " + ") + part;
  return most && parts.size() > 1 ? fmt::format("greatest({})", sql) : '(' + sql + ')';
}

}  // namespace

Result<ChargeRate> parse_charge_rate(std::string_view partition, std::string_view weights) {
  ChargeRate rate;
  rate.partition = partition;
  for (std::string_view rest = weights; !rest.empty();) {
    const std::string_view word = trimmed(next_part(rest, ','));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return wrong(word, "is not of the form RESOURCE=WEIGHT");
    const std::string_view name = trimmed(word.substr(0, equals));
    std::string_view value = trimmed(word.substr(equals + 1));
    const bool memory = equal_ignoring_case(name, "Mem");
    double unit = memory ? gib_of('M') : 1;
    if (memory && !value.empty() && gib_of(value.back()) > 0) {
      unit = gib_of(value.back());
      value.remove_suffix(1);
    }
    const auto weight = to_fraction(value);
    if (!weight || !std::isfinite(*weight) || *weight < 0) return wrong(word, "has no weight of 0 or more");
    constexpr std::string_view kGpuKind = "GRES/gpu:";
    if (memory)
      rate.gib = *weight / unit;
    else if (equal_ignoring_case(name, "CPU"))
      rate.core = *weight;
    else if (equal_ignoring_case(name, "Node"))
      rate.node = *weight;
    else if (equal_ignoring_case(name, "GRES/gpu"))
      rate.gpu = *weight;
    else if (starts_ignoring_case(name, kGpuKind) && name.size() > kGpuKind.size())
      rate.gpu_kinds.emplace_back(name.substr(kGpuKind.size()), *weight);
    else
      return wrong(name, "is nothing that jobs are charged for here");
  }
  return rate;
}

std::string charge_sql(const Charges& charges, std::string_view core_s) {
  if (charges.rates.empty()) return fmt::format("{} / 3600.0::DOUBLE", core_s);
  std::string sql, others = rate_sql({"*", 1, 0, 0, 0, {}}, false, core_s);
  for (const ChargeRate& rate : charges.rates) {
    const std::string amount = rate_sql(rate, charges.most, core_s);
    if (rate.partition == "*")
      others = amount;
    else
      sql += fmt::format(" WHEN \"partition\" = {} THEN {}", duck::quote(rate.partition), amount);
  }
  return fmt::format("CASE WHEN {} IS NULL AND elapsed IS NULL THEN NULL{} ELSE {} END / 3600.0::DOUBLE",
                     core_s, sql, others);
}

}  // namespace sickbay::workload
