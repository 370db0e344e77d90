// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/agent_files.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sickbay {
namespace {

namespace fs = std::filesystem;

class AgentFilesTest : public testing::Test {
 protected:
  AgentFilesTest() {
    char name[] = "/tmp/sickbay_agent_XXXXXX";
    folder_ = ::mkdtemp(name);
    open();
  }
  ~AgentFilesTest() override { fs::remove_all(folder_); }
  void open(AgentFilesLimits limits = {}) { store_ = open_agent_files(folder_ + "/agent", limits).value(); }
  std::string file(const std::string& name) const { return folder_ + "/agent/" + name; }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  static Json finding(const std::string& text) { return Json::object({{"boot_id", "b"}, {"text", text}}); }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    const auto waiting = store_->waiting(1000).value();
    for (const Json& item : waiting) all.push_back(item["text"].as_string());
    return all;
  }
  std::int64_t last() { return store_->waiting(1000).value().back()["n"].as_int(); }

  std::string folder_;
  std::unique_ptr<AgentStore> store_;
};

TEST_F(AgentFilesTest, KeepsFindingsInOrderUntilTheyAreDelivered) {
  EXPECT_TRUE(texts().empty());
  ASSERT_TRUE(store_->keep({finding("a"), finding("b")}));
  ASSERT_TRUE(store_->keep({finding("c")}));
  EXPECT_EQ(texts(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(store_->waiting(2)->size(), 2u);
  const std::int64_t n = last();
  EXPECT_GT(n, 1'700'000'000) << "a new folder begins with the clock";
  ASSERT_TRUE(store_->delivered(n - 1));
  open();
  EXPECT_EQ(texts(), std::vector<std::string>{"c"}) << "also after a restart";
  ASSERT_TRUE(store_->delivered(n));
  EXPECT_EQ(fs::file_size(file("spool")), 0u);
  ASSERT_TRUE(store_->keep({finding("d")}));
  EXPECT_EQ(last(), n + 1) << "numbers go on in an emptied spool";
}

TEST_F(AgentFilesTest, APowerCutAtAnyByteLosesNothingThatWasKept) {
  ASSERT_TRUE(store_->keep({finding("a")}));
  const std::string one = read("spool");
  ASSERT_TRUE(store_->keep({finding("b")}));
  const std::string two = read("spool");
  // keep() of "b" had not returned: whatever part of it is on the disk, "a" is there and no half finding.
  for (std::size_t cut = one.size(); cut <= two.size(); ++cut) {
    std::ofstream(file("spool"), std::ios::trunc) << two.substr(0, cut);
    open();
    EXPECT_EQ(texts().size(), cut == two.size() ? 2u : 1u) << cut;
    ASSERT_TRUE(store_->keep({finding("c")}));
    EXPECT_EQ(texts().back(), "c") << cut;
    EXPECT_EQ(texts().front(), "a") << cut;
  }
  // A block that the disk never wrote.
  std::ofstream(file("spool"), std::ios::trunc) << one << std::string(300, '\0') << "\n";
  ASSERT_TRUE(store_->keep({finding("c")}));
  EXPECT_EQ(texts(), (std::vector<std::string>{"a", "c"}));
  // Between `delivered` and the emptying of the spool.
  std::ofstream(file("delivered")) << last() << "\n";
  EXPECT_TRUE(texts().empty());
}

TEST_F(AgentFilesTest, SurvivesKillNine) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0;; ++i) (void)store_->keep({finding(std::to_string(i))});
  }
  while (texts().size() < 20) {
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  open();
  const auto kept = texts();
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], std::to_string(i));
  ASSERT_TRUE(store_->keep({finding("after")}));
  EXPECT_EQ(texts().back(), "after");
}

TEST_F(AgentFilesTest, AFullDiskLeavesTheSpoolAsItWas) {
  ASSERT_TRUE(store_->keep({finding("a")}));
  const auto size = fs::file_size(file("spool"));
  const pid_t child = ::fork();
  if (child == 0) {
    // RLIMIT_FSIZE fails a write as a full disk does, half-way.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size + 10, size + 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool failed = !store_->keep({finding("b")});
    ::_exit(failed && store_->waiting(10)->size() == 1 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs::file_size(file("spool")), size);
  ASSERT_TRUE(store_->keep({finding("c")}));
  EXPECT_EQ(texts(), (std::vector<std::string>{"a", "c"}));
}

TEST_F(AgentFilesTest, IsBoundedAndDropsTheOldest) {
  AgentFilesLimits limits;
  limits.spool_bytes = 4000;
  limits.journal_bytes = 1000;
  open(limits);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(store_->keep({finding(std::to_string(i))}));
    ASSERT_LE(fs::file_size(file("spool")), limits.spool_bytes);
    ASSERT_TRUE(store_->log(finding(std::to_string(i))));
  }
  const auto kept = texts();
  EXPECT_GT(kept.size(), 20u);
  EXPECT_EQ(kept.back(), "499");
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_EQ(std::stoi(kept[i]), std::stoi(kept[i - 1]) + 1);
  EXPECT_FALSE(fs::exists(file("journal.log.3")));
  EXPECT_LT(fs::file_size(file("journal.log.1")), 1200u);
}

TEST_F(AgentFilesTest, TheStateIsReadWrittenAndBegunAnew) {
  ASSERT_TRUE(store_->update_state([](Json& state) { state.set("x", 1); }));
  open();
  ASSERT_TRUE(store_->update_state([](Json& state) { EXPECT_EQ(state.dump(), R"({"x":1})"); }));
  std::ofstream(file("state.json"), std::ios::trunc) << "{half";
  ASSERT_TRUE(store_->update_state([](Json& state) {
    EXPECT_EQ(state.size(), 0u);
    state.set("y", 2);
  }));
  ASSERT_TRUE(store_->update_state([](Json& state) { EXPECT_EQ(state["y"].as_int(), 2); }));
}

}  // namespace
}  // namespace sickbay
