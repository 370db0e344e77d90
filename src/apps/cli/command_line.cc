// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/definition_text.h"
#include "apps/cli/remote.h"
#include "base/spelling.h"
#include "base/text.h"
#include "lab/commands.h"

namespace sickbay::cli {
namespace {

constexpr std::string_view kFooter =
    "Exit codes: 0 done; 1 the answer is no; 64 to 78 an error, whose cause and remedy are told.\n"
    "Each command has --help, --json and a man page (sickbay-COMMAND).\n";

// The innermost command that the parser had reached.
CLI::App& reached_command(CLI::App& app) {
  CLI::App* command = &app;
  for (auto inner = command->get_subcommands(); !inner.empty(); inner = command->get_subcommands())
    command = inner.front();
  return *command;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

Error with_suggestion(Error error, const std::string& word, const std::vector<std::string>& known,
                      const std::string& help) {
  const std::string meant = did_you_mean(word, known);
  error.remedy_text = meant.empty() ? fmt::format("see '{} --help'", help)
                                    : fmt::format("did you mean '{}'?  See '{} --help'", meant, help);
  return error;
}

// The error of a command line that does not parse, in the house's form.
Error parse_error(CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& words) {
  CLI::App& command = reached_command(app);
  std::string help = "sickbay";
  if (&command != &app) help += " " + command.get_name();
  if (command.get_parent() != nullptr && command.get_parent() != &app)
    help = fmt::format("sickbay {} {}", command.get_parent()->get_name(), command.get_name());

  const auto extras = command.remaining();
  if (!extras.empty() && dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const std::string& word = extras.front();
    if (word.starts_with('-'))
      return with_suggestion(
          Error(ErrorCode::usage, fmt::format("unknown option {}", quote_for_message(word))),
          word.substr(0, word.find('=')), option_names(command), help);
    if (const auto inner = command_names(command); !inner.empty())
      return with_suggestion(
          Error(ErrorCode::usage, fmt::format("unknown command {}", quote_for_message(word))), word, inner,
          help);
    return Error(ErrorCode::usage, fmt::format("'{}' takes no more words: {}", help, quote_for_message(word)))
        .remedied_by(fmt::format("see '{} --help'", help));
  }
  // A missing subcommand is reported so, even when a word stands where it should be.
  if (const auto inner = command_names(command);
      !inner.empty() && dynamic_cast<const CLI::RequiredError*>(&e)) {
    const auto at = std::find(words.begin(), words.end(), command.get_name());
    auto word = &command == &app || at == words.end() ? words.begin() : at + 1;
    if (word != words.end() && word->starts_with('-'))
      return with_suggestion(
          Error(ErrorCode::usage, fmt::format("unknown option {}", quote_for_message(*word))), *word,
          option_names(command), help);
    if (word != words.end())
      return with_suggestion(
          Error(ErrorCode::usage, fmt::format("unknown command {}", quote_for_message(*word))), *word, inner,
          help);
    return Error(ErrorCode::usage, fmt::format("'{}' needs a command", help))
        .remedied_by(fmt::format("see '{} --help'", help));
  }
  return Error(ErrorCode::usage, e.what()).remedied_by(fmt::format("see '{} --help'", help));
}

// Commands that ask sickbayd; submit has its own words.
constexpr std::string_view kAskSickbayd[] = {
    "why",      "cases",    "watch",       "cancel",     "rerun",       "requeue", "trigger", "nodes",
    "findings", "diagnose", "undo-drains", "journal",    "status",      "spares",  "detect",  "recover",
    "tree",     "verify",   "history",     "checkpoint", "checkpoints", "undo",    "redo",    "restore"};

}  // namespace

void add_controller_option(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--controller", name_controller,
          "host of sickbayd, where it is not this one (else SICKBAY_CONTROLLER, "
          "client.controller of sickbay.json, or Slurm's SlurmctldHost)")
      ->type_name("HOST[:PORT]");
}

std::unique_ptr<CLI::App> make_command_line(Ending& ending) {
  auto app = std::make_unique<CLI::App>("Fault management for Slurm clusters", "sickbay");
  app->require_subcommand(1);
  app->set_version_flag("--version", "sickbay " SICKBAY_VERSION, "print the version");
  app->get_formatter()->column_width(28);
  add_submit_command(*app, ending);
  add_why_command(*app, ending);
  add_cases_command(*app, ending);
  add_watch_command(*app, ending);
  add_cancel_command(*app, ending);
  add_rerun_command(*app, ending);
  add_requeue_command(*app, ending);
  add_trigger_command(*app, ending);
  add_compare_command(*app, ending);
  add_nodes_command(*app, ending);
  add_findings_command(*app, ending);
  add_diagnose_command(*app, ending);
  add_undo_drains_command(*app, ending);
  add_spares_command(*app, ending);
  add_detect_command(*app, ending);
  add_recover_command(*app, ending);
  add_tree_command(*app, ending);
  add_history_command(*app, ending);
  add_checkpoint_command(*app, ending);
  add_checkpoints_command(*app, ending);
  add_undo_command(*app, ending);
  add_redo_command(*app, ending);
  add_restore_command(*app, ending);
  add_verify_command(*app, ending);
  add_import_command(*app, ending);
  add_report_command(*app, ending);
  add_labels_command(*app, ending);
  add_rules_command(*app, ending);
  add_plan_command(*app, ending);
  add_journal_command(*app, ending);
  add_status_command(*app, ending);
  add_takeover_command(*app, ending);
  add_sql_command(*app, ending);
  add_export_command(*app, ending);
  lab::add_lab_commands(*app, *ending.code);  // the lab is used by tests, too, and tells its errors itself
  add_version_command(*app);
  add_definition_commands(*app, ending);
  for (const std::string_view name : kAskSickbayd)
    add_controller_option(*app->get_subcommand(std::string(name)));
  app->footer(std::string(kFooter));  // last: commands made after it would get it, too
  return app;
}

int parse_command_line(const std::vector<std::string>& words) {
  Ending ending;
  auto app = make_command_line(ending);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app->parse(reversed);
  } catch (const CLI::Success& e) {
    return app->exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    return exit_code_of({fail(parse_error(*app, e, words))});
  }
  return exit_code_of(ending);
}

int run_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string_view called = argc > 0 ? argv[0] : "";
  const auto other = std::ranges::find(kOtherNames, called.substr(called.rfind('/') + 1), &OtherName::name);
  if (other != kOtherNames.end()) words.insert(words.begin(), std::string(other->command));
  // Past CLI11, which would take sbatch's options for unknown ones of ours.
  if (!words.empty() && words[0] == "submit")
    return exit_code_of(run_submit({words.begin() + 1, words.end()}));
  return parse_command_line(words);
}

}  // namespace sickbay::cli
