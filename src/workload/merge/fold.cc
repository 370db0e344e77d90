// SPDX-License-Identifier: Apache-2.0
#include "workload/merge/fold.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "workload/merge/combine.h"
#include "workload/merge/merge.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A log may hold any number; what goes over 63 bits stays at the end of the range.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? kMost : -kMost) : sum;
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ((a < 0) != (b < 0) ? -kMost : kMost) : product;
}

constexpr std::uint64_t mask(Num f) { return FieldSet::mask(f); }
constexpr std::uint64_t mask(Text f) { return FieldSet::mask(f); }

// What fold() makes of other fields, and of any of which; what is made of something made stands below it.
struct Made {
  FieldSet made, of;
};
constexpr Made kMade[] = {
    {FieldSet::of(Text::step_names), FieldSet::of(Text::job_name)},
    {FieldSet::of(Text::state_text), FieldSet::of(Text::state)},
    {FieldSet::of(Num::job_rss), FieldSet::of(Num::usage_mem, Num::ave_rss)},
    {FieldSet::of(Num::disk_read), FieldSet::of(Num::usage_disk_in, Num::ave_disk_read)},
    {FieldSet::of(Num::disk_write), FieldSet::of(Num::usage_disk_out, Num::ave_disk_write)},
    {FieldSet::of(Num::total_cpu), FieldSet::of(Num::usage_cpu)},
    {FieldSet::of(Num::req_mem), FieldSet::of(Num::req_mem_per_node, Num::req_mem_per_cpu)},
    {FieldSet::of(Num::req_cpus), FieldSet::of(Num::cpus)},
    {FieldSet::of(Num::req_nodes), FieldSet::of(Num::nodes)},
    {FieldSet::of(Num::elapsed, Num::end_time), FieldSet::of(Num::start_time)},
    {FieldSet::of(Num::cpu_time), FieldSet::of(Num::cpus)},
};
constexpr FieldSet kAlwaysMade = FieldSet::of(Num::steps, Num::steps_failed, Num::repairs, Num::flaws);

// A maximum or a sum that knows whether there was anything.
struct Most {
  bool any = false;
  std::int64_t value = 0;
  void add(std::int64_t v) {
    value = any ? std::max(value, v) : v;
    any = true;
  }
  void add(const Row& row, Num f) {
    if (row.has(f)) add(row.get(f));
  }
  void give(Row& out, Num f) const {
    if (any) out.set(f, value);
  }
};
struct Sum {
  bool any = false;
  std::int64_t value = 0;
  void add(std::int64_t v) {
    value = plus(value, v);
    any = true;
  }
  void add(const Row& row, Num f) {
    if (row.has(f)) add(row.get(f));
  }
  void give(Row& out, Num f) const {
    if (any) out.set(f, value);
  }
};

// A total that TRESUsage tells, else the average times the processes.
void add_total(Sum& sum, const Row& step, Num total, Num average) {
  if (step.has(total))
    sum.add(step.get(total));
  else if (step.has(average))
    sum.add(times(step.get(average), std::max<std::int64_t>(1, step.get(Num::tasks))));
}

// What a step may tell of its job where the job's own row lacks it; the greater of several, so that their
// order does not count.
constexpr std::uint64_t kNumsFromSteps =
    mask(Num::uid) | mask(Num::cpus) | mask(Num::nodes) | mask(Num::tasks) | mask(Num::gpus) |
    mask(Num::energy) | mask(Num::job_id_raw) | mask(Num::array_job_id) | mask(Num::array_task_id) |
    mask(Num::het_job_id) | mask(Num::het_offset) | mask(Num::req_mem) | mask(Num::req_mem_per_cpu) |
    mask(Num::req_mem_per_node);
constexpr std::uint64_t kTextsFromSteps =
    mask(Text::cluster) | mask(Text::user_name) | mask(Text::group_name) | mask(Text::account) |
    mask(Text::partition) | mask(Text::qos) | mask(Text::node_list) | mask(Text::gpu_type);

void fill_from_step(const Row& step, std::uint64_t nums, std::uint64_t texts, Row& out) {
  for (std::uint64_t left = step.nums() & nums; left != 0; left &= left - 1) {
    const auto f = static_cast<Num>(std::countr_zero(left));
    if (!out.has(f) || step.get(f) > out.get(f)) out.set(f, step.get(f));
  }
  for (std::uint64_t left = step.texts() & texts; left != 0; left &= left - 1) {
    const auto f = static_cast<Text>(std::countr_zero(left));
    // The longer one: a node list that holds more nodes is longer, too.
    const auto there = out.get(f), text = step.get(f);
    if (!out.has(f) || text.size() > there.size() || (text.size() == there.size() && text > there))
      out.set(f, text);
  }
}

bool ended_badly(std::string_view state) {
  // CANCELLED is not among them: Slurm cancels the steps of every job that is ended from outside.
  static constexpr std::string_view kBad[] = {"FAILED",    "TIMEOUT",   "OUT_OF_MEMORY",
                                              "NODE_FAIL", "BOOT_FAIL", "DEADLINE"};
  return std::find(std::begin(kBad), std::end(kBad), state) != std::end(kBad);
}

// The names of the steps, each once, sorted, with blanks between.
void give_step_names(std::vector<std::string_view>& names, Arena& arena, Row& out) {
  if (names.empty()) return;
  if (names.size() > 1) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  if (names.size() == 1) return out.set(Text::step_names, names[0]);
  std::size_t size = names.size() - 1;
  for (const auto name : names) size += name.size();
  char* const text = arena.take(size);
  char* p = text;
  for (const auto name : names) {
    if (p != text) *p++ = ' ';
    p = std::copy(name.begin(), name.end(), p);
  }
  out.set(Text::step_names, std::string_view(text, size));
}

// No row of the job itself: what its steps tell of its life.
void make_from_steps(const std::vector<const Row*>& steps, Row& out) {
  const Row* last = nullptr;  // whose state is taken: the batch step's, else that of the step that ended last
  Most start, end;
  bool all_ended = true;
  for (const Row* step : steps) {
    out.set(Text::job_id, step->get(Text::job_id));
    if (step->has(Text::cluster)) out.set(Text::cluster, step->get(Text::cluster));
    if (step->has(Num::start_time)) start.add(-step->get(Num::start_time));
    end.add(*step, Num::end_time);
    all_ended = all_ended && step->has(Num::end_time);
    const auto rank = [](const Row& r) {
      return std::tuple(r.kind == RowKind::batch, r.kind != RowKind::extern_, r.get(Num::end_time),
                        r.get(Text::step), r.get(Text::state), r.get(Num::exit_code),
                        r.get(Num::exit_signal));
    };
    if (last == nullptr || rank(*step) > rank(*last)) last = step;
  }
  if (start.any) out.set(Num::start_time, -start.value);
  if (end.any && all_ended) out.set(Num::end_time, end.value);
  if (last->has(Text::state)) out.set(Text::state, last->get(Text::state));
  for (const Num f : {Num::exit_code, Num::exit_signal})
    if (last->has(f)) out.set(f, last->get(f));
}

// The job's state where its steps prove it wrong by Slurm's own rules (doc/formats/job.md, "Repair of
// states").
void mend_state(const Row* batch, Row& out, std::int64_t& repairs) {
  if (batch == nullptr || out.get(Text::state) != "COMPLETED" || out.get(Num::exit_code) != 0) return;
  if (!ended_badly(batch->get(Text::state))) return;
  out.set(Text::state, batch->get(Text::state));
  out.set(Text::state_text, "COMPLETED");
  for (const Num f : {Num::exit_code, Num::exit_signal})
    if (batch->has(f)) out.set(f, batch->get(f));
  repairs |= bit(Repair::state_from_steps);
}

void mend_times(Row& out, std::int64_t& repairs) {
  // Old Slurm wrote a job that was cancelled while it waited as begun and ended at once, on no node.
  if (out.get(Text::state) == "CANCELLED" && out.has(Num::start_time) && !out.has(Text::node_list) &&
      out.get(Num::elapsed) == 0 && out.has(Num::end_time) &&
      out.get(Num::start_time) == out.get(Num::end_time)) {
    out.drop(Num::start_time);
    // What it would have got stands as allocated there; that was asked for.
    if (!out.has(Num::req_cpus) && out.get(Num::cpus) > 0) out.set(Num::req_cpus, out.get(Num::cpus));
    if (!out.has(Num::req_nodes) && out.get(Num::nodes) > 0) out.set(Num::req_nodes, out.get(Num::nodes));
    out.drop(Num::cpus);
    out.drop(Num::nodes);
    repairs |= bit(Repair::never_started);
  }
  if (!out.has(Num::start_time)) return;
  const std::int64_t start = out.get(Num::start_time);
  if (!out.has(Num::elapsed)) {
    if (out.has(Num::end_time) && out.get(Num::end_time) >= start) {
      out.set(Num::elapsed, out.get(Num::end_time) - start);
      repairs |= bit(Repair::elapsed_from_times);
    }
  } else if (!out.has(Num::end_time) && is_ended(out.get(Text::state))) {
    out.set(Num::end_time, plus(start, out.get(Num::elapsed)));
    repairs |= bit(Repair::times_from_elapsed);
  }
}

void give_memory_asked(Row& out) {
  if (out.has(Num::req_mem)) return;
  const auto first_of = [&](Num a, Num b) { return out.get(a) > 0 ? out.get(a) : out.get(b); };
  if (out.has(Num::req_mem_per_node)) {
    // 0n is all memory of the nodes, whatever that is: unknown, not nothing.
    const auto nodes = first_of(Num::nodes, Num::req_nodes);
    if (nodes > 0 && out.get(Num::req_mem_per_node) > 0)
      out.set(Num::req_mem, times(out.get(Num::req_mem_per_node), nodes));
  } else if (out.has(Num::req_mem_per_cpu)) {
    const auto cpus = first_of(Num::cpus, Num::req_cpus);
    if (cpus > 0 && out.get(Num::req_mem_per_cpu) > 0)
      out.set(Num::req_mem, times(out.get(Num::req_mem_per_cpu), cpus));
  }
}

}  // namespace

FieldSet fields_of_jobs(const FieldSet& told) {
  FieldSet all = told;
  all.add(kAlwaysMade);
  for (const Made& row : kMade)
    if (all.has_any(row.of)) all.add(row.made);
  return all;
}

void fold(const Row* job, const std::vector<const Row*>& steps, bool duplicates, Arena& arena, Row& out) {
  if (job != nullptr)
    out = *job;
  else
    out.clear();
  out.kind = RowKind::job;
  std::int64_t repairs = out.get(Num::repairs), flaws = out.get(Num::flaws);
  if (duplicates) repairs |= bit(Repair::duplicate_rows);

  thread_local std::vector<std::string_view> names;
  names.clear();
  Most max_rss, ave_rss, max_vmsize, job_rss, gpu_mem;
  Sum disk_read, disk_write, total_cpu, user_cpu, system_cpu, usage_cpu, gpu_use, gpu_seconds;
  std::int64_t count = 0, failed = 0;
  const Row* batch = nullptr;
  const std::uint64_t nums = kNumsFromSteps & ~out.nums(), texts = kTextsFromSteps & ~out.texts();
  usage_cpu.add(out, Num::usage_cpu);
  for (const Row* row : steps) {
    const Row& step = *row;
    repairs |= step.get(Num::repairs);
    flaws |= step.get(Num::flaws);
    fill_from_step(step, nums, texts, out);
    max_rss.add(step, Num::max_rss);
    ave_rss.add(step, Num::ave_rss);
    max_vmsize.add(step, Num::max_vmsize);
    if (step.has(Num::usage_mem))
      job_rss.add(step.get(Num::usage_mem));
    else if (step.has(Num::ave_rss))
      job_rss.add(times(step.get(Num::ave_rss), std::max<std::int64_t>(1, step.get(Num::tasks))));
    gpu_mem.add(step, Num::gpu_mem);
    if (step.has(Num::gpu_util_milli)) {
      const std::int64_t weight = std::max<std::int64_t>(1, step.get(Num::elapsed));
      gpu_use.add(times(step.get(Num::gpu_util_milli), weight));
      gpu_seconds.add(weight);
    }
    add_total(disk_read, step, Num::usage_disk_in, Num::ave_disk_read);
    add_total(disk_write, step, Num::usage_disk_out, Num::ave_disk_write);
    total_cpu.add(step, Num::total_cpu);
    user_cpu.add(step, Num::user_cpu);
    system_cpu.add(step, Num::system_cpu);
    usage_cpu.add(step, Num::usage_cpu);
    if (step.kind == RowKind::batch) {
      // One batch script; of the two that a requeue may leave under one submission, the last.
      const auto when = [](const Row& r) { return std::pair(r.get(Num::end_time), r.get(Num::start_time)); };
      if (batch == nullptr || when(*batch) < when(step)) batch = row;
    } else if (step.kind == RowKind::step) {
      ++count;
      failed += ended_badly(step.get(Text::state));
      if (step.has(Text::job_name)) names.push_back(step.get(Text::job_name));
    }
  }
  if (job == nullptr) {
    make_from_steps(steps, out);
    repairs |= bit(Repair::job_from_steps);
  }
  // Some readers (JSON) tell these on the job's row too; the greater is the more complete one.
  max_rss.add(out, Num::max_rss);
  ave_rss.add(out, Num::ave_rss);
  max_vmsize.add(out, Num::max_vmsize);
  if (out.has(Num::usage_mem)) job_rss.add(out.get(Num::usage_mem));
  max_rss.give(out, Num::max_rss);
  ave_rss.give(out, Num::ave_rss);
  max_vmsize.give(out, Num::max_vmsize);
  job_rss.give(out, Num::job_rss);
  gpu_mem.give(out, Num::gpu_mem);
  if (gpu_seconds.value > 0) out.set(Num::gpu_util_milli, gpu_use.value / gpu_seconds.value);
  if (!disk_read.any) add_total(disk_read, out, Num::usage_disk_in, Num::ave_disk_read);
  if (!disk_write.any) add_total(disk_write, out, Num::usage_disk_out, Num::ave_disk_write);
  disk_read.give(out, Num::disk_read);
  disk_write.give(out, Num::disk_write);
  // A job that an import before made has counted its steps already.
  out.set(Num::steps, std::max(count, out.get(Num::steps)));
  out.set(Num::steps_failed, std::max(failed, out.get(Num::steps_failed)));
  give_step_names(names, arena, out);

  if (!out.has(Num::user_cpu)) user_cpu.give(out, Num::user_cpu);
  if (!out.has(Num::system_cpu)) system_cpu.give(out, Num::system_cpu);
  if (!out.has(Num::total_cpu)) total_cpu.give(out, Num::total_cpu);
  if (out.get(Num::total_cpu) == 0 && usage_cpu.value > 0) {  // Slurm 25.05 writes 0
    out.set(Num::total_cpu, usage_cpu.value);
    repairs |= bit(Repair::total_cpu_usage);
  }
  mend_state(batch, out, repairs);
  mend_times(out, repairs);
  if (!out.has(Num::cpu_time) && out.has(Num::elapsed) && out.has(Num::cpus))
    out.set(Num::cpu_time, times(out.get(Num::elapsed), out.get(Num::cpus)));
  give_memory_asked(out);

  out.set(Num::repairs, repairs);
  out.set(Num::flaws, (flaws & ~derived_flaws()) | flaws_of(out));
}

}  // namespace sickbay::workload
