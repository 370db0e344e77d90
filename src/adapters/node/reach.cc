// SPDX-License-Identifier: Apache-2.0
// reach: does a host accept a connection?  On a thread: names are asked for, and answers waited for.
// slurm_ping: does slurmctld answer?  That it accepts a connection says less (the kernel does so for one that
// hangs), and it writes an error to its log for each connection that says nothing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "adapters/node/sockets.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

using Clock = std::chrono::steady_clock;

// 0, or the errno of why not.
int connect_to(const addrinfo& address, Clock::time_point until, const Call& call) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  // Not blocking, so that the limit is ours and not TCP's, which is minutes.
  int wrong = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (wrong == EINPROGRESS) {
    wrong = ETIMEDOUT;
    if (wait_for(fd, POLLOUT, until, *call.cancelled)) {
      socklen_t size = sizeof wrong;
      if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &wrong, &size) != 0) wrong = errno;
    }
  }
  ::close(fd);
  return wrong;
}

// The slurm.conf of this node: Slurm's own order.
Result<std::string> slurm_conf(const Tree& tree) {
  std::vector<std::string> places = {"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf",
                                     "/etc/slurm-llnl/slurm.conf"};
  if (const char* named = std::getenv("SLURM_CONF");
      named != nullptr && named[0] == '/' && tree.is_this_machine())
    places.insert(places.begin(), named);
  for (const std::string& place : places)
    if (auto text = tree.read(place)) return text;
  return fail(ErrorCode::not_found, fmt::format("there is no {}", fmt::join(places, ", ")));
}

}  // namespace

Result<SlurmControllers> slurm_controllers(const Tree& tree) {
  const auto conf = slurm_conf(tree);
  if (!conf) return fail(conf.error());
  SlurmControllers controllers = parse_controllers(*conf);
  if (controllers.hosts.empty()) return fail(ErrorCode::not_found, "slurm.conf names no SlurmctldHost");
  return controllers;
}

OperationEnd reach(const Call& call) {
  std::vector<std::string> hosts = {call.text("host")};
  std::int64_t port = call.integer("port");
  if (hosts[0].empty()) {
    auto controllers = slurm_controllers(*call.tree);
    if (!controllers) return unknown(controllers.error().what + ": give the argument `host`");
    hosts = std::move(controllers->hosts);
    port = controllers->port;
  }
  if (port <= 0 || port > 65535) return unknown(fmt::format("{} is no TCP port", port));
  const auto began = Clock::now();
  // Some time is left for the answer to be given.
  const auto until = began + call.time_limit * 9 / 10;
  std::string why;
  bool asked = false;
  // The controller and its backups: one that answers is enough.
  for (const std::string& host : hosts) {
    const auto addresses = addresses_of(host, static_cast<int>(port), SOCK_STREAM);
    if (!addresses) {
      why += (why.empty() ? "" : "; ") + addresses.error().what;
      continue;
    }
    asked = true;
    for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
      const int wrong = connect_to(*a, until, call);
      if (wrong == 0) {
        const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
        return found(Json::object({{"reachable", true}, {"reach_time", seconds}}), host);
      }
      // Of this side: no conclusion about the other.
      if (wrong == EMFILE || wrong == ENFILE || wrong == ENOBUFS || wrong == ENOMEM || wrong == EADDRNOTAVAIL)
        return unknown(fmt::format("cannot open a connection: {}", std::strerror(wrong)));
      why += fmt::format("{}{} port {}: {}", why.empty() ? "" : "; ", host, port, std::strerror(wrong));
    }
  }
  // A name that nobody knows says nothing about the host.
  if (!asked) return unknown(why);
  return found(Json::object({{"reachable", false}, {"reach_time", nullptr}}), why);
}

// "Slurmctld(primary) at ctl is UP", a line for each; Slurm before 20.02 has "(backup)" for all others.
ChildPlan slurm_ping(const Call& call) {
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, {"scontrol", "ping"}));
  plan.read = [](const std::vector<Result<ProcessOutcome>>& outcomes) {
    // One that accepts and never answers keeps scontrol until its time is up: that is an answer, too.
    const bool waited = outcomes[0] && outcomes[0]->timed_out;
    if (auto missing = no_answer("scontrol", outcomes[0]); missing && !waited) return *missing;
    bool any = false;
    std::string down;
    std::string_view text = outcomes[0]->out;
    while (const auto line = next_line(text)) {
      if (!line->starts_with("Slurmctld(")) continue;
      const bool up = trimmed(*line).ends_with(" is UP");
      const std::string_view rest = text_after(*line, " at ").value_or(*line);
      if (!up) down += (down.empty() ? "" : ",") + std::string(rest.substr(0, rest.find(' ')));
      any |= up;
    }
    if (!any && down.empty() && !waited)
      return unknown(fmt::format("scontrol ended with exit code {} and names no controller: {}",
                                 outcomes[0]->exit_code, quote_for_message(trimmed(outcomes[0]->err), 200)));
    return found(Json::object({{"slurmctld_up", any}, {"slurmctld_down", down.substr(0, kMostShown)}}),
                 any      ? ""
                 : waited ? "no answer in time"
                          : "no controller answers");
  };
  return plan;
}

}  // namespace sickbay::node
