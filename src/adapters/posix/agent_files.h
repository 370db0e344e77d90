// SPDX-License-Identifier: Apache-2.0
// ports/agent_store.h as files in one folder, /var/lib/sickbay-agent:
//
//   spool        findings that sickbayd may not have yet, one JSON object a line, only appended to
//   delivered    the greatest number that sickbayd has: what the spool holds up to it is old
//   state.json   repair budgets, rules that have fired
//   journal.log  L of each run, one a line; journal.log.1 and .2 are older
//   lock         one at a time: the agent, and each --once
//
// A crash leaves at most half a line at the spool's end, which the next writer cuts off.  `delivered` is
// durable before the spool is emptied, so nothing comes twice and nothing is lost.  Numbers rise; a new
// folder begins with the clock's seconds, so that an agent that lost its folder does not use its old numbers
// again.
#pragma once
#include <memory>
#include <string>

#include "ports/agent_store.h"

namespace sickbay {

struct AgentFilesLimits {
  std::size_t spool_bytes = 8 << 20;    ///< beyond: the older half is dropped
  std::size_t journal_bytes = 2 << 20;  ///< of each of the three files
};

/// Makes the folder.  Errors: as make_folder.
Result<std::unique_ptr<AgentStore>> open_agent_files(const std::string& folder, AgentFilesLimits limits = {});

}  // namespace sickbay
