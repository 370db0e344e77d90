// SPDX-License-Identifier: Apache-2.0
// The verbs that go before and after a re-run: who else uses the user's files, are they what they were, a
// copy of his folder, and its end.
//
// A look may be repeated.  What is done with a user's files is done by sickbay-folder, as that user, and is
// safe to meet twice: a copy gets its name when it is whole and is taken where it is there, and what is
// removed already is removed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "model/ids.h"
#include "model/verbs.h"
#include "ports/process_runner.h"
#include "ports/resource_manager.h"
#include "service/case_store.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

// Over what the program allows itself (apps/folder/folder_order.h): it ends with an answer.
constexpr std::chrono::minutes kFolderLimit{12};

void find_dependents(VerbTools& tools, const Command& command, bool, Answer answer) {
  const Json& args = command.args;
  tools.manager.dependents(
      {static_cast<JobId>(args["job_id"].as_int()), static_cast<std::uint32_t>(args["uid"].as_int()),
       args["name"].as_string()},
      [answer](Result<std::vector<Dependent>> found) {
        if (!found) return answer(fail(found.error()));
        Json jobs = Json::array();
        for (const Dependent& job : *found)
          jobs.push(Json::object(
              {{"job_id", job.job_id}, {"name", job.name}, {"state", job.state}, {"why", job.why}}));
        answer(Json::object({{"jobs", std::move(jobs)}}));
      });
}

// The copies of a case are named so, and nothing else is removed.
std::string copy_name(const std::string& output_dir, const RunId& run, std::int64_t attempt) {
  return fmt::format("{}/work-r{}{}", output_dir, run.n, attempt > 1 ? fmt::format(".a{}", attempt) : "");
}
bool is_copy(const std::string& path, const std::string& case_name) {
  const std::string home = "/sickbay-" + case_name + "/";
  const auto at = path.rfind(home);
  if (!path.starts_with('/') || at == std::string::npos) return false;
  const std::string_view name = std::string_view(path).substr(at + home.size());
  return path.find("/../") == std::string::npos && name.find('/') == std::string_view::npos &&
         (name.starts_with("work-r") || name == "pristine");
}

// What tells a copy of this case from that of another life with the same number (a second cluster with the
// same /home, a lost journal).  An intent of an older version says none, and its copies have none.
void add_mark(Json& order, const Command& command, const std::string& run) {
  if (!command.args.has("opened")) return;
  Json mark = Json::object({{"case", command.subject}, {"opened", command.args["opened"]}});
  if (!run.empty()) mark.set("run", run);
  order.set("mark", std::move(mark));
}

void prepare_rerun(VerbTools& tools, const Command& command, bool, Answer answer) {
  const Json& args = command.args;
  const auto run = parse_run_id(args["run"].as_string());
  auto saved = saved_submission(tools, command);
  if (!saved) return answer(fail(saved.error()));
  if (!run) return answer(fail(ErrorCode::internal, "prepare_rerun of no run: " + command.key));
  std::string to = copy_name(args["output_dir"].as_string(), *run, args["attempt"].as_int(1));
  if (const std::string& reuse = args["reuse"].as_string(); is_copy(reuse, command.subject)) to = reuse;
  Json order = Json::object({{"do", "prepare"},
                             {"how", args["how"]},
                             {"from", args["work_dir"]},
                             {"to", to},
                             {"inputs", args["inputs"]},
                             {"ran", args["ran"]},
                             {"max_bytes", args["max_bytes"]},
                             {"max_files", args["max_files"]}});
  add_mark(order, command, run->text());
  ask_folder(tools, *saved, std::move(order), std::move(answer));
}

void clean_folder(VerbTools& tools, const Command& command, bool, Answer answer) {
  const std::vector<std::string> folders = command.args["folders"].as_strings();
  for (const std::string& folder : folders)
    if (!is_copy(folder, command.subject))
      return answer(fail(Error(ErrorCode::bad_input, folder + " is no copy of " + command.subject)));
  auto saved = saved_submission(tools, command);
  if (!saved) return answer(fail(saved.error()));
  Json order = Json::object({{"do", "clean"}, {"folders", folders}});
  add_mark(order, command, "");
  ask_folder(tools, *saved, std::move(order), std::move(answer));
}

}  // namespace

void ask_folder(VerbTools& tools, const Submission& saved, Json order, Answer answer) {
  ProcessSpec spec;
  spec.argv = {tools.folder_program};
  spec.environment = {"LC_ALL=C"};
  spec.input = order.dump();
  spec.as_user = ProcessSpec::Credentials{saved.owner.user, saved.owner.uid, saved.owner.gid};
  spec.umask = saved.umask;
  spec.time_limit = kFolderLimit;
  tools.processes.run(std::move(spec), [answer](Result<ProcessOutcome> ran) {
    if (!ran) return answer(fail(ran.error()));
    // Not tried again: a file system that hangs would be asked for a day.
    if (ran->timed_out)
      return answer(fail(Error(ErrorCode::storage_broken,
                               fmt::format("the folder could not be read in {} min", kFolderLimit.count()))
                             .because("its file system hangs or is very slow")));
    auto said = Json::parse(ran->out);
    if (ran->exit_code != 0 || !said)
      return answer(fail(Error(ErrorCode::internal, "sickbay-folder failed")
                             .because(ran->err.substr(0, ran->err.find('\n')))));
    const Json& error = (*said)["error"];
    if (error.is_object())
      return answer(fail(Error(error_code_from(error["code"].as_string()), error["what"].as_string())
                             .because(error["cause"].as_string())));
    answer(std::move(*said));
  });
}

std::span<const VerbRow> folder_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({
      {verb::kFindDependents, find_dependents},
      {verb::kPrepareRerun, prepare_rerun},
      {verb::kCleanFolder, clean_folder},
  });
  return kRows;
}

}  // namespace sickbay
