// SPDX-License-Identifier: Apache-2.0
// sickbay recover: the smallest restart that cures; sickbay tree: what is restarted together with what.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/cli/answer.h"
#include "apps/cli/cluster/recover_text.h"
#include "apps/cli/commands.h"
#include "apps/cli/follow.h"
#include "apps/cli/page.h"
#include "base/text.h"
#include "model/event_kinds.h"

namespace sickbay::cli {
namespace {

constexpr int kNotCured = 1;  // "the answer is no"
constexpr std::string_view kCluster = "cluster";

struct RecoverOptions {
  std::string what, job, node, of, text, stop;
  bool alone = false, plan = false, show = false, wait = false, json = false;
};

// "n3/slurmd": the component of a node; "n3": the node; "job 17": a job.
Json fault_of(const RecoverOptions& o) {
  if (!o.job.empty()) {
    Json body = Json::object({{"job", std::stoll(o.job)}, {"text", o.text}});
    if (!o.node.empty()) body.set("node", o.node);
    if (o.alone) body.set("alone", true);
    return body;
  }
  const std::size_t slash = o.what.find('/');
  Json body = Json::object({{"node", o.what.substr(0, slash)}, {"text", o.text}});
  if (o.of == kCluster) body = Json::object({{"text", o.text}});
  if (slash != std::string::npos) body.set("component", o.what.substr(slash + 1));
  if (!o.of.empty()) body.set("class", o.of);
  return body;
}

Result<int> show(ApiClient& api, const RecoverOptions& o, const std::string& name) {
  auto answer = api.get("/v1/recoveries");
  if (!answer) return fail(answer.error());
  if (name.empty()) {
    if (o.json)
      print_json(*answer);
    else
      print(recoveries_text(*answer, page_of_stdout()));
    return 0;
  }
  for (const Json& one : (*answer)["items"].items()) {
    if (one["recovery"].as_string() != name) continue;
    if (o.json)
      print_json(one);
    else
      print(recovery_text(one, page_of_stdout()));
    return one["open"].as_bool() || one["outcome"].as_string() == "cured" ? 0 : kNotCured;
  }
  return fail(Error(ErrorCode::not_found, "no recovery " + safe(Json(name)))
                  .remedied_by("'sickbay recover --show' lists the last ones"));
}

Result<int> wait_for(ApiClient& api, const RecoverOptions& o, const std::string& name) {
  const auto followed =
      follow_events({.subject = name}, [](const Event& event) { return event.kind != kRecoveryClosed; });
  if (!followed) return fail(followed.error());
  return show(api, o, name);
}

// What does not go together.
Status fits(const RecoverOptions& o) {
  if (o.job.empty() && (!o.node.empty() || o.alone))
    return fail(Error(ErrorCode::usage, "--node and --alone are of a job")
                    .remedied_by("name it: sickbay recover job 17 --node n3"));
  if (o.of == kCluster && !o.what.empty())
    return fail(Error(ErrorCode::usage, "a fault of the cluster is of no node")
                    .remedied_by("name none: sickbay recover --class cluster --plan"));
  if (o.job.empty()) return {};
  if (o.what != "job" || o.job.size() > 10 || !std::ranges::all_of(o.job, is_digit))
    return fail(Error(ErrorCode::usage, fmt::format("recover {} {}?", o.what, o.job))
                    .remedied_by("name a component, a node, or a job by its number: sickbay recover job 17"));
  if (!o.of.empty() || o.show)
    return fail(Error(ErrorCode::usage, "--class and --show are not of a job")
                    .remedied_by("leave them out; 'sickbay recover --show' lists the last recoveries"));
  return {};
}

Result<int> run_recover(const RecoverOptions& o) {
  if (const Status fit = fits(o); !fit) return fail(fit.error());
  if (o.what.empty() && o.of != kCluster && !o.show && o.stop.empty())
    return fail(Error(ErrorCode::usage, "recover what?")
                    .remedied_by("name a node, a component of one, or a job: sickbay recover n3/slurmd"));
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  if (!o.stop.empty()) {
    auto stopped = api->post("/v1/recoveries/" + o.stop + "/stop", Json::object(), new_idempotency_key());
    if (!stopped) return fail(stopped.error());
    if (o.wait && (*stopped)["open"].as_bool()) return wait_for(*api, o, o.stop);
    if (o.json)
      print_json(*stopped);
    else
      print((*stopped)["open"].as_bool()
                ? fmt::format("{} ends; a restart that is under way is let end.\n", o.stop)
                : fmt::format("{} is over already.\n", o.stop));
    return 0;
  }
  if (o.show) return show(*api, o, o.what);
  Json body = fault_of(o);
  if (o.plan) body.set("dry_run", true);
  auto asked = api->post("/v1/recoveries", body, new_idempotency_key());
  if (!asked) return fail(asked.error());
  if (!o.plan && o.wait) return wait_for(*api, o, (*asked)["recovery"].as_string());
  if (o.json) {
    print_json(*asked);
  } else {
    print(plan_text((*asked)["plan"], page_of_stdout()));
    if (!o.plan)
      print(fmt::format("\n{} begins. 'sickbay recover --show {}' tells how it stands.\n",
                        (*asked)["recovery"].as_string(), (*asked)["recovery"].as_string()));
  }
  // (-1: nothing is restarted.)
  return (*asked)["plan"]["start"].as_int(-1) < 0 ? kNotCured : 0;
}

Result<int> run_tree(bool json) {
  auto api = connect_to_sickbayd();
  auto tree = api ? api->get("/v1/tree") : Result<Json>(fail(api.error()));
  if (!tree) return fail(tree.error());
  if (json)
    print_json(*tree);
  else
    print(tree_text(*tree, page_of_stdout()));
  return 0;
}

}  // namespace

void add_recover_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("recover", "restart as little as cures a fault");
  auto o = std::make_shared<RecoverOptions>();
  c->add_option("WHAT", o->what,
                "n3/slurmd: a component of a node; n3: the node; job: a job; with --show: r3");
  c->add_option("JOB", o->job, "its number");
  c->add_option("--node", o->node, "the node that is to blame: the job does not get it again");
  c->add_flag("--alone", o->alone, "the job goes on while that node alone is restarted");
  c->add_option(
       "--class", o->of,
       "of the fault: component, node, network (communication: without a component its hardware), cluster")
      ->check(CLI::IsMember({"component", "node", "network", "cluster"}));
  c->add_option("--text", o->text, "what is wrong, for people");
  CLI::Option* plan = c->add_flag("--plan", o->plan, "say what would be done, and do nothing");
  CLI::Option* show_it =
      c->add_flag("--show", o->show, "how recoveries stand, or the one that is named")->excludes(plan);
  c->add_option("--stop", o->stop, "end this recovery: what it restarts is let end, nothing follows")
      ->excludes(plan)
      ->excludes(show_it);
  c->add_flag("--wait", o->wait, "until it is over; exit code 1 where the fault is not cured");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "For operators. What can be restarted by itself stands in components.d on each node\n"
      "(doc/formats/component.md), and 'sickbay tree' draws it. After each restart the fault is looked for;\n"
      "where it is not gone the next larger part is restarted: the component and what needs it, the node\n"
      "(drained first, by drain.act and drain.reboot). It begins where the expected time is shortest, by\n"
      "what restarts have cured before. Broken network hardware has its node drained, for a person to look.\n"
      "The cluster is never restarted by Sickbay.\n\n"
      "'sickbay recover job 17 --node n3' puts a job back into the queue, while slurmctld still knows it: "
      "it\n"
      "begins anew, as its owner's, on other nodes than n3 where its partition has enough of them.\n");
  c->callback([o, &ending] { ending = {run_recover(*o), o->json}; });
}

void add_tree_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("tree", "what is restarted together with what, and how often it fails");
  auto json = std::make_shared<bool>(false);
  c->add_flag("--json", *json, "print the answer as JSON");
  c->footer(
      "MTTF: time observed by failures; MTTR: from the first sign to the end of the fault; both by "
      "Sickbay's\n"
      "journal alone. RESTART: the median of the last restarts; with '~' what the node's file says.\n");
  c->callback([json, &ending] { ending = {run_tree(*json), *json}; });
}

}  // namespace sickbay::cli
