// SPDX-License-Identifier: Apache-2.0
#include "test/slurm/lab_controls.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace sickbay::slurm {
namespace {

// As much as can be read: a process may end between the opening of its file in /proc and the reading, which
// an iterator over the stream would throw for.
std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> zero_ended(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    words.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return words;
}

std::vector<char*> c_words(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

std::string required_variable(const char* name) {
  const char* value = std::getenv(name);
  SB_CHECK(value && *value, "start this test through test/slurm/in_lab.sh");
  return value;
}

bool lab_command(const std::string& command) {
  const std::string lab = required_variable("SB_TEST_LAB");
  std::ofstream(lab + "/test-request") << command << std::endl;
  int code = -1;
  std::ifstream(lab + "/test-reply") >> code;
  return code == 0;
}

void write_slurm_conf(const std::string& text) {
  const std::string conf = required_variable("SLURM_CONF"), fresh = conf + ".new";
  std::ofstream(fresh) << text;
  SB_CHECK(std::rename(fresh.c_str(), conf.c_str()) == 0, "slurm.conf is this lab's own");
}

Slurmctld::Slurmctld() {
  pid_ = std::stoi("0" + whole_file(required_variable("SB_TEST_LAB") + "/state/slurmctld.pid"));
  SB_CHECK(pid_ > 1 && ::kill(pid_, 0) == 0, "slurmctld runs when the test starts");
  const std::string proc = "/proc/" + std::to_string(pid_);
  argv_ = zero_ended(whole_file(proc + "/cmdline"));
  environment_ = zero_ended(whole_file(proc + "/environ"));
  // From 24.11 on a reconfigured slurmctld is a new process, and this is how it was handed the old one's
  // sockets.
  std::erase_if(environment_, [](const std::string& one) { return one.starts_with("SLURMCTLD_RECONF"); });
}

void Slurmctld::stop(bool killed) {
  ::kill(pid_, killed ? SIGKILL : SIGTERM);
  const std::string stat = "/proc/" + std::to_string(pid_) + "/stat";
  // (It waits up to 30 s itself for the calls that are under way, and then for the database.)
  for (int i = 0; i < 12000; ++i) {
    if (ours_ ? ::waitpid(pid_, nullptr, WNOHANG) == pid_ : ::kill(pid_, 0) != 0) return;
    // A zombie whose parent does not look holds no port and no file.
    if (!ours_ && whole_file(stat).find(") Z ") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  SB_CHECK(false, "slurmctld ends within 120 s");
}

void Slurmctld::freeze() { ::kill(pid_, SIGSTOP); }
void Slurmctld::thaw() { ::kill(pid_, SIGCONT); }

bool Slurmctld::has_unread_request() const {
  // "sl local:port remote:port state tx:rx ...", numbers in hex: state 01 is an open connection.
  const std::string conf = whole_file(required_variable("SLURM_CONF"));
  const auto at = conf.find("\nSlurmctldPort=");
  SB_CHECK(at != std::string::npos, "slurm.conf names slurmctld's port");
  char port[8];
  std::snprintf(port, sizeof port, ":%04X", std::atoi(conf.c_str() + at + 15));
  std::ifstream in("/proc/net/tcp");
  std::string line, slot, local, remote, state, queues;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    words >> slot >> local >> remote >> state >> queues;
    if (local.ends_with(port) && state == "01" && !queues.ends_with(":00000000")) return true;
  }
  return false;
}

void Slurmctld::start() {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  auto argv = c_words(argv_);
  auto environment = c_words(environment_);
  SB_CHECK(::posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environment.data()) == 0,
           "slurmctld starts again");
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ours_ = true;
}

}  // namespace sickbay::slurm
