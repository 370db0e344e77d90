// SPDX-License-Identifier: Apache-2.0
// Verbs of runs: submit, release, cancel.  A submission is safe to meet twice because its key stands in the
// job's comment: who may have submitted before looks for the key first (doc/design/decisions.md 17).
#include <fmt/format.h>

#include <array>
#include <limits>

#include "model/ids.h"
#include "model/verbs.h"
#include "ports/resource_manager.h"
#include "service/case_store.h"
#include "service/config.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

constexpr int kCheckMinutes = 10;

// "c17.r2.a1:submit" -> "c17.r2.a1": what stands in the job's comment.
std::string run_key(const Command& command) { return command.key.substr(0, command.key.find(':')); }

Json submitted(JobId job_id, TimePoint submit, const std::vector<std::string>& dropped) {
  return Json::object({{"job_id", job_id}, {"submit", to_micros(submit)}, {"dropped", dropped}});
}

ProgramOrder program_order(const Command& command, const Submission& saved) {
  ProgramOrder order;
  order.key = run_key(command);
  order.submission = saved;
  order.run_number = static_cast<int>(parse_run_id(command.args["run"].as_string()).value_or(RunId{}).n);
  order.exclude = command.args["exclude"].as_strings();
  order.include = command.args["include"].as_strings();
  order.output_dir = command.args["output_dir"].as_string();
  if (command.args.has("array_task"))
    order.array_task = static_cast<TaskId>(command.args["array_task"].as_int());
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
  s.sbatch_options = {"--nodes=1", "--ntasks=1", "--no-requeue", fmt::format("--time={}", kCheckMinutes),
                      "--job-name=sickbay-check"};
  if (const std::string& partition = command.args["partition"].as_string(); !partition.empty())
    s.sbatch_options.push_back("--partition=" + partition);
  // The user's SBATCH_* were meant for P.
  std::erase_if(s.environment, [](const std::string& entry) { return entry.starts_with("SBATCH_"); });
  s.environment.push_back("SICKBAY_OUTPUT=" + command.args["output"].as_string());
  if (const std::string& folder = command.args["work_dir"].as_string(); !folder.empty()) s.work_dir = folder;
  return order;
}

// What versions before `folder` meant by a workdir of "copy": the first run's folder, kept by `sickbay
// submit` before that run, and copied for each re-run.
void copy_as_before(VerbTools& tools, const Command& command, const Submission& saved, std::string from,
                    Answer answer) {
  const std::string& output_dir = command.args["output_dir"].as_string();
  const auto run = parse_run_id(command.args["run"].as_string()).value_or(RunId{});
  constexpr auto kNoBound = std::numeric_limits<std::int64_t>::max();
  ask_folder(tools, saved,
             Json::object({{"do", "prepare"},
                           {"how", "copy"},
                           {"from", std::move(from)},
                           {"to", fmt::format("{}/work-r{}", output_dir, run.n)},
                           {"max_bytes", kNoBound},
                           {"max_files", kNoBound}}),
             std::move(answer));
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
  auto saved = saved_submission(tools, command);
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
    order.work_dir = command.args["folder"].as_string();
    if (command.args.has("folder") || command.args["workdir"].as_string() != "copy")
      return place(std::move(order));
    auto copied = [order, answer, place](Result<Json> made) mutable {
      if (!made) return answer(fail(made.error()));
      order.work_dir = (*made)["folder"].as_string();
      if (order.work_dir.empty())
        return answer(
            fail(ErrorCode::refused_by_slurm, "the folder cannot be copied: " + (*made)["why"].as_string()));
      place(order);
    };
    copy_as_before(tools, command, saved, order.output_dir + "/pristine",
                   [&tools, command, saved, copied](Result<Json> made) mutable {
                     // A client that does not keep it any more: then the folder as it is now.
                     if (!made && made.error().code == ErrorCode::not_found)
                       return copy_as_before(tools, command, saved, saved.work_dir, std::move(copied));
                     copied(std::move(made));
                   });
  };
  if (!again) return submit();
  bind_or(tools, run_key(command), uid, answer, std::move(submit));
}

void submit_verification(VerbTools& tools, const Command& command, bool again, Answer told) {
  // Whose job it is: engines do not know the service's account.
  const std::uint32_t uid = tools.verification.uid;
  const Answer answer = [uid, told = std::move(told)](Result<Json> done) {
    if (done && uid != 0) done->set("uid", uid);
    told(std::move(done));
  };
  auto submit = [&tools, command, answer] {
    VerificationOrder order;
    order.key = run_key(command);
    order.nodes = command.args["nodes"].as_strings();
    order.partition = command.args["partition"].as_string();
    order.reservation = command.args["reservation"].as_string();
    order.exclusive = command.args["exclusive"].as_bool(true);
    order.script = tools.verification.script;
    order.environment = tools.verification.environment;
    if (const std::string& folder = command.args["folder"].as_string(); !folder.empty())
      order.environment.push_back("SICKBAY_VERIFY_FOLDER=" + folder);
    if (const std::int64_t hold = command.args["hold_s"].as_int(); hold > 0)
      order.environment.push_back(fmt::format("SICKBAY_VERIFY_HOLD={}", hold));
    order.output_dir = tools.config.verify.folder;
    order.time_limit = tools.config.verify.time_limit;
    order.last = command.args["last"].as_bool();
    // The QOS is for V that somebody waits for.
    if (!order.last) order.qos = tools.config.verify.qos;
    order.account = tools.config.verify.account;
    tools.manager.submit_verification(std::move(order), [answer](Result<Submitted> s) {
      if (!s) return answer(fail(s.error()));
      answer(submitted(s->job_id, s->submit, s->dropped));
    });
  };
  if (!again) return submit();
  bind_or(tools, run_key(command), uid, answer, std::move(submit));
}

void release(VerbTools& tools, const Command& command, bool, Answer answer) {
  ReleaseOrder order{JobHandle::from_json(command.args), command.args["first"].as_bool()};
  tools.manager.release(std::move(order), [answer](Result<bool> r) {
    if (!r) return answer(fail(r.error()));
    answer(Json::object());
  });
}

void cancel(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.cancel(JobHandle::from_json(command.args), [answer](Result<bool> r) {
    // Not there any more is what was wanted.
    if (!r && r.error().code != ErrorCode::not_found) return answer(fail(r.error()));
    answer(Json::object({{"cancelled", r.value_or(false)}}));
  });
}

}  // namespace

Result<Submission> saved_submission(VerbTools& tools, const Command& command) {
  const std::string& elsewhere = command.args["submission_of"].as_string();
  return tools.cases.load(parse_case_name(elsewhere.empty() ? command.subject : elsewhere).value_or(0));
}

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
