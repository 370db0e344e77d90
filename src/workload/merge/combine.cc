// SPDX-License-Identifier: Apache-2.0
// Two records of one job become one, whichever comes first.
#include "workload/merge/combine.h"

#include <algorithm>
#include <bit>

#include "workload/merge/merge.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kOverUsed = 10;  // times what was allocated
constexpr std::int64_t kOverLimitFloor =
    3600;  // seconds: Slurm looks at limits by the minute, and kills late

// -1, 0, 1; an absent one is the smallest.
template <class Field>
int compare_field(const Row& a, const Row& b, Field f) {
  if (a.has(f) != b.has(f)) return a.has(f) ? 1 : -1;
  const auto x = a.get(f), y = b.get(f);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool own_row(const Row& r) { return (r.get(Num::repairs) & bit(Repair::job_from_steps)) == 0; }

// `winner` is null where neither is richer: then the greater value counts, so that the order does not.
template <class Field>
void join(const Row& a, const Row& b, const Row* winner, bool fills_life, Field f, Row& out) {
  const Joint how = joint_of(f);
  if (how == Joint::made || how == Joint::bits) return;
  if (winner == nullptr || how == Joint::most) {
    const Row& greater = compare_field(a, b, f) >= 0 ? a : b;
    if (greater.has(f)) out.set(f, greater.get(f));
    return;
  }
  const Row& other = winner == &a ? b : a;
  if (winner->has(f))
    out.set(f, winner->get(f));
  else if (other.has(f) && (how == Joint::fill || fills_life))
    out.set(f, other.get(f));
}

}  // namespace

Joint joint_of(Num field) {
  switch (field) {
    case Num::start_time:
    case Num::end_time:
    case Num::elapsed:
    case Num::exit_code:
    case Num::exit_signal:
    case Num::derived_exit_code:
    case Num::cancelled_by:
    case Num::cpus:
    case Num::nodes:
    case Num::gpus:
    case Num::cpu_time:
    case Num::total_cpu:
    case Num::user_cpu:
    case Num::system_cpu:
    case Num::energy:
      return Joint::life;
    case Num::tasks:
    case Num::max_rss:
    case Num::ave_rss:
    case Num::max_vmsize:
    case Num::job_rss:
    case Num::disk_read:
    case Num::disk_write:
    case Num::gpu_mem:
    case Num::steps:
    case Num::steps_failed:
      return Joint::most;
    case Num::repairs:
    case Num::flaws:
      return Joint::bits;
    default:
      return Joint::fill;
  }
}

Joint joint_of(Text field) {
  switch (field) {
    case Text::state:
    case Text::state_text:
    case Text::reason:
    case Text::node_list:
    case Text::failed_node:
      return Joint::life;
    case Text::application:
    case Text::version:
    case Text::app_field:
    case Text::labelled_by:
      return Joint::made;
    default:
      return Joint::fill;
  }
}

bool is_ended(std::string_view state) {
  static constexpr std::string_view kNotEnded[] = {
      "PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "", "CONFIGURING", "COMPLETING", "STOPPED"};
  return std::find(std::begin(kNotEnded), std::end(kNotEnded), state) == std::end(kNotEnded);
}

std::strong_ordering compare_richness(const Row& a, const Row& b) {
  if (own_row(a) != own_row(b))
    return own_row(a) ? std::strong_ordering::greater : std::strong_ordering::less;
  const bool a_ended = is_ended(a.get(Text::state)), b_ended = is_ended(b.get(Text::state));
  if (a_ended != b_ended) return a_ended ? std::strong_ordering::greater : std::strong_ordering::less;
  for (const Num f : kRichness)
    if (const int c = compare_field(a, b, f); c != 0)
      return c > 0 ? std::strong_ordering::greater : std::strong_ordering::less;
  return std::strong_ordering::equal;
}

std::int64_t derived_flaws() {
  return bit(Flaw::end_before_start) | bit(Flaw::start_before_submit) | bit(Flaw::over_used) |
         bit(Flaw::no_user) | bit(Flaw::no_cpus) | bit(Flaw::over_limit) | bit(Flaw::no_start);
}

std::int64_t flaws_of(const Row& job) {
  std::int64_t flaws = 0;
  const auto both = [&](Num x, Num y) { return job.has(x) && job.has(y); };
  if (both(Num::end_time, Num::start_time) && job.get(Num::end_time) < job.get(Num::start_time))
    flaws |= bit(Flaw::end_before_start);
  if (both(Num::start_time, Num::submit_time) && job.get(Num::start_time) < job.get(Num::submit_time))
    flaws |= bit(Flaw::start_before_submit);
  // Divided, not multiplied: a log may hold any number, and these must not overflow.
  if (both(Num::total_cpu, Num::cpu_time) && job.get(Num::cpu_time) > 0 &&
      job.get(Num::total_cpu) / (1000 * kOverUsed) > job.get(Num::cpu_time))
    flaws |= bit(Flaw::over_used);
  if (!job.has(Text::user_name) && !job.has(Num::uid)) flaws |= bit(Flaw::no_user);
  if (job.get(Num::elapsed) > 0 && job.get(Num::cpus) <= 0) flaws |= bit(Flaw::no_cpus);
  if (job.get(Num::elapsed) > 0 && !job.has(Num::start_time)) flaws |= bit(Flaw::no_start);
  if (both(Num::elapsed, Num::time_limit) && job.get(Num::time_limit) >= 0) {
    const std::int64_t over = std::max<std::int64_t>(job.get(Num::elapsed), 0) - job.get(Num::time_limit);
    if (over > std::max(kOverLimitFloor, job.get(Num::time_limit) / 10)) flaws |= bit(Flaw::over_limit);
  }
  return flaws;
}

void combine(const Row& a, const Row& b, Row& out) {
  const auto order = compare_richness(a, b);
  const Row* winner = order > 0 ? &a : order < 0 ? &b : nullptr;
  const bool fills_life = is_ended(a.get(Text::state)) == is_ended(b.get(Text::state));
  Row made;
  made.kind = RowKind::job;
  for (std::uint64_t left = a.nums() | b.nums(); left != 0; left &= left - 1)
    join(a, b, winner, fills_life, static_cast<Num>(std::countr_zero(left)), made);
  for (std::uint64_t left = a.texts() | b.texts(); left != 0; left &= left - 1)
    join(a, b, winner, fills_life, static_cast<Text>(std::countr_zero(left)), made);

  // What was mended in, or is wrong with, the mere steps of a job is no matter once its own row is there.
  const auto both_bits = [&](Num f) {
    if (own_row(a) != own_row(b)) return own_row(a) ? a.get(f) : b.get(f);
    return a.get(f) | b.get(f);
  };
  const std::int64_t repairs = both_bits(Num::repairs);
  if (a.has(Num::repairs) || b.has(Num::repairs)) made.set(Num::repairs, repairs);
  // What one record knows never to have begun must not begin by the other.
  if ((repairs & bit(Repair::never_started)) != 0) made.drop(Num::start_time);
  if (a.has(Num::flaws) || b.has(Num::flaws)) {
    const std::int64_t kept = both_bits(Num::flaws) & ~derived_flaws();
    made.set(Num::flaws, kept | flaws_of(made));
  }
  out = made;
}

}  // namespace sickbay::workload
