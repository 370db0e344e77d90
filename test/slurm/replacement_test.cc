// SPDX-License-Identifier: Apache-2.0
// Replacement of nodes on a real Slurm, through the verbs: what the contract
// (test/contract/replacement_suite.cc) leaves out: steps on the new set of nodes, deaths in the middle of the
// sequence, and the kinds of jobs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "ports/node_replacement.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/effects.h"
#include "test/slurm/lab_controls.h"
#include "test/slurm/real_cluster.h"

namespace sickbay::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Names = std::vector<std::string>;

// None of these verbs asks for one.
struct NoCases : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, "no case"); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

class RealReplacement : public RealCluster {
 protected:
  void SetUp() override {
    command({"scancel", "--quiet", "--user=" + account_.user});
    ASSERT_TRUE(all_idle());
  }
  void TearDown() override {
    for (const auto& name : crashed) EXPECT_TRUE(lab_command("heal " + name));
    command({"scontrol", "update", "nodename=n[1-4]", "availablefeatures=", "activefeatures="});
    command({"scancel", "--quiet", "--user=" + account_.user});
  }

  /// What a command prints; as root, or as the lab's user.
  std::string command(Names argv, bool as_user = false, const std::string& input = "") {
    ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.argv[0] = "/usr/bin/" + spec.argv[0];
    spec.environment = {"PATH=/usr/bin:/bin", "SLURM_CONF=" + required_variable("SLURM_CONF")};
    spec.folder = "/";
    spec.input = input;
    if (as_user) spec.as_user = ProcessSpec::Credentials{account_.user, account_.uid, account_.gid};
    const auto done = await<ProcessOutcome>([&](auto answer) { runner_->run(std::move(spec), answer); });
    return done ? done->out + done->err : done.error().line();
  }
  bool is_all_idle() {
    return command({"sinfo", "--noheader", "--format=%T", "--partition=main"}) == "idle\n";
  }
  testing::AssertionResult all_idle() {
    const bool idle = wait_until([&] { return is_all_idle(); });
    return idle ? testing::AssertionSuccess() : testing::AssertionFailure() << as_slurm_sees_it();
  }
  /// For messages: what a person would look at first.
  std::string as_slurm_sees_it() {
    return "\n" + command({"scontrol", "--oneliner", "show", "node"}) +
           command({"scontrol", "--oneliner", "show", "job"});
  }
  /// Runs a verb as the ledger would.
  Result<Json> run(const std::string& verb, Json args, const std::string& key, bool again = false) {
    Effects effects(*loop_, *cluster_, *runner_, cases, config, {});
    return await<Json>([&](auto done) { effects.start({key, "j1", verb, args}, again, std::move(done)); });
  }

  struct Running {
    JobId id = 0;
    RunningJob job;
    Json args;
  };
  Running start(Names options, const std::string& script = "#!/bin/sh\nexec sleep 3600\n", int task = 0) {
    Names argv = {"sbatch", "--parsable", "--output=/dev/null", "--time=10"};
    argv.insert(argv.end(), options.begin(), options.end());
    const std::string said = command(std::move(argv), true, script);
    Running r;
    r.id = static_cast<JobId>(std::atoi(said.c_str()));
    EXPECT_NE(r.id, 0U) << said;
    if (task != 0)
      r.id = static_cast<JobId>(std::atoi(
          command({"squeue", "--noheader", "--format=%A", fmt::format("--job={}_{}", r.id, task)}).c_str()));
    look_again(r);
    return r;
  }
  void look_again(Running& r) {
    JobInfo info;
    EXPECT_TRUE(wait_until([&] {
      const auto seen = look(r.id);
      if (seen) info = *seen;
      return info.state == "RUNNING";
    })) << r.id
        << info.state << info.reason;
    const auto job = see({r.id, account_.uid, info.submit, ""});
    EXPECT_TRUE(job) << job.error().line();
    if (job) r.job = *job;
    r.args = Json::object({{"job_id", r.id}, {"uid", account_.uid}, {"submit", to_micros(info.submit)}});
  }
  Result<RunningJob> see(const JobHandle& handle) {
    return await<RunningJob>(
        [&](auto done) { cluster_->node_replacement().running_job(handle, std::move(done)); });
  }
  std::string fresh() {
    static int last = 0;
    return fmt::format("j{}.q{}.a1", ::getpid(), ++last);
  }
  Result<Json> allocate(const Running& r, const std::string& key, bool again = false, Names exclude = {}) {
    Json args = r.args;
    Json::Array cpus;
    if (const auto all = ungroup_cpus(r.job.cpus_per_node); !all.empty()) cpus.push_back(all.back());
    args.set("nodes", 1).set("cpus", std::move(cpus)).set("exclude", exclude);
    return run("allocate_donor", std::move(args), key + ":donor", again);
  }
  /// The same, asked again while slurmctld says that no node is free, as an engine would: it says so of a
  /// node that it calls idle, too, for some seconds after what ran there.
  Result<Json> allocate_soon(const Running& r, const std::string& key, const Names& exclude = {}) {
    return soon([&](bool again) { return allocate(r, key, again, exclude); });
  }
  Result<Json> soon(const std::function<Result<Json>(bool again)>& ask) {
    Result<Json> donor = ask(false);
    (void)wait_until([&] { return code_of(donor) != "busy" || bool(donor = ask(true)); });
    return donor;
  }
  Json give_args(const Running& r, const Json& donor, const std::string& key) {
    Json args = r.args;
    args.set("donor", donor["donor"]).set("donor_submit", donor["submit"]).set("key", key);
    args.set("nodes", donor["nodes"]);
    return args;
  }
  /// "n1 n2 ...", from a step that runs a task on each node.
  Names step_on(const Running& r, std::size_t nodes) {
    const std::string said =
        command({"srun", fmt::format("--jobid={}", r.id), fmt::format("--nodes={}", nodes),
                 "--ntasks-per-node=1", "--overlap", "hostname"},
                true);
    Names names;
    std::string line;
    for (std::istringstream in(said); std::getline(in, line);) names.push_back(line);
    return sorted_hosts(names);
  }

  NoCases cases;
  Config config;
  Names crashed;
};

// The table of doc/design/nonstop_slurm.md: each kind gets a node and runs a step on it.  (Before the tests
// that kill nodes: once, after them, slurmctld gave a node that it called idle to no job.)
struct Kind {
  const char* name;
  Names options;
  int task = 0;
};

TEST_F(RealReplacement, KindsOfJobs) {
  command({"sacctmgr", "-i", "add", "qos", "high"});
  command({"sacctmgr", "-i", "add", "account", "physics"});
  command({"sacctmgr", "-i", "add", "user", account_.user, "account=physics"});
  command({"sacctmgr", "-i", "modify", "user", account_.user, "set", "qos+=high"});
  command({"scontrol", "update", "nodename=n[1-3]", "availablefeatures=ib", "activefeatures=ib"});
  const Kind kinds[] = {
      {"plain", {"--nodes=2"}},
      {"constraint", {"--nodes=2", "--constraint=ib", "--exclusive"}},
      {"qos", {"--nodes=2", "--qos=high"}},
      {"account", {"--nodes=2", "--account=physics"}},
      {"tasks per node", {"--nodes=2", "--ntasks-per-node=2"}},
      {"cpus per task", {"--nodes=2", "--ntasks=2", "--cpus-per-task=2"}},
      {"exclusive", {"--nodes=2", "--exclusive"}},
      {"exclusive=user", {"--nodes=2", "--exclusive=user"}},
      {"memory per cpu", {"--nodes=2", "--mem-per-cpu=500"}},
      {"memory per node", {"--nodes=2", "--mem=1500"}},
      {"array", {"--nodes=2", "--array=1"}, 1},
      {"own exclusions", {"--nodes=2", "--exclude=n3"}},
  };
  for (const Kind& kind : kinds) {
    ASSERT_TRUE(all_idle()) << kind.name;
    Names options = kind.options;
    options.push_back("--no-kill");
    Running r = start(options, "#!/bin/sh\nexec sleep 3600\n", kind.task);
    const RunningJob before = r.job;
    const std::string key = fresh();
    const auto donor = allocate_soon(r, key);
    ASSERT_TRUE(donor) << kind.name << ": " << donor.error().line() << donor.error().cause
                       << as_slurm_sees_it();
    const std::string node = (*donor)["nodes"].as_strings().at(0);
    EXPECT_THAT(before.nodes, Not(Contains(node))) << kind.name;
    EXPECT_FALSE(kind.name == std::string_view("constraint") && node == "n4") << "n4 has not the feature";
    EXPECT_FALSE(kind.name == std::string_view("own exclusions") && node == "n3")
        << "its owner wanted it not";
    const auto given = run("give_donor", give_args(r, *donor, key), key + ":give");
    ASSERT_TRUE(given) << kind.name << ": " << given.error().line() << given.error().cause;
    look_again(r);
    const auto cpus = ungroup_cpus(r.job.cpus_per_node);
    ASSERT_EQ(cpus.size(), 3U) << kind.name;
    EXPECT_EQ(std::set<std::uint32_t>(cpus.begin(), cpus.end()).size(), 1U) << kind.name << ": as before";
    EXPECT_EQ(r.job.qos, before.qos);
    EXPECT_EQ(r.job.account, before.account);
    EXPECT_EQ(r.job.memory_mib, before.memory_mib);
    EXPECT_EQ(step_on(r, 3), sorted_hosts(r.job.nodes)) << kind.name;
    command({"scancel", "--quiet", "--user=" + account_.user});
  }
}

TEST_F(RealReplacement, AHeterogeneousJobGetsANodeThatNoneOfItsPartsHas) {
  const std::string said = command({"sbatch", "--parsable", "--output=/dev/null", "--time=10", "--no-kill",
                                    "--nodes=1", ":", "--no-kill", "--nodes=2"},
                                   true, "#!/bin/sh\nexec sleep 3600\n");
  Running second;
  second.id = static_cast<JobId>(std::atoi(said.c_str())) + 1;
  look_again(second);
  const std::string key = fresh();
  const auto donor = allocate_soon(second, key);
  ASSERT_TRUE(donor) << donor.error().line() << donor.error().cause << as_slurm_sees_it();
  EXPECT_EQ((*donor)["nodes"].as_strings(), Names{"n4"});
  const auto given = run("give_donor", give_args(second, *donor, key), key + ":give");
  ASSERT_TRUE(given) << given.error().line();
  const std::string step = command(
      {"srun", fmt::format("--jobid={}", second.id - 1), "--het-group=0,1", "--overlap", "hostname"}, true);
  for (const char* node : {"n1\n", "n2\n", "n3\n", "n4\n"}) EXPECT_THAT(step, HasSubstr(node));
}

TEST_F(RealReplacement, AKilledNodeIsReplacedAndStepsRunOnTheNewSet) {
  Running r = start({"--nodes=3", "--no-kill", "--exclusive"});
  const Names before = r.job.nodes;
  ASSERT_EQ(step_on(r, 3), sorted_hosts(before));
  const std::string lost = before.back();
  crashed.push_back(lost);
  ASSERT_TRUE(lab_command("fault " + lost + " crash"));
  ASSERT_TRUE(wait_until([&] {
    look_again(r);
    return r.job.nodes.size() == 2;
  })) << "slurmctld never took it out";
  const std::string key = fresh();
  const auto donor = allocate_soon(r, key, {lost});
  ASSERT_TRUE(donor) << donor.error().line() << donor.error().cause;
  const auto given = run("give_donor", give_args(r, *donor, key), key + ":give");
  ASSERT_TRUE(given) << given.error().line() << given.error().cause;
  Names after = before;
  after.back() = (*donor)["nodes"].as_strings()[0];
  EXPECT_EQ(sorted_hosts((*given)["nodes"].as_strings()), sorted_hosts(after));
  EXPECT_EQ(step_on(r, 3), sorted_hosts(after));
  const auto now = look(r.id);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->state, "RUNNING");
  EXPECT_EQ(to_micros(now->submit), r.args["submit"].as_int()) << "it is the same job";
}

// Wherever the process that acts dies: the repeat ends at the same place, with each node in one job.
TEST_F(RealReplacement, KilledAnywhereTheSequenceComesToItsEnd) {
  Running r = start({"--nodes=2", "--no-kill", "--exclusive"});
  const Names first = r.job.nodes;
  // How long each takes undisturbed is this machine's own matter: the deaths are spread over just that.
  std::map<std::string, std::chrono::microseconds> whole;
  int interrupted = 0;
  constexpr int kDeaths = 7;
  for (int death = 0; death <= kDeaths; ++death) {
    const std::string key = fresh();
    const auto broken = [&](const std::string& verb, const Json& args,
                            const std::string& of) -> Result<Json> {
      if (death == 0) {
        TimePoint began = kNoTime;
        auto done = soon([&](bool again) {
          began = loop_->now();
          return run(verb, args, of, again);
        });
        whole[verb] = std::chrono::duration_cast<std::chrono::microseconds>(loop_->now() - began);
        return done;
      }
      (void)refresh({});
      const pid_t child = child_pid();
      const auto dies = loop_->at(loop_->now() + whole[verb] * (death - 1) / kDeaths,
                                  [child] { ::kill(child, SIGKILL); });  // the answer dies with it
      Effects effects(*loop_, *cluster_, *runner_, cases, config, {});
      config.retry_bound = seconds(0);  // the first try shows how it ended
      const auto done = await<Json>([&](auto answer) {
        effects.start({of, "j1", verb, args}, false, answer);
      });
      loop_->cancel(dies);  // it came too late: what follows is not to die of it
      if (!done) ++interrupted;
      config.retry_bound = seconds(60);
      return soon([&](bool) { return run(verb, args, of, true); });
    };
    Json ask = r.args;
    ask.set("nodes", 1).set("cpus", Json::array({Json(2)}));
    const auto donor = broken("allocate_donor", ask, key + ":donor");
    ASSERT_TRUE(donor) << death << donor.error().line() << donor.error().cause << as_slurm_sees_it();
    const auto twins = find(key);
    ASSERT_TRUE(twins);
    EXPECT_EQ(std::ranges::count_if(*twins, [](const JobInfo& job) { return job.state == "RUNNING"; }), 1)
        << death;
    const auto given = broken("give_donor", give_args(r, *donor, key), key + ":give");
    ASSERT_TRUE(given) << death << given.error().line() << given.error().cause << as_slurm_sees_it();
    look_again(r);
    ASSERT_EQ(r.job.nodes.size(), 3U) << death;
    EXPECT_EQ(r.job.nodes, (*given)["nodes"].as_strings());
    EXPECT_EQ(ungroup_cpus(r.job.cpus_per_node).size(), 3U);
    // (And back, for the next round.)
    Json drop = r.args;
    drop.set("nodes", (*donor)["nodes"]);
    ASSERT_TRUE(run("drop_nodes", drop, key + ":drop"));
    ASSERT_TRUE(wait_until([&] {
      return command({"squeue", "--noheader", "--format=%i"}) == std::to_string(r.id) + "\n";
    })) << "a donor is left"
        << as_slurm_sees_it();
    look_again(r);
    EXPECT_EQ(r.job.nodes, first);
  }
  EXPECT_GE(interrupted, 3) << "nothing was interrupted";
}

// The one state in between that slurmctld itself knows.
TEST_F(RealReplacement, ADeathBetweenShrinkingAndGrowingIsMadeGood) {
  const Running r = start({"--nodes=2", "--no-kill", "--exclusive"});
  const std::string key = fresh();
  const auto donor = allocate_soon(r, key);
  ASSERT_TRUE(donor) << donor.error().line();
  command({"scontrol", "update", fmt::format("jobid={}", (*donor)["donor"].as_int()), "numnodes=0"});
  const auto given = run("give_donor", give_args(r, *donor, key), key + ":give", true);
  ASSERT_TRUE(given) << given.error().line() << given.error().cause;
  EXPECT_EQ((*given)["nodes"].size(), 3U);
  EXPECT_EQ(step_on(r, 3).size(), 3U);
}

// slurmctld lets it run on without its script until the node comes back: a new node would do nothing there.
TEST_F(RealReplacement, AJobWhoseBatchScriptIsLostGetsNoNode) {
  Running r = start({"--nodes=2", "--no-kill", "--no-requeue", "--exclusive"});
  const std::string lost = r.job.batch_host;
  crashed.push_back(lost);
  ASSERT_TRUE(lab_command("fault " + lost + " crash"));
  ASSERT_TRUE(wait_until([&] {
    look_again(r);
    return r.job.nodes.size() == 1;
  }));
  EXPECT_EQ(r.job.batch_host, lost);
  const auto refused = allocate(r, fresh());
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_THAT(refused.error().what, HasSubstr("batch script"));
  EXPECT_THAT(refused.error().cause, HasSubstr(lost));
}

TEST_F(RealReplacement, RefusedWithTheRemedy) {
  Running r = start({"--nodes=2", "--no-kill"});
  ASSERT_TRUE(wait_until([&] {  // (refused while it still starts)
    command({"scontrol", "suspend", std::to_string(r.id)});
    const auto now = look(r.id);
    return now && now->state == "SUSPENDED";
  }));
  const auto suspended = allocate(r, fresh());
  ASSERT_FALSE(suspended);
  EXPECT_THAT(suspended.error().cause, HasSubstr("SUSPENDED"));
  command({"scontrol", "resume", std::to_string(r.id)});

  const auto nowhere = [&] {
    Json args = r.args;
    args.set("nodes", 1).set("cpus", Json::array({Json(64)}));
    return run("allocate_donor", std::move(args), fresh() + ":donor");
  }();
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(code_of(nowhere), "refused_by_slurm") << nowhere.error().line();

  const std::string conf = required_variable("SLURM_CONF"), text = text_of(conf);
  std::string without = text;
  const std::string word = "permit_job_expansion,";
  without.erase(without.find(word), word.size());
  write_slurm_conf(without);
  command({"scontrol", "reconfigure"});
  const auto forbidden = allocate(r, fresh());
  write_slurm_conf(text);
  command({"scontrol", "reconfigure"});
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(code_of(forbidden), "conflict");
  EXPECT_THAT(forbidden.error().cause, HasSubstr("permit_job_expansion"));
  EXPECT_THAT(forbidden.error().remedy_text, HasSubstr("scontrol reconfigure"));

  // Without --no-kill Slurm ends the job itself, and that is said.
  command({"scancel", "--quiet", "--user=" + account_.user});
  ASSERT_TRUE(all_idle());
  r = start({"--nodes=2", "--no-requeue"});
  const std::string lost = r.job.nodes.back();
  command({"scontrol", "update", "nodename=" + lost, "state=down", "reason=test"});
  ASSERT_TRUE(wait_for_end(r.id));
  const auto ended = allocate(r, fresh());
  command({"scontrol", "update", "nodename=" + lost, "state=resume"});
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().cause, HasSubstr("NODE_FAIL"));
  EXPECT_THAT(ended.error().remedy_text, HasSubstr("--no-kill"));
}

TEST_F(RealReplacement, ANodeThatIsDownBesidesIsNotLiftedFromFail) {
  const auto fail_it =
      run("fail_node", Json::object({{"node", "n4"}, {"reason", "fan"}, {"by", "alice"}}), fresh());
  ASSERT_TRUE(fail_it) << fail_it.error().line();
  command({"scontrol", "update", "nodename=n4", "state=down", "reason=sickbay:fail alice: fan"});
  const auto refused = run("unfail_node", Json::object({{"node", "n4"}}), fresh());
  command({"scontrol", "update", "nodename=n4", "state=resume"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_THAT(refused.error().what, HasSubstr("DOWN"));
}

// Last: slurmctld is told of GRES, and started anew for it.
TEST_F(RealReplacement, ZAJobWithGresIsRefusedBeforeAnythingIsDone) {
  const std::string conf = required_variable("SLURM_CONF"), text = text_of(conf);
  std::string with = text + "GresTypes=tape\n";
  for (std::size_t at = with.find("State=UNKNOWN"); at != std::string::npos;
       at = with.find("State=UNKNOWN", at + 20))
    with.insert(at, "Gres=tape:2 ");
  write_slurm_conf(with);
  const std::string gres_conf = conf.substr(0, conf.rfind('/')) + "/gres.conf";
  std::ofstream(gres_conf) << "Name=tape Count=2\n";
  Slurmctld slurmctld;
  slurmctld.stop(false);
  slurmctld.start();
  ASSERT_TRUE(wait_until([&] { return command({"scontrol", "ping"}).find(" is UP") != std::string::npos; }));
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    EXPECT_TRUE(lab_command(fmt::format("fault {} kill-service=slurmd", node)));
    EXPECT_TRUE(lab_command(fmt::format("heal {}", node)));
  }
  // A slurmd that reported before it was started anew has no tapes: slurmctld drained its node for that.
  ASSERT_TRUE(wait_until([&] {
    for (const char* node : {"n1", "n2", "n3", "n4"})
      command({"scontrol", "update", std::string("nodename=") + node, "state=resume"});
    return is_all_idle();
  })) << as_slurm_sees_it();
  const Running r = start({"--nodes=2", "--no-kill", "--gres=tape:1"});
  EXPECT_EQ(r.job.gres, "tape:2");
  const auto refused = allocate(r, fresh());
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_THAT(refused.error().what, HasSubstr("GRES"));
  EXPECT_EQ(command({"squeue", "--noheader", "--format=%i"}), std::to_string(r.id) + "\n");
  Json drop = r.args;
  drop.set("nodes", Names{r.job.nodes.back()});
  const auto left = run("drop_nodes", drop, fresh() + ":drop");
  ASSERT_TRUE(left) << left.error().line() << " " << left.error().cause;
  EXPECT_EQ((*left)["nodes"].size(), 1U);
  // What is whole has all GRES of its nodes, asked for or not.
  command({"scancel", "--quiet", "--user=" + account_.user});
  ASSERT_TRUE(all_idle());
  const Running whole = start({"--nodes=2", "--no-kill", "--exclusive"});
  EXPECT_EQ(whole.job.gres, "tape:4");
  EXPECT_EQ(code_of(allocate(whole, fresh())), "conflict");
  write_slurm_conf(text);
  ::unlink(gres_conf.c_str());
}

}  // namespace
}  // namespace sickbay::slurm
