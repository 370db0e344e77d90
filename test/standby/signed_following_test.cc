// SPDX-License-Identifier: Apache-2.0
// A journal is followed over the real HTTP server and client, signed by a real munged.
#include "adapters/munge/munge_credentials.h"
#include "adapters/munge/munge_test_parts.h"
#include "adapters/net/asio_loop.h"
#include "adapters/net/http_server.h"
#include "adapters/net/signed_client.h"
#include "ports/people.h"
#include "service/standby/feed.h"
#include "service/standby/follower.h"
#include "test/standby/standby_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

class Nobody final : public People {
 public:
  void ask(std::uint32_t, std::uint32_t, std::function<void(const Person&)> then) override { then({}); }
  std::string name_now(std::uint32_t) override { return ""; }
};

TEST(SignedFollowing, ACopyIsTheSameRowForRowAndFollows) {
  const TestMunged munged;
  TwoFolders folders;
  const auto loop = make_asio_loop();
  const auto credentials = make_munge_credentials(*loop, {munged.socket()});
  auto journal = open_journal(folders.path(1));
  ASSERT_TRUE(journal) << journal.error().line();
  for (int i = 0; i < 200; ++i) write_events(**journal, i * 100, 100);  // several pages
  auto rows = open_journal_rows(folders.path(1));
  ASSERT_TRUE(rows);

  std::int64_t acknowledged = 0;
  StandbyFeed feed(
      *loop, **rows,
      [] {
        return StandbyFeed::Standing{"head1", 1};
      },
      [&](std::int64_t seq) { acknowledged = std::max(acknowledged, seq); });
  Nobody nobody;
  const auto server = make_http_server(*loop);
  server->name_callers_by(nobody);
  server->on_request([&](HttpRequest request, std::shared_ptr<HttpReply> reply) {
    EXPECT_EQ(request.path, kRowsTarget);
    auto body = Json::parse(request.body);
    ASSERT_TRUE(body);
    feed.ask(*body, [reply](Result<Json> answer) {
      reply->respond(answer ? json_response(200, *answer) : error_response(answer.error()));
    });
  });
  auto port = server->listen_tcp("127.0.0.1", 0, *credentials);
  ASSERT_TRUE(port) << port.error().line();
  SignedClientOptions options;
  options.host = "127.0.0.1";
  options.port = *port;
  options.server_uid = ::getuid();
  const auto client = make_signed_client(*loop, *credentials, options);

  auto copy = open_journal_copy(folders.path(2));
  ASSERT_TRUE(copy) << copy.error().line();
  Follower follower(*loop, *client, **copy, {});
  follower.start();
  // Then twenty more, each when the one before is acknowledged.
  int more = 0;
  const TimePoint limit = loop->now() + 60s;
  std::function<void()> look = [&] {
    if (loop->now() > limit) return loop->stop();
    if (follower.standing().following && acknowledged == (*journal)->last_seq()) {
      if (more == 20) return loop->stop();
      write_events(**journal, 100'000 + more++, 1);
      feed.woken();
    }
    loop->at(loop->now() + 1ms, look);
  };
  look();
  loop->run();
  EXPECT_EQ(more, 20) << follower.standing().trouble;
  EXPECT_EQ(acknowledged, (*journal)->last_seq());
  follower.stop();
  server->close();
  expect_same(folders);
}

}  // namespace
}  // namespace sickbay
