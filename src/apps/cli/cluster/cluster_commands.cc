// SPDX-License-Identifier: Apache-2.0
// sickbay nodes, journal, status, version: the cluster and the daemon themselves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <optional>

#include "apps/cli/answer.h"
#include "apps/cli/cluster/cluster_text.h"
#include "apps/cli/cluster/findings_text.h"
#include "apps/cli/cluster/journal_check.h"
#include "apps/cli/cluster/journal_file.h"
#include "apps/cli/cluster/node_jobs.h"
#include "apps/cli/commands.h"
#include "apps/cli/event_text.h"
#include "apps/cli/follow.h"
#include "base/hostlist.h"
#include "settings/paths.h"

namespace sickbay::cli {
namespace {

struct NodesOptions {
  std::string hostlist;
  bool json = false;
};

// The last events of a node that the caller may see; what cannot be asked for is left out.
std::vector<Event> last_events(ApiClient& api, const std::string& node) {
  constexpr std::size_t kMost = 15;
  std::deque<Event> events;
  (void)past_events(api, node_subject(node), 0, [&](const Event& event) {
    events.push_back(event);
    if (events.size() > kMost) events.pop_front();
  });
  return {events.begin(), events.end()};
}

Result<int> run_nodes(const NodesOptions& o) {
  auto wanted = expand_hostlist(o.hostlist);
  if (!wanted) return fail(wanted.error());
  auto api = connect_to_sickbayd();
  auto list = api ? api->get("/v1/nodes") : Result<Json>(fail(api.error()));
  auto items = list ? chosen_nodes(*list, *wanted) : list;
  if (!items) return fail(items.error());
  // Who names one node wants to know all of it.
  const bool one = wanted->size() == 1;
  NodeMore more;
  if (one) {
    // (A sickbayd that is older than this command does not know of it: then what its list has will do.)
    if (auto whole = api->get("/v1/nodes/" + percent_encoded(wanted->front())))
      *items = Json::array({std::move(*whole)});
    more.jobs = jobs_on_node(wanted->front());
    more.faults = api->get("/v1/faults?node=" + percent_encoded(wanted->front()));
  }
  if (o.json) {
    if (one) {
      Json node = items->items().front();
      node.set("jobs", more.jobs ? *more.jobs : Json())
          .set("faults", more.faults ? (*more.faults)["items"] : Json());
      node.set("repairs", more.faults ? (*more.faults)["repairs"] : Json());
      *items = Json::array({std::move(node)});
    }
    print_json(Json::object({{"items", *items}, {"next", Json()}}));
    return 0;
  }
  const TextPage page = page_of_stdout();
  print(nodes_text(*items, *list, page));
  if (!one) return 0;
  more.history = last_events(*api, wanted->front());
  print(node_text(items->items().front(), more, page));
  return 0;
}

struct JournalOptions {
  bool follow = false, json = false;
  std::int64_t after = 0;
  std::string subject, file;
  bool verify = false;
  std::string salvage, backup;
  std::size_t keep = 7;
};

// Of the file itself: whether it is whole, what can be kept of it, a copy of it.
std::optional<Result<int>> run_journal_file(const JournalOptions& o) {
  const std::string file = o.file.empty() ? Paths::from_environment().journal() : o.file;
  if (o.verify) return verify_journal(file, o.json);
  if (!o.salvage.empty()) return salvage_to(file, o.salvage, o.json);
  if (!o.backup.empty()) return back_up_to(file, o.backup, o.keep, o.json);
  return std::nullopt;
}

void print_event(const Event& event, bool json, const TextPage& page) {
  print(json ? event.text() + "\n" : event_line(event, page));
}

Result<int> run_journal(const JournalOptions& o) {
  if (auto done = run_journal_file(o)) return std::move(*done);
  const TextPage page = page_of_stdout();
  if (!o.file.empty()) {
    auto read = read_journal_file(o.file, o.subject, o.after, [&](const Event& event) {
      print_event(event, o.json, page);
      return true;
    });
    if (!read) return fail(read.error());
    return 0;
  }
  if (o.follow) {
    FollowOrder order;
    order.subject = o.subject;
    order.after = o.after;
    auto followed = follow_events(order, [&](const Event& event) {
      print_event(event, o.json, page);
      std::fflush(stdout);
      return true;
    });
    if (!followed) return fail(followed.error());
    return 0;
  }
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  const Status read =
      past_events(*api, o.subject, o.after, [&](const Event& event) { print_event(event, o.json, page); });
  if (!read) return fail(read.error());
  return 0;
}

Result<int> run_status(bool json) {
  auto api = connect_to_sickbayd();
  auto status = api ? api->get("/v1/status") : Result<Json>(fail(api.error()));
  if (!status) return fail(status.error());
  if (json)
    print_json(*status);
  else
    print(status_text(*status, page_of_stdout()));
  return status_is_good(*status) ? 0 : 1;
}

}  // namespace

void add_nodes_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("nodes", "list nodes: state, partitions, and the cases that speak of them");
  auto o = std::make_shared<NodesOptions>();
  c->add_option("HOSTLIST", o->hostlist, "only these, as n[1-3]; of one all is told");
  c->add_flag("--json", o->json, "print the list as JSON");
  c->footer(
      "Of one node: what was found there, its jobs (by squeue), its repairs, its faults by month, its agent "
      "and its "
      "last events.\n");
  c->callback([o, &ending] { ending = {run_nodes(*o), o->json}; });
}

void add_journal_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("journal", "print the journal: every fact, decision and effect, in order");
  auto o = std::make_shared<JournalOptions>();
  CLI::Option* follow = c->add_flag("-f,--follow", o->follow, "go on with what comes");
  c->add_option("--after", o->after, "only events with a number over this")
      ->type_name("SEQ")
      ->check(CLI::NonNegativeNumber);
  c->add_option("--subject", o->subject, "only events of this subject: c17, node:n3")->type_name("SUBJECT");
  c->add_option("--file", o->file, "read this journal file itself (root; sickbayd need not run)")
      ->type_name("PATH")
      ->excludes(follow);
  CLI::Option* verify =
      c->add_flag("--verify", o->verify, "tell what of the file is damaged or gone: exit code 1")
          ->excludes(follow);
  CLI::Option* salvage =
      c->add_option("--salvage", o->salvage, "write what can be kept of a damaged file here")
          ->type_name("NEW")
          ->excludes(follow)
          ->excludes(verify);
  CLI::Option* backup =
      c->add_option("--backup", o->backup, "write a copy of the file into this folder; sickbayd may run")
          ->type_name("FOLDER")
          ->excludes(follow)
          ->excludes(verify)
          ->excludes(salvage);
  c->add_option("--keep", o->keep, "so many copies stay there, the newest")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(backup);
  c->add_flag("--json", o->json, "print each event as a line of JSON");
  c->footer("You see the events of your own cases; operators see all.\n");
  c->callback([o, &ending] { ending = {run_journal(*o), o->json}; });
}

void add_status_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("status", "show how sickbayd, its journal and its link to Slurm are");
  auto json = std::make_shared<bool>(false);
  c->add_flag("--json", *json, "print it as JSON");
  c->footer(
      "Exit codes: 0 all well; 1 the journal takes no events, or slurmctld does not answer; of two "
      "sickbayds also where one lacks what was acknowledged.\n");
  c->callback([json, &ending] { ending = {run_status(*json), *json}; });
}

void add_version_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand("version", "print the version");
  auto json = std::make_shared<bool>(false);
  c->add_flag("--json", *json, "print it as JSON");
  c->callback([json] {
    if (*json)
      print_json(Json::object({{"version", SICKBAY_VERSION}}));
    else
      print("sickbay " SICKBAY_VERSION "\n");
  });
}

}  // namespace sickbay::cli
