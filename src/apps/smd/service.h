// SPDX-License-Identifier: Apache-2.0
// libsmd's calls as functions on values.  The one place of smd that sees smd.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/smd/answers.h"

namespace sickbay::smd {

/// What SHOW_JOB tells.
struct JobInfo {
  std::vector<FaultyNode> faulty;  ///< (which of the two faults is not told)
  std::uint32_t pending_delay = 0, pending_job = 0, replaced = 0, credit = 0;
  std::string pending_node;
};

/// The service's configuration, and where this host's file is.
struct ServiceConfig {
  std::string file, control_addr, backup_addr, hot_spares, drain_allow, drain_deny;
  unsigned port = 0, debug = 0, max_spare_nodes = 0, delay = 0, drop = 0, extend = 0;
  unsigned read_timeout = 0, write_timeout = 0;
};

/// All faulty nodes of the job, or those of one fault.
Answer<std::vector<FaultyNode>> faulty_nodes(std::uint32_t job);
Answer<std::vector<FaultyNode>> faulty_nodes(std::uint32_t job, Fault fault);
/// A node, or several (a hostlist): then all or none.
Answer<Replaced> replace_node(std::uint32_t job, const std::string& node, bool several = false);
Answer<NodeSet> drop_node(std::uint32_t job, const std::string& node);
/// `minutes` 0: all the credit.
Answer<void> extend_time(std::uint32_t job, std::uint32_t minutes);
/// `reason` "": libsmd's own.
Answer<void> drain_nodes(std::uint32_t job, const std::string& nodes, const std::string& reason);
Answer<JobInfo> job_info(std::uint32_t job);
Answer<ServiceConfig> service_config();

/// The error to tell: "cannot DOING: TEXT", with what the service said as its cause and what to do.
Error error_of(const Trouble& trouble, std::string_view doing);

}  // namespace sickbay::smd
