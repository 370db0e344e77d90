// SPDX-License-Identifier: Apache-2.0
// Idempotency keys over the whole API: a POST that is repeated acts once, one that was refused acts anew.
#include <algorithm>

#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::seconds;

class ApiPostsTest : public ApiTest {
 protected:
  std::size_t events_of(std::string_view kind) const {
    return static_cast<std::size_t>(std::ranges::count(journal_.events(), kind, &Event::kind));
  }
};

TEST_F(ApiPostsTest, ARepeatedPostOpensOneCase) {
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "same"))["case"].as_string(), "c1");
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "same"))["case"].as_string(), "c1");
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "other"))["case"].as_string(), "c2");
}

TEST_F(ApiPostsTest, TwoQuickPostsGetTheOneAnswer) {
  const auto first = send("alice", "POST", "/v1/cases", submission(), "k1"),
             second = send("alice", "POST", "/v1/cases", submission(), "k1");
  EXPECT_FALSE(second->answered) << "nothing is durable yet";
  pass(std::chrono::milliseconds(50));
  EXPECT_EQ(first->response.status, 201);
  EXPECT_EQ(second->response.status, 201);
  EXPECT_EQ(first->response.body, second->response.body);
  EXPECT_EQ(controller_->seats().cases().state().cases.size(), 1u);
}

TEST_F(ApiPostsTest, TwoQuickPostsOnAFullDiskAreBothRefused) {
  journal_.set_full(true);
  const auto first = send("alice", "POST", "/v1/cases", submission(), "k1"),
             second = send("alice", "POST", "/v1/cases", submission(), "k1");
  pass(std::chrono::milliseconds(50));
  EXPECT_EQ(first->response.status, 507);
  EXPECT_EQ(second->response.status, 507);
}

TEST_F(ApiPostsTest, ARetryAfterAFullDiskActsAnew) {
  journal_.set_full(true);
  // The first is in the round that fails, and that is tried again; the second is turned away.
  for (const char* key : {"k1", "k2"})
    EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), key)->response.status, 507) << key;
  for (const char* key : {"k1", "k2"})
    EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission(), key)->response.status, 507)
        << key << ": nothing has changed";
  journal_.set_full(false);
  pass(seconds(3));
  std::set<std::string> names;
  for (const char* key : {"k1", "k2"}) {
    const auto retry = ask("alice", "POST", "/v1/cases", submission(), key);
    EXPECT_EQ(retry->response.status, 201) << key;
    const std::string name = body_of(retry)["case"].as_string();
    names.insert(name);
    EXPECT_EQ(ask("alice", "GET", "/v1/cases/" + name)->response.status, 200) << key << " " << name;
  }
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(events_of("case_opened"), 2u) << "one for each key";
  std::set<std::string> saved;
  for (const auto& [no, submission] : store_.kept) saved.insert(case_name(no));
  EXPECT_EQ(saved, names) << "no submission is left of a case that does not exist";
}

TEST_F(ApiPostsTest, TheSameKeyOfTwoUsersIsTwo) {
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "k"))["case"].as_string(), "c1");
  EXPECT_EQ(body_of(ask("bob", "POST", "/v1/cases", submission(), "k"))["case"].as_string(), "c2");
}

TEST_F(ApiPostsTest, AKeyOfAnotherRequestIsAConflict) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  ask("alice", "POST", "/v1/cases", submission(), "k2");
  struct Row {
    const char* target;
    std::string body;
  };
  for (const Row& row : {Row{"/v1/cases", submission() + " "}, Row{"/v1/cases/c1/cancel", submission()}}) {
    const auto answer = ask("alice", "POST", row.target, row.body, "k1");
    EXPECT_EQ(answer->response.status, 409) << row.target;
    EXPECT_EQ(body_of(answer)["code"].as_string(), "conflict");
    EXPECT_FALSE(body_of(answer)["remedy"].as_string().empty());
  }
  EXPECT_FALSE(controller_->seats().cases().state().cases.at(1).cancel_requested);
  EXPECT_EQ(controller_->seats().cases().state().cases.size(), 2u);
}

// Every POST of people has the same answer after a restart, and acts once.
TEST_F(ApiPostsTest, ARestartGivesTheSameAnswers) {
  struct Row {
    const char* user;
    const char* target;
    std::string body;
    const char* kind;
  };
  const std::vector<Row> rows{
      {"alice", "/v1/cases", submission(), "case_opened"},
      {"alice", "/v1/cases/c1/job", R"({"job_id":7})", "job_bound"},
      {"alice", "/v1/cases/c1/cancel", "{}", "cancel_requested"},
      {"ops", "/v1/undo-drains", "{}", "undo_drains"},
      {"root", "/v1/lab/truth", R"({"subject":"node:n1","kind":"lab_fault","body":{}})", "lab_fault"},
  };
  std::vector<std::shared_ptr<Answer>> first;
  for (const Row& row : rows) {
    first.push_back(ask(row.user, "POST", row.target, row.body, std::string("key ") + row.kind));
    EXPECT_LT(first.back()->response.status, 300) << row.target << first.back()->response.body;
  }
  for (const char* when : {"at once", "after a restart"}) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto again =
          ask(rows[i].user, "POST", rows[i].target, rows[i].body, std::string("key ") + rows[i].kind);
      EXPECT_EQ(again->response.status, first[i]->response.status) << rows[i].target << " " << when;
      EXPECT_EQ(again->response.body, first[i]->response.body) << rows[i].target << " " << when;
      EXPECT_EQ(events_of(rows[i].kind), 1u) << rows[i].target << " " << when;
    }
    restart();
  }
}

TEST_F(ApiPostsTest, ABindingIsToldOnlyWhenItIsDurable) {
  ask("alice", "POST", "/v1/cases", submission(), "k1");
  journal_.set_full(true);
  for (const char* key : {"b1", "b1", "b2"})
    EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":7})", key)->response.status, 507) << key;
  journal_.set_full(false);
  pass(seconds(3));
  for (const char* key : {"b1", "b2"})
    EXPECT_EQ(ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":7})", key)->response.status, 200) << key;
  EXPECT_EQ(events_of("job_bound"), 1u);
}

// As a sickbayd of before the book wrote it: the key and no answer.
TEST_F(ApiPostsTest, AnOldJournalKnowsItsKeys) {
  Event event;
  event.subject = "c5";
  event.kind = "case_opened";
  event.body = Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()},
                             {"options", Json::object()},
                             {"idempotency_key", "old"}});
  controller_->take({event});
  pass(seconds(1));
  restart();
  EXPECT_EQ(body_of(ask("alice", "POST", "/v1/cases", submission(), "old"))["case"].as_string(), "c5");
  EXPECT_EQ(body_of(ask("bob", "POST", "/v1/cases", submission(), "old"))["case"].as_string(), "c6");
}

}  // namespace
}  // namespace sickbay
