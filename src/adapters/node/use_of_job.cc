// SPDX-License-Identifier: Apache-2.0
// job_network, job_slurm: what the paper asks of a job besides its processes: the network's use, and what
// Slurm says of it, its priority above all.
//
// The kernel counts bytes by connection and not by process: so the connections that a job's processes hold
// are looked up, and summed.  What goes past TCP (RDMA, shared memory) is not in it.
#include "adapters/node/use_of_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "adapters/node/parse_site.h"
#include "adapters/node/process_table.h"
#include "adapters/node/tcp_sockets.h"
#include "base/text.h"
#include "base/words.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

std::int64_t sum(std::int64_t a, std::uint64_t b) {
  return b > static_cast<std::uint64_t>(kMostInteger - a) ? kMostInteger : a + static_cast<std::int64_t>(b);
}

// Where the link of a file descriptor leads to a socket ("socket:[4711]"), its inode.
std::optional<std::int64_t> socket_inode(std::string_view target) {
  constexpr std::string_view kSocket = "socket:[";
  if (!target.starts_with(kSocket) || !target.ends_with(']')) return std::nullopt;
  return to_integer(target.substr(kSocket.size(), target.size() - kSocket.size() - 1));
}

}  // namespace

bool add_held_sockets(const Tree& tree, std::int64_t pid, std::set<std::int64_t>& held) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto files = tree.list(folder);
  for (const std::string& file : files)
    if (const auto target = tree.link(fmt::format("{}/{}", folder, file)))
      if (const auto inode = socket_inode(*target)) held.insert(*inode);
  return !files.empty();
}

Carried carried_by(const TcpBytesByInode& connections, const std::set<std::int64_t>& held) {
  Carried all;
  for (const auto& [inode, one] : connections) {
    if (!held.contains(inode)) continue;
    ++all.connections;
    if (!one.counted) all.sent = all.received = std::nullopt;
    if (!all.sent) continue;
    all.sent = sum(*all.sent, static_cast<std::uint64_t>(one.sent));
    all.received = sum(*all.received, static_cast<std::uint64_t>(one.received));
  }
  return all;
}

std::optional<TcpBytesByInode> tcp_bytes() {
  TcpBytesByInode all;
  const bool told =
      for_each_tcp_socket([&all](const inet_diag_msg& socket, const tcp_info& info, std::size_t size) {
        TcpBytes& bytes = all[socket.idiag_inode];
        bytes.unsent = socket.idiag_wqueue;
        bytes.uid = socket.idiag_uid;
        bytes.counted =
            has_member(size, offsetof(tcp_info, tcpi_bytes_received), sizeof info.tcpi_bytes_received);
        if (!bytes.counted) return;
        bytes.sent = sum(0, info.tcpi_bytes_acked);
        bytes.received = sum(0, info.tcpi_bytes_received);
      });
  if (!told) return std::nullopt;
  return all;
}

std::optional<std::string> network_of(const Tree& tree, std::string_view process) {
  return tree.link(fmt::format("/proc/{}/ns/net", process));
}

bool is_our_network(const Tree& tree, const std::optional<std::string>& network) {
  return network && tree.is_this_machine() && network == network_of(tree, "self");
}

OperationEnd job_network(const Call& call) {
  const Tree& tree = *call.tree;
  const std::int64_t job = call.integer("job_largest");
  if (tree.is_this_machine() && ::geteuid() != 0)
    return unknown("may not look at open files of others: not root");
  ProcessTable table(tree);
  const auto list = table.all();
  if (!list) return unknown(list.error().what);
  std::set<std::int64_t> held;
  std::map<std::optional<std::string>, std::int64_t> networks;  // a process of each namespace
  bool any = false;
  for (ProcessTable::Process& p : **list) {
    if (call.cancelled != nullptr && *call.cancelled) break;
    if (table.job(p) != job || p.stat.name == "slurmstepd") continue;  // (Slurm's own are not the job's)
    any = true;
    networks.emplace(network_of(tree, std::to_string(p.stat.pid)), p.stat.pid);
    add_held_sockets(tree, p.stat.pid, held);
  }
  if (!any) return unknown(fmt::format("job {} has no process here", job));
  // Of another namespace than ours the kernel tells nothing, and a part of the sum would look like all of it.
  const auto counts =
      networks.size() == 1 && is_our_network(tree, networks.begin()->first) ? tcp_bytes() : std::nullopt;
  if (counts) {
    const Carried all = carried_by(*counts, held);
    return found(Json::object({{"job_connections", all.connections},
                               {"job_sent", or_null(all.sent)},
                               {"job_received", or_null(all.received)}}));
  }
  std::set<std::int64_t> connections;
  for (const auto& [network, pid] : networks)
    for (const char* name : {"tcp", "tcp6"})
      for (const SocketLine& one :
           parse_sockets(tree.read(fmt::format("/proc/{}/net/{}", pid, name)).value_or(""), name))
        if (one.state == "ESTABLISHED" && held.contains(one.inode)) connections.insert(one.inode);
  return found(Json::object(
      {{"job_connections", connections.size()}, {"job_sent", Json()}, {"job_received", Json()}}));
}

// (Each task of an array has a number of its own, and the first of them that of the array: so the line is
// looked for.)
ChildPlan job_slurm(const Call& call) {
  const std::int64_t job = call.integer("job_largest");
  if (job <= 0) return {{}, {}, unknown(fmt::format("{} is no job", job))};
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, {"squeue", "--noheader", "--states=all",
                                              fmt::format("--jobs={}", job), "--format=%A|%Q|%T|%P|%q"}));
  plan.read = [job](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("squeue", outcomes[0])) return *missing;
    if (outcomes[0]->exit_code != 0)
      return unknown(fmt::format("squeue ended with exit code {}: {}", outcomes[0]->exit_code,
                                 quote_for_message(trimmed(outcomes[0]->err), 200)));
    std::string_view text = outcomes[0]->out;
    while (const auto line = next_line(text)) {
      std::vector<std::string_view> fields;
      for (std::string_view rest = *line;; rest.remove_prefix(fields.back().size() + 1)) {
        fields.push_back(rest.substr(0, rest.find('|')));
        if (fields.back().size() == rest.size()) break;
      }
      if (fields.size() != 5 || to_integer(fields[0]) != job) continue;
      const auto priority = to_integer(fields[1]);
      const auto word = [&](std::size_t field) { return std::string(fields[field].substr(0, kMostShown)); };
      return found(Json::object({{"job_priority", or_null(priority)},
                                 {"job_slurm_state", word(2)},
                                 {"job_partition", word(3)},
                                 {"job_qos", word(4)}}));
    }
    return unknown(fmt::format("Slurm knows no job {}", job));
  };
  return plan;
}

}  // namespace sickbay::node
