// SPDX-License-Identifier: Apache-2.0
// sickbay trigger (mytrigger): waits until something happens to a job, and then
// runs a command.
//
// The command runs here, as the user who waits: sickbayd runs no user's code on
// the controller's host (doc/design/decisions.md 3).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "apps/cli/answer.h"
#include "apps/cli/cases/trigger.h"
#include "apps/cli/child.h"
#include "apps/cli/commands.h"
#include "apps/cli/follow.h"
#include "base/text.h"
#include "model/ids.h"

namespace sickbay::cli {
namespace {

struct TriggerOptions {
  std::string target, command;
  TriggerEvent on = TriggerEvent::finish;
  bool json = false;
};

std::string name_of(TriggerEvent event) {
  for (const auto& [name, one] : trigger_events())
    if (one == event) return name;
  return "";
}

// The run that is meant: the named one, else the user's own.
std::string run_meant(const std::string& target, const Json& view) {
  if (parse_run_id(target)) return target;
  return view["case"].as_string() + ".r1";
}

Result<Json> fetch(const std::string& target) {
  auto api = connect_to_sickbayd();
  return api ? fetch_case(*api, target) : Result<Json>(fail(api.error()));
}

// The view with which the waiting ended.
Result<Json> wait_for(const TriggerOptions& o) {
  // First the seq, then the view: what happens in between comes through the
  // stream.
  auto seq = last_seq();
  if (!seq) return fail(seq.error());
  auto view = fetch(o.target);
  if (!view) return view;
  if (view->has("array"))
    return fail(Error(ErrorCode::conflict, o.target + " is a job array, which has no run itself")
                    .remedied_by("name one of its tasks, as 1234_7"));
  const auto waits = [&] { return triggered(*view, run_meant(o.target, *view), o.on) == Triggered::waits; };
  if (!waits()) return view;
  FollowOrder order;
  order.subject = (*view)["case"].as_string();
  order.after = *seq;
  std::optional<Error> failed;
  auto followed = follow_events(order, [&](const Event&) {
    auto next = fetch(order.subject);
    if (next) {
      view = std::move(next);
      return waits();
    }
    // Away or busy for a moment: the next event asks again.
    const ErrorCode code = next.error().code;
    if (code == ErrorCode::daemon_away || code == ErrorCode::busy) return true;
    failed = next.error();
    return false;
  });
  if (failed) return fail(std::move(*failed));
  if (!followed) return fail(followed.error());
  return view;
}

Result<int> run_trigger(const TriggerOptions& o) {
  auto view = wait_for(o);
  if (!view) return fail(view.error());
  const std::string run = run_meant(o.target, *view), event = name_of(o.on);
  const bool came = triggered(*view, run, o.on) == Triggered::came;
  const std::vector<std::string> environment = trigger_environment(*view, run, event);
  if (o.json) {
    Json told = Json::object({{"event", event}, {"came", came}});
    for (const std::string& one : environment) {
      const std::size_t sign = one.find('=');
      std::string name = one.substr(8, sign - 8);  // behind SICKBAY_
      for (char& c : name) c = to_lower(c);
      if (name != "event") told.set(name, one.substr(sign + 1));
    }
    print_json(told);
  } else if (o.command.empty() || !came) {
    print(fmt::format("{}: {}\n", run, came ? event : "it ended otherwise, " + event + " will not come"));
  }
  if (!came) return 1;
  if (o.command.empty()) return 0;
  for (const std::string& one : environment) {
    const std::size_t sign = one.find('=');
    ::setenv(one.substr(0, sign).c_str(), one.substr(sign + 1).c_str(), 1);
  }
  ChildSpec child;
  child.argv = {"/bin/sh", "-c", o.command};
  return run_child(child, [](std::string_view said) {
    print(said);
    std::fflush(stdout);
  });
}

}  // namespace

void add_trigger_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("trigger", "wait until something happens to a job, then run a command");
  auto o = std::make_shared<TriggerOptions>();
  c->add_option("TARGET", o->target,
                "a case (c17), one of its runs (c17.r2), a job id, or a task "
                "of a job array (1234_7)")
      ->required();
  c->add_option("--on", o->on, "what to wait for (default: finish)")
      ->type_name("finish|fail|timeout|node-fail")
      ->transform(CLI::CheckedTransformer(trigger_events()).description(""));
  c->add_option("--run", o->command, "command for the shell, run here and by you when it has come")
      ->type_name("CMD");
  c->add_flag("--json", o->json, "print what came as JSON");
  c->footer(
      "finish     the run is over, however\n"
      "fail       it is over, and was neither a success nor cancelled\n"
      "timeout    it ran into its time limit\n"
      "node-fail  it lost a node; also while it still runs\n\n"
      "The run is the user's own (c17.r1) where none is named.  CMD finds in "
      "its environment SICKBAY_CASE,\n"
      "SICKBAY_JOB, SICKBAY_RUN, SICKBAY_EVENT, SICKBAY_OUTCOME, "
      "SICKBAY_SYMPTOM, SICKBAY_STATE,\n"
      "SICKBAY_EXIT_CODE, SICKBAY_NODES and SICKBAY_DOWN_NODES.\n\n"
      "Exit codes:\n"
      "  0   it came; with --run the exit code of CMD instead, 128 + signal "
      "where it was killed\n"
      "  1   the run ended otherwise: it will not come, and CMD was not run\n");
  c->callback([o, &ending] { ending = {run_trigger(*o), o->json}; });
}

}  // namespace sickbay::cli
