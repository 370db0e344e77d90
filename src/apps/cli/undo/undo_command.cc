// SPDX-License-Identifier: Apache-2.0
// sickbay undo, redo, restore: back in a job's history, and on from there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/undo/redo.h"
#include "apps/cli/undo/rewind.h"

namespace sickbay::cli {
namespace {

struct UndoOptions {
  std::string job, act, to, drop, edit, insert;
  bool plan = false, json = false;
};

struct RedoOptions {
  std::string job;
  RedoWish wish;
  bool plan = false;
};

struct RestoreOptions {
  std::string job, from, nodes;
  bool plan = false, json = false;
};

Result<int> run_undo_act(const std::string& act, bool json) {
  auto api = connect_to_sickbayd();
  auto done = api ? api->post("/v1/acts/undo", Json::object({{"act", act}}), new_idempotency_key())
                  : Result<Json>(fail(api.error()));
  if (!done) return fail(done.error());
  if (json)
    print_json(*done);
  else
    print(fmt::format("{} is being undone.\n", safe(Json(act))));
  return 0;
}

Result<int> back(const std::string& word, const std::string& what, const std::string& op, bool plan,
                 bool json) {
  const auto job = named_job(word);
  if (!job) return fail(job.error());
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto rewind = look_back(*api, *job, what, op);
  if (!rewind) return fail(rewind.error());
  if (!plan)
    if (auto done = go_back(*api, *rewind); !done) return fail(done.error());
  if (json)
    print_json(rewind->to_json(!plan));
  else
    print(rewind_text(*rewind, !plan));
  return 0;
}

Result<int> run_undo(const UndoOptions& o) {
  struct Way {
    const char* what;
    const std::string& op;
  };
  const auto ways =
      std::to_array<Way>({{"rewind", o.to}, {"drop", o.drop}, {"edit", o.edit}, {"insert", o.insert}});
  const Way* chosen = nullptr;
  int given = o.act.empty() ? 0 : 1;
  for (const Way& way : ways)
    if (!way.op.empty()) {
      chosen = &way;
      ++given;
    }
  if (given != 1 || o.job.empty() == (chosen != nullptr))
    return fail(
        Error(ErrorCode::usage, given == 0  ? "it is not said what is to be undone"
                                : given > 1 ? "one thing is undone at a time"
                                : chosen    ? "the job is not named"
                                            : "an act is of no job")
            .remedied_by("sickbay undo JOB --to CHECKPOINT, --drop N, --edit N or --insert N; or --act ACT"));
  if (chosen == nullptr) {
    if (o.plan)
      return fail(Error(ErrorCode::usage, "--plan is for going back in a job")
                      .remedied_by("'sickbay history --acts' says how each act is undone"));
    return run_undo_act(o.act, o.json);
  }
  return back(o.job, chosen->what, chosen->op, o.plan, o.json);
}

Result<int> on(JobId job, const RedoWish& wish, bool plan) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto redo = look_on(*api, job, wish);
  if (!redo) return fail(redo.error());
  if (plan) {
    if (wish.json)
      print_json(redo->to_json(false));
    else
      print(redo_text(*redo));
    return 0;
  }
  if (!wish.json) {
    print(redo_text(*redo));
    std::fflush(stdout);
  }
  return go_on(*api, *redo);
}

Result<int> run_redo(const RedoOptions& o) {
  const auto job = named_job(o.job);
  if (!job) return fail(job.error());
  return on(*job, o.wish, o.plan);
}

// The last checkpoint that is not crossed out, as told.
Result<std::string> last_checkpoint(JobId job) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto history = fetch_history(*api, job);
  if (!history) return fail(history.error());
  std::string found;
  std::int64_t latest = 0;
  for (const Json& part : history->view["parts"].items())
    for (const Json& op : part["operations"].items())
      if (op["what"].as_string() == "checkpoint" && !op["dropped"].as_bool() && op["at"].as_int() >= latest) {
        latest = op["at"].as_int();
        found = op["op"].as_string();
      }
  if (found.empty())
    return fail(Error(ErrorCode::not_found, fmt::format("no checkpoint of job {} was told of", job))
                    .remedied_by(fmt::format("begin anew: sickbay undo {} --to start, then sickbay redo {}",
                                             job, job)));
  return found;
}

Result<int> run_restore(const RestoreOptions& o) {
  const auto job = named_job(o.job);
  if (!job) return fail(job.error());
  std::string from = o.from;
  if (from.empty()) {
    auto last = last_checkpoint(*job);
    if (!last) return fail(last.error());
    from = std::move(*last);
  }
  // (With --json there is one answer: that of the submission.)
  if (o.plan) return back(o.job, "rewind", from, true, o.json);
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto rewind = look_back(*api, *job, "rewind", from);
  if (!rewind) return fail(rewind.error());
  if (auto done = go_back(*api, *rewind); !done) return fail(done.error());
  RedoWish wish;
  wish.nodes = o.nodes;
  wish.json = o.json;
  return on(*job, wish, false);
}

}  // namespace

void add_undo_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("undo", "go back in a job's history, or undo what Sickbay did to the cluster");
  auto o = std::make_shared<UndoOptions>();
  c->add_option("JOB", o->job, "a job of sickbay submit --record");
  c->add_option("--to", o->to, "back to this checkpoint, operation (17.4), or 'start'")
      ->type_name("CHECKPOINT");
  c->add_option("--drop", o->drop, "as if this operation had not been")->type_name("N");
  c->add_option("--edit", o->edit, "back to before this operation, to do it otherwise")->type_name("N");
  c->add_option("--insert", o->insert,
                "back to before this operation; the repairs from there on follow again")
      ->type_name("N");
  c->add_option("--act", o->act, "this act of Sickbay's, as 'sickbay history --acts' names it")
      ->type_name("ACT");
  c->add_flag("--plan", o->plan, "say what would be done, and do nothing");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "Of a job: for its owner, with his own rights. Jobs of this history that still run are cancelled, "
      "declared files\n"
      "get back what they held then, and the point is noted; what they held until now is kept, so that "
      "nothing is\n"
      "lost, and 'sickbay history' shows all ways. Then repair what was wrong, and 'sickbay redo JOB'. N is "
      "the number\n"
      "of an operation of JOB, or 17.4. What has no inverse is told, with the reason.\n"
      "Of an act: for operators. A drain is lifted, a pool of spares gets its count of before, a round of\n"
      "verification or a recovery is stopped.\n");
  c->callback([o, &ending] { ending = {run_undo(*o), o->json}; });
}

void add_redo_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("redo", "submit a job again from where it was gone back to, repaired");
  auto o = std::make_shared<RedoOptions>();
  c->add_option("JOB", o->job, "the job that 'sickbay undo' went back in")->required();
  c->add_option("--env", o->wish.environment, "with this variable; without a value: unset")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("--exclude", o->wish.exclude, "not on these nodes")->type_name("NODES");
  c->add_flag("--as-is", o->wish.as_is, "later repairs of the same files are in them already");
  c->add_flag("--plan", o->plan, "show the repair and submit nothing");
  c->add_flag("--json", o->wish.json, "print {\"job_id\", \"case\"}");
  c->footer(
      "For the job's owner. What was changed in the script and in declared files since is the repair; the "
      "history shows\n"
      "its differences. The submission goes out as it was recorded, with its environment, from its folder;\n"
      "sickbay-ckpt in it goes on from the checkpoint that was gone back to (SICKBAY_CHECKPOINT_JOB and "
      "_FROM tell).\n");
  c->callback([o, &ending] { ending = {run_redo(*o), o->wish.json}; });
}

void add_restore_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("restore", "submit a job again from its last checkpoint, as it was");
  auto o = std::make_shared<RestoreOptions>();
  c->add_option("JOB", o->job, "a job of sickbay submit --record")->required();
  c->add_option("--from", o->from, "from this checkpoint, and not the last")->type_name("CHECKPOINT");
  c->add_option("--nodes", o->nodes, "on these nodes")->type_name("NODES");
  c->add_flag("--plan", o->plan, "say what would be done, and do nothing");
  c->add_flag("--json", o->json, "print {\"job_id\", \"case\"}");
  c->footer(
      "For the job's owner: 'sickbay undo JOB --to CHECKPOINT' and 'sickbay redo JOB' in one. The checkpoint "
      "is read\n"
      "and compared with its digests before anything is done.\n");
  c->callback([o, &ending] { ending = {run_restore(*o), o->json}; });
}

}  // namespace sickbay::cli
