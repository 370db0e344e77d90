// SPDX-License-Identifier: Apache-2.0
// The manager against a real Slurm: every call, and what is left when a part dies in the middle of one.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "adapters/posix/process_runner.h"
#include "test/slurm/lab_controls.h"
#include "test/slurm/real_cluster.h"

namespace sickbay::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RealSlurm : public RealCluster {};

TEST_F(RealSlurm, AHeldVerificationIsFoundReleasedAndRuns) {
  const auto order = verification("n2", "#!/bin/sh\nhostname\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();

  const auto held = look(submitted->job_id);
  ASSERT_TRUE(held) << held.error().line();
  EXPECT_EQ(held->state, "PENDING");
  EXPECT_TRUE(held->held);
  EXPECT_EQ(held->comment, "sickbay:" + order.key);
  EXPECT_EQ(held->submit, submitted->submit);
  EXPECT_EQ(held->start, kNoTime);

  const auto found = find(order.key);
  ASSERT_TRUE(found) << found.error().line();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().job_id, submitted->job_id);
  EXPECT_EQ(find(order.key + "1")->size(), 0U);

  const JobHandle handle = handle_of(*submitted, order.key);
  EXPECT_EQ(release(handle), true);
  EXPECT_EQ(release(handle), false);
  const auto ended = wait_for_end(submitted->job_id);
  ASSERT_TRUE(ended) << ended.error().line();
  EXPECT_EQ(ended->state, "COMPLETED");
  EXPECT_EQ(ended->nodes, "n2");
  EXPECT_EQ(cancel(handle), false);
}

TEST_F(RealSlurm, AStrangersJobIsNotTouched) {
  const auto order = verification("n1", "#!/bin/sh\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();
  JobHandle handle = handle_of(*submitted, order.key);

  JobHandle other_key = handle, other_user = handle, other_time = handle, no_job = handle;
  other_key.key += "0";
  other_user.uid += 1;
  other_time.submit += seconds(1);
  no_job.job_id += 100000;
  for (const JobHandle& stranger : {other_key, other_user, other_time}) {
    EXPECT_EQ(code_of(release(stranger)), "not_found");
    EXPECT_EQ(code_of(cancel(stranger)), "not_found");
  }
  EXPECT_EQ(code_of(release(no_job)), "not_found");
  EXPECT_EQ(cancel(no_job), false);

  EXPECT_EQ(cancel(handle), true);
  EXPECT_EQ(cancel(handle), false);
  EXPECT_EQ(wait_for_end(submitted->job_id)->state, "CANCELLED");
}

TEST_F(RealSlurm, SlurmsRefusalIsInItsOwnWords) {
  const auto refused = submit(verification("nosuchnode", "#!/bin/sh\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused_by_slurm);
  EXPECT_NE(refused.error().what.find("Invalid node name specified"), std::string::npos);
}

// What a program can see of the way it was started is what its owner's own sbatch would have shown it.
TEST_F(RealSlurm, AProgramRunsAgainAsItsOwnerStartedIt) {
  ProgramOrder order = program(
      "#!/bin/bash\n"
      "#SBATCH --nodelist=n1 --time=3 # not there again\n"
      "#SBATCH -d afterok:1\n"
      "echo \"args=$# [$1] [$2] line=$LINENO\"\n"
      "echo \"name=$SLURM_JOB_NAME run=$SICKBAY_RUN mine=$MINE ntasks=$SLURM_NTASKS\"\n"
      "echo \"umask=$(umask) nofile=$(ulimit -Sn) core=$(ulimit -Sc) pwd=$PWD user=$(id -un)\"\n"
      "echo \"preload=[$LD_PRELOAD]\"\n");
  order.submission.script_args = {"a b", "c\"d"};
  order.submission.sbatch_options = {"-n", "2", "--comment=own words", "-w", "n2", "--hold", "-x", "n1"};
  order.submission.environment.insert(order.submission.environment.end(),
                                      {"MINE=x y", "LD_PRELOAD=/nonexistent.so", "SBATCH_WAIT=1"});
  order.submission.umask = 027;
  order.submission.limits = {{"NOFILE", 777}, {"CORE", 0}};
  order.exclude = {"n3"};
  const auto submitted = await<Submitted>([&](auto done) { cluster_->submit_program(order, done); });
  ASSERT_TRUE(submitted) << submitted.error().line() << submitted.error().cause;
  EXPECT_EQ(submitted->dropped,
            (std::vector<std::string>{"--nodelist=n2", "--hold", "#SBATCH --nodelist=n1",
                                      "#SBATCH --dependency=afterok:1", "SBATCH_WAIT=1"}));
  const auto held = look(submitted->job_id);
  ASSERT_TRUE(held) << held.error().line();
  EXPECT_TRUE(held->held);
  EXPECT_EQ(held->name, "job.sh");
  EXPECT_EQ(held->comment, "own words sickbay:" + order.key);
  EXPECT_EQ(held->time_limit_s, 180);
  EXPECT_EQ(held->submit, submitted->submit);
  ASSERT_EQ(release(handle_of(*submitted, order.key)), true);
  const auto ended = wait_for_end(submitted->job_id);
  ASSERT_TRUE(ended) << ended.error().line();
  EXPECT_EQ(ended->state, "COMPLETED");
  EXPECT_TRUE(ended->nodes == "n2" || ended->nodes == "n4") << ended->nodes;
  EXPECT_EQ(text_of(ended->std_out),
            "args=2 [a b] [c\"d] line=4\n"
            "name=job.sh run=2 mine=x y ntasks=2\n"
            "umask=0027 nofile=777 core=0 pwd=" +
                order.submission.work_dir + " user=" + account_.user + "\npreload=[/nonexistent.so]\n");
}

TEST_F(RealSlurm, AnEndedJobIsInItsHistory) {
  ProgramOrder order = program("#!/bin/sh\nexit 3\n");
  // Text that would look like further fields and lines to a reader of lines.
  order.submission.sbatch_options = {"--job-name=a|b\n1|0|COMPLETED|0:0|"};
  const auto submitted = await<Submitted>([&](auto done) { cluster_->submit_program(order, done); });
  ASSERT_TRUE(submitted) << submitted.error().line();
  ASSERT_EQ(release(handle_of(*submitted, order.key)), true);
  const auto ended = wait_for_end(submitted->job_id);
  ASSERT_TRUE(ended) << ended.error().line();
  std::vector<JobInfo> told;
  ASSERT_TRUE(wait_until([&] {
    const auto known =
        await<std::vector<JobInfo>>([&](auto done) { cluster_->history({submitted->job_id}, done); });
    if (!known) {
      ADD_FAILURE() << known.error().line() << known.error().cause;
      return true;
    }
    told = *known;
    return !told.empty();
  }));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].state, "FAILED");
  EXPECT_EQ(told[0].exit_code, 3);
  EXPECT_EQ(told[0].uid, account_.uid);
  EXPECT_EQ(told[0].nodes, ended->nodes);
  EXPECT_EQ(told[0].submit, ended->submit);
  EXPECT_EQ(told[0].start, ended->start);
  EXPECT_EQ(told[0].end, ended->end);
}

TEST_F(RealSlurm, TheFirstLookHasAllNodesAndLaterOnesTheDifferences) {
  const auto first = refresh({});
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_GE(first->nodes.size(), 4U);
  EXPECT_GT(first->controller_boot, kNoTime);
  EXPECT_EQ(drain("n4", "sickbay:f1 test: drained"), true);
  EXPECT_EQ(drain("n4", "sickbay:f1 test: drained"), false);
  const auto second = refresh({4000000});
  ASSERT_TRUE(second) << second.error().line();
  const auto n4 = std::find_if(second->nodes.begin(), second->nodes.end(),
                               [](const NodeInfo& node) { return node.name == "n4"; });
  ASSERT_NE(n4, second->nodes.end());
  EXPECT_EQ(n4->flags, std::vector<std::string>{"DRAIN"});
  EXPECT_EQ(n4->reason, "sickbay:f1 test: drained");
  EXPECT_EQ(second->absent, std::vector<JobId>{4000000});

  EXPECT_EQ(code_of(undrain("n4", "sickbay:f2")), "conflict");
  EXPECT_EQ(undrain("n4", "sickbay:f1"), true);
  EXPECT_EQ(undrain("n4", "sickbay:f1"), false);
  EXPECT_EQ(code_of(drain("nosuchnode", "sickbay:f1")), "not_found");
}

TEST_F(RealSlurm, ManyNodesAreDrainedAndLetInByFewCallsAndEachHasItsAnswer) {
  const auto first = refresh({});
  ASSERT_TRUE(first) << first.error().line();
  std::vector<std::string> nodes;
  for (const NodeInfo& node : first->nodes) nodes.push_back(node.name);
  ASSERT_GE(nodes.size(), 4U);
  const auto calls = [&] {
    for (const CallCount& count : cluster_->calls())
      if (count.call == "change_nodes") return count.count;
    return decltype(CallCount::count)(0);
  };
  const auto at_once = [&](const std::function<void(const std::string&, Done<bool>)>& change) {
    std::map<std::string, std::string> answers;
    for (const std::string& node : nodes)
      change(node, [&answers, node](Result<bool> changed) {
        answers[node] = changed ? (*changed ? "yes" : "no") : code_of(changed);
      });
    EXPECT_TRUE(wait_until([&] { return answers.size() == nodes.size(); }));
    return answers;
  };
  nodes.push_back("nosuchnode");
  const auto before = calls();
  // The first goes alone; the others, which have the same reason but for one, go together.
  const auto drained = at_once([&](const std::string& node, Done<bool> done) {
    cluster_->drain(node, node == nodes[1] ? "sickbay:f2 test" : "sickbay:f1 test", std::move(done));
  });
  EXPECT_LE(calls() - before, 2U);
  for (const auto& [node, answer] : drained)
    EXPECT_EQ(answer, node == "nosuchnode" ? "not_found" : "yes") << node;
  const auto second = refresh({});
  ASSERT_TRUE(second) << second.error().line();
  EXPECT_EQ(second->nodes.size(), nodes.size() - 1);
  for (const NodeInfo& node : second->nodes)
    EXPECT_EQ(node.reason, node.name == nodes[1] ? "sickbay:f2 test" : "sickbay:f1 test") << node.name;
  const auto lifted = at_once([&](const std::string& node, Done<bool> done) {
    cluster_->undrain(node, "sickbay:f1", std::move(done));
  });
  for (const auto& [node, answer] : lifted)
    EXPECT_EQ(answer, node == "nosuchnode" ? "not_found" : node == nodes[1] ? "conflict" : "yes") << node;
  EXPECT_EQ(undrain(nodes[1], "sickbay:f2"), true);
}

TEST_F(RealSlurm, AKilledChildIsReplacedAndItsNodesAreNotAllNews) {
  restart_manager();  // whose first look has all nodes
  // Nodes that were let in a moment ago do not answer yet, and when they do that is news: first all of them.
  std::map<std::string, bool> silent;
  ASSERT_TRUE(wait_until([&] {
    const auto look = refresh({});
    if (!look) return false;
    for (const NodeInfo& node : look->nodes)
      silent[node.name] = std::ranges::find(node.flags, "NOT_RESPONDING") != node.flags.end();
    return look->nodes.empty() && silent.size() >= 4 &&
           std::ranges::none_of(silent, [](const auto& one) { return one.second; });
  }));
  kill_child(SIGKILL);
  const auto again = refresh({});
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_LT(again->nodes.size(), 4U);
}

TEST_F(RealSlurm, AChildThatHangsIsKilledAndTheCallTimesOut) {
  restart_manager(milliseconds(300));
  // (On a busy machine a child that does not hang may need longer than that, too.)
  const auto looks = [&] { return refresh({}).has_value(); };
  ASSERT_TRUE(wait_until(looks));
  kill_child(SIGSTOP);
  EXPECT_EQ(code_of(refresh({})), "timed_out");
  EXPECT_TRUE(wait_until(looks));
}

TEST_F(RealSlurm, ASubmissionWhoseAnswerWasLostIsFoundByItsKey) {
  ASSERT_TRUE(refresh({}));
  const auto order = verification("n3", "#!/bin/sh\n");
  Slurmctld slurmctld;
  slurmctld.freeze();
  std::optional<Result<Submitted>> answer;
  cluster_->submit_verification(order, [&](Result<Submitted> result) { answer = std::move(result); });
  const bool sent = wait_until([&] { return slurmctld.has_unread_request(); });
  kill_child(SIGKILL);
  wait_until([&] { return answer.has_value(); });
  slurmctld.thaw();
  ASSERT_TRUE(sent);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(code_of(*answer), "timed_out") << answer->error().line();
  Result<std::vector<JobInfo>> found;
  ASSERT_TRUE(wait_until([&] { return !(found = find(order.key)) || !found->empty(); }));
  ASSERT_TRUE(found) << found.error().line();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().held);
  EXPECT_EQ(cancel({found->front().job_id, account_.uid, kNoTime, order.key}), true);
}

TEST_F(RealSlurm, ASilentSlurmctldIsAwayForALookAndUnclearForAnEffect) {
  const auto order = verification("n3", "#!/bin/sh\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();
  restart_manager(seconds(90));  // libslurm's own limit is what ends these calls
  ASSERT_TRUE(refresh({}));
  Slurmctld slurmctld;
  slurmctld.freeze();
  const auto look = refresh({});
  const auto effect = drain("n1", "sickbay:f7 test: unclear");
  slurmctld.thaw();
  EXPECT_EQ(code_of(look), "slurm_away") << (look ? "" : look.error().line());
  // Its own look before the effect is what failed: nothing was sent.
  EXPECT_EQ(code_of(effect), "slurm_away") << (effect ? "" : effect.error().line());
  ASSERT_TRUE(wait_until([&] { return refresh({}).has_value(); }));
  EXPECT_EQ(undrain("n1", "sickbay:f7"), false);
  EXPECT_EQ(cancel(handle_of(*submitted, order.key)), true);
}

TEST_F(RealSlurm, AnAcknowledgedJobMayBeLostWithSlurmctldAndThatIsSeen) {
  const auto before = refresh({});
  ASSERT_TRUE(before) << before.error().line();
  const auto order = verification("n2", "#!/bin/sh\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();
  Slurmctld slurmctld;
  slurmctld.stop(true);
  slurmctld.start();
  Result<Snapshot> after;
  ASSERT_TRUE(wait_until([&] { return (after = refresh({submitted->job_id})).has_value(); }));
  EXPECT_GT(after->controller_boot, before->controller_boot);
  // Lost, given again to another, or kept: what find() says agrees with what the look says.
  const auto found = find(order.key);
  ASSERT_TRUE(found) << found.error().line();
  const bool kept = !after->jobs.empty() && after->jobs[0].comment == "sickbay:" + order.key;
  EXPECT_EQ(found->size(), kept ? 1U : 0U);
  if (kept) {
    EXPECT_EQ(cancel(handle_of(*submitted, order.key)), true);
  }
}

TEST_F(RealSlurm, ABadConfigurationIsToldInLibslurmsWordsAndMayBeMended) {
  const std::string conf = required_variable("SB_TEST_SHARED") + "/bad.conf";
  std::ofstream(conf) << "NoSuchWord=1\n";
  restart_manager(seconds(30), conf);
  const auto refused = refresh({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::slurm_away);
  EXPECT_NE(refused.error().cause.find("NoSuchWord"), std::string::npos) << refused.error().cause;
  // Certainly not submitted, so not unclear.
  EXPECT_EQ(code_of(submit(verification("n1", "#!/bin/sh\n"))), "slurm_away");
  std::ofstream(conf) << text_of(required_variable("SLURM_CONF"));
  EXPECT_TRUE(wait_until([&] { return refresh({}).has_value(); }));
}

// A stopped child cannot see the end of its socket: what ends it is the death of its parent alone.
TEST_F(RealSlurm, TheChildDiesWithItsParent) {
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  cluster_.reset();
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    loop_ = make_asio_loop();
    runner_ = make_process_runner(*loop_);
    restart_manager();
    const bool looked = refresh({}).has_value();
    const pid_t child = looked ? child_pid() : 0;
    if (child > 0) ::kill(child, SIGSTOP);
    (void)!::write(report[1], &child, sizeof child);
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(report[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ASSERT_GT(child, 0);
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  EXPECT_TRUE(wait_until([&] {
    const std::string text = text_of(stat);
    return text.empty() || text.find(") Z ") != std::string::npos;
  }));
  ::close(report[0]);
  ::close(report[1]);
}

}  // namespace
}  // namespace sickbay::slurm
