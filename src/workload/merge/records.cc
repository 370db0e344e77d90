// SPDX-License-Identifier: Apache-2.0
#include "workload/merge/records.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace sickbay::workload {
namespace {

constexpr Text kLabels[] = {Text::application, Text::version, Text::app_field, Text::labelled_by};

// What the import adds to a record goes off it, so that it is compared as the log has it.  True: it had come
// twice.
bool bare(Row& row) {
  for (const Text f : kLabels) row.drop(f);
  const std::int64_t repairs = row.get(Num::repairs), left = repairs & ~bit(Repair::duplicate_rows);
  if (left != 0)
    row.set(Num::repairs, left);
  else
    row.drop(Num::repairs);
  return left != repairs;
}

// Greater: the label that tells more; the rest is there so that the order of rows does not count.
auto label_rank(const Row& row) {
  return std::tuple(row.has(Text::application) && row.get(Text::application) != "unknown",
                    row.get(Text::application), row.get(Text::version), row.get(Text::app_field),
                    row.get(Text::labelled_by));
}

}  // namespace

int compare_rows(const Row& a, const Row& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.nums() != b.nums()) return a.nums() < b.nums() ? -1 : 1;
  if (a.texts() != b.texts()) return a.texts() < b.texts() ? -1 : 1;
  for (std::uint64_t left = a.nums(); left != 0; left &= left - 1) {
    const auto f = static_cast<Num>(std::countr_zero(left));
    if (a.get(f) != b.get(f)) return a.get(f) < b.get(f) ? -1 : 1;
  }
  for (std::uint64_t left = a.texts(); left != 0; left &= left - 1) {
    const auto f = static_cast<Text>(std::countr_zero(left));
    if (const int c = a.get(f).compare(b.get(f)); c != 0) return c;
  }
  return 0;
}

bool is_settled(std::span<const Row* const> rows) {
  std::vector<const Row*> jobs;
  for (const Row* row : rows) {
    if (row->kind == RowKind::rerun) return false;
    if (is_of_job(row->kind)) jobs.push_back(row);
  }
  if (jobs.empty()) return false;
  const auto submit = [](const Row* row) { return row->find(Num::submit_time); };
  std::sort(jobs.begin(), jobs.end(), [&](const Row* a, const Row* b) { return submit(a) < submit(b); });
  for (std::size_t i = 0; i < jobs.size();) {
    std::size_t end = i;
    bool whole = false, one_run = true;
    for (; end < jobs.size() && submit(jobs[end]) == submit(jobs[i]); ++end) {
      whole = whole || jobs[end]->kind != RowKind::part;
      one_run = one_run && jobs[end]->has(Num::start_time) &&
                jobs[end]->get(Num::start_time) == jobs[i]->get(Num::start_time);
    }
    if (!whole || (!one_run && end - i > 1)) return false;
    i = end;
  }
  return true;
}

void take_distinct(std::span<const Row* const> rows, bool mark, Rows& out) {
  std::vector<Row> all;
  std::vector<char> marked;
  all.reserve(rows.size());
  for (const Row* row : rows) {
    all.push_back(*row);
    marked.push_back(bare(all.back()) ? 1 : 0);
  }
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return compare_rows(all[a], all[b]) < 0; });
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    bool repeated = false;
    const Row* labelled = rows[order[i]];
    for (; end < order.size() && compare_rows(all[order[end]], all[order[i]]) == 0; ++end) {
      repeated = repeated || marked[order[end]] != 0;
      if (label_rank(*rows[order[end]]) > label_rank(*labelled)) labelled = rows[order[end]];
    }
    Row& row = out.add();
    row = all[order[i]];
    for (const Text f : kLabels)
      if (labelled->has(f)) row.set(f, labelled->get(f));
    if (repeated || (mark && end - i > 1)) row.add_bits(Num::repairs, bit(Repair::duplicate_rows));
    i = end;
  }
}

void give_as_logged(const Rows& distinct, Rows& out) {
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    Row& row = out.add();
    row = distinct[i];
    if (bare(row)) out.add() = row;
  }
}

}  // namespace sickbay::workload
