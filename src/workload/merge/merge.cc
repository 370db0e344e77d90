// SPDX-License-Identifier: Apache-2.0
// Rows -> jobs.  Nearly every job is one job row and a few steps, all different; that goes straight through.
// What is not so (ids that came again, rows that came twice, steps alone) is sorted first, by all that a row
// holds, so that the order of the log can not show in the result.
#include "workload/merge/merge.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "workload/merge/combine.h"
#include "workload/merge/fold.h"
#include "workload/merge/records.h"
#include "workload/merge/reruns.h"

namespace sickbay::workload {
namespace {

using RowList = std::vector<const Row*>;

template <class Field>
int compare_present(const Row& a, const Row& b, Field f) {
  if (a.has(f) != b.has(f)) return a.has(f) ? 1 : -1;
  const auto x = a.get(f), y = b.get(f);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool same_step(const Row& a, const Row& b) {
  return a.kind == b.kind && a.get(Text::step) == b.get(Text::step) &&
         compare_present(a, b, Num::start_time) == 0;
}

// One instance of a job id: its own row (null where the log has none) and its steps.
struct Instance {
  const Row* job = nullptr;
  bool duplicates = false;
  RowList steps;
};

// How far `at` lies outside the instance's run; 0 within.
std::int64_t distance(const Row& job, std::int64_t at) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  const auto from = job.find(Num::start_time);
  if (!from) {
    // It never started, so it has no steps, unless nothing else is there to hold them.
    const auto submitted = job.find(Num::submit_time);
    return submitted ? kFar - 1 : kFar;
  }
  if (at < *from) return *from - at;
  const auto to = job.find(Num::end_time);
  return to && at > *to ? at - *to : 0;
}

// What one thread needs again and again; kept so that a job costs no allocation.
struct Scratch {
  RowList jobs, steps, keyed;
  std::vector<Row> parted;
  std::vector<Instance> instances;
  std::vector<Row> combined;
};

void sort_rows(RowList& rows) {
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return compare_rows(*a, *b) < 0; });
}

// Job rows of one id, sorted by submission, those of one key made into one.
void find_instances(RowList& rows, Scratch& s) {
  sort_rows(rows);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return compare_present(*a, *b, Num::submit_time) < 0; });
  s.combined.clear();
  s.combined.reserve(rows.size());  // pointers into it are kept
  for (std::size_t i = 0; i < rows.size();) {
    Instance instance;
    instance.job = rows[i];
    bool whole_row = rows[i]->kind == RowKind::job;
    std::size_t j = i + 1;
    for (; j < rows.size() && compare_present(*rows[i], *rows[j], Num::submit_time) == 0; ++j) {
      const bool same = compare_rows(*rows[j - 1], *rows[j]) == 0;
      // Records of one job that each tell a part of it are no duplicates (PBS: S and E).
      instance.duplicates = instance.duplicates || same || (rows[j]->kind == RowKind::job && whole_row);
      whole_row = whole_row || rows[j]->kind == RowKind::job;
      if (same) continue;
      Row both;
      combine(*instance.job, *rows[j], both);
      s.combined.push_back(both);
      instance.job = &s.combined.back();
    }
    s.instances.push_back(std::move(instance));
    i = j;
  }
}

// Each step once, given to the instance that ran when it began.
void give_steps(RowList& steps, std::vector<Instance>& instances) {
  sort_rows(steps);
  std::stable_sort(steps.begin(), steps.end(), [](const Row* a, const Row* b) {
    if (a->kind != b->kind) return a->kind < b->kind;
    if (const int c = a->get(Text::step).compare(b->get(Text::step)); c != 0) return c < 0;
    return compare_present(*a, *b, Num::start_time) < 0;
  });
  for (std::size_t i = 0; i < steps.size();) {
    // Of one step that came more than once, the richest; of equally rich ones, the last of the total order.
    const Row* best = steps[i];
    std::size_t j = i + 1;
    for (; j < steps.size() && same_step(*best, *steps[j]); ++j)
      if (compare_richness(*steps[j], *best) >= 0) best = steps[j];
    Instance* home = &instances.back();  // without a start of its own: the newest
    if (const auto at = best->find(Num::start_time)) {
      for (Instance& candidate : instances)  // of equally near ones the newest, which is last
        if (candidate.job != nullptr && distance(*candidate.job, *at) <= distance(*home->job, *at))
          home = &candidate;
    }
    home->duplicates = home->duplicates || j - i > 1;
    home->steps.push_back(best);
    i = j;
  }
}

// All rows of one id, however they are.
void merge_any(const RowList& rows, Scratch& s, Arena& arena, Rows& out) {
  RowList jobs, steps, ends;
  for (const Row* row : rows) {
    (is_of_job(row->kind) ? jobs : row->kind == RowKind::rerun ? ends : steps).push_back(row);
  }
  if (!ends.empty()) part_runs(jobs, std::move(ends), s.parted);
  s.instances.clear();
  if (!jobs.empty()) find_instances(jobs, s);
  if (s.instances.empty()) s.instances.emplace_back();
  give_steps(steps, s.instances);
  for (const Instance& i : s.instances) fold(i.job, i.steps, i.duplicates, arena, out.add());
}

bool any_step_twice(const RowList& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t j = i + 1; j < steps.size(); ++j)
      if (same_step(*steps[i], *steps[j])) return true;
  return false;
}

}  // namespace

void merge(Rows& rows, Arena& arena, Rows& jobs) {
  if (rows.size() == 0) return;
  thread_local Scratch s;
  constexpr std::size_t kFewSteps = 12;  // compared pair by pair; more are sorted
  const Row* job = nullptr;
  s.steps.clear();
  const std::string_view id = rows[0].get(Text::job_id);
  // A log may tell the cluster on the rows of jobs and leave it out on those of steps.
  std::string_view cluster;
  bool plain = true;
  for (std::size_t i = 0; i < rows.size() && plain; ++i) {
    const Row& row = rows[i];
    const std::string_view told = row.get(Text::cluster);
    plain = row.get(Text::job_id) == id && (row.kind != RowKind::job || job == nullptr) &&
            (told.empty() || cluster.empty() || told == cluster) && row.kind != RowKind::part &&
            row.kind != RowKind::rerun && row.kind != RowKind::known;
    if (cluster.empty()) cluster = told;
    if (row.kind == RowKind::job)
      job = &row;
    else
      s.steps.push_back(&row);
  }
  if (plain && job != nullptr && s.steps.size() <= kFewSteps && !any_step_twice(s.steps)) {
    fold(job, s.steps, false, arena, jobs.add());
    return;
  }

  // Ids apart (hashes collide), and clusters, in an order of their own.
  s.jobs.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) s.jobs.push_back(&rows[i]);
  std::sort(s.jobs.begin(), s.jobs.end(), [](const Row* a, const Row* b) {
    if (const int c = a->get(Text::job_id).compare(b->get(Text::job_id)); c != 0) return c < 0;
    return a->get(Text::cluster) < b->get(Text::cluster);
  });
  for (std::size_t i = 0; i < s.jobs.size();) {
    std::size_t end = i + 1;
    while (end < s.jobs.size() && s.jobs[end]->get(Text::job_id) == s.jobs[i]->get(Text::job_id)) ++end;
    // Rows that tell no cluster, which come first, are those of the one cluster that others tell; where two
    // clusters have the id they are nobody's.
    std::size_t told = i;
    while (told < end && !s.jobs[told]->has(Text::cluster)) ++told;
    const bool one_cluster =
        told == end || s.jobs[told]->get(Text::cluster) == s.jobs[end - 1]->get(Text::cluster);
    while (i < end) {
      s.keyed.clear();
      cluster = s.jobs[i]->get(Text::cluster);
      for (; i < end && (one_cluster || s.jobs[i]->get(Text::cluster) == cluster); ++i)
        s.keyed.push_back(s.jobs[i]);
      merge_any(s.keyed, s, arena, jobs);
    }
  }
}

}  // namespace sickbay::workload
