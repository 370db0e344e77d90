// SPDX-License-Identifier: Apache-2.0
// Chaos: the nonstop engine, driven as the controller drives it, on a FakeSlurm in which nodes fail, answers
// are lost, looks come late, clients come twice, jobs end and the server is killed.  All from one seed.
#pragma once
#include <cstdint>
#include <string>

namespace sickbay::chaos {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t steps = 20'000;
  int jobs = 200;              ///< that run at a time
  int partitions = 5;          ///< with equal shares of them
  int spares = 3;              ///< in each partition
  bool from_the_first = true;  ///< a restart replays all events, and not only those since the last one
};

struct Outcome {
  std::string wrong;  ///< what was broken first, and in which step; "" for nothing
  std::int64_t events = 0, commands = 0, restarts = 0, asked = 0, answered = 0;
  std::int64_t replaced = 0, dropped = 0, extended = 0, later = 0, jobs = 0, lost_answers = 0, failures = 0;
  std::string text() const;
};

Outcome run(const Options& options);

}  // namespace sickbay::chaos
