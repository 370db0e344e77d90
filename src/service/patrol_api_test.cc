// SPDX-License-Identifier: Apache-2.0
// Rounds of verification over the API, on the simulated cluster n[1-6]: one node at a time may be tried.
#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class PatrolApi : public ApiTest {
 protected:
  PatrolApi() { pass(seconds(5)); }
  Json round() { return body_of(ask("alice", "GET", "/v1/patrol"))["round"]; }
};

TEST_F(PatrolApi, ARoundFromAskingToItsEnd) {
  EXPECT_TRUE(round().is_null());
  const auto asked = ask("ops", "POST", "/v1/patrol", R"({"nodes":"n[1-2]"})");
  EXPECT_EQ(asked->response.status, 201);
  EXPECT_EQ(body_of(asked)["round"].as_string(), "p1");
  EXPECT_EQ(body_of(asked)["budget"].as_int(), 2) << "who names nodes wants all of them";
  pass(seconds(1));
  EXPECT_TRUE(round()["open"].as_bool());
  EXPECT_EQ(ask("ops", "POST", "/v1/patrol", R"({"nodes":"n3"})")->response.status, 409) << "one at a time";
  pass(minutes(5));
  EXPECT_FALSE(round()["open"].as_bool());
  EXPECT_EQ(round()["results"]["ok"].as_string(), "n[1-2]");
  const Json nodes = body_of(ask("alice", "GET", "/v1/nodes"));
  EXPECT_EQ(nodes["items"].items().at(0)["verified"]["result"].as_string(), "ok");
  EXPECT_THAT(nodes["items"].items().at(0)["verified"]["by"].as_string(), HasSubstr("p1.v"));
  EXPECT_TRUE(nodes["items"].items().at(0)["claim"].is_null());
  restart();
  pass(seconds(5));
  EXPECT_EQ(round()["round"].as_string(), "p1") << "kept";
}

TEST_F(PatrolApi, ARoundMayFollowAtOnce) {
  ask("ops", "POST", "/v1/patrol", R"({"nodes":"n1"})");
  for (int i = 0; i < 600 && (i == 0 || round()["open"].as_bool()); ++i) pass(seconds(1));
  EXPECT_EQ(ask("ops", "POST", "/v1/patrol", R"({"nodes":"n2"})")->response.status, 201);
  pass(minutes(5));
  EXPECT_FALSE(round()["open"].as_bool()) << "no look came between the two, and the queue is as it was";
  EXPECT_EQ(round()["results"]["ok"].as_string(), "n2");
}

TEST_F(PatrolApi, ADryRunBeginsNothing) {
  const auto answer = ask("ops", "POST", "/v1/patrol", R"({"dry_run":true,"budget":3})");
  pass(seconds(5));
  EXPECT_EQ(answer->response.status, 200);
  const Json plan = body_of(answer);
  EXPECT_EQ(plan["budget"].as_int(), 3);
  std::map<std::string, std::string> by_standing;
  for (const Json& group : plan["standings"].items())
    by_standing[group["standing"].as_string()] = group["nodes"].as_string();
  EXPECT_EQ(by_standing["ready"], "n1");
  EXPECT_EQ(by_standing["breaker"], "n[2-6]");
  EXPECT_TRUE(round().is_null());
}

TEST_F(PatrolApi, StopIsTheSameTwice) {
  EXPECT_TRUE(body_of(ask("ops", "POST", "/v1/patrol/stop", "{}"))["round"].is_null());
  ask("ops", "POST", "/v1/patrol", "{}");
  pass(seconds(30));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(body_of(ask("ops", "POST", "/v1/patrol/stop", "{}"))["round"].as_string(), "p1");
  pass(minutes(1));
  EXPECT_FALSE(round()["open"].as_bool());
  EXPECT_EQ(round()["stopped_by"].as_string(), "ops");
}

TEST_F(PatrolApi, WhatCannotBeIsToldWhy) {
  const struct {
    const char* user;
    const char* body;
    int status;
    const char* words;
  } kRows[] = {
      {"alice", "{}", 403, "operators"},
      {"ops", R"({"nodes":"n[1-"})", 400, ""},
      {"ops", R"({"nodes":"n99"})", 404, "n99"},
      {"ops", R"({"budget":0})", 400, "budget"},
      {"ops", R"({"budget":"many"})", 400, "budget"},
  };
  for (const auto& row : kRows) {
    const auto answer = ask(row.user, "POST", "/v1/patrol", row.body);
    pass(seconds(1));
    EXPECT_EQ(answer->response.status, row.status) << row.body;
    EXPECT_THAT(answer->response.body, HasSubstr(row.words)) << row.body;
  }
}

}  // namespace
}  // namespace sickbay
