// SPDX-License-Identifier: Apache-2.0
// The contract of ports/node_replacement.h: a running job loses a node and gets another, on every cluster.
//
// As contract_parts.h: limits are generous, a test waits for what it wants to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "ports/node_replacement.h"
#include "test/contract/contract_test.h"

namespace sickbay::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAreArray;

class Replacement : public ContractTest {
 protected:
  Replacement() : ContractTest(seconds(180), seconds(180)) {}
  void TearDown() override {
    for (const auto& name : crashed) cluster->heal_node(name);
    for (const auto& pool : pools) (void)set_pool({pool.partition, pool.reservation, {}});
    for (const auto& name : failed)
      (void)ask<bool>([&](auto done) { port().unfail_node(name, "sickbay:fail ", done); });
    ContractTest::TearDown();
  }
  NodeReplacement& port() { return cluster->manager().node_replacement(); }

  static std::string line(const Error& error) { return error.line() + ": " + error.cause; }

  NodeState state_of(const std::string& name) {
    const auto look = ask<Snapshot>([&](auto done) { cluster->manager().refresh({}, done); });
    if (look)
      for (const NodeInfo& node : look->nodes)
        if (const auto state = parse_node_state(node.state, node.flags)) states[node.name] = *state;
    return states[name];
  }

  /// A user's job that runs on these options' nodes.
  JobHandle running(std::vector<std::string> options) {
    options.push_back("--output=/dev/null");
    const Submission p = submission(kRunsUntilKilled, std::move(options));
    JobInfo info;
    const JobId id = cluster->sbatch(p);
    EXPECT_TRUE(until([&] { return (info = seen(id)).state == "RUNNING"; })) << info.state << info.reason;
    handles.push_back({id, p.owner.uid, info.submit, ""});
    return handles.back();
  }
  RunningJob job(const JobHandle& handle) {
    auto found = ask<RunningJob>([&](auto done) { port().running_job(handle, done); });
    EXPECT_TRUE(found) << line(found.error());
    return found ? *found : RunningJob();
  }
  /// Crashes the job's last node, and waits until Slurm has taken it from the job.
  std::string lose_a_node(const JobHandle& handle) {
    std::string lost = job(handle).nodes.back();
    crashed.push_back(lost);
    cluster->crash_node(lost);
    EXPECT_TRUE(until([&] { return state_of(lost).base == NodeBase::down; }));
    EXPECT_TRUE(until([&] { return std::ranges::count(job(handle).nodes, lost) == 0; }));
    return lost;
  }
  DonorOrder donor_order(const JobHandle& handle) {
    static int keys = 0;
    DonorOrder order;
    order.job = handle;
    order.key = "j" + std::to_string(handle.job_id) + ".q" + std::to_string(++keys) + ".a1";
    return order;
  }
  Result<Donor> allocate(const DonorOrder& order) {
    auto donor = ask<Donor>([&](auto done) { port().allocate_donor(order, done); });
    if (donor) handles.push_back(donor_handle(*donor, order));
    return donor;
  }
  // Of nodes that stood idle when the test began.  Slurm 24.11 and 26.05 refuse them now and then all the
  // same, as busy, for up to a second after a job has left them (measured: 0.95 s, on a busy machine);
  // whoever asks for a node gets it from the queue then (engine/nonstop).
  Result<Donor> allocate_soon(const DonorOrder& order) {
    Result<Donor> donor = fail(ErrorCode::busy, "not asked yet");
    (void)until([&] { return (donor = allocate(order)) || donor.error().code != ErrorCode::busy; });
    return donor;
  }
  static JobHandle donor_handle(const Donor& donor, const DonorOrder& order) {
    return {donor.job_id, order.job.uid, donor.submit, order.key};
  }
  Result<NodeSet> give(const DonorOrder& order, const Donor& donor, const std::vector<std::string>& nodes) {
    return ask<NodeSet>(
        [&](auto done) { port().give_donor(order.job, donor_handle(donor, order), nodes, done); });
  }
  Result<SparePool> set_pool(const SparePool& pool) {
    return ask<SparePool>([&](auto done) { port().set_spare_pool(pool, done); });
  }

  std::vector<std::string> crashed, failed;
  std::vector<SparePool> pools;
  std::map<std::string, NodeState> states;
};

TEST_F(Replacement, AJobThatLostANodeGetsAnother) {
  const JobHandle handle = running({"-N3", "-t10", "--no-kill", "--exclusive"});
  const RunningJob before = job(handle);
  ASSERT_EQ(before.nodes.size(), 3U);
  ASSERT_EQ(ungroup_cpus(before.cpus_per_node).size(), 3U);
  EXPECT_EQ(before.time_limit_min, 10);
  const std::string lost = lose_a_node(handle);

  DonorOrder order = donor_order(handle);
  order.cpus = {ungroup_cpus(before.cpus_per_node).back()};
  const auto donor = allocate_soon(order);
  ASSERT_TRUE(donor) << line(donor.error());
  EXPECT_EQ(donor->state, "RUNNING");
  ASSERT_EQ(donor->nodes.size(), 1U);
  EXPECT_THAT(before.nodes, Not(Contains(donor->nodes[0])));
  // After a crash of the caller it is found again.
  order.again = true;
  cluster->kill_caller();
  const auto found = allocate(order);
  ASSERT_TRUE(found) << line(found.error());
  EXPECT_EQ(found->job_id, donor->job_id);
  EXPECT_EQ(found->submit, donor->submit);

  const auto given = give(order, *donor, donor->nodes);
  ASSERT_TRUE(given) << line(given.error());
  std::vector<std::string> expected = before.nodes;
  expected.back() = donor->nodes[0];
  EXPECT_THAT(given->nodes, UnorderedElementsAreArray(expected));
  EXPECT_EQ(ungroup_cpus(given->cpus_per_node).size(), 3U);
  EXPECT_EQ(seen(handle.job_id).state, "RUNNING");
  EXPECT_EQ(seen(handle.job_id).submit, handle.submit);
  // Given once, whoever asks again.
  cluster->kill_caller();
  const auto again = give(order, *donor, donor->nodes);
  ASSERT_TRUE(again) << line(again.error());
  EXPECT_EQ(*again, *given);
  EXPECT_TRUE(until([&] {
    const auto state = parse_job_state(seen(donor->job_id).state);
    return state && is_terminal(*state);
  })) << seen(donor->job_id).state;
  EXPECT_EQ(job(handle).nodes, given->nodes) << "the end of the donor takes nothing away";
}

TEST_F(Replacement, WithoutAFreeNodeItIsBusyOrWaits) {
  const auto nodes = cluster->nodes();
  const JobHandle handle = running({"-N2", "-t10", "--no-kill", "--exclusive"});
  std::vector<JobHandle> fillers;
  for (std::size_t i = 2; i < nodes.size(); ++i) fillers.push_back(running({"-N1", "-t10", "--exclusive"}));
  DonorOrder order = donor_order(handle);
  const auto busy = allocate(order);
  ASSERT_FALSE(busy) << busy->state;
  EXPECT_EQ(busy.error().code, ErrorCode::busy) << line(busy.error());
  order.again = true;
  EXPECT_FALSE(allocate(order)) << "a refused one leaves nothing behind";

  order.immediate = order.again = false;
  const auto donor = allocate(order);
  ASSERT_TRUE(donor) << line(donor.error());
  EXPECT_EQ(donor->state, "PENDING");
  EXPECT_TRUE(donor->nodes.empty());
  const auto early = give(order, *donor, nodes);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::busy) << line(early.error());

  ASSERT_TRUE(ask<bool>([&](auto done) { cluster->manager().cancel(fillers[0], done); }));
  JobInfo info;
  ASSERT_TRUE(until([&] { return (info = seen(donor->job_id)).state == "RUNNING"; })) << info.reason;
  const auto got = expand_hostlist(info.nodes);
  ASSERT_TRUE(got);
  const auto given = give(order, *donor, *got);
  ASSERT_TRUE(given) << line(given.error());
  EXPECT_EQ(given->nodes.size(), 3U);
}

TEST_F(Replacement, ADonorThatIsGoneHasGivenNothing) {
  const JobHandle handle = running({"-N1", "-t10", "--no-kill", "--exclusive"});
  const DonorOrder order = donor_order(handle);
  const auto donor = allocate_soon(order);
  ASSERT_TRUE(donor) << line(donor.error());
  EXPECT_EQ(ask<bool>([&](auto done) { cluster->manager().cancel(donor_handle(*donor, order), done); }),
            true);
  ASSERT_TRUE(until([&] { return seen(donor->job_id).state == "CANCELLED"; }));
  const auto given = give(order, *donor, donor->nodes);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::not_found) << line(given.error());
  EXPECT_EQ(job(handle).nodes.size(), 1U);
}

TEST_F(Replacement, AJobGoesOnWithoutANodeThatItDrops) {
  const JobHandle handle = running({"-N3", "-t10", "--no-kill", "--exclusive"});
  const RunningJob before = job(handle);
  const std::string dropped = before.nodes.back();
  for (int i = 0; i < 2; ++i) {
    const auto left = ask<NodeSet>([&](auto done) { port().drop_nodes(handle, {dropped}, done); });
    ASSERT_TRUE(left) << line(left.error());
    EXPECT_EQ(left->nodes.size(), 2U);
    EXPECT_EQ(ungroup_cpus(left->cpus_per_node).size(), 2U);
    EXPECT_THAT(left->nodes, Not(Contains(dropped)));
  }
  EXPECT_TRUE(until([&] { return is_idle(state_of(dropped)); }));
  const auto script = ask<NodeSet>([&](auto done) { port().drop_nodes(handle, {before.nodes[0]}, done); });
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().code, ErrorCode::conflict) << line(script.error());
  EXPECT_EQ(seen(handle.job_id).state, "RUNNING");
}

TEST_F(Replacement, TheTimeLimitIsSetOnceHoweverOftenItIsAsked) {
  const JobHandle handle = running({"-N2", "-t10", "--no-kill"});
  for (int i = 0; i < 2; ++i) {
    const auto minutes = ask<std::int64_t>([&](auto done) { port().set_time_limit(handle, 25, done); });
    ASSERT_TRUE(minutes) << line(minutes.error());
    EXPECT_EQ(*minutes, 25);
    EXPECT_EQ(seen(handle.job_id).time_limit_s, 25 * 60);
  }
}

TEST_F(Replacement, AFailingNodeKeepsItsJobAndLeavesAfterItsReplacement) {
  const JobHandle handle = running({"-N2", "-t10", "--no-kill", "--exclusive"});
  const RunningJob before = job(handle);
  const std::string sick = before.nodes.back();
  failed.push_back(sick);
  const auto fail_it = [&] {
    return ask<bool>([&](auto done) { port().fail_node(sick, "sickbay:fail alice: noisy fan", done); });
  };
  EXPECT_EQ(fail_it(), true);
  EXPECT_EQ(fail_it(), false);
  EXPECT_EQ(fault_of(state_of(sick)), NodeFault::failing) << to_string(state_of(sick));
  EXPECT_EQ(job(handle).nodes, before.nodes);
  EXPECT_EQ(fault_of(state_of(before.nodes[0])), NodeFault::none);

  const DonorOrder order = donor_order(handle);
  const auto donor = allocate_soon(order);
  ASSERT_TRUE(donor) << line(donor.error());
  ASSERT_TRUE(give(order, *donor, donor->nodes));
  const auto left = ask<NodeSet>([&](auto done) { port().drop_nodes(handle, {sick}, done); });
  ASSERT_TRUE(left) << line(left.error());
  EXPECT_THAT(left->nodes, UnorderedElementsAreArray({before.nodes[0], donor->nodes[0]}));
  EXPECT_EQ(fault_of(state_of(sick)), NodeFault::failing);

  const auto foreign = ask<bool>([&](auto done) { port().unfail_node(sick, "sickbay:other", done); });
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::conflict);
  const auto lift = [&] {
    return ask<bool>([&](auto done) { port().unfail_node(sick, "sickbay:fail ", done); });
  };
  EXPECT_EQ(lift(), true);
  EXPECT_EQ(lift(), false);
  EXPECT_TRUE(until([&] { return is_idle(state_of(sick)) && fault_of(state_of(sick)) == NodeFault::none; }))
      << to_string(state_of(sick));
}

TEST_F(Replacement, SparesAreKeptForReplacements) {
  const auto nodes = cluster->nodes();
  const JobHandle handle = running({"-N2", "-t10", "--no-kill", "--exclusive"});
  const std::string partition = seen(handle.job_id).partition;
  const auto rest = hosts_without(sorted_hosts(nodes), sorted_hosts(job(handle).nodes));
  pools = {{partition, "HOT_SPARE_" + partition, rest}};
  for (int i = 0; i < 2; ++i) {
    const auto made = set_pool(pools[0]);
    ASSERT_TRUE(made) << line(made.error());
    EXPECT_EQ(made->nodes, rest);
    EXPECT_EQ(made->users, std::vector<std::string>{"root"});
  }
  const auto listed = ask<std::vector<SparePool>>([&](auto done) { port().spare_pools(done); });
  ASSERT_TRUE(listed) << line(listed.error());
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front(), pools[0]);

  DonorOrder order = donor_order(handle);
  const auto none = allocate(order);
  ASSERT_FALSE(none) << "a spare is for those that ask for it";
  EXPECT_EQ(none.error().code, ErrorCode::busy) << line(none.error());
  order.reservation = pools[0].reservation;
  order.node_list = {rest.back()};
  const auto donor = allocate(order);
  ASSERT_TRUE(donor) << line(donor.error());
  EXPECT_EQ(donor->nodes, order.node_list);
  const auto given = give(order, *donor, donor->nodes);
  ASSERT_TRUE(given) << line(given.error());
  EXPECT_THAT(given->nodes, Contains(rest.back()));
  const auto after = ask<std::vector<SparePool>>([&](auto done) { port().spare_pools(done); });
  ASSERT_TRUE(after);
  EXPECT_EQ(after->front().users, std::vector<std::string>{"root"}) << "the owner has left it";

  // The spare that was used leaves the pool; then the pool goes.
  SparePool smaller = pools[0];
  smaller.nodes.pop_back();
  const auto shrunk = set_pool(smaller);
  ASSERT_TRUE(shrunk) << line(shrunk.error());
  EXPECT_EQ(shrunk->nodes, smaller.nodes);
  smaller.nodes.clear();
  EXPECT_TRUE(set_pool(smaller));
  EXPECT_TRUE(set_pool(smaller));
  EXPECT_TRUE(ask<std::vector<SparePool>>([&](auto done) { port().spare_pools(done); })->empty());
}

TEST_F(Replacement, AJobThatIsOverOrAStrangersIsRefused) {
  const JobHandle handle = running({"-N2", "-t10", "--no-kill"});
  const auto listed = [&] {
    const auto jobs = ask<std::vector<RunningJob>>([&](auto done) { port().running_jobs({}, done); });
    EXPECT_TRUE(jobs);
    return jobs && std::ranges::count(*jobs, handle.job_id, &RunningJob::job_id) == 1;
  };
  EXPECT_TRUE(listed());
  JobHandle stranger = handle;
  stranger.uid += 1;
  DonorOrder order = donor_order(stranger);
  auto refused = allocate(order);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_found) << line(refused.error());
  ASSERT_TRUE(ask<bool>([&](auto done) { cluster->manager().cancel(handle, done); }));
  ASSERT_TRUE(until([&] { return seen(handle.job_id).state == "CANCELLED"; }));
  order.job = handle;
  refused = allocate(order);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict) << line(refused.error());
  EXPECT_EQ(refused.error().what, "job " + std::to_string(handle.job_id) + " does not run");
  EXPECT_FALSE(ask<std::int64_t>([&](auto done) { port().set_time_limit(handle, 25, done); }));
  EXPECT_FALSE(ask<NodeSet>([&](auto done) { port().drop_nodes(handle, {"n1"}, done); }));
  EXPECT_TRUE(until([&] { return !listed(); }));
}

}  // namespace
}  // namespace sickbay::contract
