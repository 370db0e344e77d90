// SPDX-License-Identifier: Apache-2.0
// sickbay export: the jobs for other programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "base/size.h"
#include "workload/store/export.h"
#include "workload/store/store.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

struct ExportOptions {
  std::string parquet, store;
  bool json = false;
};

Result<int> run_export(const ExportOptions& o) {
  auto path = workload::store_path(o.store);
  if (!path) return fail(path.error());
  workload::StoreOptions options;
  options.path = *path;
  options.mode = workload::StoreMode::read;
  auto store = workload::Store::open(options);
  if (!store) return fail(store.error());
  auto done = workload::export_parquet(*store, o.parquet);
  if (!done) return fail(done.error());
  if (o.json)
    print_json(Json::object(
        {{"folder", o.parquet}, {"jobs", done->jobs}, {"files", done->files}, {"bytes", done->bytes}}));
  else
    print(fmt::format("{} jobs in {} files, {}: {}\n", done->jobs, done->files,
                      describe_size({static_cast<std::int64_t>(done->bytes)}), o.parquet));
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("export", "write the jobs of the store as Parquet, for other programs");
  auto o = std::make_shared<ExportOptions>();
  c->add_option("--parquet", o->parquet, "the folder to make; FOLDER/year=Y/month=M/*.parquet")
      ->type_name("FOLDER")
      ->required();
  c->add_option("--store", o->store,
                "the store; else $SICKBAY_STORE, else ~/.local/share/sickbay/jobs.duckdb")
      ->type_name("FILE");
  c->add_flag("--json", o->json, "print what was written as JSON");
  c->footer(
      "A job is in the month of its end, else of its start or submission, in UTC.\nFOLDER must not exist or "
      "be empty.\n");
  c->callback([o, &ending] { ending = {run_export(*o), o->json}; });
}

}  // namespace sickbay::cli
