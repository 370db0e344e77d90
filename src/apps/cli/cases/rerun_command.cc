// SPDX-License-Identifier: Apache-2.0
// sickbay rerun: the answer to a case that asks whether, and where, its program may run again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/cli/answer.h"
#include "apps/cli/cases/case_text.h"
#include "apps/cli/commands.h"
#include "apps/cli/follow.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

struct RerunOptions {
  std::string target;
  bool same = false, copy = false, never = false, json = false;
};

Result<int> run_rerun(const RerunOptions& o) {
  if (o.same + o.copy + o.never != 1)
    return fail(Error(ErrorCode::usage, "say one of --same, --copy and --never")
                    .remedied_by("'sickbay why' shows what the case asks"));
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto view = fetch_case(*api, o.target);
  if (!view) return fail(view.error());
  const std::string& name = (*view)["case"].as_string();
  const std::string how = o.same ? "same" : o.copy ? "copy" : "never";
  auto answer =
      api->post("/v1/cases/" + name + "/rerun", Json::object({{"how", how}}), new_idempotency_key());
  if (!answer) return fail(answer.error());
  if (o.json)
    print_json(*answer);
  else if (o.never)
    print(fmt::format("case {}: the program is not run again\n", name));
  else
    print(fmt::format("case {}: the program may run again in {}\n", name,
                      o.copy ? "a copy of its folder" : for_terminal((*view)["work_dir"].as_string())));
  return 0;
}

}  // namespace

void add_rerun_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("rerun", "say whether, and where, a failed program may run again");
  auto o = std::make_shared<RerunOptions>();
  c->add_option("TARGET", o->target, "a case (c17), one of its runs (c17.r2), or a job id")->required();
  c->add_flag("--same", o->same, "in its own folder, where it may write over what is there");
  c->add_flag("--copy", o->copy, "in a copy of its folder");
  c->add_flag("--never", o->never, "not at all: nodes are tested, and the evidence speaks");
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer(
      "A case asks before the program of a large job runs again, where a copy of its folder would be too "
      "large\n"
      "or would not protect your files, where your re-runs of the day are used up, and where you submitted\n"
      "with --rerun=ask.  'sickbay why' shows the question.  The answer may also be given before it is "
      "asked.\n");
  c->callback([o, &ending] { ending = {run_rerun(*o), o->json}; });
}

}  // namespace sickbay::cli
