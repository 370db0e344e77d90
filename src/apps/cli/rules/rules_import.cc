// SPDX-License-Identifier: Apache-2.0
// Prints what becomes of each line of an NHC configuration, and writes the specifications where asked to.
#include "apps/cli/rules/rules_import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "apps/cli/page.h"
#include "base/hostlist.h"
#include "base/text_table.h"
#include "engine/diagnose/import_nhc.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::cli {
namespace {

using diagnose::NhcTaken;

struct RulesImportOptions {
  std::string file, nodes, out;
  bool json = false;
};

Result<int> run_rules_import(const RulesImportOptions& o) {
  auto text = read_file(o.file, diagnose::kMostNhcBytes);
  if (!text) return fail(about_path(std::move(text.error())));
  std::vector<std::string> cluster;
  if (!o.nodes.empty()) {
    auto names = expand_hostlist(o.nodes);
    if (!names) return fail(names.error());
    cluster = std::move(*names);
  }
  auto made = diagnose::import_nhc(*text, o.file, std::move(cluster));
  if (!made) return fail(made.error());
  Json lines = Json::array(), files = Json::array();
  TextTable table({{"LINE", TextTable::Column::Align::right},
                   {"TAKEN"},
                   {"TARGET"},
                   {"CHECK", TextTable::Column::Align::left, true},
                   {"NOTE", TextTable::Column::Align::left, true}});
  for (const NhcTaken& t : made->lines) {
    lines.push(diagnose::to_json(t));
    table.add({std::to_string(t.line), std::string(to_string(t.how)), for_terminal(t.target),
               for_terminal(t.check), for_terminal(t.note)});
  }
  for (const diagnose::SpecificationFile& file : made->files) {
    const std::string path = o.out.empty() ? file.path : o.out + "/" + file.path;
    files.push(Json::object({{"path", path}, {"text", file.text}}));
    if (o.out.empty()) continue;
    if (auto written = write_durably(path, file.text, 0644); !written)
      return fail(about_path(std::move(written.error())));
  }
  if (o.json) {
    print_json(Json::object({{"lines", lines}, {"files", files}}));
    return 0;
  }
  const TextPage page = page_of_stdout();
  print(table.text({.width = page.width, .colours = page.colours}));
  print(fmt::format("\n{}\n", diagnose::summary_of(made->lines)));
  for (const Json& file : files.items())
    print(fmt::format("{}{}\n", o.out.empty() ? "would write " : "", file["path"].as_string()));
  if (o.out.empty() && files.size() > 0)
    print("To write: --out FOLDER.  Repairs stay off until \"repair\" is true in the period.\n");
  return 0;
}

}  // namespace

void add_rules_import(CLI::App& rules, Ending& ending) {
  auto o = std::make_shared<RulesImportOptions>();
  CLI::App* c = rules.add_subcommand(
      "import-nhc", "make a specification of an NHC configuration, and list what became of each line");
  c->add_option("FILE", o->file, "nhc.conf")->required();
  c->add_option("--nodes", o->nodes, "the nodes of the cluster, for targets that are patterns")
      ->type_name("HOSTLIST");
  c->add_option("--out", o->out, "write the specifications into this folder")->type_name("FOLDER");
  c->add_flag("--json", o->json, "print JSON");
  c->footer(
      "Checks that a built-in operation equals become rules; others become stubs that run the site's own "
      "script;\nwhat asks another resource manager is listed with the reason.  doc/formats/specification.md "
      "tells which.\n");
  c->callback([o, &ending] { ending = {run_rules_import(*o), o->json}; });
}

}  // namespace sickbay::cli
