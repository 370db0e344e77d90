// SPDX-License-Identifier: Apache-2.0
// The commands of `sickbay`, each added to the parser by one function of its own file.
//
// A command that ran says in `ending`, which must outlive the parse, how it ended (answer.h); none tells the
// error that ended it.  What CLI11 holds here (names, options, help, footers) is the one definition: --help,
// man pages and completion come from it.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

struct Ending;

/// Names that the program is installed under besides its own, after the commands of its first users.
struct OtherName {
  std::string_view name, command;
};
inline constexpr auto kOtherNames =
    std::to_array<OtherName>({{"mybatch", "submit"}, {"myrequeue", "requeue"}, {"mytrigger", "trigger"}});

void add_submit_command(CLI::App& app, Ending& ending);
void add_why_command(CLI::App& app, Ending& ending);
void add_cases_command(CLI::App& app, Ending& ending);
void add_watch_command(CLI::App& app, Ending& ending);
void add_cancel_command(CLI::App& app, Ending& ending);
void add_rerun_command(CLI::App& app, Ending& ending);
void add_requeue_command(CLI::App& app, Ending& ending);
void add_trigger_command(CLI::App& app, Ending& ending);
void add_compare_command(CLI::App& app, Ending& ending);
void add_nodes_command(CLI::App& app, Ending& ending);
void add_findings_command(CLI::App& app, Ending& ending);
void add_diagnose_command(CLI::App& app, Ending& ending);
void add_undo_drains_command(CLI::App& app, Ending& ending);
void add_spares_command(CLI::App& app, Ending& ending);
void add_detect_command(CLI::App& app, Ending& ending);
void add_recover_command(CLI::App& app, Ending& ending);
void add_tree_command(CLI::App& app, Ending& ending);
void add_history_command(CLI::App& app, Ending& ending);
void add_checkpoints_command(CLI::App& app, Ending& ending);
void add_checkpoint_command(CLI::App& app, Ending& ending);
void add_undo_command(CLI::App& app, Ending& ending);
void add_redo_command(CLI::App& app, Ending& ending);
void add_restore_command(CLI::App& app, Ending& ending);
void add_plan_command(CLI::App& app, Ending& ending);
void add_journal_command(CLI::App& app, Ending& ending);
void add_status_command(CLI::App& app, Ending& ending);
void add_takeover_command(CLI::App& app, Ending& ending);
void add_verify_command(CLI::App& app, Ending& ending);
void add_import_command(CLI::App& app, Ending& ending);
void add_report_command(CLI::App& app, Ending& ending);
void add_sql_command(CLI::App& app, Ending& ending);
void add_export_command(CLI::App& app, Ending& ending);
void add_labels_command(CLI::App& app, Ending& ending);
void add_rules_command(CLI::App& app, Ending& ending);
void add_version_command(CLI::App& app);

/// --controller, of a command that asks sickbayd (remote.h).
void add_controller_option(CLI::App& command);

/// `submit` is not parsed by CLI11 alone, since most of its words are sbatch's: its own options go to the
/// definition above, the rest to sbatch.  Of a replay `replays` says where its history goes on from.
Ending run_submit(const std::vector<std::string>& words, const Json& replays = {});

}  // namespace sickbay::cli
