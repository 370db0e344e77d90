// SPDX-License-Identifier: Apache-2.0
#include "service/ledger.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

Command command(const std::string& key) { return {key, "c1", "release", Json::object({{"job_id", 7}})}; }

TEST(Ledger, AKeyIsIntendedOnce) {
  Ledger ledger;
  EXPECT_FALSE(ledger.knows("c1.r2.a1:release"));
  ledger.apply(Ledger::intent(command("c1.r2.a1:release")));
  EXPECT_TRUE(ledger.knows("c1.r2.a1:release"));
  ledger.apply(Ledger::done(command("c1.r2.a1:release"), Json::object()));
  EXPECT_TRUE(ledger.knows("c1.r2.a1:release")) << "done is for ever";
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

}  // namespace
}  // namespace sickbay
