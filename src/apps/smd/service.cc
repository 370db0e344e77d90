// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/service.h"

#include <fmt/format.h>
#include <smd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sickbay::smd {
namespace {

// What each number of libsmd means for the one who asked.
struct TroubleRow {
  int number;
  Hope hope;
  ErrorCode code;
  std::string_view remedy;
};
constexpr auto kRows = std::to_array<TroubleRow>({
    {ENSTOP_CONFIG, Hope::next, ErrorCode::bad_input, "correct nonstop.conf, which lies beside slurm.conf"},
    {ENSTOP_NETIO, Hope::again, ErrorCode::daemon_away,
     "see whether the service runs where nonstop.conf says, and ask again"},
    {ENSTOP_INVALCMD, Hope::next, ErrorCode::refused_by_slurm,
     "ask for one node at a time where the service is Slurm's own plugin; see SMD_RELEASE in smd(1)"},
    {ENSTOP_UPNODE, Hope::again, ErrorCode::refused_by_slurm, "look at the node with 'scontrol show node'"},
    {ENSTOP_JOBID, Hope::none, ErrorCode::not_found, "check the job id with 'squeue'"},
    {ENSTOP_PORT, Hope::next, ErrorCode::internal, "please report it"},
    {ENSTOP_UID, Hope::none, ErrorCode::denied, "ask as the owner of the job, or as root"},
    {ENSTOP_JOBNOTRUN, Hope::none, ErrorCode::not_found, "only a running job has nodes to be replaced"},
    {ENSTOP_NOHOST, Hope::next, ErrorCode::not_found, "'smd -f' shows the faulty nodes of the job"},
    {ENSTOP_NODENOTFAILED, Hope::next, ErrorCode::not_found, "'smd -f' shows the faulty nodes of the job"},
    {ENSTOP_NODENOTINJOB, Hope::next, ErrorCode::not_found, "'smd -f' shows the faulty nodes of the job"},
    {ENSTOP_REPLACELATER, Hope::again, ErrorCode::busy, "ask again"},
    {ENSTOP_REPLACEPENDING, Hope::again, ErrorCode::busy,
     "ask again when that node has been replaced, or drop it"},
    {ENSTOP_MAXSPARECOUNT, Hope::next, ErrorCode::refused_by_slurm, "drop the node (smd -D), or end the job"},
    {ENSTOP_NODEREPLACEFAILED, Hope::again, ErrorCode::busy, "ask again later, or drop the node (smd -D)"},
    {ENSTOP_NOINCREASETIMELIMIT, Hope::next, ErrorCode::refused_by_slurm,
     "a job has credit after a node has failed; 'smd -j' shows it"},
    {ENSTOP_TIMEOVERLIMIT, Hope::next, ErrorCode::refused_by_slurm,
     "ask for fewer minutes ('smd -j' shows the credit), or for all of them with 'smd -e 0'"},
    {ENSTOP_JOBUPDATE, Hope::again, ErrorCode::refused_by_slurm,
     "change what Slurm objects to and ask again"},
    {ENSTOP_DECODEHEADER, Hope::again, ErrorCode::bad_input,
     "see whether another program has the port of nonstop.conf"},
    {ENSTOP_UNKWNCTRLMSG, Hope::again, ErrorCode::bad_input, "use the smd that belongs to the service"},
    {ENSTOP_PROTOCOL, Hope::again, ErrorCode::bad_input, "use the smd that belongs to the service"},
    {ENSTOP_NONODEFAIL, Hope::next, ErrorCode::not_found, "nothing needs to be done"},
    {ENSTOP_PERM, Hope::none, ErrorCode::denied,
     "ask as the owner of the job; nodes may be drained by the users that UserDrainAllow of nonstop.conf "
     "names"},
    {ENSTOP_MUNGE, Hope::again, ErrorCode::munge_away,
     "see whether munged runs here and has the key of the cluster"},
    {ENSTOP_TIMEOUT, Hope::again, ErrorCode::timed_out,
     "ask again: to ask for the same thing twice does it once"},
    {ENSTOP_ARGS, Hope::next, ErrorCode::usage, "see 'smd --help'"},
});
static_assert(kRows.size() == ENSTOP_LASTERR - ENSTOP_CONFIG, "a row for each number");
constexpr bool rows_follow_numbers() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].number != ENSTOP_CONFIG + static_cast<int>(i)) return false;
  return true;
}
static_assert(rows_follow_numbers(), "in the order of smd.h");

// errno of the system itself, which libsmd passes on.
constexpr TroubleRow kOfSystem{0, Hope::again, ErrorCode::os, "look at the system's log for the cause"};
const TroubleRow& row_of(int number) {
  const auto row = std::ranges::find(kRows, number, &TroubleRow::number);
  return row == kRows.end() ? kOfSystem : *row;
}

tl::unexpected<Trouble> trouble() {
  Trouble t;
  t.number = errno;
  t.text = ::smd_nonstop_errstr(t.number);
  t.why = ::smd_nonstop_why();
  t.hope = row_of(t.number).hope;
  return tl::unexpected<Trouble>(std::move(t));
}

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

NodeSet set_of(const new_node_set_t& set) {
  return {text_of(set.new_nodelist), set.new_node_cnt, text_of(set.new_cpus_per_node)};
}

Answer<std::vector<FaultyNode>> ask_faulty(std::uint32_t job, std::uint16_t states) {
  faulty_node_request request{job, states};
  faulty_node_reply reply{};
  if (::smd_get_job_faulty_nodes(&request, &reply) != 0) return trouble();
  std::vector<FaultyNode> nodes;
  for (int i = 0; i < reply.num; ++i)
    nodes.push_back({text_of(reply.nodes[i].node_name), reply.nodes[i].cpu_cnt,
                     reply.nodes[i].state == FAILING_NODES ? Fault::failing : Fault::failed});
  ::smd_free_job_faulty_nodes_reply(&reply);
  return nodes;
}

}  // namespace

Answer<std::vector<FaultyNode>> faulty_nodes(std::uint32_t job) {
  return ask_faulty(job, FAILED_NODES | FAILING_NODES);
}
Answer<std::vector<FaultyNode>> faulty_nodes(std::uint32_t job, Fault fault) {
  return ask_faulty(job, fault == Fault::failed ? FAILED_NODES : FAILING_NODES);
}

Answer<Replaced> replace_node(std::uint32_t job, const std::string& node, bool several) {
  Replaced replaced;
  // A call of its own, and a command that the original plugin does not know; one node goes by the old one.
  if (several) {
    const smd_replace_nodes_request_t request{job, node.c_str()};
    smd_replace_nodes_reply_t reply{};
    if (::smd_replace_job_nodes(&request, &reply) != 0) return trouble();
    replaced = {text_of(reply.replacement_nodes), reply.when_available, set_of(reply.new_set)};
    ::smd_free_replace_job_nodes_reply(&reply);
    return replaced;
  }
  // (The original's structures have char*, not const.)
  std::string name = node;
  replace_node_request request{job, name.data()};
  replace_node_reply reply{};
  if (::smd_replace_job_node(&request, &reply) != 0) return trouble();
  replaced = {text_of(reply.replacement_node), reply.when_available, set_of(reply.new_set)};
  ::smd_free_replace_job_node_reply(&reply);
  return replaced;
}

Answer<NodeSet> drop_node(std::uint32_t job, const std::string& node) {
  std::string name = node;
  drop_node_request request{job, name.data()};
  drop_node_reply reply{};
  if (::smd_drop_job_node(&request, &reply) != 0) return trouble();
  NodeSet set = set_of(reply.new_set);
  ::smd_free_drop_job_node_reply(&reply);
  return set;
}

Answer<void> extend_time(std::uint32_t job, std::uint32_t minutes) {
  job_time_extend_request request{job, minutes};
  if (::smd_extend_job_time(&request) != 0) return trouble();
  return {};
}

Answer<void> drain_nodes(std::uint32_t job, const std::string& nodes, const std::string& reason) {
  std::string node = nodes, why = reason;
  drain_node_request request{job, node.data(), reason.empty() ? nullptr : why.data(), 0};
  if (::smd_drain_job_node(&request) != 0) return trouble();
  return {};
}

Answer<JobInfo> job_info(std::uint32_t job) {
  job_nonstop_info_request request{job};
  job_nonstop_info_reply reply{};
  if (::smd_nonstop_get_failed_jobinfo(&request, &reply) != 0) return trouble();
  JobInfo info;
  for (std::uint32_t i = 0; i < reply.failed_node_cnt; ++i)
    info.faulty.push_back(
        {text_of(reply.failed_nodes[i].node_name), reply.failed_nodes[i].cpu_cnt, Fault::failed});
  info.pending_delay = reply.pending_job_delay;
  info.pending_job = reply.pending_job_id;
  info.pending_node = text_of(reply.pending_node_name);
  info.replaced = reply.replace_node_cnt;
  info.credit = reply.time_extend_avail;
  ::smd_nonstop_free_failed_jobinfo(&reply);
  return info;
}

Answer<ServiceConfig> service_config() {
  nonstop_config reply{};
  if (::smd_get_nonstopconfig(&reply) != 0) return trouble();
  ServiceConfig config;
  config.file = text_of(reply.conf_fname);
  config.control_addr = text_of(reply.control_addr);
  config.backup_addr = text_of(reply.backup_addr);
  config.hot_spares = text_of(reply.hot_spare_count);
  config.drain_allow = text_of(reply.user_drain_allow);
  config.drain_deny = text_of(reply.user_drain_deny);
  config.port = reply.port, config.debug = reply.debug;
  config.max_spare_nodes = reply.max_spare_node_count;
  config.delay = reply.time_limit_delay, config.drop = reply.time_limit_drop;
  config.extend = reply.time_limit_extend;
  config.read_timeout = reply.read_timeout, config.write_timeout = reply.write_timeout;
  ::smd_free_nonstop_config(&reply);
  return config;
}

Error error_of(const Trouble& trouble, std::string_view doing) {
  const TroubleRow& row = row_of(trouble.number);
  return Error(row.code, fmt::format("cannot {}: {}", doing, trouble.text))
      .because(trouble.why)
      .remedied_by(std::string(row.remedy));
}

}  // namespace sickbay::smd
