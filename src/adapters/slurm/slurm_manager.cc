// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/slurm_manager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "adapters/slurm/accounting.h"
#include "adapters/slurm/call_lane.h"
#include "adapters/slurm/child_calls.h"
#include "adapters/slurm/dependents.h"
#include "adapters/slurm/key_comment.h"
#include "adapters/slurm/node_changes.h"
#include "adapters/slurm/node_reboot.h"
#include "adapters/slurm/program_order.h"
#include "adapters/slurm/slurm_replacement.h"
#include "base/text.h"
#include "model/slurm_state.h"
#include "ports/lifetime.h"

namespace sickbay::slurm {
namespace {

// decisions.md 26: at most 4 calls under way, 10 updates a second, queues with a bound.
constexpr std::size_t kUpdatesPerSecond = 10;
constexpr std::size_t kProcessesAtOnce = 3;  // with the child's one call: four
constexpr std::chrono::seconds kRootForAWhile{10};
constexpr std::size_t kChildQueue = 1000, kProcessQueue = 200;

std::vector<JobInfo> jobs_from(const Json& array) {
  std::vector<JobInfo> jobs;
  for (const Json& job : array.items()) jobs.push_back(JobInfo::from_json(job));
  return jobs;
}

bool is_over(const JobInfo& job) {
  const auto state = parse_job_state(job.state, job.flags);
  return state && is_terminal(*state);
}

class SlurmCluster final : public ResourceManager {
 public:
  SlurmCluster(Loop& loop, ProcessRunner& runner, SlurmOptions options)
      : loop_(loop),
        runner_(runner),
        options_(std::move(options)),
        calls_(loop,
               {options_.child_path,
                // Else libslurm cuts the list of an array's waiting tasks after 64 letters.
                {"SLURM_CONF=" + options_.slurm_conf, "SLURM_BITSTR_LEN=0"},
                options_.call_limit,
                options_.log},
               counts_) {}

  void submit_program(ProgramOrder order, Done<Submitted> done) override;
  void submit_verification(VerificationOrder order, Done<Submitted> done) override;
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override;
  void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) override;
  void waiting(Done<std::vector<WaitingJobs>> done) override;
  void release(ReleaseOrder order, Done<bool> done) override {
    yes_no("release", order.job.to_json().set("first", order.first), std::move(done));
  }
  void cancel(JobHandle job, Done<bool> done) override { yes_no("cancel", job.to_json(), std::move(done)); }
  void begin_now(JobHandle job, Done<bool> done) override {
    yes_no("begin_now", job.to_json(), std::move(done));
  }
  void requeue(RequeueOrder order, Done<Requeued> done) override {
    Json args = order.job.to_json();
    args.set("restart_cnt", order.restart_cnt).set("exclude", order.exclude);
    ask(Kind::update, "requeue", std::move(args), [done = std::move(done)](Result<Json> outcome) {
      if (!outcome) return done(fail(std::move(outcome.error())));
      done(Requeued{(*outcome)["did"].as_bool(), (*outcome)["excluded"].as_bool(),
                    (*outcome)["said"].as_string()});
    });
  }
  void refresh(RefreshOrder order, Done<Snapshot> done) override;
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override;
  void drain(std::string node, std::string reason, Done<bool> done) override {
    change_node("drain", Json::object({{"node", node}, {"reason", reason}}), std::move(done));
  }
  void undrain(std::string node, std::string own_reason_prefix, Done<bool> done) override {
    change_node("undrain", Json::object({{"node", node}, {"prefix", own_reason_prefix}}), std::move(done));
  }
  void set_down(std::string node, std::string reason, Done<bool> done) override {
    yes_no("set_down", Json::object({{"node", node}, {"reason", reason}}), std::move(done));
  }
  void reboot(RebootOrder order, Done<bool> done) override;
  void explain(JobId job, Done<PendingFacts> done) override {
    ask(Kind::look, "explain", Json::object({{"job_id", job}}), [done = std::move(done)](Result<Json> facts) {
      if (!facts) return done(fail(std::move(facts.error())));
      done(PendingFacts::from_json(*facts));
    });
  }
  void slurm_user(Done<std::uint32_t> done) override {
    ask(Kind::look, "configuration", Json::object(), [done = std::move(done)](Result<Json> configuration) {
      if (!configuration) return done(fail(std::move(configuration.error())));
      done(static_cast<std::uint32_t>((*configuration)["slurm_user_id"].as_int()));
    });
  }
  NodeReplacement& node_replacement() override { return replacement_; }
  std::vector<CallCount> calls() const override { return counts_.list(); }

 private:
  enum class Kind { look, update };
  template <class T>
  using Then = std::function<void(Result<T>)>;
  /// Asks the child, in its turn; `then` runs later, never from inside.
  void ask(Kind kind, std::string call, Json args, std::function<void(Result<Json>)> then);
  void yes_no(std::string call, Json args, Done<bool> done);
  /// The same for what goes with others of its kind (node_changes.h).
  void change_node(std::string change, Json args, Done<bool> done);
  /// Runs a command, in its turn; `then` runs later, never from inside.
  void run(Kind kind, std::string call, ProcessSpec spec, Then<ProcessOutcome> then);
  void make_folder(const Owner& owner, std::uint32_t umask, const std::string& path, Then<bool> then);
  void with_folder(const ProgramOrder& order, std::function<void(bool is_here)> then);
  void submit_from(const ProgramOrder& order, const SbatchSite& site, Done<Submitted> done);
  void run_sbatch(std::string key, std::uint32_t uid, ProgramSubmission submission, Done<Submitted> done);
  void account(AccountingQuestion question, Then<std::vector<AccountingJob>> then);
  template <class T>
  void refuse(Done<T> done, Error error) {
    loop_.post([done = std::move(done), error = std::move(error)] { done(fail(error)); });
  }
  Snapshot snapshot_from(const Json& json);

  Loop& loop_;
  ProcessRunner& runner_;
  SlurmOptions options_;
  CallCounts counts_;
  ChildCalls calls_;
  UpdateRate rate_{kUpdatesPerSecond};
  // libslurm is for one call at a time; commands are processes of their own.
  CallLane child_lane_{loop_, rate_, 1, kChildQueue};
  CallLane process_lane_{loop_, rate_, kProcessesAtOnce, kProcessQueue};
  NodeChanges changes_{[this](std::function<void()> start, std::function<void(Error)> refuse) {
                         return child_lane_.submit({true, std::move(start), std::move(refuse)});
                       },
                       [this](Json args, std::function<void(Result<Json>)> then) {
                         calls_.call("change_nodes", std::move(args), true,
                                     [this, then = std::move(then)](Result<Json> outcome) {
                                       then(std::move(outcome));
                                       child_lane_.finished();
                                     });
                       }};
  /// What the last snapshot said, so that a new child's full look gives differences all the same.
  std::map<std::string, NodeInfo, std::less<>> nodes_;
  SlurmReplacement replacement_{
      loop_, [this](bool update, std::string call, Json args, std::function<void(Result<Json>)> then) {
        ask(update ? Kind::update : Kind::look, std::move(call), std::move(args), std::move(then));
      }};
  Lifetime lifetime_;
};

void SlurmCluster::ask(Kind kind, std::string call, Json args, std::function<void(Result<Json>)> then) {
  // Answers are posted: a Done must not run inside the call that asked, nor after we are gone.
  const auto answer = [this, then = lifetime_.guard(std::move(then))](Result<Json> outcome) {
    loop_.post([then, outcome = std::move(outcome)]() mutable { then(std::move(outcome)); });
  };
  const bool queued = child_lane_.submit({kind == Kind::update,
                                          [this, kind, call, args = std::move(args), answer]() mutable {
                                            calls_.call(call, std::move(args), kind == Kind::update,
                                                        [this, answer](Result<Json> outcome) {
                                                          answer(std::move(outcome));
                                                          child_lane_.finished();
                                                        });
                                          },
                                          [answer](Error error) { answer(fail(std::move(error))); }});
  if (!queued)
    answer(fail(Error(ErrorCode::busy, fmt::format("{} calls to Slurm wait already", child_lane_.waiting()))
                    .because("slurmctld answers more slowly than Sickbay asks")));
}

void SlurmCluster::yes_no(std::string call, Json args, Done<bool> done) {
  ask(Kind::update, std::move(call), std::move(args), [done = std::move(done)](Result<Json> outcome) {
    if (!outcome) return done(fail(std::move(outcome.error())));
    done(outcome->as_bool());
  });
}

void SlurmCluster::change_node(std::string change, Json args, Done<bool> done) {
  changes_.add(std::move(change), std::move(args),
               lifetime_.guard([this, done = std::move(done)](Result<bool> changed) mutable {
                 loop_.post([done = std::move(done), changed = std::move(changed)]() mutable {
                   done(std::move(changed));
                 });
               }));
}

Snapshot SlurmCluster::snapshot_from(const Json& json) {
  Snapshot snapshot;
  snapshot.controller_boot = from_micros(json["controller_boot"].as_int());
  snapshot.jobs = jobs_from(json["jobs"]);
  snapshot.tasks = jobs_from(json["tasks"]);
  snapshot.begun = jobs_from(json["begun"]);
  for (const Json& id : json["absent"].items()) snapshot.absent.push_back(static_cast<JobId>(id.as_int()));
  snapshot.gone_nodes = json["gone"].as_strings();
  std::map<std::string, NodeInfo, std::less<>> all;
  const bool full = json["full"].as_bool();
  for (const Json& item : json["nodes"].items()) {
    NodeInfo node = NodeInfo::from_json(item);
    if (full) all.emplace(node.name, node);
    NodeInfo& known = nodes_[node.name];
    if (known == node) continue;
    known = node;
    snapshot.nodes.push_back(std::move(node));
  }
  // A new child knows nothing of what went before: who is not in its full list is gone.
  if (full)
    for (const auto& [name, node] : nodes_)
      if (!all.contains(name)) snapshot.gone_nodes.push_back(name);
  for (const std::string& name : snapshot.gone_nodes) nodes_.erase(name);
  return snapshot;
}

void SlurmCluster::refresh(RefreshOrder order, Done<Snapshot> done) {
  Json::Array ids, arrays;
  for (const JobId id : order.jobs) ids.push_back(id);
  for (const JobId id : order.arrays) arrays.push_back(id);
  ask(Kind::look, "refresh",
      Json::object({{"jobs", std::move(ids)},
                    {"arrays", std::move(arrays)},
                    {"nodes", order.nodes},
                    {"begun", order.begun}}),
      [this, done = std::move(done)](Result<Json> outcome) {
        if (!outcome) return done(fail(std::move(outcome.error())));
        done(snapshot_from(*outcome));
      });
}

void SlurmCluster::run(Kind kind, std::string call, ProcessSpec spec, Then<ProcessOutcome> then) {
  const auto answer = [this, then = lifetime_.guard(std::move(then))](Result<ProcessOutcome> outcome) {
    loop_.post([then, outcome = std::move(outcome)]() mutable { then(std::move(outcome)); });
  };
  const bool queued = process_lane_.submit(
      {kind == Kind::update,
       [this, call, spec = std::move(spec), answer]() mutable {
         const TimePoint start = loop_.now();
         runner_.run(std::move(spec),
                     lifetime_.guard([this, call, start, answer](Result<ProcessOutcome> outcome) {
                       const bool ok = outcome && outcome->exit_code == 0;
                       counts_.add(call, ok, std::chrono::duration<double>(loop_.now() - start).count());
                       answer(std::move(outcome));
                       process_lane_.finished();
                     }));
       },
       [answer](Error error) { answer(fail(std::move(error))); }});
  if (!queued)
    answer(
        fail(Error(ErrorCode::busy, fmt::format("{} commands of Slurm wait already", process_lane_.waiting()))
                 .because("slurmctld or slurmdbd answers more slowly than Sickbay asks")));
}

void SlurmCluster::make_folder(const Owner& owner, std::uint32_t umask, const std::string& path,
                               Then<bool> then) {
  ProcessSpec spec;
  spec.argv = {options_.mkdir_path, "-p", "--", path};
  // As its owner: root may not write on storage that maps root to nobody (NFS), and would leave a folder that
  // is not his.
  spec.as_user = ProcessSpec::Credentials{owner.user, owner.uid, owner.gid};
  spec.umask = umask;
  run(Kind::look, "mkdir", std::move(spec),
      [path, owner, then = std::move(then)](Result<ProcessOutcome> outcome) {
        if (!outcome) return then(fail(std::move(outcome.error()).in("making " + path)));
        if (outcome->timed_out)
          return then(
              fail(Error(ErrorCode::timed_out, "cannot make " + path).because("the file system hangs")));
        if (outcome->exit_code != 0)
          return then(
              fail(Error(ErrorCode::denied, fmt::format("{} cannot make the folder {}", owner.user, path))
                       .because(std::string(trimmed(outcome->err)))
                       .remedied_by("make it writable for its owner; it must be on shared storage")));
        then(true);
      });
}

void SlurmCluster::submit_verification(VerificationOrder order, Done<Submitted> done) {
  if (order.nodes.empty() || order.output_dir.empty())
    return refuse(std::move(done),
                  Error(ErrorCode::bad_input, "a verification needs nodes and an output folder"));
  const Owner& account = options_.service_account;
  // Slurm refuses an empty environment, and a script without PATH finds nothing.
  if (std::ranges::none_of(order.environment,
                           [](const std::string& one) { return one.starts_with("PATH="); }))
    order.environment.push_back("PATH=/usr/local/bin:/usr/bin:/bin");
  const std::string output = as_pattern(order.output_dir) + "/verify-%j";
  Json args = Json::object({{"key", order.key},
                            {"uid", account.uid},
                            {"gid", account.gid},
                            {"name", "sickbay-verify"},
                            {"nodes", order.nodes},
                            {"script", order.script},
                            {"environment", order.environment},
                            {"time_limit_s", order.time_limit.count()},
                            {"partition", order.partition},
                            {"reservation", order.reservation},
                            {"qos", order.qos},
                            {"account", order.account},
                            {"work_dir", order.output_dir},
                            {"exclusive", order.exclusive},
                            {"last", order.last},
                            {"std_out", output + ".out"},
                            {"std_err", output + ".err"}});
  // Before the job is submitted: where its output cannot be opened a job fails with 0:53 before it begins.
  make_folder(account, 022, order.output_dir,
              [this, args = std::move(args), done = std::move(done)](Result<bool> made) mutable {
                if (!made) return done(fail(std::move(made.error())));
                ask(Kind::update, "submit_verification", std::move(args),
                    [done = std::move(done)](Result<Json> outcome) {
                      if (!outcome) return done(fail(std::move(outcome.error())));
                      done(Submitted{static_cast<JobId>((*outcome)["job_id"].as_int()),
                                     from_micros((*outcome)["submit"].as_int()),
                                     {}});
                    });
              });
}

void SlurmCluster::submit_program(ProgramOrder order, Done<Submitted> done) {
  if (order.output_dir.empty())
    return refuse(std::move(done), Error(ErrorCode::bad_input, "a re-run needs an output folder"));
  // A site may have changed its limits since the last one; it is one cheap call.
  ask(Kind::look, "configuration", Json::object(),
      [this, order = std::move(order), done = std::move(done)](Result<Json> configuration) mutable {
        if (!configuration) return done(fail(std::move(configuration.error())));
        SbatchSite site{options_.sbatch_path, options_.slurm_conf,
                        (*configuration)["propagate_rlimits"].as_string(),
                        (*configuration)["propagate_rlimits_except"].as_string()};
        with_folder(order, [this, order, site, done = std::move(done)](bool is_here) mutable {
          site.folder_is_here = is_here;
          submit_from(order, site, std::move(done));
        });
      });
}

// Whether the folder of `order` is on this host, as its owner sees it.
void SlurmCluster::with_folder(const ProgramOrder& order, std::function<void(bool is_here)> then) {
  if (!order.work_dir.empty()) return then(true);  // we made it
  const Owner& owner = order.submission.owner;
  ProcessSpec spec;
  spec.argv = {"/usr/bin/test", "-d", order.submission.work_dir};
  spec.as_user = ProcessSpec::Credentials{owner.user, owner.uid, owner.gid};
  run(Kind::look, "test", std::move(spec), [then = std::move(then)](Result<ProcessOutcome> outcome) {
    // (A file system that hangs is said so by what comes next.)
    // (Only a clear "no" is one.)
    then(!outcome || outcome->exit_code != 1);
  });
}

void SlurmCluster::submit_from(const ProgramOrder& order, const SbatchSite& site, Done<Submitted> done) {
  auto submission = program_submission(order, site);
  if (!submission) return done(fail(std::move(submission.error())));
  // No folder is made on a host that does not have the job's own: the output then lies beside it (-%j).
  if (!site.folder_is_here)
    return run_sbatch(order.key, order.submission.owner.uid, std::move(*submission), std::move(done));
  make_folder(
      order.submission.owner, order.submission.umask, order.output_dir,
      [this, order, submission = std::move(*submission), done = std::move(done)](Result<bool> made) mutable {
        if (!made) return done(fail(std::move(made.error())));
        run_sbatch(order.key, order.submission.owner.uid, std::move(submission), std::move(done));
      });
}

void SlurmCluster::run_sbatch(std::string key, std::uint32_t uid, ProgramSubmission submission,
                              Done<Submitted> done) {
  run(Kind::update, "sbatch", std::move(submission.spec),
      [this, key, uid, dropped = std::move(submission.dropped),
       done = std::move(done)](Result<ProcessOutcome> outcome) mutable {
        if (!outcome) return done(fail(std::move(outcome.error())));
        if (outcome->exit_code != 0) return done(fail(sbatch_error(*outcome).in("submitting " + key)));
        const auto job_id = parse_parsable(outcome->out);
        // sbatch said nothing that can be read, and yet may have submitted: then the ledger looks by key.
        if (!job_id) return done(fail(ErrorCode::timed_out, job_id.error().what));
        // Slurm's stamp of the submission is in the job only.
        ask(Kind::look, "find", Json::object({{"key", key}, {"uid", uid}}),
            [job_id = *job_id, dropped = std::move(dropped), done = std::move(done)](Result<Json> found) {
              if (found)
                for (const JobInfo& job : jobs_from(*found))
                  if (job.job_id == job_id) return done(Submitted{job_id, job.submit, dropped});
              done(fail(
                  Error(ErrorCode::timed_out, fmt::format("job {} was submitted, and cannot be read", job_id))
                      .because(found ? "slurmctld does not know it (any more)" : found.error().line())));
            });
      });
}

void SlurmCluster::reboot(RebootOrder order, Done<bool> done) {
  ask(Kind::look, "node", Json::object({{"node", order.node}}),
      [this, order, done = std::move(done)](Result<Json> seen) mutable {
        if (!seen) return done(fail(std::move(seen.error())));
        // Looked at just before: scontrol would boot a node that is booting already.
        auto needed = needs_reboot(NodeInfo::from_json(*seen), order);
        if (!needed || !*needed) return done(std::move(needed));
        run(Kind::update, "scontrol", reboot_command(order, options_.scontrol_path, options_.slurm_conf),
            [node = order.node, done = std::move(done)](Result<ProcessOutcome> outcome) {
              if (!outcome) return done(fail(std::move(outcome.error())));
              if (outcome->exit_code != 0) return done(fail(reboot_error(*outcome).in("rebooting " + node)));
              done(true);
            });
      });
}

void SlurmCluster::find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) {
  ask(Kind::look, "find", Json::object({{"key", key}, {"uid", uid}}),
      [this, key, uid, done = std::move(done)](Result<Json> outcome) mutable {
        if (!outcome) return done(fail(std::move(outcome.error())));
        auto jobs = jobs_from(*outcome);
        if (!jobs.empty()) return done(std::move(jobs));
        // slurmctld forgets ended jobs after MinJobAge.
        account({{}, uid}, [key, done = std::move(done)](Result<std::vector<AccountingJob>> known) {
          if (!known) return done(fail(std::move(known.error()).in("looking for " + key)));
          std::vector<JobInfo> found;
          for (AccountingJob& entry : *known) {
            // One that has not ended, and that slurmctld does not know, was lost in a crash.
            if (!is_over(entry.job)) continue;
            if (!holds_key(entry.submit_line, key) && !holds_key(entry.job.comment, key)) continue;
            if (entry.job.comment.empty()) entry.job.comment = comment_with_key("", key);
            found.push_back(std::move(entry.job));
          }
          std::ranges::sort(found, {}, &JobInfo::job_id);
          done(std::move(found));
        });
      });
}

void SlurmCluster::waiting(Done<std::vector<WaitingJobs>> done) {
  ask(Kind::look, "waiting", Json::object(), [done = std::move(done)](Result<Json> outcome) {
    if (!outcome) return done(fail(std::move(outcome.error())));
    std::vector<WaitingJobs> list;
    for (const Json& row : (*outcome)["waiting"].items())
      list.push_back({row["partition"].as_string(), row["reason"].as_string(),
                      static_cast<std::size_t>(row["jobs"].as_int())});
    done(std::move(list));
  });
}

void SlurmCluster::dependents(DependentsOrder order, Done<std::vector<Dependent>> done) {
  const Json args = Json::object({{"job_id", order.job_id}, {"uid", order.uid}, {"name", order.name}});
  ask(Kind::look, "dependents", args,
      [this, order = std::move(order), done = std::move(done)](Result<Json> outcome) mutable {
        if (!outcome) return done(fail(std::move(outcome.error())));
        const auto array = static_cast<JobId>((*outcome)["array_job_id"].as_int());
        std::vector<Dependent> jobs;
        std::vector<JobId> silent;
        for (const Json& job : (*outcome)["jobs"].items()) {
          jobs.push_back({static_cast<JobId>(job["job_id"].as_int()), job["name"].as_string(),
                          job["state"].as_string(), job["why"].as_string()});
          if (jobs.back().why.empty()) silent.push_back(jobs.back().job_id);
        }
        // Only those of which something is known to depend.
        const auto answer = [](std::vector<Dependent> all, const Done<std::vector<Dependent>>& to) {
          std::erase_if(all, [](const Dependent& job) { return job.why.empty(); });
          to(std::move(all));
        };
        if (silent.empty()) return answer(std::move(jobs), done);
        // A dependency that has come true is gone from the job, and stands in the line that submitted it.
        // Without accounting it cannot be known.
        account(
            {std::move(silent), 0}, [order, array, jobs = std::move(jobs), answer, done = std::move(done)](
                                        Result<std::vector<AccountingJob>> known) mutable {
              if (known)
                for (const AccountingJob& entry : *known)
                  for (Dependent& job : jobs)
                    if (job.job_id == entry.job.job_id && job.why.empty())
                      job.why =
                          why_dependent(dependency_of_submit_line(entry.submit_line), job.name, order, array);
              answer(std::move(jobs), done);
            });
      });
}

void SlurmCluster::account(AccountingQuestion question, Then<std::vector<AccountingJob>> then) {
  const std::string delimiter = random_delimiter();
  run(Kind::look, "sacct", sacct_command(question, options_.sacct_path, options_.slurm_conf, delimiter),
      [delimiter, then = std::move(then)](Result<ProcessOutcome> outcome) {
        if (!outcome) return then(fail(std::move(outcome.error())));
        if (outcome->exit_code != 0 || outcome->truncated) return then(fail(sacct_error(*outcome)));
        then(parse_sacct(outcome->out, delimiter));
      });
}

void SlurmCluster::history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) {
  if (jobs.empty()) return loop_.post([done = std::move(done)] { done(std::vector<JobInfo>()); });
  account({std::move(jobs), 0}, [this, done = std::move(done)](Result<std::vector<AccountingJob>> known) {
    if (!known) return done(fail(std::move(known.error()).in("reading ended jobs")));
    std::vector<JobInfo> ended;
    for (AccountingJob& entry : *known) {
      // Seen on 22.05: for a moment slurmdbd has the state of an end without its time and its exit code.
      if (!is_over(entry.job) || entry.job.end == kNoTime) continue;
      // Tried on 22.05: slurmdbd says of a job that it has just heard of that it is root's.
      if (entry.job.uid == 0 && loop_.now() - entry.job.end < kRootForAWhile) continue;
      // sacct keeps no comment by default; the key that makes the job ours is in the submit line.
      if (const std::string key = key_in(entry.submit_line); entry.job.comment.empty() && !key.empty())
        entry.job.comment = comment_with_key("", key);
      ended.push_back(std::move(entry.job));
    }
    done(std::move(ended));
  });
}

/// Where sickbay-slurm is: beside the running program (a build folder), else in libexec beside its bin.
std::string child_beside_us() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string self = n > 0 ? std::string(buffer.data(), static_cast<std::size_t>(n)) : std::string();
  const std::string folder = self.substr(0, self.rfind('/'));
  std::string beside = folder + "/sickbay-slurm";
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  return folder + "/../libexec/sickbay/sickbay-slurm";
}

}  // namespace

Result<std::unique_ptr<ResourceManager>> make_slurm_manager(Loop& loop, ProcessRunner& runner,
                                                            SlurmOptions options) {
  if (options.child_path.empty()) options.child_path = child_beside_us();
  if (::access(options.child_path.c_str(), X_OK) != 0)
    return fail(Error(ErrorCode::missing_program, fmt::format("there is no program {}", options.child_path))
                    .remedied_by("sickbay-slurm belongs beside sickbayd; install Sickbay anew"));
  if (::access(options.slurm_conf.c_str(), R_OK) != 0)
    return fail(Error(ErrorCode::not_found, fmt::format("cannot read {}", options.slurm_conf))
                    .remedied_by("name the cluster's slurm.conf in sickbay.json, or in SLURM_CONF"));
  return std::unique_ptr<ResourceManager>(std::make_unique<SlurmCluster>(loop, runner, std::move(options)));
}

}  // namespace sickbay::slurm
