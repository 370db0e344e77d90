// SPDX-License-Identifier: Apache-2.0
// sickbay compare: is the output of one run the same result as that of another?
//
// It stands by itself, and `submit --compare` has it run as the job's --check
// (submit_command.cc).
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "base/counted.h"
#include "base/text_table.h"
#include "model/output_compare.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 30;  // of one output, which is read into memory

struct CompareOptions {
  std::string reference, other, tolerance, learn;
  bool json = false;
};

Result<OutputRules> rules_for(const CompareOptions& o, const std::string& reference) {
  OutputRules rules;
  if (!o.tolerance.empty()) {
    auto tolerance = parse_tolerance(o.tolerance);
    if (!tolerance) return fail(tolerance.error());
    rules.tolerance = *tolerance;
  }
  if (o.learn.empty()) return rules;
  auto second = sickbay::read_file(o.learn, kMostOutput);
  if (!second) return fail(second.error());
  return learn_output_rules(reference, *second, rules.tolerance);
}

Result<int> run_compare(const CompareOptions& o) {
  auto reference = sickbay::read_file(o.reference, kMostOutput);
  if (!reference) return fail(reference.error());
  auto other = sickbay::read_file(o.other, kMostOutput);
  if (!other) return fail(other.error());
  auto rules = rules_for(o, *reference);
  if (!rules) return fail(rules.error());
  const OutputComparison found = compare_outputs(*reference, *other, *rules);
  if (o.json) {
    Json lines = Json::array();
    for (const OutputDifference& d : found.first)
      lines.push(Json::object({{"line", d.line}, {"reference", d.reference}, {"other", d.other}}));
    print_json(Json::object(
        {{"same", found.same()}, {"different_lines", found.different_lines}, {"first", std::move(lines)}}));
  } else if (!found.same()) {
    print(fmt::format("{} differ{}\n", counted(found.different_lines, "line"),
                      found.different_lines == 1 ? "s" : ""));
    for (const OutputDifference& d : found.first)
      print(fmt::format("  line {}: '{}' is '{}' in {}\n", d.line, for_terminal(d.reference),
                        for_terminal(d.other), for_terminal(o.other)));
  }
  return found.same() ? 0 : 1;
}

}  // namespace

void add_compare_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("compare", "compare the outputs of two runs, numbers within a tolerance");
  auto o = std::make_shared<CompareOptions>();
  c->add_option("REFERENCE", o->reference, "output of a good run")->required();
  c->add_option("OTHER", o->other, "the output to be judged")->required();
  c->add_option("--tolerance", o->tolerance,
                "how far numbers may differ: relative, and absolute (default: 0)")
      ->type_name("REL[,ABS]");
  c->add_option("--learn", o->learn,
                "output of a second good run: what differs there (time stamps, "
                "seeds) may differ")
      ->type_name("FILE");
  c->add_flag("--json", o->json, "print the result as JSON");
  c->footer(
      "Line by line, word by word; blanks and empty lines at the end do "
      "not count.  Exit code 0: the same\n"
      "result; 1: another one.\n");
  c->callback([o, &ending] { ending = {run_compare(*o), o->json}; });
}

}  // namespace sickbay::cli
