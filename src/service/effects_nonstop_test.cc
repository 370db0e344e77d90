// SPDX-License-Identifier: Apache-2.0
// Effects on running jobs, on a simulated cluster: what is done twice where an answer was lost, and what is
// told at once instead of being tried again.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/hostlist.h"
#include "model/running_job.h"
#include "ports/node_replacement.h"
#include "service/effects_test_parts.h"

namespace sickbay::effects_test {
namespace {

using sim::SimCallFault;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Names = std::vector<std::string>;

class NonstopEffectsTest : public EffectsTest {
 protected:
  void SetUp() override {
    job = submit({"-N3", "--no-kill", "-t60"});
    pass(5);
    ASSERT_EQ(cluster.job(job)->nodes, "n[1-3]");
  }
  JobId submit(Names options) {
    Submission p;
    p.owner = {"ada", kOwner, kOwner};
    p.script = "#!/bin/sh\n#SIM hang\n";
    p.script_name = "solver.sh";
    p.sbatch_options = std::move(options);
    p.work_dir = "/home/ada";
    const auto submitted = cluster.sbatch(p);
    EXPECT_TRUE(submitted) << submitted.error().line();
    return submitted ? submitted->job_id : 0;
  }
  void pass(int s) { loop.run_until(loop.now() + seconds(s)); }
  Json args() const {
    return Json::object({{"job_id", job}, {"uid", kOwner}, {"submit", to_micros(cluster.job(job)->submit)}});
  }
  Command allocate(const std::string& key = "j1.q1.a1:donor", bool immediate = true) const {
    Json a = args();
    a.set("nodes", 1).set("cpus", Json::array({Json(2)})).set("immediate", immediate);
    a.set("exclude", Names{"n4"});
    return {key, "j1", "allocate_donor", std::move(a)};
  }
  Command give(const Json& donor, const std::string& key = "j1.q1.a1") const {
    Json a = args();
    a.set("donor", donor["donor"]).set("donor_submit", donor["submit"]).set("key", key);
    a.set("nodes", donor["nodes"]);
    return {key + ":give", "j1", "give_donor", std::move(a)};
  }
  std::vector<std::string> nodes() const { return *expand_hostlist(cluster.job(job)->nodes); }
  JobId job = 0;
};

TEST_F(NonstopEffectsTest, ALostNodeIsReplacedHoweverManyAnswersAreLost) {
  cluster.crash_node("n3");
  pass(30);
  ASSERT_EQ(cluster.job(job)->nodes, "n[1-2]") << "the job goes on without it";
  cluster.fail_calls("allocate_donor", SimCallFault::lost_answer);
  const auto donor = run(allocate());
  ASSERT_TRUE(donor) << donor.error().what;
  EXPECT_EQ((*donor)["state"].as_string(), "RUNNING");
  EXPECT_THAT((*donor)["nodes"].as_strings(), ElementsAre("n5")) << "n4 is excluded, n3 is down";
  EXPECT_FALSE(donor->has("expected_start"));
  ASSERT_EQ(ids().size(), 1u) << "a second donor";
  EXPECT_EQ(cluster.keyed_jobs()[0].comment, "sickbay:j1.q1.a1");
  EXPECT_EQ(cluster.keyed_jobs()[0].uid, kOwner);

  cluster.fail_calls("give_donor", SimCallFault::lost_answer);
  const auto given = run(give(*donor));
  ASSERT_TRUE(given) << given.error().what;
  EXPECT_THAT((*given)["nodes"].as_strings(), ElementsAre("n1", "n2", "n5"));
  EXPECT_EQ((*given)["cpus_per_node"].dump(), R"([{"cpus":2,"count":3}])");
  EXPECT_THAT(nodes(), ElementsAre("n1", "n2", "n5"));
  pass(10);
  EXPECT_EQ(cluster.keyed_jobs()[0].state, "COMPLETED");
  EXPECT_EQ(cluster.job(job)->state, "RUNNING");
  // And once more, after a restart.
  const auto again = run(give(*donor), true);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, *given);
}

TEST_F(NonstopEffectsTest, ThatNoNodeIsFreeIsToldAtOnce) {
  const JobId others = submit({"-N3", "-t60"});
  pass(5);
  const TimePoint asked = loop.now();
  EXPECT_EQ(code_of(run(allocate())), ErrorCode::busy);
  EXPECT_LT(loop.now() - asked, seconds(1)) << "its engine waits, not the ledger";
  EXPECT_TRUE(ids().empty());

  const auto donor = run(allocate("j1.q1.a2:donor", false));
  ASSERT_TRUE(donor) << donor.error().what;
  EXPECT_EQ((*donor)["state"].as_string(), "PENDING");
  EXPECT_EQ((*donor)["nodes"].size(), 0u);
  cluster.scancel(others);
  pass(5);
  const JobInfo info = *cluster.job(static_cast<JobId>((*donor)["donor"].as_int()));
  EXPECT_EQ(info.state, "RUNNING");
  Json now = *donor;
  now.set("nodes", *expand_hostlist(info.nodes));
  const auto given = run(give(now, "j1.q1.a2"));
  ASSERT_TRUE(given) << given.error().what;
  EXPECT_EQ(nodes().size(), 4u);
}

TEST_F(NonstopEffectsTest, ADonorIsCancelledOnce) {
  const auto donor = run(allocate());
  ASSERT_TRUE(donor) << donor.error().what;
  Command cancel = give(*donor);
  cancel.verb = "cancel_donor";
  for (const bool first : {true, false}) {
    const auto done = run(cancel, !first);
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ((*done)["cancelled"].as_bool(), first);
  }
  EXPECT_EQ(code_of(run(give(*donor))), ErrorCode::not_found);
  EXPECT_THAT(nodes(), ElementsAre("n1", "n2", "n3"));
}

TEST_F(NonstopEffectsTest, ADropALimitAndAFailStateAreSafeToRepeat) {
  Json drop = args(), limit = args();
  drop.set("nodes", Names{"n3"});
  limit.set("minutes", 90);
  const Json sick = Json::object({{"node", "n2"}, {"reason", "noisy fan"}, {"by", "ada"}});
  const std::pair<const char*, Json> rows[] = {
      {"drop_nodes", drop}, {"set_time_limit", limit}, {"fail_node", sick}, {"unfail_node", sick}};
  for (const auto& [verb, of] : rows) {
    cluster.fail_calls(verb, SimCallFault::lost_answer);
    const auto done = run({std::string("j1.x:") + verb, "j1", verb, of});
    ASSERT_TRUE(done) << verb << done.error().what;
    const NodeInfo n2 = *cluster.node("n2");
    if (verb == std::string_view("fail_node")) {
      EXPECT_THAT(n2.flags, Contains("FAIL"));
      EXPECT_EQ(n2.reason, "sickbay:fail ada: noisy fan");
      EXPECT_EQ((*done)["changed"].as_bool(true), false) << "the lost try has done it";
    } else {
      EXPECT_THAT(n2.flags, Not(Contains("FAIL")));
    }
  }
  EXPECT_THAT(nodes(), ElementsAre("n1", "n2"));
  EXPECT_EQ(cluster.job(job)->time_limit_s, 90 * 60);
}

TEST_F(NonstopEffectsTest, ASparePoolHasAGuestForOneCall) {
  const Json pool = Json::object({{"partition", "batch"}, {"nodes", Names{"n5", "n6"}}});
  const auto made = run({"spares:1", "spares", "set_spare_pool", pool});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ((*made)["reservation"].as_string(), "HOT_SPARE_batch");
  EXPECT_THAT((*made)["nodes"].as_strings(), ElementsAre("n5", "n6"));
  EXPECT_EQ(code_of(run(allocate())), ErrorCode::busy) << "n4 is excluded, and the others are spares";
  Command from_pool = allocate("j1.q1.a2:donor");
  from_pool.args.set("reservation", "HOT_SPARE_batch").set("node_list", Names{"n6"});
  const auto donor = run(from_pool);
  ASSERT_TRUE(donor) << donor.error().what;
  EXPECT_THAT((*donor)["nodes"].as_strings(), ElementsAre("n6"));
  Command second = allocate("j1.q2.a1:donor");
  second.args.set("reservation", "HOT_SPARE_elsewhere");
  EXPECT_FALSE(run(second));
}

TEST_F(NonstopEffectsTest, AJobThatIsOverIsRefusedWithTheReason) {
  const JobId fragile = submit({"-N2", "-t60", "--no-requeue"});
  pass(5);
  const std::string lost = expand_hostlist(cluster.job(fragile)->nodes)->back();
  job = fragile;
  Command ask = allocate();
  cluster.crash_node(lost);
  pass(30);
  const auto refused = run(ask);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_THAT(refused.error().cause, HasSubstr("NODE_FAIL"));
  EXPECT_THAT(refused.error().remedy_text, HasSubstr("--no-kill"));
}

}  // namespace
}  // namespace sickbay::effects_test
