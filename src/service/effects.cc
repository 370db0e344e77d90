// SPDX-License-Identifier: Apache-2.0
// The verbs: submit_program, submit_verification, release, cancel, read_output; drain, undrain, reboot,
// diagnose, notify.
#include "service/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>

#include "model/fingerprint.h"
#include "model/ids.h"
#include "model/verify_report.h"
#include "ports/process_runner.h"
#include "ports/resource_manager.h"
#include "service/case_store.h"
#include "service/config.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{30};
constexpr int kCheckMinutes = 10;
constexpr std::chrono::minutes kCopyLimit{10};
constexpr std::size_t kTailBytes = 64 * 1024;  // of a program's output: its last lines
constexpr std::size_t kReportBytes = 8 << 20;  // of a verification's: all of it

bool passes_by_itself(ErrorCode code) {
  return code == ErrorCode::slurm_away || code == ErrorCode::munge_away || code == ErrorCode::timed_out ||
         code == ErrorCode::busy;
}

// "c17.r2.a1:submit" -> "c17.r2.a1": what stands in the job's comment.
std::string run_key(const Command& command) { return command.key.substr(0, command.key.find(':')); }

std::int64_t case_number(const Command& command) { return parse_case_name(command.subject).value_or(0); }

Json submitted(JobId job_id, TimePoint submit, const std::vector<std::string>& dropped) {
  return Json::object({{"job_id", job_id}, {"submit", to_micros(submit)}, {"dropped", dropped}});
}

JobHandle handle_of(const Json& args) {
  return {static_cast<JobId>(args["job_id"].as_int()), static_cast<std::uint32_t>(args["uid"].as_int()),
          from_micros(args["submit"].as_int()), args["key"].as_string()};
}

Json trace_json(const Fingerprint& f) {
  return Json::object({{"rank", f.rank ? *f.rank : -1},
                       {"node", f.node.value_or("")},
                       {"signal", f.signal.value_or(0)},
                       {"signal_name", f.signal_name},
                       {"out_of_memory", f.out_of_memory},
                       {"message", f.message},
                       {"last_lines", f.last_lines}});
}

Json results_json(const VerifyReport& report) {
  Json list = Json::array();
  for (const auto& n : report.nodes)
    list.push(Json::object(
        {{"node", n.node}, {"peer", ""}, {"result", to_string(n.result)}, {"reason", n.reason}}));
  for (const auto& l : report.links)
    list.push(Json::object(
        {{"node", l.node}, {"peer", l.peer}, {"result", to_string(l.result)}, {"reason", l.reason}}));
  return list;
}

}  // namespace

// One command on its way, over all its tries.
struct Effects::Try {
  Command command;
  bool again = false;
  Done<Json> done;
  TimePoint began = kNoTime;
  std::chrono::seconds pause = kFirstPause;
};

class Effects::Verbs {
 public:
  Verbs(Loop& l, ResourceManager& m, ProcessRunner& p, CaseStore& cs, const Config& cfg)
      : loop(l), manager(m), processes(p), cases(cs), config(cfg) {}

  using Answer = Done<Json>;
  using Effect = void (Verbs::*)(const Command&, bool again, Answer);
  struct Row {
    std::string_view verb;
    Effect effect;
  };
  static const Row* row_of(std::string_view verb);

  void attempt(const std::shared_ptr<Try>& t) {
    const Row* row = row_of(t->command.verb);
    if (row == nullptr)
      return settle(
          t, fail(ErrorCode::too_new, fmt::format("this sickbayd knows no verb '{}'", t->command.verb)));
    (this->*row->effect)(t->command, t->again, [this, t](Result<Json> result) {
      if (result || !passes_by_itself(result.error().code) || loop.now() - t->began > config.retry_bound)
        return settle(t, std::move(result));
      t->again = true;  // nobody knows how far the last try came
      loop.at(loop.now() + t->pause, [this, t] { attempt(t); });
      t->pause = std::min(2 * t->pause, kLongestPause);
    });
  }

  void settle(const std::shared_ptr<Try>& t, Result<Json> result) {
    --under_way;
    t->done(std::move(result));
  }

  // --- the effects

  void submit_program(const Command& command, bool again, Answer answer) {
    auto saved = cases.load(case_number(command));
    if (!saved) return answer(fail(saved.error()));
    const std::uint32_t uid = saved->owner.uid;
    auto submit = [this, command, saved = std::move(*saved), answer] {
      ProgramOrder order =
          command.args.has("check") ? check_order(command, saved) : program_order(command, saved);
      auto place = [this, answer](ProgramOrder ready) {
        manager.submit_program(std::move(ready), [answer](Result<Submitted> s) {
          if (!s) return answer(fail(s.error()));
          answer(submitted(s->job_id, s->submit, s->dropped));
        });
      };
      if (command.args["workdir"].as_string() != "copy") return place(std::move(order));
      order.work_dir = fmt::format("{}/work-r{}", order.output_dir, order.run_number);
      copy_folder(order.output_dir + "/pristine", order.work_dir, saved.owner,
                  [order, answer, place](Status copied) {
                    if (!copied) return answer(fail(copied.error()));
                    place(order);
                  });
    };
    if (!again) return submit();
    bind_or(run_key(command), uid, answer, std::move(submit));
  }

  static ProgramOrder program_order(const Command& command, const Submission& saved) {
    ProgramOrder order;
    order.key = run_key(command);
    order.submission = saved;
    order.run_number = static_cast<int>(parse_run_id(command.args["run"].as_string()).value_or(RunId{}).n);
    order.exclude = command.args["exclude"].as_strings();
    order.output_dir = command.args["output_dir"].as_string();
    return order;
  }

  // `--check` as a job of one task: the user's command in the run's folder, with its output in
  // SICKBAY_OUTPUT.
  static ProgramOrder check_order(const Command& command, const Submission& saved) {
    ProgramOrder order = program_order(command, saved);
    Submission& s = order.submission;
    s.script = "#!/bin/sh\n" + command.args["check"].as_string() + "\n";
    s.script_name = "sickbay-check";
    s.script_args.clear();
    s.sbatch_options = {"--nodes=1", "--ntasks=1", fmt::format("--time={}", kCheckMinutes),
                        "--job-name=sickbay-check"};
    if (const std::string& partition = command.args["partition"].as_string(); !partition.empty())
      s.sbatch_options.push_back("--partition=" + partition);
    // The user's SBATCH_* were meant for P.
    std::erase_if(s.environment, [](const std::string& entry) { return entry.starts_with("SBATCH_"); });
    s.environment.push_back("SICKBAY_OUTPUT=" + command.args["output"].as_string());
    if (const std::string& folder = command.args["work_dir"].as_string(); !folder.empty())
      s.work_dir = folder;
    return order;
  }

  // As the owner, who may read what he submitted and write where his output goes.
  void copy_folder(const std::string& from, const std::string& to, const Owner& owner,
                   std::function<void(Status)> done) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", "rm -rf -- \"$2\" && mkdir -p -- \"$2\" && cp -a -- \"$1/.\" \"$2\"",
                 "sh",      from, to};
    spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    spec.as_user = ProcessSpec::Credentials{owner.user, owner.uid, owner.gid};
    spec.time_limit = kCopyLimit;
    processes.run(std::move(spec), [from, done](Result<ProcessOutcome> r) {
      if (!r) return done(fail(r.error()));
      if (r->exit_code == 0) return done({});
      done(fail(ErrorCode::refused_by_slurm,
                fmt::format("cannot copy {}: {}", from,
                            r->timed_out ? "it took over 10 min" : r->err.substr(0, r->err.find('\n')))));
    });
  }

  void submit_verification(const Command& command, bool again, Answer answer) {
    auto submit = [this, command, answer] {
      VerificationOrder order;
      order.key = run_key(command);
      order.nodes = command.args["nodes"].as_strings();
      order.partition = command.args["partition"].as_string();
      order.exclusive = command.args["exclusive"].as_bool(true);
      order.script = verification_script;
      order.environment = verification_environment;
      order.output_dir = config.verify.folder;
      order.time_limit = config.verify.time_limit;
      order.qos = config.verify.qos;
      order.account = config.verify.account;
      manager.submit_verification(std::move(order), [answer](Result<Submitted> s) {
        if (!s) return answer(fail(s.error()));
        answer(submitted(s->job_id, s->submit, s->dropped));
      });
    };
    if (!again) return submit();
    bind_or(run_key(command), service_uid, answer, std::move(submit));
  }

  // Looks for what an earlier try may have submitted: the lowest job is bound, held duplicates are cancelled
  // (they were never released, so none of them has run), and only where there is none `otherwise` submits.
  void bind_or(const std::string& key, std::uint32_t uid, Answer answer, std::function<void()> otherwise) {
    manager.find(
        key, uid,
        [this, key, uid, answer, otherwise = std::move(otherwise)](Result<std::vector<JobInfo>> jobs) {
          if (!jobs) return answer(fail(jobs.error()));
          if (jobs->empty()) return otherwise();
          for (std::size_t i = 1; i < jobs->size(); ++i) {
            const JobInfo& twin = (*jobs)[i];
            manager.cancel({twin.job_id, uid, twin.submit, key}, [](Result<bool>) {});
          }
          const JobInfo& first = jobs->front();
          answer(submitted(first.job_id, first.submit, {}));
        });
  }

  void release(const Command& command, bool, Answer answer) {
    manager.release(handle_of(command.args), [answer](Result<bool> r) {
      if (!r) return answer(fail(r.error()));
      answer(Json::object());
    });
  }

  void cancel(const Command& command, bool, Answer answer) {
    manager.cancel(handle_of(command.args), [answer](Result<bool> r) {
      // Not there any more is what was wanted.
      if (!r && r.error().code != ErrorCode::not_found) return answer(fail(r.error()));
      answer(Json::object({{"cancelled", r.value_or(false)}}));
    });
  }

  // --- nodes

  void drain(const Command& command, bool, Answer answer) {
    manager.drain(command.args["node"].as_string(), command.args["reason"].as_string(),
                  [answer](Result<bool> changed) {
                    if (!changed) return answer(fail(changed.error()));
                    answer(Json::object({{"changed", *changed}}));
                  });
  }

  void undrain(const Command& command, bool, Answer answer) {
    manager.undrain(command.args["node"].as_string(), command.args["prefix"].as_string(),
                    [answer](Result<bool> changed) {
                      if (!changed) return answer(fail(changed.error()));
                      answer(Json::object({{"changed", *changed}}));
                    });
  }

  // The boot time of the intent makes it safe to meet twice.
  void reboot(const Command& command, bool, Answer answer) {
    RebootOrder order;
    order.node = command.args["node"].as_string();
    order.boot = from_micros(command.args["boot"].as_int());
    order.reason = command.args["reason"].as_string();
    order.own_reason_prefix = command.args["prefix"].as_string();
    manager.reboot(std::move(order), [answer](Result<bool> asked) {
      if (!asked) return answer(fail(asked.error()));
      answer(Json::object({{"asked", *asked}}));
    });
  }

  void diagnose(const Command& command, bool, Answer answer) {
    if (!examine)
      return loop.post([answer] { answer(fail(ErrorCode::conflict, "agents are not listened to here")); });
    examine(command.args["node"].as_string(), command.args["mode"].as_string(), std::move(answer));
  }

  // The site's own command hears of a finding on its standard input, as a user without rights.
  void notify(const Command& command, bool, Answer answer) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", config.notify.command};
    spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
    spec.input = command.args["finding"].dump() + "\n";
    spec.as_user = ProcessSpec::Credentials{config.notify.user, notify_uid, notify_gid};
    processes.run(std::move(spec), [answer](Result<ProcessOutcome> r) {
      if (!r) return answer(fail(r.error()));
      if (r->exit_code != 0)
        return answer(
            fail(Error(ErrorCode::os, "the command of notify.command failed")
                     .because(r->timed_out ? "it took over 30 s" : r->err.substr(0, r->err.find('\n')))));
      answer(Json::object());
    });
  }

  // P's output is read as its owner: he chose the path. V's is ours.
  void read_output(const Command& command, bool, Answer answer) {
    const auto id = parse_run_id(command.args["run"].as_string());
    if (!id) return answer(fail(ErrorCode::internal, "read_output of no run: " + command.key));
    ProcessSpec::Credentials as{config.verify.user, service_uid, service_gid};
    const bool program = id->kind == RunKind::program;
    if (program) {
      auto saved = cases.load(case_number(command));
      if (!saved) return answer(fail(saved.error()));
      as = {saved->owner.user, saved->owner.uid, saved->owner.gid};
    }
    const std::size_t bytes = program ? kTailBytes : kReportBytes;
    const std::string out = command.args["out"].as_string(), err = command.args["err"].as_string();
    tail(out, bytes, as, [this, command, as, bytes, program, out, err, answer](Result<std::string> out_text) {
      if (!out_text) return answer(fail(out_text.error()));
      auto finish = [command, program, answer, text = *out_text](Result<std::string> err_text) {
        const std::string errors = err_text ? *err_text : std::string();
        if (program) return answer(Json::object({{"trace", trace_json(read_fingerprint(text, errors))}}));
        const VerifyReport report = parse_verify_report(text, errors, command.args["nodes"].as_strings(),
                                                        static_cast<int>(command.args["exit_code"].as_int()));
        answer(Json::object({{"results", results_json(report)}, {"why", report.summary}}));
      };
      if (err.empty() || err == out) return finish(std::string());
      tail(err, bytes, as, finish);
    });
  }

  void tail(const std::string& path, std::size_t bytes, const ProcessSpec::Credentials& as,
            Done<std::string> done) {
    if (path.empty())
      return loop.post(
          [done] { done(fail(ErrorCode::not_found, "Slurm does not say where the output is")); });
    ProcessSpec spec;
    spec.argv = {"/usr/bin/tail", "-c", std::to_string(bytes), "--", path};
    spec.environment = {"LC_ALL=C"};
    spec.as_user = as;
    spec.output_limit = bytes + 1;
    processes.run(std::move(spec), [path, done](Result<ProcessOutcome> r) {
      if (!r) return done(fail(r.error()));
      if (r->exit_code != 0)
        return done(fail(ErrorCode::not_found,
                         fmt::format("cannot read {}: {}", path, r->err.substr(0, r->err.find('\n')))));
      done(std::move(r->out));
    });
  }

  Loop& loop;
  ResourceManager& manager;
  ProcessRunner& processes;
  CaseStore& cases;
  const Config& config;
  std::string verification_script;
  std::vector<std::string> verification_environment;
  std::uint32_t service_uid = 0, service_gid = 0;
  std::uint32_t notify_uid = 0, notify_gid = 0;
  Examine examine;
  std::size_t under_way = 0;
};

const Effects::Verbs::Row* Effects::Verbs::row_of(std::string_view verb) {
  // A new operation is a row here, a function above, and a line in doc/formats/journal.md.
  static constexpr auto kVerbs = std::to_array<Row>({
      {"submit_program", &Verbs::submit_program},
      {"submit_verification", &Verbs::submit_verification},
      {"release", &Verbs::release},
      {"cancel", &Verbs::cancel},
      {"read_output", &Verbs::read_output},
      {"drain", &Verbs::drain},
      {"undrain", &Verbs::undrain},
      {"reboot", &Verbs::reboot},
      {"diagnose", &Verbs::diagnose},
      {"notify", &Verbs::notify},
  });
  for (const Row& row : kVerbs)
    if (row.verb == verb) return &row;
  return nullptr;
}

Effects::Effects(Loop& loop, ResourceManager& manager, ProcessRunner& processes, CaseStore& cases,
                 const Config& config, Verification v)
    : verbs_(std::make_unique<Verbs>(loop, manager, processes, cases, config)) {
  verbs_->verification_script = std::move(v.script);
  verbs_->verification_environment = std::move(v.environment);
  verbs_->service_uid = v.uid;
  verbs_->service_gid = v.gid;
  verbs_->notify_uid = v.notify_uid;
  verbs_->notify_gid = v.notify_gid;
}
Effects::~Effects() = default;

void Effects::set_examine(Examine examine) { verbs_->examine = std::move(examine); }

void Effects::start(const Command& command, bool again, Done<Json> done) {
  auto t = std::make_shared<Try>();
  t->command = command;
  t->again = again;
  t->done = std::move(done);
  t->began = verbs_->loop.now();
  ++verbs_->under_way;
  verbs_->attempt(t);
}

std::size_t Effects::under_way() const { return verbs_->under_way; }

}  // namespace sickbay
