// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/option_fates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "adapters/slurm/program_order.h"
#include "model/sbatch_options.h"

namespace sickbay::slurm {
namespace {

TEST(OptionFates, EveryOptionOfSbatchHasOneAndAReason) {
  for (const CommandOption& option : sbatch_option_table()) {
    if (!option.means.empty()) continue;
    EXPECT_EQ(std::ranges::count(option_fates(), option.name, &FateRow::name), 1) << option.name;
    EXPECT_NE(reason_of(option.name), "") << option.name;
  }
  for (const FateRow& row : option_fates())
    EXPECT_NE(find_sbatch_option(row.name), nullptr) << row.name << " is no option of sbatch";
}

// What a row says is done, on the command line and in the script.
TEST(OptionFates, EachRowIsFollowed) {
  for (const FateRow& row : option_fates()) {
    const CommandOption* option = find_sbatch_option(row.name);
    ASSERT_NE(option, nullptr);
    const std::string word =
        "--" + std::string(row.name) + (option->value == OptionValue::required ? "=1" : "");
    for (const bool in_script : {false, true}) {
      if (in_script && row.name == "wrap") continue;  // a script is none that sbatch makes
      ProgramOrder order;
      order.key = "c17.r2.a1";
      order.submission.owner = {"alice", 60001, 60001};
      order.submission.script = "#!/bin/sh\n" + (in_script ? "#SBATCH " + word + "\n" : "") + "true\n";
      order.submission.work_dir = "/home/alice";
      order.output_dir = "/home/alice/sickbay-c17";
      if (!in_script) order.submission.sbatch_options = {word};
      const auto made = program_submission(order, {"/usr/bin/sbatch", "/etc/slurm/slurm.conf", "ALL", ""});
      ASSERT_EQ(made.has_value(), row.fate != Fate::refused) << word;
      if (!made) {
        EXPECT_EQ(made.error().code, ErrorCode::bad_input);
        continue;
      }
      const std::string told = in_script ? "#SBATCH " + word : word;
      EXPECT_EQ(std::ranges::count(made->dropped, told), row.fate == Fate::dropped ? 1 : 0) << told;
      // The user's own is there where it is kept, and once where it is ours as well.
      const auto given = std::ranges::count(made->spec.argv, word);
      if (!in_script) {
        const bool also_ours = row.name == "hold" || row.name == "parsable" || row.name == "exclude";
        EXPECT_EQ(given, row.fate == Fate::kept || also_ours ? 1 : 0) << word;
      } else {
        const bool still = made->spec.input.find("#SBATCH " + word) != std::string::npos &&
                           made->spec.input.find("##SBATCH " + word) == std::string::npos;
        EXPECT_EQ(still, row.fate == Fate::kept || row.fate == Fate::replaced) << word;
      }
    }
  }
}

}  // namespace
}  // namespace sickbay::slurm
