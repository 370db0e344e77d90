// SPDX-License-Identifier: Apache-2.0
// kill_leftovers, kill_process: ends processes, each held by a pidfd, so that no other process of the same
// number is ever hit.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "adapters/node/process_table.h"
#include "adapters/node/user_list.h"

namespace sickbay::node {
namespace {

// Descriptors of processes that are to end.
class Condemned {
 public:
  Condemned() = default;
  Condemned(const Condemned&) = delete;
  Condemned& operator=(const Condemned&) = delete;
  ~Condemned() {
    for (const pollfd& p : open_) ::close(p.fd);
  }
  /// Takes the process if it is still the one that started then.  Errors: os: it could not be held, or looked
  /// at; it may be there.
  Status add(const Tree& tree, std::int64_t pid, std::int64_t started) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
    if (fd < 0) {
      // Only these say that there is no such process (the last two: the number is that of a thread by now).
      if (errno == ESRCH || errno == EINVAL || errno == ENOENT) return {};
      return fail(ErrorCode::os, std::strerror(errno));
    }
    // Looked at after it is held: now the number cannot become another's unnoticed.
    const auto text = tree.read(fmt::format("/proc/{}/stat", pid), 4096);
    const auto stat = text ? parse_process_stat(*text) : std::nullopt;
    if (!stat || stat->started != started || stat->state == 'Z')
      ::close(fd);
    else
      open_.push_back({fd, POLLIN, 0});
    if (!text && text.error().code != ErrorCode::not_found) return fail(text.error());
    return {};
  }
  std::size_t size() const { return open_.size(); }
  std::string signal(int number) {
    for (const pollfd& p : open_)
      // (ESRCH: it has ended by itself, which is what we want.)
      if (::syscall(SYS_pidfd_send_signal, p.fd, number, nullptr, 0) != 0 && errno == EPERM)
        return "may not end processes of others: not root";
    return "";
  }
  /// How many are left after at most `time`.
  std::size_t wait(std::chrono::milliseconds time, const std::atomic<bool>& cancelled) {
    const auto until = std::chrono::steady_clock::now() + time;
    for (;;) {
      std::vector<pollfd> alive;
      for (pollfd p : open_) {
        p.revents = 0;
        // A pidfd can be read once its process has ended.
        if (::poll(&p, 1, 0) == 0) alive.push_back(p);
      }
      const auto now = std::chrono::steady_clock::now();
      if (alive.empty() || now >= until || cancelled) return alive.size();
      // Short turns, so that `cancelled` is noticed.
      const auto turn =
          std::min<std::int64_t>(200, std::chrono::ceil<std::chrono::milliseconds>(until - now).count());
      ::poll(alive.data(), alive.size(), static_cast<int>(turn));
    }
  }

 private:
  std::vector<pollfd> open_;
};

struct Ended {
  std::size_t gone = 0, left = 0;
  std::string wrong;
};
Ended end_all(Condemned& condemned, const Call& call) {
  Ended ended;
  const std::size_t all = condemned.size();
  const auto grace = std::chrono::seconds(std::clamp<std::int64_t>(call.integer("grace"), 0, 60));
  ended.wrong = condemned.signal(SIGTERM);
  ended.left = condemned.wait(grace, *call.cancelled);
  // Where TERM was not permitted, KILL is not either.
  if (ended.left > 0 && ended.wrong.empty()) {
    ended.wrong = condemned.signal(SIGKILL);
    // Death by KILL takes no time; who is there after 2 s hangs in the kernel (a dead file server).
    ended.left = condemned.wait(std::chrono::seconds(2), *call.cancelled);
  }
  ended.gone = all - ended.left;
  return ended;
}

}  // namespace

OperationEnd kill_leftovers(const Call& call) {
  if (!call.tree->is_this_machine())
    return unknown("the root is not that of this machine: its processes are not here");
  const std::int64_t first = call.integer("first_uid");
  if (first < 1) return unknown("`first_uid` must be at least 1: root's processes are no leftovers");
  // Of our own: we are on a thread, where `processes` is null.  And read now, since what is a second old may
  // lack a job that has just begun.
  ProcessTable table(*call.tree);
  const auto busy = table.users_with_jobs();
  if (!busy) return unknown(busy.error().what);
  const UserList except(call.text("except"));
  // Listed first and ended together below: they share one grace.
  Condemned condemned;
  std::set<std::string> users;
  std::size_t not_held = 0;
  std::string why_not;
  for (ProcessTable::Process& p : **table.all()) {
    const auto uid = table.uid(p);
    if (!uid || *uid < first || busy->contains(*uid) || table.job(p) || except.has(table, *uid)) continue;
    if (p.stat.state == 'Z' || p.stat.pid == ::getpid()) continue;
    if (const auto held = condemned.add(*call.tree, p.stat.pid, p.stat.started); !held) {
      ++not_held;
      why_not = held.error().what;
    }
    users.insert(table.user(*uid));
  }
  Ended ended = end_all(condemned, call);
  ended.left += not_held;
  if (ended.wrong.empty()) ended.wrong = why_not;
  Json out = Json::object({{"processes_killed", ended.gone}, {"processes_left", ended.left}});
  std::string text = fmt::format("ended {} processes", ended.gone);
  std::string_view between = " of ";
  for (const std::string& user : users) {
    text.append(between).append(user);
    between = ", ";
  }
  if (ended.left == 0) return found(std::move(out), std::move(text));
  return failed(std::move(out), fmt::format("{}; {} are still there{}{}", text, ended.left,
                                            ended.wrong.empty() ? "" : ": ", ended.wrong));
}

OperationEnd kill_process(const Call& call) {
  if (!call.flag("enabled")) return unknown("it is off: the argument `enabled` is not true");
  if (!call.tree->is_this_machine())
    return unknown("the root is not that of this machine: its processes are not here");
  const std::int64_t pid = call.integer("process_pid");
  // 2^22 is the highest process number that Linux gives.
  if (pid <= 1 || pid == ::getpid() || pid > (1 << 22))
    return unknown(fmt::format("process {} is none that may be ended", pid));
  Condemned condemned;
  if (const auto held = condemned.add(*call.tree, pid, call.integer("process_started")); !held)
    return unknown(fmt::format("process {} cannot be held: {}", pid, held.error().what));
  // Not there, or its number is another's by now: what was asked for is the case.
  if (condemned.size() == 0) return found(Json::object({{"process_killed", true}}), "it was gone");
  const Ended ended = end_all(condemned, call);
  Json out = Json::object({{"process_killed", ended.left == 0}});
  if (ended.left == 0) return found(std::move(out), fmt::format("ended process {}", pid));
  return failed(std::move(out), fmt::format("process {} is still there{}{}", pid,
                                            ended.wrong.empty() ? "" : ": ", ended.wrong));
}

}  // namespace sickbay::node
