// SPDX-License-Identifier: Apache-2.0
// Starting, finding and ending processes.  See child.h for the rules.
#include "lab/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern "C" {  // glibc 2.36 forgot it in this header
#include <sys/pidfd.h>
}

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A pipe whose ends do not leak into programs.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) read_end = ends[0], write_end = ends[1];
  }
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() {
    if (read_end >= 0) ::close(read_end);
    read_end = -1;
  }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

bool write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<std::size_t>(n);
  }
  return true;
}

int wait_code(pid_t pid) {
  int state = 0;
  while (::waitpid(pid, &state, 0) < 0)
    if (errno != EINTR) return 255;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

void default_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(s, SIG_DFL);
}

// The last step of every program start; comes back only by failing.
void exec_command(const Command& command) {
  std::vector<char*> argv, env;
  for (const std::string& a : command.argv) argv.push_back(const_cast<char*>(a.c_str()));
  for (const std::string& e : command.env) env.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr), env.push_back(nullptr);
  if (!command.folder.empty() ? ::chdir(command.folder.c_str()) != 0
                              : command.inside != 0 && ::chdir("/") != 0)
    return;
  if (command.env.empty())
    ::execv(argv[0], argv.data());
  else
    ::execve(argv[0], argv.data(), env.data());
}

// An Error as bytes between a child and its parent: fields end with NUL.
void send_error(int fd, const Error& e) {
  std::string bytes =
      std::string(error_row(e.code).name) + '\0' + e.line() + '\0' + e.cause + '\0' + e.remedy_text + '\0';
  write_all(fd, bytes.data(), bytes.size());
}

std::string read_to_end(int fd) {
  std::string bytes;
  char block[4096];
  for (ssize_t n; (n = ::read(fd, block, sizeof block)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) bytes.append(block, static_cast<std::size_t>(n));
  }
  return bytes;
}

Error parse_error(const std::string& bytes) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\0', at);
    fields.push_back(bytes.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  fields.resize(4);
  Error e(error_code_from(fields[0]), fields[1]);
  e.cause = fields[2], e.remedy_text = fields[3];
  return e;
}

}  // namespace

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const int kAllSpaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;

Error os_error(const std::string& doing) {
  return Error(ErrorCode::os, fmt::format("{}: {}", doing, std::strerror(errno)));
}

std::optional<ProcessStat> parse_stat(const std::string& text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  std::string skipped;
  if (!(rest >> stat.state >> stat.parent)) return std::nullopt;
  for (int field = 5; field < 22; ++field) rest >> skipped;  // field 22 is starttime (proc(5))
  if (!(rest >> stat.start)) return std::nullopt;
  return stat;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  return parse_stat(slurp(fmt::format("/proc/{}/stat", pid)));
}

Process identify_process(pid_t pid) {
  const auto stat = read_stat(pid);
  return {pid, stat ? stat->start : 0};
}

bool alive(const Process& process) {
  const auto stat = read_stat(process.pid);
  return stat && stat->start == process.start && stat->state != 'Z' && stat->state != 'X';
}

bool send_signal(const Process& process, int signal) {
  // The pidfd pins the process while its start time is compared: no gap for a pid to change hands.
  const int fd = ::pidfd_open(process.pid, 0);
  if (fd < 0) return false;
  const bool sent = alive(process) && ::pidfd_send_signal(fd, signal, nullptr, 0) == 0;
  ::close(fd);
  return sent;
}

std::vector<Process> processes_of(const Process& holder) {
  struct stat space {};
  std::vector<Process> found;
  if (::stat(fmt::format("/proc/{}/ns/pid", holder.pid).c_str(), &space) != 0) return found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat its {};
    const pid_t pid = static_cast<pid_t>(std::atoi(name.c_str()));
    if (pid == holder.pid || ::stat(("/proc/" + name + "/ns/pid").c_str(), &its) != 0 ||
        its.st_ino != space.st_ino)
      continue;
    if (const Process p = identify_process(pid); p.start != 0) found.push_back(p);
  }
  return found;
}

std::optional<Process> process_by_inner_pid(const Process& holder, pid_t pid) {
  for (const Process& p : processes_of(holder)) {
    std::istringstream status(slurp(fmt::format("/proc/{}/status", p.pid)));
    for (std::string line; std::getline(status, line);)
      if (line.rfind("NSpid:", 0) == 0 && line.substr(line.find_last_of(" \t") + 1) == std::to_string(pid))
        return p;
  }
  return std::nullopt;
}

bool wait_until(milliseconds limit, const std::function<bool()>& condition) {
  const auto end = Clock::now() + limit;
  for (milliseconds pause{2};; pause = std::min(pause * 2, milliseconds{50})) {
    if (condition()) return true;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
}

bool wait_gone(const Process& process, milliseconds limit) {
  return wait_until(limit, [&] {
    ::waitpid(process.pid, nullptr, WNOHANG);  // in case it is our own child
    return !alive(process);
  });
}

bool end_process(const Process& process, milliseconds patience) {
  if (patience.count() > 0 && send_signal(process, SIGTERM) && wait_gone(process, patience)) return true;
  send_signal(process, SIGKILL);
  return wait_gone(process, milliseconds{10'000});
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "") + ":/usr/sbin:/usr/bin:/sbin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/" + name; !folder.empty() && ::access(file.c_str(), X_OK) == 0)
      return file;
  return fail(Error(ErrorCode::missing_program, fmt::format("the program '{}' is not installed", name)));
}

Status enter_spaces(pid_t holder, int spaces, bool groups) {
  // A node may sit in cgroups of the lab (a fault slows it); what enters the node later belongs there too.
  std::istringstream lines(groups ? slurp(fmt::format("/proc/{}/cgroup", holder)) : "");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.find("/sickbay-lab-", second) == std::string::npos) continue;
    const std::string controller = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    std::ofstream((controller.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller) + path +
                  "/cgroup.procs")
        << ::getpid();
  }
  const int fd = ::pidfd_open(holder, 0);
  if (fd < 0) return fail(os_error(fmt::format("could not find the holder process {}", holder)));
  const int failed = ::setns(fd, spaces != 0 ? spaces : kAllSpaces);
  ::close(fd);
  if (failed != 0) return fail(os_error(fmt::format("could not enter the namespaces of process {}", holder)));
  return {};
}

Result<Process> start_process(const Command& command) {
  auto program = find_program(command.argv.at(0));
  if (!program) return tl::unexpected(program.error());
  Command exact = command;
  exact.argv[0] = *program;
  Pipe born, failed;  // born: the pid, as its own namespace has it; failed: why execve did not go well
  const pid_t middle = ::fork();
  if (middle < 0) return fail(os_error("fork"));
  if (middle == 0) {
    default_signals();
    const int out = exact.log.empty()
                        ? ::open("/dev/null", O_WRONLY | O_CLOEXEC)
                        : ::open(exact.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (exact.inside != 0)
      if (auto entered = enter_spaces(exact.inside, exact.spaces); !entered) {
        send_error(failed.write_end, entered.error());
        ::_exit(1);
      }
    // Inside, one more fork: the parent of an orphan becomes process 1 of its *parent's* namespace, and that
    // shall be the holder.
    if (exact.inside != 0)
      if (const pid_t inner = ::fork(); inner != 0) ::_exit(inner < 0 ? 1 : wait_code(inner));
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setsid();
      ::umask(022);  // as init's services have it, whatever the caller's is
      const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      ::dup2(in, 0), ::dup2(out, 1), ::dup2(out, 2);
      ::close_range(3, ~0u, 1U << 2);  // CLOSE_RANGE_CLOEXEC: nothing of the caller leaks into a daemon
      exec_command(exact);
      send_error(failed.write_end, os_error("could not start " + exact.argv[0]));
      ::_exit(127);
    }
    write_all(born.write_end, &pid, sizeof pid);
    ::_exit(0);
  }
  born.close_write(), failed.close_write();
  pid_t pid = -1;
  const bool have_pid = read_all(born.read_end, &pid, sizeof pid) && pid > 0;
  const std::string why = read_to_end(failed.read_end);
  wait_code(middle);
  if (!why.empty()) return fail(parse_error(why));
  if (!have_pid) return fail(ErrorCode::os, "could not start " + exact.argv[0]);
  if (exact.inside == 0) return identify_process(pid);
  if (auto found = process_by_inner_pid(identify_process(exact.inside), pid)) return *found;
  return Process{};  // it has ended already: whoever waits for it will see that
}

Result<Outcome> run_to_end(const Command& command, milliseconds limit) {
  auto program = find_program(command.argv.at(0));
  if (!program) return tl::unexpected(program.error());
  Command exact = command;
  exact.argv[0] = *program;
  Pipe out, in;
  const pid_t middle = ::fork();
  if (middle < 0) return fail(os_error("fork"));
  if (middle == 0) {
    default_signals();
    ::dup2(out.write_end, 1), ::dup2(out.write_end, 2), ::dup2(in.read_end, 0);
    ::close_range(3, ~0u, 0);  // closed for real: this process lives on beside the program it starts
    if (exact.inside != 0) {
      if (auto entered = enter_spaces(exact.inside, exact.spaces); !entered) {
        const std::string why = entered.error().line();
        write_all(1, why.data(), why.size());
        ::_exit(126);
      }
      const pid_t pid = ::fork();  // a pid namespace holds for children only
      if (pid != 0) ::_exit(pid < 0 ? 126 : wait_code(pid));
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with whoever waits for it
    exec_command(exact);
    const std::string why = os_error("could not start " + exact.argv[0]).line();
    write_all(1, why.data(), why.size());
    ::_exit(127);
  }
  out.close_write(), in.close_read();
  ::signal(SIGPIPE, SIG_IGN);
  write_all(in.write_end, command.input.data(), command.input.size());
  in.close_write();
  Outcome outcome;
  const auto end = Clock::now() + limit;
  char block[4096];
  bool late = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    pollfd ready{out.read_end, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) {
      late = true;
      break;
    }
    const ssize_t n = ::read(out.read_end, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (outcome.output.size() < (1U << 20)) outcome.output.append(block, static_cast<std::size_t>(n));
  }
  if (late) ::kill(middle, SIGKILL);
  outcome.code = wait_code(middle);
  if (late)
    return fail(ErrorCode::timed_out,
                fmt::format("'{}' did not end within {} ms", command.argv[0], limit.count()));
  return outcome;
}

Status run_well(const Command& command, milliseconds limit) {
  auto outcome = run_to_end(command, limit);
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->code == 0) return {};
  std::string said = command.argv[0];
  for (std::size_t i = 1; i < command.argv.size(); ++i) said += " " + command.argv[i];
  return fail(Error(ErrorCode::os, fmt::format("'{}' ended with code {}", said, outcome->code))
                  .because(outcome->output));
}

Status run_within(pid_t holder, int spaces, const std::function<Status()>& work) {
  Pipe failed;
  const pid_t middle = ::fork();
  if (middle < 0) return fail(os_error("fork"));
  if (middle == 0) {
    default_signals();
    auto done = enter_spaces(holder, spaces);
    if (done && (spaces == 0 || (spaces & CLONE_NEWPID) != 0))
      // A pid namespace holds for children only, and a /proc mounted by us would still be the host's.
      if (const pid_t inner = ::fork(); inner != 0) ::_exit(inner < 0 ? 1 : wait_code(inner));
    if (done) done = work();
    if (!done) send_error(failed.write_end, done.error());
    ::_exit(done ? 0 : 1);
  }
  failed.close_write();
  const std::string why = read_to_end(failed.read_end);
  const int code = wait_code(middle);
  if (!why.empty()) return fail(parse_error(why));
  if (code != 0)
    return fail(ErrorCode::internal, fmt::format("a step inside a node ended with code {}", code));
  return {};
}

Result<Process> start_background(const std::string& name, int new_spaces,
                                 const std::function<Status(const Process&)>& recorded,
                                 const std::function<int()>& work) {
  Pipe born, release;
  const pid_t middle = ::fork();
  if (middle < 0) return fail(os_error("fork"));
  if (middle == 0) {
    if (new_spaces != 0 && ::unshare(new_spaces) != 0) ::_exit(1);
    const pid_t pid = ::fork();
    if (pid != 0) {
      write_all(born.write_end, &pid, sizeof pid);
      ::_exit(0);
    }
    default_signals();
    ::setsid();
    ::prctl(PR_SET_NAME, name.c_str());
    release.close_write();  // else our own copy would keep the pipe open after the parent's death
    char go = 0;
    const bool told = read_all(release.read_end, &go, 1);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 0), ::dup2(null, 1), ::dup2(null, 2);
    ::close_range(3, ~0u, 0);
    ::_exit(told ? work() : 1);
  }
  born.close_write(), release.close_read();
  pid_t pid = -1;
  const bool have_pid = read_all(born.read_end, &pid, sizeof pid) && pid > 0;
  wait_code(middle);
  if (!have_pid)
    return fail(Error(ErrorCode::os, "could not start the background process " + name)
                    .because("fork or unshare was refused")
                    .remedied_by("run it as root, outside of a container without CAP_SYS_ADMIN"));
  const Process process = identify_process(pid);
  if (auto kept = recorded(process); !kept) return tl::unexpected(kept.error());
  const char go = 1;
  write_all(release.write_end, &go, 1);
  return process;
}

}  // namespace sickbay::lab
