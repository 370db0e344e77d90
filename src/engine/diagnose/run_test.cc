// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/findings.h"

namespace sickbay::diagnose {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A specification in short: "z: integer b: bool", "c1: z > 1; ...", "f1 collect o1 -> z; ...", "p1: c1 f1;
// ...".
std::string specification(const std::string& characteristics, const std::string& predicates,
                          const std::string& operations, const std::string& productions) {
  const auto split = [](const std::string& text, const std::string& by) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(by, at), text.size());
      parts.push_back(text.substr(at, end - at));
      at = end + by.size();
    }
    return parts;
  };
  std::string z, c, f, p, o;
  std::map<std::string, bool> components;
  const auto add = [](std::string& to, const std::string& entry) { to += (to.empty() ? "" : ",") + entry; };
  for (const std::string& item : split(characteristics, "; ")) {
    const auto word = split(item, " ");
    add(z, fmt::format(R"("{}":{{"type":"{}","description":"d {}"}})", word[0], word[1], word[0]));
  }
  for (const std::string& item : split(predicates, "; ")) {
    const auto at = item.find(": ");
    add(c, fmt::format(R"("{0}":{{"when":"{1}","description":"d {0}"}})", item.substr(0, at),
                       item.substr(at + 2)));
  }
  for (const std::string& item :
       split(operations, "; ")) {  // NAME KIND COMPONENTS OUTPUTS [BUDGET], "-" for none
    const auto word = split(item, " ");
    const auto list = [&](const std::string& text) {
      std::string out;
      if (text != "-")
        for (const std::string& name : split(text, ",")) add(out, "\"" + name + "\"");
      return out;
    };
    if (word[2] != "-")
      for (const std::string& name : split(word[2], ",")) components[name] = true;
    add(f,
        fmt::format(
            R"("{0}":{{"kind":"{1}","run":"x","components":[{2}],"outputs":{3},"description":"d {0}"{4}}})",
            word[0], word[1], list(word[2]), word[3].find('{') == 0 ? word[3] : "[" + list(word[3]) + "]",
            word.size() > 4 ? fmt::format(R"(,"budget":{{"runs":{},"window":"1h"}})", word[4]) : ""));
  }
  for (const std::string& item : split(productions, "; ")) {  // NAME PREDICATE OPERATION
    const auto word = split(item, " ");
    add(p, fmt::format(R"("{}":{{"if":"{}","then":"{}","description":"d"}})", word[0], word[1], word[2]));
  }
  for (const auto& [name, used] : components) add(o, fmt::format(R"("{}":{{"description":"d"}})", name));
  return fmt::format(
      R"({{"specification":"t","version":1,"description":"d","components":{{{}}},"characteristics":{{{}}},)"
      R"("predicates":{{{}}},"operations":{{{}}},"productions":{{{}}}}})",
      o, z, c, f, p);
}

RunStarted initial(std::vector<std::pair<std::string, Value>> values, std::map<std::string, int> spent = {}) {
  RunStarted e;
  e.initial = std::move(values);
  e.spent = std::move(spent);
  return permitted(e);
}
const RunStarted kQuick = initial({{"go", true}});

std::vector<std::string> running(const Run& run) {
  std::vector<std::string> names;
  for (const InstanceId id : run.running)
    names.push_back(run.rules->specification.operations[run.instances[id].operation].name);
  return names;
}
std::vector<std::string> starting(const Run& run) {
  std::vector<std::string> names;
  for (const InstanceId id : decide(run).start)
    names.push_back(run.rules->specification.operations[run.instances[id].operation].name);
  return names;
}
std::string entries(const Run& run, JournalEntry::Kind kind) {
  std::string text;
  for (const JournalEntry& e : run.journal)
    if (e.kind == kind) text += (text.empty() ? "" : "\n") + e.name + ": " + e.text;
  return text;
}

TEST(Run, GoesThroughItsPhasesInOrder) {
  const auto rules = rules_of(
      specification("go bool; z integer; where integer; mended bool; left bool; told bool",
                    "c0: go; bad: z > 1; there: where > 0; done: mended; still: left",
                    "look collect o1 z; find localise o1 where; mend repair o1 mended; see verify o1 left; "
                    "tell critical - told; "
                    "out critical - -",
                    "p0 c0 look; p1 bad find; p2 there mend; p3 done see; p4 there tell; p5 still out"));
  const Driven d = drive(rules, kQuick,
                         {{"look", ok(Json::object({{"z", 2}}))},
                          {"find", ok(Json::object({{"where", 7}}))},
                          {"mend", ok(Json::object({{"mended", true}}))},
                          {"see", ok(Json::object({{"left", true}}))},
                          {"tell", ok(Json::object({{"told", true}}))},
                          {"out", ok()}});
  EXPECT_EQ(names_in_journal(d.run), "c0 look bad find there tell mend done see still out");
  std::vector<std::string> phases;
  for (const Instance& i : d.run.instances) phases.emplace_back(to_string(i.phase));
  EXPECT_THAT(phases, ElementsAre("examine", "examine", "examine", "repair", "verify", "last"));
  EXPECT_EQ(d.run.phase, Phase::over);
}

TEST(Run, WhatIsNotPermittedIsNotRunAndNothingFollows) {
  const auto rules = rules_of(specification("go bool; mended bool; left bool; spent bool",
                                            "c0: go; done: mended; still: left; over: spent",
                                            R"(mend repair o1 {"mended":"mended","budget_spent":"spent"} 1; )"
                                            "see verify o1 left; out critical - -",
                                            "p0 c0 mend; p1 done see; p2 still out; p3 over out"));
  RunStarted forbidden = kQuick;
  forbidden.permits.repair = {false, "the site forbids it"};
  const Driven d = drive(rules, forbidden, {});
  EXPECT_EQ(names_in_journal(d.run), "c0");
  EXPECT_EQ(entries(d.run, JournalEntry::Kind::refused),
            "mend: not run: repair not permitted: the site forbids it");
  EXPECT_EQ(entries(d.run, JournalEntry::Kind::unknown),
            "mended: mend was not run: repair not permitted: the site forbids it");
  const auto findings = findings_of(d.run);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "p0");
  EXPECT_EQ(findings[0].action, "none");
  EXPECT_EQ(findings[0].text, "mend was not run: repair not permitted: the site forbids it");
  EXPECT_TRUE(repairs_of(d.run).empty()) << "its budget is not touched";

  // And where it was admitted and is refused at its start.
  diagnose::Run run(rules);
  apply(run, kQuick);
  ASSERT_THAT(starting(run), ElementsAre("mend"));
  apply(run, OperationRefused{kNoTime, 0, "repair not permitted: no more"});
  EXPECT_EQ(run.phase, Phase::over);
  EXPECT_EQ(findings_of(run).at(0).text, "mend was not run: repair not permitted: no more");
  const std::string before = canonical_text(run);
  apply(run, OperationRefused{kNoTime, 0, "again"});
  apply(run, OperationStarted{kNoTime, 0});
  EXPECT_EQ(canonical_text(run), before);
}

TEST(Run, AnEmptyRunIsOverAtOnce) {
  const auto rules = rules_of(specification("go bool", "c0: go", "look collect - -", "p0 c0 look"));
  diagnose::Run run(rules);
  EXPECT_FALSE(decide(run).over);
  apply(run, initial({{"go", false}}));
  EXPECT_TRUE(decide(run).over);
  EXPECT_EQ(names_in_journal(run), "");
}

TEST(Run, CriticalOnesCountFromTheSecondStepOn) {
  // `out` could fire at once, for go is initial: it waits for the first answer.
  const auto rules = rules_of(specification("go bool; z integer", "c0: go; any: z >= 0",
                                            "look collect o1 z; again collect o1 -; out critical o1 -",
                                            "p0 c0 out; p1 c0 look; p2 any again"));
  diagnose::Run run(rules);
  apply(run, kQuick);
  EXPECT_THAT(starting(run), ElementsAre("look"));
  apply(run, OperationStarted{kNoTime, 0});
  apply(run, OperationFinished{kNoTime, 0, ok(Json::object({{"z", 1}}))});
  EXPECT_THAT(starting(run), ElementsAre("out"));  // at the head; `again` uses the same component
  EXPECT_EQ(names_in_journal(run), "c0 look any out again");
}

TEST(Run, QueueGoesByPriorityAndComponents) {
  const auto rules = rules_of(specification(
      "go bool", "c0: go",
      "loc localise o1 -; tst test o1 -; col collect o1 -; free localise o2 -; both test o1,o2 -; "
      "none collect - -",
      "p1 c0 loc; p2 c0 tst; p3 c0 col; p4 c0 free; p5 c0 both; p6 c0 none"));
  diagnose::Run run(rules);
  apply(run, kQuick);
  EXPECT_EQ(names_in_journal(run), "c0 col none tst both loc free");
  EXPECT_THAT(starting(run), ElementsAre("col", "none")) << "o2 is kept for `both`";
  for (const InstanceId id : decide(run).start) apply(run, OperationStarted{kNoTime, id});
  EXPECT_THAT(starting(run), ElementsAre());
  EXPECT_THAT(running(run), ElementsAre("col", "none"));
  apply(run, OperationFinished{kNoTime, run.running[0], ok()});
  EXPECT_THAT(starting(run), ElementsAre("tst"));
}

// Seconds at which each operation starts, where each takes as long as `takes` says.
std::map<std::string, int> starts_of(const std::shared_ptr<const Rules>& rules, const RunStarted& started,
                                     const std::map<std::string, int>& takes) {
  diagnose::Run run(rules);
  apply(run, started);
  std::map<std::string, int> starts;
  std::multimap<int, InstanceId> ends;
  int now = 0;
  for (Decision next = decide(run); !next.over; next = decide(run)) {
    for (const InstanceId id : next.start) {
      const std::string& name = rules->specification.operations[run.instances[id].operation].name;
      apply(run, OperationStarted{kNoTime, id});
      starts[name] = now;
      ends.emplace(now + takes.at(name), id);
    }
    now = ends.begin()->first;
    apply(run, OperationFinished{kNoTime, ends.begin()->second, ok()});
    ends.erase(ends.begin());
  }
  return starts;
}

TEST(Run, WhoIsNextKeepsItsComponentsFromThoseBehindIt) {
  const auto rules = rules_of(specification(
      "go bool", "c0: go",
      "slow collect a -; wide collect a,b -; b1 test b -; b2 test b -; b3 test b -; b4 test b -",
      "p1 c0 slow; p2 c0 wide; p3 c0 b1; p4 c0 b2; p5 c0 b3; p6 c0 b4"));
  const auto starts =
      starts_of(rules, kQuick, {{"slow", 3}, {"wide", 1}, {"b1", 4}, {"b2", 3}, {"b3", 3}, {"b4", 3}});
  EXPECT_EQ(starts.at("wide"), 3) << "not when all that need b alone are through, which is after 13 s";
  EXPECT_EQ(starts.at("b4"), 14);
}

TEST(Run, OneExaminationAnswersManyProductions) {
  const auto rules = rules_of(specification("go bool; a bool; m bool", "c0: go; c1: a; c2: a OR go",
                                            "look collect o1 a; mend repair o1 m; ",
                                            "p0 c0 look; p1 c1 look; p2 c1 mend; p3 c2 mend"));
  const Driven d = drive(
      rules, kQuick, {{"look", ok(Json::object({{"a", true}}))}, {"mend", ok(Json::object({{"m", true}}))}});
  EXPECT_EQ(names_in_journal(d.run), "c0 look c1 c2 mend mend");
  EXPECT_THAT(d.run.fired, ElementsAre(true, true, true, true));
}

TEST(Run, UnknownIsThreeValuedAndNeverFires) {
  const auto rules = rules_of(specification(
      "go bool; a bool; b bool; never bool",
      "c0: go; both: a AND b; either: a OR b; none: never OR go; neither: NOT a",
      "one collect - a; two collect - b; x1 critical - -; x2 critical - -; x3 critical - -; x4 critical - -",
      "p0 c0 one; p1 c0 two; p2 both x1; p3 either x2; p4 none x3; p5 neither x4"));
  OperationEnd failed =
      answer(OperationEnd::Result::unknown, Json::object({{"a", true}}), "timed out after 5 s");
  const Driven d = drive(rules, kQuick, {{"one", failed}, {"two", ok(Json::object({{"b", true}}))}});
  EXPECT_EQ(names_in_journal(d.run), "c0 one two either x2");
  EXPECT_EQ(entries(d.run, JournalEntry::Kind::unknown), "a: one ended unknown: timed out after 5 s");
  EXPECT_EQ(d.run.truths[1], Truth::unknown);  // a AND b with b true
  EXPECT_EQ(d.run.derived.missing[3], 1u);     // nothing gives `never`: not admissible
}

TEST(Run, AWrongAnswerMakesThatOutputUnknown) {
  const auto rules = rules_of(specification(
      "go bool; n integer; p percent; s string; v percent; bad bool", "c0: go; ok1: v == 7; f: bad",
      R"(look collect - {"n":"n","pct":"p","s":"s","v":"v","fault":"bad"}; x critical - -)",
      "p0 c0 look; p1 ok1 x; p2 f x"));
  const Driven d =
      drive(rules, kQuick,
            {{"look", answer(OperationEnd::Result::fault,
                             Json::object({{"n", "12"}, {"pct", 140}, {"v", 7}, {"more", 1}}))}});
  EXPECT_EQ(entries(d.run, JournalEntry::Kind::unknown),
            "n: look gave a wrong 'n': it must be a whole number within 2^53, not '12'\n"
            "p: look gave a wrong 'pct': it must be a whole number from 0 to 100, not 140\n"
            "s: look gave no 's'");
  EXPECT_EQ(names_in_journal(d.run), "c0 look ok1 f x x");  // a fault is an answer, and `fault` says so
}

TEST(Run, AnAnswerThatCannotBeUsedIsAFindingThatNamesIt) {
  const auto rules =
      rules_of(specification("go bool; p percent; total integer", "c0: go; c1: p > 95; c2: total < 8",
                             "look collect - p,total; out critical - -", "p0 c0 look; p1 c1 out; p2 c2 out"));
  const auto told = [&](Json outputs) {
    const Driven d = drive(rules, kQuick, {{"look", ok(std::move(outputs))}});
    std::string text;
    for (const Finding& f : findings_of(d.run))
      text +=
          fmt::format("{} {} {}: {}", f.rule, f.action, f.result == OperationEnd::Result::unknown, f.text);
    return text;
  };
  EXPECT_EQ(told(Json::object({{"p", 14}, {"total", 9}})), "");
  EXPECT_THAT(told(Json::object({{"p", 140}, {"total", 9}})),
              HasSubstr("p0 none true: look gave a wrong 'p': it "));
  EXPECT_EQ(told(Json::object({{"p", 14}, {"totl", 9}})), "p0 none true: look gave no 'total', but 'totl'");
  EXPECT_THAT(told(Json::object()), HasSubstr("gave no 'p'; look gave no 'total'"));
  EXPECT_EQ(told(Json::object({{"p", Json()}, {"total", 9}})), "") << "it says itself that it does not know";
  const Driven knows_not = drive(rules, kQuick, {{"look", ok(Json::object({{"p", Json()}, {"total", 9}}))}});
  EXPECT_NE(canonical_text(knows_not.run).find("look gave no 'p'"), std::string::npos);
  EXPECT_EQ(canonical_text(knows_not.run).find(", but 'p'"), std::string::npos)
      << "it is spelled as it should be";
}

TEST(Run, APredicateThatGivesNoTruthIsUnknownAndNamed) {
  const auto rules = rules_of(specification(
      "go bool; used integer; total integer", "c0: go; c1: NOT used / total < 0.9; c2: used / total != 0",
      "look collect - used,total; out critical - -", "p0 c0 look; p1 c1 out; p2 c2 out"));
  const auto after = [&](int used, int total) {
    return drive(rules, kQuick, {{"look", ok(Json::object({{"used", used}, {"total", total}}))}}).run;
  };
  EXPECT_THAT(findings_of(after(95, 100)), SizeIs(2));
  EXPECT_THAT(unknown_predicates(after(95, 100)), IsEmpty());
  for (const int used : {0, 5}) {
    const diagnose::Run run = after(used, 0);
    EXPECT_THAT(findings_of(run), IsEmpty()) << "nobody knows";
    const auto unknown = unknown_predicates(run);
    ASSERT_EQ(unknown.size(), 2u);
    EXPECT_EQ(unknown[0].rule, "p1");
    EXPECT_EQ(unknown[0].action, "none");
    EXPECT_THAT(unknown[0].text, AllOf(HasSubstr("c1 could not be told"), HasSubstr("division by zero")));
    EXPECT_THAT(cleared_rules(run), IsEmpty());
  }
}

TEST(Run, ACheckThatIsUnknownManyTimesInARowIsWhatTheSpecificationMakesOfIt) {
  const auto rules =
      rules_of(specification("go bool; free integer; lost integer", "c0: go; c1: lost >= 3; c2: free < 1",
                             R"(look collect - {"free":"free","unknown_in_a_row":"lost"}; out critical - -)",
                             "p0 c0 look; p1 c1 out; p2 c2 out"));
  RunStarted started = kQuick;
  const OperationEnd hung = answer(OperationEnd::Result::unknown, Json::object(), "timed out");
  const OperationEnd wrong = ok(Json::object({{"fre", 2}}));
  const auto next = [&](const OperationEnd& end) {
    const Driven d = drive(rules, started, {{"look", end}});
    started.unknown_runs = unknown_runs_of(d.run);
    std::string actions;
    for (const Finding& f : findings_of(d.run)) actions += f.rule + " ";
    return actions;
  };
  EXPECT_EQ(next(hung), "p0 ");
  EXPECT_EQ(next(wrong), "p0 ");
  EXPECT_EQ(next(hung), "p0 p1 ");
  EXPECT_EQ(next(hung), "p0 p1 ");
  EXPECT_EQ(next(ok(Json::object({{"free", 2}}))), "");
  EXPECT_EQ(next(hung), "p0 ") << "counted from the start";
}

TEST(Run, InitialValuesThatDoNotFitAreNoted) {
  const auto rules =
      rules_of(specification("go bool; used percent", "c0: go", "look collect - -", "p0 c0 look"));
  diagnose::Run run(rules);
  apply(run, initial({{"go", true}, {"used", std::int64_t{140}}, {"mode", std::string("quick")}}));
  EXPECT_EQ(entries(run, JournalEntry::Kind::initial),
            "used: left out: it must be a whole number from 0 to 100, not 140\n"
            "mode: left out: the specification has no such characteristic");
}

TEST(Run, ARepairWithoutBudgetIsAFaultThatTheSpecificationCanEscalate) {
  const auto rules =
      rules_of(specification("go bool; mended bool; spent bool", "c0: go; give_up: spent; done: mended",
                             R"(mend repair o1 {"mended":"mended","budget_spent":"spent"} 2; )"
                             "out critical o1 -; see verify o1 -",
                             "p0 c0 mend; p1 give_up out; p2 done see"));
  const std::map<std::string, OperationEnd> answers = {{"mend", ok(Json::object({{"mended", true}}))}};
  const Driven within = drive(rules, initial({{"go", true}}, {{"mend", 1}}), answers);
  EXPECT_EQ(names_in_journal(within.run), "c0 mend done see");
  EXPECT_EQ(repairs_of(within.run).size(), 1u);

  const Driven beyond = drive(rules, initial({{"go", true}}, {{"mend", 2}}), answers);
  EXPECT_EQ(names_in_journal(beyond.run), "c0 give_up out");
  EXPECT_EQ(entries(beyond.run, JournalEntry::Kind::budget_spent),
            "mend: not run: its budget of 2 runs in 1h is used up");
  EXPECT_EQ(beyond.run.instances[0].result, OperationEnd::Result::fault);
  EXPECT_EQ(repairs_of(beyond.run).size(), 0u);
}

TEST(Run, ThePhaseWaitsForACriticalAnswerThatFeedsIt) {
  const auto rules =
      rules_of(specification("go bool; z integer; told bool; m bool", "c0: go; bad: z > 1; heard: told",
                             "look collect o1 z; tell critical o2 told; mend repair o1 m; find localise o1 -",
                             "p0 c0 look; p1 bad tell; p2 bad mend; p3 heard find"));
  diagnose::Run run(rules);
  apply(run, kQuick);
  apply(run, OperationStarted{kNoTime, 0});
  apply(run, OperationFinished{kNoTime, 0, ok(Json::object({{"z", 2}}))});
  EXPECT_THAT(starting(run), ElementsAre("tell"));
  EXPECT_EQ(run.phase, Phase::examine);  // told may still make `find` true
  apply(run, OperationStarted{kNoTime, 1});
  apply(run, OperationFinished{kNoTime, 1, ok(Json::object({{"told", true}}))});
  EXPECT_THAT(starting(run), ElementsAre("find"));
}

TEST(Run, TwoAnswersForOneCharacteristicAreSaidSo) {
  const auto rules = rules_of(specification("go bool; z integer", "c0: go; bad: z > 1",
                                            "one collect o1 z; two collect o2 z; x critical - -",
                                            "p0 c0 one; p1 c0 two; p2 bad x"));
  const Driven d =
      drive(rules, kQuick, {{"one", ok(Json::object({{"z", 1}}))}, {"two", ok(Json::object({{"z", 2}}))}});
  EXPECT_THAT(entries(d.run, JournalEntry::Kind::overwritten),
              HasSubstr("z: two gave it another value than one"));
  EXPECT_EQ(names_in_journal(d.run), "c0 one two bad x");  // not fired before: looked at again
}

TEST(Run, ARunThatIsStoppedStartsNothingMore) {
  const auto rules = rules_of(specification("go bool; z integer", "c0: go; bad: z > 1",
                                            "one collect o1 z; two collect o1 -; x critical - -",
                                            "p0 c0 one; p1 c0 two; p2 bad x"));
  diagnose::Run run(rules);
  apply(run, kQuick);
  apply(run, OperationStarted{kNoTime, 0});
  apply(run, RunStopped{kNoTime, "the agent ends"});
  EXPECT_TRUE(decide(run).start.empty());
  EXPECT_FALSE(decide(run).over);
  apply(run, OperationFinished{kNoTime, 0, ok(Json::object({{"z", 2}}))});
  EXPECT_TRUE(decide(run).over);
  EXPECT_EQ(names_in_journal(run), "c0 one two");
  EXPECT_TRUE(cleared_rules(run).empty());
  EXPECT_TRUE(findings_of(run).empty());
}

TEST(Run, EventsThatDoNotFitChangeNothing) {
  const auto rules = rules_of(specification("go bool", "c0: go", "look collect o1 -", "p0 c0 look"));
  diagnose::Run run(rules);
  const auto same_after = [&](RunEvent e) {
    const std::string before = canonical_text(run);
    apply(run, e);
    EXPECT_EQ(canonical_text(run), before);
  };
  same_after(OperationStarted{kNoTime, 0});
  same_after(OperationFinished{kNoTime, 0, ok()});
  apply(run, kQuick);
  same_after(kQuick);
  same_after(OperationStarted{kNoTime, 99});
  same_after(OperationFinished{kNoTime, 0, ok()});  // not started
  apply(run, OperationStarted{kNoTime, 0});
  same_after(OperationStarted{kNoTime, 0});
  apply(run, OperationFinished{kNoTime, 0, ok()});
  same_after(OperationFinished{kNoTime, 0, ok()});
  same_after(RunStopped{kNoTime, "late"});
}

TEST(Run, FindingsAreWishesAndUnknowns) {
  const auto rules = rules_of(R"({"specification": "disk", "version": 1, "description": "d",
    "components": {"tmp": {"description": "d"}},
    "characteristics": {"go": {"type": "bool", "description": "d"}, "used": {"type": "percent", "description": "d"},
                        "worn": {"type": "percent", "description": "d"}, "path": {"type": "string", "description": "d"}},
    "predicates": {"c0": {"when": "go", "description": "always"}, "full": {"when": "used > 95", "description": "/tmp is full"},
                   "old": {"when": "used > 99", "description": "/tmp is quite full"}},
    "operations": {
      "look": {"kind": "collect", "run": "builtin:filesystem", "components": ["tmp"], "outputs": ["used", "path"], "description": "d"},
      "smart": {"kind": "collect", "run": "builtin:disk_smart", "components": ["tmp"], "outputs": ["worn"], "description": "d"},
      "tell": {"kind": "critical", "run": "builtin:notify", "inputs": ["path", "worn"], "arguments": {"to": "user"}, "description": "tell the user"},
      "drain": {"kind": "critical", "run": "builtin:drain", "components": ["tmp"], "description": "take the node out"},
      "hook": {"kind": "critical", "run": "hook.sh", "description": "call the site"}},
    "productions": {"p0": {"if": "c0", "then": "look", "description": "d"}, "p1": {"if": "c0", "then": "smart", "description": "d"},
      "p2": {"if": "full", "then": "tell", "description": "d"}, "p3": {"if": "full", "then": "hook", "description": "d"},
      "p4": {"if": "old", "then": "drain", "description": "d"}}})");
  const Driven d =
      drive(rules, kQuick,
            {{"look", ok(Json::object({{"used", 97}, {"path", "/tmp"}}))},
             {"smart", answer(OperationEnd::Result::unknown, Json::object(), "smartctl is not installed")}});
  std::vector<std::string> shown;
  for (const Finding& f : findings_of(d.run)) shown.push_back(to_json(f).dump());
  EXPECT_THAT(
      shown,
      testing::UnorderedElementsAre(
          R"({"specification":"disk","rule":"p1","result":"unknown","action":"none","to":"","components":["tmp"],)"
          R"("text":"smart could not be told: smartctl is not installed","values":{"go":true}})",
          R"({"specification":"disk","rule":"p2","result":"fault","action":"notify","to":"user","components":[],)"
          R"x("text":"/tmp is full: tell the user (/tmp)","values":{"used":97,"path":"/tmp","worn":null}})x",
          R"({"specification":"disk","rule":"p3","result":"fault","action":"none","to":"","components":[],)"
          R"("text":"/tmp is full: call the site","values":{"used":97}})"));
  EXPECT_THAT(cleared_rules(d.run), ElementsAre("p4"));
}

TEST(Run, AFindingThatAsksForARestartNamesWhat) {
  const auto finding = [](const std::string& arguments, const std::string& inputs = "[]") {
    const auto rules = rules_of(R"({"specification": "fabric", "version": 1, "description": "d",
    "characteristics": {"go": {"type": "bool", "description": "d"}, "component": {"type": "string", "description": "d"}},
    "predicates": {"c0": {"when": "go", "description": "always"}, "named": {"when": "component != \"\"", "description": "it hangs"}},
    "operations": {"look": {"kind": "collect", "run": "x", "outputs": ["component"], "description": "d"},
      "again": {"kind": "critical", "run": "builtin:restart", "inputs": )" +
                                inputs + R"(, "arguments": )" + arguments + R"(, "description": "ask"}},
    "productions": {"p0": {"if": "c0", "then": "look", "description": "d"}, "p1": {"if": "named", "then": "again", "description": "d"}}})");
    const Driven d = drive(rules, kQuick, {{"look", ok(Json::object({{"component", "opensm"}}))}});
    const auto found = findings_of(d.run);
    return found.size() == 1 ? to_json(found[0]) : Json();
  };
  EXPECT_EQ(
      finding(R"({"component": "slurmd"})").dump(),
      R"({"specification":"fabric","rule":"p1","result":"fault","action":"restart","to":"","components":[],)"
      R"("text":"it hangs: ask","values":{"component":"opensm"},"component":"slurmd","class":"component"})");
  const Json network = finding(R"({"class": "network"})", R"(["component"])");
  EXPECT_EQ(network["component"].as_string(), "opensm") << "an argument comes from the input of its name";
  EXPECT_EQ(network["class"].as_string(), "network");
  const Json of_nothing = finding("{}");
  EXPECT_EQ(of_nothing["action"].as_string(), "notify") << "who names nothing is told of all the same";
  EXPECT_EQ(of_nothing["to"].as_string(), "operator");
  EXPECT_FALSE(of_nothing.has("component"));
}

TEST(Run, BudgetsCountTheRunsOfTheirWindow) {
  const auto rules =
      rules_of(specification("go bool", "c0: go", "mend repair - - 2; other repair - -", "p0 c0 mend"));
  const auto at = [](int hours) { return TimePoint(std::chrono::hours(hours)); };
  const std::vector<RepairRun> history = {
      {"mend", at(1)}, {"mend", at(10)}, {"other", at(10)}, {"gone", at(10)}};
  EXPECT_EQ(spent_budgets(rules->specification, history, at(10)), (std::map<std::string, int>{{"mend", 1}}));
  EXPECT_EQ(spent_budgets(rules->specification, history, at(11)), (std::map<std::string, int>{{"mend", 0}}));
}

}  // namespace
}  // namespace sickbay::diagnose
