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
    {"core_s", "core-seconds allocated, of the whole job"},
    {"core_h", "core-hours allocated in the period"},
    {"node_h", "node-hours allocated in the period"},
    {"gpu_h", "GPU-hours allocated in the period"},
    {"used_gpu_h", "GPU-hours in the period in which the GPUs were used"},
    {"used_core_h", "CPU time used in the period, in core-hours"},
    {"charge", "what the part in the period is charged, in service units"},
    {"kwh", "energy used in the period, in kWh"},
    {"read_gib", "read in the period, in GiB"},
    {"written_gib", "written in the period, in GiB"},
    {"queued_core_h", "cores times the part of the wait in the period"},
    {"within", "share of the run in the period"},
    {"cpu_eff", "used / allocated"},
    {"limit_share", "run time / limit"},
    {"started", "has a start, or a state that tells of one"},
    {"submitted_here", "was submitted in the period"},
    {"started_here", "started in the period"},
    {"ended_here", "ended in the period; without an end: started, else was submitted"},
    {"ran_here", "ran in the period"},
    {"run_begins", "begin of the part of its run in the period, in the zone of the report"},
    {"run_ends", "its end"},
    {"finished", "is in a terminal state"},
    {"ok", "is COMPLETED"},
    {"debug", "ran less than debug_length"},
    {"known", "has an application"},
    {"lost", "ended badly, and was not cancelled"},
    {"size_class", "class of its cores"},
    {"size_rank", "its place"},
    {"time_class", "class of its run time"},
    {"time_rank", "its place"},
    {"label_confidence", "how sure a label by likeness is"},
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
