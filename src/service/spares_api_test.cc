// SPDX-License-Identifier: Apache-2.0
// The spare pools over the API: what is shown, and that a number that an operator sets is kept.
#include <gmock/gmock.h>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class SparesApi : public ApiTest {
 protected:
  SparesApi() {
    config_.nonstop.on = true;
    config_.nonstop.config.hot_spares = {{"batch", 2}};
    restart();
    pass(seconds(30));
  }
  Json pool() {
    const Json list = body_of(ask("alice", "GET", "/v1/spares"));
    EXPECT_EQ(list["items"].size(), 1U);
    return list["items"].items().empty() ? Json() : list["items"].items().front();
  }
  int set(const char* body) { return ask("ops", "POST", "/v1/spares", body)->response.status; }
};

TEST_F(SparesApi, ShowsThePoolsOfTheFile) {
  const Json batch = pool();
  EXPECT_EQ(batch["partition"].as_string(), "batch");
  EXPECT_EQ(batch["reservation"].as_string(), "HOT_SPARE_batch");
  EXPECT_EQ(batch["wanted"].as_int(), 2);
  EXPECT_EQ(batch["ready"].as_int(), 2);
  EXPECT_EQ(batch["configured"].as_int(), 2);
  EXPECT_TRUE(batch["set"].is_null());
  EXPECT_EQ(batch["nodes"].size(), 2U);
  int spares = 0;
  const Json nodes = body_of(ask("alice", "GET", "/v1/nodes"));
  for (const Json& node : nodes["items"].items()) spares += node["spare"].as_string() == "batch";
  EXPECT_EQ(spares, 2);
}

TEST_F(SparesApi, AnOperatorSetsTheNumberAndGivesItBack) {
  EXPECT_EQ(set(R"({"partition":"batch","count":4})"), 200);
  pass(seconds(30));
  EXPECT_EQ(pool()["ready"].as_int(), 4);
  restart();
  pass(seconds(30));
  EXPECT_EQ(pool()["wanted"].as_int(), 4) << "kept";
  EXPECT_EQ(set(R"({"partition":"batch","count":0})"), 200);
  pass(seconds(30));
  EXPECT_EQ(pool()["ready"].as_int(), 0);
  EXPECT_EQ(set(R"({"partition":"batch","count":null})"), 200);
  pass(seconds(30));
  EXPECT_EQ(pool()["wanted"].as_int(), 2) << "the file's";
  EXPECT_TRUE(pool()["set"].is_null());
}

TEST_F(SparesApi, WhatCannotBeIsToldWhy) {
  EXPECT_THAT(
      body_of(ask("ops", "POST", "/v1/spares", R"({"partition":"bacth","count":1})"))["remedy"].as_string(),
      HasSubstr("did you mean 'batch'"));
  for (const char* body :
       {R"({"partition":"batch"})", R"({"partition":"batch","count":-1})",
        R"({"partition":"batch","count":"2"})", R"({"partition":"batch","count":1000000})"})
    EXPECT_EQ(body_of(ask("ops", "POST", "/v1/spares", body))["code"].as_string(), "bad_input") << body;
  config_.nonstop.on = false;
  EXPECT_EQ(
      body_of(ask("ops", "POST", "/v1/spares", R"({"partition":"batch","count":1})"))["code"].as_string(),
      "conflict");
  EXPECT_FALSE(body_of(ask("ops", "GET", "/v1/spares"))["on"].as_bool());
}

}  // namespace
}  // namespace sickbay
