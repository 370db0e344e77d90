// SPDX-License-Identifier: Apache-2.0
// Verbs of runs: submit, release, cancel.  A submission is safe to meet twice because its key stands in the
// job's comment: who may have submitted before looks for the key first (doc/design/decisions.md 17).
#include <fmt/format.h>

#include <array>

#include "model/ids.h"
#include "model/verbs.h"
#include "ports/process_runner.h"
#include "ports/resource_manager.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

constexpr int kCheckMinutes = 10;
constexpr std::chrono::minutes kCopyLimit{10};

// "c17.r2.a1:submit" -> "c17.r2.a1": what stands in the job's comment.
std::string run_key(const Command& command) { return command.key.substr(0, command.key.find(':')); }

Json submitted(JobId job_id, TimePoint submit, const std::vector<std::string>& dropped) {
  return Json::object({{"job_id", job_id}, {"submit", to_micros(submit)}, {"dropped", dropped}});
}

JobHandle handle_of(const Json& args) {
  return {static_cast<JobId>(args["job_id"].as_int()), static_cast<std::uint32_t>(args["uid"].as_int()),
          from_micros(args["submit"].as_int()), args["key"].as_string()};
}

ProgramOrder program_order(const Command& command, const Submission& saved) {
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
ProgramOrder check_order(const Command& command, const Submission& saved) {
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
  if (const std::string& folder = command.args["work_dir"].as_string(); !folder.empty()) s.work_dir = folder;
  return order;
}

// As the owner, who may read what he submitted and write where his output goes.
void copy_folder(VerbTools& tools, const std::string& from, const std::string& to, const Owner& owner,
                 std::function<void(Status)> done) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", "rm -rf -- \"$2\" && mkdir -p -- \"$2\" && cp -a -- \"$1/.\" \"$2\"",
               "sh",      from, to};
  spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  spec.as_user = ProcessSpec::Credentials{owner.user, owner.uid, owner.gid};
  spec.time_limit = kCopyLimit;
  tools.processes.run(std::move(spec), [from, done](Result<ProcessOutcome> r) {
    if (!r) return done(fail(r.error()));
    if (r->exit_code == 0) return done({});
    done(fail(ErrorCode::refused_by_slurm,
              fmt::format("cannot copy {}: {}", from,
                          r->timed_out ? "it took over 10 min" : r->err.substr(0, r->err.find('\n')))));
  });
}

// Looks for what an earlier try may have submitted: the lowest job is bound, held duplicates are cancelled
// (they were never released, so none of them has run), and only where there is none `otherwise` submits.
void bind_or(VerbTools& tools, const std::string& key, std::uint32_t uid, Answer answer,
             std::function<void()> otherwise) {
  tools.manager.find(
      key, uid,
      [&tools, key, uid, answer, otherwise = std::move(otherwise)](Result<std::vector<JobInfo>> jobs) {
        if (!jobs) return answer(fail(jobs.error()));
        if (jobs->empty()) return otherwise();
        for (std::size_t i = 1; i < jobs->size(); ++i) {
          const JobInfo& twin = (*jobs)[i];
          // Nobody waits for the answer: a twin that stays is held, and never runs.
          tools.manager.cancel({twin.job_id, uid, twin.submit, key}, [](Result<bool>) {});
        }
        const JobInfo& first = jobs->front();
        answer(submitted(first.job_id, first.submit, {}));
      });
}

void submit_program(VerbTools& tools, const Command& command, bool again, Answer answer) {
  auto saved = tools.cases.load(parse_case_name(command.subject).value_or(0));
  if (!saved) return answer(fail(saved.error()));
  const std::uint32_t uid = saved->owner.uid;
  auto submit = [&tools, command, saved = std::move(*saved), answer] {
    ProgramOrder order =
        command.args.has("check") ? check_order(command, saved) : program_order(command, saved);
    auto place = [&tools, answer](ProgramOrder ready) {
      tools.manager.submit_program(std::move(ready), [answer](Result<Submitted> s) {
        if (!s) return answer(fail(s.error()));
        answer(submitted(s->job_id, s->submit, s->dropped));
      });
    };
    if (command.args["workdir"].as_string() != "copy") return place(std::move(order));
    order.work_dir = fmt::format("{}/work-r{}", order.output_dir, order.run_number);
    copy_folder(tools, order.output_dir + "/pristine", order.work_dir, saved.owner,
                [order, answer, place](Status copied) {
                  if (!copied) return answer(fail(copied.error()));
                  place(order);
                });
  };
  if (!again) return submit();
  bind_or(tools, run_key(command), uid, answer, std::move(submit));
}

void submit_verification(VerbTools& tools, const Command& command, bool again, Answer answer) {
  auto submit = [&tools, command, answer] {
    VerificationOrder order;
    order.key = run_key(command);
    order.nodes = command.args["nodes"].as_strings();
    order.partition = command.args["partition"].as_string();
    order.exclusive = command.args["exclusive"].as_bool(true);
    order.script = tools.verification.script;
    order.environment = tools.verification.environment;
    order.output_dir = tools.config.verify.folder;
    order.time_limit = tools.config.verify.time_limit;
    order.qos = tools.config.verify.qos;
    order.account = tools.config.verify.account;
    tools.manager.submit_verification(std::move(order), [answer](Result<Submitted> s) {
      if (!s) return answer(fail(s.error()));
      answer(submitted(s->job_id, s->submit, s->dropped));
    });
  };
  if (!again) return submit();
  bind_or(tools, run_key(command), tools.verification.uid, answer, std::move(submit));
}

void release(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.release(handle_of(command.args), [answer](Result<bool> r) {
    if (!r) return answer(fail(r.error()));
    answer(Json::object());
  });
}

void cancel(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.cancel(handle_of(command.args), [answer](Result<bool> r) {
    // Not there any more is what was wanted.
    if (!r && r.error().code != ErrorCode::not_found) return answer(fail(r.error()));
    answer(Json::object({{"cancelled", r.value_or(false)}}));
  });
}

}  // namespace

std::span<const VerbRow> run_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({
      {verb::kSubmitProgram, submit_program},
      {verb::kSubmitVerification, submit_verification},
      {verb::kRelease, release},
      {verb::kCancel, cancel},
  });
  return kRows;
}

}  // namespace sickbay
