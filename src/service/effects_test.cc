// SPDX-License-Identifier: Apache-2.0
// Effects on a simulated cluster: that an act whose answer was lost happens once, how long one that cannot
// happen is tried, and as whom programs run.
#include "service/effects.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "service/effects_test_parts.h"

namespace sickbay::effects_test {
namespace {

using sim::SimCallFault;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// --- submissions

// V on a node under suspicion.
TEST_F(EffectsTest, AVerificationMayKeepItsNodesAndGoFirst) {
  Command one = verification();
  ASSERT_TRUE(run(one));
  EXPECT_THAT(manager.environment, Not(Contains(HasSubstr("HOLD"))));
  one.key = "p1.v1:submit";
  one.args.set("hold_s", 30);
  const auto bound = run(one);
  ASSERT_TRUE(bound);
  EXPECT_THAT(manager.environment, Contains("SICKBAY_VERIFY_HOLD=30"));
  Command release{"p1.v1:release", "p1", "release", handle(*bound, kVerifier, "p1.v1")};
  release.args.set("first", true);
  ASSERT_TRUE(run(release));
  EXPECT_TRUE(manager.released_first);
}

TEST_F(EffectsTest, ASubmissionIsHeldAndCarriesItsKey) {
  const auto v = run(verification());
  ASSERT_TRUE(v) << v.error().what;
  const auto p = run(program());
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_THAT((*p)["dropped"].as_strings(), ElementsAre("--nodelist=n1")) << "a re-run may go elsewhere";
  const auto jobs = cluster.keyed_jobs();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].comment, "sickbay:c17.v1.a1");
  EXPECT_EQ(jobs[1].comment, "sickbay:c17.r2.a1");
  EXPECT_EQ(jobs[0].uid, kVerifier) << "verify.user, who need not be root";
  EXPECT_EQ((*v)["uid"].as_int(), kVerifier) << "told, so that it is found and cancelled as his";
  EXPECT_EQ(jobs[1].uid, kOwner);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Json& bound = i == 0 ? *v : *p;
    EXPECT_TRUE(jobs[i].held);
    EXPECT_EQ(bound["job_id"].as_int(), jobs[i].job_id);
    EXPECT_EQ(bound["submit"].as_int(), to_micros(jobs[i].submit));
  }
}

TEST_F(EffectsTest, ALostAnswerBindsTheJobThatWasMade) {
  for (const Command& command : {verification(), program()}) {
    cluster.fail_calls(command.verb, SimCallFault::lost_answer);
    const auto before = ids();
    const auto bound = run(command);
    ASSERT_TRUE(bound) << bound.error().what;
    const auto now = ids();
    ASSERT_EQ(now.size(), before.size() + 1) << command.verb << " was repeated";
    EXPECT_EQ((*bound)["job_id"].as_int(), now.back());
  }
}

TEST_F(EffectsTest, ALostRequestIsMadeAgain) {
  for (const Command& command : {verification(), program()}) {
    cluster.fail_calls(command.verb, SimCallFault::lost_request, 2);
    const auto before = ids();
    const auto bound = run(command);
    ASSERT_TRUE(bound) << bound.error().what;
    EXPECT_EQ(ids().size(), before.size() + 1);
  }
}

TEST_F(EffectsTest, AfterARestartAJobWithTheKeyIsBoundAndNoneSubmitted) {
  for (const Command& command : {verification(), program()}) {
    const auto first = run(command);
    ASSERT_TRUE(first) << first.error().what;
    const auto before = ids();
    const auto bound = run(command, true);
    ASSERT_TRUE(bound) << bound.error().what;
    EXPECT_EQ((*bound)["job_id"].as_int(), (*first)["job_id"].as_int());
    EXPECT_EQ((*bound)["submit"].as_int(), (*first)["submit"].as_int());
    EXPECT_EQ(ids(), before) << command.verb << " was repeated";
  }
}

TEST_F(EffectsTest, AfterARestartWhatNeverCameThereIsSubmitted) {
  // A job of another key, and of a longer one, is not it.
  ASSERT_TRUE(run(verification("c17.v1.a11")));
  const auto bound = run(verification(), true);
  ASSERT_TRUE(bound) << bound.error().what;
  EXPECT_EQ(ids().size(), 2u);
  EXPECT_EQ(cluster.job(static_cast<JobId>((*bound)["job_id"].as_int()))->comment, "sickbay:c17.v1.a1");
}

TEST_F(EffectsTest, OfTwinsTheLowestIsBoundAndTheOthersNeverRun) {
  std::vector<JobId> made;
  for (int i = 0; i < 3; ++i) {
    const auto one = run(verification());  // as if each answer before it had been lost
    ASSERT_TRUE(one) << one.error().what;
    made.push_back(static_cast<JobId>((*one)["job_id"].as_int()));
  }
  const auto bound = run(verification(), true);
  ASSERT_TRUE(bound) << bound.error().what;
  EXPECT_EQ((*bound)["job_id"].as_int(), made[0]);
  ASSERT_TRUE(run({"c17.v1.a1:release", "c17", "release", handle(*bound, kVerifier, "c17.v1.a1")}));
  loop.run_until(loop.now() + seconds(120));
  EXPECT_EQ(cluster.job(made[0])->state, "COMPLETED");
  EXPECT_EQ(cluster.job(made[1])->state, "CANCELLED");
  EXPECT_EQ(cluster.job(made[2])->state, "CANCELLED");
  EXPECT_EQ(cluster.starts_by_key().at("c17.v1.a1"), 1);
}

TEST_F(EffectsTest, WhileSlurmCannotBeAskedNothingIsSubmitted) {
  ASSERT_TRUE(run(verification()));
  cluster.fail_calls("find", SimCallFault::lost_request, 2);
  const auto bound = run(verification(), true);
  ASSERT_TRUE(bound) << bound.error().what;
  EXPECT_EQ(ids().size(), 1u);
}

TEST_F(EffectsTest, ACaseWithoutItsFolderFails) {
  Command command = program();
  command.subject = "c18";
  EXPECT_EQ(code_of(run(command)), ErrorCode::not_found);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(EffectsTest, ARunRunsInTheFolderThatWasPrepared) {
  Command command = program();
  command.args.set("workdir", "copy").set("folder", "/home/ada/sickbay-c17/work-r2");
  ASSERT_TRUE(run(command));
  EXPECT_EQ(cluster.keyed_jobs().at(0).work_dir, "/home/ada/sickbay-c17/work-r2");
  command.args.set("folder", "");
  ASSERT_TRUE(run(command));
  EXPECT_EQ(cluster.keyed_jobs().at(1).work_dir, "/home/ada");
  EXPECT_THAT(processes.specs, IsEmpty()) << "nothing is copied any more";
}

TEST_F(EffectsTest, AnOldIntentStillMeansACopyOfWhatTheFirstRunFound) {
  Command command = program();
  command.args.set("workdir", "copy");
  processes.outcome.out = R"({"folder": "/home/ada/sickbay-c17/work-r2"})";
  const auto bound = run(command);
  ASSERT_TRUE(bound) << bound.error().what;
  ASSERT_EQ(processes.specs.size(), 1u);
  EXPECT_EQ(processes.specs[0].as_user->uid, kOwner);
  const auto order = Json::parse(processes.specs[0].input);
  ASSERT_TRUE(order);
  EXPECT_EQ((*order)["from"].as_string(), "/home/ada/sickbay-c17/pristine");
  EXPECT_EQ((*order)["to"].as_string(), "/home/ada/sickbay-c17/work-r2");
  EXPECT_EQ(cluster.keyed_jobs().at(0).work_dir, "/home/ada/sickbay-c17/work-r2");

  processes.outcome.out = R"({"folder": "", "why": "No space left on device"})";
  const auto failed = run(command);
  EXPECT_EQ(code_of(failed), ErrorCode::refused_by_slurm);
  EXPECT_THAT(failed.error().what, HasSubstr("No space left on device"));
  EXPECT_EQ(ids().size(), 1u) << "it ran where nothing had been copied to";
}

// --- before and after a re-run

Command prepare(const std::string& key = "c17.r2.a1:prepare", int attempt = 1) {
  return {key, "c17", "prepare_rerun",
          Json::object({{"run", "c17.r2"},
                        {"attempt", attempt},
                        {"how", "copy"},
                        {"work_dir", "/home/ada/sub"},
                        {"output_dir", "/home/ada/sickbay-c17"},
                        {"uid", kOwner},
                        {"inputs", Json::array({Json::object({{"path", "/home/ada/a.dat"}})})},
                        {"max_bytes", 1000},
                        {"max_files", 10}})};
}

TEST_F(EffectsTest, AFolderIsPreparedByItsOwnerAndAskedForAgainAfterALostAnswer) {
  effects->set_folder_program("/usr/libexec/sickbay/sickbay-folder");
  processes.outcome.out = R"({"folder": "/x", "bytes": 5, "changed": [], "too_large": false})";
  for (const bool again : {false, true}) {
    const auto done = run(prepare(), again);
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ((*done)["folder"].as_string(), "/x");
    EXPECT_EQ((*done)["bytes"].as_int(), 5);
    const ProcessSpec& spec = processes.specs.back();
    EXPECT_EQ(spec.argv, std::vector<std::string>{"/usr/libexec/sickbay/sickbay-folder"});
    EXPECT_EQ(spec.as_user->uid, kOwner);
    EXPECT_EQ(spec.as_user->user, "ada");
    const auto order = Json::parse(spec.input);
    ASSERT_TRUE(order);
    EXPECT_EQ((*order)["from"].as_string(), "/home/ada/sub");
    EXPECT_EQ((*order)["to"].as_string(), "/home/ada/sickbay-c17/work-r2") << "the same one each time";
    EXPECT_EQ((*order)["inputs"].size(), 1U);
    EXPECT_EQ((*order)["max_files"].as_int(), 10);
  }
  ASSERT_TRUE(run(prepare("c17.r2.a2:prepare", 2)));
  EXPECT_EQ((*Json::parse(processes.specs.back().input))["to"].as_string(),
            "/home/ada/sickbay-c17/work-r2.a2");
}

TEST_F(EffectsTest, ACopyIsMarkedAndThatOfARefusedAttemptIsTakenAgain) {
  processes.outcome.out = R"({"folder": "/x", "removed": 0})";
  Command command = prepare("c17.r2.a2:prepare", 2);
  command.args.set("opened", 5).set("reuse", "/home/ada/sickbay-c17/work-r2.1");
  ASSERT_TRUE(run(command));
  auto order = Json::parse(processes.specs.back().input);
  ASSERT_TRUE(order);
  EXPECT_EQ((*order)["to"].as_string(), "/home/ada/sickbay-c17/work-r2.1");
  EXPECT_EQ((*order)["mark"].dump(), R"({"case":"c17","opened":5,"run":"c17.r2"})");
  command.args.set("reuse", "/home/ada");  // no copy of the case
  ASSERT_TRUE(run(command));
  order = Json::parse(processes.specs.back().input);
  EXPECT_EQ((*order)["to"].as_string(), "/home/ada/sickbay-c17/work-r2.a2");
  ASSERT_TRUE(run({"c17:clean", "c17", "clean_folder",
                   Json::object({{"folders", Json::array({Json("/home/ada/sickbay-c17/work-r2")})},
                                 {"uid", kOwner},
                                 {"opened", 5}})}));
  order = Json::parse(processes.specs.back().input);
  EXPECT_EQ((*order)["mark"].dump(), R"({"case":"c17","opened":5})");
}

TEST_F(EffectsTest, WhatTheFolderProgramSaysIsSaid) {
  processes.outcome.out = R"({"error": {"code": "not_found", "what": "cannot look at the folder /x"}})";
  const auto gone = run(prepare());
  EXPECT_EQ(code_of(gone), ErrorCode::not_found);
  EXPECT_EQ(gone.error().what, "cannot look at the folder /x");
  processes.outcome.out = "not JSON";
  EXPECT_EQ(code_of(run(prepare())), ErrorCode::internal);
  processes.outcome.timed_out = true;
  EXPECT_EQ(code_of(run(prepare())), ErrorCode::storage_broken);
  EXPECT_EQ(processes.specs.size(), 3u) << "a file system that hangs is not asked for a day";
}

TEST_F(EffectsTest, OnlyCopiesOfTheCaseAreRemoved) {
  processes.outcome.out = R"({"removed": 3})";
  const auto clean = [](const std::string& folder) {
    return Command{"c17:clean", "c17", "clean_folder",
                   Json::object({{"folders", Json::array({folder})}, {"uid", kOwner}})};
  };
  for (const char* folder : {"/home/ada/sickbay-c17/work-r2", "/home/ada/sickbay-c17/pristine"})
    for (const bool again : {false, true}) {
      const auto done = run(clean(folder), again);
      ASSERT_TRUE(done) << done.error().what;
      EXPECT_EQ((*done)["removed"].as_int(), 3);
      EXPECT_EQ(processes.specs.back().as_user->uid, kOwner);
    }
  const auto before = processes.specs.size();
  for (const char* folder : {"/home/ada", "/home/ada/sickbay-c17", "/home/ada/sickbay-c18/work-r2",
                             "/home/ada/sickbay-c17/work-r2/..", "/home/ada/sickbay-c17/../work-r2",
                             "sickbay-c17/work-r2", "/home/ada/sickbay-c17/slurm-5.out"})
    EXPECT_EQ(code_of(run(clean(folder))), ErrorCode::bad_input) << folder;
  EXPECT_EQ(processes.specs.size(), before);
}

TEST_F(EffectsTest, DependentsAreAskedForAgainWhenTheAnswerIsLost) {
  Submission next;
  next.owner = {"ada", kOwner, kOwner};
  next.script = "#!/bin/bash\n#SIM run=1s\n";
  next.script_name = "next.sh";
  next.work_dir = "/home/ada";
  next.sbatch_options = {"-N1", "--hold", "--dependency=afterany:7"};
  const auto waits = cluster.sbatch(next);
  ASSERT_TRUE(waits);
  cluster.fail_calls("dependents", SimCallFault::lost_answer);
  const auto done = run({"c17.d1:dependents", "c17", "find_dependents",
                         Json::object({{"job_id", 7}, {"uid", kOwner}, {"name", "program.sh"}})});
  ASSERT_TRUE(done) << done.error().what;
  ASSERT_EQ((*done)["jobs"].size(), 1U) << done->dump();
  const Json& job = (*done)["jobs"].items()[0];
  EXPECT_EQ(job["job_id"].as_int(), waits->job_id);
  EXPECT_EQ(job["name"].as_string(), "next.sh");
  EXPECT_EQ(job["state"].as_string(), "PENDING");
  EXPECT_EQ(job["why"].as_string(), "dependency");
}

// --- tries

TEST_F(EffectsTest, TriesComeWithGrowingPausesUntilOneIsAnswered) {
  manager.drain_fails_as = ErrorCode::slurm_away;
  manager.failures = 7;
  const auto drained = run(drain());
  ASSERT_TRUE(drained) << drained.error().what;
  EXPECT_TRUE((*drained)["changed"].as_bool());
  EXPECT_THAT(manager.drains, ElementsAre(seconds(0), seconds(1), seconds(3), seconds(7), seconds(15),
                                          seconds(31), seconds(61), seconds(91)));
}

TEST_F(EffectsTest, TriesEndAtTheBoundAndFailOnce) {
  manager.drain_fails_as = ErrorCode::slurm_away;
  const auto failed = run(drain());
  EXPECT_EQ(code_of(failed), ErrorCode::slurm_away);
  // The last try is the first one after the bound of 120 s.
  EXPECT_EQ(manager.drains.back(), seconds(121));
  const std::size_t tries = manager.drains.size();
  loop.run_until(loop.now() + seconds(3600));
  EXPECT_EQ(manager.drains.size(), tries) << "it goes on after it has failed";
}

TEST_F(EffectsTest, OnlyWhatPassesByItselfIsTriedAgain) {
  constexpr std::array kPasses{ErrorCode::slurm_away, ErrorCode::munge_away, ErrorCode::timed_out,
                               ErrorCode::busy};
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const bool passes = std::count(kPasses.begin(), kPasses.end(), code) > 0;
    manager.drain_fails_as = code;
    manager.failures = 1;
    manager.drains.clear();
    const auto result = run(drain());
    EXPECT_EQ(result.has_value(), passes) << error_row(code).name;
    EXPECT_EQ(manager.drains.size(), passes ? 2u : 1u) << error_row(code).name;
  }
}

TEST_F(EffectsTest, TwoCommandsWaitEachForItself) {
  manager.drain_fails_as = ErrorCode::slurm_away;
  manager.failures = 3;
  int drained = 0;
  effects->start(drain(), false, [&](Result<Json> r) { drained += r ? 1 : 0; });
  EXPECT_TRUE(run(program()));
  EXPECT_EQ(drained, 0) << "the second was held up";
  EXPECT_EQ(effects->under_way(), 1u);
  EXPECT_TRUE(loop.run_while([&] { return drained == 0; }, loop.now() + seconds(60)));
  EXPECT_EQ(effects->under_way(), 0u);
}

TEST_F(EffectsTest, AnUnknownVerbIsOfANewerVersion) {
  const auto failed = run({"c17:pray", "c17", "pray", Json::object()});
  EXPECT_EQ(code_of(failed), ErrorCode::too_new);
  EXPECT_THAT(failed.error().what, HasSubstr("'pray'"));
}

// --- jobs and nodes

TEST_F(EffectsTest, ReleaseMayComeTwice) {
  const auto bound = run(program());
  ASSERT_TRUE(bound);
  const Command release{"c17.r2.a1:release", "c17", "release", handle(*bound, kOwner, "c17.r2.a1")};
  EXPECT_TRUE(run(release));
  EXPECT_TRUE(run(release, true));
  loop.run_until(loop.now() + seconds(60));
  EXPECT_EQ(cluster.starts_by_key().at("c17.r2.a1"), 1);
}

TEST_F(EffectsTest, CancelOfAJobThatIsGoneIsDoneAndAStrangersIsLeftAlone) {
  const auto bound = run(program());
  ASSERT_TRUE(bound);
  const auto cancel = [&](const Json& args) {
    const auto result = run({"c17.r2.a1:cancel", "c17", "cancel", args});
    EXPECT_TRUE(result);
    return result && (*result)["cancelled"].as_bool();
  };
  EXPECT_FALSE(cancel(handle(*bound, kOwner, "c3.r2.a1"))) << "the id is another job's by now";
  EXPECT_EQ(cluster.keyed_jobs().at(0).state, "PENDING");
  EXPECT_TRUE(cancel(handle(*bound, kOwner, "c17.r2.a1")));
  EXPECT_FALSE(cancel(handle(*bound, kOwner, "c17.r2.a1")));
}

TEST_F(EffectsTest, ANodeIsDrainedOnceAndOnlyOurDrainIsLifted) {
  const Command undrain{"f9:undrain", "f9", "undrain",
                        Json::object({{"node", "n1"}, {"prefix", "sickbay:f9"}})};
  EXPECT_TRUE((*run(drain()))["changed"].as_bool());
  EXPECT_FALSE((*run(drain(), true))["changed"].as_bool());
  EXPECT_TRUE((*run(undrain))["changed"].as_bool());
  EXPECT_FALSE((*run(undrain, true))["changed"].as_bool());
  cluster.set_drain("n1", "ops: new fans");
  EXPECT_EQ(code_of(run(undrain)), ErrorCode::conflict);
  EXPECT_EQ(code_of(run(drain())), ErrorCode::conflict);
  EXPECT_EQ(cluster.node("n1")->reason, "ops: new fans");
}

TEST_F(EffectsTest, ARebootIsAskedForOnceForEachBoot) {
  ASSERT_TRUE(run(drain()));
  const Command reboot{"f9:reboot", "f9", "reboot",
                       Json::object({{"node", "n1"},
                                     {"boot", to_micros(cluster.node("n1")->boot_time)},
                                     {"reason", "sickbay:f9 memory"},
                                     {"prefix", "sickbay:f9"}})};
  EXPECT_TRUE((*run(reboot))["asked"].as_bool());
  EXPECT_FALSE((*run(reboot, true))["asked"].as_bool()) << "issued already";
  loop.run_until(loop.now() + seconds(120));
  EXPECT_FALSE((*run(reboot, true))["asked"].as_bool()) << "has booted since";
}

// --- jobs that begin anew

TEST_F(EffectsTest, AJobIsRequeuedOnceWhateverBecomesOfTheAnswer) {
  const auto bound = run(program());
  ASSERT_TRUE(bound);
  ASSERT_TRUE(run({"c17.r2.a1:release", "c17", "release", handle(*bound, kOwner, "c17.r2.a1")}));
  const auto job_id = static_cast<JobId>((*bound)["job_id"].as_int());
  ASSERT_TRUE(
      loop.run_while([&] { return cluster.job(job_id)->state != "RUNNING"; }, loop.now() + seconds(60)));
  Json args = handle(*bound, kOwner, "c17.r2.a1");
  args.set("restart_cnt", 0).set("level", "group").set("exclude", Json::array({"n1"}));
  const Command requeue{"r1.s1", "r1", "requeue_job", args};
  cluster.fail_calls("requeue", SimCallFault::lost_request);
  cluster.fail_calls("requeue", SimCallFault::lost_answer);
  for (const bool again : {false, true}) {
    const auto done = run(requeue, again);
    ASSERT_TRUE(done) << done.error().line();
    EXPECT_TRUE((*done)["requeued"].as_bool());
    EXPECT_TRUE((*done)["excluded"].as_bool());
    EXPECT_FALSE((*done)["did"].as_bool()) << "by a try whose answer was lost";
    EXPECT_EQ(cluster.job(job_id)->restart_cnt, 1u);
  }
}

TEST_F(EffectsTest, OfAJobSlurmRequeuesNoPart) {
  const auto done = run(
      {"r1.s1", "r1", "requeue_job", Json::object({{"job_id", 17}, {"uid", kOwner}, {"level", "domain"}})});
  ASSERT_TRUE(done);
  EXPECT_FALSE((*done)["requeued"].as_bool());
  EXPECT_EQ((*done)["said"].as_string(), "Slurm requeues a job only as a whole");
}

// --- agents, programs, outputs

TEST_F(EffectsTest, ADiagnosisNeedsAgents) {
  const Command diagnose{"c17:diagnose", "c17", "diagnose",
                         Json::object({{"node", "n2"}, {"mode", "check"}})};
  EXPECT_EQ(code_of(run(diagnose)), ErrorCode::conflict);
  effects->set_examine([this](const std::string& node, const std::string& mode, Done<Json> done) {
    loop.post([=] { done(Json::object({{"passed", node == "n2" && mode == "check"}})); });
  });
  const auto answer = run(diagnose);
  ASSERT_TRUE(answer);
  EXPECT_TRUE((*answer)["passed"].as_bool());
}

TEST_F(EffectsTest, AnActOnANodeGoesToItsAgentUnderTheCommandsKey) {
  const Command restart{
      "r1.s1", "r1", "restart_component",
      Json::object({{"node", "n2"}, {"components", Json::array({"munged", "slurmd"})}, {"check", "slurmd"}})};
  const Command check{"r1.s1.check", "r1", "check_component",
                      Json::object({{"node", "n2"}, {"components", Json::array()}})};
  EXPECT_EQ(code_of(run(restart)), ErrorCode::conflict);
  std::vector<std::string> heard;
  effects->set_act_on_node(
      [&](const std::string& node, const std::string& key, const Json& order, Done<Json> done) {
        heard.push_back(node + " " + key + " " + order.dump());
        loop.post([=] { done(Json::object({{"well", true}})); });
      });
  // Again: the same key, so that nothing is restarted twice.
  for (const bool again : {false, true}) EXPECT_TRUE(run(restart, again));
  EXPECT_TRUE((*run(check))["well"].as_bool());
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0], R"(n2 r1.s1 {"act":"restart","components":["munged","slurmd"],"check":"slurmd"})");
  EXPECT_EQ(heard[1], heard[0]);
  EXPECT_EQ(heard[2], R"(n2 r1.s1.check {"act":"check","components":[]})");
}

TEST_F(EffectsTest, TheSitesCommandHearsOfAFindingWithoutRights) {
  const Command notify{"f9:notify", "f9", "notify",
                       Json::object({{"finding", Json::object({{"rule", "$(reboot)"}})}})};
  EXPECT_TRUE(run(notify));
  ASSERT_EQ(processes.specs.size(), 1u);
  const ProcessSpec& spec = processes.specs[0];
  EXPECT_THAT(spec.argv, ElementsAre("/bin/sh", "-c", "mail-it")) << "a finding is never part of a command";
  EXPECT_EQ(spec.input, "{\"rule\":\"$(reboot)\"}\n");
  EXPECT_EQ(spec.as_user->user, "nobody");
  EXPECT_EQ(spec.as_user->uid, kNotify);

  processes.outcome.exit_code = 1;
  processes.outcome.err = "no such list\nmore";
  const auto failed = run(notify);
  EXPECT_EQ(code_of(failed), ErrorCode::os);
  EXPECT_EQ(failed.error().cause, "no such list");
}

TEST_F(EffectsTest, OutputIsReadAsWhoeverItBelongsTo) {
  const auto read = [&](const std::string& id) {
    return run({id + ":read", "c17", "read_output",
                Json::object({{"run", id}, {"out", "/o"}, {"err", "/e"}, {"exit_code", 1}})});
  };
  processes.outcome.out = "rank 3 says hello\n";
  const auto p = read("c17.r2");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_TRUE(p->has("trace"));
  ASSERT_TRUE(read("c17.v1"));
  ASSERT_EQ(processes.specs.size(), 4u);
  EXPECT_EQ(processes.specs[0].as_user->user, "ada");
  EXPECT_EQ(processes.specs[1].as_user->user, "ada");
  EXPECT_EQ(processes.specs[2].as_user->user, "verifier");
  EXPECT_EQ(processes.specs[2].argv.back(), "/o");
  EXPECT_EQ(processes.specs[3].argv.back(), "/e");

  processes.outcome.exit_code = 1;
  EXPECT_EQ(code_of(read("c17.r2")), ErrorCode::not_found);
}

// A verification that was cancelled before its first line acquits nobody, and neither does one of a site's
// own script that ran into its limit: their exit code is 0, too.
TEST_F(EffectsTest, OnlyAVerificationThatCameToItsEndSaysSomethingByItsCode) {
  int number = 0;
  for (const auto& [state, code, wanted] : std::vector<std::tuple<std::string, int, std::string>>{
           {"COMPLETED", 0, "ok"},
           {"FAILED", 1, "unknown"},  // (by which node, it does not say)
           {"CANCELLED", 0, "unknown"},
           {"TIMEOUT", 0, "unknown"},
           {"NODE_FAIL", 0, "unknown"},
           {"PREEMPTED", 0, "unknown"},
           {"BOOT_FAIL", 0, "unknown"},
           {"DEADLINE", 0, "unknown"},
           {"OUT_OF_MEMORY", 0, "unknown"},
           {"", 0, "unknown"}}) {
    const auto said = run({"c17.v1:read" + std::to_string(++number), "c17", "read_output",
                           Json::object({{"run", "c17.v1"},
                                         {"out", "/o"},
                                         {"err", "/e"},
                                         {"nodes", Json::array({"n1", "n2"})},
                                         {"exit_code", code},
                                         {"state", state}})});
    ASSERT_TRUE(said) << state;
    ASSERT_EQ((*said)["results"].size(), 2u) << state;
    for (const Json& node : (*said)["results"].items())
      EXPECT_EQ(node["result"].as_string(), wanted) << state;
  }
}

TEST_F(EffectsTest, AnOutputWithoutAPlaceIsNotFound) {
  const auto failed = run({"c17.r2:read", "c17", "read_output", Json::object({{"run", "c17.r2"}})});
  EXPECT_EQ(code_of(failed), ErrorCode::not_found);
  EXPECT_THAT(processes.specs, IsEmpty());
}

}  // namespace
}  // namespace sickbay::effects_test
