// SPDX-License-Identifier: Apache-2.0
// sickbay history, sickbay checkpoints: what was done to a job, and from where it can go on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/undo/history_text.h"

namespace sickbay::cli {
namespace {

struct HistoryOptions {
  std::string job;
  bool acts = false, json = false;
};

Result<int> show_answer(const std::string& path, bool json,
                        std::string (*text)(const Json&, const TextPage&)) {
  auto api = connect_to_sickbayd();
  auto answer = api ? api->get(path) : Result<Json>(fail(api.error()));
  if (!answer) return fail(answer.error());
  if (json)
    print_json(*answer);
  else
    print(text(*answer, page_of_stdout()));
  return 0;
}

Result<std::string> path_of(const std::string& word) {
  const auto job = named_job(word);
  if (!job) return fail(job.error());
  return fmt::format("/v1/history?job={}", *job);
}

Result<int> run_history(const HistoryOptions& o) {
  if (o.acts) return show_answer("/v1/acts", o.json, acts_text);
  const auto path = path_of(o.job);
  if (!path) return fail(path.error());
  return show_answer(*path, o.json, history_text);
}

Result<int> run_checkpoints(const HistoryOptions& o) {
  const auto path = path_of(o.job);
  if (!path) return fail(path.error());
  return show_answer(*path, o.json, checkpoints_text);
}

}  // namespace

void add_history_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("history", "what was done to a job, as a tree, and what its failures cost");
  auto o = std::make_shared<HistoryOptions>();
  CLI::Option* job = c->add_option("JOB", o->job, "a job of sickbay submit");
  c->add_flag("--acts", o->acts, "what Sickbay did to the cluster instead, and how it is undone (operators)")
      ->excludes(job);
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For the job's owner and operators. A job that went back and on differently has a branch for each "
      "way;\n"
      "jobs that were submitted from there hang under it. For each failure: what is computed again, from "
      "the\n"
      "checkpoint that the job goes on from, and what it would be without checkpoints.\n");
  c->callback([o, &ending] { ending = {run_history(*o), o->json}; });
}

void add_checkpoints_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("checkpoints", "the checkpoints of a job, as its own program told of them");
  auto o = std::make_shared<HistoryOptions>();
  c->add_option("JOB", o->job, "a job of sickbay submit")->required();
  c->add_flag("--json", o->json, "print the job's history as JSON");
  c->footer("For the job's owner and operators; newest first.\n");
  c->callback([o, &ending] { ending = {run_checkpoints(*o), o->json}; });
}

}  // namespace sickbay::cli
