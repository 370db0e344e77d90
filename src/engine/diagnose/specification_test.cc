// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/specification.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "engine/diagnose/diagnose_test_parts.h"

namespace sickbay::diagnose {
namespace {

using testing::HasSubstr;

// A whole specification, one line for each section; `replaced` takes the place of the line that begins alike.
std::string text_with(const std::string& replaced = "") {
  std::string lines[] = {
      R"({"specification": "disk", "version": 3, "description": "Space on /tmp", // a comment)",
      R"("components": {"tmp": {"description": "file system of /tmp"}},)",
      R"("characteristics": {"used": {"type": "percent", "unit": "%", "description": "space used"}, "mode": {"type": "string", "description": "m"}, "spent": {"type": "bool", "description": "s"}},)",
      R"("predicates": {"full": {"when": "used > 95", "description": "/tmp is full"}, "always": {"when": "mode == 'quick'", "description": "a"}},)",
      R"("operations": {"look": {"kind": "collect", "run": "builtin:filesystem", "components": ["tmp"], "outputs": ["used"], "arguments": {"path": "/tmp"}, "description": "reads"}, "clean": {"kind": "repair", "run": "clean.sh", "components": ["tmp"], "inputs": ["used"], "outputs": {"budget_spent": "spent"}, "description": "cleans", "timeout": "1m", "memory": "32M", "output": "1K", "budget": {"runs": 3, "window": "24h"}}},)",
      R"("productions": {"p0": {"if": "always", "then": "look", "description": "d"}, "p1": {"if": "full", "then": "clean", "description": "d"}},)",
      R"("periods": {"night": {"description": "d", "from": "22:00", "to": "06:00", "node": "idle", "every": "10m", "initial": {"mode": "deep"}}, "rest": {"description": "d", "every": "60s", "initial": {"mode": "quick"}}}})",
  };
  std::string text;
  for (const std::string& line : lines) {
    const std::string begin = line.substr(0, line.find(':'));
    text += replaced.substr(0, begin.size()) == begin ? replaced : line;
    text += '\n';
  }
  return text;
}

TEST(Specification, IsReadWithAllItsParts) {
  const auto read = read_one(text_with());
  ASSERT_TRUE(read) << read.error().message("test");
  ASSERT_EQ(read->size(), 1u);
  const Specification& s = read->front();
  EXPECT_EQ(s.name, "disk");
  EXPECT_EQ(s.version, 3);
  EXPECT_EQ(s.characteristics[0].type, ValueType::percent);
  EXPECT_EQ(s.characteristics[0].unit, "%");
  EXPECT_EQ(s.predicates[0].place.text(), "test.json:4:33");
  const OperationSpec& look = s.operations[0];
  EXPECT_EQ(look.kind, OperationKind::collect);
  EXPECT_EQ(look.timeout, std::chrono::seconds(5));
  EXPECT_EQ(look.arguments.dump(), R"({"path":"/tmp"})");
  const OperationSpec& clean = s.operations[1];
  EXPECT_EQ(clean.timeout, std::chrono::minutes(1));
  EXPECT_EQ(clean.memory, std::int64_t{32} << 20);
  EXPECT_EQ(clean.output, 1024);
  ASSERT_TRUE(clean.budget);
  EXPECT_EQ(clean.budget->runs, 3);
  EXPECT_EQ(clean.budget->window, std::chrono::hours(24));
  EXPECT_EQ(clean.outputs, (std::vector<std::pair<std::string, std::string>>{{"budget_spent", "spent"}}));
  EXPECT_EQ(s.productions[1].operation, "clean");
  EXPECT_EQ(std::get<std::string>(s.periods[0].initial[0].second), "deep");
}

// What is wrong, and where: one row for each kind of fault.
TEST(Specification, NamesEachFaultWithItsPlace) {
  const std::string long_text(1025, 'x');
  const struct {
    std::string line;  // in the place of the section's own
    std::string error;
  } rows[] = {
      // Keys, types, bounds.
      {R"({"specification": 5,)",
       "1:19: the specification: key 'specification': must be a name, not integer"},
      {R"({"specification": "my disk", "version": 1,)", "key 'specification': 'my disk' is no name"},
      {R"({"specification": "disk", "version": "3",)",
       "1:38: the specification: key 'version': must be a whole number"},
      {R"({"specification": "disk", "version": 3, "versoin": 3,)",
       "1:52: the specification: has the unknown key 'versoin'; did you mean 'version'?"},
      {R"({"specification": "disk", "version": 3, "version": 3,)",
       "1:41: not valid JSON: the key 'version' stands twice"},
      {R"({"specification": "disk", "description": "d",)", "1:1: the specification lacks the key 'version'"},
      {R"("components": {"tmp": {}},)",
       "2:23: the specification: key 'components': component 'tmp': lacks the key 'description'"},
      {R"("components": {"tmp": {"description": " "}},)",
       "component 'tmp': key 'description': must not be empty"},
      {R"("components": {"tmp": {"description": ")" + long_text + R"("}},)",
       "has 1025 characters, the bound is 1024"},
      {R"("components": {"my tmp": {"description": "d"}},)", "'my tmp' is no name of a component"},
      {R"("components": [],)", "key 'components': must be an object, not array"},
      {R"("characteristics": {"used": {"type": "precent", "description": "d"}},)",
       "3:38: the specification: key 'characteristics': characteristic 'used': key 'type': 'precent' is none "
       "of bool, "
       "integer, fraction, percent, char, string, text; did you mean 'percent'?"},
      {R"("characteristics": {"typeof": {"type": "bool", "description": "d"}},)",
       "'typeof' is no name of a characteristic: a word of expressions"},
      {R"("operations": {"look": {"kind": "colect", "run": "builtin:memory", "description": "d"}},)",
       "'colect' is none of critical, collect, test, localise, repair, verify; did you mean 'collect'?"},
      {R"("operations": {"look": {"kind": "collect", "run": "../../bin/sh", "description": "d"}},)",
       "key 'run': '../../bin/sh' is neither \"builtin:NAME\" nor the name of a file"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "timeout": "5"}},)",
       "key 'timeout':"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "timeout": "48h"}},)",
       "key 'timeout': must be from 10ms to 1d"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "memory": 64}},)",
       "key 'memory': must be a size like \"64M\", not integer"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "memory": "12Q"}},)",
       "key 'memory':"},
      {R"("operations": {"clean": {"kind": "repair", "run": "x", "description": "d", "budget": {"runs": 0, "window": "1h"}}},)",
       "key 'budget': key 'runs': must be a whole number from 1 to 1000"},
      {R"("operations": {"clean": {"kind": "repair", "run": "x", "description": "d", "budget": {"runs": 1}}},)",
       "key 'budget': lacks the key 'window'"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "components": ["tmp", "tmp"]}},)",
       "'tmp' stands twice"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "outputs": {"a": "used", "b": "used"}}},)",
       "'used' is given by two outputs"},
      {R"("periods": {"rest": {"description": "d", "from": "24:01", "every": "60s", "initial": {}}}})",
       "key 'from': must be a time of day"},
      {R"("periods": {"rest": {"description": "d", "from": "10:00", "to": "10:00", "every": "60s", "initial": {}}}})",
       "period 'rest': it begins when it ends"},
      {R"("periods": {"rest": {"description": "d", "every": "soon", "initial": {}}}})", "key 'every':"},
      {R"("periods": {"rest": {"description": "d", "every": "60s", "node": "ilde", "initial": {}}}})",
       "'ilde' is none of any, idle, busy, maintenance; did you mean 'idle'?"},

      // Names that lead nowhere.
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "components": ["tpm"]}, "clean": null},)",
       "operation 'clean' is to be removed and is not there"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "components": ["tpm"]}},)",
       "5:91: there is no component 'tpm'; did you mean 'tmp'?"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "inputs": ["usde"]}},)",
       "there is no characteristic 'usde'; did you mean 'used'?"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "outputs": {"x": "usde"}}},)",
       "there is no characteristic 'usde'; did you mean 'used'?"},
      {R"("productions": {"p0": {"if": "allways", "then": "look", "description": "d"}},)",
       "6:30: there is no predicate 'allways'; did you mean 'always'?"},
      {R"("productions": {"p0": {"if": "always", "then": "lok", "description": "d"}},)",
       "there is no operation 'lok'; did you mean 'look'?"},
      {R"("periods": {"rest": {"description": "d", "every": "60s", "initial": {"mood": "quick"}}}})",
       "7:78: there is no characteristic 'mood'; did you mean 'mode'?"},

      // Meaning.
      {R"("predicates": {"full": {"when": "used > 140", "description": "d"}, "always": {"when": "true", "description": "a"}},)",
       "4:33: predicate 'full': used is a percent, 0 to 100, and is compared with 140 at column 6"},
      {R"("predicates": {"full": {"when": "usd > 14", "description": "d"}, "always": {"when": "true", "description": "a"}},)",
       "no characteristic has the name 'usd' (did you mean 'used'?)"},
      {R"("periods": {"rest": {"description": "d", "every": "60s", "initial": {"used": 140}}}})",
       "period 'rest': 'used' must be a whole number from 0 to 100, not 140"},
      {R"("periods": {"rest": {"description": "d", "every": "60s", "initial": {"mode": ")" +
           std::string(257, 'x') + R"("}}}})",
       "'mode' must be a text of at most 256 characters, not a text of 257 characters"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "outputs": {"fault": "used"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "the output 'fault' needs a characteristic of type bool"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "outputs": {"budget_spent": "spent"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "the output 'budget_spent' needs a budget"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "outputs": {"unknown_in_a_row": "spent"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "the output 'unknown_in_a_row' needs a characteristic of type integer"},
      {R"("operations": {"look": {"kind": "collect", "run": "x", "description": "d", "budget": {"runs": 1, "window": "1h"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': only a repair has a budget"},
      {R"("operations": {"look": {"kind": "critical", "run": "x", "description": "d", "needs_idle": true}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': a critical operation cannot wait for an idle node"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "needs_idle": 1}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "key 'needs_idle': must be true or false, not"},

      // Helpers at a peer.
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "peer": {"runs": "serv"}}, "serve": {"kind": "test", "run": "x", "description": "d"}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "there is no operation 'serv'; did you mean 'serve'?"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "peer": {"node": "n4"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "key 'runs'"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "peer": {"runs": "clean"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': 'clean' is no helper: it must examine, and have no peer of its own"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "peer": {"runs": "look"}}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': 'look' is no helper"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "peer": {"runs": "kill"}}, "kill": {"kind": "collect", "run": "builtin:kill_leftovers", "description": "d"}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': 'kill' is no helper"},
      {R"("operations": {"look": {"kind": "critical", "run": "x", "description": "d", "peer": {"runs": "serve"}}, "serve": {"kind": "test", "run": "x", "description": "d"}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "operation 'look': only what examines has a helper at a peer"},
      {R"("operations": {"look": {"kind": "test", "run": "x", "description": "d", "listens": 70000}, "clean": {"kind": "repair", "run": "x", "description": "d"}},)",
       "key 'listens'"},
  };
  for (const auto& row : rows) {
    const auto read = read_one(text_with(row.line));
    ASSERT_FALSE(read) << row.line;
    EXPECT_THAT(read.error().what, HasSubstr(row.error)) << row.line;
    EXPECT_THAT(read.error().what, HasSubstr("test.json:"));
    EXPECT_EQ(read.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(read.error().remedy_text.empty());
  }
}

// Who writes rules mends all of it before he tries again.  What follows from another fault is not told.
TEST(Specification, TellsAllThatIsWrongAtOnce) {
  const SpecificationFile files[] = {
      {"a.json",
       text_with(
           R"("characteristics": {"used": {"type": "precent", "description": "d"}, "mode": {"type": "string"}, "spent": {"type": "bool", "description": "s"}, "free": {"type": "integer", "description": "s"}},)")},
      {"b.json", R"({"specification": "disk", "versoin": 4,
  "operations": {"größe": {"kind": "collect"}, "more": {"kind": "colect", "run": "x", "inputs": ["usde"], "timeout": "48h"}}})"},
      {"c.json", R"({"specification": "other", "version": 1, "description": "d",
  "characteristics": {"n": {"type": "integer", "description": "d"}, "bad": {"type": "inetger", "description": "d"}},
  "predicates": {"p": {"when": "n > 'a'", "description": "d"}, "q": {"when": "m > 1", "description": "d"}, "r": {"when": "bad > 'a'", "description": "d"}},
  "operations": {"o": {"kind": "collect", "run": "x", "inputs": ["nn", "n"], "outputs": ["bad", "k"], "description": "d", "budget": {"runs": 1, "window": "1h"}}},
  "productions": {"x": null, "y": {"if": "pp", "then": "oo", "description": "d"}},
  "periods": {"z": {"description": "d", "every": "60s", "initial": {"n": "a", "l": 1}}}})"},
      {"d.json", R"({"specification": "other", "productions": [})"},
      {"e.json", R"({"specification": "last", "version": 1})"}};
  const auto read = read_specifications(std::span(files).first(3), {"n1", {}});
  ASSERT_FALSE(read);
  EXPECT_EQ(
      read.error().what,
      "a.json:3:38: the specification: key 'characteristics': characteristic 'used': key 'type': 'precent' "
      "is "
      "none of bool, integer, fraction, percent, char, string, text; did you mean 'percent'?\n"
      "a.json:3:78: the specification: key 'characteristics': characteristic 'mode': lacks the key "
      "'description'\n"
      "b.json:1:38: the specification: has the unknown key 'versoin'; did you mean 'version'?\n"
      "b.json:2:29: the specification: key 'operations': 'größe' is no name of an operation: letters, digits "
      "and "
      "'_', at most 64, no digit first\n"
      "b.json:2:58: the specification: key 'operations': operation 'more': lacks the key 'description'\n"
      "b.json:2:67: the specification: key 'operations': operation 'more': key 'kind': 'colect' is none of "
      "critical, collect, test, localise, repair, verify; did you mean 'collect'?\n"
      "b.json:2:120: the specification: key 'operations': operation 'more': key 'timeout': must be from 10ms "
      "to "
      "1d\n"
      "c.json:2:85: the specification: key 'characteristics': characteristic 'bad': key 'type': 'inetger' is "
      "none of bool, integer, fraction, percent, char, string, text; did you mean 'integer'?\n"
      "c.json:3:32: predicate 'p': '>' compares n (integer) with a text: both sides must be of one type at "
      "column 3\n"
      "c.json:3:78: predicate 'q': no characteristic has the name 'm' at column 1\n"
      "c.json:4:66: there is no characteristic 'nn'; did you mean 'n'?\n"
      "c.json:4:97: there is no characteristic 'k'\n"
      "c.json:4:133: operation 'o': only a repair has a budget\n"
      "c.json:5:24: production 'x' is to be removed and is not there\n"
      "c.json:5:42: there is no predicate 'pp'; did you mean 'p'?\n"
      "c.json:5:56: there is no operation 'oo'; did you mean 'o'?\n"
      "c.json:6:74: period 'z': 'n' must be a whole number within 2^53, not 'a'\n"
      "c.json:6:84: there is no characteristic 'l'");
  EXPECT_EQ(read.error().line().find('\n'), std::string::npos);
  // A file that is no JSON says nothing about what lacks: only what the others are by themselves is told.
  const auto worse = read_specifications(files, {"n1", {}});
  ASSERT_FALSE(worse);
  EXPECT_THAT(worse.error().what, HasSubstr("\nd.json:1:44: not valid JSON: "));
  EXPECT_THAT(worse.error().what, HasSubstr("b.json:2:120: "));
  EXPECT_THAT(worse.error().what, testing::Not(HasSubstr("'pp'")));
  EXPECT_THAT(worse.error().what, testing::Not(HasSubstr("e.json")));
}

TEST(Specification, TellsABoundedNumberOfFaults) {
  std::string text = R"({"specification": "many", "version": 1, "description": "d", "components": {)";
  for (int i = 0; i < 70; ++i) text += fmt::format("{}\"c{}\": {{}}", i == 0 ? "" : ", ", i);
  const auto read = read_one(text + "}}");
  ASSERT_FALSE(read);
  EXPECT_EQ(std::ranges::count(read.error().what, '\n'), 50);
  EXPECT_THAT(read.error().what, testing::EndsWith("\nand 20 more"));
}

TEST(Specification, LaterFilesOverlayEarlierOnes) {
  const std::string site = R"({"specification": "disk",
    "components": {"scratch": {"description": "file system of /scratch"}},
    "predicates": {"full": {"when": "used > 80", "description": "/tmp is rather full"}},
    "productions": {"p1": null},
    "periods": {"night": null}})";
  const std::string gpu =
      R"({"specification": "gpu", "version": 1, "description": "d", "nodes": {"features": ["gpu"]}})";
  const std::string rack =
      R"({"specification": "disk", "nodes": "n[1-4]", "version": 4, "description": "of the first rack"})";
  const SpecificationFile files[] = {{"shipped/disk.json", text_with()},
                                     {"site/disk.json", site},
                                     {"site/gpu.json", gpu},
                                     {"site/rack.json", rack}};

  const auto plain = read_specifications(files, {"n9", {}});
  ASSERT_TRUE(plain) << plain.error().message("test");
  ASSERT_EQ(plain->size(), 1u);
  const Specification& s = plain->front();
  EXPECT_EQ(s.version, 3);
  EXPECT_EQ(s.components.size(), 2u);
  EXPECT_EQ(s.predicates[0].when, "used > 80");  // in the place of the one it replaces
  EXPECT_EQ(s.predicates[0].place.text(), "site/disk.json:3:37");
  ASSERT_EQ(s.productions.size(), 1u);
  EXPECT_EQ(s.productions[0].name, "p0");
  EXPECT_EQ(s.periods.size(), 1u);

  const auto rich = read_specifications(files, {"n2", {"big", "gpu"}});
  ASSERT_TRUE(rich);
  ASSERT_EQ(rich->size(), 2u);
  EXPECT_EQ(rich->at(0).version, 4);
  EXPECT_EQ(rich->at(0).description, "of the first rack");
  EXPECT_EQ(rich->at(1).name, "gpu");

  EXPECT_NE(digest(plain->at(0)), digest(rich->at(0)));
  EXPECT_EQ(digest(plain->at(0)), digest(read_specifications(files, {"n8", {"big"}})->at(0)));
}

// Expected hardware of a class of nodes, in an overlay of a few lines: what looks for parts is told.
TEST(Specification, ExpectedHardwareGoesToWhatLooksForIt) {
  const std::string base = text_with(
      R"("operations": {"look": {"kind": "collect", "run": "builtin:filesystem", "components": ["tmp"], "outputs": ["used"], "arguments": {"path": "/tmp"}, "description": "reads"}, "count": {"kind": "collect", "run": "builtin:parts", "arguments": {"disks": 1, "gpus": 1}, "description": "counts"}, "clean": {"kind": "repair", "run": "clean.sh", "components": ["tmp"], "outputs": {"budget_spent": "spent"}, "description": "cleans", "budget": {"runs": 3, "window": "24h"}}},)");
  const SpecificationFile files[] = {
      {"disk.json", base},
      {"site.json",
       R"({"specification": "disk", "expects": {"memory": "512G", "infiniband": 2, "disks": 2}})"},
      {"gpu.json", R"({"specification": "disk", "nodes": "g[1-4]", "expects": {"gpus": 8, "disks": null,
        "infiniband_devices": ["mlx5_0", "mlx5_1"]}})"}};
  const auto arguments = [&](const char* node) {
    const auto read = read_specifications(files, {node, {}});
    EXPECT_TRUE(read) << (read ? "" : read.error().message("test"));
    for (const OperationSpec& o : read ? read->at(0).operations : std::vector<OperationSpec>())
      if (o.name == "count") return o.arguments.dump();
    return std::string();
  };
  EXPECT_EQ(arguments("n1"), R"({"disks":2,"gpus":1,"infiniband":2,"memory":549755813888})");
  EXPECT_EQ(
      arguments("g1"),
      R"({"disks":1,"gpus":8,"infiniband":2,"infiniband_devices":"mlx5_0,mlx5_1","memory":549755813888})");

  const struct {
    std::string expects;
    std::string error;
  } rows[] = {
      {R"({"gpu": 8})", "key 'expects': has the unknown key 'gpu'; did you mean 'gpus'?"},
      {R"({"gpus": 0})", "key 'gpus': must be a whole number from 1 to"},
      {R"({"memory": 512})", "key 'memory': must be a size like"},
      {R"({"network_devices": "eth0"})", "key 'network_devices': must be a list of devices, not string"},
      {R"({"network_devices": ["eth0,eth1"]})", "must be the name of a device"},
      {R"([])", "key 'expects': must be an object"},
  };
  for (const auto& row : rows) {
    const SpecificationFile wrong[] = {
        {"disk.json", base}, {"site.json", R"({"specification": "disk", "expects": )" + row.expects + "}"}};
    const auto read = read_specifications(wrong, {"n1", {}});
    ASSERT_FALSE(read) << row.expects;
    EXPECT_THAT(read.error().what, HasSubstr(row.error));
  }
  const SpecificationFile alone[] = {{"disk.json", text_with()},
                                     {"site.json", R"({"specification": "disk", "expects": {"disks": 2}})"}};
  EXPECT_THAT(read_specifications(alone, {"n1", {}}).error().what,
              HasSubstr("site.json:1:38: nothing looks for what is expected: no operation of 'disk' runs "
                        "builtin:parts"));
}

TEST(Specification, AFileOfAnotherNodeIsCheckedAllTheSame) {
  const SpecificationFile files[] = {
      {"a.json", text_with()}, {"b.json", R"({"specification": "disk", "nodes": "n2", "pridicates": {}})"}};
  EXPECT_THAT(
      read_specifications(files, {"n1", {}}).error().what,
      HasSubstr(
          "b.json:1:56: the specification: has the unknown key 'pridicates'; did you mean 'predicates'?"));
}

TEST(Specification, ItsJsonIsReadAsTheSame) {
  const Specification s = read_one(text_with()).value().at(0);
  const auto again = read_one(to_json(s).pretty());
  ASSERT_TRUE(again) << again.error().message("test");
  EXPECT_EQ(to_json(again->at(0)).dump(), to_json(s).dump());
  EXPECT_EQ(digest(again->at(0)), digest(s));
  EXPECT_EQ(digest(s).size(), 16u);
}

TEST(Specification, PeriodsGoByTimeOfDayAndUse) {
  const Specification s = read_one(text_with()).value().at(0);
  const auto at = [&](int hour, NodeUse use) {
    const Period* p = find_period(s, std::chrono::hours(hour), use);
    return p == nullptr ? "none" : p->name;
  };
  EXPECT_EQ(at(23, NodeUse::idle), "night");  // over midnight
  EXPECT_EQ(at(5, NodeUse::idle), "night");
  EXPECT_EQ(at(6, NodeUse::idle), "rest");
  EXPECT_EQ(at(23, NodeUse::busy), "rest");
  for (const NodeUse use : {NodeUse::any, NodeUse::idle, NodeUse::busy, NodeUse::maintenance})
    EXPECT_EQ(parse_node_use(to_string(use)), use);
}

TEST(Specification, RepairsAndStressAreToldByWhatAnOperationIs) {
  const struct {
    OperationKind kind;
    const char* run;
    std::optional<bool> said;
    bool repairs, needs_idle;
  } rows[] = {
      {OperationKind::repair, "mend", {}, true, false},
      {OperationKind::repair, "mend", true, true, true},
      {OperationKind::collect, "builtin:kill_leftovers", {}, true, false},  // a repair under another kind
      {OperationKind::critical, "builtin:clean_temporary", {}, true, false},
      {OperationKind::critical, "builtin:drain", {}, false, false},
      {OperationKind::verify, "builtin:service", {}, false, false},

      {OperationKind::test, "builtin:cpu_test", {}, false, true},
      {OperationKind::collect, "builtin:memory_test", {}, false, true},
      {OperationKind::test, "builtin:disk_test", false, false, false},
      {OperationKind::test, "known_good", {}, false, false},
      {OperationKind::test, "known_good", true, false, true},
  };
  for (const auto& row : rows) {
    OperationSpec o;
    o.kind = row.kind;
    o.run = row.run;
    o.needs_idle = row.said;
    EXPECT_EQ(repairs(o), row.repairs) << row.run;
    EXPECT_EQ(needs_idle(o), row.needs_idle) << row.run;
  }
}

// The published schema and the reader say the same: sections, keys, which are required, words.
TEST(Specification, TheSchemaHasTheReadersKeys) {
  std::ifstream in(SB_RULES "/specification.schema.json");
  const auto schema = Json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(schema) << schema.error().what;
  EXPECT_EQ((*schema)["$schema"].as_string(), "https://json-schema.org/draft/2020-12/schema");
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> reader, published;
  for (const KeyRow& row : specification_keys()) {
    auto& [keys, required] = reader[std::string(row.section)];
    keys.emplace(row.key);
    if (row.required) required.emplace(row.key);
  }
  const auto add = [&](const std::string& section, const Json& object) {
    auto& [keys, required] = published[section];
    for (const auto& [key, value] : object["properties"].members()) keys.insert(key);
    for (const std::string& key : object["required"].as_strings()) required.insert(key);
    EXPECT_TRUE(object.has("additionalProperties") && !object["additionalProperties"].as_bool(true))
        << section;
  };
  add("specification", *schema);
  for (const auto& [name, definition] : (*schema)["$defs"].members())
    if (definition.has("properties")) add(name, definition);
  EXPECT_EQ(published, reader);

  std::vector<std::string> types, kinds;
  for (const ValueTypeRow& row : kValueTypes) types.emplace_back(row.name);
  for (const OperationKindRow& row : kOperationKinds) kinds.emplace_back(row.name);
  const Json& defs = (*schema)["$defs"];
  EXPECT_EQ(defs["characteristic"]["properties"]["type"]["enum"].as_strings(), types);
  EXPECT_EQ(defs["operation"]["properties"]["kind"]["enum"].as_strings(), kinds);
  EXPECT_EQ(defs["period"]["properties"]["node"]["enum"].as_strings(),
            (std::vector<std::string>{"any", "idle", "busy", "maintenance"}));
}

}  // namespace
}  // namespace sickbay::diagnose
