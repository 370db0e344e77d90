// SPDX-License-Identifier: Apache-2.0
// The quick set of operations, as `rules/node.json` runs it on a node, against the same checks in shell.
//
// Ours is one process that reads files of /proc and /sys; what may wait runs on threads.  CPU is that of the
// whole process, threads and children included, from the first start to the last answer; wall likewise.
// The peer is peer_nhc_like.sh: our own bash, written as LBNL NHC works (a shell function per check, which
// runs ps, df, awk and the like).  It is NOT NHC, which Debian does not have.  It makes fewer checks than
// ours and leaves out what a shell cannot do cheaply, so the comparison favours it.  For NHC itself about 42
// ms of CPU for 12 checks were measured on a machine of this kind (issue 4); that figure is not measured
// here.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adapters/node/node_runner.h"
#include "adapters/posix/poll_loop.h"
#include "adapters/posix/process_runner.h"
#include "figure.h"

namespace {

using namespace sickbay;
using namespace sickbay::bench;

double cpu_ms(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}
double process_cpu_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}
double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

struct Quick {
  const char* operation;
  const char* arguments;
};
// The collecting operations of rules/node.json in the mode quick, those included that a machine without the
// part answers with "unknown": looking is what costs.
const Quick kQuick[] = {{"hardware", "{}"},
                        {"memory", "{}"},
                        {"swap", "{}"},
                        {"cpus", "{}"},
                        {"load", "{}"},
                        {"zombies", "{}"},
                        {"processes", "{}"},
                        {"jobs", "{}"},
                        {"read_only_mounts", "{}"},
                        {"filesystem", R"({"path": "/"})"},
                        {"filesystem", R"({"path": "/tmp"})"},
                        {"tcp", "{}"},
                        {"clock", "{}"},
                        {"service", R"({"name": "munge", "program": "munged"})"},
                        {"service", R"({"name": "slurmd"})"},
                        {"edac", "{}"},
                        {"machine_checks", "{}"},
                        {"temperature", "{}"},
                        {"disks", "{}"},
                        {"nic", "{}"},
                        {"infiniband", "{}"}};

// A server for `reach`, here and in the peer; connections wait in its queue and are never taken.
int listening(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  require(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, 128) == 0,
          "cannot listen");
  require(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0, "no port");
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

int main() {
  int port = 0;
  const int server = listening(port);
  auto loop = make_poll_loop().value();
  auto programs = make_process_runner(*loop);
  auto runner = make_node_runner(*loop, *programs);

  std::size_t answered = 0;
  const auto round = [&] {
    std::size_t left = std::size(kQuick) + 1;
    answered = 0;
    const auto end = [&](const OperationEnd& e) {
      answered += e.result == OperationEnd::Result::ok;
      if (--left == 0) loop->stop();
    };
    for (const Quick& q : kQuick) {
      OperationCall call;
      call.operation = q.operation;
      call.run = std::string("builtin:") + q.operation;
      call.arguments = Json::parse(q.arguments).value();
      runner->run(std::move(call), end);
    }
    OperationCall call;
    call.operation = "controllers";
    call.run = "builtin:reach";
    call.arguments = Json::object({{"host", "127.0.0.1"}, {"port", port}});
    runner->run(std::move(call), end);
    loop->run();
  };
  std::vector<double> cpu, wall;
  for (int i = 0; i < 21; ++i) {
    // Each looks at the processes anew: they are kept for a second.
    if (i > 0) ::usleep(1'050'000);
    const double c = process_cpu_ms(), w = wall_ms();
    round();
    cpu.push_back(process_cpu_ms() - c);
    wall.push_back(wall_ms() - w);
  }
  require(answered >= 15, "too few operations had an answer");
  figure("quick_operations", static_cast<double>(std::size(kQuick) + 1), "operations");
  figure("quick_answered", static_cast<double>(answered), "operations");
  figure("quick_first_cpu", cpu.front(), "ms");
  figure("quick_cpu", median(cpu), "ms");
  figure("quick_wall", median(wall), "ms");
  figure("quick_wall_worst", *std::max_element(wall.begin(), wall.end()), "ms");

  // The peer: one run of the script, all its checks in one bash, as `nhc` does it.
  const std::string here = __FILE__;
  const std::string script = here.substr(0, here.rfind('/')) + "/peer_nhc_like.sh";
  const std::string port_text = std::to_string(port);
  std::vector<double> peer_cpu, peer_wall;
  for (int i = 0; i < 11; ++i) {
    const double c = cpu_ms(RUSAGE_CHILDREN), w = wall_ms();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execlp("bash", "bash", script.c_str(), port_text.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the peer's checks failed");
    peer_cpu.push_back(cpu_ms(RUSAGE_CHILDREN) - c);
    peer_wall.push_back(wall_ms() - w);
  }
  figure("peer_shell_cpu", median(peer_cpu), "ms");
  figure("peer_shell_wall", median(peer_wall), "ms");
  figure("peer_cpu_by_ours", median(peer_cpu) / median(cpu), "times");
  ::close(server);
}
