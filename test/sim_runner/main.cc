// SPDX-License-Identifier: Apache-2.0
// sickbay-sim: runs a scenario file in virtual time and compares its timeline.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "test/sim_runner/scenario.h"

namespace {

using namespace sickbay;
using namespace sickbay::sim;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The longest common lines stay, the rest is shown with - (expected) and + (got).
void print_difference(const std::vector<std::string>& want, const std::vector<std::string>& got) {
  std::vector<std::vector<int>> same(want.size() + 1, std::vector<int>(got.size() + 1, 0));
  for (std::size_t i = want.size(); i-- > 0;)
    for (std::size_t j = got.size(); j-- > 0;)
      same[i][j] = want[i] == got[j] ? same[i + 1][j + 1] + 1 : std::max(same[i + 1][j], same[i][j + 1]);
  std::size_t i = 0, j = 0;
  while (i < want.size() || j < got.size()) {
    if (i < want.size() && j < got.size() && want[i] == got[j]) {
      ++i, ++j;
    } else if (j >= got.size() || (i < want.size() && same[i + 1][j] >= same[i][j + 1])) {
      fmt::print("-{}\n", want[i++]);
    } else {
      fmt::print("+{}\n", got[j++]);
    }
  }
}

int complain(const Error& error) {
  std::cerr << error.message("sickbay-sim") << "\n";
  return error_row(error.code).exit_code;
}

/// 0: as expected.
int run_file(const std::string& path, bool rewrite, bool print, std::optional<std::uint64_t> seed) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return complain(Error(ErrorCode::not_found, fmt::format("cannot read {}", path)));
  std::stringstream text;
  text << in.rdbuf();
  auto scenario = parse_scenario(text.str());
  if (!scenario) return complain(std::move(scenario.error()).in("reading " + path));
  if (seed) scenario->cluster.seed = *seed;
  const ScenarioResult result = run_scenario(*scenario);
  if (print) fmt::print("{}", result.timeline);
  for (const auto& rule : result.broken) fmt::print("broken: {}\n", rule);
  if (rewrite) {
    std::ofstream(path, std::ios::binary) << scenario->given << result.timeline;
  } else if (!print && result.timeline != scenario->expected) {
    fmt::print("{}: another timeline (seed {})\n", path, scenario->cluster.seed);
    print_difference(lines_of(scenario->expected), lines_of(result.timeline));
    return 1;
  }
  return result.broken.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs Sickbay's controller on a simulated cluster, in virtual time.", "sickbay-sim");
  std::vector<std::string> files;
  bool rewrite = false, print = false;
  std::optional<std::uint64_t> seed;
  app.add_option("FILE", files, "scenario files (see test/sim_runner/scenario.h)")->required();
  app.add_flag("--rewrite", rewrite,
               "write the timelines into the files; read the difference before you commit it");
  app.add_flag("--print", print, "print the timelines and compare nothing");
  app.add_option("--seed", seed, "another seed than the file's");
  CLI11_PARSE(app, argc, argv);
  int worst = 0;
  for (const auto& file : files) worst = std::max(worst, run_file(file, rewrite, print, seed));
  return worst;
}
