// SPDX-License-Identifier: Apache-2.0
// Who has the lock of a journal, and what a writer that was killed leaves behind.
#include "adapters/sqlite/writer_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace sickbay::sqlite {
namespace {

class WriterLockTest : public testing::Test {
 protected:
  WriterLockTest() {
    std::string name = testing::TempDir() + "/writer_lock.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~WriterLockTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/journal.db"; }

  std::string folder_;
};

TEST_F(WriterLockTest, ASecondWriterIsRefusedAtOnce) {
  WriterLock first, second;
  ASSERT_TRUE(first.take(path()));
  const Status refused = second.take(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_NE(refused.error().what.find("process " + std::to_string(::getpid())), std::string::npos);
}

// The writer dies while a child that it has just forked is not at its exec yet: the child has the lock.
TEST_F(WriterLockTest, WhatAKilledWriterHasForkedIsWaitedFor) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto* lock = new WriterLock;  // never closed: the process ends without a word, as by SIGKILL
    if (!lock->take(path())) ::_exit(1);
    if (::fork() == 0) ::usleep(300'000);  // a slow way to the exec
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_EQ(status, 0);
  WriterLock next;
  const Status taken = next.take(path());
  EXPECT_TRUE(taken) << taken.error().what;
}

}  // namespace
}  // namespace sickbay::sqlite
