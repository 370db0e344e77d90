// SPDX-License-Identifier: Apache-2.0
// sickbay checkpoint: asks a job that runs for a checkpoint; and, for sickbay-ckpt in the job, tells sickbayd
// of one that was taken.
//
// A job is asked by a file beside its checkpoints (ckpt/ask.h), which its own user writes: sickbay-ckpt in
// the job looks there.  So this works where sickbayd is away, and no daemon writes into users' folders.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <thread>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "base/duration.h"
#include "checkpoint/files.h"
#include "ckpt/ask.h"
#include "ckpt/series.h"
#include "model/ids.h"

namespace sickbay::cli {
namespace {

using namespace std::chrono_literals;

struct CheckpointOptions {
  std::string job, store, name, tell, wait;
  bool json = false;
};

// What sickbay-ckpt says is passed on as it is: sickbayd looks at every member of it.  The same news are the
// same request, however often they are told.
Result<int> pass_on(JobId job, const std::string& text) {
  auto body = Json::parse(text);
  if (!body) return fail(Error(ErrorCode::usage, "--tell is no JSON").because(body.error().what));
  if ((*body)["job"].as_int() != static_cast<std::int64_t>(job))
    return fail(ErrorCode::usage, fmt::format("--tell is not of job {}", job));
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  const auto told = api->post("/v1/checkpoints", *body,
                              fmt::format("checkpoint-{}-{}-{}-{}", job, (*body)["restart"].as_int(),
                                          (*body)["checkpoint"].as_int(), (*body)["event"].as_string()));
  if (!told) return fail(told.error());
  return 0;
}

struct Place {
  std::string root;  ///< as sickbay-ckpt --store
  JobId series = 0;  ///< whose folder there: of a replay that of the first job
  /// It has not begun, or sickbayd, which looks every few seconds, has not seen that yet.
  bool waits = false;
};

// Where the job keeps its checkpoints: as it told itself, else where sickbay-ckpt keeps them by itself.
Result<Place> place_of(JobId job, const CheckpointOptions& o) {
  if (!o.store.empty())
    return Place{.root = std::filesystem::absolute(o.store).lexically_normal().string(), .series = job};
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  const auto history = api->get(fmt::format("/v1/history?job={}", job));
  if (!history) return fail(history.error());
  std::string told, work_dir, state;
  for (const Json& part : (*history)["parts"].items()) {
    if (part["job"].as_int() != static_cast<std::int64_t>(job)) continue;
    work_dir = part["work_dir"].as_string();
    state = part["state"].as_string();
    for (const Json& op : part["operations"].items())
      if (op["checkpoint"].is_object() && !op["checkpoint"]["folder"].as_string().empty())
        told = op["checkpoint"]["folder"].as_string();
  }
  if (state != "running" && state != "waiting")
    return fail(Error(ErrorCode::conflict, fmt::format("job {} does not run", job))
                    .because(fmt::format("its history says: {}", state.empty() ? "nothing" : state))
                    .remedied_by("a checkpoint is taken by the job's own program: ask while it runs"));
  const bool waits = state == "waiting";
  if (told.empty()) return Place{work_dir + "/sickbay-checkpoints", job, waits};
  const std::filesystem::path folder = told;
  // FOLDER/17 or FOLDER/17.NAME
  const auto series =
      parse_job_id(folder.filename().string().substr(0, folder.filename().string().find('.')));
  return Place{folder.parent_path(), series ? *series : job, waits};
}

Result<std::int64_t> newest(const ckpt::Series& series) {
  const auto listed = ckpt::list_all(series);
  if (!listed) return fail(listed.error());
  return ckpt::newest_of(*listed);
}

Result<int> ask(JobId job, const CheckpointOptions& o) {
  std::optional<Micros> patience;
  if (!o.wait.empty()) {
    const auto given = parse_duration(o.wait);
    if (!given) return fail(given.error());
    patience = *given;
  }
  const auto place = place_of(job, o);
  if (!place) return fail(place.error());
  const auto files = checkpoint::make_posix_files();
  const auto there = std::filesystem::exists(place->root);
  if (!there)
    return fail(
        Error(ErrorCode::not_found, fmt::format("job {} keeps no checkpoints in {}", job, place->root))
            .because("sickbay-ckpt makes that folder when the program begins")
            .remedied_by("run the program under 'sickbay-ckpt run', or with the C library; "
                         "--store names another folder"));
  auto series = ckpt::Series::open(*files, place->root, place->series, o.name);
  if (!series) return fail(series.error());
  const auto before = newest(*series);
  if (!before) return fail(before.error());
  const std::string token = new_idempotency_key();
  if (auto asked = ckpt::ask_for_checkpoint(*series, token); !asked) return fail(asked.error());
  if (!patience) {
    if (o.json)
      print_json(
          Json::object({{"job", job}, {"asked", true}, {"newest", *before == 0 ? Json() : Json(*before)}}));
    else
      print(fmt::format("Job {} was asked for a checkpoint{}.\n", job,
                        place->waits ? ", which it takes when it runs" : ""));
    return 0;
  }
  const auto until = std::chrono::steady_clock::now() + *patience;
  // Asked and done: the job notes the token when that checkpoint exists, so that an earlier one that was
  // under way is not taken for it.
  while (ckpt::read_state(*series).asked_done != token) {
    if (std::chrono::steady_clock::now() >= until)
      return fail(Error(ErrorCode::timed_out, fmt::format("job {} has taken no checkpoint in {}", job,
                                                          describe_duration(*patience)))
                      .because("its program has not come to a place where it can, or does not listen")
                      .remedied_by(fmt::format(
                          "see its output; it stays asked: 'sickbay checkpoints {}' shows it", job)));
    std::this_thread::sleep_for(200ms);
  }
  if (const std::string wrong = ckpt::read_state(*series).asked_error; !wrong.empty())
    return fail(Error(ErrorCode::conflict, fmt::format("job {} could not take the checkpoint", job))
                    .because(wrong)
                    .remedied_by("the one before is as it was; see the job's output"));
  const auto taken = newest(*series);
  if (!taken) return fail(taken.error());
  if (o.json)
    print_json(Json::object({{"job", job}, {"checkpoint", *taken}}));
  else
    print(fmt::format("{}\n", *taken));
  return 0;
}

Result<int> run_checkpoint(const CheckpointOptions& o) {
  const auto job = named_job(o.job);
  if (!job) return fail(job.error());
  return o.tell.empty() ? ask(*job, o) : pass_on(*job, o.tell);
}

}  // namespace

void add_checkpoint_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("checkpoint", "ask a job that runs for a checkpoint");
  auto o = std::make_shared<CheckpointOptions>();
  c->add_option("JOB", o->job, "a job whose program runs under sickbay-ckpt or with its library")->required();
  c->add_option("--wait", o->wait, "until it is taken, and print its number; at most so long")
      ->type_name("TIME");
  c->add_option("--store", o->store, "where the job keeps its checkpoints (else as it told sickbayd)")
      ->type_name("DIR");
  c->add_option("--name", o->name, "of one of several programs of the job")->type_name("NAME");
  c->add_option("--tell", o->tell,
                "tell sickbayd of one instead, as POST /v1/checkpoints takes it (sickbay-ckpt "
                "does)")
      ->type_name("JSON");
  c->add_flag("--json", o->json, "answer in JSON");
  c->footer(
      "For the job's owner. The program is asked when it looks next, and takes it at a place of its own.\n");
  c->callback([o, &ending] { ending = {run_checkpoint(*o), o->json}; });
}

}  // namespace sickbay::cli
