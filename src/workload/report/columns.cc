// SPDX-License-Identifier: Apache-2.0
// The columns of j by name: what a head may need, and what a misspelt one meant.
#include <array>

#include "workload/job/fields.h"
#include "workload/report/views.h"

namespace sickbay::workload {
namespace {

// The order is that of doc/formats/report.md; the SQL of each stands in derived_sql().
constexpr auto kDerived = std::to_array<DerivedColumn>({
    {"submit_local", "submission in the zone of the report"},
    {"start_local", "start in the zone of the report"},
    {"end_local", "end in the zone of the report"},
    {"day", "day of the end, else of the start, else of the submission"},
    {"month", "first day of its month"},
    {"wait_s", "seconds from submission to start"},
    {"hold_s", "seconds from submission to eligible"},
    {"queue_s", "seconds from eligible to start"},
    {"cores", "cores allocated, else asked for"},
    {"core_s", "core-seconds allocated"},
    {"core_h", "core-hours allocated"},
    {"node_h", "node-hours allocated"},
    {"gpu_h", "GPU-hours allocated"},
    {"used_gpu_h", "GPU-hours in which the GPUs were used"},
    {"used_core_h", "CPU time used, in core-hours"},
    {"cpu_eff", "used / allocated"},
    {"limit_share", "run time / limit"},
    {"started", "has a start, or a state that tells of one"},
    {"finished", "is in a terminal state"},
    {"ok", "is COMPLETED"},
    {"debug", "ran less than debug_length"},
    {"known", "has an application"},
    {"lost", "ended badly, and was not cancelled"},
    {"size_class", "class of its cores"},
    {"size_rank", "its place"},
    {"time_class", "class of its run time"},
    {"time_rank", "its place"},
});

}  // namespace

std::vector<std::string> stored_columns() {
  std::vector<std::string> names;
  for (const TextField& field : kTextFields)
    if (field.column != Column::no) names.emplace_back(field.name);
  for (const NumField& field : kNumFields)
    if (field.column != Column::no) names.emplace_back(field.name);
  return names;
}

std::span<const DerivedColumn> derived_columns() { return kDerived; }

const std::vector<std::string>& j_columns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> all = stored_columns();
    for (const DerivedColumn& derived : kDerived) all.emplace_back(derived.name);
    return all;
  }();
  return columns;
}

}  // namespace sickbay::workload
