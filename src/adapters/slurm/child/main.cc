// SPDX-License-Identifier: GPL-2.0-or-later
// sickbay-slurm: the program that speaks to Slurm, so that sickbayd does not have to.
//
// libslurm ends its process on a bad slurm.conf, blocks for seconds when slurmctld is away and writes to
// stderr; here it may.  Requests come one at a time on descriptor 3 and are answered in order.  It ends when
// the other side closes, and with its parent.  Protocol: doc/formats/slurm-child.md.
#include <fmt/format.h>
#include <slurm/slurm.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "adapters/slurm/child/change_nodes.h"
#include "adapters/slurm/child/dependents.h"
#include "adapters/slurm/child/effects.h"
#include "adapters/slurm/child/look.h"
#include "adapters/slurm/child/pending_look.h"
#include "adapters/slurm/child/replacement.h"
#include "adapters/slurm/child/requeue.h"
#include "adapters/slurm/child/running_jobs.h"
#include "adapters/slurm/child/spare_pool.h"
#include "adapters/slurm/protocol.h"

namespace sickbay::slurm {
namespace {

constexpr int kSocket = 3;

struct CallRow {
  std::string_view name;
  Result<Json> (*run)(Look& look, const Json& args);
};
constexpr auto kCalls = std::to_array<CallRow>({
    {"refresh", [](Look& look, const Json& args) { return look.refresh(args); }},
    {"submit_verification", [](Look&, const Json& args) { return submit_verification(args); }},
    {"find", [](Look&, const Json& args) { return find_jobs(args); }},
    {"dependents", [](Look&, const Json& args) { return find_dependents(args); }},
    {"waiting", [](Look&, const Json&) { return list_waiting_jobs(); }},
    {"release", [](Look&, const Json& args) { return release_job(args); }},
    {"cancel", [](Look&, const Json& args) { return cancel_job(args); }},
    {"requeue", [](Look&, const Json& args) { return requeue_job(args); }},
    {"begin_now", [](Look&, const Json& args) { return begin_now(args); }},
    {"change_nodes", [](Look&, const Json& args) { return change_nodes(args); }},
    {"set_down", [](Look&, const Json& args) { return set_node_down(args); }},
    {"node", [](Look&, const Json& args) { return look_at_node(args); }},
    {"explain",
     [](Look&, const Json& args) {
       static PendingLook looked;  // keeps what it has read for the next question
       return looked.explain(args);
     }},
    {"running_jobs", [](Look&, const Json& args) { return list_running_jobs(args); }},
    {"running_job", [](Look&, const Json& args) { return look_at_running_job(args); }},
    {"allocate_donor", [](Look&, const Json& args) { return allocate_donor(args); }},
    {"give_donor", [](Look&, const Json& args) { return give_donor(args); }},
    {"drop_nodes", [](Look&, const Json& args) { return drop_nodes(args); }},
    {"set_time_limit", [](Look&, const Json& args) { return set_time_limit(args); }},
    {"fail_node", [](Look&, const Json& args) { return fail_node(args); }},
    {"unfail_node", [](Look&, const Json& args) { return unfail_node(args); }},
    {"set_spare_pool", [](Look&, const Json& args) { return set_spare_pool(args); }},
    {"spare_pools", [](Look&, const Json& args) { return list_spare_pools(args); }},
    {"configuration", [](Look&, const Json& args) { return read_configuration(args); }},
});

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Reply answer(Look& look, const Json& json) {
  auto request = Request::from_json(json);
  if (!request) return Reply{0, fail(std::move(request.error())), 0};
  const auto start = std::chrono::steady_clock::now();
  Result<Json> outcome = fail(ErrorCode::bad_input, "sickbay-slurm knows no call '" + request->call + "'");
  for (const CallRow& row : kCalls)
    if (row.name == request->call) outcome = row.run(look, request->args);
  const auto took = std::chrono::steady_clock::now() - start;
  return Reply{request->id, std::move(outcome),
               std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
}

int serve() {
  Look look;
  FrameReader reader;
  std::array<char, 65536> buffer;
  // From here on a request may reach slurmctld; a death before this line is a bad slurm.conf.
  if (!write_all(frame(Json::object({{"ready", true}})))) return EXIT_SUCCESS;
  for (;;) {
    auto next = reader.next();
    if (!next) {
      std::fprintf(stderr, "%s\n", next.error().message("sickbay-slurm").c_str());
      return error_row(next.error().code).exit_code;
    }
    if (*next) {
      if (!write_all(frame(answer(look, **next).to_json()))) return EXIT_SUCCESS;
      continue;
    }
    const ssize_t n = ::recv(kSocket, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return EXIT_SUCCESS;  // sickbayd is gone, or has done with us
    reader.feed({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace
}  // namespace sickbay::slurm

int main(int argc, char**) {
  // Not to outlive sickbayd even while libslurm blocks.  The parent may have died before this line: then the
  // socket is at its end.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A terminal's Ctrl-C is sickbayd's to answer.
  std::signal(SIGINT, SIG_IGN);
  int type = 0;
  socklen_t size = sizeof type;
  if (argc > 1 || getsockopt(sickbay::slurm::kSocket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fprintf(
        stderr,
        "sickbay-slurm is a part of sickbayd, which starts it with a socket as descriptor 3; it has no "
        "use of its own\n");
    return 64;
  }
  slurm_init(nullptr);  // SLURM_CONF names the file; ends the process where it is bad
  const int code = sickbay::slurm::serve();
  slurm_fini();
  return code;
}
