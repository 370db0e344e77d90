// SPDX-License-Identifier: Apache-2.0
// The daemons of a lab: one table of what runs where, and starting, stopping and waiting for each.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lab/child.h"
#include "lab/layout.h"

namespace sickbay::lab {

/// Which machines run a daemon.
enum class Place { everywhere, controller, nodes };

struct DaemonRow {
  std::string_view name;
  Place place;
  /// Arguments, given the layout and the machine's name.
  std::vector<std::string> (*argv)(const Layout&, const std::string& machine);
  /// Whether it answers; called often.
  bool (*ready)(const Layout&, const std::string& machine);
};
/// munged, mariadbd, slurmdbd, slurmctld, slurmd, sickbayd, sickbay-agent.
std::span<const DaemonRow> daemon_table();
/// Error: not_found, with the names there are.
Result<const DaemonRow*> find_daemon(std::string_view name);
bool runs_on(const DaemonRow& row, const std::string& machine);

/// LAB/log/NAME-MACHINE.out: what it says on stdout and stderr (Slurm's daemons have their own logs beside).
std::string daemon_log(const Layout& layout, std::string_view daemon, const std::string& machine);
/// The last `lines` lines of what a daemon said, for an error message.
std::string daemon_tail(const Layout& layout, std::string_view daemon, const std::string& machine,
                        int lines = 12);

/// Starts a daemon on a machine, unless it lives already.  Does not wait until it answers.
Status start_daemon(const Layout& layout, std::string_view daemon, const std::string& machine);
/// Waits until it answers.  Errors: os when it ended, timed_out; both with the tail of its log.
Status await_daemon(const Layout& layout, std::string_view daemon, const std::string& machine,
                    std::chrono::milliseconds limit);
/// The recorded process; pid 0 when it was never started.
Process daemon_process(const Layout& layout, std::string_view daemon, const std::string& machine);
/// SIGKILL.  Errors: conflict when it does not run.
Status kill_daemon(const Layout& layout, std::string_view daemon, const std::string& machine);

/// Makes LAB/db/data, the empty database (in ctl).
Status install_database(const Layout& layout);
/// Names the cluster, an account and the users in the accounting database.
Status add_accounts(const Layout& layout);
/// Path of a program of ours ("sickbayd") beside the running executable.  Empty when it is not there.
std::string own_program(const std::string& name);

/// Runs a program of the lab's Slurm (scontrol, sinfo, ...) in ctl.  Its output; errors: os with the output.
Result<std::string> ask_slurm(const Layout& layout, std::vector<std::string> argv);

}  // namespace sickbay::lab
