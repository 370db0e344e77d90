// SPDX-License-Identifier: Apache-2.0
// A network between feed and follower that does what a test wants of it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "ports/http_client.h"
#include "service/standby/feed.h"

namespace sickbay {

// From one process to the other without sockets; signed_following_test.cc has them.
class Wire final : public HttpClient {
 public:
  Wire(Loop& loop, StandbyFeed*& feed) : loop_(loop), feed_(feed) {}
  bool is_cut = false;
  std::function<void(Json& answer)> change;  ///< of each answer
  int asked = 0;
  std::int64_t rows = 0;  ///< that came over

  void ask(HttpQuestion question, Done<Json> done) override {
    ++asked;
    EXPECT_EQ(question.target, kRowsTarget);
    auto body = Json::parse(question.body);
    ASSERT_TRUE(body);
    // Whoever comes first, answer or limit, is heard.
    const auto over = std::make_shared<bool>(false);
    const auto once = [over, done](Result<Json> answer) {
      if (!std::exchange(*over, true)) done(std::move(answer));
    };
    loop_.at(loop_.now() + question.time_limit,
             [once] { once(fail(ErrorCode::timed_out, "sickbayd takes too long")); });
    if (is_cut || feed_ == nullptr)
      return loop_.post([once] { once(fail(ErrorCode::daemon_away, "sickbayd does not answer")); });
    loop_.post([this, body = *body, once] {
      if (feed_ == nullptr) return;
      feed_->ask(body, [this, once](Result<Json> answer) {
        if (is_cut) return;
        if (answer) rows += static_cast<std::int64_t>((*answer)["rows"].size());
        if (answer && change) change(*answer);
        loop_.post([answer, once] { once(answer); });
      });
    });
  }

 private:
  Loop& loop_;
  StandbyFeed*& feed_;
};

}  // namespace sickbay
