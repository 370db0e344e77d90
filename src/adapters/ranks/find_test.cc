// SPDX-License-Identifier: Apache-2.0
// Which process is which rank, on machines written down as trees of files.
#include "adapters/ranks/find.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adapters/ranks/counters.h"

namespace sickbay::ranks {
namespace {

using namespace std::string_literals;

// "A=1 B=2" as the kernel shows an environment.
std::string environment(std::string_view words) {
  std::string text;
  for (std::string_view rest = words; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    text += std::string(rest.substr(0, end)) + '\0';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

class Machine {
 public:
  Machine()
      : root_(testing::TempDir() + "ranks_" + std::to_string(::getpid()) + "_" + std::to_string(++count_)) {
    add(100, 1, "slurmstepd", 'S', 0, "");
    write(100, "cmdline", "slurmstepd: [17.0]");
    add(900, 1, "slurmstepd", 'S', 0, "");
    write(900, "cmdline", "slurmstepd: [18.0]");
  }
  ~Machine() { std::filesystem::remove_all(root_); }
  Machine(const Machine&) = delete;
  void add(int pid, int parent, const std::string& name, char state, int uid, std::string_view words,
           bool mpi = false) {
    write(pid, "stat",
          fmt::format("{} ({}) {} {} 1 1 0 -1 4 0 0 0 0 3 4 0 0 20 0 1 0 500 1000 10 1 0 0\n", pid, name,
                      state, parent));
    write(pid, "status", fmt::format("Name:\t{}\nUid:\t{}\t{}\t{}\t{}\n", name, uid, uid, uid, uid));
    write(pid, "environ", environment(words));
    write(pid, "cgroup", "0::/\n");
    write(pid, "maps", mpi ? "7f00-7f01 r-xp 0 0 0 /usr/lib/x86_64-linux-gnu/libmpich.so.12\n" : "");
  }
  void write(int pid, const std::string& file, const std::string& text) const {
    const std::string folder = root_ + "/proc/" + std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + file, std::ios::binary) << text;
  }
  void write_events(const std::string& group, const std::string& text) const {
    const std::string folder = root_ + "/sys/fs/cgroup" + group;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/cgroup.events", std::ios::binary) << text;
  }
  char state(int pid) const { return count(node::Tree(root_), {{}, pid, 500, ""}, kNoTime).state; }
  Result<FoundRanks> find(std::int64_t job, std::int64_t uid = -1) const {
    const node::Tree tree(root_);
    node::ProcessTable table(tree);
    return find_ranks(table, job, uid);
  }
  std::string found(std::int64_t job, std::int64_t uid = -1) const {
    const auto ranks = find(job, uid);
    if (!ranks) return ranks.error().what;
    std::string text;
    for (const FoundRank& r : ranks->ranks)
      text += fmt::format("{} {}/{}={} ", r.number.world, r.number.rank, r.number.size, r.pid);
    return text;
  }

 private:
  static inline int count_ = 0;
  const std::string root_;
};

// Whoever is frozen looks asleep.
TEST(Counters, AFrozenProcessIsStopped) {
  Machine m;
  m.add(200, 100, "solver", 'S', 1000, "");
  EXPECT_EQ(m.state(200), 'S');
  m.write(200, "cgroup", "0::/slurm/job_17/step_0\n");
  m.write_events("/slurm/job_17/step_0", "populated 1\nfrozen 0\n");
  EXPECT_EQ(m.state(200), 'S');
  m.write_events("/slurm/job_17/step_0", "populated 1\nfrozen 1\n");
  EXPECT_EQ(m.state(200), 'T');
}

TEST(RankNumber, ByEachLauncher) {
  const struct {
    std::string_view words;
    RankNumber number;
  } rows[] = {
      {"SLURM_PROCID=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=8", {"step 0", 3, 8, false}},
      {"SLURM_PROCID=3 SLURM_STEP_ID=2 SLURM_STEP_NUM_TASKS=8 PMI_RANK=3 PMI_SIZE=8", {"step 2", 3, 8, true}},
      // mpiexec starts its own servants with srun: theirs are srun's numbers, the ranks' are its own.
      {"SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 PMI_RANK=5 PMI_SIZE=8", {"step 0", 5, 8, true}},
      {"PMI_RANK=0 PMI_SIZE=4 SLURM_PROCID=0", {"script", 0, 4, true}},
      {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2 PMIX_NAMESPACE=123.1 SLURM_PROCID=0",
       {"123.1", 2, 4, true}},
      {"PMIX_RANK=1 PMIX_NAMESPACE=slurm.pmix.17.0 SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2",
       {"slurm.pmix.17.0", 1, 2, true}},
      // The batch script, and what is no rank at all.
      {"SLURM_PROCID=0 SLURM_NTASKS=4", {"", -1, -1, false}},
      {"HOME=/ PATH=/bin", {"", -1, -1, false}},
      {"", {"", -1, -1, false}},
      {"PMI_RANK=x SLURM_PROCID=0", {"", -1, -1, false}},
      {"PMI_RANK=-1", {"", -1, -1, false}},
      {"PMI_RANK=999999999999", {"", -1, -1, false}},
  };
  for (const auto& row : rows) EXPECT_EQ(rank_number(environment(row.words)), row.number) << row.words;
  EXPECT_EQ(rank_number("no equals sign and no end").rank, -1);
}

TEST(FindRanks, OnlyThoseOfTheJobAndItsUser) {
  Machine m;
  const std::string of = " SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4";
  m.add(101, 100, "a.out", 'R', 1000, "SLURM_PROCID=1" + of);
  m.add(102, 100, "a.out", 'R', 1000, "SLURM_PROCID=0" + of);
  m.add(103, 100, "root's", 'R', 0, "SLURM_PROCID=2" + of);
  m.add(901, 900, "a.out", 'R', 1000, "SLURM_PROCID=0" + of);
  m.add(902, 1, "stranger", 'R', 1000, "SLURM_PROCID=3" + of);
  EXPECT_EQ(m.found(17), "step 0 0/4=102 step 0 1/4=101 ");
  EXPECT_EQ(m.found(18), "step 0 0/4=901 ");
  EXPECT_EQ(m.found(17, 1001), "");
  EXPECT_EQ(m.found(19), "");
  m.add(104, 100, "other", 'R', 1001, "SLURM_PROCID=3" + of);
  EXPECT_EQ(m.found(17), "job 17 has processes of several users here");
  EXPECT_EQ(m.found(17, 1001), "step 0 3/4=104 ");
}

TEST(FindRanks, OfShellsAndServantsTheOneThatComputes) {
  const std::string of = "SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1";
  const struct {
    const char* what;
    bool shell_runs, program_mpi, child, child_mpi, second_child;
    int chosen;
  } rows[] = {
      {"a shell around it", false, false, true, false, false, 102},
      {"a shell that runs is the program", true, false, true, false, false, 101},
      {"a servant of the program", false, true, true, false, false, 101},
      {"the program within a shell, by its library", false, false, true, true, false, 102},
      {"a shell with two children", false, false, true, false, true, 101},
      {"alone", false, false, false, false, false, 101},
  };
  for (const auto& row : rows) {
    Machine m;
    m.add(101, 100, "sh", row.shell_runs ? 'R' : 'S', 1000, of, row.program_mpi);
    if (row.child) m.add(102, 101, "a.out", 'R', 1000, of, row.child_mpi);
    if (row.second_child) m.add(103, 101, "b.out", 'R', 1000, of);
    EXPECT_EQ(m.found(17), fmt::format("step 0 0/1={} ", row.chosen)) << row.what;
  }
}

TEST(FindRanks, TheLaunchersOwnServantsAreNoRanks) {
  Machine m;
  m.add(101, 100, "hydra_pmi_proxy", 'S', 1000, "SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2");
  for (int i = 0; i < 2; ++i)
    m.add(102 + i, 101, "a.out", 'R', 1000,
          fmt::format("SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 PMI_RANK={} PMI_SIZE=4", i));
  EXPECT_EQ(m.found(17), "step 0 0/4=102 step 0 1/4=103 ");
}

TEST(FindRanks, OpenMpisServantsAreNoRanksEither) {
  // Its orted has srun's number, the rank below it PMIx's; a shell of the user's may stand between.
  for (const bool shell : {false, true}) {
    Machine m;
    const std::string srun = "SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3";
    const std::string pmix =
        srun + " OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2 PMIX_NAMESPACE=77.1";
    m.add(101, 100, "orted", 'S', 1000, srun);
    if (shell) m.add(102, 101, "sh", 'S', 1000, "HOME=/");
    m.add(103, shell ? 102 : 101, "a.out", 'R', 1000, pmix, true);
    // What srun itself started beside it stays a rank.
    m.add(104, 100, "b.out", 'R', 1000, "SLURM_PROCID=0 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=1");
    EXPECT_EQ(m.found(17), "77.1 2/4=103 step 1 0/1=104 ");
  }
}

TEST(FindRanks, TwoProgramsOfOneNumberAreToldAndNotTaken) {
  Machine m;
  for (int pid = 101; pid < 103; ++pid) m.add(pid, 100, "a.out", 'R', 1000, "PMI_RANK=0 PMI_SIZE=1");
  const auto found = m.find(17);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ranks.empty());
  ASSERT_EQ(found->unread.size(), 1u);
  EXPECT_EQ(found->unread[0], (Unread{"rank 0 of script", "2 programs here have this number"}));
}

TEST(Counters, OfTheNetwork) {
  EXPECT_EQ(parse_net_dev("Inter-|   Receive\n face |bytes    packets\n"
                          "    lo:   100  1 0 0 0 0 0 0   200  1 0 0 0 0 0 0\n"
                          "  eth0:30 1 0 0 0 0 0 0 4000 1 0 0 0 0 0 0\n"),
            4330);
  EXPECT_EQ(parse_net_dev(""), 0);
  EXPECT_EQ(parse_net_dev("x: -5 1 0 0 0 0 0 0 99999999999999999999\n"), 0);
  const std::string tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:0016 00000000:0000 0A 000000FF:00000000 00:00000000 00000000  1000        0 1\n"
      "   1: 0100007F:0016 0100007F:1234 01 00000010:00000000 01:00000014 00000003  1000        0 2\n"
      "   2: 0100007F:0016 0100007F:1234 01 00001000:00000000 01:00000014 00000003  1001        0 3\n";
  EXPECT_EQ(parse_unsent(tcp, 1000), 16);
  EXPECT_EQ(parse_unsent(tcp, 1001), 4096);
  EXPECT_EQ(parse_unsent(tcp, 0), 0);
  EXPECT_EQ(parse_unsent("short\n\n1: 2 3 01\n", 0), 0);
}

}  // namespace
}  // namespace sickbay::ranks
