// SPDX-License-Identifier: Apache-2.0
// From a ProcessSpec to the exec of its program.
//
// Everything that may allocate or lock (argument vectors, limits) is made before there is a child; the child
// makes system calls only: whatever thread held a lock of the name service or of malloc holds it in the child
// for ever.  A step that fails before exec comes back through a close-on-exec pipe as {step, errno}.
#include "adapters/posix/process_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "adapters/posix/files.h"
#include "base/resource_limits.h"

namespace sickbay {
namespace {

enum class Step : int { group, descriptors, limits, identity, folder, exec };
struct StepRow {
  Step step;
  std::string_view words;
  ErrorCode code;
};
constexpr auto kSteps = std::to_array<StepRow>({
    {Step::group, "start a process group for", ErrorCode::os},
    {Step::descriptors, "set up the descriptors of", ErrorCode::os},
    {Step::limits, "set the limits of", ErrorCode::os},
    {Step::identity, "become the user of", ErrorCode::denied},
    {Step::folder, "enter the folder of", ErrorCode::denied},
    {Step::exec, "run", ErrorCode::missing_program},
});

struct Failure {
  int step;
  int error;
};

// Where the program may lie, in order.  The child tries them one by one, so that it is found with the rights
// of the user it runs as.  Relative parts of a PATH are left out: what runs does not depend on the folder.
std::vector<std::string> candidates(const ProcessSpec& spec) {
  const std::string& name = spec.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/bin:/bin";
  for (const std::string& entry : spec.environment)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  std::vector<std::string> list;
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    if (path.front() == '/') list.push_back(std::string(path.substr(0, colon)) + "/" + name);
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return list;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

constexpr int kFirstHigh = 200;  // a program's own descriptors lie below

Result<std::vector<std::pair<int, rlimit>>> limits_of(const ProcessSpec& spec) {
  std::vector<std::pair<int, rlimit>> limits;
  for (const auto& [name, value] : spec.limits) {
    const auto row = std::find_if(kResourceLimits.begin(), kResourceLimits.end(),
                                  [&n = name](const ResourceLimit& r) { return r.name == n; });
    if (row == kResourceLimits.end())
      return fail(ErrorCode::bad_input, fmt::format("no resource limit '{}'", name));
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(row->resource), &limit) != 0)
      return fail(ErrorCode::os, fmt::format("cannot read the limit {}: {}", name, std::strerror(errno)));
    // The soft limit alone, and never above the hard one, which stays the user's.
    limit.rlim_cur = std::min(value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(value), limit.rlim_max);
    limits.emplace_back(row->resource, limit);
  }
  return limits;
}

// All signals of this thread, held back.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

const std::size_t ProcessStart::kReport = sizeof(Failure);

bool becomes_another(const ProcessSpec& spec) {
  return spec.as_user && (::geteuid() == 0 || ::geteuid() != spec.as_user->uid);
}

bool ProcessStart::may_borrow_memory() const { return !becomes_another(spec_) && !spec_.kill_strays; }

Error ProcessStart::broken(std::string_view doing) const {
  return Error(ErrorCode::os,
               fmt::format("cannot {} '{}': {}", doing, spec_.argv.front(), std::strerror(errno)));
}

int ProcessStart::keep_for_child(Descriptor fd) {
  if (!fd) return -1;
  Descriptor high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstHigh));
  if (!high) return -1;
  return theirs_.emplace_back(std::move(high)).get();
}

Result<std::shared_ptr<ProcessStart>> ProcessStart::of(ProcessSpec spec, std::vector<gid_t> groups) {
  if (spec.argv.empty()) return fail(ErrorCode::internal, "a process needs a program");
  std::shared_ptr<ProcessStart> start(new ProcessStart(std::move(spec)));
  if (Status planned = start->plan(std::move(groups)); !planned) return fail(std::move(planned.error()));
  return start;
}

bool ProcessStart::give(int number, const std::string& bytes) {
  const int file = keep_for_child(memory_file(bytes));
  if (file >= 0) places_.emplace_back(file, number);
  return file >= 0;
}

Status ProcessStart::plan(std::vector<gid_t> groups) {
  parent_ = ::getpid();
  programs_ = candidates(spec_);
  argv_ = pointers(spec_.argv);
  environment_ = pointers(spec_.environment);
  groups_ = std::move(groups);
  auto limits = limits_of(spec_);
  if (!limits) return fail(std::move(limits.error()));
  limits_ = std::move(*limits);

  for (int i = 0; i < pipe_count; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(broken("make a pipe for"));
    ours_[i] = Descriptor(ends[0]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const int theirs = keep_for_child(Descriptor(ends[1]));
    if (theirs < 0) return fail(broken("make a pipe for"));
    if (i == report_pipe)
      report_ = theirs;
    else
      places_.emplace_back(theirs, i + 1);
  }
  if (!give(0, spec_.input)) return fail(broken("make the input of"));
  for (const auto& [number, bytes] : spec_.extra_fds) {
    if (number < 3 || number >= kFirstHigh)
      return fail(ErrorCode::internal, fmt::format("no program gets a descriptor {}", number));
    if (!give(number, bytes)) return fail(broken("make the input of"));
  }
  std::sort(places_.begin(), places_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return {};
}

Status ProcessStart::begin(bool borrow) {
  pid_t pid = -1;
  {
    // A handler of ours that ran in a child with our memory would do there what only we may do.
    std::optional<NoSignals> quiet;
    if (borrow) quiet.emplace();
    pid = borrow ? ::vfork() : ::fork();
    if (pid == 0) become();
  }
  Status begun = pid < 0 ? Status(fail(broken("start"))) : follow(pid);
  theirs_.clear();
  return begun;
}

// In this process again: the child runs its program, or has failed to.
Status ProcessStart::follow(pid_t pid) {
  child_.set(pid);
  ::setpgid(pid, pid);  // both sides do it: whoever comes first
  pidfd_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int wrong = errno;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (killed_) kill_now();
  if (pidfd_ && !abandoned_) return {};
  // Nobody would hear of its end (the kernel is older than 5.3, or descriptors have run out; or who asked for
  // it has gone meanwhile): so it is not left running.
  kill_now();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_.set(0);
  errno = wrong;
  return fail(broken("follow"));
}

void ProcessStart::kill_now() {
  const pid_t pid = child_.pid();
  if (pid <= 0) return;
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // it may not have its group yet
}

void ProcessStart::kill() {
  const std::lock_guard<std::mutex> lock(mutex_);
  killed_ = true;
  kill_now();
}

void ProcessStart::abandon() {
  abandoned_ = true;
  kill();
}

// In the child, up to its exec: system calls only.
void ProcessStart::become() {
  // First of all: until we run again nobody else can say who it is (vfork), and to be killed it must be
  // known.
  child_.set(::getpid());
  if (killed_) ::kill(::getpid(), SIGKILL);  // before there was anybody to kill
  int report = report_;
  auto stop = [&report](Step step) {
    const Failure failure{static_cast<int>(step), errno};
    (void)!::write(report, &failure, sizeof failure);
    ::_exit(127);
  };
  if (::setpgid(0, 0) != 0) stop(Step::group);
  // What we ignore or catch must be as usual for the program: ignored signals outlive exec.
  for (int s = 1; s < NSIG; ++s)
    if (s != SIGKILL && s != SIGSTOP) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  // Everything else is closed now and not at exec: a child that hangs in the next steps must not hold the
  // journal's lock or a client's connection after we have gone.
  int next = 0;
  auto close_range = [&](unsigned from, unsigned to) {
    if (from <= to && ::syscall(SYS_close_range, from, to, 0U) != 0) stop(Step::descriptors);
  };
  // In ascending order, so that each gap between two numbers is closed once; all sources lie above
  // kFirstHigh, so no dup2 overwrites one that is still needed.
  for (const auto& [fd, place] : places_) {
    if (::dup2(fd, place) < 0) stop(Step::descriptors);
    if (place > next) close_range(static_cast<unsigned>(next), static_cast<unsigned>(place - 1));
    next = place + 1;
  }
  // The report pipe comes behind the program's own descriptors, and alone closes with exec: that is how the
  // parent sees that exec went well.
  if (::dup3(report, next, O_CLOEXEC) < 0) stop(Step::descriptors);
  report = next;
  close_range(static_cast<unsigned>(next + 1), ~0U);

  for (const auto& [resource, limit] : limits_)
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) stop(Step::limits);
  if (becomes_another(spec_)) {
    const auto& user = *spec_.as_user;
    // Groups, then gid, then uid: after setresuid() the right to the others is gone.
    if (::setgroups(groups_.size(), groups_.data()) != 0) stop(Step::identity);
    if (::setresgid(user.gid, user.gid, user.gid) != 0) stop(Step::identity);
    if (::setresuid(user.uid, user.uid, user.uid) != 0) stop(Step::identity);
  }
  // After the change of identity, which would clear it.  Nobody bounds or reads what outlives us (the thread
  // of the loop, in truth: it is what forked).
  if (spec_.kill_strays) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent_) ::_exit(127);  // it died before
  }
  if (spec_.umask) ::umask(*spec_.umask);
  if (::chdir(spec_.folder.empty() ? "/" : spec_.folder.c_str()) != 0) stop(Step::folder);
  // As the shell does: a candidate that may not be run is worth more in the message than one that is absent.
  int worst = ENOENT;
  for (const std::string& program : programs_) {
    ::execve(program.c_str(), argv_.data(), environment_.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  errno = worst;
  stop(Step::exec);
  ::_exit(127);
}

std::optional<Error> ProcessStart::failure(std::string_view report) const {
  if (report.size() != kReport) return std::nullopt;
  Failure failure{};
  std::memcpy(&failure, report.data(), sizeof failure);
  const StepRow& row = kSteps[static_cast<std::size_t>(failure.step)];
  const std::string& program = spec_.argv.front();
  std::string object = "'" + program + "'";
  if (row.step == Step::folder) object += " (" + spec_.folder + ")";
  if (row.step == Step::identity && spec_.as_user) object += " (" + spec_.as_user->user + ")";
  Error error(row.code, fmt::format("cannot {} {}: {}", row.words, object, std::strerror(failure.error)));
  // Too long a command line is no fault of the program.
  if (failure.error == E2BIG || failure.error == ENOMEM) error.code = ErrorCode::os;
  if (row.step == Step::exec && failure.error == ENOENT && program.find('/') == std::string::npos)
    error.cause = "it is not on the PATH of its environment";
  return error;
}

}  // namespace sickbay
