// SPDX-License-Identifier: Apache-2.0
// What holds of every run, over random specifications, answers and orders of ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <span>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/findings.h"

namespace sickbay::diagnose {
namespace {

using Random = std::mt19937;

int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

// A specification of random size.  Each operation gives characteristics of its own, so that no two can
// quarrel; with `shared`, some give those of others.
Specification random_specification(Random& random, bool shared) {
  Specification s;
  s.name = "random";
  const int components = 1 + below(random, 4), operations = 1 + below(random, 12);
  for (int i = 0; i < components; ++i) s.components.push_back({fmt::format("o{}", i), "d", {}});
  s.characteristics.push_back({"go", ValueType::boolean, "", "d", {}});
  s.predicates.push_back({"c_go", "go", "d", {}});
  for (int i = 0; i < operations; ++i) {
    OperationSpec o;
    o.name = fmt::format("f{}", i);
    o.kind = static_cast<OperationKind>(below(random, 6));
    o.run = o.kind == OperationKind::critical ? "builtin:drain" : "x";
    o.description = "d";
    for (int k = 0; k < components; ++k)
      if (below(random, 3) == 0) o.components.push_back(fmt::format("o{}", k));
    const int outputs = below(random, 3);
    for (int k = 0; k < outputs; ++k) {
      const std::string name = fmt::format("z{}_{}", i, k);
      s.characteristics.push_back({name, k == 0 ? ValueType::boolean : ValueType::integer, "", "d", {}});
      o.outputs.emplace_back(name, name);
    }
    if (shared && i > 0 && below(random, 3) == 0) {
      const auto& other = s.operations[static_cast<std::size_t>(below(random, i))].outputs;
      if (!other.empty()) o.outputs.push_back(other[0]);
    }
    if (o.kind == OperationKind::repair && below(random, 3) == 0) {
      o.budget = Budget{1 + below(random, 2), std::chrono::hours(1)};
      const std::string name = fmt::format("spent{}", i);
      s.characteristics.push_back({name, ValueType::boolean, "", "d", {}});
      o.outputs.emplace_back("budget_spent", name);
    }
    s.operations.push_back(std::move(o));
  }
  const int predicates = 1 + below(random, 10);
  const auto term = [&] {
    const Characteristic& z = s.characteristics[static_cast<std::size_t>(
        below(random, static_cast<int>(s.characteristics.size())))];
    return z.type == ValueType::boolean ? z.name : fmt::format("{} > {}", z.name, below(random, 3));
  };
  constexpr const char* kJoin[] = {"{} AND {}", "{} OR {}", "NOT ({} AND {})", "({} XOR {})"};
  for (int i = 0; i < predicates; ++i) {
    std::string when = term();
    for (int n = below(random, 3); n > 0; --n)
      when = fmt::format(fmt::runtime(kJoin[below(random, 4)]), when, term());
    s.predicates.push_back({fmt::format("c{}", i), when, "d", {}});
  }
  const int productions = operations + below(random, 8);
  for (int i = 0; i < productions; ++i)
    s.productions.push_back(
        {fmt::format("p{}", i),
         s.predicates[static_cast<std::size_t>(i < 2 ? 0 : below(random, predicates + 1))].name,
         s.operations[static_cast<std::size_t>(below(random, operations))].name,
         "d",
         {}});
  return s;
}

std::map<std::string, OperationEnd> random_answers(Random& random, const Specification& s) {
  std::map<std::string, OperationEnd> answers;
  for (const OperationSpec& o : s.operations) {
    OperationEnd end;
    end.result = static_cast<OperationEnd::Result>(below(random, 8) == 0 ? 2 : below(random, 2));
    for (const auto& [own, z] : o.outputs)
      if (below(random, 10) != 0)
        end.outputs.set(own, z.ends_with("_0") ? Json(below(random, 2) == 0) : Json(below(random, 4)));
    answers[o.name] = std::move(end);
  }
  return answers;
}

bool share_a_component(const Rules& rules, const Instance& a, const Instance& b) {
  for (const Index o : rules.operations[a.operation].components)
    for (const Index other : rules.operations[b.operation].components)
      if (o == other) return true;
  return false;
}

// What a run decided, in an order that does not depend on the ends.
std::string outcome(const Run& run) {
  const Specification& s = run.rules->specification;
  std::string out;
  for (std::size_t p = 0; p < run.fired.size(); ++p)
    if (run.fired[p]) out += s.productions[p].name + " ";
  out += "\n";
  for (std::size_t z = 0; z < run.facts.size(); ++z)
    out += fmt::format("{}={} ", s.characteristics[z].name,
                       run.facts[z].state == Fact::State::none ? "none"
                       : run.facts[z].state == Fact::State::unknown
                           ? "unknown"
                           : sickbay::to_json(run.facts[z].value).dump());
  std::multiset<std::string> actions;
  for (const Finding& f : findings_of(run)) actions.insert(f.rule + ":" + f.action);
  return out + fmt::format("\n{}", fmt::join(actions, " "));
}

bool has_overwritten(const Run& run) {
  for (const JournalEntry& e : run.journal)
    if (e.kind == JournalEntry::Kind::overwritten) return true;
  return false;
}

// Everything that must hold while it runs and when it is over; the outcome.
Driven checked_run(const std::shared_ptr<const Rules>& rules,
                   const std::map<std::string, OperationEnd>& answers, Random& random) {
  RunStarted started = permitted({});
  started.initial = {{"go", true}};
  const Choose choose = [&](const Run& run) {
    for (std::size_t i = 0; i < run.running.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        EXPECT_FALSE(share_a_component(*rules, run.instances[run.running[i]], run.instances[run.running[k]]))
            << canonical_text(run);
    EXPECT_TRUE(decide(run).start.empty());  // all that could start has
    for (std::size_t i = 0; i < run.queue.size(); ++i) {
      const auto is_before = [&](InstanceId other) {
        return share_a_component(*rules, run.instances[run.queue[i]], run.instances[other]);
      };
      const std::span<const InstanceId> ahead(run.queue.data(), i);
      EXPECT_TRUE(std::ranges::any_of(run.running, is_before) || std::ranges::any_of(ahead, is_before))
          << "an operation waits for nothing\n"
          << canonical_text(run);
    }
    for (std::size_t i = 1; i < run.queue.size(); ++i)
      EXPECT_LE(kind_row(rules->operations[run.instances[run.queue[i - 1]].operation].kind).priority,
                kind_row(rules->operations[run.instances[run.queue[i]].operation].kind).priority);
    return static_cast<std::size_t>(below(random, static_cast<int>(run.running.size())));
  };
  Driven d = drive(rules, started, answers, choose);
  EXPECT_EQ(d.run.phase, Phase::over);
  EXPECT_LE(d.run.instances.size(), rules->productions.size());  // each production fires at most once
  for (const Instance& i : d.run.instances) EXPECT_EQ(i.state, Instance::State::ended);
  diagnose::Run again(rules);
  for (const RunEvent& e : d.events) apply(again, e);
  EXPECT_EQ(canonical_text(again), canonical_text(d.run)) << "the replay differs";
  return d;
}

TEST(RunProperties, HoldForRandomSpecificationsInEveryOrderOfEnds) {
  DuktapePredicates compiler;
  int fired = 0, phases = 0, parallel = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    auto rules = compile(random_specification(random, false), compiler);
    ASSERT_TRUE(rules) << rules.error().what;
    const auto answers = random_answers(random, (*rules)->specification);
    const Driven first = checked_run(*rules, answers, random);
    for (int order = 0; order < 6; ++order) {
      const Driven other = checked_run(*rules, answers, random);
      ASSERT_EQ(outcome(other.run), outcome(first.run)) << "seed " << seed << "\n"
                                                        << canonical_text(first.run) << "\n\n"
                                                        << canonical_text(other.run);
    }
    for (const bool f : first.run.fired) fired += f ? 1 : 0;
    for (const Instance& i : first.run.instances) phases |= 1 << static_cast<int>(i.phase);
    parallel += first.most_running > 1 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  // The generator reaches what it is for.
  EXPECT_GT(fired, 1000);
  EXPECT_GT(parallel, 100);
  EXPECT_EQ(phases, 0b11110);
}

// How long an operation waits: no longer than all those together that may go before it, each once: who was
// ahead of it in the queue, and who ran when it, or one ahead of it, was queued.  So nobody starves, whatever
// comes later with less to do or fewer components to ask for.
TEST(RunProperties, WhoWaitsIsNotOvertakenAndWaitsForABoundedTime) {
  DuktapePredicates compiler;
  int waited = 0, near = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    auto rules = compile(random_specification(random, false), compiler);
    ASSERT_TRUE(rules) << rules.error().what;
    const auto answers = random_answers(random, (*rules)->specification);
    RunStarted started = permitted({});
    started.initial = {{"go", true}};
    diagnose::Run run(*rules);
    apply(run, started);
    std::multimap<int, InstanceId> ends;
    std::map<InstanceId, int> takes, queued;
    std::map<InstanceId, std::set<InstanceId>> before;  // by the one that waits
    int now = 0;
    for (Decision next = decide(run); !next.over; next = decide(run)) {
      std::set<InstanceId> ahead;
      for (const InstanceId q : run.queue) {
        const bool is_new = queued.try_emplace(q, now).second;
        if (is_new) before[q].insert(run.running.begin(), run.running.end());
        for (const InstanceId one : ahead) {
          before[q].insert(one);
          before[q].insert(before[one].begin(), before[one].end());
        }
        ahead.insert(q);
      }
      for (const InstanceId id : next.start) {
        for (const InstanceId q : run.queue) {
          if (q == id) break;
          EXPECT_FALSE(share_a_component(**rules, run.instances[q], run.instances[id]) &&
                       std::ranges::find(next.start, q) == next.start.end())
              << "seed " << seed << ": one that waits was overtaken\n"
              << canonical_text(run);
        }
      }
      for (const InstanceId id : next.start) {
        takes[id] = 1 + below(random, 20);
        int bound = 0;
        for (const InstanceId one : before[id]) bound += takes.contains(one) ? takes.at(one) : 0;
        EXPECT_LE(now - queued.at(id), bound) << "seed " << seed << "\n" << canonical_text(run);
        waited += now > queued.at(id) ? 1 : 0;
        near += now > queued.at(id) && 2 * (now - queued.at(id)) > bound ? 1 : 0;
        apply(run, OperationStarted{kNoTime, id});
        ends.emplace(now + takes.at(id), id);
      }
      ASSERT_FALSE(ends.empty()) << canonical_text(run);
      now = ends.begin()->first;
      const InstanceId id = ends.begin()->second;
      ends.erase(ends.begin());
      apply(run, OperationFinished{
                     kNoTime, id,
                     answers.at((*rules)->specification.operations[run.instances[id].operation].name)});
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(waited, 200);
  EXPECT_GT(near, 50) << "the bound is a near one";
}

TEST(RunProperties, WhereTheOrderMattersTheJournalSaysSo) {
  DuktapePredicates compiler;
  int differed = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    auto rules = compile(random_specification(random, true), compiler);
    ASSERT_TRUE(rules);
    const auto answers = random_answers(random, (*rules)->specification);
    const Driven first = checked_run(*rules, answers, random);
    for (int order = 0; order < 6; ++order) {
      const Driven other = checked_run(*rules, answers, random);
      if (outcome(other.run) == outcome(first.run)) continue;
      ++differed;
      ASSERT_TRUE(has_overwritten(first.run) || has_overwritten(other.run))
          << "seed " << seed << "\n"
          << canonical_text(first.run) << "\n\n"
          << canonical_text(other.run);
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(differed, 10);
}

// Repairs and stress by what an operation is: whatever the names, the kinds that the specification claims and
// the order of ends.
TEST(RunProperties, WithoutPermissionNoRepairNoStressAndNoActiveCheckIsEverStarted) {
  DuktapePredicates compiler;
  int refused = 0, disguised = 0, permitted_runs = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    Specification s = random_specification(random, false);
    for (OperationSpec& o : s.operations) {
      if (below(random, 5) == 0) o.run = "builtin:kill_leftovers";  // a repair, whatever its kind
      if (o.kind != OperationKind::critical && below(random, 4) == 0) o.needs_idle = true;
      disguised += repairs(o) && o.kind != OperationKind::repair ? 1 : 0;
    }
    auto rules = compile(std::move(s), compiler);
    ASSERT_TRUE(rules) << rules.error().what;
    RunStarted started;
    started.initial = {{"go", true}};
    started.permits.repair = {below(random, 2) == 0, "no repairs here"};
    started.permits.stress = {below(random, 2) == 0, "a job is here"};
    started.permits.active = {below(random, 2) == 0, "too many others do"};
    const Choose any = [&](const diagnose::Run& run) {
      return static_cast<std::size_t>(below(random, static_cast<int>(run.running.size())));
    };
    const Driven d = drive(*rules, started, random_answers(random, (*rules)->specification), any);
    EXPECT_EQ(d.run.phase, Phase::over) << "it hangs";
    std::size_t told = 0, wanted = 0;
    for (const Instance& i : d.run.instances) {
      const OperationSpec& o = d.run.rules->specification.operations[i.operation];
      EXPECT_EQ(i.state, Instance::State::ended);
      EXPECT_FALSE(i.started && repairs(o) && !started.permits.repair.given) << o.name;
      EXPECT_FALSE(i.started && needs_idle(o) && !started.permits.stress.given) << o.name;
      EXPECT_FALSE(i.started && is_active(o) && !started.permits.active.given) << o.name;
      permitted_runs += i.started && (repairs(o) || needs_idle(o)) ? 1 : 0;
      if (!i.refused) continue;
      ++wanted;
      EXPECT_FALSE(i.started);
      EXPECT_EQ(i.result, OperationEnd::Result::unknown);
      EXPECT_TRUE(i.text.ends_with(": no repairs here") || i.text.ends_with(": a job is here") ||
                  i.text.ends_with(": too many others do"))
          << i.text;
    }
    for (const Finding& f : findings_of(d.run))
      if (f.text.find("not permitted: ") != std::string::npos) {
        ++told;
        EXPECT_EQ(f.result, OperationEnd::Result::unknown);
        EXPECT_EQ(f.action, "none");
      }
    EXPECT_EQ(told, wanted) << "each is told";
    diagnose::Run again(*rules);
    for (const RunEvent& e : d.events) apply(again, e);
    EXPECT_EQ(canonical_text(again), canonical_text(d.run)) << "the replay differs";
    refused += static_cast<int>(wanted);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(disguised, 100);
  EXPECT_GT(permitted_runs, 100);
}

}  // namespace
}  // namespace sickbay::diagnose
