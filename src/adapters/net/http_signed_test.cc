// SPDX-License-Identifier: Apache-2.0
// Requests and answers over TCP with a real munged, and what happens when somebody meddles with them.
#include <gmock/gmock.h>
#include <pwd.h>

#include "adapters/munge/munge_credentials.h"
#include "adapters/munge/munge_test_parts.h"
#include "adapters/net/http_signature.h"
#include "adapters/net/net_test_parts.h"
#include "adapters/net/signed_client.h"
#include "base/digest/sha256.h"

namespace sickbay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Credentials that lie: what is encoded, and who is said to have encoded what is decoded, is changed.
class Meddler final : public Credentials {
 public:
  explicit Meddler(Credentials& honest) : honest_(honest) {}
  std::function<std::string(std::string)> change;
  std::optional<std::uint32_t> other_uid;

  void encode(std::string payload, std::uint32_t reader, Done<std::string> done) override {
    honest_.encode(change ? change(std::move(payload)) : std::move(payload), reader, std::move(done));
  }
  void decode(std::string credential, Done<Credential> done) override {
    honest_.decode(std::move(credential), [this, done = std::move(done)](Result<Credential> said) {
      if (said && other_uid) said->uid = *other_uid;
      done(std::move(said));
    });
  }

 private:
  Credentials& honest_;
};

// Server and client on one loop, which runs while somebody waits for an answer.
class SignedHttp : public testing::Test {
 protected:
  void SetUp() override { listen(*credentials_); }
  void listen(Credentials& signing, HttpLimits limits = {}) {
    server_ = make_http_server(*loop_, limits);
    server_->name_callers_by(people_);
    server_->on_request([this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
      ++asked_;
      if (handler_) return handler_(std::move(request), std::move(reply));
      reply->respond(json_response(200, Json::object({{"method", request.method},
                                                      {"path", request.path},
                                                      {"body", request.body},
                                                      {"key", request.idempotency_key},
                                                      {"uid", request.caller.uid},
                                                      {"gid", request.caller.gid},
                                                      {"user", request.caller.user},
                                                      {"address", request.caller.address}})));
    });
    auto port = server_->listen_tcp("127.0.0.1", 0, signing);
    ASSERT_TRUE(port) << port.error().message("test");
    port_ = *port;
  }
  SignedClientOptions to_server() const {
    SignedClientOptions options;
    options.host = "127.0.0.1";
    options.port = port_;
    options.server_uid = ::getuid();
    return options;
  }
  Result<Json> ask(HttpClient& client, HttpQuestion question) {
    Result<Json> got = fail(ErrorCode::internal, "no answer");
    client.ask(std::move(question), [&](Result<Json> answer) {
      got = std::move(answer);
      loop_->stop();
    });
    loop_->run();
    return got;
  }
  Result<Json> ask(HttpQuestion question) {
    return ask(*make_signed_client(*loop_, *credentials_, to_server()), std::move(question));
  }
  Result<std::string> ask_text(HttpQuestion question) {
    Result<std::string> got = fail(ErrorCode::internal, "no answer");
    const auto client = make_signed_client(*loop_, *credentials_, to_server());
    client->ask_text(std::move(question), [&](Result<std::string> answer) {
      got = std::move(answer);
      loop_->stop();
    });
    loop_->run();
    return got;
  }
  static HttpQuestion post(std::string target, std::string body) {
    HttpQuestion question;
    question.method = "POST";
    question.target = std::move(target);
    question.body = std::move(body);
    return question;
  }
  static HttpQuestion get(std::string target) {
    HttpQuestion question;
    question.target = std::move(target);
    return question;
  }

  /// The credential of a request, made as the client makes it.
  std::string credential_for(const RequestSignature& signature) {
    std::string made;
    credentials_->encode(signature.text(), ::getuid(), [&](Result<std::string> credential) {
      EXPECT_TRUE(credential);
      made = credential.value_or("");
      loop_->stop();
    });
    loop_->run();
    return made;
  }
  /// What the server says to these bytes: head and body of its answer.
  std::string raw(const std::string& request) {
    TestPeer peer(port_);
    EXPECT_TRUE(peer.send(request));
    peer.end_sending();
    std::string said;
    std::thread reader([&] {
      said = peer.read_all();
      loop_->post([&] { loop_->stop(); });
    });
    loop_->run();
    reader.join();
    return said;
  }
  static std::string request_bytes(const std::string& credential, const std::string& method,
                                   const std::string& target, const std::string& body,
                                   const std::string& key = "") {
    return method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Munge " +
           credential + "\r\n" + (key.empty() ? "" : "Idempotency-Key: " + key + "\r\n") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  const TestMunged munged_;
  std::unique_ptr<AsioLoop> loop_ = make_asio_loop();
  std::unique_ptr<Credentials> credentials_ = make_munge_credentials(*loop_, {munged_.socket()});
  Meddler meddler_{*credentials_};
  HttpServer::Handler handler_;
  int asked_ = 0;
  std::uint16_t port_ = 0;
  TestPeople people_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(SignedHttp, TellsWhoAsksAndFromWhere) {
  const auto answer = ask(post("/v1/agent/hello?x=%31", R"({"node":"n3"})"));
  ASSERT_TRUE(answer) << answer.error().message("test");
  EXPECT_EQ((*answer)["method"].as_string(), "POST");
  EXPECT_EQ((*answer)["path"].as_string(), "/v1/agent/hello");
  EXPECT_EQ((*answer)["body"].as_string(), R"({"node":"n3"})");
  EXPECT_EQ((*answer)["uid"].as_int(), ::getuid());
  EXPECT_EQ((*answer)["gid"].as_int(), ::getgid());
  EXPECT_EQ((*answer)["user"].as_string(), ::getpwuid(::getuid())->pw_name);
  EXPECT_EQ((*answer)["address"].as_string(), "127.0.0.1");
}

TEST_F(SignedHttp, CarriesErrorsAndManyQuestionsAtOnce) {
  handler_ = [](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(error_response(
        Error(ErrorCode::conflict, "not " + request.path).because("a cause").remedied_by("a remedy")));
  };
  const auto client = make_signed_client(*loop_, *credentials_, to_server());
  int answered = 0;
  for (int i = 0; i < 20; ++i)
    client->ask(get("/" + std::to_string(i)), [&, i](Result<Json> answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::conflict);
      EXPECT_EQ(answer.error().what, "not /" + std::to_string(i));
      EXPECT_EQ(answer.error().cause, "a cause");
      EXPECT_EQ(answer.error().remedy(), "a remedy");
      if (++answered == 20) loop_->stop();
    });
  loop_->run();
  EXPECT_EQ(answered, 20);
}

TEST_F(SignedHttp, ARequestHoldsOnce) {
  const std::string credential =
      credential_for({"POST", "/v1/agent/findings", "", sha256_hex("[]"), new_nonce()});
  const std::string request = request_bytes(credential, "POST", "/v1/agent/findings", "[]");
  EXPECT_THAT(raw(request), StartsWith("HTTP/1.1 200"));
  const std::string again = raw(request);
  EXPECT_THAT(again, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(again, HasSubstr("used before"));
  EXPECT_EQ(asked_, 1);
}

TEST_F(SignedHttp, ARequestThatWasChangedOnItsWayIsRefused) {
  struct Row {
    const char *method, *target, *body, *key;
  };
  for (const Row& sent : {Row{"PUT", "/a?x=1", "body", "k1"}, Row{"POST", "/b?x=1", "body", "k1"},
                          Row{"POST", "/a?x=2", "body", "k1"}, Row{"POST", "/a?x=1", "Body", "k1"},
                          Row{"POST", "/a?x=1", "body", "k2"}, Row{"POST", "/a?x=1", "body", ""}}) {
    const std::string credential = credential_for({"POST", "/a?x=1", "k1", sha256_hex("body"), new_nonce()});
    const std::string said = raw(request_bytes(credential, sent.method, sent.target, sent.body, sent.key));
    EXPECT_THAT(said, StartsWith("HTTP/1.1 403")) << sent.method << sent.target << sent.body << sent.key;
    EXPECT_THAT(said, HasSubstr("\"code\":\"denied\""));
  }
  // Neither does an answer's credential make a request, nor anything else that munge signs.
  credentials_->encode(AnswerSignature{200, sha256_hex(""), new_nonce()}.text(), ::getuid(),
                       [&](Result<std::string> credential) {
                         meddler_.change = [c = *credential](const std::string&) { return c; };
                         loop_->stop();
                       });
  loop_->run();
  EXPECT_THAT(raw(request_bytes(meddler_.change(""), "GET", "/", "")), HasSubstr("signs no request"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(SignedHttp, WithoutACredentialThereIsNoWayIn) {
  EXPECT_THAT(raw("GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("there is no credential"));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Basic eA==\r\n\r\n"),
              HasSubstr("none of MUNGE's"));
  EXPECT_THAT(raw(request_bytes("MUNGE:AwQFAAA=:", "GET", "/", "")), StartsWith("HTTP/1.1 403"));
  const TestMunged stranger("another key that only tests have, 9876543210");
  const auto others = make_munge_credentials(*loop_, {stranger.socket()});
  const auto answer = ask(*make_signed_client(*loop_, *others, to_server()), get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied);
  EXPECT_THAT(answer.error().what, HasSubstr("not signed"));
  EXPECT_THAT(answer.error().cause, HasSubstr("the credential does not hold")) << "what the server said";
  EXPECT_EQ(asked_, 0);
}

TEST_F(SignedHttp, ObeysOnlyTheRightSigner) {
  meddler_.other_uid = ::getuid() + 1;  // who the answer is said to be of
  const auto answer = ask(*make_signed_client(*loop_, meddler_, to_server()), get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied);
  EXPECT_THAT(answer.error().what, HasSubstr("uid " + std::to_string(::getuid() + 1)));
}

TEST_F(SignedHttp, AnAnswerThatWasChangedOnItsWayIsRefused) {
  server_.reset();
  listen(meddler_);
  struct Row {
    std::function<std::string(std::string)> change;
    const char* says;
  };
  const auto changed = [](auto edit) {
    return [edit](const std::string& text) {
      auto answer = AnswerSignature::parse(text);
      if (!answer) return text;  // a request of our own client
      edit(*answer);
      return answer->text();
    };
  };
  for (const Row& row :
       {Row{changed([](AnswerSignature& a) { a.nonce = new_nonce(); }), "another question"},
        Row{changed([](AnswerSignature& a) { a.body_digest = sha256_hex("else"); }), "changed on its way"},
        Row{changed([](AnswerSignature& a) { a.status = 201; }), "changed on its way"},
        Row{[](const std::string&) { return std::string("yes"); }, "another question"}}) {
    meddler_.change = row.change;
    const auto answer = ask(get("/"));
    ASSERT_FALSE(answer) << row.says;
    EXPECT_EQ(answer.error().code, ErrorCode::denied);
    EXPECT_THAT(answer.error().what, HasSubstr(row.says));
  }
}

TEST_F(SignedHttp, SaysThatNobodyListensOrAnswers) {
  std::vector<std::shared_ptr<HttpReply>> kept;
  handler_ = [&](const HttpRequest&, std::shared_ptr<HttpReply> reply) { kept.push_back(std::move(reply)); };
  HttpQuestion question = get("/held");
  // Until the question itself was heard: on a busy machine its credential may take all of the time.
  for (int i = 0; i < 8 && kept.empty(); ++i) {
    question.time_limit = std::chrono::milliseconds(200 << i);
    const auto answer = ask(question);
    ASSERT_FALSE(answer);
    if (!kept.empty()) EXPECT_EQ(answer.error().code, ErrorCode::timed_out) << answer.error().what;
  }
  EXPECT_EQ(kept.size(), 1u);
  kept.clear();
  server_->close();
  const auto away = ask(get("/"));
  EXPECT_EQ(away.error().code, ErrorCode::daemon_away);
  EXPECT_THAT(away.error().what, HasSubstr("port " + std::to_string(port_)));
  SignedClientOptions nowhere = to_server();
  nowhere.host = "no-such-host.invalid";
  EXPECT_EQ(ask(*make_signed_client(*loop_, *credentials_, nowhere), get("/")).error().code,
            ErrorCode::daemon_away);
}

TEST_F(SignedHttp, AReplyThatIsDroppedIsAnsweredSigned) {
  handler_ = [](const HttpRequest&, const std::shared_ptr<HttpReply>&) {};
  const auto answer = ask(get("/"));
  EXPECT_EQ(answer.error().code, ErrorCode::internal);
  EXPECT_THAT(answer.error().what, HasSubstr("without an answer"));
}

TEST_F(SignedHttp, AStreamComesInSignedParts) {
  std::shared_ptr<HttpReply> live;
  bool closed = false;
  handler_ = [&](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("application/x-ndjson");
    reply->on_close([&] { closed = true; });
    if (request.path == "/ended") {
      EXPECT_TRUE(reply->write("1\n"));
      return reply->end();
    }
    live = reply;
    if (request.path == "/quiet") return;
    EXPECT_TRUE(reply->write("1\n"));
    EXPECT_TRUE(reply->write("2\n")) << "what is written in one go comes in one part";
  };
  EXPECT_EQ(ask_text(get("/ended")).value(), "1\n");
  EXPECT_EQ(ask_text(get("/live")).value(), "1\n2\n");
  EXPECT_TRUE(closed) << "who writes learns that this was all";
  EXPECT_FALSE(live->write("3\n")) << "the rest is for the next request";
  live.reset();

  server_.reset();
  HttpLimits limits;
  limits.part_time = std::chrono::milliseconds(50);
  listen(*credentials_, limits);
  EXPECT_EQ(ask_text(get("/quiet")).value(), "") << "nothing came: that is signed, too";
  EXPECT_FALSE(live->write("3\n"));
}

TEST_F(SignedHttp, APartThatWasChangedOnItsWayIsRefused) {
  server_.reset();
  listen(meddler_);
  handler_ = [](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("application/x-ndjson");
    EXPECT_TRUE(reply->write("1\n"));
    reply->end();
  };
  meddler_.change = [](const std::string& text) {
    auto answer = AnswerSignature::parse(text);
    if (!answer) return text;  // a request of our own client
    answer->body_digest = sha256_hex("1\n2\n");
    return answer->text();
  };
  const auto part = ask_text(get("/v1/events"));
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, ErrorCode::denied);
  EXPECT_THAT(part.error().what, HasSubstr("changed on its way"));
}

TEST_F(SignedHttp, APartIsBounded) {
  int taken = 0;
  handler_ = [&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("application/x-ndjson");
    while (reply->write(std::string(HttpReply::kUnsentBound / 4, 'x') + "\n")) ++taken;
  };
  const auto part = ask_text(get("/v1/events"));
  ASSERT_TRUE(part) << part.error().message("test");
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(part->size(), HttpReply::kUnsentBound + 4) << "nothing that was written is lost";
}

TEST_F(SignedHttp, TellsAMungedThatHangsFromADaemonThatDoes) {
  HttpQuestion question = get("/");
  question.time_limit = std::chrono::milliseconds(300);
  ::kill(munged_.pid(), SIGSTOP);
  const auto answer = ask(question);
  ::kill(munged_.pid(), SIGCONT);
  EXPECT_EQ(answer.error().code, ErrorCode::munge_away);
}

TEST_F(SignedHttp, BoundsWhatAnAddressMaySend) {
  server_.reset();
  HttpLimits limits;
  limits.request.header_bytes = 4096;
  limits.request.body_bytes = 100;
  limits.connections_per_address = 2;
  listen(*credentials_, limits);
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nX: " + std::string(5000, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(raw("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  const TestPeer one(port_), two(port_);  // (Who says nothing gives way: http_strangers_test.cc.)
  EXPECT_THAT(raw("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(SignedHttp, SaysWhyItCannotListen) {
  EXPECT_EQ(make_http_server(*loop_)->listen_tcp("localhost", 0, *credentials_).error().code,
            ErrorCode::bad_input);
  EXPECT_EQ(make_http_server(*loop_)->listen_tcp("127.0.0.1", port_, *credentials_).error().code,
            ErrorCode::conflict);
}

TEST_F(SignedHttp, LooksUpAddresses) {
  AddressBook book(*loop_);
  const auto look_up = [&](const std::string& name) {
    Result<std::vector<std::string>> got = fail(ErrorCode::internal, "");
    book.look_up(name, [&](Result<std::vector<std::string>> found) {
      got = std::move(found);
      loop_->stop();
    });
    loop_->run();
    return got;
  };
  EXPECT_EQ(*look_up("10.1.2.3"), std::vector<std::string>{"10.1.2.3"});
  EXPECT_EQ(*look_up("::ffff:10.1.2.3"), std::vector<std::string>{"10.1.2.3"});
  EXPECT_THAT(*look_up("localhost"), testing::Contains(testing::AnyOf("127.0.0.1", "::1")));
  EXPECT_EQ(look_up("no-such-host.invalid").error().code, ErrorCode::not_found);
}

TEST(HttpSignature, SaysBackWhatItRead) {
  const RequestSignature request{"POST", "/v1/x?a=%20", "k", sha256_hex("b"), new_nonce()};
  EXPECT_EQ(*RequestSignature::parse(request.text()), request);
  const AnswerSignature answer{404, sha256_hex("b"), new_nonce()};
  EXPECT_EQ(*AnswerSignature::parse(answer.text()), answer);
  EXPECT_FALSE(RequestSignature::parse(answer.text()));
  EXPECT_FALSE(AnswerSignature::parse(request.text()));
  EXPECT_FALSE(RequestSignature::parse(request.text() + "\n"));
  EXPECT_NE(new_nonce(), new_nonce());
}

}  // namespace
}  // namespace sickbay
