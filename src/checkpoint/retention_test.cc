// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.h"

#include <gtest/gtest.h>

namespace sickbay::checkpoint {
namespace {

using std::chrono::hours;

// A checkpoint of 100 bytes that stands on `bases`, taken at hour `number`.
KeptCheckpoint one(std::int64_t number, std::vector<std::int64_t> bases = {}, bool whole = true) {
  KeptCheckpoint kept{number, kNoTime + hours(number), whole, {}};
  bases.push_back(number);
  for (const std::int64_t pack : bases) kept.packs[pack_name(pack, 0)] = 100;
  return kept;
}

TEST(Retention, EndsWhatIsBeyondALimit) {
  struct Row {
    const char* what;
    std::vector<KeptCheckpoint> all;
    RetentionLimits limits;
    std::vector<std::int64_t> ends;
  };
  const std::vector<KeptCheckpoint> four = {one(1), one(2), one(3), one(4)};
  for (const Row& row : {
           Row{"no limit", four, {}, {}},
           Row{"none there", {}, {1, hours(0), 0}, {}},

           Row{"count", four, {2, {}, {}}, {1, 2}},
           Row{"count of more than there are", four, {9, {}, {}}, {}},
           Row{"none is never meant", four, {0, {}, {}}, {1, 2, 3}},
           Row{"in any order", {one(4), one(1), one(3), one(2)}, {2, {}, {}}, {1, 2}},

           Row{"age: now is hour 5", four, {{}, hours(2), {}}, {1, 2}},
           Row{"the newest stays", four, {{}, hours(0), {}}, {1, 2, 3}},

           Row{"size", four, {{}, {}, 250}, {1, 2}},
           Row{"the newest stays, too", four, {{}, {}, 10}, {1, 2, 3}},
           Row{"a shared pack counts once", {one(1), one(2, {1}), one(3, {1})}, {{}, {}, 300}, {}},
           Row{"and as long as one needs it", {one(1), one(2, {1}), one(3, {1})}, {{}, {}, 250}, {1, 2}},

           Row{"all", four, {3, hours(2), 150}, {1, 2, 3}},

           Row{"the damaged makes no room", {one(1), one(2), one(3, {}, false)}, {2, {}, {}}, {}},
           Row{"and ends", {one(1), one(2, {}, false), one(3), one(4)}, {2, {}, {}}, {1, 2}},
           Row{"the newest whole one stays", {one(1), one(2, {}, false)}, {1, hours(0), 0}, {}},
           Row{"none is whole", {one(1, {}, false), one(2, {}, false)}, {1, hours(0), 0}, {}},
       })
    EXPECT_EQ(choose_ends(row.all, row.limits, kNoTime + hours(5)), row.ends) << row.what;
}

}  // namespace
}  // namespace sickbay::checkpoint
