// SPDX-License-Identifier: Apache-2.0
// Node diagnosis at a size no site has: 10,000 productions, each with a predicate of its own over two or
// three of 2,000 characteristics, evaluated by Duktape.
//
// round_all: one operation gives all 2,000 characteristics at once, so that every production is looked at:
// the longest round there can be.  round_one: the end of one of 200 operations that give ten each; the median
// and the longest of a whole run.  Queued operations end one after the other, which makes up whole_run.
// All times are processor time of the one thread: a round waits for nothing.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "adapters/duktape/duktape_predicates.h"
#include "engine/diagnose/run.h"
#include "figure.h"

namespace {

using namespace sickbay;
using namespace sickbay::diagnose;
using bench::figure;
using bench::require;
using bench::ThreadTime;

constexpr int kRuns = 15, kProductions = 10'000, kCharacteristics = 2'000, kOperations = 200;

std::string text_of(bool all_at_once) {
  std::mt19937 random(1);
  const auto z = [&] { return fmt::format("z{}", random() % kCharacteristics); };
  std::string characteristics, predicates, operations, productions, all;
  for (int i = 0; i < kCharacteristics; ++i) {
    characteristics += fmt::format(R"(,"z{}":{{"type":"integer","description":"d"}})", i);
    all += fmt::format(R"({}"z{}")", i == 0 ? "" : ",", i);
  }
  for (int i = 0; i < kOperations; ++i) {
    std::string outputs;
    for (int k = 0; k < kCharacteristics / kOperations; ++k)
      outputs += fmt::format(R"({}"z{}")", k == 0 ? "" : ",", i * (kCharacteristics / kOperations) + k);
    operations += fmt::format(R"(,"f{}":{{"kind":"collect","run":"x","outputs":[{}],"description":"d"}})", i,
                              all_at_once ? "" : outputs);
    productions += fmt::format(R"(,"q{0}":{{"if":"go","then":"f{0}","description":"d"}})", i);
  }
  for (int i = 0; i < kProductions - kOperations; ++i) {
    predicates +=
        fmt::format(R"j(,"c{}":{{"when":"{} > {} AND ({} == {} OR {} + 1 < {})","description":"d"}})j", i,
                    z(), random() % 100, z(), random() % 100, z(), random() % 5);
    productions += fmt::format(R"(,"p{0}":{{"if":"c{0}","then":"mend{1}","description":"d"}})", i, i % 50);
  }
  for (int i = 0; i < 50; ++i)
    operations +=
        fmt::format(R"(,"mend{}":{{"kind":"critical","run":"builtin:notify","description":"d"}})", i);
  if (all_at_once)
    operations +=
        fmt::format(R"(,"all":{{"kind":"collect","run":"x","outputs":[{}],"description":"d"}})", all);
  if (all_at_once) productions += R"(,"qa":{"if":"go","then":"all","description":"d"})";
  return fmt::format(R"({{"specification":"big","version":1,"description":"d",
    "characteristics":{{"go":{{"type":"bool","description":"d"}}{}}},
    "predicates":{{"go":{{"when":"go","description":"d"}}{}}},"operations":{{{}}},"productions":{{{}}}}})",
                     characteristics, predicates, operations.substr(1), productions.substr(1));
}

std::shared_ptr<const Rules> load(const std::string& text, PredicateCompiler& compiler) {
  const SpecificationFile files[] = {{"big.json", text}};
  auto read = read_specifications(files, {});
  require(read.has_value(), "the specification is read");
  auto rules = compile(std::move(read->front()), compiler);
  require(rules.has_value() && (*rules)->productions.size() >= kProductions, "and has its productions");
  return *rules;
}

OperationEnd answer_of(const Run& run, InstanceId id) {
  OperationEnd end;
  end.result = OperationEnd::Result::ok;
  Json::Object outputs;
  for (const auto& [own, z] : run.rules->operations[run.instances[id].operation].outputs)
    outputs.emplace_back(own, static_cast<std::int64_t>((z * 37) % 100));
  end.outputs = Json(std::move(outputs));
  return end;
}

RunStarted go() {
  RunStarted started;
  started.initial = {{"go", true}};
  started.permits = {{true, ""}, {true, ""}, {true, ""}};
  return started;
}

double ms_of(const std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(ThreadTime::now() - start).count();
}

}  // namespace

int main() {
  const std::string spread = text_of(false), at_once = text_of(true);
  std::unique_ptr<DuktapePredicates> compiler;
  std::shared_ptr<const Rules> rules;
  figure("load_10k",
         bench::median_ms<ThreadTime>(
             5,
             [&] {
               rules.reset();
               compiler = std::make_unique<DuktapePredicates>();
             },
             [&] { rules = load(spread, *compiler); }),
         "ms");
  figure("heap_10k", static_cast<double>(compiler->used()) / 1048576, "MiB");

  // The one round that looks at everything.
  const auto rules_at_once = load(at_once, *compiler);
  std::unique_ptr<Run> run;
  OperationFinished all;
  figure("round_all",
         bench::median_ms<ThreadTime>(
             kRuns,
             [&] {
               run = std::make_unique<Run>(rules_at_once);
               apply(*run, go());
               for (const InstanceId id : decide(*run).start) apply(*run, OperationStarted{kNoTime, id});
               for (const InstanceId id : run->running)
                 if (run->rules->specification.operations[run->instances[id].operation].name == "all")
                   all = {kNoTime, id, answer_of(*run, id)};
             },
             [&] {
               apply(*run, all);
               require(!decide(*run).over, "the run goes on");
             }),
         "ms");
  require(std::ranges::count(run->truths, Truth::yes) > 100, "some of the predicates are true");

  std::vector<double> rounds, wholes;
  for (int i = 0; i < kRuns; ++i) {
    const auto whole = ThreadTime::now();
    Run one(rules);
    apply(one, go());
    for (Decision d = decide(one); !d.over; d = decide(one)) {
      for (const InstanceId id : d.start) apply(one, OperationStarted{kNoTime, id});
      const OperationFinished end{kNoTime, one.running.front(), answer_of(one, one.running.front())};
      const auto start = ThreadTime::now();
      apply(one, end);
      rounds.push_back(ms_of(start));
    }
    wholes.push_back(ms_of(whole));
  }
  std::ranges::sort(rounds);
  std::ranges::sort(wholes);
  figure("round_one_p50", rounds[rounds.size() / 2], "ms");
  figure("round_one_max", rounds.back(), "ms");
  figure("whole_run", wholes[wholes.size() / 2], "ms");
  return 0;
}
