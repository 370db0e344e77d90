// SPDX-License-Identifier: Apache-2.0
// What may be said about a fault, and scripts of timed faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/fault_script.h"
#include "lab/faults.h"

namespace sickbay::lab {
namespace {

using ::testing::HasSubstr;

TEST(FaultSpec, EveryKindReadsItsOwnText) {
  for (const FaultRow& row : fault_table()) {
    std::string text(row.name);
    if (row.standard.empty() && row.value != ValueKind::none)
      text += row.value == ValueKind::machine ? "=n2" : row.value == ValueKind::service ? "=slurmd" : "=/mnt";
    auto spec = parse_fault("n1", text);
    ASSERT_TRUE(spec.has_value()) << text << ": " << spec.error().line();
    EXPECT_EQ(spec->kind, row.kind);
    auto again = parse_fault("n1", spec->text());
    ASSERT_TRUE(again.has_value()) << spec->text();
    EXPECT_EQ(*again, *spec);
    EXPECT_EQ(parse_fault("ctl", text).has_value(), row.on_controller) << text;
  }
}

struct BadFault {
  const char* text;
  const char* says;
};
TEST(FaultSpec, SaysWhatIsWrong) {
  for (const BadFault& row : std::initializer_list<BadFault>{{"lozs=5%", "did you mean 'loss'?"},
                                                             {"", "there is no fault"},
                                                             {"loss=0%", "not a percentage"},
                                                             {"loss=101%", "not a percentage"},
                                                             {"loss=5%%", "not a percentage"},
                                                             {"cpu=-3%", "not a percentage"},
                                                             {"crash=now", "takes no value"},
                                                             {"rank-kill=SIGBUSS", "did you mean 'SIGBUS'?"},
                                                             {"memory-hog=lots", "not a size"},
                                                             {"memory-hog=1P", "not a size"},
                                                             {"clock=soon", "not a shift"},
                                                             {"clock=0", "not a shift"},
                                                             {"zombies=0", "not a count"},
                                                             {"zombies=99999", "not a count"},
                                                             {"disk-full=tmp", "not a path"},
                                                             {"partition", "needs a value"},
                                                             {"kill-service=", "needs a value"}}) {
    auto spec = parse_fault("n1", row.text);
    ASSERT_FALSE(spec.has_value()) << row.text;
    EXPECT_THAT(spec.error().line(), HasSubstr(row.says));
    EXPECT_EQ(spec.error().code, ErrorCode::usage);
  }
}

struct OptionRow {
  const char* fault;
  const char* name;
  const char* value;
  bool good;
};
TEST(FaultSpec, TakesOptionsWhereTheyMeanSomething) {
  for (const OptionRow& row : std::initializer_list<OptionRow>{{"loss", "direction", "both", true},
                                                               {"loss", "direction", "up", false},
                                                               {"crash", "direction", "sent", false},
                                                               {"cpu", "pid", "17", true},
                                                               {"loss", "pid", "17", false},
                                                               {"cpu", "pid", "0", false},
                                                               {"crash", "probability", "0.3", true},
                                                               {"crash", "probability", "0", false},
                                                               {"crash", "probability", "1.1", false},
                                                               {"crash", "for", "2m", true},
                                                               {"crash", "for", "0.2s", false},
                                                               {"crash", "until", "2m", false}}) {
    auto spec = parse_fault("n1", row.fault);
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(set_fault_option(*spec, row.name, row.value).has_value(), row.good)
        << row.fault << " " << row.name << "=" << row.value;
  }
}

TEST(FaultSpec, ReadsQuantities) {
  EXPECT_DOUBLE_EQ(parse_percent("0.5%").value(), 0.5);
  EXPECT_EQ(parse_size("64K").value(), 65536);
  EXPECT_EQ(parse_size("2G").value(), 2'147'483'648);
  EXPECT_DOUBLE_EQ(parse_seconds("500ms").value(), 0.5);
  EXPECT_DOUBLE_EQ(parse_seconds("2m").value(), 120);
  for (const char* bad : {"", "s", "-1s", "1d", "1e5", "nan", "inf", "1 s"})
    EXPECT_FALSE(parse_seconds(bad).has_value()) << bad;
}

TEST(ActiveFault, SurvivesItsOwnFile) {
  ActiveFault f;
  f.id = "f7";
  f.spec = parse_fault("n3", "loss=5%").value();
  ASSERT_TRUE(set_fault_option(f.spec, "direction", "received").has_value());
  ASSERT_TRUE(set_fault_option(f.spec, "for", "20s").has_value());
  ASSERT_TRUE(set_fault_option(f.spec, "probability", "0.3").has_value());
  f.fired = false;
  f.processes["timer"] = {17, 4711};
  f.notes["cgroup"] = "/sys/fs/cgroup/cpu/a b";
  auto again = parse_active("f7", print_active(f));
  ASSERT_TRUE(again.has_value()) << again.error().line();
  EXPECT_EQ(print_active(*again), print_active(f));
  EXPECT_EQ(again->spec, f.spec);
  EXPECT_EQ(again->line(), "f7 n3 loss=5% probability=0.3 for=20s direction=received (waiting)");
}

TEST(ActiveFault, NamesTheLineOfABrokenFile) {
  auto fault = parse_active("f7", "node n3\nfault loss=5%\nprocess timer x\n");
  ASSERT_FALSE(fault.has_value());
  EXPECT_THAT(fault.error().what, HasSubstr("faults/f7:3"));
  EXPECT_FALSE(parse_active("f7", "").has_value());
}

TEST(FaultScript, RunsInOrderOfTime) {
  auto script = parse_fault_script(
      "# a rehearsal\n"
      "at 60s n2 heal\n"
      "\n"
      "at 40s n2 crash   # the power goes\n"
      "at 1m all heal\n"
      "at 500ms n3 loss=5% direction=received for=20s\n",
      "rehearsal");
  ASSERT_TRUE(script.has_value()) << script.error().line();
  ASSERT_EQ(script->size(), 4u);
  EXPECT_EQ((*script)[0].at.count(), 500);
  EXPECT_EQ((*script)[0].fault.text(), "loss=5% for=20s direction=received");
  EXPECT_EQ((*script)[1].fault.kind, FaultKind::crash);
  EXPECT_EQ((*script)[2].number, 2);
  EXPECT_TRUE((*script)[2].heal);
  EXPECT_EQ((*script)[3].wish.node, "");
}

TEST(FaultScript, NamesFileAndLine) {
  for (const BadFault& row :
       std::initializer_list<BadFault>{{"after 40s n2 crash", "s:1: this is no timed fault"},
                                       {"\nat 40 n2", "s:2: this is no timed fault"},
                                       {"at 40x n2 crash", "s:1: '40x' is not a duration"},
                                       {"at 40s n2 crush", "did you mean 'crash'?"},
                                       {"at 40s n2 loss=5% both", "is not OPTION=VALUE"},
                                       {"at 40s n2 loss=5% untl=3", "has no option"},
                                       {"at 40s n2 heal lozs", "did you mean 'loss'?"},
                                       {"at 40s n2 heal loss now", "too much"}}) {
    auto script = parse_fault_script(row.text, "s");
    ASSERT_FALSE(script.has_value()) << row.text;
    EXPECT_THAT(script.error().line(), HasSubstr(row.says));
    EXPECT_EQ(script.error().code, ErrorCode::bad_input);
  }
}

}  // namespace
}  // namespace sickbay::lab
