// SPDX-License-Identifier: Apache-2.0
// The reader of rule tests.
#include <fmt/format.h>

#include "engine/diagnose/rule_tests.h"
#include "engine/diagnose/strict_json.h"

namespace sickbay::diagnose {
namespace {

constexpr Micros kLongest = std::chrono::hours(24 * 366);

Taken take_path(std::string& field, const Json& value) {
  if (auto wrong = take_text(field, value, 4096)) return wrong;
  if (field.empty()) return Wrong{&value, "must not be empty"};
  return {};
}
Taken take_paths(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array())
    return Wrong{&value, fmt::format("must be a list of files, not {}", value.type_name())};
  Taken wrong;
  for (const Json& item : value.items()) wrong.add(take_path(field.emplace_back(), item));
  return wrong;
}
// A journal names an operation more than once.
Taken take_name_list(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array())
    return Wrong{&value, fmt::format("must be a list of names, not {}", value.type_name())};
  Taken wrong;
  for (const Json& item : value.items()) wrong.add(take_name(field.emplace_back(), item));
  return wrong;
}
Taken take_values(std::vector<std::pair<std::string, Json>>& field, const Json& value) {
  if (!value.is_object()) return Wrong{&value, fmt::format("must be an object, not {}", value.type_name())};
  for (const auto& [name, v] : value.members()) field.emplace_back(name, v);
  return {};
}

constexpr Key<RuleAnswer> kAnswerKeys[] = {
    {"result", false,
     [](RuleAnswer& a, const Json& v) {
       std::size_t which = 0;
       auto wrong = take_word(v, {"ok", "fault", "unknown"}, which);
       a.end.result = static_cast<OperationEnd::Result>(which);
       return wrong;
     }},
    {"outputs", false,
     [](RuleAnswer& a, const Json& v) -> Taken {
       if (!v.is_object()) return Wrong{&v, fmt::format("must be an object, not {}", v.type_name())};
       a.end.outputs = v;
       return {};
     }},
    {"text", false, [](RuleAnswer& a, const Json& v) { return take_text(a.end.text, v, 4096); }},
    {"takes", false,
     [](RuleAnswer& a, const Json& v) { return take_bounded_duration(a.takes, v, Micros(0), kLongest); }},
};

Taken take_answer(std::vector<RuleAnswer>& answers, const Json& value) {
  RuleAnswer& answer = answers.emplace_back();
  answer.end.result = OperationEnd::Result::ok;
  return take_object<RuleAnswer>(answer, value, kAnswerKeys);
}

Taken take_answers(RuleRun& run, const Json& value) {
  if (!value.is_object()) return Wrong{&value, fmt::format("must be an object, not {}", value.type_name())};
  Taken wrong;
  for (const auto& [name, given] : value.members()) {
    auto& answers = run.answers[name];
    if (!given.is_array()) {
      wrong.add(take_answer(answers, given));
      continue;
    }
    if (given.items().empty()) wrong.add(Wrong{&given, "must hold an answer"});
    for (const Json& item : given.items()) wrong.add(take_answer(answers, item));
  }
  return wrong;
}

constexpr Key<RuleExpectation> kExpectationKeys[] = {
    {"journal", false,
     [](RuleExpectation& e, const Json& v) { return take_name_list(e.journal.emplace(), v); }},
    {"steps", false,
     [](RuleExpectation& e, const Json& v) -> Taken {
       if (!v.is_array()) return Wrong{&v, fmt::format("must be a list of lists, not {}", v.type_name())};
       auto& steps = e.steps.emplace();
       Taken wrong;
       for (const Json& step : v.items()) wrong.add(take_name_list(steps.emplace_back(), step));
       return wrong;
     }},
    {"actions", false,
     [](RuleExpectation& e, const Json& v) -> Taken {
       if (!v.is_array()) return Wrong{&v, fmt::format("must be a list of actions, not {}", v.type_name())};
       auto& actions = e.actions.emplace();
       Taken wrong;
       for (const Json& action : v.items()) {
         std::size_t which = 0;
         const std::vector<std::string> words = {"drain",  "notify operator", "notify user", "restart",
                                                 "reboot", "power_off",       "none"};
         wrong.add(take_word(action, words, which));
         actions.push_back(words[which]);
       }
       return wrong;
     }},
    {"findings", false,
     [](RuleExpectation& e, const Json& v) -> Taken {
       if (!v.is_array()) return Wrong{&v, fmt::format("must be a list of findings, not {}", v.type_name())};
       auto& findings = e.findings.emplace();
       Taken wrong;
       for (const Json& finding : v.items()) {
         if (!finding.is_object()) wrong.add(Wrong{&finding, "a finding must be an object"});
         const std::vector<std::string> known = {"specification", "rule", "result", "action",    "to",
                                                 "components",    "text", "values", "component", "class"};
         for (const auto& [key, value] : finding.members())
           if (std::ranges::find(known, key) == known.end())
             wrong.add(Wrong{
                 &value, fmt::format("a finding has no {}{}", quote_for_message(key), meant(key, known))});
         findings.push_back(finding);
       }
       return wrong;
     }},
    {"fired", false, [](RuleExpectation& e, const Json& v) { return take_names(e.fired, v); }},
    {"not_fired", false, [](RuleExpectation& e, const Json& v) { return take_names(e.not_fired, v); }},
    {"values", false, [](RuleExpectation& e, const Json& v) { return take_values(e.values, v); }},
    {"cleared", false, [](RuleExpectation& e, const Json& v) { return take_names(e.cleared.emplace(), v); }},
    {"budget_spent", false,
     [](RuleExpectation& e, const Json& v) { return take_name_list(e.budget_spent.emplace(), v); }},
};

constexpr Key<RuleRun> kRunKeys[] = {
    {"at", false,
     [](RuleRun& r, const Json& v) { return take_bounded_duration(r.at, v, Micros(0), kLongest); }},
    {"period", false, [](RuleRun& r, const Json& v) { return take_name(r.period, v); }},
    {"initial", false, [](RuleRun& r, const Json& v) { return take_values(r.initial, v); }},
    {"repair", false, [](RuleRun& r, const Json& v) { return take_flag(r.repair, v); }},
    {"idle", false, [](RuleRun& r, const Json& v) { return take_flag(r.idle, v); }},
    {"answers", false, take_answers},
    {"ends", false, [](RuleRun& r, const Json& v) { return take_name_list(r.ends, v); }},
    {"expect", true,
     [](RuleRun& r, const Json& v) -> Taken {
       if (v.size() == 0) return Wrong{&v, "must expect something"};
       return take_object<RuleExpectation>(r.expect, v, kExpectationKeys);
     }},
};

constexpr Key<RuleTest> kTestKeys[] = {
    {"name", true, [](RuleTest& t, const Json& v) { return take_description(t.name, v); }},
    {"description", false, [](RuleTest& t, const Json& v) { return take_description(t.description, v); }},
    {"node", false, [](RuleTest& t, const Json& v) { return take_text(t.node.name, v, 255); }},
    {"features", false,
     [](RuleTest& t, const Json& v) -> Taken {
       if (!v.is_array()) return Wrong{&v, fmt::format("must be a list of features, not {}", v.type_name())};
       Taken wrong;
       for (const Json& item : v.items()) wrong.add(take_description(t.node.features.emplace_back(), item));
       return wrong;
     }},
    {"runs", true,
     [](RuleTest& t, const Json& v) -> Taken {
       if (!v.is_array() || v.items().empty()) return Wrong{&v, "must be a list with a run in it"};
       Taken wrong;
       for (const Json& item : v.items()) {
         auto in_it = take_object<RuleRun>(t.runs.emplace_back(), item, kRunKeys);
         if (!in_it && t.runs.size() > 1 && t.runs.back().at < t.runs[t.runs.size() - 2].at)
           wrong.add(Wrong{&item, "begins before the run that stands before it"});
         wrong.add(std::move(in_it));
       }
       return wrong;
     }},
};

constexpr Key<RuleTestFile> kFileKeys[] = {
    {"specifications", false, [](RuleTestFile& f, const Json& v) { return take_paths(f.specifications, v); }},
    {"specification", false, [](RuleTestFile& f, const Json& v) { return take_name(f.specification, v); }},
    {"tests", true,
     [](RuleTestFile& f, const Json& v) -> Taken {
       if (!v.is_array() || v.items().empty()) return Wrong{&v, "must be a list with a test in it"};
       Taken wrong;
       for (const Json& item : v.items())
         wrong.add(take_object<RuleTest>(f.tests.emplace_back(), item, kTestKeys));
       return wrong;
     }},
};

}  // namespace

Result<RuleTestFile> parse_rule_tests(const SpecificationFile& file) {
  auto source = SourceText::parse(file);
  if (!source) return fail(source.error());
  RuleTestFile tests;
  if (auto wrong = take_object<RuleTestFile>(tests, (*source)->root(), kFileKeys))
    return (*source)->refuse(wrong, "the rule tests: ");
  const Json& items = (*source)->root()["tests"];
  for (std::size_t i = 0; i < tests.tests.size(); ++i)
    tests.tests[i].place = (*source)->place(items.items()[i]);
  return tests;
}

}  // namespace sickbay::diagnose
