// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/process_identity.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sickbay {
namespace {

TEST(ProcessIdentity, IsThereAsLongAsTheProcessIs) {
  const std::string mine = process_identity();
  EXPECT_NE(mine.find("/" + std::to_string(::getpid()) + "/"), std::string::npos) << mine;
  EXPECT_TRUE(process_lives(mine));
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    ::close(hold[1]);
    (void)!::read(hold[0], &byte, 1);
    ::_exit(0);
  }
  ::close(hold[0]);
  const std::string theirs = process_identity(std::to_string(child));
  EXPECT_NE(theirs, mine);
  EXPECT_TRUE(process_lives(theirs));
  ::close(hold[1]);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_lives(theirs)) << "a zombie does nothing any more";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(process_lives(theirs));
}

TEST(ProcessIdentity, AnotherBootOrStartIsAnotherProcess) {
  const std::string mine = process_identity();
  EXPECT_FALSE(process_lives("x" + mine));
  EXPECT_FALSE(process_lives(mine + "1"));
  for (const char* none : {"", "/", "//", "b/1", "b//1", "b/self/1", "b/../1"})
    EXPECT_FALSE(process_lives(none));
}

}  // namespace
}  // namespace sickbay
