// SPDX-License-Identifier: Apache-2.0
// Random rows for the property tests of merge and import: few values for each field, so that they meet often.
#pragma once
#include <random>
#include <string>

#include "workload/job/row.h"
#include "workload/merge/combine.h"
#include "workload/merge/merge.h"

namespace sickbay::workload {

/// All that a row holds, as text.  `without_repetition` leaves out Repair::duplicate_rows.
inline std::string text_of(const Row& row, bool without_repetition = false) {
  std::string text;
  for (const auto& f : kTextFields)
    if (row.has(f.field)) text += std::string(f.name) + "=" + std::string(row.get(f.field)) + " ";
  for (const auto& f : kNumFields)
    if (row.has(f.field)) {
      std::int64_t value = row.get(f.field);
      if (without_repetition && f.field == Num::repairs) value &= ~bit(Repair::duplicate_rows);
      text += std::string(f.name) + "=" + std::to_string(value) + " ";
    }
  return text;
}

inline std::string_view random_state(std::mt19937& random) {
  static constexpr std::string_view kStates[] = {"COMPLETED", "FAILED",  "CANCELLED",     "RUNNING",
                                                 "NODE_FAIL", "PENDING", "OUT_OF_MEMORY", "TIMEOUT"};
  return kStates[random() % std::size(kStates)];
}

/// A row as a reader gives it.
inline Row random_row(std::mt19937& random) {
  static constexpr std::string_view kIds[] = {"7", "7", "7", "8"};
  static constexpr std::string_view kNames[] = {"vasp", "cp2k", "a.out"};
  Row row;
  const auto maybe = [&](Num f, std::int64_t from, unsigned count) {
    if (random() % 4 != 0) row.set(f, from + random() % count);
  };
  switch (random() % 5) {
    case 0:
    case 1:
      row.kind = RowKind::job;
      break;
    case 2:
      row.kind = RowKind::batch;
      break;
    case 3:
      row.kind = RowKind::extern_;
      break;
    default:
      row.kind = RowKind::step;
  }
  row.set(Text::job_id, kIds[random() % std::size(kIds)]);
  if (random() % 3 == 0) row.set(Text::cluster, random() % 4 != 0 ? "east" : "west");
  if (random() % 4 != 0) row.set(Text::state, random_state(random));
  if (random() % 2 != 0) row.set(Text::job_name, kNames[random() % 3]);
  if (random() % 3 != 0) row.set(Text::node_list, random() % 2 != 0 ? "n1" : "n[1-2]");
  maybe(Num::start_time, 1000, 3);
  maybe(Num::end_time, 1002, 3);
  maybe(Num::elapsed, 0, 3);
  maybe(Num::cpus, 0, 3);
  maybe(Num::total_cpu, 0, 3);
  maybe(Num::exit_code, 0, 2);
  maybe(Num::req_mem_per_cpu, 0, 3);
  if (row.kind == RowKind::job) {
    maybe(Num::submit_time, 998, 2);
    if (random() % 2 != 0) row.set(Text::user_name, random() % 2 != 0 ? "ann" : "bob");
    maybe(Num::time_limit, 60, 2);
  } else {
    row.set(Text::step, row.kind == RowKind::batch     ? "batch"
                        : row.kind == RowKind::extern_ ? "extern"
                                                       : (random() % 2 != 0 ? "0" : "1"));
    maybe(Num::max_rss, 0, 3);
    maybe(Num::ave_rss, 0, 3);
    maybe(Num::tasks, 1, 3);
    maybe(Num::usage_cpu, 0, 3);
    maybe(Num::usage_disk_in, 0, 3);
    maybe(Num::gpu_util_milli, 0, 999);
  }
  return row;
}

/// A job as the merge gives it: random in every stored field, its flaws true.
inline Row random_job(std::mt19937& random) {
  static constexpr std::string_view kWords[] = {"a", "b", "ab"};
  Row row;
  for (const auto& f : kTextFields)
    if (f.column != Column::no && joint_of(f.field) != Joint::made && random() % 3 != 0)
      row.set(f.field, kWords[random() % 3]);
  for (const auto& f : kNumFields)
    if (f.column != Column::no && random() % 3 != 0)
      row.set(f.field, static_cast<std::int64_t>(random() % 3));
  row.set(Text::job_id, "7");
  row.set(Num::submit_time, 1);
  if (random() % 5 != 0)
    row.set(Text::state, random_state(random));
  else
    row.drop(Text::state);
  static constexpr Repair kRepairs[] = {Repair::job_from_steps, Repair::never_started, Repair::bad_utf8};
  std::int64_t repairs = 0;
  for (const Repair r : kRepairs)
    if (random() % 4 == 0) repairs |= bit(r);
  row.set(Num::repairs, repairs);
  if ((repairs & bit(Repair::never_started)) != 0) row.drop(Num::start_time);
  row.set(Num::flaws, flaws_of(row) | (random() % 4 == 0 ? bit(Flaw::unknown_state) : 0));
  return row;
}

}  // namespace sickbay::workload
