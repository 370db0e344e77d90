// SPDX-License-Identifier: Apache-2.0
// Effects on a simulated cluster: that an act whose answer was lost happens once, how long one that cannot
// happen is tried, and as whom programs run.
#include "service/effects.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "service/effects_test_parts.h"

namespace sickbay::effects_test {
namespace {

using sim::SimCallFault;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- submissions

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
  ASSERT_TRUE(run({"c17.v1.a1:release", "c17", "release", handle(*bound, 0, "c17.v1.a1")}));
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

TEST_F(EffectsTest, ACopyIsMadeByTheOwnerAndIsWhereTheRunRuns) {
  Command command = program();
  command.args.set("workdir", "copy");
  const auto bound = run(command);
  ASSERT_TRUE(bound) << bound.error().what;
  ASSERT_EQ(processes.specs.size(), 1u);
  EXPECT_EQ(processes.specs[0].as_user->uid, kOwner);
  EXPECT_EQ(cluster.keyed_jobs().at(0).work_dir, "/home/ada/sickbay-c17/work-r2");

  processes.outcome.exit_code = 1;
  processes.outcome.err = "cp: No space left on device\nmore";
  const auto failed = run(command);
  EXPECT_EQ(code_of(failed), ErrorCode::refused_by_slurm);
  EXPECT_THAT(failed.error().what, HasSubstr("No space left on device"));
  EXPECT_EQ(ids().size(), 1u) << "it ran where nothing had been copied to";
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

TEST_F(EffectsTest, AnOutputWithoutAPlaceIsNotFound) {
  const auto failed = run({"c17.r2:read", "c17", "read_output", Json::object({{"run", "c17.r2"}})});
  EXPECT_EQ(code_of(failed), ErrorCode::not_found);
  EXPECT_THAT(processes.specs, IsEmpty());
}

}  // namespace
}  // namespace sickbay::effects_test
