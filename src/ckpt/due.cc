// SPDX-License-Identifier: Apache-2.0
#include "ckpt/due.h"

#include <algorithm>

#include "model/checkpoint_interval.h"

namespace sickbay::ckpt {
namespace {

constexpr Micros kShortest = std::chrono::seconds(1), kRoom = std::chrono::seconds(60);
// Daly's formula gives 0 for a cost of 0, and so a checkpoint all the time.
constexpr double kLeastCost = 1e3;  // us; what costs nothing measurable costs a millisecond
constexpr int kCostsOfRoom = 3;

// (Times to failure of centuries are kNever.)
TimePoint later(TimePoint t, Micros by) { return by > kNever - t ? kNever : t + by; }

bool is_asked(const DueFacts& facts) { return !facts.asked.empty() && facts.asked != facts.asked_done; }

}  // namespace

const char* due_why_name(DueWhy why) {
  switch (why) {
    case DueWhy::no:
      return "no";
    case DueWhy::before_end:
      return "before_end";
    case DueWhy::asked:
      return "asked";
    case DueWhy::timer:
      return "timer";
  }
  return "no";
}

std::optional<Micros> interval_of(const Rhythm& rhythm, const std::optional<Micros>& cost) {
  if (rhythm.every) return rhythm.every;
  if (!rhythm.mttf) return std::nullopt;
  // (A job that fails more often than that would never come to a first one.)
  // A first one is taken early, so that its cost is known.
  if (!cost) return std::max(std::min(rhythm.first, *rhythm.mttf / 4), kShortest);
  const double interval = daly_interval(std::max(static_cast<double>(cost->count()), kLeastCost),
                                        static_cast<double>(std::max(rhythm.mttf->count(), Micros::rep{1})));
  return std::max(Micros(static_cast<Micros::rep>(interval)), kShortest);
}

// (After the limit Slurm kills all; so there is room for a save that is slower than the others.)
TimePoint end_point(const Rhythm& rhythm, const DueFacts& facts) {
  if (facts.job_end == kNever) return kNever;
  const Micros room =
      rhythm.before_end ? *rhythm.before_end : std::max(kRoom, facts.cost.value_or(Micros(0)) * kCostsOfRoom);
  if (room.count() <= 0) return kNever;
  // (A limit that has passed already: what was given is of another start.)
  if (facts.job_end <= facts.started) return kNever;
  // Not in the first half: a short job would else save before it has computed anything.
  return std::max(facts.job_end - room, facts.started + (facts.job_end - facts.started) / 2);
}

// The limit goes first: it cannot wait, and whatever comes of it is the answer to a wish, too.
DueWhy due(const Rhythm& rhythm, const DueFacts& facts) {
  if (!facts.ended_taken && facts.now >= end_point(rhythm, facts)) return DueWhy::before_end;
  if (is_asked(facts)) return DueWhy::asked;
  const auto interval = interval_of(rhythm, facts.cost);
  return interval && facts.now >= later(facts.last, *interval) ? DueWhy::timer : DueWhy::no;
}

TimePoint next_due(const Rhythm& rhythm, const DueFacts& facts) {
  if (is_asked(facts)) return facts.now;
  TimePoint next = facts.ended_taken ? kNever : end_point(rhythm, facts);
  if (const auto interval = interval_of(rhythm, facts.cost))
    next = std::min(next, later(facts.last, *interval));
  return std::max(next, facts.now);
}

}  // namespace sickbay::ckpt
