// SPDX-License-Identifier: Apache-2.0
#include "model/pending_reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "model/pending_facts.h"

namespace sickbay {
namespace {

using testing::HasSubstr;

PendingFacts facts() {
  PendingFacts f;
  f.job_id = 17;
  f.partition_names = "batch";
  f.request.account = "physics";
  f.request.qos = "normal";
  f.request.time_limit_s = 7200;
  return f;
}

// Every reason that this machine's Slurm can give has a row.  (The header is GPL: it is read, not included.)
TEST(PendingReason, KnowsEveryReasonOfSlurm) {
  std::ifstream file(SB_SLURM_H);
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  const std::size_t start = text.find("enum job_state_reason {");
  ASSERT_NE(start, text.npos) << SB_SLURM_H;
  std::string body = text.substr(start, text.find("};", start) - start);
  body = std::regex_replace(body, std::regex(R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"), "");

  std::set<std::string, std::less<>> known;
  for (const PendingReason& reason : pending_reasons()) known.emplace(reason.slurm_name);
  const std::regex name(R"(\b(?:WAIT|FAIL)_[A-Z_0-9]+\b)");
  int seen = 0;
  for (std::sregex_iterator it(body.begin(), body.end(), name), end; it != end; ++it, ++seen)
    EXPECT_TRUE(known.contains(it->str())) << it->str();
  EXPECT_GT(seen, 190);
}

TEST(PendingReason, HasWordsForAll) {
  const std::vector<PendingReason> all = pending_reasons();
  EXPECT_GE(all.size(), 202u);
  // What a person who submits jobs need not know.
  const std::regex jargon(R"(TRES|GRES|[Aa]ssoc|\bGrp|WAIT_|FAIL_|bitmap|RPC|NO_VAL|enum|\{\}|\{[01]\}|\.$)");
  std::set<std::string> words;
  for (const PendingReason& reason : all) {
    words.insert(reason.word);
    EXPECT_FALSE(reason.word.empty()) << reason.slurm_name;
    EXPECT_TRUE(reason.known);
    for (const std::string& text : {reason.meaning, reason.remedy}) {
      EXPECT_GT(text.size(), 15u) << reason.word;
      // 'sacctmgr show associations' is a command, and the only way to see them.
      const std::string read = std::regex_replace(text, std::regex("'[^']*'"), "");
      EXPECT_FALSE(std::regex_search(read, jargon)) << reason.word << ": " << text;
      // All place holders are known ones.
      EXPECT_EQ(fill_in(text, facts()).find_first_of("{}"), std::string::npos) << reason.word << ": " << text;
    }
    // What lasts is not cured by waiting, and the other way round.
    EXPECT_FALSE(reason.lasting && reason.cure == PendingCure::time) << reason.word;
  }
  EXPECT_EQ(words.size(), all.size() - 2) << "PartitionDown and AssocMaxBBMinutesPerJob are two reasons each";
}

TEST(PendingReason, SaysWhatAndWho) {
  const struct {
    const char* word;
    PendingCure cure;
    bool lasting;
    const char* meaning;
    const char* remedy;
  } rows[] = {
      {"JobHeldUser", PendingCure::user, true, "its owner holds it", "scontrol release 17"},
      {"launch_failed_requeued_held", PendingCure::operators, true, "could not be started on its nodes",
       "scontrol release 17"},
      {"JobHeldAdmin", PendingCure::operators, true, "an operator holds it", "scontrol release 17"},
      {"Priority", PendingCure::time, false, "before it in partition batch", "its turn"},
      {"PartitionDown", PendingCure::operators, true, "partition batch down", "set it up again"},
      {"DependencyNeverSatisfied", PendingCure::user, true, "did not end as it had to", "scancel 17"},
      {"JobArrayTaskLimit", PendingCure::time, false, "runs some of its tasks", "throttle"},

      // limits: whose, what kind, of what
      {"AssocGrpCpuLimit", PendingCure::time, false, "the running jobs of account physics hold the CPUs", ""},
      {"QOSGrpNodeLimit", PendingCure::time, false, "the running jobs of QOS normal hold the nodes", ""},
      {"QOSMaxGRESPerUser", PendingCure::time, false, "its user's running jobs in QOS normal hold the GPUs",
       ""},
      {"QOSMaxWallDurationPerJobLimit", PendingCure::user, true, "time limit (2 h) is longer than QOS normal",
       "scontrol update jobid=17 timelimit"},
      {"AssocGrpCPUMinutesLimit", PendingCure::operators, true,
       "account physics has used up its share of CPUs", ""},
      {"MaxJobsPerAccount", PendingCure::time, false, "as many jobs of account physics run in QOS normal",
       ""},
      {"QOSMinGRES", PendingCure::user, true, "asks for less GPUs or other devices than QOS normal demands",
       ""},

      // of later releases
      {"ReservationInvalid", PendingCure::user, true, "cannot be used by it", "reservationname="},
  };
  for (const auto& row : rows) {
    const PendingReason reason = pending_reason(row.word);
    EXPECT_EQ(reason.word, row.word);
    EXPECT_EQ(reason.cure, row.cure) << row.word;
    EXPECT_EQ(reason.lasting, row.lasting) << row.word;
    EXPECT_THAT(fill_in(reason.meaning, facts()), HasSubstr(row.meaning));
    EXPECT_THAT(fill_in(reason.remedy, facts()), HasSubstr(row.remedy));
  }
}

TEST(PendingReason, ShowsANewerSlurmsWordAsItIs) {
  const PendingReason reason = pending_reason("WaitingForTheMoon");
  EXPECT_FALSE(reason.known);
  EXPECT_THAT(reason.meaning, HasSubstr("'WaitingForTheMoon'"));
  EXPECT_FALSE(reason.lasting) << "nothing is known of it";
}

// A job that names several partitions may run in the one that allows it most.
TEST(PendingReason, TheTimeLimitIsThatOfTheMostGenerousPartition) {
  const std::pair<std::vector<std::int64_t>, const char*> rows[] = {
      {{}, "no limit"},        {{3600}, "1 h"},         {{3600, 7200}, "2 h"},         {{7200, 3600}, "2 h"},
      {{3600, 0}, "no limit"}, {{0, 3600}, "no limit"}, {{3600, 0, 7200}, "no limit"},
  };
  for (const auto& [limits, said] : rows) {
    PendingFacts f = facts();
    for (const std::int64_t limit : limits) f.partitions.emplace_back().max_time_s = limit;
    EXPECT_EQ(fill_in("{partition_time_limit}", f), said) << testing::PrintToString(limits);
  }
}

TEST(PendingReason, FillsAFactInOnce) {
  PendingFacts f = facts();
  f.request.licenses = "{job}";
  EXPECT_EQ(fill_in("{licenses} of {job} and {nobody}", f), "{job} of 17 and {nobody}");
  f.request.licenses.clear();
  EXPECT_EQ(fill_in("({licenses})", f), "(not told)");
}

}  // namespace
}  // namespace sickbay
