// SPDX-License-Identifier: Apache-2.0
// rules/node.json, the shipped specification: it fits the table of built-in operations, and a run of it on
// recorded machines, with the real engine, predicates and operations, finds what is wrong with each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "adapters/duktape/duktape_predicates.h"
#include "adapters/node/node_test_parts.h"
#include "adapters/posix/files.h"
#include "adapters/posix/operation_process.h"
#include "engine/diagnose/findings.h"
#include "engine/diagnose/lint.h"
#include "engine/diagnose/rule_tests.h"
#include "engine/diagnose/run.h"
#include "model/builtin_operations.h"
#include "ports/operation_choice.h"

namespace sickbay {
namespace {

using diagnose::Specification;

Specification shipped() {
  const diagnose::SpecificationFile file{"rules/node.json",
                                         read_file(SB_RULES "/node.json", 1 << 20).value()};
  auto all = diagnose::read_specifications({&file, 1}, {"n1", {}});
  EXPECT_TRUE(all) << (all ? "" : all.error().message("rules"));
  return all.value().at(0);
}

TEST(NodeRules, FitTheTableOfBuiltinOperations) {
  const Specification s = shipped();
  std::map<std::string, ValueType> types;
  std::set<std::string> given, asked;
  for (const auto& c : s.characteristics) types.emplace(c.name, c.type);
  for (const auto& period : s.periods)
    for (const auto& [name, value] : period.initial) given.insert(name);
  for (const auto& o : s.operations) {
    if (!o.run.starts_with("builtin:")) {  // one of the shipped programs
      EXPECT_TRUE(std::filesystem::exists(SB_OPERATIONS "/" + o.run)) << o.name;
      for (const auto& [own, characteristic] : o.outputs) given.insert(characteristic);
      continue;
    }
    const BuiltinOperation* row = builtin_operation(o.run.substr(8));
    ASSERT_NE(row, nullptr) << o.name << " runs " << o.run;
    // What collects may also verify.
    const std::string_view kind = diagnose::to_string(o.kind);
    EXPECT_TRUE(row->kind == kind || (row->kind == "collect" && kind == "verify")) << o.name;
    Json inputs = Json::object();
    for (const std::string& input : o.inputs)
      inputs.set(input, types.at(input) == ValueType::string ? Json("x") : Json(1));
    const auto arguments = builtin_arguments(*row, o.arguments, inputs);
    EXPECT_TRUE(arguments) << o.name << ": " << (arguments ? "" : arguments.error().line());
    for (const auto& [own, characteristic] : o.outputs) {
      if (diagnose::is_reserved_output(own)) {  // the engine's
        given.insert(characteristic);
        continue;
      }
      const auto out = std::find_if(row->outputs.begin(), row->outputs.end(),
                                    [&n = own](const BuiltinOutput& b) { return b.name == n; });
      ASSERT_NE(out, row->outputs.end()) << o.name << " has no output " << own;
      EXPECT_EQ(types.at(characteristic), out->type) << o.name << " " << characteristic;
      given.insert(characteristic);
    }
  }
  // Nothing is asked that nothing gives, and each operation and predicate is used.
  for (const auto& [name, type] : types) EXPECT_TRUE(given.contains(name)) << name;
  std::set<std::string> used, conditions;
  for (const auto& p : s.productions) {
    used.insert(p.operation);
    conditions.insert(p.condition);
  }
  for (const auto& o : s.operations) EXPECT_TRUE(used.contains(o.name)) << o.name;
  for (const auto& c : s.predicates) EXPECT_TRUE(conditions.contains(c.name)) << c.name;
}

TEST(NodeRules, HaveNothingThatIsHardlyMeant) {
  DuktapePredicates compiler;
  const auto rules = diagnose::compile(shipped(), compiler);
  ASSERT_TRUE(rules) << rules.error().message("rules");
  for (const auto& finding : diagnose::lint(**rules))
    ADD_FAILURE() << finding.place.text() << ": " << finding.text;
}

TEST(NodeRules, DoWhatTheirTestsSay) {
  DuktapePredicates compiler;
  const auto rules = diagnose::compile(shipped(), compiler);
  ASSERT_TRUE(rules) << rules.error().message("rules");
  const auto tests =
      diagnose::parse_rule_tests({"node.test.json", read_file(SB_RULES "/node.test.json", 1 << 20).value()});
  ASSERT_TRUE(tests) << tests.error().message("test");
  ASSERT_GE(tests->tests.size(), 8U);
  for (const auto& test : tests->tests)
    for (const std::string& difference : diagnose::run_rule_test(*rules, test).differences)
      ADD_FAILURE() << test.name << ": " << difference;
}

// A rule behind a verification behind a repair: the node would stay out for ever if only a false predicate
// cleared.
TEST(NodeRules, ADrainForMungedEndsWhenMungedIsUpAgain) {
  DuktapePredicates compiler;
  const auto rules = diagnose::compile(shipped(), compiler);
  ASSERT_TRUE(rules) << rules.error().message("rules");
  const auto tests = diagnose::parse_rule_tests({"test", R"({"tests": [{"name": "munged", "runs": [
    {"period": "always", "initial": {"repair": true}, "expect": {"actions": ["notify operator", "drain"]}, "answers": {
      "read_munged": {"outputs": {"service_up": false, "service_pid": null}}, "restart_munged": {"outputs": {"service_restarted": true}},
      "verify_munged": {"outputs": {"service_up": false}}}},
    {"period": "always", "expect": {"fired": ["tell_munged_down"]},
      "answers": {"read_munged": {"outputs": {"service_up": false, "service_pid": null}}}},
    {"period": "always", "expect": {"actions": []}, "answers": {"read_munged": {"result": "unknown"}}},
    {"period": "always", "expect": {"actions": []}, "answers": {"read_munged": {"outputs": {"service_up": true, "service_pid": 8}}}}]}]})"});
  ASSERT_TRUE(tests) << tests.error().message("test");
  const auto result = diagnose::run_rule_test(*rules, tests->tests.at(0));
  EXPECT_THAT(result.differences, testing::IsEmpty());
  const auto is_cleared = testing::Contains("drain_munged_still_down");
  ASSERT_EQ(result.runs.size(), 4u);
  EXPECT_THAT(diagnose::cleared_rules(result.runs[0]), testing::Not(is_cleared));
  EXPECT_THAT(diagnose::cleared_rules(result.runs[1]), testing::Not(is_cleared))
      << "repairs are off, and it is down";
  EXPECT_THAT(diagnose::cleared_rules(result.runs[2]), testing::Not(is_cleared)) << "nobody could tell";
  EXPECT_THAT(diagnose::cleared_rules(result.runs[3]), is_cleared);
}

TEST(NodeRules, StressNeedsAnIdleNode) {
  std::set<std::string> stress;
  for (const auto& o : shipped().operations)
    if (needs_idle(o)) stress.insert(o.name);
  EXPECT_EQ(stress, (std::set<std::string>{"run_known_good", "test_cpu", "test_disk", "test_memory"}));
}

// One run to its end, with real operations; critical ones are taken note of, as the agent does.
diagnose::Run diagnosed(const std::string& root, const std::string& mode) {
  DuktapePredicates compiler;
  auto rules = diagnose::compile(shipped(), compiler);
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message("rules"));
  auto loop = make_poll_loop().value();
  auto programs = make_process_runner(*loop);
  auto runner = make_operation_choice(make_node_runner(*loop, *programs, root),
                                      make_operation_process_runner(*loop, {{SB_OPERATIONS}, root}));
  diagnose::Run run(*rules);
  diagnose::RunStarted started{loop->now(), {{"mode", mode}, {"repair", false}}, {}, {}};
  started.permits.stress.given = started.permits.active.given = true;
  diagnose::apply(run, started);
  std::function<void()> go_on = [&] {
    const auto decision = diagnose::decide(run);
    if (decision.over) return loop->stop();
    for (const auto id : decision.start) {
      diagnose::apply(run, diagnose::OperationStarted{loop->now(), id});
      OperationCall call = diagnose::call_of(run, id);
      const auto finished = [&, id](OperationEnd end) {
        diagnose::apply(run, diagnose::OperationFinished{loop->now(), id, std::move(end)});
        go_on();
      };
      const bool critical = call.kind == "critical";
      if (critical)
        loop->post([finished] { finished({OperationEnd::Result::ok, Json::object(), "", {}, {}}); });
      else
        runner->run(std::move(call), finished);
    }
  };
  loop->post(go_on);
  loop->run();
  return run;
}

// Rules that found something, with what they ask for: "drain_memory_lost:drain".
std::set<std::string> found(const diagnose::Run& run) {
  std::set<std::string> all;
  for (const auto& f : diagnose::findings_of(run)) all.insert(f.rule + ":" + f.action);
  return all;
}

TEST(NodeRules, FindNothingOnAHealthyMachine) {
  node::TestFolder tree;
  node::unpack("vm", tree);
  // Its services run, and the folders that are asked for space are there.
  tree.write("/run/slurmd.pid", "410");
  tree.write("/proc/410/stat", "410 (slurmd) S 1 9 9 0 -1 0 1 1 0 0 1 1 1 1 20 0 1 0 5 1 1 1\n");
  std::filesystem::create_directory(tree.path() + "/tmp");
  EXPECT_EQ(found(diagnosed(tree.path(), "quick")), std::set<std::string>());
}

// What broke stands for a day, what only was odd for an hour, and what a program did not at all.
TEST(NodeRules, FindWhatTheKernelTellsOfForAsLongAsItMatters) {
  node::TestFolder tree;
  node::unpack("vm", tree);
  tree.write("/run/slurmd.pid", "410");
  tree.write("/proc/410/stat", "410 (slurmd) S 1 9 9 0 -1 0 1 1 0 0 1 1 1 1 20 0 1 0 5 1 1 1\n");
  std::filesystem::create_directory(tree.path() + "/tmp");
  tree.write("/proc/uptime", "200000.00 1.00\n");
  const auto at = [](int seconds_ago, const std::string& text) {
    return fmt::format("4,1,{},-;{}\n", (200000LL - seconds_ago) * 1'000'000, text);
  };
  const std::string lost = "NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.",
                    fault_of_program =
                        "NVRM: Xid (PCI:0000:2b:00): 31, pid=7194, name=python, Ch 00000008, "
                        "intr 00000000. MMU Fault: ENGINE GRAPHICS",
                    lockup = "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [cc1plus:171665]";
  tree.write("/dev/kmsg", at(10000, lost) + at(1000, lockup) + at(10, fault_of_program));
  EXPECT_EQ(found(diagnosed(tree.path(), "quick")),
            (std::set<std::string>{"drain_gpu_told_lost:drain", "tell_lockup_told:notify"}));
  tree.write("/dev/kmsg", at(90000, lost) + at(4000, lockup) + at(10, fault_of_program));
  EXPECT_EQ(found(diagnosed(tree.path(), "quick")), std::set<std::string>());
}

TEST(NodeRules, FindWhatIsWrongWithASickOne) {
  node::TestFolder tree;
  node::unpack("server", tree);
  std::filesystem::create_directory(tree.path() + "/tmp");
  const std::set<std::string> quick = {
      "drain_memory_uncorrected:drain", "drain_disk_gone:drain",  "tell_machine_check:notify",
      "tell_slow_by_limit:notify",      "tell_hot:notify",        "tell_fan_stopped:notify",
      "tell_read_only:notify",          "tell_munged_down:notify"};
  auto now = found(diagnosed(tree.path(), "quick"));
  // Whether a controller answers on port 1 of this host, and how full its disk is, is not the tree's.
  for (const char* of_this_host :
       {"tell_controller_away:notify", "tell_tmp_full:notify", "tell_root_full:notify"})
    now.erase(of_this_host);
  EXPECT_EQ(now, quick);
  auto deep = found(diagnosed(tree.path(), "deep"));
  for (const char* more : {"drain_gpu_lost:drain", "tell_gpu_errors:notify", "tell_disk_failing_soon:notify",
                           "tell_power_lost:notify", "tell_leftovers:notify"})
    EXPECT_TRUE(deep.contains(more)) << more;
}

TEST(NodeRules, DrainTheOldOneForItsRoot) {
  node::TestFolder tree;
  node::unpack("old", tree);
  const auto now = found(diagnosed(tree.path(), "quick"));
  EXPECT_TRUE(now.contains("drain_root_lost:drain"));
  EXPECT_TRUE(now.contains("tell_network_down:notify"));
  EXPECT_FALSE(now.contains("tell_read_only:notify"));  // said once is enough
}

TEST(NodeRules, NeverActOnGarbage) {
  node::TestFolder tree;
  node::unpack("garbage", tree);
  for (const std::string& finding : found(diagnosed(tree.path(), "quick")))
    EXPECT_FALSE(finding.ends_with(":drain")) << finding;
}

}  // namespace
}  // namespace sickbay
