// SPDX-License-Identifier: Apache-2.0
// sickbay detect: how a running job's lost nodes are found.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "base/text.h"
#include "model/ids.h"

namespace sickbay::cli {
namespace {

struct DetectOptions {
  std::string how, job;
  bool json = false;
};

Result<JobId> job_from(const std::string& text) {
  JobId job = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), job);
  if (failed != std::errc() || end != text.data() + text.size() || job == 0)
    return fail(Error(ErrorCode::usage, quote_for_message(text) + " is no number of a job")
                    .remedied_by("say which: sickbay detect fast 17; of an array its task's own number"));
  return job;
}

Result<int> run_detect(const DetectOptions& o) {
  std::string name = o.job;
  const char* own = std::getenv("SLURM_JOB_ID");
  if (name.empty() && own != nullptr) name = own;
  if (name.empty())
    return fail(Error(ErrorCode::usage, "of which job? SLURM_JOB_ID is not set")
                    .remedied_by("call it in the job's script, or name the job: sickbay detect fast 17"));
  const auto job = job_from(name);
  if (!job) return fail(job.error());
  auto api = connect_to_sickbayd();
  auto done = api ? api->post(fmt::format("/v1/jobs/{}/detect", *job), Json::object({{"detect", o.how}}),
                              new_idempotency_key())
                  : Result<Json>(fail(api.error()));
  if (!done) return fail(done.error());
  if (o.json)
    print_json(*done);
  else if (o.how == "fast")
    print(fmt::format("The nodes of job {} watch each other: one that is lost is set DOWN within seconds.\n",
                      *job));
  else
    print(fmt::format("Lost nodes of job {} are found by Slurm alone.\n", *job));
  return 0;
}

}  // namespace

void add_detect_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("detect", "find a job's lost nodes in seconds, not in Slurm's SlurmdTimeout");
  auto o = std::make_shared<DetectOptions>();
  c->add_option("HOW", o->how, "fast: the job's nodes watch each other; slurm: Slurm alone finds lost ones")
      ->required()
      ->check(CLI::IsMember({"fast", "slurm"}));
  c->add_option("JOB", o->job, "its number; default: SLURM_JOB_ID, in a job's script");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For the job's owner and operators, and until the job ends; a job that says nothing has what the site\n"
      "has set (detect.default). A node that at least two others and sickbayd do not reach is set DOWN;\n"
      "one that is slow, or paused for 2 s, is let be. It needs the agent on the job's nodes.\n");
  c->callback([o, &ending] { ending = {run_detect(*o), o->json}; });
}

}  // namespace sickbay::cli
