// SPDX-License-Identifier: Apache-2.0
// Orders done by real programs, on a real loop and a real store.
#include "service/agent/component_restarts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/posix/agent_files.h"
#include "adapters/posix/poll_loop.h"
#include "adapters/posix/process_runner.h"

namespace sickbay::agent {
namespace {

using testing::HasSubstr;

class ComponentRestartsTest : public testing::Test {
 protected:
  ComponentRestartsTest()
      : folder_(fmt::format("{}component_restarts_{}", testing::TempDir(), ::getpid())),
        loop_(make_poll_loop().value()),
        processes_(make_process_runner(*loop_)) {
    std::filesystem::create_directories(folder_);
    store_ = open_agent_files(folder_ + "/state").value();
    // "store" is well while its file is there; each restart is a line in `restarts`.
    component("store", "test -e up/store", "echo store >>restarts; touch up/store");
    component("server", "test -e up/store && test -e up/server", "echo server >>restarts; touch up/server",
              {"store"});
    component("late", "test -e up/late || { touch up/late; exit 1; }", "echo late >>restarts");
    component("dead", "exit 3", "echo dead >>restarts");
    component("broken", "true", "echo no such disk >&2; exit 5");
    component("slow", "true", "exec sleep 60");
    std::filesystem::create_directories(folder_ + "/up");
    begin();
  }
  ~ComponentRestartsTest() override { std::filesystem::remove_all(folder_); }

  void component(const std::string& name, const std::string& check, const std::string& restart,
                 std::vector<std::string> needs = {}) {
    const auto shell = [&](const std::string& words) {
      return std::vector<std::string>{"/bin/sh", "-c", "cd " + folder_ + " && { " + words + "; }"};
    };
    components_.push_back({name,
                           "",
                           shell(check),
                           shell(restart),
                           std::move(needs),
                           {},
                           std::chrono::seconds(20),
                           std::chrono::seconds(name == "dead" ? 1 : 20)});
    if (name == "slow") components_.back().timeout = std::chrono::seconds(1);
  }
  void begin(bool permitted = true) {
    restarts_ = std::make_unique<ComponentRestarts>(*loop_, *processes_, *store_, components_, permitted,
                                                    [](const std::string&) {});
  }
  Result<Json> order(std::int64_t task, const std::string& act, std::vector<std::string> names,
                     const std::string& check = "") {
    Json list = Json::array();
    for (const std::string& name : names) list.push(name);
    Json json = Json::object({{"act", act}, {"components", std::move(list)}});
    if (!check.empty()) json.set("check", check);
    std::optional<Result<Json>> answer;
    restarts_->take(task, json, [&](Result<Json> said) {
      EXPECT_FALSE(answer) << "once";
      answer = std::move(said);
      loop_->stop();
    });
    EXPECT_FALSE(answer) << "never from inside";
    loop_->run();
    return *answer;
  }
  std::string restarted() const {
    std::ifstream file(folder_ + "/restarts");
    std::string all, line;
    while (std::getline(file, line)) all += line + " ";
    return all;
  }

  std::string folder_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<ProcessRunner> processes_;
  std::unique_ptr<AgentStore> store_;
  std::vector<ComponentSpec> components_;
  std::unique_ptr<ComponentRestarts> restarts_;
};

TEST_F(ComponentRestartsTest, RestartsInTheOrderThatWasSaidAndLooksAtOne) {
  const auto answer = order(1, "restart", {"store", "server"}, "server");
  ASSERT_TRUE(answer) << answer.error().line();
  EXPECT_TRUE((*answer)["restarted"].as_bool());
  EXPECT_TRUE((*answer)["cured"].as_bool()) << answer->dump();
  EXPECT_GT((*answer)["took_us"].as_int(), 0);
  EXPECT_EQ(restarted(), "store server ");
}

TEST_F(ComponentRestartsTest, OneThatIsWellAMomentLaterIsCured) {
  const auto answer = order(1, "restart", {"late"});
  ASSERT_TRUE(answer);
  EXPECT_TRUE((*answer)["cured"].as_bool());
  EXPECT_GE((*answer)["took_us"].as_int(), Micros(ComponentRestarts::kLookEvery).count());
}

TEST_F(ComponentRestartsTest, OneThatIsNotCuredAndOneThatCannotBeRestarted) {
  auto answer = order(1, "restart", {"dead"});
  ASSERT_TRUE(answer);
  EXPECT_TRUE((*answer)["restarted"].as_bool());
  EXPECT_FALSE((*answer)["cured"].as_bool());
  EXPECT_THAT((*answer)["said"].as_string(), HasSubstr("dead is not well: exit code 3"));
  answer = order(2, "restart", {"broken", "server"});
  ASSERT_TRUE(answer);
  EXPECT_FALSE((*answer)["restarted"].as_bool());
  EXPECT_THAT((*answer)["said"].as_string(),
              HasSubstr("the restart of broken failed: exit code 5: no such disk"));
  EXPECT_EQ(restarted(), "dead ") << "what comes after it is not tried";
  answer = order(3, "restart", {"slow"});
  ASSERT_TRUE(answer);
  EXPECT_FALSE((*answer)["restarted"].as_bool());
  EXPECT_THAT((*answer)["said"].as_string(), HasSubstr("no end within 1 s"));
}

TEST_F(ComponentRestartsTest, LooksWithoutTouching) {
  auto answer = order(1, "check", {"broken"});
  ASSERT_TRUE(answer);
  EXPECT_TRUE((*answer)["well"].as_bool());
  answer = order(2, "check", {});
  ASSERT_TRUE(answer);
  EXPECT_FALSE((*answer)["well"].as_bool()) << "of all";
  EXPECT_THAT((*answer)["said"].as_string(), HasSubstr("store is not well: exit code 1; "));
  EXPECT_EQ(restarted(), "");
  // A look changes nothing, so it may be asked for twice.
  EXPECT_TRUE(order(1, "check", {"broken"}));
}

TEST_F(ComponentRestartsTest, ARestartIsDoneOnceWhateverAgentHearsOfIt) {
  ASSERT_TRUE(order(7, "restart", {"store"}));
  auto answer = order(7, "restart", {"store"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::conflict);
  // The next agent on this node, with the store of the last one.
  begin();
  answer = order(7, "restart", {"store"});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("begun before"));
  EXPECT_EQ(restarted(), "store ");
  EXPECT_TRUE(order(8, "restart", {"store"}));
}

TEST_F(ComponentRestartsTest, WhatIsRefused) {
  const struct {
    std::string act;
    std::vector<std::string> names;
    std::string check;
    ErrorCode code;
  } rows[] = {
      {"reboot", {"store"}, "", ErrorCode::bad_input},
      {"", {"store"}, "", ErrorCode::bad_input},
      {"restart", {}, "", ErrorCode::bad_input},
      {"restart", {"stone"}, "", ErrorCode::not_found},
      {"restart", {"store"}, "no", ErrorCode::bad_input},
      {"check", {"stone"}, "", ErrorCode::not_found},
      {"check", {"store", "stone"}, "", ErrorCode::not_found},
  };
  std::int64_t task = 0;
  for (const auto& row : rows) {
    const auto answer = order(++task, row.act, row.names, row.check);
    ASSERT_FALSE(answer) << row.act;
    EXPECT_EQ(answer.error().code, row.code) << row.act << " " << answer.error().line();
  }
  begin(false);
  const auto answer = order(++task, "restart", {"store"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied);
  EXPECT_EQ(restarted(), "");
  EXPECT_TRUE(order(++task, "check", {"broken"})) << "to look needs no permission";
}

TEST_F(ComponentRestartsTest, OneAfterTheOther) {
  std::vector<int> ends;
  for (const int task : {1, 2, 3})
    restarts_->take(
        task,
        Json::object({{"act", "restart"}, {"components", Json::array({task == 2 ? "store" : "server"})}}),
        [&, task](Result<Json>) {
          ends.push_back(task);
          if (ends.size() == 3) loop_->stop();
        });
  // Heard of twice while it waits: it is the same one.
  restarts_->take(2, Json::object({{"act", "restart"}, {"components", Json::array({"store"})}}),
                  [&](Result<Json>) { FAIL(); });
  loop_->run();
  EXPECT_THAT(ends, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(restarted(), "server store server ");
}

}  // namespace
}  // namespace sickbay::agent
