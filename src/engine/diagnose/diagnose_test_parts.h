// SPDX-License-Identifier: Apache-2.0
// What the tests of node diagnosis share: a specification out of one text, and a driver that answers at once.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "adapters/duktape/duktape_predicates.h"
#include "engine/diagnose/run.h"

namespace sickbay::diagnose {

inline Result<std::vector<Specification>> read_one(const std::string& text) {
  const SpecificationFile files[] = {{"test.json", text}};
  return read_specifications(files, {"n1", {}});
}

/// Aborts the test program where the text is wrong: tests of refusals use read_one.
inline std::shared_ptr<const Rules> rules_of(const std::string& text) {
  auto specifications = read_one(text);
  if (!specifications) ADD_FAILURE() << specifications.error().message("test");
  static DuktapePredicates compiler;
  auto rules = compile(specifications.value().at(0), compiler);
  if (!rules) ADD_FAILURE() << rules.error().message("test");
  return rules.value();
}

inline OperationEnd answer(OperationEnd::Result result, Json outputs, std::string text = "") {
  OperationEnd end;
  end.result = result;
  end.outputs = std::move(outputs);
  end.text = std::move(text);
  return end;
}
inline OperationEnd ok(Json outputs = Json::object()) {
  return answer(OperationEnd::Result::ok, std::move(outputs));
}

/// `started` with all that may be permitted.
inline RunStarted permitted(RunStarted started) {
  started.permits = {{true, ""}, {true, ""}, {true, ""}};
  return started;
}

/// Runs to the end: `answers` by operation, `choose` says which of the running ones ends next.
struct Driven {
  Run run;
  std::vector<RunEvent> events;
  int most_running = 0;
};
using Choose = std::function<std::size_t(const Run&)>;
inline Driven drive(
    std::shared_ptr<const Rules> rules, RunStarted started,
    const std::map<std::string, OperationEnd>& answers,
    const Choose& choose = [](const Run&) { return std::size_t{0}; }) {
  Driven d{Run(std::move(rules)), {}, 0};
  const auto event = [&](RunEvent e) {
    apply(d.run, e);
    d.events.push_back(std::move(e));
  };
  event(std::move(started));
  for (Decision decision = decide(d.run); !decision.over; decision = decide(d.run)) {
    for (const InstanceId id : decision.start) event(OperationStarted{kNoTime, id});
    d.most_running = std::max(d.most_running, static_cast<int>(d.run.running.size()));
    if (d.run.running.empty()) {
      ADD_FAILURE() << "nothing runs, and the run is not over\n" << canonical_text(d.run);
      break;
    }
    const InstanceId id = d.run.running[choose(d.run)];
    const auto known =
        answers.find(d.run.rules->specification.operations[d.run.instances[id].operation].name);
    event(OperationFinished{kNoTime, id, known == answers.end() ? OperationEnd() : known->second});
  }
  return d;
}

/// The paper's lines of L: names in order, "c1 c3 f4 f2".
inline std::string names_in_journal(const Run& run) {
  std::string names;
  for (const JournalEntry& e : run.journal)
    if (e.kind == JournalEntry::Kind::predicate || e.kind == JournalEntry::Kind::operation)
      names += (names.empty() ? "" : " ") + e.name;
  return names;
}

}  // namespace sickbay::diagnose
