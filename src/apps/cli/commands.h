// SPDX-License-Identifier: Apache-2.0
// The commands of `sickbay`, each added to the parser by one function of its own file.
//
// A command that ran puts its exit code into `exit_code`, which must outlive the parse.  What CLI11 holds
// here (names, options, help, footers) is the one definition: --help, man pages and completion come from it.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/sbatch_options.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

void add_submit_command(CLI::App& app, int& exit_code);
void add_why_command(CLI::App& app, int& exit_code);
void add_cases_command(CLI::App& app, int& exit_code);
void add_watch_command(CLI::App& app, int& exit_code);
void add_cancel_command(CLI::App& app, int& exit_code);
void add_nodes_command(CLI::App& app, int& exit_code);
void add_diagnose_command(CLI::App& app, int& exit_code);
void add_undo_drains_command(CLI::App& app, int& exit_code);
void add_journal_command(CLI::App& app, int& exit_code);
void add_status_command(CLI::App& app, int& exit_code);
void add_verify_command(CLI::App& app, int& exit_code);
void add_import_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_sql_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_labels_command(CLI::App& app, int& exit_code);
void add_rules_command(CLI::App& app, int& exit_code);
void add_version_command(CLI::App& app, int& exit_code);

/// `submit` is not parsed by CLI11 alone, since most of its words are sbatch's: its own options go to the
/// definition above, the rest to sbatch.
int run_submit(const std::vector<std::string>& words);

}  // namespace sickbay::cli
