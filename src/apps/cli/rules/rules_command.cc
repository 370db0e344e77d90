// SPDX-License-Identifier: Apache-2.0
// sickbay rules: is a specification well made, does it do what its tests say, why does a production fire, and
// what becomes of an NHC configuration (rules_import.cc).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "adapters/duktape/duktape_predicates.h"
#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/rules/rule_files.h"
#include "apps/cli/rules/rules_import.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/text_table.h"
#include "engine/diagnose/explain.h"
#include "engine/diagnose/lint.h"
#include "engine/diagnose/rule_tests.h"
#include "engine/diagnose/strict_json.h"

namespace sickbay::cli {
namespace {

using diagnose::Rules;
using diagnose::Specification;

struct RulesOptions {
  std::vector<std::string> files, features, set;
  std::string node, period, test, specification;
  int run = 1;
  bool json = false;
};

constexpr const char* kRulesFooter =
    "doc/formats/specification.md describes specifications and their tests.\n";

// The specifications of the named files for the node, ready to run.
Result<std::vector<std::shared_ptr<const Rules>>> load(const std::vector<diagnose::SpecificationFile>& files,
                                                       const diagnose::NodeIdentity& node,
                                                       PredicateCompiler& compiler) {
  auto specifications = diagnose::read_specifications(files, node);
  if (!specifications) return fail(specifications.error());
  std::vector<std::shared_ptr<const Rules>> all;
  for (Specification& s : *specifications) {
    auto rules = diagnose::compile(std::move(s), compiler);
    if (!rules) return fail(rules.error());
    all.push_back(std::move(*rules));
  }
  return all;
}

// What to do about a name that none of `names` is; that of other things would speak of cases and nodes.
Error not_there(std::string_view noun, const std::string& name, const std::vector<std::string>& names) {
  Error error(ErrorCode::not_found, fmt::format("there is no {} {}", noun, quote_for_message(name)));
  const std::string near = did_you_mean(name, names);
  error.remedy_text = !near.empty()   ? fmt::format("did you mean '{}'?", near)
                      : names.empty() ? fmt::format("the files hold no {}; name others", noun)
                                      : fmt::format("the files hold: {}", fmt::join(names, ", "));
  return error;
}

// The one of that name, or the only one.  Errors: not_found, usage.
Result<std::shared_ptr<const Rules>> choose(const std::vector<std::shared_ptr<const Rules>>& all,
                                            const std::string& name, std::string_view how) {
  std::vector<std::string> names;
  for (const auto& rules : all) {
    names.push_back(rules->specification.name);
    if (names.back() == name) return rules;
  }
  if (name.empty() && all.size() == 1) return all.front();
  if (name.empty() && all.empty())
    return fail(
        Error(ErrorCode::not_found, "no specification is for this node")
            .remedied_by("a file with 'nodes' is for those alone: name one of them with --node, and its "
                         "features with --features"));
  if (name.empty())
    return fail(Error(ErrorCode::usage, fmt::format("the files hold {} specifications: {}", names.size(),
                                                    fmt::join(names, ", ")))
                    .remedied_by(fmt::format("name one with {}", how)));
  return fail(not_there("specification", name, names));
}

// lint -----------------------------------------------------------------------------------------------------

Result<int> run_lint(const RulesOptions& o) {
  auto files = rule_files(o.files);
  if (!files) return fail(files.error());
  DuktapePredicates compiler;
  auto all = load(*files, {o.node, o.features}, compiler);
  if (!all) return fail(all.error());
  // (What another node can restart is not known here.)
  const auto components = o.node.empty() ? components_here() : std::vector<std::string>{};
  if (!components) return fail(components.error());
  Json specifications = Json::array(), findings = Json::array();
  std::string text;
  int errors = 0, warnings = 0;
  for (const auto& rules : *all) {
    const Specification& s = rules->specification;
    specifications.push(Json::object({{"specification", s.name},
                                      {"version", s.version},
                                      {"digest", diagnose::digest(s)},
                                      {"productions", s.productions.size()}}));
    for (const diagnose::LintFinding& f : diagnose::lint(*rules, *components)) {
      (f.error ? errors : warnings) += 1;
      text += for_terminal(fmt::format("{}: {}: {} [{}]", f.place.text(), f.error ? "error" : "warning",
                                       f.text, f.code)) +
              "\n";
      Json json = diagnose::to_json(f);
      findings.push(json.set("specification", s.name));
    }
  }
  if (o.json) {
    print_json(Json::object({{"specifications", specifications},
                             {"findings", findings},
                             {"errors", errors},
                             {"warnings", warnings}}));
  } else {
    print(text);
    if (all->empty() && !files->empty())
      print("No file is for this node; name one with --node and --features.\n");
    for (const auto& rules : *all)
      print(fmt::format("{}: version {}, {} productions, digest {}\n", rules->specification.name,
                        rules->specification.version, rules->specification.productions.size(),
                        diagnose::digest(rules->specification)));
    print(fmt::format("{} error{}, {} warning{}\n", errors, errors == 1 ? "" : "s", warnings,
                      warnings == 1 ? "" : "s"));
  }
  return errors > 0 ? 1 : 0;
}

// test -----------------------------------------------------------------------------------------------------

struct LoadedTests {
  diagnose::RuleTestFile file;
  std::vector<diagnose::SpecificationFile> specifications;
};

// A test file and the files of the specification that it is about.
Result<LoadedTests> load_tests(const std::string& path) {
  auto text = read_rule_file(path);
  if (!text) return fail(text.error());
  auto parsed = diagnose::parse_rule_tests(*text);
  if (!parsed) return fail(parsed.error());
  LoadedTests loaded{std::move(*parsed), {}};
  constexpr std::size_t kEnding = std::string_view(".test.json").size();
  std::vector<std::string> paths;
  for (const std::string& name : loaded.file.specifications)
    paths.push_back((std::filesystem::path(path).parent_path() / name).string());
  if (paths.empty()) paths.push_back(path.substr(0, path.size() - kEnding) + ".json");
  for (const std::string& specification : paths) {
    auto file = read_rule_file(specification);
    if (!file) return fail(std::move(file.error()).in("reading what " + path + " tests"));
    loaded.specifications.push_back(std::move(*file));
  }
  return loaded;
}

Result<diagnose::RuleTestResult> run_one(const LoadedTests& loaded, const diagnose::RuleTest& test,
                                         PredicateCompiler& compiler) {
  auto all = load(loaded.specifications, test.node, compiler);
  if (!all) return fail(all.error());
  auto rules = choose(*all, loaded.file.specification, "the key 'specification' of the test file");
  if (!rules) return fail(rules.error());
  return diagnose::run_rule_test(*rules, test);
}

Result<int> run_tests(const RulesOptions& o) {
  auto paths = rule_test_files(o.files);
  if (!paths) return fail(paths.error());
  DuktapePredicates compiler;
  Json tests = Json::array();
  int passed = 0, failed = 0;
  std::vector<Error> unread;  // the other files' tests are run all the same
  for (const std::string& path : *paths) {
    auto loaded = load_tests(path);
    if (!loaded) {
      unread.push_back(std::move(loaded.error()));
      continue;
    }
    for (const diagnose::RuleTest& test : loaded->file.tests) {
      auto result = run_one(*loaded, test, compiler);
      if (!result) {
        unread.push_back(std::move(result.error()));
        break;  // those behind it would say the same
      }
      const bool good = result->differences.empty();
      (good ? passed : failed) += 1;
      tests.push(Json::object({{"file", path},
                               {"line", test.place.line},
                               {"name", test.name},
                               {"passed", good},
                               {"differences", Json(result->differences)}}));
      if (o.json) continue;
      print(fmt::format("{} {}: {}\n", good ? "ok  " : "FAIL", for_terminal(test.place.text()),
                        for_terminal(test.name)));
      for (const std::string& difference : result->differences)
        print(fmt::format("     {}\n", for_terminal(difference)));
    }
  }
  if (!unread.empty()) {
    diagnose::Faults faults;
    for (const Error& error : unread) faults.add(error);
    return fail(unread.size() == 1 ? unread.front() : faults.error());
  }
  if (o.json)
    print_json(Json::object({{"tests", tests}, {"passed", passed}, {"failed", failed}}));
  else
    print(fmt::format("{} passed, {} failed\n", passed, failed));
  return failed > 0 ? 1 : 0;
}

// explain --------------------------------------------------------------------------------------------------

// NAME=VALUE, the value read by the type of the characteristic.
Result<std::pair<std::string, Json>> parse_fact(const std::string& word, const Rules& rules) {
  const auto equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const diagnose::Index z = rules.find_characteristic(name);
  if (equals == std::string::npos || z == diagnose::kNone) {
    std::vector<std::string> names;
    for (const auto& c : rules.specification.characteristics) names.push_back(c.name);
    const std::string near = did_you_mean(name, names);
    return fail(
        Error(ErrorCode::usage, equals == std::string::npos
                                    ? fmt::format("--set {} has no '='", word)
                                    : fmt::format("there is no characteristic '{}'", name))
            .remedied_by(near.empty() ? "write NAME=VALUE" : fmt::format("did you mean '{}'?", near)));
  }
  const std::string given = word.substr(equals + 1);
  const ValueType type = rules.specification.characteristics[z].type;
  // A text stands as it is, or as JSON in quotes: "null" is the word, null is unknown.
  Json json(given);
  if (type_row(type).value_class != ValueClass::text || given == "null" || given.starts_with('"'))
    if (auto parsed = Json::parse(given)) json = std::move(*parsed);
  if (json.is_null()) return std::pair(name, json);
  if (auto value = value_from_json(json, type); !value)
    return fail(ErrorCode::usage, fmt::format("--set {}: it {}", word, value.error().what));
  return std::pair(name, json);
}

// The run that would come of these facts: operations answer with them, the others are initial.
Result<diagnose::Run> run_with_facts(const std::shared_ptr<const Rules>& rules, const RulesOptions& o) {
  const Specification& s = rules->specification;
  diagnose::RuleTest test;
  diagnose::RuleRun& run = test.runs.emplace_back();
  run.period = o.period;
  if (const diagnose::Period* period = diagnose::default_period(s); o.period.empty() && period != nullptr)
    run.period = period->name;
  if (run.period.empty() && !s.periods.empty()) {
    std::vector<std::string> names;
    for (const diagnose::Period& period : s.periods) names.push_back(period.name);
    return fail(
        Error(ErrorCode::usage, fmt::format("'{}' has several periods: {}", s.name, fmt::join(names, ", ")))
            .remedied_by("name one with --period"));
  }
  for (const std::string& word : o.set) {
    auto fact = parse_fact(word, *rules);
    if (!fact) return fail(fact.error());
    bool answered = false;
    for (const auto& operation : s.operations)
      for (const auto& [own, name] : operation.outputs) {
        if (name != fact->first) continue;
        auto& answers = run.answers[operation.name];
        if (answers.empty()) answers.emplace_back().end.result = OperationEnd::Result::ok;
        answers.front().end.outputs.set(own, fact->second);
        answered = true;
      }
    if (!answered && fact->second.is_null())
      return fail(
          ErrorCode::usage,
          fmt::format("--set {}: no operation gives it, and an initial value is never unknown", word));
    if (!answered) run.initial.push_back(std::move(*fact));
  }
  auto result = diagnose::run_rule_test(rules, test);
  if (!result.differences.empty()) return fail(ErrorCode::usage, result.differences.front());
  return std::move(result.runs.front());
}

Result<diagnose::Run> run_of_test(const RulesOptions& o, PredicateCompiler& compiler) {
  auto paths = rule_test_files(o.files);
  if (!paths) return fail(paths.error());
  std::vector<std::string> names;
  for (const std::string& path : *paths) {
    auto loaded = load_tests(path);
    if (!loaded) return fail(loaded.error());
    for (const diagnose::RuleTest& test : loaded->file.tests) {
      names.push_back(test.name);
      if (test.name != o.test) continue;
      auto result = run_one(*loaded, test, compiler);
      if (!result) return fail(result.error());
      if (o.run < 1 || o.run > static_cast<int>(result->runs.size()))
        return fail(ErrorCode::usage,
                    fmt::format("test '{}' has {} run(s), not {}", o.test, result->runs.size(), o.run));
      return std::move(result->runs[static_cast<std::size_t>(o.run - 1)]);
    }
  }
  return fail(not_there("test", o.test, names));
}

Result<diagnose::Run> run_to_explain(const RulesOptions& o, PredicateCompiler& compiler) {
  if (!o.test.empty()) return run_of_test(o, compiler);
  auto files = rule_files(o.files);
  if (!files) return fail(files.error());
  auto all = load(*files, {o.node, o.features}, compiler);
  if (!all) return fail(all.error());
  auto rules = choose(*all, o.specification, "--specification");
  if (!rules) return fail(rules.error());
  return run_with_facts(*rules, o);
}

Result<int> run_explain(const RulesOptions& o) {
  DuktapePredicates compiler;
  auto run = run_to_explain(o, compiler);
  if (!run) return fail(run.error());
  const auto explanations = diagnose::explain(*run);
  const auto findings = diagnose::findings_of(*run);
  if (o.json) {
    Json productions = Json::array(), journal = Json::array(), found = Json::array();
    for (const auto& e : explanations) productions.push(diagnose::to_json(e));
    for (const auto& e : run->journal)
      journal.push(
          Json::object({{"step", e.step}, {"kind", to_string(e.kind)}, {"name", e.name}, {"text", e.text}}));
    for (const auto& f : findings) found.push(diagnose::to_json(f));
    print_json(Json::object({{"specification", run->rules->specification.name},
                             {"productions", productions},
                             {"journal", journal},
                             {"findings", found}}));
    return 0;
  }
  const TextPage page = page_of_stdout();
  TextTable productions({{"PRODUCTION"}, {"OPERATION"}, {"WHY", TextTable::Column::Align::left, true}});
  for (const auto& e : explanations) productions.add({e.production, e.operation, for_terminal(e.text)});
  print(productions.text({.width = page.width, .colours = page.colours}));
  TextTable journal({{"STEP", TextTable::Column::Align::right},
                     {"KIND"},
                     {"NAME"},
                     {"TEXT", TextTable::Column::Align::left, true}});
  for (const auto& e : run->journal)
    journal.add({std::to_string(e.step), std::string(to_string(e.kind)), e.name, for_terminal(e.text)});
  if (!journal.empty()) print("\n" + journal.text({.width = page.width, .colours = page.colours}));
  return 0;
}

}  // namespace

void add_rules_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("rules", "specifications of node diagnosis: lint, test, explain, import");
  c->require_subcommand(1);
  auto o = std::make_shared<RulesOptions>();
  const auto common = [o](CLI::App* sub, const char* files) {
    sub->add_option("FILE", o->files, files);
    sub->add_flag("--json", o->json, "print JSON");
  };
  const auto node = [o](CLI::App* sub) {
    sub->add_option("--node", o->node, "as on this node: of files with 'nodes', those that fit")
        ->type_name("NAME");
    sub->add_option("--features", o->features, "and with these features of Slurm")
        ->type_name("NAMES")
        ->delimiter(',');
  };

  CLI::App* lint = c->add_subcommand("lint", "what is wrong, or hardly meant, in specifications");
  common(lint, "specifications, laid over each other, or folders; default: the shipped ones and the site's");
  node(lint);
  lint->footer(
      std::string("Exit codes: 0 no error; 1 an error was found; 65 a file cannot be read as one.\n") +
      kRulesFooter);
  lint->callback([o, &ending] { ending = {run_lint(*o), o->json}; });

  CLI::App* test = c->add_subcommand("test", "run the tests that stand beside specifications");
  common(
      test,
      "tests, specifications with tests beside them, or folders; default: the shipped ones and the site's");
  test->footer(std::string("Exit codes: 0 all passed; 1 one failed; 65 a file cannot be read as one.\n") +
               kRulesFooter);
  test->callback([o, &ending] { ending = {run_tests(*o), o->json}; });

  CLI::App* explain =
      c->add_subcommand("explain", "why each production fires or not, for given values or in a test");
  common(explain,
         "specifications, laid over each other; with --test the test's file; default: the shipped ones and "
         "the site's");
  node(explain);
  explain->add_option("--specification", o->specification, "which, where the files hold several")
      ->type_name("NAME");
  explain
      ->add_option(
          "--set", o->set,
          "a characteristic has this value: an operation gives it, or it is initial; null: it is unknown")
      ->type_name("NAME=VALUE");
  explain
      ->add_option("--period", o->period,
                   "whose initial values hold; default: the only one, or the first of the quick mode")
      ->type_name("NAME");
  explain->add_option("--test", o->test, "the run of this test")->type_name("NAME");
  explain->add_option("--run", o->run, "which of its runs")->type_name("NUMBER")->capture_default_str();
  explain->footer(
      std::string("Nothing is run on this node: operations answer what --set or the test says.\n") +
      kRulesFooter);
  explain->callback([o, &ending] { ending = {run_explain(*o), o->json}; });

  add_rules_import(*c, ending);
}

}  // namespace sickbay::cli
