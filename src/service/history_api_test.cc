// SPDX-License-Identifier: Apache-2.0
// Histories over the API, on the simulated cluster n[1-6].
#include <gmock/gmock.h>

#include <sstream>

#include "engine/history/history.h"
#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class HistoryApi : public ApiTest {
 protected:
  HistoryApi() {
    pass(seconds(5));
    Json body = Json::parse(submission()).value_or(Json());
    Json sent = body["submission"];
    sent.set("script_args", Json::array({"in.dat"}));
    sent.set("environment", Json::array({"B=2", "A=1"}));
    body.set("submission", sent)
        .set("inputs", Json::array({Json::object({{"path", "/home/alice/in.dat"},
                                                  {"digest", std::string(64, 'a')},
                                                  {"size", 1},
                                                  {"mtime", 0}})}))
        .set("recorded", true);
    ask("alice", "POST", "/v1/cases", body.dump());
    Submission real;
    real.script = "#!/bin/sh\n#SIM run=10m\n";
    real.work_dir = "/home/alice";
    real.owner = {"alice", 60001, 60001};
    job_ = cluster_.sbatch(real)->job_id;
    ask("alice", "POST", "/v1/cases/c1/job", fmt("{\"job_id\":", job_, "}"));
    pass(seconds(10));
  }
  template <class... Parts>
  static std::string fmt(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
  }
  std::string checkpoint(int n, const char* event = "taken") {
    return fmt("{\"job\":", job_, ",\"checkpoint\":", n, ",\"event\":\"", event,
               "\",\"folder\":\"/scratch\",\"seconds\":1.5,\"tier\":\"local\",\"bytes\":10}");
  }
  Json history() { return body_of(ask("alice", "GET", fmt("/v1/history?job=", job_))); }
  Json operations() { return history()["parts"].items().at(0)["operations"]; }
  JobId job_ = 0;
};

TEST_F(HistoryApi, TheSubmissionStandsThereInFull) {
  const Json part = history()["parts"].items().at(0);
  EXPECT_EQ(part["arguments"].dump(), R"(["in.dat"])");
  EXPECT_EQ(part["inputs"]["file:/home/alice/in.dat"].as_string(), std::string(64, 'a'));
  EXPECT_EQ(part["environment_digest"].as_string().size(), 64U);
  EXPECT_TRUE(part["recorded"].as_bool());
  EXPECT_EQ(part["state"].as_string(), "running");
  EXPECT_EQ(journal_text().find("A=1"), std::string::npos) << "an environment may hold keys";
}

TEST_F(HistoryApi, ACheckpointIsToldByTheOwnerAndKept) {
  EXPECT_EQ(ask("alice", "POST", "/v1/checkpoints", checkpoint(1))->response.status, 200);
  EXPECT_EQ(ask("bob", "POST", "/v1/checkpoints", checkpoint(2))->response.status, 403);
  EXPECT_EQ(ask("alice", "POST", "/v1/checkpoints", checkpoint(0))->response.status, 400);
  EXPECT_EQ(
      ask("alice", "POST", "/v1/checkpoints", R"({"job":99,"checkpoint":1,"event":"taken","folder":"/s"})")
          ->response.status,
      404);
  restart();
  ASSERT_EQ(operations().size(), 3U);
  const Json told = operations().items().at(2);
  EXPECT_EQ(told["what"].as_string(), "checkpoint");
  EXPECT_EQ(told["checkpoint"]["took_us"].as_int(), 1'500'000);
  EXPECT_EQ(told["checkpoint"]["tier"].as_string(), "local");
}

TEST_F(HistoryApi, OneToldTwiceWithAKeyIsOne) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask("alice", "POST", "/v1/checkpoints", checkpoint(1), "k1")->response.status, 200);
  EXPECT_EQ(operations().size(), 3U);
}

TEST_F(HistoryApi, RewindRepairAndReplay) {
  ask("alice", "POST", "/v1/checkpoints", checkpoint(1));
  const auto undo = [&](const std::string& more) {
    return ask("alice", "POST", "/v1/undo", fmt("{\"job\":", job_, ",", more, "}"));
  };
  EXPECT_EQ(undo(R"("do":"repair","changes":[{"key":"exclude","from":"","to":"n3"}])")->response.status, 409)
      << "nobody has gone back";
  const auto planned = undo(R"("do":"rewind","op":"1","dry_run":true)");
  EXPECT_EQ(body_of(planned)["plan"]["checkpoint"].as_int(), 1);
  EXPECT_EQ(operations().size(), 3U) << "a dry run keeps nothing";
  EXPECT_EQ(undo(R"("do":"rewind","op":"1")")->response.status, 200);
  const auto repaired = undo(R"("do":"repair","changes":[{"key":"exclude","from":"","to":"n3"}])");
  EXPECT_EQ(repaired->response.status, 200) << repaired->response.body;
  const Json position = history()["position"];
  EXPECT_EQ(position["op"].as_string(), fmt(job_, ".5"));
  EXPECT_EQ(position["checkpoint"].as_int(), 1);
  EXPECT_EQ(position["work"]["exclude"].as_string(), "n3");
  EXPECT_EQ(position["source"].as_string(), "c1");
  // The replay: another case that says where it goes on from.
  Json body = Json::parse(submission()).value_or(Json());
  body.set("replays", Json::object({{"op", position["op"]}, {"checkpoint", 1}}));
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", body.dump())->response.status, 201);
  ask("alice", "POST", "/v1/cases/c2/job", R"({"job_id":4242})");
  EXPECT_EQ(history()["parts"].size(), 2U);
  EXPECT_EQ(history()["position"]["replays"].dump(), "[4242]");
  EXPECT_EQ(body_of(ask("alice", "GET", "/v1/history?job=4242"))["parts"].items().at(1)["under"].as_string(),
            fmt(job_, ".5"));
}

TEST_F(HistoryApi, WhatCannotBeUndoneIsToldWhy) {
  const struct {
    const char* more;
    int status;
    const char* words;
  } rows[] = {
      {R"("do":"drop","op":"1")", 409, "nothing would be left"},
      {R"("do":"drop","op":"2")", 409, "has no inverse"},
      {R"("do":"rewind","op":"7")", 404, "no checkpoint 7"},
      {R"("do":"rewind","op":"9.1")", 404, "no operation"},
      {R"("do":"forget","op":"1")", 400, "choose rewind"},
      {R"("do":"rewind","op":"start","restored":[{"key":"passwd","from":"","to":""}])", 400, "restored"},
      {R"("do":"repair","changes":[])", 409, "was not gone back in"},
  };
  for (const auto& row : rows) {
    const auto answer = ask("alice", "POST", "/v1/undo", fmt("{\"job\":", job_, ",", row.more, "}"));
    EXPECT_EQ(answer->response.status, row.status) << row.more;
    EXPECT_THAT(answer->response.body, HasSubstr(row.words)) << row.more;
  }
}

TEST_F(HistoryApi, AReplayThatIsNoneIsRefused) {
  for (const char* replays : {"5", "{}", R"({"op":""})", R"({"op":"17.1","checkpoint":"x"})",
                              R"({"op":"17.1","checkpoint":1,"more":2})"}) {
    Json body = Json::parse(submission()).value_or(Json());
    body.set("replays", Json::parse(replays).value_or(Json()));
    EXPECT_EQ(ask("alice", "POST", "/v1/cases", body.dump())->response.status, 400) << replays;
  }
}

TEST_F(HistoryApi, AnOperatorUndoesWhatSickbayDidAndNobodyElse) {
  EXPECT_EQ(ask("ops", "POST", "/v1/patrol", R"({"nodes":"n6"})")->response.status, 201);
  const Json acts = body_of(ask("ops", "GET", "/v1/acts"))["items"];
  ASSERT_GE(acts.size(), 1U);
  EXPECT_EQ(acts.items()[0]["act"].as_string(), "p1");
  EXPECT_EQ(acts.items()[0]["undo"].as_string(), "here");
  EXPECT_EQ(ask("alice", "POST", "/v1/acts/undo", R"({"act":"p1"})")->response.status, 403);
  EXPECT_EQ(ask("ops", "POST", "/v1/acts/undo", R"({"act":"p7"})")->response.status, 404);
  EXPECT_EQ(ask("ops", "POST", "/v1/acts/undo", R"({"act":"p1"})")->response.status, 200);
  pass(seconds(60));
  EXPECT_FALSE(body_of(ask("ops", "GET", "/v1/patrol"))["round"]["open"].as_bool());
  ask("ops", "POST", "/v1/undo-drains", R"({"nodes":"n1"})");
  const auto refused = ask("ops", "POST", "/v1/acts/undo", R"({"act":"undo-drains"})");
  EXPECT_EQ(refused->response.status, 409);
  EXPECT_THAT(refused->response.body, HasSubstr("drains the node anew"));
}

}  // namespace
}  // namespace sickbay
