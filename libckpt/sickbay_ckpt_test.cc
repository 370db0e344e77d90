// SPDX-License-Identifier: Apache-2.0
// libsickbay-ckpt as programs see it: by its header and the shared library, in several processes.
#include "sickbay_ckpt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "checkpoint/checkpoint_test_parts.h"

namespace {

using sickbay::checkpoint::test::noise;
using sickbay::checkpoint::test::read_text;
using sickbay::checkpoint::test::TemporaryFolder;
using sickbay::checkpoint::test::write_text;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kRanks = 4;

// The state of a process after `step` steps.
std::string grid_of(int rank, long step) {
  std::string grid = noise(300'000, static_cast<unsigned>(rank));
  for (long s = 1; s <= step; ++s)
    grid[static_cast<std::size_t>(s) * 7919 % grid.size()] = static_cast<char>(s);
  return grid;
}

// What children tell the test, beside their exit codes.
struct Shared {
  std::atomic<long> step[kRanks], number[kRanks];
  std::atomic<int> flag;
};

class CkptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_PROCID", "SLURM_RESTART_COUNT", "PMI_RANK",
          "SICKBAY_SESSION", "SICKBAY_CHECKPOINT_JOB", "SICKBAY_CHECKPOINT_FROM", "SICKBAY_CHECKPOINT_EVERY",
          "SICKBAY_CHECKPOINT_MTTF", "SLURM_JOB_END_TIME", "SICKBAY_CHECKPOINT_FAST", "SICKBAY_CKPT_PROGRAM"})
      ::unsetenv(name);
    ::setenv("SICKBAY_LEAVING_FILE", (folder_ / "leaving.%t").c_str(),
             1);  // (each rank has a node of its own)
    ::setenv("SLURM_JOB_ID", "17", 1);
    ::setenv("SICKBAY_CHECKPOINTS", (folder_ / "store").c_str(), 1);
    ::setenv("SICKBAY_CHECKPOINT_TIMEOUT", "30s", 1);
    std::filesystem::create_directory(folder_ / "work");
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_ / "work");
    void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (page) Shared();
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    ::munmap(shared_, sizeof(Shared));
  }

  // `body` in so many processes at once; a code by rank, 128 + signal of one that was ended.
  using Body = std::function<int(int)>;
  std::vector<pid_t> start(int ranks, const Body& body) {
    std::vector<pid_t> pids;
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::alarm(60);
        int code = 99;
        try {
          code = body(rank);
        } catch (const std::exception& e) {  // (a child must not go on with the test)
          fmt::print(stderr, "{}\n", e.what());
        }
        std::fflush(nullptr);
        ::_exit(code);
      }
      pids.push_back(pid);
    }
    return pids;
  }
  static std::vector<int> end(const std::vector<pid_t>& pids) {
    std::vector<int> codes;
    for (const pid_t pid : pids) {
      int status = 0;
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    return codes;
  }
  std::vector<int> run(int ranks, const Body& body) { return end(start(ranks, body)); }

  // A process that has opened, with its state in two parts of memory.
  struct Process {
    Process(const std::string& session, int rank, int ranks = kRanks) : grid(grid_of(rank, 0)) {
      code = sickbay_ckpt_open_as(&ckpt, nullptr, rank, ranks, session.c_str());
      if (code == 0) code = sickbay_ckpt_memory(ckpt, "grid", grid.data(), grid.size());
      if (code == 0) code = sickbay_ckpt_memory(ckpt, "step", &step, sizeof step);
    }
    ~Process() { sickbay_ckpt_close(ckpt); }
    void go_to(int rank, long to) {
      step = to;
      const std::string now = grid_of(rank, to);
      std::copy(now.begin(), now.end(), grid.begin());  // in its place
    }
    int save() { return sickbay_ckpt_save(ckpt, fmt::format("step {}", step).c_str()); }
    sickbay_ckpt* ckpt = nullptr;
    int code = 0;
    std::string grid;
    long step = 0;
  };
  // All save at steps 1 ... `last`.
  void save_steps(const std::string& session, long last, int ranks = kRanks) {
    const auto codes = run(ranks, [&](int rank) {
      Process one(session, rank, ranks);
      for (long step = 1; step <= last && one.code == 0; ++step) {
        one.go_to(rank, step);
        one.code = one.save();
      }
      if (one.code != 0) fmt::print(stderr, "{}", sickbay_ckpt_error(one.ckpt));
      return one.code;
    });
    ASSERT_THAT(codes, Each(0));
  }
  // All go back; the checkpoint, which is the same of all and is whole.
  long restored(const std::string& session) {
    const auto codes = run(kRanks, [&](int rank) {
      Process one(session, rank);
      long long number = -1;
      char label[40];
      if (one.code == 0) one.code = sickbay_ckpt_restore(one.ckpt, &number, label, sizeof label);
      if (one.code != 0) fmt::print(stderr, "{}", sickbay_ckpt_error(one.ckpt));
      shared_->number[rank] = static_cast<long>(number);
      shared_->step[rank] = one.step;
      if (one.code == 0 && number > 0 && label != fmt::format("step {}", one.step)) return 101;
      if (one.code == 0 && one.grid != grid_of(rank, one.step)) return 100;
      return one.code;
    });
    EXPECT_THAT(codes, Each(0));
    for (int rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(shared_->number[rank], shared_->number[0]);
      EXPECT_EQ(shared_->step[rank], shared_->step[0]);
    }
    return shared_->number[0];
  }
  std::string store(const std::string& name) const { return folder_ / ("store/17/" + name); }
  void flip(const std::string& name) const {
    std::string bytes = read_text(store(name));
    bytes.at(bytes.size() / 3) ^= 1;
    write_text(store(name), bytes);
  }
  int program(const std::string& words, const std::string& path = CKPT_C_PROGRAM) {
    const int status = std::system((path + " " + words + " > ../out 2> ../err").c_str());
    out_ = read_text(folder_ / "out");
    err_ = read_text(folder_ / "err");
    return WEXITSTATUS(status);
  }

  const TemporaryFolder folder_;
  std::filesystem::path before_;
  Shared* shared_ = nullptr;
  std::string out_, err_;
};

TEST_F(CkptTest, AllGoBackInPlaceToWhatAllHaveSaved) {
  EXPECT_EQ(restored("none"), 0);
  save_steps("a", 5);
  EXPECT_EQ(restored("b"), 5);
  EXPECT_EQ(shared_->step[0], 5);
  EXPECT_EQ(restored("b"), 5) << "the same session in another life";
  save_steps("c", 1);
  EXPECT_EQ(restored("d"), 6);
}

TEST_F(CkptTest, ABitOfOneRankTakesAllToTheOneBefore) {
  save_steps("a", 3);
  flip("c3.r2.pack");
  EXPECT_EQ(restored("b"), 2);
  flip("c2.json");
  EXPECT_EQ(restored("c"), 1);
  flip("c1.r0.pack");
  const auto codes = run(kRanks, [&](int rank) {
    Process one("d", rank);
    one.go_to(rank, 9);
    const int code = sickbay_ckpt_restore(one.ckpt, nullptr, nullptr, 0);
    return one.grid != grid_of(rank, 9) || one.step != 9 ? 100 : code;
  });
  EXPECT_THAT(codes, Each(SICKBAY_CKPT_DAMAGED));
}

TEST_F(CkptTest, InAFastPlaceFirstAndOnSharedStorageWhenItCloses) {
  const std::string fast = folder_ / "fast";
  ::setenv("SICKBAY_CHECKPOINT_FAST", (fast + ":64M").c_str(), 1);
  ::setenv("SICKBAY_CKPT_PROGRAM", CKPT_FLUSHER, 1);
  save_steps("a", 4);
  EXPECT_TRUE(std::filesystem::exists(store("c4.json")));
  EXPECT_TRUE(std::filesystem::is_empty(store("board/fast")));
  // A program that is killed before anything of it was flushed.
  ::setenv("SICKBAY_CKPT_PROGRAM", "/bin/false", 1);
  const auto killed = run(kRanks, [&](int rank) {
    Process one("b", rank);
    one.go_to(rank, 5);
    const int code = one.save();
    return code != 0 ? code : ::raise(SIGKILL);
  });
  EXPECT_THAT(killed, Each(128 + SIGKILL));
  EXPECT_FALSE(std::filesystem::exists(store("c5.json")));
  EXPECT_EQ(restored("c"), 5);
  EXPECT_EQ(shared_->step[0], 5);
  // ... and with its nodes.
  std::filesystem::remove_all(fast);
  EXPECT_EQ(restored("d"), 4);
  EXPECT_EQ(shared_->step[0], 4);
}

TEST_F(CkptTest, WithoutTheProgramThatFlushesNoFastPlaceIsUsed) {
  ::setenv("SICKBAY_CHECKPOINT_FAST", (folder_ / "fast").c_str(), 1);
  ::setenv("SICKBAY_CKPT_PROGRAM", "", 1);
  save_steps("a", 1);
  EXPECT_TRUE(std::filesystem::exists(store("c1.json")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "fast"));
}

TEST_F(CkptTest, AnotherSizeOfOneChangesNobody) {
  save_steps("a", 2);
  for (const bool lacks : {false, true}) {
    const auto codes = run(kRanks, [&](int rank) {
      Process one(fmt::format("b{}", lacks), rank);
      one.go_to(rank, 9);
      if (rank == 2 && !lacks) sickbay_ckpt_memory(one.ckpt, "grid", one.grid.data(), one.grid.size() - 1);
      if (rank == 2 && lacks) sickbay_ckpt_memory(one.ckpt, "grid", nullptr, 0);
      const int code = sickbay_ckpt_restore(one.ckpt, nullptr, nullptr, 0);
      const std::string text = sickbay_ckpt_error(one.ckpt);
      if (text.find(lacks ? "it has a part of memory 'grid'" : "has 299999 bytes") == std::string::npos)
        return 101;
      if (text.find("remedy: name all parts") == std::string::npos) return 102;
      return one.grid != grid_of(rank, 9) || one.step != 9 ? 100 : code;
    });
    EXPECT_THAT(codes, Each(SICKBAY_CKPT_CONFLICT));
  }
  const auto fewer = run(3, [&](int rank) {
    Process one("c", rank, 3);
    return sickbay_ckpt_restore(one.ckpt, nullptr, nullptr, 0);
  });
  EXPECT_THAT(fewer, Each(SICKBAY_CKPT_CONFLICT));
  EXPECT_EQ(restored("d"), 2);
}

// One is ended at any moment; the others are told in time, and the next start has a checkpoint of all.
TEST_F(CkptTest, KilledInTheMidst) {
  ::setenv("SICKBAY_CHECKPOINT_TIMEOUT", "2s", 1);
  std::mt19937 random(7);
  long least = 0;
  for (int round = 0; round < 5; ++round) {
    shared_->flag = 0;
    const auto pids = start(kRanks, [&](int rank) {
      Process one(fmt::format("k{}", round), rank);
      long long number = 0;
      one.code = sickbay_ckpt_restore(one.ckpt, &number, nullptr, 0);
      if (one.code != 0) return one.code;
      if (number > 0 && one.grid != grid_of(rank, one.step)) return 100;
      for (long step = one.step + 1; one.code == 0; ++step) {
        one.go_to(rank, step);
        one.code = one.save();
        shared_->step[rank] = step;
        ++shared_->flag;
      }
      return one.code;
    });
    const int victim = static_cast<int>(random() % kRanks);
    const int saves = static_cast<int>(random() % 10);
    // (On a busy machine they may give each other up before; then nothing is left to kill.)
    for (int i = 0; i < 100'000 && shared_->flag < saves; ++i) ::usleep(200);
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    ::kill(pids[static_cast<std::size_t>(victim)], SIGKILL);
    const auto codes = end(pids);
    for (int rank = 0; rank < kRanks; ++rank) {
      const int code = codes[static_cast<std::size_t>(rank)];
      EXPECT_TRUE((rank == victim && code == 128 + SIGKILL) || code == SICKBAY_CKPT_TIMED_OUT ||
                  code == SICKBAY_CKPT_CONFLICT)
          << "round " << round << " rank " << rank << ": " << code;
    }
    ::setenv("SICKBAY_CHECKPOINT_TIMEOUT", "30s", 1);
    const long number = restored(fmt::format("r{}", round));
    ::setenv("SICKBAY_CHECKPOINT_TIMEOUT", "2s", 1);
    EXPECT_GE(number, least) << "what was there once is not lost";
    least = number;
  }
  EXPECT_GT(least, 0);
}

TEST_F(CkptTest, OneThatCannotSaveFailsAllAndNobodyWaits) {
  save_steps("a", 1);
  const auto state = [&](int rank) { return folder_ / fmt::format("work/state.{}", rank); };
  const auto codes = run(kRanks, [&](int rank) {
    Process one("b", rank);
    sickbay_ckpt_file(one.ckpt, "state.%t");
    if (rank != 1) write_text(state(rank), "here");
    const int none = one.save();
    write_text(state(rank), fmt::format("of {}", rank));
    one.go_to(rank, 3);
    const int different = sickbay_ckpt_save(one.ckpt, rank == 3 ? "other" : "step 3");
    const int all = one.save();
    return none != SICKBAY_CKPT_NOT_FOUND ? 100 + none : different != SICKBAY_CKPT_CONFLICT ? 120 : all;
  });
  EXPECT_THAT(codes, Each(0));
  for (int rank = 0; rank < kRanks; ++rank) write_text(state(rank), "lost");
  EXPECT_GT(restored("c"), 1);
  EXPECT_EQ(shared_->step[0], 3);
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(read_text(state(rank)), fmt::format("of {}", rank));
}

// Another program of the job has the checkpoints: all are told, and after it all go on together.
TEST_F(CkptTest, BusyAtOneFailsAllAndNobodyWaits) {
  for (const char* lock : {"lock", "board/lock.r2"}) {
    save_steps(fmt::format("a{}", lock[0] == 'l'), 1);
    const int held = ::open(store(lock).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0) << lock;
    shared_->flag = 0;
    const auto pids = start(kRanks, [&](int rank) {
      Process one(fmt::format("b{}", lock[0] == 'l'), rank);
      one.go_to(rank, 7);
      const int busy = one.save();
      for (++shared_->flag; shared_->flag <= kRanks;) ::usleep(1000);  // until the lock is free
      const int after = one.save();
      return after != 0 ? 100 + after : busy;
    });
    while (shared_->flag < kRanks) ::usleep(1000);
    ::flock(held, LOCK_UN);
    ::close(held);
    ++shared_->flag;
    const auto codes = end(pids);
    EXPECT_THAT(codes, Each(::testing::AnyOf(SICKBAY_CKPT_BUSY, SICKBAY_CKPT_CONFLICT)));
    EXPECT_EQ(codes[lock[0] == 'l' ? 0 : 2], SICKBAY_CKPT_BUSY);
  }
  EXPECT_GT(restored("c"), 3);
  EXPECT_EQ(shared_->step[0], 7);
}

TEST_F(CkptTest, AFullDiskAndNoMemoryAreErrors) {
  save_steps("a", 2);
  const auto codes = run(kRanks, [&](int rank) {
    Process one("b", rank);
    one.grid = noise(one.grid.size(), 77);  // nothing of it is there yet
    sickbay_ckpt_memory(one.ckpt, "grid", one.grid.data(), one.grid.size());
    if (rank == 1) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100'000, 100'000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    return one.save();
  });
  EXPECT_THAT(codes, Each(SICKBAY_CKPT_FULL));
  EXPECT_EQ(restored("c"), 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Wherever memory ends, the program goes on.
  int refused = 0;
  for (int room = 0; room < 48; room += 2) {
    const auto one = run(1, [&](int) {
      ::setenv("SICKBAY_CHECKPOINTS", (folder_ / fmt::format("small{}", room)).c_str(), 1);
      Process alone("x", 0, 1);
      std::ifstream status("/proc/self/statm");
      std::uint64_t pages = 0;
      status >> pages;
      const rlim_t most = pages * 4096 + (static_cast<rlim_t>(room) << 19);
      const rlimit limit{most, most};
      ::setrlimit(RLIMIT_AS, &limit);
      return alone.save();
    });
    EXPECT_TRUE(one.front() == 0 || one.front() == SICKBAY_CKPT_SYSTEM) << room << ": " << one.front();
    refused += one.front() != 0;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 24);
#endif
}

TEST_F(CkptTest, APartMovesWhenItIsNamedAgain) {
  const auto codes = run(2, [&](int rank) {
    Process one("m", rank, 2);
    std::string other(one.grid.size(), static_cast<char>('a' + rank));
    sickbay_ckpt_memory(one.ckpt, "grid", other.data(), other.size());
    if (one.save() != 0) return 100;
    sickbay_ckpt_memory(one.ckpt, "grid", one.grid.data(), one.grid.size());
    if (sickbay_ckpt_restore(one.ckpt, nullptr, nullptr, 0) != 0) return 101;
    return one.grid == other ? 0 : 102;
  });
  EXPECT_THAT(codes, Each(0));
}

// Waits until one is due; false: not in 20 s.
bool becomes_due(sickbay_ckpt* ckpt) {
  for (int i = 0; i < 20'000; ++i) {
    if (sickbay_ckpt_due(ckpt) != 0) return true;
    ::usleep(1000);
  }
  return false;
}

TEST_F(CkptTest, OneIsDueWhenTheNodeOfAnyProcessIsLeaving) {
  if (::geteuid() != 0) GTEST_SKIP() << "what is not root's is not believed";
  const auto drain = [&](int rank) {
    ::usleep(2);  // (a program has begun before the microsecond)
    ::timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::string name = folder_ / fmt::format("leaving.{}", rank);
    write_text(name + ".new", fmt::format("{}\n", now.tv_sec * 1'000'000 + now.tv_nsec / 1000));
    std::filesystem::permissions(name + ".new", std::filesystem::perms(0644));
    std::filesystem::rename(name + ".new", name);
  };
  {
    Process other("t", 1, 2), one("t", 0, 2);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0);
    drain(1);
    bool due = false;
    for (int i = 0; i < 20'000 && !due; ++i) {
      EXPECT_EQ(sickbay_ckpt_due(other.ckpt), 0) << "rank 0 alone says so";
      due = sickbay_ckpt_due(one.ckpt) != 0;
      ::usleep(1000);
    }
    EXPECT_TRUE(due) << "that of rank 1 is";
    std::thread with([&] { EXPECT_EQ(other.save(), 0); });
    EXPECT_EQ(one.save(), 0);
    with.join();
    for (int i = 0; i < 2'500; ++i) {  // (longer than both need to look again)
      EXPECT_EQ(sickbay_ckpt_due(other.ckpt), 0);
      ASSERT_EQ(sickbay_ckpt_due(one.ckpt), 0) << "once";
      ::usleep(1000);
    }
    drain(0);
    EXPECT_TRUE(becomes_due(one.ckpt)) << "its own node, later";
    // Somebody asks besides: one checkpoint is the answer to both.
    write_text(store("board/ask"), "{\"token\":\"one\"}\n");
    std::thread again([&] { EXPECT_EQ(other.save(), 0); });
    EXPECT_EQ(one.save(), 0);
    again.join();
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0);
    EXPECT_THAT(read_text(store("board/series.json")), HasSubstr("\"asked_done\":\"one\""));
    EXPECT_THAT(read_text(store("board/series.json")), HasSubstr("\"leaving_done_us\":"));
  }
  Process next("u", 0, 1);
  for (int i = 0; i < 1'200; ++i) {
    ASSERT_EQ(sickbay_ckpt_due(next.ckpt), 0) << "it was leaving when this one began";
    ::usleep(1000);
  }
}

TEST_F(CkptTest, OneIsDueByTimeByAskingAndBeforeTheEnd) {
  {
    Process one("t", 0, 1);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0) << "nobody has said when";
    EXPECT_EQ(sickbay_ckpt_every(one.ckpt, 0.3), 0);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0);
    EXPECT_TRUE(becomes_due(one.ckpt));
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 1) << "until one is taken";
    EXPECT_EQ(sickbay_ckpt_every(one.ckpt, 3600), 0);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0);
    // Somebody asks, by the file that sickbay-ckpt writes.
    write_text(store("board/ask.new"), "{\"token\":\"one\"}\n");
    std::filesystem::rename(store("board/ask.new"), store("board/ask"));
    EXPECT_TRUE(becomes_due(one.ckpt));
    EXPECT_EQ(one.save(), 0);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0);
    EXPECT_THAT(read_text(store("board/series.json")), HasSubstr("\"asked_done\":\"one\""));
    // By what a checkpoint costs: within a second, by Daly's formula and a failure every millisecond.
    EXPECT_EQ(sickbay_ckpt_every(one.ckpt, 0), 0);
    EXPECT_EQ(sickbay_ckpt_mttf(one.ckpt, 0.001), 0);
    EXPECT_TRUE(becomes_due(one.ckpt));
  }
  {
    Process one("u", 0, 1);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0) << "what was asked for is done, also in the next start";
    write_text(store("board/ask"), "{\"token\":\"two\"}\n");
    EXPECT_TRUE(becomes_due(one.ckpt));
    EXPECT_EQ(one.save(), 0);  // (of the same length as the old one, and perhaps in the same tick)
  }
  ::setenv("SLURM_JOB_END_TIME", fmt::format("{}", ::time(nullptr) + 3).c_str(), 1);
  {
    Process one("v", 0, 1);
    EXPECT_TRUE(becomes_due(one.ckpt)) << "half way to the end of the job";
    EXPECT_EQ(one.save(), 0);
    EXPECT_EQ(sickbay_ckpt_due(one.ckpt), 0) << "once";
  }
  ::unsetenv("SLURM_JOB_END_TIME");
  ::setenv("SICKBAY_CHECKPOINT_EVERY", "1ms", 1);
  {
    Process other("w", 1, 2), one("w", 0, 1);
    EXPECT_EQ(sickbay_ckpt_every(one.ckpt, 3600), 0);
    EXPECT_TRUE(becomes_due(one.ckpt)) << "the environment goes before the program";
    EXPECT_EQ(sickbay_ckpt_due(other.ckpt), 0) << "rank 0 alone says so";
  }
  ::unsetenv("SICKBAY_CHECKPOINT_EVERY");
  ::setenv("SICKBAY_CHECKPOINT_MTTF", "2s", 1);
  {
    Process one("y", 0, 1);
    EXPECT_EQ(sickbay_ckpt_every(one.ckpt, 3600), 0);
    EXPECT_TRUE(becomes_due(one.ckpt)) << "a given time between failures, too";
  }
  ::unsetenv("SICKBAY_CHECKPOINT_MTTF");
}

TEST_F(CkptTest, WhatCannotBeIsRefused) {
  sickbay_ckpt* ckpt = nullptr;
  const auto refuses = [&](int code, sickbay_ckpt* of, const char* text) {
    EXPECT_EQ(code, SICKBAY_CKPT_USAGE);
    EXPECT_THAT(sickbay_ckpt_error(of), HasSubstr(text));
    EXPECT_THAT(sickbay_ckpt_error(of), HasSubstr("remedy: "));
  };
  refuses(sickbay_ckpt_open(nullptr, nullptr), nullptr, "no place");
  refuses(sickbay_ckpt_open_as(&ckpt, nullptr, 4, 4, "s"), nullptr, "rank");
  refuses(sickbay_ckpt_open_as(&ckpt, nullptr, 0, 4, nullptr), nullptr, "SICKBAY_SESSION");
  refuses(sickbay_ckpt_open_as(&ckpt, nullptr, 0, 4, "a/b"), nullptr, "session");
  refuses(sickbay_ckpt_open_as(&ckpt, "a/b", 0, 1, "s"), nullptr, "'a/b'");
  ::setenv("SICKBAY_CHECKPOINT_EVERY", "soon", 1);
  refuses(sickbay_ckpt_open(&ckpt, nullptr), nullptr, "SICKBAY_CHECKPOINT_EVERY is 'soon'");
  ::unsetenv("SICKBAY_CHECKPOINT_EVERY");
  ::unsetenv("SLURM_JOB_ID");
  refuses(sickbay_ckpt_open(&ckpt, nullptr), nullptr, "SICKBAY_CHECKPOINT_JOB=N");
  EXPECT_EQ(ckpt, nullptr);
  ::setenv("SICKBAY_CHECKPOINT_JOB", "18", 1);
  EXPECT_EQ(sickbay_ckpt_open(&ckpt, "sim"), 0);
  EXPECT_STREQ(sickbay_ckpt_error(ckpt), "");
  char byte = 0;
  refuses(sickbay_ckpt_save(ckpt, nullptr), ckpt, "no state");
  refuses(sickbay_ckpt_memory(ckpt, "a/b", &byte, 1), ckpt, "part of memory");
  refuses(sickbay_ckpt_memory(ckpt, nullptr, &byte, 1), ckpt, "no name");
  refuses(sickbay_ckpt_file(ckpt, "%x"), ckpt, "there is no %x");
  EXPECT_EQ(sickbay_ckpt_memory(ckpt, "byte", &byte, 1), 0);
  refuses(sickbay_ckpt_save(ckpt, "two\nlines"), ckpt, "label");
  refuses(sickbay_ckpt_save(ckpt, "\xff"), ckpt, "label");
  refuses(sickbay_ckpt_save(ckpt, std::string(201, 'x').c_str()), ckpt, "label");
  refuses(sickbay_ckpt_every(ckpt, -1), ckpt, "seconds");
  refuses(sickbay_ckpt_mttf(ckpt, std::numeric_limits<double>::quiet_NaN()), ckpt, "seconds");
  EXPECT_EQ(sickbay_ckpt_save(ckpt, "ж"), 0) << sickbay_ckpt_error(ckpt);
  char label[2] = {'?', '?'};
  EXPECT_EQ(sickbay_ckpt_restore(ckpt, nullptr, label, sizeof label), 0);
  EXPECT_EQ(label[1], '\0') << "cut short";
  EXPECT_EQ(sickbay_ckpt_restore(ckpt, nullptr, label, 0), 0);
  sickbay_ckpt_close(ckpt);
  for (const int code : {sickbay_ckpt_save(nullptr, ""), sickbay_ckpt_restore(nullptr, nullptr, nullptr, 0),
                         sickbay_ckpt_memory(nullptr, "x", &byte, 1), sickbay_ckpt_file(nullptr, "x"),
                         sickbay_ckpt_every(nullptr, 1), sickbay_ckpt_mttf(nullptr, 1)})
    EXPECT_EQ(code, SICKBAY_CKPT_USAGE);
  EXPECT_EQ(sickbay_ckpt_due(nullptr), 0);
  sickbay_ckpt_close(nullptr);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "store/18.sim/c5.json")) << "four were begun";
}

TEST_F(CkptTest, APlainCProgram) {
  EXPECT_EQ(program("restore"), 0) << err_;
  EXPECT_EQ(out_, "0  0 0\n");
  EXPECT_EQ(program("save"), 0) << err_;
  EXPECT_EQ(program("restore"), 0) << err_;
  EXPECT_EQ(out_, "1 step 12 12 142.71428571428572\n");
  EXPECT_EQ(err_, "");
  EXPECT_EQ(program("due"), 0);
  EXPECT_EQ(out_, "0\n");
  // Another program, by its digest: its owner is told.
  std::filesystem::copy_file(CKPT_C_PROGRAM, folder_ / "other");
  std::ofstream(folder_ / "other", std::ios::app) << "changed";
  EXPECT_EQ(program("restore", folder_ / "other"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("sickbay-ckpt: note: "));
  ::setenv("SICKBAY_CHECKPOINTS", "/proc/nowhere", 1);
  EXPECT_NE(program("restore"), 0);
  EXPECT_THAT(err_, HasSubstr("/proc/nowhere"));
}

#ifdef CKPT_FORTRAN
TEST_F(CkptTest, AFortranProgramGoesOn) {
  ASSERT_EQ(program("10", CKPT_FORTRAN), 0) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr("from step 0 ()\n"));
  const std::string wanted = out_.substr(out_.find("step 10 sum"));
  ::setenv("SICKBAY_CHECKPOINTS", (folder_ / "again").c_str(), 1);
  ASSERT_EQ(program("4", CKPT_FORTRAN), 0) << out_ << err_;
  ASSERT_EQ(program("10", CKPT_FORTRAN), 0) << out_ << err_;
  EXPECT_EQ(out_, "from step 4 (step 4)\n" + wanted);
  ::setenv("SICKBAY_CHECKPOINT_EVERY", "often", 1);
  EXPECT_EQ(program("10", CKPT_FORTRAN), 1);
  EXPECT_THAT(out_, HasSubstr("SICKBAY_CHECKPOINT_EVERY is 'often'"));
}
#endif

TEST(CkptLibrary, NumbersOfFortranAreThoseOfTheHeader) {
  const std::string header = read_text(CKPT_SOURCE "/sickbay_ckpt.h"),
                    module = read_text(CKPT_SOURCE "/sickbay_ckpt.f90");
  int found = 0;
  for (std::size_t at = header.find("  SICKBAY_CKPT_"); at != std::string::npos;
       at = header.find("\n  SICKBAY_CKPT_", at + 1)) {
    const std::size_t from = header.find('S', at), end = header.find_first_of(",/", from);
    std::string one = header.substr(from, end - from);
    one.erase(one.find_last_not_of(' ') + 1);
    EXPECT_THAT(module, ::testing::ContainsRegex(one + "[,\n]")) << one;
    ++found;
  }
  EXPECT_EQ(found, 13);
}

TEST(CkptLibrary, OnlyTheNamesOfTheMapAreExported) {
  const auto lines = [](const std::string& command) {
    std::string all;
    char part[4096];
    FILE* pipe = ::popen(command.c_str(), "r");
    while (std::fgets(part, sizeof part, pipe) != nullptr) all += part;
    ::pclose(pipe);
    return all;
  };
  const std::string wanted =
      lines("grep -o 'sickbay_ckpt_[a-z_]*' " CKPT_SOURCE "/libsickbay-ckpt.map | LC_ALL=C sort");
  EXPECT_EQ(std::count(wanted.begin(), wanted.end(), '\n'), 11);
  EXPECT_EQ(lines("nm -D --defined-only " CKPT_LIBRARY
                  " | sed -n 's/@.*//; s/.* [A-Zu] //p' | grep -v '^SICKBAY_CKPT_1$' | LC_ALL=C sort"),
            wanted);
  EXPECT_EQ(lines("grep -oE '(int|void|char\\*) sickbay_ckpt_[a-z_]+\\(' " CKPT_SOURCE
                  "/sickbay_ckpt.h | grep -oE 'sickbay_ckpt_[a-z_]+' | LC_ALL=C sort"),
            wanted);
  EXPECT_EQ(lines("readelf -d " CKPT_LIBRARY " | grep -cE 'NEEDED.*(slurm|mpi)'"), "0\n");
}

}  // namespace
