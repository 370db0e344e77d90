// SPDX-License-Identifier: Apache-2.0
// Hostlists of a million names, both ways, beside Slurm's own `scontrol show hostnames|hostlist`.
//
// The peer is a process, so its figures hold its start and its output to /dev/null; scontrol_start is that
// start alone.  scontrol needs no daemon for this, only some slurm.conf.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/hostlist.h"
#include "figure.h"

namespace {

using namespace sickbay;
using bench::figure;
using bench::median_ms;
using bench::require;

constexpr int kRuns = 7;
constexpr const char* kRacks = "rack[000-999]n[000-999]";

// Runs `scontrol show WHAT TEXT` with its output thrown away; false where it cannot or says no.
bool scontrol(const std::string& what, const std::string& text, const std::string& conf) {
  std::string verb = "show", program = "scontrol", what_arg = what, text_arg = text;
  char* argv[] = {program.data(), verb.data(), what_arg.data(), text_arg.data(), nullptr};
  std::string conf_env = "SLURM_CONF=" + conf, path_env = std::string("PATH=") + getenv("PATH");
  char* env[] = {conf_env.data(), path_env.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, "scontrol", &files, nullptr, argv, env);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  return failed == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void peer(const std::vector<std::string>& sorted, const std::vector<std::string>& shuffled) {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_hostlist.XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  const std::string conf = folder + "/slurm.conf";
  std::ofstream(conf) << "ClusterName=bench\nSlurmctldHost=localhost\nAuthType=auth/none\n"
                         "NodeName=n1\nPartitionName=p Nodes=ALL\n";
  const auto write = [&](const char* name, const std::vector<std::string>& names) {
    std::ofstream out(folder + name);
    for (const std::string& n : names) out << n << '\n';
    return folder + name;
  };
  const std::string sorted_file = write("/sorted", sorted), shuffled_file = write("/shuffled", shuffled);
  const struct {
    const char* name;
    const char* what;
    std::string text;
  } rows[] = {
      {"scontrol_start", "hostnames", "n1"},
      {"scontrol_hostnames_1m", "hostnames", kRacks},
      {"scontrol_hostlist_1m_sorted", "hostlist", sorted_file},
      {"scontrol_hostlistsorted_1m_sorted", "hostlistsorted", sorted_file},
      {"scontrol_hostlistsorted_1m_shuffled", "hostlistsorted", shuffled_file},
  };
  for (const auto& row : rows) {
    bool ok = true;
    const double ms = median_ms(
        5, [] {}, [&] { ok = ok && scontrol(row.what, row.text, conf); });
    if (ok)
      figure(row.name, ms, "ms");
    else
      std::fprintf(stderr, "bench: no %s: scontrol is not installed, or refused\n", row.name);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main() {
  std::vector<std::string> names;
  figure("expand_1m_racks",
         median_ms(
             kRuns, [&] { names = {}; }, [&] { names = expand_hostlist(kRacks).value(); }),
         "ms");
  require(names.size() == 1'000'000, "a million names");
  const std::vector<std::string> racks = names;

  std::string text;
  figure("compress_1m_sorted",
         median_ms(
             kRuns, [] {}, [&] { text = compress_hostlist(racks); }),
         "ms");
  require(text == kRacks, "the text comes back");
  std::mt19937 random(1);
  std::vector<std::string> shuffled = racks;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  figure("compress_1m_shuffled",
         median_ms(
             kRuns, [] {}, [&] { text = compress_hostlist(shuffled); }),
         "ms");
  require(text == kRacks, "the text comes back");

  // The worst case: no two names share a prefix.
  std::vector<std::string> strangers = racks;
  for (std::string& name : strangers) name += 'x';
  std::shuffle(strangers.begin(), strangers.end(), random);
  figure("compress_1m_strangers",
         median_ms(
             kRuns, [] {}, [&] { text = compress_hostlist(strangers); }),
         "ms");

  figure("expand_1m_one_by_one",
         median_ms(
             kRuns, [&] { names = {}; }, [&] { names = expand_hostlist(text).value(); }),
         "ms");
  require(names.size() == 1'000'000, "a million names");
  const auto odd = expand_hostlist("rack[000-999]n[000-499]").value();
  figure("without_1m",
         median_ms(
             kRuns, [&] { names = {}; }, [&] { names = hosts_without(racks, odd); }),
         "ms");
  require(names.size() == 500'000, "half of them");

  // What a message or a log line costs: the nodes of one job.
  const auto job = expand_hostlist("n[0001-0512]").value();
  figure("compress_512_names",
         1000 * median_ms(
                    101, [] {}, [&] { text = compress_hostlist(job); }),
         "us");

  peer(racks, shuffled);
  return 0;
}
