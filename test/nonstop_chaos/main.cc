// SPDX-License-Identifier: Apache-2.0
// nonstop_chaos [--steps N] [--jobs N] [--partitions N] [--seed N] [--seeds N]: a long run of chaos.h, by
// hand.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "test/nonstop_chaos/chaos.h"

int main(int argc, char** argv) {
  sickbay::chaos::Options options;
  options.steps = 1'000'000;
  options.jobs = 10'000;
  options.partitions = 50;
  options.from_the_first = false;
  std::int64_t seeds = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::int64_t value = std::atoll(argv[i + 1]);
    if (name == "--steps") options.steps = value;
    if (name == "--jobs") options.jobs = static_cast<int>(value);
    if (name == "--partitions") options.partitions = static_cast<int>(value);
    if (name == "--seed") options.seed = static_cast<std::uint64_t>(value);
    if (name == "--seeds") seeds = value;
  }
  for (; seeds > 0; --seeds, ++options.seed) {
    const auto outcome = sickbay::chaos::run(options);
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed), outcome.text().c_str());
    if (!outcome.wrong.empty()) return 1;
  }
  return 0;
}
