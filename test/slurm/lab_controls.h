// SPDX-License-Identifier: Apache-2.0
// What a test inside a lab can do to it: stop and start slurmctld, break and heal nodes.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::slurm {

/// The variable `name`, which test/slurm/in_lab.sh sets; without it the test says so and ends.
std::string required_variable(const char* name);

/// `sickbay lab COMMAND`, run outside by in_lab.sh: "fault n3 crash", "heal n3".  True: exit code 0.
bool lab_command(const std::string& command);

/// Replaces slurm.conf as one: a slurmd that is still busy with the last `scontrol reconfigure` ends for good
/// where it reads half of one ("Unable to process configuration file").
void write_slurm_conf(const std::string& text);

/// This lab's slurmctld, which runs in the namespaces that the test runs in.
class Slurmctld {
 public:
  Slurmctld();
  /// Ends it, with SIGKILL or in good order, and waits until it is gone.
  void stop(bool killed);
  /// Starts it as it was started before.  It is ready some time later.
  void start();
  /// Stops it in its tracks, or lets it go on: what a slurmctld under load looks like.
  void freeze();
  void thaw();
  /// A request lies before the frozen slurmctld: it will be read, whatever becomes of the sender.
  bool has_unread_request() const;

 private:
  pid_t pid_ = 0;
  bool ours_ = false;  ///< started by this process, which must reap it
  std::vector<std::string> argv_, environment_;
};

}  // namespace sickbay::slurm
