// SPDX-License-Identifier: Apache-2.0
#include "service/ledger.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using namespace std::chrono_literals;

const TimePoint kLedgerStart = from_unix_seconds(1'800'000'000);

Command command(const std::string& key, const std::string& subject = "c1") {
  return {key, subject, "release", Json::object({{"job_id", 7}})};
}

// A ledger and the clock of its journal.
struct Book : Ledger {
  TimePoint now = kLedgerStart;

  void take(Event event) {
    event.at = now;
    apply(event);
  }
  void intend(const std::string& key, const std::string& subject) { take(intent(command(key, subject))); }
  void end(const std::string& key, const std::string& subject) {
    take(done(command(key, subject), Json::object()));
  }
  void close(const std::string& subject, std::string_view kind = kCaseClosed) {
    Event event;
    event.subject = subject;
    event.kind = kind;
    take(event);
  }
};

TEST(Ledger, AKeyIsIntendedOnce) {
  Ledger ledger;
  EXPECT_FALSE(ledger.knows("c1.r2.a1:release"));
  ledger.apply(Ledger::intent(command("c1.r2.a1:release")));
  EXPECT_TRUE(ledger.knows("c1.r2.a1:release"));
  ledger.apply(Ledger::done(command("c1.r2.a1:release"), Json::object()));
  EXPECT_TRUE(ledger.knows("c1.r2.a1:release")) << "an open case may ask again";
  EXPECT_EQ(ledger.open(), 0u);
}

TEST(Ledger, UnfinishedKeepTheirOrderAndTheirArguments) {
  Ledger ledger;
  for (const char* key : {"a", "b", "c"}) ledger.apply(Ledger::intent(command(key)));
  ledger.apply(Ledger::failed(command("b"), Error(ErrorCode::slurm_away, "away")));
  const std::vector<Command> open = ledger.unfinished();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0], command("a"));
  EXPECT_EQ(open[1], command("c"));
}

TEST(Ledger, AFailureCarriesCodeAndWords) {
  const Event event = Ledger::failed(
      command("a"), Error(ErrorCode::refused_by_slurm, "Invalid partition").because("it is down"));
  EXPECT_EQ(event.kind, kFailed);
  EXPECT_EQ(event.body["error"].dump(),
            R"({"code":"refused_by_slurm","what":"Invalid partition","cause":"it is down"})");
}

TEST(Ledger, AnIntentKeepsTheNodesThatItDraws) {
  Command drain = command("node:n3.d1", "node:n3");
  drain.draws = {"n3", "n4"};
  Book book;
  book.take(Ledger::intent(drain));
  book.intend("node:n5.u1", "node:n5");
  const std::vector<Command> open = book.unfinished();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0], drain) << "after a restart it is started again as it was";
  EXPECT_TRUE(open[1].draws.empty());
  EXPECT_EQ(Ledger::intent(drain).v, kIntentVersion);
  EXPECT_FALSE(Ledger::intent(open[1]).body.has("draws")) << "what takes nothing says nothing";
}

TEST(Ledger, ForgetsTheKeysOfAClosedSubject) {
  for (const std::string_view closing : kClosingKinds) {
    Book book;
    for (const char* key : {"c1.a", "c1.b", "c1.c"}) book.intend(key, "c1");
    book.intend("c2.a", "c2");
    for (const char* key : {"c1.a", "c1.b"}) book.end(key, "c1");
    book.end("c2.a", "c2");
    book.close("c1", closing);
    EXPECT_FALSE(book.knows("c1.a") || book.knows("c1.b")) << closing;
    EXPECT_TRUE(book.knows("c1.c")) << "it is under way";
    EXPECT_TRUE(book.knows("c2.a")) << "another subject's";
    EXPECT_EQ(book.open(), 1u);
    EXPECT_EQ(book.kept(), 2u);
    book.take(Ledger::failed(command("c1.c"), Error(ErrorCode::slurm_away, "away")));
    EXPECT_FALSE(book.knows("c1.c")) << "now it has ended";
    EXPECT_EQ(book.open(), 0u);
    EXPECT_EQ(book.kept(), 1u);
    EXPECT_EQ(book.ever(), 4u) << "it counts on";
    // What comes twice or for nothing changes nothing.
    book.end("c1.c", "c1");
    book.close("c1", closing);
    book.close("c9", closing);
    EXPECT_EQ(book.kept(), 1u);
    EXPECT_EQ(book.ever(), 4u);
  }
}

TEST(Ledger, ANodeNeverClosesSoItsKeysAreForgottenWithTime) {
  Book book;
  book.intend("node:n3.d1", "node:n3");
  book.intend("node:n3.g1", "node:n3");
  book.end("node:n3.d1", "node:n3");
  book.now = kLedgerStart + Ledger::kKept;
  book.intend("node:n4.d1", "node:n4");
  book.end("node:n4.d1", "node:n4");
  EXPECT_TRUE(book.knows("node:n3.d1")) << "to the day";
  book.now += Micros(1);
  book.intend("node:n5.d1", "node:n5");
  book.end("node:n5.d1", "node:n5");
  EXPECT_FALSE(book.knows("node:n3.d1"));
  EXPECT_TRUE(book.knows("node:n3.g1")) << "under way, however long";
  EXPECT_TRUE(book.knows("node:n4.d1"));
  EXPECT_EQ(book.kept(), 3u);
  EXPECT_EQ(book.ever(), 4u);
  book.end("node:n3.g1", "node:n3");
  EXPECT_TRUE(book.knows("node:n3.g1")) << "its days begin with its end";
  book.now += Ledger::kKept + 1s;
  book.intend("node:n6.d1", "node:n6");
  book.end("node:n6.d1", "node:n6");
  EXPECT_EQ(book.kept(), 1u);
  EXPECT_EQ(book.unfinished().size(), 0u);
}

TEST(Ledger, AnIntentThatComesTwiceCountsOnce) {
  Book book;
  book.intend("node:n3.d1", "node:n3");
  book.end("node:n3.d1", "node:n3");
  book.now += 24h;
  book.intend("node:n3.d1", "node:n3");
  EXPECT_EQ(book.ever(), 1u) << "once, ever";
  EXPECT_EQ(book.open(), 0u);
}

// A busy cluster writes for months; what a sickbayd holds of it must not follow.
TEST(Ledger, DoesNotGrowForEver) {
  constexpr int kCommands = 100'000, kDays = 100, kPerDay = kCommands / kDays;
  Book book;
  const auto key = [](int no) { return "node:n" + std::to_string(no % 500) + ".d" + std::to_string(no); };
  const auto subject = [](int no) { return "node:n" + std::to_string(no % 500); };
  const auto kept_days = std::chrono::duration_cast<std::chrono::days>(Ledger::kKept).count();
  std::size_t most = 0;
  for (int no = 0; no < kCommands; ++no) {
    book.now = kLedgerStart + Micros(24h) * no / kPerDay;
    book.intend(key(no), subject(no));
    book.end(key(no), subject(no));
    most = std::max(most, book.kept());
  }
  EXPECT_LE(most, static_cast<std::size_t>(kept_days * kPerDay + 1));
  EXPECT_EQ(book.ever(), static_cast<std::size_t>(kCommands));
  const int first_kept = kCommands - 1 - static_cast<int>(kept_days) * kPerDay;
  for (int no = 0; no < kCommands; ++no) ASSERT_EQ(book.knows(key(no)), no >= first_kept) << no;
  EXPECT_EQ(book.kept(), static_cast<std::size_t>(kCommands - first_kept));
}

}  // namespace
}  // namespace sickbay
