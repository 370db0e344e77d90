// SPDX-License-Identifier: Apache-2.0
// The API over a controller on the simulated cluster: who may do what, and what is told when it fails.
#include <fmt/format.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

TEST_F(ApiTest, ACaseBelongsToItsCaller) {
  auto opened = ask("alice", "POST", "/v1/cases", submission(), "k1");
  EXPECT_EQ(opened->response.status, 201);
  EXPECT_EQ(body_of(opened)["case"].as_string(), "c1");
  EXPECT_EQ(store_.kept.at(1).owner.user, "alice");
  EXPECT_EQ(store_.kept.at(1).owner.uid, 60001u);

  struct Row {
    const char* user;
    int status;
  };
  for (const Row& row : {Row{"alice", 200}, Row{"root", 200}, Row{"ops", 200}, Row{"bob", 403}}) {
    EXPECT_EQ(ask(row.user, "GET", "/v1/cases/c1")->response.status, row.status) << row.user;
    EXPECT_EQ(body_of(ask(row.user, "GET", "/v1/cases"))["items"].size(), row.status == 200 ? 1u : 0u)
        << row.user;
  }
  EXPECT_EQ(ask("bob", "POST", "/v1/cases/c1/cancel")->response.status, 403);
  EXPECT_EQ(ask("bob", "GET", "/v1/cases?user=alice")->response.status, 403);
  EXPECT_EQ(ask("bob", "POST", "/v1/lab/truth", R"({"kind":"lab_fault"})")->response.status, 403);
  EXPECT_EQ(ask("root", "POST", "/v1/lab/truth", R"({"subject":"node:n1","kind":"lab_fault","body":{}})")
                ->response.status,
            200);
}

TEST_F(ApiTest, BindsOneJobToOneCase) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  ask("alice", "POST", "/v1/cases", submission(), "k2");
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":7})")->response.status, 200);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":7})")->response.status, 200);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":8})")->response.status, 409);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c2/job", R"({"job_id":7})")->response.status, 409);
  EXPECT_EQ(ask("alice", "GET", "/v1/jobs/7/case")->response.status, 200);
  EXPECT_EQ(ask("bob", "GET", "/v1/jobs/7/case")->response.status, 403);
}

TEST_F(ApiTest, TwoBindingsBeforeTheNextRoundAreNotBothGood) {
  for (const char* key : {"k1", "k2", "k3"}) ask("alice", "POST", "/v1/cases", submission(), key);
  const auto bind = [&](const char* subject, int job) {
    return send("alice", "POST", std::string("/v1/cases/") + subject + "/job",
                R"({"job_id":)" + std::to_string(job) + "}");
  };
  const auto first = bind("c1", 7), other_job = bind("c1", 8), same = bind("c1", 7),
             other_case = bind("c2", 7), next = bind("c2", 9);
  EXPECT_FALSE(same->answered) << "told only when it is durable";
  pass(std::chrono::milliseconds(50));
  EXPECT_EQ(first->response.status, 200);
  EXPECT_EQ(other_job->response.status, 409) << other_job->response.body;
  EXPECT_EQ(same->response.status, 200);
  EXPECT_EQ(other_case->response.status, 409) << other_case->response.body;
  EXPECT_EQ(next->response.status, 200);
  EXPECT_EQ(controller_->seats().cases().state().cases.at(1).program(1)->job.job_id, 7u);

  // What a full disk turns away leaves nothing behind.
  journal_.set_full(true);
  ask("root", "POST", "/v1/lab/truth", R"({"subject":"cluster","kind":"lab_fault","body":{}})");
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c3/job", R"({"job_id":10})")->response.status, 507);
  journal_.set_full(false);
  pass(std::chrono::seconds(3));
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c3/job", R"({"job_id":11})")->response.status, 200);
}

// Job ids can be guessed: whoever names one before its owner does must not keep him out.
TEST_F(ApiTest, AnIdThatSlurmHasNotConfirmedKeepsNobodyOut) {
  pass(std::chrono::seconds(1));
  ask("bob", "POST", "/v1/cases", submission(), "k1");
  ask("bob", "POST", "/v1/cases", submission(), "k2");
  ask("alice", "POST", "/v1/cases", submission(), "k3");
  ask("alice", "POST", "/v1/cases", submission(), "k4");
  const auto bind = [&](const char* user, const char* subject, JobId job) {
    return ask(user, "POST", std::string("/v1/cases/") + subject + "/job",
               R"({"job_id":)" + std::to_string(job) + "}");
  };
  // The next job will have the id 1; one that is far away stays unknown to Slurm.
  EXPECT_EQ(bind("bob", "c1", 1)->response.status, 200);
  EXPECT_EQ(bind("bob", "c2", 900)->response.status, 200);
  Submission s;
  s.script = "#!/bin/sh\n#SIM hang\n";
  s.owner = {"alice", 60001, 60001};
  s.work_dir = "/home/alice";
  const auto hers = cluster_.sbatch(s);
  ASSERT_TRUE(hers);
  ASSERT_EQ(hers->job_id, 1U);
  EXPECT_EQ(bind("alice", "c3", 1)->response.status, 200) << "it is hers";
  EXPECT_EQ(bind("alice", "c4", 900)->response.status, 200) << "nobody's yet";
  pass(std::chrono::seconds(10));  // a look at Slurm confirms it
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/jobs/1/case"))["case"].as_string(), "c3");
  EXPECT_EQ(ask("bob", "GET", "/v1/jobs/1/case")->response.status, 403);

  ask("bob", "POST", "/v1/cases", submission(), "k5");
  const auto late = bind("bob", "c5", 1);
  EXPECT_EQ(late->response.status, 409) << "Slurm says that it is alice's";
  EXPECT_EQ(body_of(late)["what"].as_string(), "job 1 belongs to another user");
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/jobs/1/case"))["case"].as_string(), "c3");
  cluster_.scancel(1);
}

TEST_F(ApiTest, TwoUsersWhoNameOneIdInOneRoundAreBothHeard) {
  ask("bob", "POST", "/v1/cases", submission(), "k1");
  ask("alice", "POST", "/v1/cases", submission(), "k2");
  const auto his = send("bob", "POST", "/v1/cases/c1/job", R"({"job_id":7})");
  const auto hers = send("alice", "POST", "/v1/cases/c2/job", R"({"job_id":7})");
  pass(std::chrono::seconds(5));
  EXPECT_EQ(his->response.status, 200);
  EXPECT_EQ(hers->response.status, 200) << hers->response.body;
}

TEST_F(ApiTest, ANodeNamesTheCasesThatBlameIt) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  ask("alice", "POST", "/v1/cases", submission(), "k2");
  const auto verdict = [&](const char* subject, identify::Cause cause, std::vector<std::string> nodes) {
    identify::Verdict v;
    v.cause = cause;
    v.nodes = std::move(nodes);
    Event event;
    event.subject = subject;
    event.kind = kVerdict;
    event.body = v.to_json();
    controller_->take({std::move(event)});
    pass(std::chrono::milliseconds(50));
  };
  const auto blamers_of = [&](const std::string& name) {
    const Json list = body_of(ask("alice", "GET", "/v1/nodes"));
    for (const Json& item : list["items"].items())
      if (item["name"].as_string() == name) return item["verdicts"].dump();
    return std::string("no such node");
  };
  verdict("c1", identify::Cause::node, {"n2", "n3"});
  verdict("c2", identify::Cause::node, {"n3"});
  EXPECT_EQ(blamers_of("n1"), "[]");
  EXPECT_EQ(blamers_of("n2"), R"(["c1"])");
  EXPECT_EQ(blamers_of("n3"), R"(["c1","c2"])");
  verdict("c1", identify::Cause::program, {});
  EXPECT_EQ(blamers_of("n2"), "[]");
  restart();
  EXPECT_EQ(blamers_of("n3"), R"(["c2"])");
}

TEST_F(ApiTest, BadInputIsNamedWithARemedy) {
  struct Row {
    const char* method;
    const char* target;
    const char* body;
    int status;
    const char* what;
  };
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  for (const Row& row : {
           Row{"GET", "/v1/cases/c99", "", 404, "no case 'c99'"},
           Row{"GET", "/v1/cases/17", "", 400, "'17' is not a case name like c17"},
           Row{"GET", "/v1/jobs/99/case", "", 404, "no case knows job '99'"},
           Row{"GET", "/v1/jobs/x/case", "", 404, "no case knows job 'x'"},
           Row{"GET", "/v1/nothing", "", 404, "no endpoint GET /v1/nothing"},
           Row{"DELETE", "/v1/cases", "", 405, "/v1/cases does not take DELETE"},
           Row{"POST", "/v1/cases", "{", 400, "line 1, column 2: not valid JSON"},
           Row{"POST", "/v1/cases", "{}", 400, "a submission needs the string 'script'"},
           Row{"POST", "/v1/cases/c1/job", R"({"job_id":0})", 400, "'job_id' must be the number of a job"},
           Row{"GET", "/v1/events?after=x", "", 400, "'after' must be a number"},
       }) {
    const auto answer = ask("alice", row.method, row.target, row.body);
    EXPECT_EQ(answer->response.status, row.status) << row.target;
    EXPECT_EQ(body_of(answer)["what"].as_string().rfind(row.what, 0), 0u) << body_of(answer).dump();
    EXPECT_FALSE(body_of(answer)["remedy"].as_string().empty());
  }
}

TEST_F(ApiTest, ACaseIsToldHowItsProgramMayRunAgain) {
  const auto open = [&](const char* options) {
    Json body = Json::parse(submission()).value();
    body.set("options", Json::parse(options).value());
    return body_of(ask("alice", "POST", "/v1/cases", body.dump(), options))["case"].as_string();
  };
  const auto way = [&](const std::string& name) {
    return body_of(ask("alice", "GET", "/v1/cases/" + name))["options"]["rerun"].as_string();
  };
  // The site's word where the request has none; and the words of older clients.
  EXPECT_EQ(way(open("{}")), "copy");
  EXPECT_EQ(way(open(R"({"rerun":"ask"})")), "ask");
  EXPECT_EQ(way(open(R"({"rerun":true,"workdir":"same"})")), "same");
  EXPECT_EQ(way(open(R"({"workdir":"copy","rerun":true})")), "copy");
  EXPECT_EQ(way(open(R"({"rerun":false,"workdir":"same"})")), "never");

  EXPECT_EQ(ask("bob", "POST", "/v1/cases/c1/rerun", R"({"how":"same"})")->response.status, 403);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/rerun", R"({"how":"ask"})")->response.status, 400);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/rerun", "{}")->response.status, 400);
  const auto answered = ask("alice", "POST", "/v1/cases/c1/rerun", R"({"how":"same"})", "k9");
  EXPECT_EQ(answered->response.status, 200);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/rerun", R"({"how":"same"})", "k9")->response.body,
            answered->response.body);
  const Json rerun = body_of(ask("alice", "GET", "/v1/cases/c1"))["rerun"];
  EXPECT_EQ(rerun["how"].as_string(), "same");
  EXPECT_EQ(rerun["answered_by"].as_string(), "alice");
}

TEST_F(ApiTest, FurtherRunsAreAskedForWithinBounds) {
  ask("alice", "POST", "/v1/cases", submission());
  for (const auto& [body, what] : {
           std::pair(R"({"runs":0})", "'runs' must be a number from 1 to 24"),
           std::pair(R"({"runs":25})", "'runs' must be a number from 1 to 24"),
           std::pair(R"({"runs":"many"})", "'runs' must be a number from 1 to 24"),
           std::pair(R"({"runs":2.5})", "'runs' must be a number from 1 to 24"),
           std::pair(R"({"node_hours":0})", "'node_hours' must be over 0 and at most 64"),
           std::pair(R"({"node_hours":65})", "'node_hours' must be over 0 and at most 64"),
       }) {
    const auto answer = ask("alice", "POST", "/v1/cases/c1/requeue", body);
    EXPECT_EQ(answer->response.status, 400) << body;
    EXPECT_EQ(body_of(answer)["what"].as_string(), what) << body;
  }
  // Of an open case nobody knows yet what further runs would be for; an operator's bound is not the site's.
  for (const char* body : {"{}", R"({"runs":3,"node_hours":1.5,"rotate":true})"})
    EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/requeue", body)->response.status, 409) << body;
  EXPECT_EQ(ask("root", "POST", "/v1/cases/c1/requeue", R"({"node_hours":65})")->response.status, 409);
}

// Only cases of its tasks run anything again: an answer to the array's own would be lost.
TEST_F(ApiTest, ACaseOfAnArrayTakesNoAnswerAboutReruns) {
  Json body = Json::parse(submission()).value();
  Submission array = Submission::from_json(body["submission"]).value();
  array.script = "#!/bin/sh\n#SBATCH --array=0-3\n#SIM run=30s\n";
  body.set("submission", array.to_json());
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", body.dump()))["case"].as_string(), "c1");
  const auto answered = ask("alice", "POST", "/v1/cases/c1/rerun", R"({"how":"same"})");
  EXPECT_EQ(answered->response.status, 409);
  EXPECT_NE(answered->response.body.find("c1 is the case of a job array"), std::string::npos);
}

TEST_F(ApiTest, WhatACaseMayHoldIsBounded) {
  // The journal and the folder of a case keep all of this; 160,000 limits once held the loop for half a
  // minute.
  Json limits = Json::object();
  {
    std::string text = "{";
    for (int i = 0; i < 160'000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":1";
    limits = Json::parse(text + "}").value();
  }
  const struct {
    const char* part;
    const char* key;  // "" for the part itself
    Json value;
    const char* what;
  } rows[] = {
      {"submission", "limits", limits, "unknown limit '0'"},
      {"submission", "environment", std::vector<std::string>(40'000, "a=b"),
       "'environment' of a submission has"},
      {"options", "", Json::array({std::string(100'000, 'x')}), "'options' of a case must be an object"},
      {"options", "check", std::string(100'000, 'x'), "option 'check' of a case must be"},
      {"options", "deliver", "yes", "option 'deliver' of a case must be true or false"},
      {"options", "expect_time_s", -1, "option 'expect_time_s' of a case must be"},
      {"options", "workdir", "none", "option 'workdir' of a case must be"},
      {"options", "rerun", "twice", "option 'rerun' of a case must be"},
      {"options", "frob", true, "unknown option 'frob' of a case"},
      {"notes", "", std::vector<std::string>(1000, "n"), "'notes' of a case must be a list"},
      {"notes", "", Json::array({std::string(2000, 'n')}), "'notes' of a case must be a list"},
      {"notes", "", Json::array({1}), "'notes' of a case must be a list"},
      {"options", "check", std::string(65'536, 'x'), "'options' and 'notes' of a case are over 64 KiB"},
      {"inputs", "",
       Json(Json::Array(40, Json::object({{"path", "/" + std::string(3000, 'a')}, {"digest", ""}}))),
       "'inputs' of a case are over 64 KiB"},
      {"inputs", "", "all", "'inputs' of a case must be a list"},
      {"inputs", "", Json(Json::Array(65, Json::object({{"path", "/a"}}))),
       "'inputs' of a case must be a list"},
      {"inputs", "", Json::array({Json::object({{"path", "a.dat"}})}),
       "an input of a case has the path 'a.dat'"},
      {"inputs", "", Json::array({Json::object({{"path", "/a"}, {"digest", "zz"}})}),
       "an input of a case has the digest 'zz'"},
      {"script_digest", "", "zz", "'script_digest' of a case must be"},
      {"script_digest", "", 1, "'script_digest' of a case must be"},
      {"names_folder", "", "yes", "'names_folder' of a case must be true or false"},
      {"submits_jobs", "", 1, "'submits_jobs' of a case must be true or false"},
  };
  for (const auto& row : rows) {
    Json body = Json::parse(submission()).value();
    Json part = body[row.part];
    if (*row.key) part.set(row.key, row.value);
    body.set(row.part, *row.key ? part : row.value);
    const auto answer = ask("alice", "POST", "/v1/cases", body.dump(), "bounded");
    ASSERT_EQ(answer->response.status, 400) << row.what;
    EXPECT_EQ(body_of(answer)["what"].as_string().rfind(row.what, 0), 0u)
        << body_of(answer)["what"].as_string();
    EXPECT_FALSE(body_of(answer)["cause"].as_string().empty()) << row.what;
    EXPECT_LT(answer->response.body.size(), 1000u) << row.what;
  }
  EXPECT_TRUE(store_.kept.empty());
  EXPECT_TRUE(controller_->seats().cases().state().cases.empty());
}

TEST_F(ApiTest, OneUserDoesNotFillTheDiskForAll) {
  std::int64_t free = 5000;
  UserQuotas quotas({.open_cases = 3, .bytes_an_hour = 20'000, .reserve = 1000});
  quotas.watch_space([&free] { return free; });
  api_->set_quotas(std::move(quotas));
  const auto open = [&](const char* user) { return ask(user, "POST", "/v1/cases", submission()); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open("alice")->response.status, 201);
  const auto fourth = open("alice");
  EXPECT_EQ(fourth->response.status, 503);
  EXPECT_EQ(body_of(fourth)["what"].as_string(), "you have 3 open cases");
  EXPECT_EQ(open("bob")->response.status, 201) << "another's are his";
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/cancel", "{}")->response.status, 200);
  pass(std::chrono::seconds(5));
  EXPECT_EQ(open("alice")->response.status, 201) << "one was closed";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(open("root")->response.status, 201);
  restart();
  api_->set_quotas(UserQuotas({.open_cases = 3, .bytes_an_hour = 20'000, .reserve = 1000}));
  EXPECT_EQ(open("alice")->response.status, 503) << "they are hers after a restart, too";

  // Bytes: also those of requests that are refused for another reason.
  const std::string large = R"({"submission":")" + std::string(19'000, 'x') + R"("})";
  EXPECT_EQ(ask("bob", "POST", "/v1/cases", large)->response.status, 400);
  int refused = 0;
  for (int i = 0; i < 3; ++i) refused += ask("bob", "POST", "/v1/cases", large)->response.status == 503;
  EXPECT_GE(refused, 2);
  EXPECT_EQ(ask("ops", "POST", "/v1/undo-drains", "{}")->response.status, 200);
  pass(std::chrono::minutes(70));
  EXPECT_EQ(ask("bob", "POST", "/v1/cases", large)->response.status, 400);
}

TEST_F(ApiTest, TheLastOfTheDiskIsForTheEndOfWhatIsOpen) {
  std::int64_t free = 5000;
  UserQuotas quotas({.open_cases = 30, .bytes_an_hour = 1 << 20, .reserve = 1000});
  quotas.watch_space([&free] { return free; });
  api_->set_quotas(std::move(quotas));
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission())->response.status, 201);
  free = 999;
  const auto refused = ask("alice", "POST", "/v1/cases", submission());
  EXPECT_EQ(refused->response.status, 507);
  EXPECT_NE(body_of(refused)["cause"].as_string().find("client.reserve"), std::string::npos);
  EXPECT_EQ(store_.kept.size(), 1U);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/cancel", "{}")->response.status, 200);
  pass(std::chrono::seconds(5));
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/cases/c1"))["state"].as_string(), "closed");
  free = 1000;
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission())->response.status, 201);
}

TEST_F(ApiTest, AWaitingJobIsExplainedToItsOwnerAndOperators) {
  // Two jobs by plain sbatch, on all nodes each: no case knows them.
  Submission s;
  s.script = "#!/bin/sh\n#SIM hang\n";
  s.owner = {"alice", 60001, 60001};
  s.sbatch_options = {"-N6"};
  s.work_dir = "/home/alice";
  const auto first = cluster_.sbatch(s), next = cluster_.sbatch(s);
  ASSERT_TRUE(first && next);
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  const std::string waits = "/v1/jobs/" + std::to_string(next->job_id) + "/pending",
                    runs = "/v1/jobs/" + std::to_string(first->job_id) + "/pending";
  struct Row {
    const char* user;
    std::string target;
    int status;
    const char* what;
  };
  for (const Row& row : {
           Row{"alice", waits, 200, ""},
           Row{"root", waits, 200, ""},
           Row{"ops", waits, 200, ""},
           Row{"bob", waits, 403, "job 2 belongs to another user"},
           Row{"alice", runs, 409, "job 1 does not wait: it is RUNNING"},
           Row{"bob", runs, 403, "job 1 belongs to another user"},  // not even that it runs
           Row{"alice", "/v1/jobs/999/pending", 404, "slurmctld knows no job 999"},
           Row{"alice", "/v1/jobs/0/pending", 400, "'0' is not a job id"},
           Row{"alice", "/v1/jobs/x/pending", 400, "'x' is not a job id"},
           Row{"alice", "/v1/jobs/12345678901234567890/pending", 400,
               "'12345678901234567890' is not a job id"},
       }) {
    const auto answer = ask(row.user, "GET", row.target);
    EXPECT_EQ(answer->response.status, row.status) << row.target;
    EXPECT_EQ(body_of(answer)["what"].as_string(), row.what);
  }
  cluster_.scancel(first->job_id);
  cluster_.scancel(next->job_id);
  s.sbatch_options = {"--array=0-1"};
  const auto array = cluster_.sbatch(s);
  ASSERT_TRUE(array);
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  const auto task = ask("alice", "GET", fmt::format("/v1/jobs/{}/pending", array->job_id + 1));
  EXPECT_EQ(body_of(task)["what"].as_string(),
            fmt::format("job {} does not wait: it is RUNNING, a task of job array {} ('sickbay why {}' tells "
                        "of that)",
                        array->job_id + 1, array->job_id, array->job_id));
  cluster_.scancel(array->job_id);
}

TEST_F(ApiTest, SaysWhyAJobWaits) {
  Submission s;
  s.script = "#!/bin/sh\n#SIM hang\n";
  s.owner = {"alice", 60001, 60001};
  s.sbatch_options = {"-N6"};
  s.work_dir = "/home/alice";
  const auto first = cluster_.sbatch(s), next = cluster_.sbatch(s);
  ASSERT_TRUE(first && next);
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  const std::string waits = "/v1/jobs/" + std::to_string(next->job_id) + "/pending";
  const Json body = body_of(ask("alice", "GET", waits));
  EXPECT_EQ(
      body["sentence"].as_string(),
      "Job 2 waits: it needs 6 nodes, and of the 6 that fit 0 are idle, 6 are in use, wholly or in part.");
  EXPECT_FALSE(body["lasting"].as_bool());
  EXPECT_EQ(body["reason"].as_string(), "Resources");
  EXPECT_EQ(body["reasons"].items().at(0)["who"].as_string(), "time");
  EXPECT_EQ(body["facts"]["request"]["min_nodes"].as_int(), 6);
  EXPECT_EQ(body["expected_start"].as_int(), 0);

  cluster_.stop_controller(false);
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  const auto away = ask("alice", "GET", waits);
  loop_.run_until(loop_.now() + std::chrono::seconds(30));
  EXPECT_EQ(away->response.status, 503) << away->response.body;
}

TEST_F(ApiTest, AFullDiskIsToldAndNothingIsHalfDone) {
  journal_.set_full(true);
  const auto refused = ask("alice", "POST", "/v1/cases", submission(), "k1");
  EXPECT_EQ(refused->response.status, 507);
  EXPECT_EQ(body_of(refused)["code"].as_string(), "storage_full");
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/status"))["journal"]["state"].as_string(), "full")
      << "answers go on";
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), "k2")->response.status, 507);
  EXPECT_TRUE(cluster_.keyed_jobs().empty()) << "acting stops";
  // The first one is in the round that is tried again; the second was never taken in, and neither is its
  // submission (which may hold keys).
  EXPECT_EQ(store_.kept.size(), 1u);
  journal_.set_full(false);
  loop_.run_until(loop_.now() + std::chrono::seconds(3));
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/status"))["journal"]["state"].as_string(), "ok");
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), "k3")->response.status, 201);
  const auto again = ask("alice", "POST", "/v1/cases", submission(), "k2");
  EXPECT_EQ(again->response.status, 201);
  const auto no = parse_case_name(body_of(again)["case"].as_string());
  ASSERT_TRUE(no);
  EXPECT_TRUE(store_.kept.contains(*no)) << "its key was not taken by the one that failed";
  EXPECT_EQ(store_.kept.size(), controller_->seats().cases().state().cases.size());
}

TEST_F(ApiTest, ARepeatedPostIsAnsweredWhenTheCaseIsDurable) {
  journal_.set_full(true);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), "k1")->response.status, 507);
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), "k1")->response.status, 507);
  journal_.set_full(false);
  loop_.run_until(loop_.now() + std::chrono::seconds(3));
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "k1"))["case"].as_string(), "c1");
}

TEST_F(ApiTest, AStreamShowsEachTheirOwn) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  const auto hers = ask("alice", "GET", "/v1/events?follow=1"),
             his = ask("bob", "GET", "/v1/events?follow=1");
  ask("alice", "POST", "/v1/cases", submission(), "k2");
  EXPECT_NE(hers->streamed.find(R"("subject":"c1")"), std::string::npos);
  EXPECT_NE(hers->streamed.find(R"("subject":"c2")"), std::string::npos) << "also what comes later";
  EXPECT_EQ(his->streamed.find("case_opened"), std::string::npos) << his->streamed;
}

TEST_F(ApiTest, WhoPostedUnderWhichKeyIsHisAndOperatorsMatter) {
  pass(std::chrono::seconds(3));
  const auto follow = ask("alice", "GET", "/v1/events?follow=1");
  ask("alice", "POST", "/v1/cases", submission(), "hers");
  ask("ops", "POST", "/v1/undo-drains", "{}", "secret-of-ops");
  ask("ops", "POST", "/v1/cases/c1/cancel", "{}", "another-of-ops");
  const auto seen_by = [&](const char* user) { return ask(user, "GET", "/v1/events")->streamed; };
  for (const std::string& text : {follow->streamed, seen_by("alice")}) {
    EXPECT_NE(text.find("undo_drains"), std::string::npos) << "that it was done everybody may know";
    EXPECT_NE(text.find("cancel_requested"), std::string::npos);
    EXPECT_EQ(text.find("of-ops"), std::string::npos) << text;
    EXPECT_EQ(text.find("60003"), std::string::npos) << "nor the number of who did it";
    EXPECT_NE(text.find(R"("key":"hers")"), std::string::npos) << "her own she may see";
  }
  EXPECT_EQ(seen_by("bob").find("of-ops"), std::string::npos);
  for (const char* user : {"ops", "root"})
    EXPECT_NE(seen_by(user).find(R"("key":"secret-of-ops")"), std::string::npos) << user;
}

TEST_F(ApiTest, AnOldKeyIsNoMoreShownThanANewOne) {
  Event event;
  event.subject = "node:n3";
  event.kind = "diagnose_wanted";
  event.body = Json::object({{"task", 1}, {"mode", "quick"}, {"by", "root"}, {"idempotency_key", "old-key"}});
  controller_->take({std::move(event)}, [](Status) {});
  pass(std::chrono::seconds(1));
  EXPECT_NE(ask("bob", "GET", "/v1/events")->streamed.find("diagnose_wanted"), std::string::npos);
  EXPECT_EQ(ask("bob", "GET", "/v1/events")->streamed.find("old-key"), std::string::npos);
  EXPECT_NE(ask("ops", "GET", "/v1/events")->streamed.find("old-key"), std::string::npos);
}

TEST_F(ApiTest, APartWithoutOwnEventsSaysWhereToGoOn) {
  // More events of others than one part holds, and then one of bob's own.
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  std::vector<Event> foreign(6000);
  for (Event& event : foreign) {
    event.subject = "c1";
    event.kind = "note";
  }
  controller_->take(std::move(foreign), [](Status) {});
  ask("bob", "POST", "/v1/cases", submission(), "k2");

  std::int64_t after = 0;
  std::string seen;
  for (int parts = 0; parts < 5 && seen.find("case_opened") == std::string::npos; ++parts) {
    const std::string part = ask("bob", "GET", "/v1/events?after=" + std::to_string(after))->streamed;
    if (part.empty()) break;
    const std::size_t line = part.rfind('\n', part.size() - 2);
    const Json last = Json::parse(part.substr(line == std::string::npos ? 0 : line + 1)).value_or(Json());
    const std::int64_t next = last.has("position") ? last["position"].as_int() : last["seq"].as_int();
    ASSERT_GT(next, after) << part;
    after = next;
    seen += part;
  }
  EXPECT_NE(seen.find(R"("subject":"c2")"), std::string::npos) << seen;
  EXPECT_EQ(seen.find(R"("subject":"c1")"), std::string::npos);
}

TEST_F(ApiTest, SlurmIsLeftAloneWithoutACase) {
  loop_.run_until(loop_.now() + std::chrono::minutes(10));
  const auto looks = controller_->watch().health().looks;
  loop_.run_until(loop_.now() + std::chrono::minutes(10));
  EXPECT_EQ(controller_->watch().health().looks, looks);
  EXPECT_EQ(looks, 1u) << "the first one, after the start";
}

TEST_F(ApiTest, MetricsAreWellFormed) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  const std::string text = ask("alice", "GET", "/metrics")->response.body;
  for (const char* name : {"sickbay_nodes{state=\"IDLE\"} 6", "sickbay_cases_open 1", "sickbay_journal_ok 1",
                           "sickbay_slurm_ok 1", "# TYPE sickbay_slurm_calls_total counter"})
    EXPECT_NE(text.find(name), std::string::npos) << name << "\n" << text;
  EXPECT_EQ(text.find("sickbay_agents"), std::string::npos) << "none are served here";
}

// A finding drains where acting is allowed; operators put the node back, and nobody else may.
class DrainApiTest : public ApiTest {
 protected:
  DrainApiTest() { config_.drain.act = true; }
  void finding(const std::string& subject, const std::string& node) {
    Event event;
    event.subject = subject;
    event.kind = kFinding;
    event.body = Json::object({{"node", node},
                               {"specification", "node"},
                               {"rule", "disk"},
                               {"result", "fault"},
                               {"action", "drain"},
                               {"text", "the disk is gone"}});
    controller_->take({std::move(event)});
    loop_.run_until(loop_.now() + std::chrono::seconds(1));
  }
  std::string standing_of(const std::string& name) {
    loop_.run_until(loop_.now() + std::chrono::seconds(3));  // the list may be 2 s old
    const Json list = body_of(ask("alice", "GET", "/v1/nodes"));
    for (const Json& item : list["items"].items())
      if (item["name"].as_string() == name)
        return item["service"]["standing"].as_string() + " " + item["reason"].as_string();
    return "no such node";
  }
};

TEST_F(DrainApiTest, UndoDrainsIsForOperators) {
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  finding("f1", "n3");
  EXPECT_EQ(standing_of("n3"), "out sickbay:f1 node/disk: the disk is gone");
  finding("f2", "n4");
  EXPECT_EQ(standing_of("n4"), "waits ");
  EXPECT_EQ(ask("alice", "POST", "/v1/undo-drains", "{}")->response.status, 403);
  EXPECT_EQ(ask("ops", "POST", "/v1/undo-drains", R"({"nodes":"n77"})")->response.status, 404);
  // The journal has each name once, however often a request repeats it.
  EXPECT_EQ(
      body_of(ask("ops", "POST", "/v1/undo-drains", R"({"nodes":"n5,n3,n5,n5","rule":"none"})"))["nodes"]
          .dump(),
      "[]");
  EXPECT_EQ(journal_.events().back().body["nodes"].as_string(), "n[3,5]");
  EXPECT_EQ(body_of(ask("ops", "POST", "/v1/undo-drains", "{}"))["nodes"].dump(), R"(["n3","n4"])");
  loop_.run_until(loop_.now() + std::chrono::seconds(1));
  EXPECT_TRUE(standing_of("n3").starts_with("in ")) << standing_of("n3");
}

}  // namespace
}  // namespace sickbay
