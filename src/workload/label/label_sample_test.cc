// SPDX-License-Identifier: Apache-2.0
// Are labels of real names right?  Names of jobs from public scripts and logs, each with what it ran, read by
// hand (testdata/*.tsv), against the lists that we ship.
//
// read_by_hand.tsv was there when the rules were made; held_out.tsv was drawn after them and changed none, so
// its figures are what a stranger may expect.  A label is right where it is what the script runs; a name of
// which no application runs must have none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "workload/label/audit.h"
#include "workload/label/label.h"

namespace sickbay::workload {
namespace {

struct ReadName {
  std::string source, name, application;
};

std::vector<ReadName> names_of(const std::string& file) {
  std::ifstream in(std::string(SB_LABEL_SAMPLES) + "/" + file);
  EXPECT_TRUE(in) << file;
  std::vector<ReadName> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    EXPECT_NE(second, std::string::npos) << line;
    if (second == std::string::npos) continue;
    rows.push_back(
        {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return rows;
}

Labeller labeller_of_shipped_lists() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SB_LABELS))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<LabelFile> files;
  for (const std::string& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    files.push_back({path, text.str()});
  }
  auto labeller = Labeller::make(files);
  EXPECT_TRUE(labeller) << labeller.error().line();
  return std::move(*labeller);
}

struct NameCounts {
  std::uint64_t labelled = 0, right = 0, nameable = 0;  // nameable: an application runs
};

// By source and, under "all", together; wrong and missing ones are printed.
std::map<std::string, NameCounts> judge_rows(const std::vector<ReadName>& rows) {
  const Labeller labeller = labeller_of_shipped_lists();
  std::map<std::string, NameCounts> by_source;
  for (const ReadName& r : rows) {
    const Label label = labeller.label({.job_name = r.name});
    const bool labelled = label.application != "unknown",
               right = labelled && label.application == r.application;
    for (NameCounts* c : {&by_source[r.source], &by_source["all"]}) {
      c->labelled += labelled;
      c->right += right;
      c->nameable += r.application != "-";
    }
    if (labelled && !right)
      std::cout << "wrong: " << r.source << " " << r.name << " is " << r.application << ", not "
                << label.application << " (" << label.evidence << ")\n";
    else if (!right && r.application != "-")
      std::cout << "missing: " << r.source << " " << r.name << " is " << r.application << "\n";
  }
  for (const auto& [source, c] : by_source) {
    const Share precision = wilson(c.right, c.labelled), recall = wilson(c.right, c.nameable);
    std::cout << source << ": precision " << precision.value << " (" << c.right << " of " << c.labelled
              << ", 95 % from " << precision.low << "), recall " << recall.value << " (of " << c.nameable
              << ")\n";
  }
  return by_source;
}

void expect_precise(const NameCounts& all) {
  EXPECT_GE(static_cast<double>(all.right), 0.98 * static_cast<double>(all.labelled));
}

TEST(LabelSample, OfNamesReadByHand98In100LabelsAreRight) {
  const auto by_source = judge_rows(names_of("read_by_hand.tsv"));
  const NameCounts& all = by_source.at("all");
  expect_precise(all);
  EXPECT_GE(all.labelled, 300u);
  EXPECT_GE(static_cast<double>(all.right), 0.85 * static_cast<double>(all.nameable))
      << "names without a label";
  EXPECT_GE(by_source.size(), 5u) << "four sources and all";
}

TEST(LabelSample, OfNamesThatNoRuleWasMadeFor98In100LabelsAreRight) {
  const auto by_source = judge_rows(names_of("held_out.tsv"));
  expect_precise(by_source.at("all"));
}

}  // namespace
}  // namespace sickbay::workload
