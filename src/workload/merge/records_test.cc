// SPDX-License-Identifier: Apache-2.0
// Which jobs are settled, and that records are kept once each.
#include "workload/merge/records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workload/merge/merge_test_parts.h"

namespace sickbay::workload {
namespace {

Row record(RowKind kind, std::int64_t submit, std::int64_t start, std::int64_t end) {
  Row row;
  row.kind = kind;
  row.set(Text::job_id, "7");
  if (submit > 0) row.set(Num::submit_time, submit);
  if (start > 0) row.set(Num::start_time, start);
  if (end > 0) row.set(Num::end_time, end);
  return row;
}

std::vector<const Row*> pointers(const std::vector<Row>& rows) {
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  return all;
}

TEST(Records, AJobIsSettledThatHasEndedOnceForEachSubmission) {
  const Row begun = record(RowKind::part, 50, 100, 0), ended = record(RowKind::job, 50, 100, 200),
            again = record(RowKind::job, 50, 300, 400), rerun = record(RowKind::rerun, 0, 0, 250),
            deleted = record(RowKind::part, 50, 0, 200), later = record(RowKind::job, 900, 910, 920),
            never_told = record(RowKind::job, 0, 100, 200), step = record(RowKind::step, 0, 100, 150),
            known = record(RowKind::known, 50, 100, 200);
  struct Case {
    std::vector<Row> rows;
    bool settled;
  };
  const Case cases[] = {
      {{begun, ended}, true},
      {{ended}, true},
      {{known}, true},
      {{begun, known}, true},
      {{ended, later}, true},
      {{never_told}, true},
      {{ended, step}, true},

      {{begun}, false},                // it may end, or be run again
      {{begun, ended, rerun}, false},  // it was
      {{rerun}, false},
      {{ended, again}, false},    // two runs, and no word of what parts them
      {{begun, deleted}, false},  // of a run, or of what waited after it
      {{ended, deleted}, false},
      {{ended, later, record(RowKind::part, 1000, 1010, 0)}, false},
      {{step}, false},  // its job comes later
      {{}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(is_settled(pointers(c.rows)), c.settled) << "case " << &c - cases;
}

TEST(Records, AreKeptOnceWithTheBestLabelAndGivenAsTheyCame) {
  Row plain = record(RowKind::part, 50, 100, 0), labelled = plain, unknown = plain, other = plain;
  labelled.set(Text::application, "VASP");
  unknown.set(Text::application, "unknown");
  other.set(Num::start_time, 300);
  for (const auto& rows : {std::vector<Row>{plain, unknown, labelled, other},
                           std::vector<Row>{other, labelled, plain, unknown}}) {
    Rows kept, unmarked, given;
    take_distinct(pointers(rows), true, kept);
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[0].get(Text::application), "VASP");
    EXPECT_EQ(kept[0].get(Num::repairs), bit(Repair::duplicate_rows));
    EXPECT_EQ(kept[1].get(Num::start_time), 300);
    EXPECT_FALSE(kept[1].has(Num::repairs));
    give_as_logged(kept, given);
    ASSERT_EQ(given.size(), 3U);
    EXPECT_EQ(text_of(given[0]), text_of(plain));
    EXPECT_EQ(text_of(given[1]), text_of(plain));
    take_distinct(pointers(rows), false, unmarked);
    EXPECT_FALSE(unmarked[0].has(Num::repairs)) << "two imports of one record are no repetition";
  }
}

}  // namespace
}  // namespace sickbay::workload
