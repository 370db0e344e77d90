// SPDX-License-Identifier: Apache-2.0
#include "model/sbatch_array.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(SbatchArray, IsFoundWhereSbatchFindsIt) {
  struct Row {
    std::vector<std::string> line;
    const char *variable, *script;
    const char* expected;  ///< "" for none
  };
  for (const Row& row :
       {Row{{}, "", "", ""}, Row{{"--array=0-3"}, "", "", "0-3"}, Row{{"-a", "1,5%2"}, "", "", "1,5%2"},
        Row{{"-a1-2", "--array=4"}, "", "", "4"}, Row{{}, "0-9", "", "0-9"},
        Row{{}, "", "#SBATCH -a 1-3", "1-3"}, Row{{}, "0-9", "#SBATCH --array=1-3", "0-9"},
        Row{{"--array=5"}, "0-9", "#SBATCH --array=1-3", "5"},
        Row{{"--array="}, "0-9", "#SBATCH --array=1-3", ""}, Row{{"-N2"}, "", "echo --array=1", ""}}) {
    Submission s;
    s.sbatch_options = row.line;
    s.script = std::string("#!/bin/sh\n") + row.script + "\n";
    if (*row.variable != 0) s.environment = {"HOME=/", std::string("SBATCH_ARRAY_INX=") + row.variable};
    EXPECT_EQ(array_of(s).value_or(""), row.expected) << row.script << row.variable;
  }
}

}  // namespace
}  // namespace sickbay
