// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/key_comment.h"

#include <gtest/gtest.h>

namespace sickbay::slurm {
namespace {

TEST(KeyComment, TheUsersOwnWordsStayInFront) {
  EXPECT_EQ(comment_with_key("", "c1.r2.a1"), "sickbay:c1.r2.a1");
  EXPECT_EQ(comment_with_key("my words", "c1.r2.a1"), "my words sickbay:c1.r2.a1");
}

TEST(KeyComment, AKeyIsFoundAsAWholeWord) {
  const struct {
    const char* text;
    const char* key;
    bool held;
  } rows[] = {
      {"sickbay:c1.r2", "c1.r2", true},
      {"own sickbay:c1.r2", "c1.r2", true},
      {"sbatch --comment=sickbay:c1.r2 -N1 x", "c1.r2", true},
      {"sbatch --comment='own sickbay:c1.r2'", "c1.r2", true},
      {"sickbay:c1.r2,other", "c1.r2", true},
      // A user may have written the words of another key before ours.
      {"sickbay:c1.r20 sickbay:c1.r2", "c1.r2", true},

      {"sickbay:c1.r21", "c1.r2", false},
      {"sickbay:c1.r2.a1", "c1.r2", false},
      {"xsickbay:c1.r2", "c1.r2", false},
      {"sickbay: c1.r2", "c1.r2", false},
      {"SICKBAY:c1.r2", "c1.r2", false},
      {"c1.r2", "c1.r2", false},
      {"", "c1.r2", false},
      {"sickbay:", "", false},
  };
  for (const auto& row : rows) EXPECT_EQ(holds_key(row.text, row.key), row.held) << row.text;
}

}  // namespace
}  // namespace sickbay::slurm
