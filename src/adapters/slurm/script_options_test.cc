// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/script_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sickbay::slurm {
namespace {

std::string without(const std::string& script, const std::string& name) {
  const auto options = parse_script_options(script);
  EXPECT_TRUE(options) << options.error().line();
  return with_script_options(script, *options, [&](const GivenOption& given) { return given.name != name; });
}

TEST(ScriptOptions, WhatIsNotKeptIsGoneAndLinesKeepTheirNumbers) {
  EXPECT_EQ(
      without("#!/bin/sh\n#SBATCH -N2 -w n1\n# text\n#SBATCH -t 5 # why\necho #SBATCH -w n2\n#SBATCH -w n3\n",
              "nodelist"),
      "#!/bin/sh\n#SBATCH \"--nodes=2\" \"--time=5\"\n# text\n##SBATCH -t 5 # why\necho #SBATCH -w n2\n"
      "#SBATCH -w n3\n");
}

TEST(ScriptOptions, OddTextsKeepTheirShape) {
  EXPECT_EQ(without("#!/bin/sh\n#SBATCH --hold", "hold"), "#!/bin/sh\n#SBATCH");
  EXPECT_EQ(without("#!/bin/sh\r\n#SBATCH --hold\r\nx\r\n", "hold"), "#!/bin/sh\r\n#SBATCH\nx\r\n");
  EXPECT_EQ(without("", "hold"), "");
}

TEST(ScriptOptions, KeptOptionsReadBackAsTheyWere) {
  const std::string script =
      "#!/bin/sh\n#SBATCH --comment=\"two words\" -J 'a\"b' --output=back\\\\slash --begin=now+1\n#SBATCH "
      "--nice "
      "--exclusive=user -d afterok:1\n";
  const std::string text = without(script, "begin");
  auto before = *parse_script_options(script);
  std::erase_if(before, [](const GivenOption& given) { return given.name == "begin"; });
  const auto after = parse_script_options(text);
  ASSERT_TRUE(after) << after.error().line();
  ASSERT_EQ(after->size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ((*after)[i].name, before[i].name);
    EXPECT_EQ((*after)[i].value, before[i].value);
  }
}

}  // namespace
}  // namespace sickbay::slurm
