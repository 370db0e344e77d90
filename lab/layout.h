// SPDX-License-Identifier: Apache-2.0
// What a lab consists of, and where each part lies.
//
// A lab is one folder.  Its nodes' namespaces hang on holder processes and nothing of them is visible
// outside, so two labs never meet.  The layout is fixed by `up` and saved in lab.conf; every other command
// loads it.
//
//   lab.conf cleanup lock     the layout; what must be undone; one command at a time
//   etc/                      slurm.conf slurmdbd.conf munge.key hosts passwd group
//   home/USER                 shared storage: the same files at the same path on every node
//   run/                      sockets and pid files; every node sees its own folder here
//   log/ state/ db/           logs; slurmctld's state; MariaDB (a tmpfs inside ctl only)
//   nodes/NAME/               spool, tmp, run and boot_id of one node; root, SICKBAY_ROOT of its agent
//   faults/ truth.db          active faults; ground truth
//   root/                     SICKBAY_ROOT of this lab's sickbayd
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::lab {

/// What the caller of `up` may choose.
struct Wishes {
  std::string name = "lab";
  std::string folder;  ///< empty: default_folder(name)
  int nodes = 6;
  int spares = 1;
  int logins = 0;  ///< login hosts: munged and Slurm's commands, and no daemon of Slurm's or ours
  int cpus = 2;    ///< per node, as Slurm is told
  std::string slurm_user = "root";
  std::string release;  ///< folder of another Slurm than this machine's (other_release.h); empty: this one's
  bool sickbayd = true;
  bool agents = true;  ///< one on each node; only where there is a sickbayd
  /// Folders of the host that all machines see at their own path (shown.h).
  std::vector<std::string> shown;
};

/// One machine of the lab: a node, a spare, a login host or the controller.
struct Machine {
  std::string name;     ///< n1, n2, ..., login1, ... or ctl; also its host name
  std::string address;  ///< on the lab's bridge
  bool spare = false, login = false;
};

struct Layout {
  Wishes wishes;
  int range = 1;       ///< X of 10.77.X.0/24
  int first_port = 0;  ///< slurmctld; +1 slurmd, +2 slurmdbd, +3 sickbayd's TCP, +4 nonstop
  std::string bridge;  ///< its name inside ctl's network namespace
  const std::string& dir() const { return wishes.folder; }
  /// Of sickbayd, for the agents.
  int agent_port() const { return first_port + 3; }
  /// SICKBAY_ROOT of a node's agent, and of commands on a login host, which sees no socket of sickbayd.
  std::string agent_root(const std::string& machine) const { return path("nodes/" + machine + "/root"); }
  /// LAB/part.
  std::string path(const std::string& part) const { return wishes.folder + "/" + part; }
  /// n1..n(nodes), then the spares; without ctl.
  std::vector<Machine> machines() const;
  Machine controller() const;
  std::vector<Machine> logins() const;
  /// All but ctl: what hangs on its bridge.
  std::vector<Machine> hosts() const;
  /// "n3", "login1" or "ctl".  Error: not_found, naming what there is.
  Result<Machine> machine(const std::string& name) const;
};

struct User {
  std::string name;
  unsigned id;  ///< uid and gid
};
/// The ordinary users of a lab.
const std::vector<User>& lab_users();

/// /var/tmp/sickbay-lab-NAME.
std::string default_folder(const std::string& name);
/// Checks the wishes and derives the rest; paths become absolute.  Errors: usage.
Result<Layout> plan_layout(Wishes wishes);
/// lab.conf as text, one "key value" per line, and back.  Errors: bad_input with the line.
std::string print_layout(const Layout& layout);
Result<Layout> parse_layout(const std::string& text);
/// The layout of the running lab `name`; `folder` wins when not empty.  Error: not_found.
Result<Layout> load_layout(const std::string& name, const std::string& folder);

/// Files of the lab, whole.
Result<std::string> read_text(const std::string& path);
Status write_text(const std::string& path, const std::string& text, unsigned mode = 0644);
Status make_folder(const std::string& path, unsigned mode = 0755);

}  // namespace sickbay::lab
