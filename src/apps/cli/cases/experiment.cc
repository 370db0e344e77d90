// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/experiment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "apps/cli/answer.h"
#include "apps/cli/cases/batch_script.h"
#include "apps/cli/cases/inputs.h"
#include "apps/cli/child.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

// What a job has that its re-run must ask for, too.  Where the script says the same the line does no harm.
struct OptionRow {
  std::string_view key, option;
  std::string_view nothing;  ///< a value that asks for nothing
};
constexpr auto kOptions = std::to_array<OptionRow>({
    {"NumNodes", "--nodes", ""},
    {"NumTasks", "--ntasks", "N/A"},
    {"CPUs/Task", "--cpus-per-task", "N/A"},
    {"TimeLimit", "--time", "Partition_Limit"},
    {"Partition", "--partition", ""},
    {"Account", "--account", ""},
    {"QOS", "--qos", "N/A"},
    {"MinMemoryNode", "--mem", "0"},
    {"MinMemoryCPU", "--mem-per-cpu", "0"},
    {"Features", "--constraint", ""},
    {"Reservation", "--reservation", ""},
});

// What `scontrol WORDS` says; nothing where it fails.
std::optional<std::string> scontrol(std::vector<std::string> words) {
  ChildSpec child;
  child.argv = {"scontrol"};
  child.argv.insert(child.argv.end(), words.begin(), words.end());
  std::string said;
  const auto code = run_child(child, [&](std::string_view line) { said += line; });
  if (!code || *code != 0) return std::nullopt;
  return said;
}

// "Command=/home/a/job.sh 3 x": where the script's path ends, which may hold blanks itself.
std::size_t end_of_path(const std::string& command) {
  for (std::size_t blank = command.find(' '); blank != std::string::npos;
       blank = command.find(' ', blank + 1))
    if (::access(command.substr(0, blank).c_str(), F_OK) == 0) return blank;
  if (::access(command.c_str(), F_OK) == 0) return command.size();
  return std::min(command.find(' '), command.size());
}

bool is_key_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '/' || c == ':' || c == '_';
}

}  // namespace

std::string shown_value(std::string_view shown, std::string_view key) {
  // With its blank: "JobId=" also ends "ArrayJobId=".
  const std::string mark = fmt::format(" {}=", key);
  const std::string text = fmt::format(" {}", shown);
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size();
  // A value may hold blanks ("Command=/home/a/my job.sh x"); the next word with '=' is the next key.
  std::size_t end = text.size();
  for (std::size_t blank = text.find(' ', begin); blank != std::string::npos;
       blank = text.find(' ', blank + 1)) {
    std::size_t i = blank + 1;
    while (i < text.size() && is_key_letter(text[i])) ++i;
    if (i > blank + 1 && i < text.size() && text[i] == '=') {
      end = blank;
      break;
    }
  }
  const std::string value(trimmed(std::string_view(text).substr(begin, end - begin)));
  return value == "(null)" ? std::string() : value;
}

Result<std::vector<std::string>> options_of_shown_job(std::string_view shown) {
  for (const std::string_view key : {"ArrayJobId", "HetJobId"})
    if (!shown_value(shown, key).empty())
      return fail(Error(ErrorCode::conflict, "no case can be opened for this job any more")
                      .because(key == "ArrayJobId" ? "it is a task of a job array"
                                                   : "it is a part of a heterogeneous job")
                      .remedied_by("submit it with 'sickbay submit'"));
  std::vector<std::string> options;
  for (const OptionRow& row : kOptions)
    if (const std::string value = shown_value(shown, row.key); !value.empty() && value != row.nothing)
      options.push_back(fmt::format("{}={}", row.option, value));
  return options;
}

Result<std::string> begin_experiment(ApiClient& api, JobId job) {
  const std::string id = std::to_string(job);
  const auto shown = scontrol({"-o", "show", "job", id});
  const auto script = shown ? scontrol({"write", "batch_script", id, "-"}) : std::nullopt;
  if (!script || script->empty())
    return fail(
        Error(ErrorCode::not_found, fmt::format("Slurm gives no script of job {}", job))
            .because(shown ? "it has none (srun and salloc), or it is another user's"
                           : "slurmctld has forgotten the job: it keeps one for MinJobAge after its end")
            .remedied_by("submit it with 'sickbay submit'"));
  if (auto fits = check_batch_script(*script, "the script of job " + id); !fits) return fail(fits.error());
  auto options = options_of_shown_job(*shown);
  if (!options) return fail(options.error());
  SbatchLine line;
  line.passed = *options;
  if (auto parsed = parse_sbatch_line(line.passed)) line = std::move(*parsed);
  BatchScript batch{shown_value(*shown, "JobName"), *script, false};
  const std::string command = shown_value(*shown, "Command");
  const std::size_t path = end_of_path(command);
  std::istringstream words(command.substr(path));
  for (std::string word; words >> word;) line.script_args.push_back(word);
  if (command.starts_with('/')) batch.name = command.substr(0, path).substr(command.rfind('/', path) + 1);
  auto submission = collect_submission(line, batch);
  if (!submission) return fail(submission.error());
  submission->work_dir = shown_value(*shown, "WorkDir");
  const Inputs inputs = find_inputs(line, *submission, {submission->work_dir});
  Json notes = Json::array();
  notes.push("the case was opened after the job had failed: its script is Slurm's copy");
  notes.push("its environment is that of who asked for the experiment, not that of its submission");
  notes.push("of the command line that submitted it only what Slurm shows of the job is known");
  // No inputs: what they held when the job ran is not known, and digests of now would hide that they
  // changed.
  const Json body = Json::object({{"inputs", Json::array()},
                                  {"script_digest", inputs.script_digest},
                                  {"names_folder", inputs.names_folder},
                                  {"submits_jobs", inputs.submits_jobs},
                                  {"notes", std::move(notes)},
                                  {"submission", submission->to_json()},
                                  {"options", Json::object()}});
  auto opened = api.post("/v1/cases", body, new_idempotency_key());
  if (!opened) return fail(opened.error());
  const std::string name = (*opened)["case"].as_string();
  auto bound = api.post("/v1/cases/" + name + "/job", Json::object({{"job_id", job}}), new_idempotency_key());
  if (!bound) {
    // Else the case would stay open without a job until it expires.
    (void)api.post("/v1/cases/" + name + "/cancel", Json::object(), new_idempotency_key());
    return fail(bound.error());
  }
  return name;
}

}  // namespace sickbay::cli
