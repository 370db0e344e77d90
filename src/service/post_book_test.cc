// SPDX-License-Identifier: Apache-2.0
// The book alone: who gets which answer, what is forgotten and when, and what a journal brings back.
#include "service/post_book.h"

#include <gmock/gmock.h>

#include <optional>

#include "engine/identify/identify.h"

namespace sickbay {
namespace {

using testing::HasSubstr;

struct Reply : HttpReply {
  std::optional<HttpResponse> response;
  void respond(HttpResponse r) override {
    EXPECT_FALSE(response) << "answered twice";
    response = std::move(r);
  }
  void begin_stream(std::string) override {}
  bool write(std::string) override { return false; }
  void end() override {}
  void on_close(std::function<void()>) override {}
  bool is_open() const override { return open; }
  int status() const { return response ? response->status : 0; }
  bool open = true;
};

class PostBookTest : public testing::Test {
 protected:
  static HttpRequest request(const std::string& key, std::uint32_t uid = 1, const std::string& body = "{}") {
    HttpRequest r;
    r.method = "POST";
    r.path = "/v1/cases";
    r.body = body;
    r.idempotency_key = key;
    r.caller.uid = uid;
    return r;
  }
  // Begins `asked`, and keeps what an endpoint would.
  std::shared_ptr<Reply> ask(const HttpRequest& asked, std::shared_ptr<PostBook::Post>* post = nullptr) {
    auto reply = std::make_shared<Reply>();
    auto begun = book_.begin(asked, reply);
    if (post != nullptr) *post = begun;
    begun_ = begun != nullptr;
    return reply;
  }
  // The event that a POST leaves, as the journal gives it back.
  Event marked(PostBook::Post& post, int status = 201, const Json& answer = Json::object({{"case", "c1"}})) {
    std::vector<Event> events(1);
    events[0].at = now_;
    events[0].subject = "c1";
    events[0].kind = identify::kCaseOpened;
    events[0].body = Json::object();
    EXPECT_TRUE(post.mark(events, status, answer));
    return events[0];
  }
  // A POST from its beginning to its durable answer.
  Event done(const HttpRequest& asked) {
    std::shared_ptr<PostBook::Post> post;
    ask(asked, &post);
    Event event = marked(*post);
    post->respond(json_response(201, Json::object({{"case", "c1"}})));
    book_.apply(event);
    return event;
  }

  TimePoint now_ = from_unix_seconds(1'800'000'000);
  PostBook book_;
  bool begun_ = false;
};

TEST_F(PostBookTest, WhoPostsTheSameMeanwhileWaitsForTheSameAnswer) {
  std::shared_ptr<PostBook::Post> post;
  const auto first = ask(request("k"), &post), second = ask(request("k"));
  EXPECT_FALSE(begun_) << "the first one acts";
  EXPECT_FALSE(second->response);
  first->open = false;
  EXPECT_TRUE(post->is_open()) << "somebody is there still";
  const Event event = marked(*post);
  post->respond(json_response(201, Json::object({{"case", "c1"}})));
  EXPECT_EQ(first->status(), 201);
  EXPECT_EQ(second->response->body, first->response->body);
  const auto third = ask(request("k"));
  EXPECT_FALSE(begun_);
  EXPECT_EQ(third->response->body, first->response->body) << "known before the event comes round";
  book_.apply(event);
  EXPECT_EQ(book_.size(), 1u);
  EXPECT_EQ(ask(request("k"))->response->body, first->response->body);
}

TEST_F(PostBookTest, ARefusedOneIsForgottenAndSoIsOneThatChangedNothing) {
  for (const bool mark : {true, false}) {
    std::shared_ptr<PostBook::Post> post;
    const auto first = ask(request("k"), &post), second = ask(request("k"));
    if (mark) (void)marked(*post);
    post->respond(mark ? error_response(Error(ErrorCode::storage_full, "full"))
                       : json_response(200, Json::object()));
    EXPECT_EQ(first->status(), mark ? 507 : 200);
    EXPECT_EQ(second->status(), mark ? 507 : 200) << "it waited for this answer";
    (void)ask(request("k"), &post);
    EXPECT_TRUE(begun_) << "acts anew";
    EXPECT_EQ(book_.size(), 0u);
    post->respond(error_response(Error(ErrorCode::busy, "")));
  }
}

TEST_F(PostBookTest, ADroppedOneIsForgottenWithThoseWhoWait) {
  std::shared_ptr<PostBook::Post> post;
  std::weak_ptr<Reply> second;
  {
    (void)ask(request("k"), &post);
    second = ask(request("k"));
  }
  EXPECT_FALSE(second.expired()) << "it waits";
  post.reset();
  EXPECT_TRUE(second.expired()) << "a dropped reply tells its caller";
  (void)ask(request("k"), &post);
  EXPECT_TRUE(begun_);
}

TEST_F(PostBookTest, AKeyBelongsToItsCallerAndToOneRequest) {
  (void)done(request("k", 1));
  std::shared_ptr<PostBook::Post> post;
  (void)ask(request("k", 2), &post);
  EXPECT_TRUE(begun_) << "another user's";
  for (const bool durable : {true, false}) {
    const auto other = ask(request("k", durable ? 1 : 2, "{\"x\":1}"));
    EXPECT_FALSE(begun_);
    EXPECT_EQ(other->status(), 409) << durable;
    EXPECT_THAT(other->response->body, HasSubstr("new random key"));
  }
  HttpRequest elsewhere = request("k", 1);
  elsewhere.path = "/v1/cases/c1/cancel";
  EXPECT_EQ(ask(elsewhere)->status(), 409);
}

TEST_F(PostBookTest, TheJournalBringsTheAnswersBack) {
  const Event event = done(request("k", 7));
  PostBook again;
  again.apply(event);
  auto reply = std::make_shared<Reply>();
  EXPECT_EQ(again.begin(request("k", 7), reply), nullptr);
  EXPECT_EQ(reply->status(), 201);
  EXPECT_EQ(reply->response->body, json_response(201, Json::object({{"case", "c1"}})).body);
  reply = std::make_shared<Reply>();
  EXPECT_EQ(again.begin(request("k", 7, "{\"x\":1}"), reply), nullptr);
  EXPECT_EQ(reply->status(), 409);
}

TEST_F(PostBookTest, OldEventsHaveAKeyAndNoAnswer) {
  struct Row {
    std::string_view kind;
    std::string subject;
    Json body;
    std::string answer;  // "": nobody is known by it
  };
  const Json owner = Owner{"alice", 7, 7}.to_json();
  for (const Row& row : {
           Row{"case_opened", "c17", Json::object({{"owner", owner}, {"idempotency_key", "k"}}),
               R"({"case":"c17"})"},
           Row{"case_opened", "c17", Json::object({{"owner", owner}, {"idempotency_key", ""}}), ""},
           Row{"case_opened", "c17", Json::object({{"owner", owner}}), ""},
           Row{"diagnose_wanted", "node:n3",
               Json::object({{"task", 5}, {"by", "root"}, {"idempotency_key", "k"}}), R"({"task":5})"},
           Row{"diagnose_wanted", "node:n3",
               Json::object({{"task", 5}, {"by", "ops"}, {"idempotency_key", "k"}}), ""},
           Row{"verdict", "c17", Json::object({{"idempotency_key", "k"}}), ""},
           Row{"verdict", "c17", Json(), ""},
       }) {
    PostBook book;
    Event event;
    event.at = now_;
    event.subject = row.subject;
    event.kind = row.kind;
    event.body = row.body;
    book.apply(event);
    EXPECT_EQ(book.size(), row.answer.empty() ? 0u : 1u) << event.text();
    if (row.answer.empty()) continue;
    auto reply = std::make_shared<Reply>();
    EXPECT_EQ(book.begin(request("k", row.kind == "case_opened" ? 7 : 0, "any body"), reply), nullptr);
    EXPECT_EQ(reply->status(), 201);
    EXPECT_EQ(reply->response->body, row.answer + "\n");
  }
}

// A full disk refused it, the caller tried again, and then the disk took the first try after all.
TEST_F(PostBookTest, WhatTheJournalTookLateAnswersTheRetry) {
  std::shared_ptr<PostBook::Post> first, retry;
  (void)ask(request("k"), &first);
  const Event event = marked(*first);
  first->respond(error_response(Error(ErrorCode::storage_full, "full")));
  const auto waits = ask(request("k"), &retry);
  ASSERT_NE(retry, nullptr);
  book_.apply(event);
  EXPECT_EQ(waits->status(), 201);
  std::vector<Event> events(1);
  EXPECT_FALSE(retry->mark(events, 201, Json())) << "nothing is left to be done";
  EXPECT_TRUE(events[0].body.is_null());
  retry->respond(error_response(Error(ErrorCode::internal, "too late")));
  EXPECT_EQ(ask(request("k"))->status(), 201);
}

TEST_F(PostBookTest, WhatTheJournalTookLateIsNoAnswerToAnotherRequest) {
  std::shared_ptr<PostBook::Post> first, other;
  (void)ask(request("k"), &first);
  const Event event = marked(*first);
  first->respond(error_response(Error(ErrorCode::storage_full, "full")));
  const auto waits = ask(request("k", 1, "{\"x\":1}"), &other);
  book_.apply(event);
  EXPECT_EQ(waits->status(), 409);
}

TEST_F(PostBookTest, AnswersOfADayAgoAreForgotten) {
  (void)done(request("old"));
  now_ += PostBook::kKept / 2;
  (void)done(request("young"));
  EXPECT_EQ(book_.size(), 2u);
  Event tick;  // whatever happens moves the time
  tick.kind = "nodes_seen";
  tick.at = now_ + PostBook::kKept / 2;
  book_.apply(tick);
  EXPECT_EQ(book_.size(), 2u) << "exactly a day";
  tick.at += Micros(1);
  book_.apply(tick);
  EXPECT_EQ(book_.size(), 1u);
  std::shared_ptr<PostBook::Post> post;
  (void)ask(request("old"), &post);
  EXPECT_TRUE(begun_);
  (void)ask(request("young"));
  EXPECT_FALSE(begun_);
}

TEST_F(PostBookTest, OneCallerDrivesOutNoOthersAnswers) {
  (void)done(request("hers", 2));
  const int most = static_cast<int>(PostBook::kMostOfOne);
  for (int i = 0; i < most + 10; ++i) (void)done(request("k" + std::to_string(i), 1));
  EXPECT_EQ(book_.size(), PostBook::kMostOfOne + 1);
  (void)ask(request("hers", 2));
  EXPECT_FALSE(begun_);
  (void)ask(request("k" + std::to_string(most + 9), 1));
  EXPECT_FALSE(begun_);
  std::shared_ptr<PostBook::Post> post;
  (void)ask(request("k9", 1), &post);
  EXPECT_TRUE(begun_) << "the oldest of the one who has too many";
}

TEST_F(PostBookTest, TheBookIsBounded) {
  for (std::size_t i = 0; i < PostBook::kMost + 10; ++i) {
    Event event;
    event.at = now_;
    event.kind = "note";
    event.body = Json::object({{"post", Json::object({{"uid", i}, {"key", "k"}, {"status", 200}})}});
    book_.apply(event);
  }
  EXPECT_EQ(book_.size(), PostBook::kMost);
  (void)ask(request("k", 10));
  EXPECT_FALSE(begun_);
  std::shared_ptr<PostBook::Post> post;
  (void)ask(request("k", 9), &post);
  EXPECT_TRUE(begun_) << "the oldest of all";
}

TEST_F(PostBookTest, APostMayOutliveTheBook) {
  auto book = std::make_unique<PostBook>();
  auto reply = std::make_shared<Reply>();
  auto post = book->begin(request("k"), reply);
  book.reset();
  EXPECT_FALSE(post->is_open());
  std::vector<Event> events(1);
  EXPECT_FALSE(post->mark(events, 200, Json()));
  post->respond(json_response(200, Json()));
  EXPECT_FALSE(reply->response);
}

}  // namespace
}  // namespace sickbay
