// SPDX-License-Identifier: Apache-2.0
#include "workload/label/suggest.h"

#include <gtest/gtest.h>

#include "workload/label/audit.h"

namespace sickbay::workload {
namespace {

Labeller lists(const std::string& more = "{}") {
  const std::vector<LabelFile> files{
      {"base.json",
       R"({"applications": [{"name": "VASP", "field": "f", "keywords": ["vasp"]}], "ignore": ["bash", "pmi_proxy"],
           "unknown": {"default_name": ["main3d", "job", "run"], "interpreter": ["python"]}})"},
      {"more.json", more}};
  auto labeller = Labeller::make(files);
  EXPECT_TRUE(labeller) << labeller.error().line();
  return std::move(*labeller);
}

NamedJobs jobs(std::string name, std::string steps, std::string user, std::string dir, double weight) {
  NamedJobs j;
  j.job_name = std::move(name);
  j.step_names = std::move(steps);
  j.user = std::move(user);
  j.work_dir = std::move(dir);
  j.jobs = 1;
  j.weight = weight;
  return j;
}

const std::vector<NamedJobs> kJobs = {
    jobs("run_1", "bash turbsolve", "ann", "", 50),
    jobs("job", "turbsolve2", "bob", "", 40),
    jobs("pellet_a", "pmi_proxy", "ann", "", 30),
    jobs("pelet_b", "", "ann", "", 10),
    jobs("main3d", "main3d", "eve", "/work/eve/larmor/r7", 20),
    jobs("t13-1", "", "dan", "", 5),
    jobs("t13-2", "", "dan", "", 4),
    jobs("t13-3", "", "zoe", "", 3),
    jobs("main3d", "pmi_proxy", "eve", "/home/eve/run", 60),
    jobs("my_vasp", "", "ann", "", 1000),
};

TEST(Suggest, GroupsTheUnlabelledByWhatTheyHold) {
  const Suggestions s = suggest(lists(), kJobs, 10);
  EXPECT_EQ(s.jobs, 10u);
  EXPECT_EQ(s.unlabelled, 9u);
  EXPECT_EQ(s.nameless, 1u) << "nothing can be proposed for it";
  EXPECT_DOUBLE_EQ(s.unlabelled_weight, 222);
  ASSERT_EQ(s.groups.size(), 5u);
  EXPECT_EQ(s.groups[0].keyword, "turbsolve");
  EXPECT_EQ(s.groups[0].by, "program");
  EXPECT_EQ(s.groups[0].users, 2u);
  EXPECT_DOUBLE_EQ(s.groups[0].weight, 90);
  EXPECT_EQ(s.groups[1].keyword, "pellet") << "with the other spelling of one user";
  EXPECT_DOUBLE_EQ(s.groups[1].weight, 40);
  EXPECT_EQ(s.groups[2].keyword, "larmor") << "a name that says nothing goes by its folder";
  EXPECT_EQ(s.groups[2].by, "folder");
  EXPECT_EQ(s.groups[3].names, std::vector<std::string>{"t13-*"});
  EXPECT_EQ(s.groups[3].user, "dan");
  EXPECT_EQ(suggest(lists(), kJobs, 2).groups.size(), 2u);
}

TEST(Suggest, WhatIsAcceptedLabelsItsJobs) {
  const Suggestions before = suggest(lists(), kJobs, 10);
  std::vector<Accepted> accepted;
  for (const Suggestion& s : before.groups) accepted.push_back({&s, s.word == "pellet" ? "PELLET" : "", ""});
  const Labeller better = lists(overlay_of(accepted).pretty());
  EXPECT_EQ(better.label({.job_name = "x", .step_names = "turbsolve2"}).application, "turbsolve");
  EXPECT_EQ(better.label({.job_name = "pellet_9"}).application, "PELLET");
  EXPECT_EQ(better.label({.job_name = "t13-99", .user = "dan"}).labelled_by, "rename");
  const Suggestions after = suggest(better, kJobs, 10);
  EXPECT_EQ(after.unlabelled - after.nameless, 1u) << "'pelet' is another word";
}

TEST(Audit, WilsonsIntervalIsThePublishedOne) {
  // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  const struct {
    std::uint64_t hits, of;
    double low, high;
  } rows[] = {
      {81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0.0, 0.1611}, {1, 29, 0.0061, 0.1718}};
  for (const auto& r : rows) {
    const Share s = wilson(r.hits, r.of);
    EXPECT_NEAR(s.low, r.low, 5e-5) << r.hits;
    EXPECT_NEAR(s.high, r.high, 5e-5) << r.hits;
  }
  EXPECT_EQ(wilson(300, 300).high, 1.0);
  EXPECT_NEAR(wilson(300, 300).low, 0.98736, 1e-5);
  EXPECT_EQ(wilson(0, 0).high, 1.0);
}

TEST(Audit, ReadsBackWhatWasMarked) {
  AuditSheet sheet;
  sheet.seed = 7;
  for (int i = 0; i < 4; ++i) {
    AuditRecord r;
    r.job_id = std::to_string(i);
    r.user = i < 2 ? "ann" : "bob";
    r.application = "VASP";
    r.labelled_by = i == 3 ? "step" : "keyword";
    if (i > 0) r.right = i != 1;
    sheet.records.push_back(r);
  }
  const auto read = parse_audit(to_json(sheet).pretty(), "marked.json");
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(read->seed, 7);
  const AuditResult result = judge(*read);
  EXPECT_EQ(result.all.hits, 2u);
  EXPECT_EQ(result.all.of, 3u);
  EXPECT_EQ(result.unmarked, 1u);
  EXPECT_EQ(result.users, 2u);
  ASSERT_EQ(result.wrong.size(), 1u);
  EXPECT_EQ(result.wrong[0].job_id, "1");
  EXPECT_EQ(result.by_evidence.at("step").of, 1u);
}

TEST(Audit, TellsWhereASheetIsWrong) {
  EXPECT_EQ(parse_audit("{\n \"records\": [{\"right\": \"yes\"}]}", "m.json").error().what,
            "m.json:2:24: right: true, false or null is expected, not string");
  EXPECT_EQ(parse_audit(R"({"records": [{"rigth": true}]})", "m.json").error().remedy(),
            "did you mean 'right'?");
  EXPECT_FALSE(parse_audit("{}", "m.json"));
}

}  // namespace
}  // namespace sickbay::workload
