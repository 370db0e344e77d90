// SPDX-License-Identifier: Apache-2.0
// The client against the real server, and against sockets that misbehave as no server of ours does.
#include "client/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "adapters/net/net_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

ApiClient connected(const std::string& path, ApiTimes times = {}) {
  auto client = ApiClient::connect(path, times);
  EXPECT_TRUE(client) << client.error().message("test");
  return std::move(*client);
}

// A peer that takes one connection after another and says what it was told to, then closes.
class RawServer {
 public:
  explicit RawServer(std::vector<std::string> answers) : path_(folder_.path() + "/raw.sock") {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
        if (peer < 0) return;
        std::string asked;
        char byte;
        while (!asked.ends_with("\r\n\r\n") && ::recv(peer, &byte, 1, 0) == 1) asked += byte;
        ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        ::close(peer);
      }
    });
  }
  ~RawServer() {
    ::shutdown(fd_, SHUT_RDWR);  // ends an accept() that still waits
    thread_.join();
    ::close(fd_);
  }
  const std::string& path() const { return path_; }

 private:
  TestFolder folder_;
  std::string path_;
  int fd_ = -1;
  std::thread thread_;
};

TEST(ApiClient, GetsAndPosts) {
  TestServer server([](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(json_response(request.method == "POST" ? 201 : 200,
                                 Json::object({{"method", request.method},
                                               {"path", request.path},
                                               {"user", request.query_value("user").value_or("")},
                                               {"body", request.body},
                                               {"key", request.idempotency_key}})));
  });
  ApiClient client = connected(server.path());
  const auto got = client.get("/v1/cases?user=" + percent_encoded("a&b c"));
  ASSERT_TRUE(got) << got.error().message("test");
  EXPECT_EQ((*got)["path"].as_string(), "/v1/cases");
  EXPECT_EQ((*got)["user"].as_string(), "a&b c");
  const auto posted = client.post("/v1/cases", Json::object({{"job_id", 123}}), "k1");
  ASSERT_TRUE(posted);
  EXPECT_EQ((*posted)["body"].as_string(), R"({"job_id":123})");
  EXPECT_EQ((*posted)["key"].as_string(), "k1");

  ApiClient moved = std::move(client);
  EXPECT_TRUE(moved.get("/"));
  EXPECT_THAT(*moved.get_text("/text"), HasSubstr("/text"));
}

TEST(ApiClient, AnErrorOfTheServerComesBackWhole) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(error_response(Error(ErrorCode::not_found, "no case c17")
                                      .because("it was never opened")
                                      .remedied_by("see 'sickbay cases'")));
  });
  ApiClient client = connected(server.path());
  const auto check = [](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_EQ(error.message("sickbay"),
              "sickbay: error: no case c17\n  cause:  it was never opened\n  remedy: see 'sickbay cases'");
  };
  for (int i = 0; i < 2; ++i) {  // the connection stays good
    const auto got = client.get("/v1/cases/c17");
    ASSERT_FALSE(got);
    check(got.error());
  }
  const Status streamed = client.stream("/v1/events", [](std::string_view) { return true; });
  ASSERT_FALSE(streamed);
  check(streamed.error());
}

TEST(ApiClient, SaysThatNobodyAnswers) {
  const TestFolder folder;
  const std::string stale = folder.path() + "/stale.sock", missing = folder.path() + "/missing.sock";
  {
    TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>&) {}, {}, missing);
  }
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, stale.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
  }
  const struct {
    std::string path;
    const char* cause;
  } rows[] = {{missing, "there is no socket"}, {stale, "nobody listens"}};
  for (const auto& row : rows) {
    const auto client = ApiClient::connect(row.path);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::daemon_away);
    EXPECT_THAT(client.error().what, HasSubstr(row.path));
    EXPECT_THAT(client.error().cause, HasSubstr(row.cause));
    EXPECT_THAT(std::string(client.error().remedy()), HasSubstr(row.path));
  }
  EXPECT_EQ(ApiClient::connect(std::string(200, 'x')).error().code, ErrorCode::bad_input);
  EXPECT_EQ(ApiClient::connect("").error().code, ErrorCode::bad_input);
}

TEST(ApiClient, RefusesTargetsThatAreNone) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>&) { FAIL() << "was asked"; });
  ApiClient client = connected(server.path());
  for (const char* target : {"", "v1", "/a b", "/a\r\nX: y", "/\xc3\xa4"}) {
    EXPECT_EQ(client.get(target).error().code, ErrorCode::bad_input) << target;
    EXPECT_EQ(client.stream(target, [](std::string_view) { return true; }).error().code,
              ErrorCode::bad_input);
  }
  EXPECT_EQ(client.post("/v1", Json(), "k\r\nX: y").error().code, ErrorCode::bad_input);
}

TEST(ApiClient, ConnectsAgainWhenTheServerHasClosed) {
  HttpLimits limits;
  limits.idle_time = milliseconds(1);
  std::atomic<int> asked = 0;
  TestServer server(
      [&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
        ++asked;
        reply->respond(json_response(200, Json::object()));
      },
      limits);
  ApiClient client = connected(server.path());
  for (int i = 0; i < 200; ++i) {
    const auto got = client.post("/", Json::object(), "k");
    ASSERT_TRUE(got) << got.error().message("test");
  }
  EXPECT_GE(asked, 200);
}

TEST(ApiClient, RepeatsARequestOnceAtMost) {
  RawServer server({"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"});
  // connect() makes the first connection, which is counted as kept: the request goes out a second time.
  EXPECT_TRUE(connected(server.path()).get("/"));
  RawServer mute({"", ""});
  const auto got = connected(mute.path()).get("/");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::daemon_away);
}

TEST(ApiClient, ReportsAnswersThatAreNone) {
  const struct {
    const char* answer;
    ErrorCode code;
    const char* text;
  } rows[] = {
      {"nonsense\r\n\r\n", ErrorCode::bad_input, "not HTTP"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", ErrorCode::daemon_away, "in the middle"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{,}", ErrorCode::bad_input, "GET /v1"},
      {"HTTP/1.1 502 Bad\r\nContent-Length: 3\r\n\r\nbad", ErrorCode::internal, "502"},
  };
  for (const auto& row : rows) {
    RawServer server({row.answer});
    const auto got = connected(server.path()).get("/v1");
    ASSERT_FALSE(got) << row.answer;
    EXPECT_EQ(got.error().code, row.code) << got.error().message("test");
    EXPECT_THAT(got.error().message("test"), HasSubstr(row.text));
  }
}

TEST(ApiClient, DoesNotWaitForEver) {
  std::shared_ptr<HttpReply> kept;
  TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    kept = reply;
    if (kept->is_open()) kept->begin_stream("text/plain");
  });
  ApiTimes times;
  times.answer = times.stream_silence = milliseconds(30);
  ApiClient client = connected(server.path(), times);
  EXPECT_EQ(client.get("/").error().code, ErrorCode::timed_out);
  EXPECT_EQ(client.stream("/", [](std::string_view) { return true; }).error().code, ErrorCode::timed_out);
  server.on_loop([&] { kept.reset(); });
}

TEST(ApiClient, ReadsTheRefusalOfWhatItCouldNotSend) {
  HttpLimits limits;
  limits.request.body_bytes = 1000;
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>&) { FAIL() << "was asked"; },
                    limits);
  ApiClient client = connected(server.path());
  const auto got = client.post("/", Json::object({{"script", std::string(2 << 20, 'x')}}), "k");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::bad_input);
  EXPECT_THAT(got.error().what, HasSubstr("over 1000 bytes"));
}

TEST(ApiClient, StreamsLineByLine) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("application/x-ndjson");
    for (const char* piece : {"one\ntw", "o\n", "\nfour"}) reply->write(piece);
    reply->end();
  });
  ApiClient client = connected(server.path());
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> lines;
    const Status read = client.stream("/v1/events", [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    ASSERT_TRUE(read) << read.error().message("test");
    EXPECT_THAT(lines, ElementsAre("one", "two", "", "four"));
  }
  EXPECT_TRUE(client.stream("/v1/events", [](std::string_view line) { return line != "two"; }));
}

TEST(ApiClient, AStreamThatIsLeftIsToldToItsWriter) {
  std::promise<void> closed;
  std::shared_ptr<HttpReply> kept;
  TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    kept = reply;
    reply->on_close([&] { closed.set_value(); });
    reply->begin_stream("application/x-ndjson");
    reply->write("one\n");
  });
  ApiClient client = connected(server.path());
  EXPECT_TRUE(client.stream("/v1/events", [](std::string_view) { return false; }));
  EXPECT_EQ(closed.get_future().wait_for(kTestPatience), std::future_status::ready);
  server.on_loop([&] { kept.reset(); });
}

TEST(ApiClient, ACutStreamIsNoEnd) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("application/x-ndjson");
    reply->write("one\nhal");  // and forgotten
  });
  ApiClient client = connected(server.path());
  std::vector<std::string> lines;
  const Status read = client.stream("/v1/events", [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::daemon_away);
  EXPECT_THAT(std::string(read.error().remedy()), HasSubstr("after the last line"));
  EXPECT_THAT(lines, ElementsAre("one"));
}

TEST(ApiClient, EncodesForTargets) {
  EXPECT_EQ(percent_encoded("az-AZ_0.9~"), "az-AZ_0.9~");
  EXPECT_EQ(percent_encoded("n[1-3] /&+%\xc3\xa4"), "n%5B1-3%5D%20%2F%26%2B%25%C3%A4");
}

TEST(ApiClient, KeysDiffer) {
  std::set<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.insert(new_idempotency_key());
  EXPECT_EQ(keys.size(), 100U);
  EXPECT_EQ(keys.begin()->size(), 32U);
}

// sickbayd on another host, as far as the client sees it.
struct Remote final : RemoteSickbayd {
  Result<std::string> ask(HttpQuestion question) override {
    asked.push_back(question.method + " " + question.target + " " + question.body + " " +
                    question.idempotency_key);
    limit = question.time_limit;
    return answer;
  }
  std::vector<std::string> asked;
  milliseconds limit{0};
  Result<std::string> answer = std::string();
};

TEST(ApiClient, AsksARemoteSickbaydTheSame) {
  auto remote = std::make_shared<Remote>();
  ApiClient client(remote);
  EXPECT_TRUE(client.is_remote());
  remote->answer = R"({"case":"c1"})";
  EXPECT_EQ((*client.get("/v1/cases/c1"))["case"].as_string(), "c1");
  EXPECT_EQ((*client.post("/v1/cases", Json::object({{"a", 1}}), "k1"))["case"].as_string(), "c1");
  EXPECT_EQ(client.get("v1").error().code, ErrorCode::bad_input) << "not asked at all";
  EXPECT_THAT(remote->asked, ElementsAre("GET /v1/cases/c1  ", R"(POST /v1/cases {"a":1} k1)"));
  remote->answer = "text";
  EXPECT_EQ(client.get_text("/metrics").value(), "text");
  EXPECT_EQ(client.get("/metrics").error().code, ErrorCode::bad_input);
  remote->answer = fail(ErrorCode::munge_away, "no munged");
  EXPECT_EQ(client.get("/v1/status").error().code, ErrorCode::munge_away);
}

TEST(ApiClient, ReadsARemoteStreamPartByPart) {
  auto remote = std::make_shared<Remote>();
  ApiTimes times;
  times.stream_silence = milliseconds(2000);
  ApiClient client(remote, times);
  std::vector<std::string> lines;
  const auto each = [&](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < 3;
  };
  remote->answer = "";
  EXPECT_TRUE(client.stream("/v1/events?after=0&follow=1", each)) << "nothing came, which is no error";
  remote->answer = "1\n2\n";
  EXPECT_TRUE(client.stream("/v1/events?after=0&follow=1", each));
  EXPECT_EQ(remote->limit, milliseconds(10'000)) << "shorter, and what is on its way would be lost each time";
  remote->answer = "3\n4\n";
  EXPECT_TRUE(client.stream("/v1/events?after=2&follow=1", each));
  EXPECT_THAT(lines, ElementsAre("1", "2", "3"));
  remote->answer = fail(ErrorCode::timed_out, "silent");
  EXPECT_EQ(client.stream("/v1/events?after=3&follow=1", each).error().code, ErrorCode::timed_out);
}

}  // namespace
}  // namespace sickbay
