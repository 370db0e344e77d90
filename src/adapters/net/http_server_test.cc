// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <mutex>
#include <vector>

#include "adapters/net/net_test_parts.h"

namespace sickbay {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

// Answers with what it understood.
void echo(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
  Json query = Json::array();
  for (const auto& [name, value] : request.query) query.push(name + "=" + value);
  reply->respond(json_response(200, Json::object({{"method", request.method},
                                                  {"path", request.path},
                                                  {"query", query},
                                                  {"body", request.body},
                                                  {"key", request.idempotency_key},
                                                  {"uid", request.caller.uid},
                                                  {"gid", request.caller.gid},
                                                  {"pid", request.caller.pid},
                                                  {"user", request.caller.user}})));
}

Json json_of(const std::string& text) {
  auto parsed = Json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Json();
}

TEST(HttpServer, AnswersOneRequestAfterAnother) {
  TestServer server(echo);
  TestPeer peer = server.peer();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(peer.send("GET /v1/cases/c%31" + std::to_string(i) +
                          "?all=1&user=a%26b HTTP/1.1\r\nHost: x\r\n\r\n"));
    const auto [head, body] = peer.read_answer();
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(head, HasSubstr("Connection: keep-alive"));
    const Json json = json_of(body);
    EXPECT_EQ(json["path"].as_string(), "/v1/cases/c1" + std::to_string(i));
    EXPECT_EQ(json["query"].as_strings(), (std::vector<std::string>{"all=1", "user=a&b"}));
  }
  ASSERT_TRUE(
      peer.send("POST /v1/cases HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\nContent-Length: 5\r\n"
                "Connection: close\r\n\r\nhello"));
  const std::string rest = peer.read_all();  // the connection ends
  EXPECT_THAT(rest, HasSubstr("Connection: close"));
  EXPECT_THAT(rest, HasSubstr(R"("body":"hello","key":"k1")"));
}

TEST(HttpServer, KnowsItsCaller) {
  TestServer server(echo);
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const Json json = json_of(peer.read_answer().second);
  EXPECT_EQ(json["uid"].as_int(), ::getuid());
  EXPECT_EQ(json["gid"].as_int(), ::getgid());
  EXPECT_EQ(json["pid"].as_int(), ::getpid());
  EXPECT_EQ(json["user"].as_string(), ::getpwuid(::getuid())->pw_name);
}

TEST(HttpServer, KnowsACallerOfAnotherUid) {
  if (::getuid() != 0) return;  // the test above has shown our own
  TestServer server(echo);
  std::filesystem::permissions(std::filesystem::path(server.path()).parent_path(),
                               std::filesystem::perms(0755));
  const struct {
    uid_t uid;
    const char* user;
  } rows[] = {{65534, "nobody"}, {48123, "48123"}};  // the second has no name
  for (const auto& row : rows) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(row.uid) != 0) ::_exit(1);
      TestPeer peer(server.path());
      peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      const std::string body = peer.read_answer().second;
      ::_exit(::write(ends[1], body.data(), body.size()) == static_cast<ssize_t>(body.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string body(4096, '\0');
    body.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], body.data(), body.size()))));
    ::close(ends[0]);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    const Json json = json_of(body);
    EXPECT_EQ(json["uid"].as_int(), row.uid);
    EXPECT_EQ(json["gid"].as_int(), 65534);
    EXPECT_EQ(json["pid"].as_int(), child);
    EXPECT_EQ(json["user"].as_string(), row.user);
  }
}

TEST(HttpServer, ANameServiceThatHangsHoldsUpTheRequestThatNeedsItAlone) {
  TestServer server(echo);
  run_on(server.loop(), [&] { server.people().hold(1); });
  TestPeer slow = server.peer(), other = server.peer();
  ASSERT_TRUE(slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(becomes_on(server.loop(), [&] { return server.people().held() == 1; }));
  ASSERT_TRUE(other.send("GET /other HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(json_of(other.read_answer().second)["path"].as_string(), "/other");
  run_on(server.loop(), [&] { server.people().let_go(); });
  const Json json = json_of(slow.read_answer().second);
  EXPECT_EQ(json["path"].as_string(), "/slow");
  EXPECT_EQ(json["user"].as_string(), ::getpwuid(::getuid())->pw_name);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  // The first is answered last, by a timer.
  std::vector<std::string> asked;
  Loop* loop = nullptr;
  TestServer server([&](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    asked.push_back(request.path);
    if (request.path == "/0") {
      loop->at(loop->now() + milliseconds(5), [request, reply] { echo(request, reply); });
    } else {
      echo(request, reply);
    }
  });
  loop = &server.loop();
  std::string burst;
  for (int i = 0; i < 3000; ++i) burst += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  TestPeer peer = server.peer();
  std::thread sender([&] {
    EXPECT_TRUE(peer.send(burst));
    peer.end_sending();  // what was asked before is still answered
  });
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(json_of(peer.read_answer().second)["path"].as_string(), "/" + std::to_string(i));
  sender.join();
  EXPECT_EQ(peer.read_all(), "");
}

TEST(HttpServer, RefusesWhatItCannotRead) {
  TestServer server(echo);
  const struct {
    std::string bytes;
    int status;
    const char* what;
  } rows[] = {
      {"hello\r\n\r\n", 400, "not HTTP/1.1"},
      {"GET / HTTP/9.9\r\n\r\n", 400, "not HTTP/1.1"},
      {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "broken escape"},
      {"GET /a%0ab HTTP/1.1\r\nHost: x\r\n\r\n", 400, "control character"},
      {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "no such target"},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "not HTTP/1.1"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, "chunks"},
      {"GET / HTTP/1.1\r\nIdempotency-Key: " + std::string(201, 'k') + "\r\n\r\n", 400, "Idempotency-Key"},

      {"GET / HTTP/1.1\r\nX: " + std::string(17000, 'x') + "\r\n\r\n", 431, "over 16384 bytes"},
      {"POST / HTTP/1.1\r\nContent-Length: 8388609\r\n\r\n", 413, "over 8388608 bytes"},
  };
  for (const auto& row : rows) {
    TestPeer peer = server.peer();
    ASSERT_TRUE(peer.send(row.bytes));
    const auto [head, body] = peer.read_answer();
    EXPECT_THAT(head, StartsWith("HTTP/1.1 " + std::to_string(row.status) + " ")) << row.bytes.substr(0, 60);
    EXPECT_THAT(head, HasSubstr("Connection: close"));
    const Json json = json_of(body);
    EXPECT_EQ(json["code"].as_string(), "bad_input");
    EXPECT_THAT(json["what"].as_string(), HasSubstr(row.what)) << row.bytes.substr(0, 60);
    EXPECT_NE(json["remedy"].as_string(), "");
    EXPECT_EQ(peer.read_all(), "");
  }
}

TEST(HttpServer, TakesTheLargestBodyAndSaysContinue) {
  TestServer server([](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(json_response(200, Json::object({{"bytes", request.body.size()}})));
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(
      peer.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8388608\r\n\r\n"));
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(peer.send(std::string(8388608, 'b')));
  EXPECT_EQ(json_of(peer.read_answer().second)["bytes"].as_int(), 8388608);
}

TEST(HttpServer, AHandlerThatForgetsGetsAnAnswerForIt) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>&) {});
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const auto [head, body] = peer.read_answer();
  EXPECT_THAT(head, StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(json_of(body)["code"].as_string(), "internal");
}

TEST(HttpServer, HeadHasNoBody) {
  TestServer server(echo);
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(peer.read_all(), testing::EndsWith("\r\n\r\n"));
}

TEST(HttpServer, HeadersStayOnTheirLine) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    HttpResponse response;
    response.headers.emplace_back("X-Name", "n1\r\nSet-Cookie: evil");
    reply->respond(response);
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(peer.read_answer().first, HasSubstr("X-Name: n1  Set-Cookie: evil\r\n"));
}

// ---- time-outs: the limits are short here, and the peer waits for the end of the connection

TEST(HttpServer, ARequestThatStopsHalfWayIsRefused) {
  HttpLimits limits;
  limits.header_time = limits.body_time = milliseconds(30);
  TestServer server(echo, limits);
  for (const char* half :
       {"GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"}) {
    TestPeer peer = server.peer();
    ASSERT_TRUE(peer.send(half));
    const std::string answer = peer.read_all();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 408 ")) << half;
    EXPECT_THAT(answer, HasSubstr("\"timed_out\""));
  }
}

TEST(HttpServer, AnIdleConnectionIsClosed) {
  HttpLimits limits;
  limits.idle_time = milliseconds(30);
  TestServer server(echo, limits);
  TestPeer silent = server.peer();
  EXPECT_EQ(silent.read_all(), "");
  TestPeer used = server.peer();
  ASSERT_TRUE(used.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(used.read_answer().second, "");
  EXPECT_EQ(used.read_all(), "");
}

TEST(HttpServer, AnAnswerThatNobodyReadsIsDropped) {
  HttpLimits limits;
  limits.send_time = milliseconds(30);
  std::promise<void> closed;
  TestServer server(
      [&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
        HttpResponse response;
        response.body = std::string(4 << 20, 'x');
        reply->on_close([&] { closed.set_value(); });
        reply->respond(std::move(response));
      },
      limits);
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(closed.get_future().wait_for(kTestPatience), std::future_status::ready);
  EXPECT_LT(peer.read_all().size(), std::size_t{4} << 20);
}

// ---- streams

TEST(HttpServer, StreamsInChunks) {
  std::shared_ptr<HttpReply> kept;
  std::promise<void> begun, closed;
  TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    kept = reply;
    reply->on_close([&] { closed.set_value(); });
    reply->begin_stream("application/x-ndjson");
    begun.set_value();
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  begun.get_future().wait();
  EXPECT_THAT(peer.read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked"));
  server.on_loop([&] {
    EXPECT_TRUE(kept->write("{\"seq\":1}\n"));
    EXPECT_TRUE(kept->write(""));  // no chunk: an empty one would end the stream
  });
  EXPECT_EQ(peer.read_until("\n\r\n"), "a\r\n{\"seq\":1}\n\r\n");
  server.on_loop([&] {
    EXPECT_TRUE(kept->is_open());
    EXPECT_TRUE(kept->write("x"));
    kept->end();
    EXPECT_FALSE(kept->is_open());
  });
  EXPECT_EQ(peer.read_until("0\r\n\r\n"), "1\r\nx\r\n0\r\n\r\n");
  EXPECT_EQ(closed.get_future().wait_for(kTestPatience), std::future_status::ready);
  server.on_loop([&] { kept.reset(); });
}

TEST(HttpServer, AnOldClientGetsItsStreamUntilTheConnectionEnds) {
  TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("text/plain");
    reply->write("one\n");
    reply->write("two\n");
    reply->end();
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(peer.read_all(), testing::EndsWith("Connection: close\r\n\r\none\ntwo\n"));
}

TEST(HttpServer, ASlowReaderOfAStreamIsCut) {
  std::promise<std::size_t> written;
  std::promise<void> closed;
  TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->on_close([&] { closed.set_value(); });
    reply->begin_stream("text/plain");
    std::size_t bytes = 0;
    while (bytes < (std::size_t{64} << 20) && reply->write(std::string(10'000, 'x'))) bytes += 10'000;
    EXPECT_FALSE(reply->is_open());
    EXPECT_FALSE(reply->write("more"));
    written.set_value(bytes);
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::size_t bytes = written.get_future().get();
  EXPECT_GE(bytes, HttpReply::kUnsentBound - 10'000);      // a reader may fall behind that far
  EXPECT_LT(bytes, HttpReply::kUnsentBound + (2U << 20));  // plus what the kernel holds
  EXPECT_EQ(closed.get_future().wait_for(kTestPatience), std::future_status::ready);
  EXPECT_THAT(peer.read_all(), testing::Not(HasSubstr("0\r\n\r\n")));  // the cut can be told from an end
}

TEST(HttpServer, AStreamWhoseWriterIsGoneIsCut) {
  TestServer server([](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->begin_stream("text/plain");
    reply->write("half");
  });
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(peer.read_all(), testing::EndsWith("4\r\nhalf\r\n"));
}

TEST(HttpServer, TellsWhenThePeerLeaves) {
  for (const bool half_first : {false, true}) {
    std::shared_ptr<HttpReply> kept;
    std::promise<void> asked, closed;
    TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
      kept = reply;
      reply->on_close([&] { closed.set_value(); });
      asked.set_value();
    });
    {
      TestPeer peer = server.peer();
      ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
      asked.get_future().wait();
      if (half_first) {
        peer.end_sending();  // it may still want the answer
        server.on_loop([&] { EXPECT_TRUE(kept->is_open()); });
      }
    }
    EXPECT_EQ(closed.get_future().wait_for(kTestPatience), std::future_status::ready);
    std::promise<void> late;
    server.on_loop([&] {
      EXPECT_FALSE(kept->is_open());
      kept->on_close([&] { late.set_value(); });  // told although it is over
      kept->respond(HttpResponse());              // without effect
      kept.reset();
    });
    EXPECT_EQ(late.get_future().wait_for(kTestPatience), std::future_status::ready);
  }
}

TEST(HttpServer, AReplyMayOutliveServerAndLoop) {
  std::shared_ptr<HttpReply> kept;
  {
    std::promise<void> asked;
    TestServer server([&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
      kept = reply;
      reply->begin_stream("text/plain");
      asked.set_value();
    });
    TestPeer peer = server.peer();
    ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    asked.get_future().wait();
  }
  EXPECT_FALSE(kept->is_open());
  EXPECT_FALSE(kept->write("x"));
}

// ---- limits on connections

TEST(HttpServer, ServesAsManyAsItMayAndTellsTheRest) {
  TestServer server(echo);
  std::vector<TestPeer> peers;
  for (int i = 0; i < 300; ++i) {
    peers.push_back(server.peer());
    ASSERT_TRUE(peers.back().connected()) << i;
  }
  for (TestPeer& peer : peers) ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  int served = 0, refused = 0;
  std::vector<TestPeer*> open;
  for (TestPeer& peer : peers) {
    const auto [head, body] = peer.read_answer();
    if (head.starts_with("HTTP/1.1 200 ")) {
      ++served;
      open.push_back(&peer);
      continue;
    }
    EXPECT_THAT(head, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(head, HasSubstr("Retry-After: "));
    EXPECT_EQ(json_of(body)["code"].as_string(), "busy");
    ++refused;
  }
  const int limit = ::getuid() == 0 ? 256 : 64;
  EXPECT_EQ(served, limit);
  EXPECT_EQ(refused, 300 - limit);

  for (TestPeer* peer : open) ASSERT_TRUE(peer->send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n"));
  for (TestPeer* peer : open) EXPECT_THAT(peer->read_answer().first, StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, AFreedPlaceIsTakenAgain) {
  HttpLimits limits;
  limits.connections = 1;
  TestServer server(echo, limits);
  for (int i = 0; i < 200; ++i) {
    // A refusal only says that the end of the last one has not been seen yet.
    bool served = false;
    for (int attempt = 0; attempt < 10'000 && !served; ++attempt) {
      TestPeer peer = server.peer();
      ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
      served = peer.read_answer().first.starts_with("HTTP/1.1 200 ");
    }
    ASSERT_TRUE(served) << i;
  }
}

TEST(HttpServer, OneUserLeavesRoomForRoot) {
  if (::getuid() != 0) return;
  HttpLimits limits;
  limits.connections_per_user = 3;
  TestServer server(echo, limits);
  std::filesystem::permissions(std::filesystem::path(server.path()).parent_path(),
                               std::filesystem::perms(0755));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setuid(65534) != 0) ::_exit(99);
    int served = 0;
    std::vector<TestPeer> peers;
    for (int i = 0; i < 10; ++i) {
      peers.emplace_back(server.path());
      peers.back().send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      served += peers.back().read_answer().first.starts_with("HTTP/1.1 200 ");
    }
    ::_exit(served);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// ---- the socket file

TEST(HttpServer, ReplacesTheSocketOfADeadServer) {
  const TestFolder folder;
  const std::string path = folder.path() + "/s.sock";
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(fd, 1), 0);
    ::close(fd);  // as after kill -9: the file stays
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    TestServer server(echo, {}, path);
    struct stat made;
    ASSERT_EQ(::lstat(path.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 0666U);
    TestPeer peer = server.peer();
    ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(peer.read_answer().first, StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  TestServer again(echo, {}, path);
  EXPECT_TRUE(again.peer().connected());
}

TEST(HttpServer, RefusesThePathOfALivingServer) {
  TestServer server(echo);
  const auto loop = make_asio_loop();
  const auto second = make_http_server(*loop);
  const Status refused = second->listen_unix(server.path(), 0666);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().what, HasSubstr(server.path()));

  std::filesystem::remove(server.path() + ".lock");  // even then: it answers
  const Status answers = second->listen_unix(server.path(), 0666);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, ErrorCode::conflict);
  EXPECT_THAT(answers.error().what, HasSubstr("answers"));
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(peer.read_answer().first, StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const TestFolder folder;
  std::ofstream(folder.path() + "/file") << "precious";
  const struct {
    std::string path;
    ErrorCode code;
  } rows[] = {
      {folder.path() + "/file", ErrorCode::conflict},
      {folder.path() + "/no/such/folder/s.sock", ErrorCode::os},
      {folder.path() + "/" + std::string(120, 'x'), ErrorCode::bad_input},
      {"", ErrorCode::bad_input},
  };
  for (const auto& row : rows) {
    const auto loop = make_asio_loop();
    const Status refused = make_http_server(*loop)->listen_unix(row.path, 0666);
    ASSERT_FALSE(refused) << row.path;
    EXPECT_EQ(refused.error().code, row.code) << refused.error().line();
    EXPECT_NE(refused.error().remedy(), "");
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/file"));
}

TEST(HttpServer, GivesNoDescriptorToPrograms) {
  TestServer server(echo);
  TestPeer peer = server.peer();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  peer.read_answer();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    if (fd > 2 && ::fcntl(fd, F_GETFD) >= 0) {
      std::error_code ignored;
      const std::string what = std::filesystem::read_symlink(entry.path(), ignored);
      if (!what.starts_with("socket:") && !what.starts_with("anon_inode:")) continue;
      EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << fd << " " << what;
    }
  }
}

}  // namespace
}  // namespace sickbay
