// SPDX-License-Identifier: Apache-2.0
// `sickbay lab exec`: a command on a machine of the lab, as a user, with the caller's terminal.
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lab/child.h"
#include "lab/lab.h"
#include "lab/machines.h"

namespace sickbay::lab {
namespace {

pid_t the_child = 0;  // for the signal handler below

void pass_on(int signal) {
  if (the_child > 0) ::kill(the_child, signal);
}

[[noreturn]] void complain(const std::string& what) {
  std::fprintf(stderr, "sickbay lab exec: error: %s\n", what.c_str());
  ::_exit(126);
}

// Inside all namespaces, as process of the node: become the user and the program.
[[noreturn]] void become(const Layout& l, const std::string& machine, const std::string& user,
                         const std::string& folder, const std::vector<std::string>& argv) {
  const std::string name = user.empty() ? "root" : user;
  const passwd* who = ::getpwnam(name.c_str());  // the lab's own passwd: it is mounted here
  if (who == nullptr) complain(fmt::format("the lab has no user '{}'", name));
  const std::string home = l.path("home/" + name);
  for (const std::string& pair : machine_environment(l, machine)) {
    const std::size_t eq = pair.find('=');
    // The caller's PATH is kept: it may name the programs under test.
    if (const std::string key = pair.substr(0, eq); key != "PATH" || std::getenv("PATH") == nullptr)
      ::setenv(key.c_str(), pair.substr(eq + 1).c_str(), 1);
  }
  ::setenv("HOME", home.c_str(), 1);
  ::setenv("USER", name.c_str(), 1);
  ::setenv("LOGNAME", name.c_str(), 1);
  if (::initgroups(name.c_str(), who->pw_gid) != 0 || ::setgid(who->pw_gid) != 0 ||
      ::setuid(who->pw_uid) != 0)
    complain(fmt::format("could not become {}: {}", name, std::strerror(errno)));
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // after setuid, which clears it
  if (::access(folder.c_str(), X_OK) != 0 || ::chdir(folder.c_str()) != 0)
    if (::chdir(home.c_str()) != 0 && ::chdir("/") != 0) complain("no working folder");
  std::vector<char*> raw;
  for (const std::string& a : argv) raw.push_back(const_cast<char*>(a.c_str()));
  raw.push_back(nullptr);
  ::execvp(raw[0], raw.data());
  complain(fmt::format("could not run '{}': {}", argv[0], std::strerror(errno)));
}

}  // namespace

Result<int> execute(const Layout& l, const std::string& machine, const std::string& user,
                    const std::vector<std::string>& argv) {
  if (auto root = need_root("running a command in a lab"); !root) return tl::unexpected(root.error());
  if (argv.empty())
    return fail(
        Error(ErrorCode::usage, "no command to run").remedied_by("sickbay lab exec [NAME] -- CMD..."));
  auto holder = holder_of(l, machine);
  if (!holder) return tl::unexpected(holder.error());
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  // This process enters for good (the command line ends with it); the pid namespace holds for its child.
  if (auto entered = enter_spaces(holder->pid, 0); !entered) return tl::unexpected(entered.error());
  the_child = ::fork();
  if (the_child < 0) return fail(os_error("fork"));
  if (the_child == 0) {
    become(l, machine, user, folder, argv);
  }
  // A terminal's ^C reaches both; what is sent to us alone is passed on.
  for (int s : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(s, pass_on);
  for (int s : {SIGINT, SIGQUIT}) ::signal(s, SIG_IGN);
  int state = 0;
  while (::waitpid(the_child, &state, 0) < 0)
    if (errno != EINTR) return fail(os_error("waitpid"));
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace sickbay::lab
