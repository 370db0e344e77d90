// SPDX-License-Identifier: Apache-2.0
// Repairs on real files and real processes, and threads that hang.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "adapters/node/families.h"
#include "adapters/node/lanes.h"
#include "adapters/node/node_test_parts.h"
#include "adapters/node/parse.h"
#include "model/builtin_operations.h"

namespace sickbay::node {
namespace {

using Ended = OperationEnd::Result;
constexpr std::int64_t kDay = 86'400;

// One call of a family that runs on a thread, as if `days` had passed: no file can be made old (its change
// time is the kernel's), so the clock is put forward.
OperationEnd call_later(OperationEnd (*family)(const Call&), const std::string& operation, const Tree& tree,
                        Json arguments, int days) {
  const std::atomic<bool> cancelled = false;
  const Call call{
      .operation = operation,
      .arguments = builtin_arguments(*builtin_operation(operation), arguments, Json::object()).value(),
      .tree = &tree,
      .now = from_unix_seconds(::time(nullptr) + days * kDay),
      .cancelled = &cancelled};
  return family(call);
}

class CleanTemporary : public ::testing::Test {
 protected:
  CleanTemporary() {
    unpack("vm", folder_);
    folder_.write("/tmp/old", std::string(10'000, 'x'));
    folder_.write("/tmp/deep/er/old", "x");
    folder_.write("/tmp/deep/new", "x");
    folder_.write("/outside/keep", "x");
    folder_.write("/outside/folder/keep", "x");
    make("/tmp/link-to-file", "/outside/keep");
    make("/tmp/link-to-folder", "/outside/folder");
    ::mkfifo(path("/tmp/pipe").c_str(), 0600);
    std::filesystem::create_directories(path("/tmp/empty"));
    ::chmod(path("/tmp").c_str(), 01777);
    // Read and written in the future: young whatever the change time says.
    const timespec later[2] = {{::time(nullptr) + 9 * kDay, 0}, {::time(nullptr) + 9 * kDay, 0}};
    ::utimensat(AT_FDCWD, path("/tmp/deep/new").c_str(), later, 0);
  }
  void make(const std::string& link, const std::string& target) {
    std::filesystem::create_symlink(path(target), path(link));
  }
  std::string path(const std::string& below) const { return folder_.path() + below; }
  bool there(const std::string& below) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(below)));
  }
  // The files are ours, whoever we are.
  Json arguments(std::int64_t first_uid = 0) const {
    return Json::object({{"path", "/tmp"}, {"days", 7}, {"first_uid", first_uid}});
  }
  TestFolder folder_;
  Tree tree_{folder_.path()};
};

TEST_F(CleanTemporary, RemovesOldFilesAndNothingElse) {
  const OperationEnd count = call_later(temporary_files, "temporary_files", tree_, arguments(), 8);
  EXPECT_EQ(count.outputs["temporary_old_files"], Json(4)) << count.text;  // two files, two links
  const OperationEnd end = call_later(clean_temporary, "clean_temporary", tree_, arguments(), 8);
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  for (const char* gone : {"/tmp/old", "/tmp/deep/er/old", "/tmp/deep/er", "/tmp/empty", "/tmp/link-to-file",
                           "/tmp/link-to-folder"})
    EXPECT_FALSE(there(gone)) << gone;
  for (const char* kept :
       {"/tmp", "/tmp/deep", "/tmp/deep/new", "/tmp/pipe", "/outside/keep", "/outside/folder/keep"})
    EXPECT_TRUE(there(kept)) << kept;
  EXPECT_EQ(end.outputs["files_removed"], Json(6));
  EXPECT_GE(end.outputs["space_freed"].as_int(), 10'000);
}

TEST_F(CleanTemporary, LeavesWhatIsYoungOrOfOthers) {
  EXPECT_EQ(call_later(clean_temporary, "clean_temporary", tree_, arguments(), 6).outputs["files_removed"],
            Json(0));
  EXPECT_EQ(call_later(clean_temporary, "clean_temporary", tree_, arguments(4'000'000'000), 8)
                .outputs["files_removed"],
            Json(0));
  EXPECT_TRUE(there("/tmp/old"));
}

TEST_F(CleanTemporary, LeavesFilesOfUsersWithAJob) {
  // We are the user of job 17 on this machine.
  const std::string me = std::to_string(::getuid() == 0 ? 60001 : ::getuid());
  folder_.write("/proc/900/stat", "900 (slurmstepd) S 1 9 9 0 -1 0 1 1 0 0 1 1 1 1 20 0 1 0 5 1 1 1\n");
  folder_.write("/proc/900/cmdline", "slurmstepd: [17.0]");
  folder_.write("/proc/901/stat", "901 (a.out) S 900 9 9 0 -1 0 1 1 0 0 1 1 1 1 20 0 1 0 5 1 1 1\n");
  folder_.write("/proc/901/status", "Uid:\t" + me + "\n");
  if (::getuid() == 0) {
    for (const char* file : {"/tmp/old", "/tmp/deep/er/old", "/tmp/link-to-file", "/tmp/link-to-folder",
                             "/tmp/deep/er", "/tmp/empty"})
      ASSERT_EQ(::lchown(path(file).c_str(), 60001, 60001), 0);
  }
  EXPECT_EQ(call_later(clean_temporary, "clean_temporary", tree_, arguments(), 8).outputs["files_removed"],
            Json(0));
  // A job whose user has no process yet may be anybody's.
  std::filesystem::remove_all(path("/proc/901"));
  const OperationEnd end = call_later(clean_temporary, "clean_temporary", tree_, arguments(), 8);
  EXPECT_EQ(end.result, Ended::unknown);
  EXPECT_EQ(end.text, "job 17 has no process of its user yet: nobody can say whose processes may go");
}

TEST_F(CleanTemporary, RefusesFoldersThatAreNotTemporary) {
  const auto clean = [&](const char* where) {
    return call_later(clean_temporary, "clean_temporary", tree_,
                      Json::object({{"path", where}, {"first_uid", 0}}), 8)
        .text;
  };
  EXPECT_EQ(clean("/outside"), "'/outside' has no sticky bit: it is no folder of temporary files");
  EXPECT_EQ(clean("/tmp/link-to-folder"), "cannot open '/tmp/link-to-folder': Not a directory");
  EXPECT_EQ(clean("tmp"), "'tmp' is no absolute path");
  EXPECT_TRUE(there("/outside/keep"));
}

// A child that lives until it is killed; deaf to SIGTERM where asked.  It says when it is ready.
class Child {
 public:
  Child(uid_t uid, bool deaf) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (deaf) ::signal(SIGTERM, SIG_IGN);
      if (::setresuid(uid, uid, uid) != 0) ::_exit(1);
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  /// The signal that ended it, 0 where it lives.
  int ended_by() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return 0;
    return info.si_status;
  }
  std::int64_t started() const {
    return parse_process_stat(Tree("/").read("/proc/" + std::to_string(pid_) + "/stat").value())
        .value()
        .started;
  }

 private:
  pid_t pid_;
};

TEST(KillLeftovers, EndsProcessesOfUsersWithoutAJob) {
  if (::getuid() != 0) {
    // Without root nobody else's process can be ended: said, not done.
    Machine machine("/");
    EXPECT_NE(machine.run("kill_leftovers", Json::object({{"first_uid", 4'000'000'000}})).result,
              Ended::fault);
    return;
  }
  // Users that exist on no machine, so that nobody's processes are hit.
  constexpr uid_t kUser = 4'000'000'017;
  const Child gentle(kUser, false), deaf(kUser, true), spared(kUser + 1, false), ours(0, false);
  Machine machine("/");
  OperationEnd end = machine.run("kill_leftovers", Json::object({{"first_uid", std::int64_t{kUser}},
                                                                 {"except", std::to_string(kUser + 1)},
                                                                 {"grace", 1}}));
  // While a job starts elsewhere on this machine, or one of root's runs (a verification in a lab beside this
  // test takes seconds), nobody may be ended.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (end.result == Ended::unknown && std::chrono::steady_clock::now() < patience)
    end = machine.run("kill_leftovers", Json::object({{"first_uid", std::int64_t{kUser}},
                                                      {"except", std::to_string(kUser + 1)},
                                                      {"grace", 1}}));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_EQ(end.outputs.dump(), R"({"processes_killed":2,"processes_left":0})");
  EXPECT_EQ(end.text, "ended 2 processes of 4000000017");
  EXPECT_EQ(gentle.ended_by(), SIGTERM);
  EXPECT_EQ(deaf.ended_by(), SIGKILL);
  EXPECT_EQ(spared.ended_by(), 0);
  EXPECT_EQ(ours.ended_by(), 0);
}

TEST(KillProcess, EndsTheOneThatStartedThen) {
  const Child child(::getuid(), false);
  Machine machine("/");
  const auto arguments = [&](std::int64_t started) {
    return Json::object(
        {{"process_pid", child.pid()}, {"process_started", started}, {"enabled", true}, {"grace", 5}});
  };
  // The number of a process that has ended, given to another: left alone.
  OperationEnd end = machine.run("kill_process", arguments(child.started() + 1));
  EXPECT_EQ(end.text, "it was gone");
  EXPECT_EQ(child.ended_by(), 0);
  end = machine.run("kill_process", arguments(child.started()));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  EXPECT_EQ(child.ended_by(), SIGTERM);
  EXPECT_EQ(machine.run("process_gone", Json::object({{"process_pid", child.pid()}, {"process_started", 0}}))
                .outputs["process_gone"],
            Json(true));
}

// The agent at its limit of open files: as many as are open, and `free` more.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t free) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    const rlimit few{static_cast<rlim_t>(next) + free, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// A process that cannot be held is there, for all that we know.
TEST(KillProcess, WhatCannotBeHeldIsNotGone) {
  const Child child(::getuid(), false);
  const Tree tree("/");
  const Json arguments = Json::object(
      {{"process_pid", child.pid()}, {"process_started", child.started()}, {"enabled", true}, {"grace", 1}});
  for (const rlim_t free : {0, 1}) {  // none for its pidfd, none to look at it
    OperationEnd end;
    {
      const FewDescriptors few(free);
      end = call_later(kill_process, "kill_process", tree, arguments, 0);
    }
    EXPECT_EQ(end.result, Ended::unknown) << free << " " << end.outputs.dump();
    EXPECT_NE(end.text.find(fmt::format("process {} cannot be held: ", child.pid())), std::string::npos)
        << end.text;
    EXPECT_NE(end.text.find("Too many open files"), std::string::npos) << end.text;
    EXPECT_EQ(child.ended_by(), 0);
  }
}

TEST(KillLeftovers, WhatCannotBeHeldIsLeft) {
  if (::getuid() != 0) return;  // (as above)
  // Not among those that the test above may end, nor may this one end those.
  constexpr uid_t kUser = 4'000'000'016;
  const Child one(kUser, false), other(kUser, false);
  const Tree tree("/");
  const Json arguments =
      Json::object({{"first_uid", std::int64_t{kUser}}, {"except", "4000000017,4000000018"}, {"grace", 1}});
  OperationEnd end;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  do {
    const FewDescriptors few(1);
    end = call_later(kill_leftovers, "kill_leftovers", tree, arguments, 0);
  } while (end.result == Ended::unknown && std::chrono::steady_clock::now() < patience);
  EXPECT_EQ(end.result, Ended::fault) << end.text;
  EXPECT_EQ(end.outputs.dump(), R"({"processes_killed":0,"processes_left":2})");
  EXPECT_NE(end.text.find("2 are still there: cannot read /proc/"), std::string::npos) << end.text;
  EXPECT_EQ(one.ended_by(), 0);
}

TEST(RestartService, BringsAServiceBackThatHasDied) {
  // A service with a script of the old kind and a pid file; its process is a real one.
  TestFolder root;
  std::filesystem::create_directory_symlink("/proc", root.path() + "/proc");
  std::filesystem::create_directory(root.path() + "/run");
  // In a session of its own, as daemons are: what stays in the script's group ends with it.
  root.write("/etc/init.d/sickbay-fake",
             "#!/bin/sh\n/usr/bin/setsid /bin/sleep 1000 >/dev/null 2>&1 </dev/null &\n"
             "while read -r pid name rest </proc/$!/stat && [ \"$name\" != '(sleep)' ]; do :; done\n"
             "echo $! >" +
                 root.path() + "/run/sickbay-fake.pid\n");
  std::filesystem::permissions(root.path() + "/etc/init.d/sickbay-fake", std::filesystem::perms(0755));
  Machine machine(root.path());
  const Json service = Json::object({{"name", "sickbay-fake"}, {"program", "sickbay-fake-sleep"}});
  EXPECT_EQ(machine.run("service", service).outputs["service_up"], Json(false));
  const OperationEnd end = machine.run("restart_service", Json::object({{"name", "sickbay-fake"}}));
  EXPECT_EQ(end.result, Ended::ok) << end.text;
  const OperationEnd up =
      machine.run("service", Json::object({{"name", "sickbay-fake"}, {"program", "sleep"}}));
  EXPECT_EQ(up.outputs["service_up"], Json(true));
  const auto pid = static_cast<pid_t>(up.outputs["service_pid"].as_int());
  EXPECT_EQ(Tree(root.path()).number("/run/sickbay-fake.pid"), pid);
  ASSERT_GT(pid, 1);
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
}

TEST(Lanes, WhatHangsIsNamedAndHoldsOneThread) {
  auto loop = make_poll_loop().value();
  auto lanes = std::make_unique<Lanes>(*loop);
  std::atomic<bool> release = false, left = false;
  std::vector<std::string> said;
  const auto hang = [&](const std::atomic<bool>& cancelled) {
    while (!cancelled) std::this_thread::yield();
    release.wait(false);
    left = true;
    left.notify_all();
    return found(Json::object());
  };
  const auto hear = [&](OperationEnd end) {
    EXPECT_EQ(end.result, Ended::unknown);
    said.push_back(end.text);
    loop->stop();
  };
  lanes->start("filesystem '/dead'", std::chrono::milliseconds(50), hang, hear);
  loop->run();
  EXPECT_EQ(said.back(), "filesystem '/dead' did not answer within 50 ms");
  lanes->start("filesystem '/dead'", std::chrono::milliseconds(50), hang, hear);
  loop->run();
  EXPECT_EQ(said.back().substr(0, 32), "filesystem '/dead' has hung for ");
  EXPECT_EQ(lanes->under_way(), 1U);
  // Another path is asked as ever.
  lanes->start(
      "filesystem '/'", std::chrono::minutes(1), [](const auto&) { return unknown("answered"); }, hear);
  loop->run();
  EXPECT_EQ(said.back(), "answered");
  // When it comes back at last, nobody hears its late answer, and it may be asked again.
  release = true;
  release.notify_all();
  left.wait(false);
  while (lanes->under_way() > 0) {
    loop->post([&] { loop->stop(); });
    loop->run();
  }
  EXPECT_EQ(said.size(), 3U);
}

TEST(Lanes, WhatIsAskedToEndEarlyIsAnsweredAtOnce) {
  auto loop = make_poll_loop().value();
  Lanes lanes(*loop);
  const auto early_end = std::make_shared<EarlyEnd>();
  std::vector<std::string> said;
  lanes.start(
      "kill_leftovers", std::chrono::minutes(1),
      [](const std::atomic<bool>& cancelled) {
        while (!cancelled) std::this_thread::yield();
        return unknown("late");
      },
      [&](const OperationEnd& end) {
        EXPECT_EQ(end.result, Ended::unknown);
        said.push_back(end.text);
        loop->stop();
      },
      early_end);
  early_end->ask("a job has come");
  loop->run();
  while (lanes.under_way() > 0) {
    loop->post([&] { loop->stop(); });
    loop->run();
  }
  EXPECT_EQ(said, std::vector<std::string>{"kill_leftovers was ended: a job has come"});
}

TEST(Lanes, AreLeftToThemselvesAtTheEnd) {
  auto loop = make_poll_loop().value();
  auto lanes = std::make_unique<Lanes>(*loop);
  static std::atomic<bool> ended;
  ended = false;
  lanes->start(
      "slow", std::chrono::minutes(1),
      [](const std::atomic<bool>& cancelled) {
        while (!cancelled) std::this_thread::yield();
        ended = true;
        ended.notify_all();
        return unknown("");
      },
      [](const OperationEnd&) { ADD_FAILURE() << "after the end"; });
  lanes.reset();
  ended.wait(false);  // the destructor has told it to stop, and did not wait for it
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace sickbay::node
