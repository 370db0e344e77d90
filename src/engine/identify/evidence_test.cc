// SPDX-License-Identifier: Apache-2.0
// What a case knows besides its own runs: V's word in other cases, silent nodes, failed steps; how V waits on
// a busy cluster; and what is said while nothing is decided.
#include "engine/identify/evidence.h"

#include <gmock/gmock.h>

#include "base/hostlist.h"
#include "engine/identify/advice.h"
#include "engine/identify/case_view.h"
#include "engine/identify/open_cases.h"
#include "engine/identify/placement.h"
#include "engine/identify/provisional.h"
#include "engine/identify/suspects.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

// Cases told by hand: nothing answers but what a test says.
struct Story {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  int verdicts = 0;

  Story() { nodes("n[1-6]", "IDLE"); }

  void say(const std::string& subject, std::string_view kind, Json body) {
    Event event;
    event.at = now;
    event.subject = subject;
    event.kind = kind;
    event.body = std::move(body);
    verdicts += kind == kVerdict;
    cluster::apply(cluster, event);
    apply(state, cluster.view, event);
  }
  void nodes(const std::string& names, const std::string& shown) {
    say("cluster", kNodesSeen,
        Json::object(
            {{"groups", Json::array({Json::object({{"nodes", names},
                                                   {"state", shown},
                                                   {"usable", shown == "IDLE" || shown == "ALLOCATED"},
                                                   {"down", shown.starts_with("DOWN")},
                                                   {"partitions", Names{"main"}}})})}}));
  }
  void job(const std::string& run, JobId id, const std::string& shown, const std::string& on,
           std::chrono::seconds ran = 30s, const std::string& reservation = "") {
    JobInfo info;
    info.job_id = id;
    info.state = shown;
    info.partition = "main";
    info.nodes = on;
    info.reservation = reservation;
    info.start = on.empty() ? kNoTime : now - ran;
    info.end = shown == "PENDING" || shown == "RUNNING" ? kNoTime : now;
    info.exit_code = shown == "FAILED" ? 1 : 0;
    say(run.substr(0, run.find('.')), kJobSeen, Json::object({{"run", run}, {"job", info.to_json()}}));
  }
  // A case whose job has failed on `on`, and what it then asks for.
  void failed(const std::string& name, JobId id, const std::string& on, const std::string& reservation = "") {
    open(name, id);
    job(name + ".r1", id, "RUNNING", on, 20s, reservation);
    job(name + ".r1", id, "FAILED", on, 30s, reservation);
    turn(name);
    read(name + ".r1.a1", "");
  }
  void open(const std::string& name, JobId id, const std::string& steps = "tell") {
    say(name, kCaseOpened,
        Json::object({{"owner", Owner{"alice", 1000, 1000}.to_json()},
                      {"options", Json::object({{"steps", steps}})}}));
    say(name, kJobBound, Json::object({{"run", name + ".r1"}, {"job_id", id}}));
  }
  // One round: what is recorded and intended is applied, submissions get job ids, cancelled jobs end.
  Names turn(const std::string& name) {
    Names keys;
    for (int round = 0; round < 9; ++round) {
      Decision d = decide(cluster, state, policy, subject(name), now);
      bool acted = !d.claims.empty() || !d.records.empty();
      for (const cluster::Claim& claim : d.claims) {
        const Event granted = cluster::Claims::claimed(claim);
        say(granted.subject, granted.kind, granted.body);
      }
      for (Event& r : d.records) say(r.subject, r.kind, r.body);
      for (const Command& c : d.commands) {
        if (!begun.insert(c.key).second) continue;
        acted = true;
        keys.push_back(c.key);
        say(name, kIntent, Json::object({{"key", c.key}, {"verb", c.verb}, {"args", c.args}}));
        intents[c.key] = c.args;
        if (c.key.ends_with(":submit"))
          done(name, c, Json::object({{"job_id", next_job++}, {"submit", 1}}));
        else if (c.key.ends_with(":release"))
          done(name, c, Json::object());
        else if (c.key.ends_with(":cancel")) {
          done(name, c, Json::object({{"cancelled", true}}));
          job(c.args["key"].as_string().substr(0, c.args["key"].as_string().rfind(".a")),
              static_cast<JobId>(c.args["job_id"].as_int()), "CANCELLED", "");
        }
      }
      if (!acted) break;
    }
    return keys;
  }
  void done(const std::string& name, const Command& c, Json result) {
    say(name, kDone, Json::object({{"key", c.key}, {"verb", c.verb}, {"result", std::move(result)}}));
  }
  // V, or a program, has run: what its output says.  `results`: "n1=ok n2=failed/disk n1-n2=slow".
  void read(const std::string& key, const std::string& results) {
    Json list = Json::array();
    for (std::size_t at = 0; at < results.size();) {
      const std::size_t end = std::min(results.find(' ', at), results.size()), is = results.find('=', at);
      const std::string where = results.substr(at, is - at), what = results.substr(is + 1, end - is - 1);
      const std::size_t link = std::min(where.find('-'), where.size());
      const std::size_t fault = std::min(what.find('/'), what.size());
      list.push(Json::object({{"node", where.substr(0, link)},
                              {"peer", link < where.size() ? where.substr(link + 1) : ""},
                              {"result", what.substr(0, fault)},
                              {"fault", fault < what.size() ? what.substr(fault + 1) : ""},
                              {"reason", "memory"}}));
      at = end + 1;
    }
    say(key.substr(0, key.find('.')), kDone,
        Json::object({{"key", key + ":output"},
                      {"verb", "read_output"},
                      {"result", Json::object({{"trace", Json()}, {"results", std::move(list)}})}}));
    begun.insert(key + ":output");
  }
  // V of that key starts now and says that, 20 s later.
  void verified(const std::string& run, JobId id, const std::string& on, const std::string& results) {
    now += 20s;
    job(run, id, "COMPLETED", on, 20s);
    read(run + ".a1", results);
  }
  const Case& subject(const std::string& name) const { return state.cases.at(*parse_case_name(name)); }
  Known known() const { return {cluster.view, state, policy, now}; }
  Check check(const std::string& name) const { return check_of(known(), subject(name), 1); }
  JobId job_of(const std::string& name, std::size_t v) const {
    return subject(name).verifications.at(v).job.job_id;
  }

  std::set<std::string> begun;
  std::map<std::string, Json> intents;
  JobId next_job = 500;
};

TEST(BusyCluster, AVerificationWaitsForBusyNodesAsLongAsItsCaseIsOpen) {
  Story s;
  s.failed("c1", 7, "n[1-2]");
  EXPECT_THAT(s.turn("c1"), IsEmpty());
  const int said = s.verdicts;
  for (int hour = 0; hour < 30; ++hour) {
    s.now += 1h;
    const Names keys = s.turn("c1");
    for (const std::string& key : keys)
      EXPECT_FALSE(key.starts_with("c1.v")) << key << " after " << hour << " h";
  }
  EXPECT_EQ(s.subject("c1").verifications.front().attempt, 1);
  // The re-run was given up after a day; nothing else was told meanwhile.
  EXPECT_LE(s.verdicts - said, 1);
  // V at last: it has its say.
  s.verified("c1.v1", s.job_of("c1", 0), "n[1-2]", "n1=ok n2=ok");
  EXPECT_EQ(s.check("c1"), Check::ok);
}

TEST(BusyCluster, TheLimitOfTheCaseEndsTheWaiting) {
  Story s;
  s.failed("c1", 7, "n[1-2]");
  s.turn("c1");
  s.now += s.policy.case_limit;
  s.turn("c1");
  ASSERT_TRUE(s.subject("c1").is_closed());
  EXPECT_EQ(s.subject("c1").verdict->cause, Cause::inconclusive);
  EXPECT_TRUE(s.subject("c1").verdict->final);
}

TEST(BusyCluster, WhatRunsAtTheLimitIsLetEnd) {
  Story s;
  s.failed("c1", 7, "n[1-2]");
  s.turn("c1");
  s.job("c1.r2", s.subject("c1").programs.at(1).job.job_id, "RUNNING", "n[3-4]");
  s.turn("c1");
  s.now += s.policy.case_limit;
  s.turn("c1");
  EXPECT_FALSE(s.subject("c1").is_closed());
  EXPECT_EQ(s.subject("c1").programs.at(1).outcome, Outcome::running);
  s.job("c1.r2", s.subject("c1").programs.at(1).job.job_id, "COMPLETED", "n[3-4]");
  s.turn("c1");
  EXPECT_TRUE(s.subject("c1").is_closed());
}

// What becomes of V's nodes while it is queued: which V is asked next.
TEST(BusyCluster, WaitsOnlyForWhatCanCome) {
  struct Row {
    const char *out, *shown;
    std::chrono::seconds later;
    bool cancelled;
    const char* next;  // "": none
  };
  const Row rows[] = {
      {"n2", "DOWN", 1s, true, "n1"},
      {"n2", "DOWN+DRAIN", 1s, true, "n1"},
      {"n2", "IDLE+DRAIN", 1s, false, ""},
      {"n2", "IDLE+DRAIN", 31min, true, "n1"},
      {"n2", "IDLE+RESERVED", 31min, true, "n1"},
      {"n2", "IDLE+MAINTENANCE", 31min, true, "n1"},
      {"n2", "IDLE+NOT_RESPONDING", 31min, true, "n1"},
      {"n[1-2]", "IDLE+DRAIN", 31min, true, ""},
      {"n[1-2]", "DOWN", 1s, true, ""},
      {"n[1-2]", "ALLOCATED", 31min, false, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.out) + " " + row.shown);
    Story s;
    s.failed("c1", 7, "n[1-2]");
    s.turn("c1");
    s.nodes(row.out, row.shown);
    s.now += row.later;
    s.turn("c1");
    EXPECT_EQ(s.begun.contains("c1.v1.a1:cancel"), row.cancelled);
    EXPECT_EQ(s.begun.contains("c1.v1.a2:submit"), *row.next != 0);
    if (*row.next) {
      EXPECT_THAT(s.intents["c1.v1.a2:submit"]["nodes"].as_strings(), ElementsAre(row.next));
    }
    EXPECT_EQ(s.subject("c1").verifications.front().tries(), 0) << "waiting costs no try";
  }
}

TEST(BusyCluster, ANodeThatComesBackIsVerifiedThen) {
  Story s;
  s.open("c1", 7);
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  s.nodes("n2", "ALLOCATED+DRAIN");
  s.job("c1.r1", 7, "FAILED", "n[1-2]");
  s.turn("c1");
  EXPECT_THAT(s.intents["c1.v1.a1:submit"]["nodes"].as_strings(), ElementsAre("n1"));
  s.verified("c1.v1", s.job_of("c1", 0), "n1", "n1=ok");
  EXPECT_EQ(s.check("c1"), Check::unknown) << "n2 is not judged";
  EXPECT_TRUE(may_verify_more(s.known(), s.subject("c1")));
  s.nodes("n2", "IDLE");
  s.turn("c1");
  EXPECT_THAT(s.intents["c1.v2.a1:submit"]["nodes"].as_strings(), ElementsAre("n2"));
  EXPECT_EQ(s.check("c1"), Check::open);
  s.verified("c1.v2", s.job_of("c1", 1), "n2", "n2=ok");
  EXPECT_EQ(s.check("c1"), Check::ok);
}

// --- other cases on the same nodes

TEST(OtherCases, TwentyCasesOnTheSameNodesRunOneVerification) {
  Story s;
  int submitted = 0;
  for (int i = 1; i <= 20; ++i) {
    s.failed("c" + std::to_string(i), static_cast<JobId>(i), "n[1-2]");
    s.turn("c" + std::to_string(i));
    submitted += s.begun.contains("c" + std::to_string(i) + ".v1.a1:submit");
  }
  EXPECT_EQ(submitted, 1);
  s.verified("c1.v1", s.job_of("c1", 0), "n[1-2]", "n1=ok n2=ok");
  for (int i = 2; i <= 20; ++i) {
    s.turn("c" + std::to_string(i));
    EXPECT_EQ(s.check("c" + std::to_string(i)), Check::ok) << i;
  }
}

TEST(OtherCases, AConvictionAnswersForAVerificationThatStillWaits) {
  Story s;
  s.failed("c1", 7, "n[2-3]");
  s.turn("c1");
  s.failed("c2", 8, "n[1-2]");  // other nodes: it asks itself
  s.turn("c2");
  ASSERT_TRUE(s.begun.contains("c2.v1.a1:submit"));
  s.verified("c1.v1", s.job_of("c1", 0), "n[2-3]", "n2=failed n3=ok");
  s.turn("c2");
  EXPECT_TRUE(s.begun.contains("c2.v1.a1:cancel"));
  EXPECT_EQ(s.check("c2"), Check::failed);
  EXPECT_THAT(s.subject("c2").notes, Contains(HasSubstr("c1.v1 found it failed")));
}

TEST(OtherCases, HalfOfAnAcquittalSparesNothing) {
  Story s;
  s.failed("c1", 7, "n2");
  s.turn("c1");
  s.failed("c2", 8, "n[1-2]");
  s.verified("c1.v1", s.job_of("c1", 0), "n2", "n2=ok");
  // (c2 has asked for both already, and does not queue anew for half of an answer.)
  s.turn("c2");
  EXPECT_FALSE(s.begun.contains("c2.v1.a1:cancel"));
  // A case whose run ended before V began, and that has not asked: the link between its nodes was not tried.
  s.open("c3", 9);
  s.job("c3.r1", 9, "RUNNING", "n[2-3]");
  s.now -= 30s;
  s.job("c3.r1", 9, "FAILED", "n[2-3]");
  s.now += 30s;
  s.turn("c3");
  EXPECT_THAT(s.intents["c3.v1.a1:submit"]["nodes"].as_strings(), ElementsAre("n2", "n3"));
}

// Words of one node, oldest first, about a run that ended at 0: which of them answers ("" for none).
TEST(OtherCases, AFailureConvictsOnlyWhileNothingNewerSaysWell) {
  struct Said {
    std::chrono::minutes began;
    const char* result;
    bool alone;
  };
  struct Row {
    std::vector<Said> said;
    bool stall;
    std::chrono::minutes passed;  // of the record; 0: never
    const char* answer;
  };
  const Row rows[] = {
      {{{1min, "failed", true}}, false, 0min, "failed"},
      {{{1min, "failed", true}, {300min, "ok", true}}, false, 0min, ""},
      {{{1min, "failed", true}, {300min, "ok", false}}, true, 0min, ""},
      {{{1min, "failed", true}}, false, 300min, ""},  // its pass left no word, for a link was bad
      {{{1min, "ok", true}, {90min, "failed", true}, {300min, "ok", true}}, false, 0min, "ok"},
      {{{300min, "ok", true}, {360min, "failed", true}}, false, 300min, "failed"},
      {{{1min, "slow", true}, {300min, "ok", false}}, true, 0min, "slow"},
      {{{1min, "slow", true}, {300min, "ok", true}}, true, 0min, ""},
  };
  for (const Row& row : rows) {
    State state;
    Case c;
    c.no = 9;
    identify::Run run;
    run.job.end = from_unix_seconds(1'800'000'000);
    run.symptom = row.stall ? Symptom::stall : Symptom::abnormal_exit;
    int n = 0;
    for (const Said& said : row.said) {
      state.words["n1"].push_back(
          {"c" + std::to_string(++n) + ".v1", n, run.job.end + said.began, said.alone, said.result, "", ""});
      if (std::string_view(said.result) == "failed") state.records["n1"].failed_at = run.job.end + said.began;
    }
    if (row.passed != 0min) state.records["n1"].passed_at = run.job.end + row.passed;
    const auto word = word_for(state, c, run, "n1", {"n1"});
    EXPECT_EQ(word ? word->result : "", row.answer) << row.said.back().result << " " << row.passed.count();
  }
}

TEST(OtherCases, WordsOnANodeThatSlurmHasNoMoreAreForgotten) {
  Story s;
  s.failed("c1", 7, "n2");
  s.turn("c1");
  s.verified("c1.v1", s.job_of("c1", 0), "n2", "n2=failed");
  ASSERT_TRUE(s.state.words.contains("n2"));
  s.say("cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", "n2"}, {"gone", true}})})}}));
  EXPECT_FALSE(s.state.words.contains("n2"));
}

TEST(OtherCases, ABadLinkLeavesNoAcquittalOfItsEnds) {
  Story s;
  s.failed("c1", 7, "n[1-3]");
  s.turn("c1");
  s.open("c2", 8);
  s.job("c2.r1", 8, "FAILED", "n[1-2]");
  s.open("c3", 9);
  s.job("c3.r1", 9, "FAILED", "n3");
  s.turn("c3");
  s.verified("c1.v1", s.job_of("c1", 0), "n[1-3]", "n1=ok n2=ok n3=ok n1-n2=slow");
  s.turn("c2");
  EXPECT_THAT(s.intents["c2.v1.a1:submit"]["nodes"].as_strings(), ElementsAre("n1", "n2"));
  s.turn("c3");
  EXPECT_EQ(s.check("c3"), Check::ok) << "n3's links are well";
}

TEST(OtherCases, AcquitsOnlyByOneVerificationOfAllNodes) {
  Story s;
  for (int i = 1; i <= 2; ++i) {
    s.failed("c" + std::to_string(i), static_cast<JobId>(i), "n" + std::to_string(i));
    s.turn("c" + std::to_string(i));
  }
  s.open("c3", 9);
  s.job("c3.r1", 9, "FAILED", "n[1-2]");
  s.verified("c1.v1", s.job_of("c1", 0), "n1", "n1=ok");
  s.verified("c2.v1", s.job_of("c2", 0), "n2", "n2=ok");
  s.turn("c3");
  EXPECT_TRUE(s.begun.contains("c3.v1.a1:submit")) << "nobody has tried the link between them";
}

TEST(OtherCases, AWordThatExplainsNothingDoesNotStopTheOwnVerification) {
  Story s;
  s.failed("c1", 7, "n1");
  s.turn("c1");
  s.failed("c2", 8, "n[1-2]");
  s.turn("c2");
  ASSERT_TRUE(s.begun.contains("c2.v1.a1:submit"));
  s.verified("c1.v1", s.job_of("c1", 0), "n1", "n1=failed/space");
  s.turn("c2");
  EXPECT_FALSE(s.begun.contains("c2.v1.a1:cancel"));
  s.verified("c2.v1", s.job_of("c2", 0), "n[1-2]", "n1=failed/space n2=failed");
  EXPECT_EQ(check_column(s.known(), s.subject("c2"), 1), c_open) << "a control is to come";
}

TEST(OtherCases, OneLookBeginsOneVerification) {
  Story s;
  s.failed("c1", 7, "n[1-2]");
  s.turn("c1");
  s.open("c2", 8);
  s.job("c2.r1", 8, "FAILED", "n1");
  s.turn("c2");
  ASSERT_FALSE(s.begun.contains("c2.v1.a1:submit")) << "c1.v1 will answer";
  s.job("c2.r2", s.subject("c2").programs.at(1).job.job_id, "FAILED", "n2");
  s.verified("c1.v1", s.job_of("c1", 0), "n[1-2]", "n1=ok n2=ok");
  s.turn("c2");
  ASSERT_EQ(s.subject("c2").verifications.size(), 2U);
  EXPECT_EQ(s.subject("c2").verifications[0].checks, 1);
  EXPECT_EQ(s.subject("c2").verifications[1].checks, 2);
}

// V failed on n1 at 0 and has nothing else to show for itself; when did it pass elsewhere?
TEST(Control, CountsByTheTimeOfTheRunThatConvicts) {
  struct Row {
    std::chrono::hours passed, then;  // the record's stamp; another pass of that node after it, 0: none
    bool convicts;
  };
  for (const Row& row : {Row{-20h, 0h, true}, Row{-25h, 0h, false}, Row{23h, 0h, true}, Row{25h, 0h, false},
                         Row{-20h, 30h, true}}) {
    Story s;
    s.failed("c1", 7, "n1");
    s.turn("c1");
    s.verified("c1.v1", s.job_of("c1", 0), "n1", "n1=failed");
    const TimePoint ran = s.subject("c1").verifications[0].job.start;
    s.state.records["n4"].passed_at = ran + (row.then > 0h ? row.then : row.passed);
    s.state.words["n4"].push_back({"c9.v1", 9, ran + row.passed, true, "ok", "", ""});
    s.now += 40h;  // the case waits for r2
    EXPECT_EQ(s.check("c1") == Check::failed, row.convicts) << row.passed.count() << " h";
  }
}

TEST(Control, OfTheCaseItselfCountsHoweverLate) {
  Story s;
  s.failed("c1", 7, "n1");
  s.turn("c1");
  s.verified("c1.v1", s.job_of("c1", 0), "n1", "n1=failed");
  s.turn("c1");
  ASSERT_EQ(s.subject("c1").verifications.size(), 2U);
  s.now += 30h;
  s.verified("c1.v2", s.job_of("c1", 1), "n2", "n2=ok");
  EXPECT_EQ(s.check("c1"), Check::failed);
}

TEST(OtherCases, IsNotWaitedForWhereItCannotAcquit) {
  Story s;
  s.failed("c1", 7, "n1");
  s.turn("c1");
  s.failed("c2", 8, "n1");
  s.turn("c2");
  EXPECT_FALSE(s.begun.contains("c2.v1.a1:submit"));
  // It waits in the queue; c2's own look comes without any event.
  s.now += 1h;
  const Decision d = decide(s.cluster, s.state, s.policy, s.subject("c2"), s.now);
  EXPECT_LE(d.wake_at, s.now + 2s);
  s.now += 2s;
  s.turn("c2");
  EXPECT_TRUE(s.begun.contains("c2.v1.a1:submit"));
}

TEST(OtherCases, WhatBeganInTimeIsWaitedForToItsEnd) {
  Story s;
  s.failed("c1", 7, "n1");
  s.turn("c1");
  s.failed("c2", 8, "n1");
  s.now += 30min;
  s.job("c1.v1", s.job_of("c1", 0), "RUNNING", "n1", 0s);
  s.now += 45min;
  s.turn("c2");
  EXPECT_FALSE(s.begun.contains("c2.v1.a1:submit"));
}

// Which words answer for a run that ended at 0: when V began, what it said, and whether it does.
TEST(OtherCases, AWordAnswersOnlyInItsTime) {
  struct Row {
    std::chrono::seconds began;
    const char* result;
    bool stall, alone, answers;
  };
  const Row rows[] = {
      {-1s, "ok", false, true, false},      {-1s, "failed", false, true, false},
      {0s, "ok", false, false, true},       {59min, "ok", false, false, true},
      {61min, "ok", false, false, false},   {61min, "failed", false, false, true},
      {25h, "failed", false, false, false}, {1min, "ok", true, false, false},
      {1min, "ok", true, true, true},       {61min, "slow", true, true, true},
      {61min, "slow", false, true, false},
  };
  for (const Row& row : rows) {
    State state;
    Case c;
    c.no = 2;
    identify::Run run;
    run.job.end = from_unix_seconds(1'800'000'000);
    run.symptom = row.stall ? Symptom::stall : Symptom::abnormal_exit;
    state.words["n1"].push_back({"c1.v1", 1, run.job.end + row.began, row.alone, row.result, "", ""});
    EXPECT_EQ(word_for(state, c, run, "n1", {"n1"}).has_value(), row.answers)
        << row.result << " after " << row.began.count() << " s";
    state.words["n1"][0].case_no = 2;
    EXPECT_FALSE(word_for(state, c, run, "n1", {"n1"})) << "its own word is no other's";
  }
}

TEST(OtherCases, AFailureOfVIsShownInOpenCasesAtOnce) {
  Story s;
  s.failed("c1", 7, "n2");
  s.turn("c1");
  s.now += 5s;
  s.open("c2", 8);
  s.job("c2.r1", 8, "RUNNING", "n[2-3]");
  s.verified("c1.v1", s.job_of("c1", 0), "n2", "n2=failed");
  ASSERT_EQ(s.subject("c2").signs.size(), 1U);
  EXPECT_EQ(s.subject("c2").signs[0].node, "n2");
  EXPECT_EQ(s.subject("c2").signs[0].sign.source, "c1.v1");
}

// --- suspects

TEST(Suspects, ASilentNodeIsNotedWithItsTimesAndConvictsNobody) {
  Story s;
  s.open("c1", 7);
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  s.nodes("n2", "ALLOCATED+NOT_RESPONDING");
  ASSERT_EQ(s.subject("c1").suspects.size(), 1U);
  EXPECT_EQ(s.subject("c1").suspects[0].node, "n2");
  EXPECT_EQ(suspected_in(s.state, "n2").size(), 1U);
  const Json view = case_view(s.subject("c1"));
  EXPECT_EQ(view["evidence"].items().at(0)["side"].as_string(), "suspect");
  EXPECT_THAT(under_way(s.known(), s.subject("c1")), Contains(HasSubstr("n2 does not answer Slurm")));
  s.now += 40s;
  s.nodes("n2", "ALLOCATED");
  EXPECT_EQ(s.subject("c1").suspects[0].cleared_at - s.subject("c1").suspects[0].at, 40s);
  EXPECT_THAT(suspected_in(s.state, "n2"), IsEmpty());
  s.nodes("n2", "ALLOCATED+NOT_RESPONDING");
  EXPECT_EQ(s.subject("c1").suspects.size(), 2U);
  EXPECT_THAT(s.subject("c1").programs[0].down_nodes, IsEmpty());
}

TEST(Suspects, ACaseThatIsClosedWaitsForNoNode) {
  Story s;
  s.open("c1", 7);
  s.open("c2", 8);
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  s.job("c2.r1", 8, "RUNNING", "n[2-3]");
  s.nodes("n2", "ALLOCATED+NOT_RESPONDING");
  EXPECT_EQ(suspected_in(s.state, "n2").size(), 2U);
  EXPECT_EQ(suspecting(s.state, "n2"), (std::set<std::int64_t>{1, 2}));
  ASSERT_EQ(suspected_in(s.state, "n2", 1).size(), 1U) << "of many the newest";
  EXPECT_EQ(suspected_in(s.state, "n2", 1)[0].first, 2);
  EXPECT_THAT(suspected_in(s.state, "n1"), IsEmpty());
  s.say("c1", kCaseClosed, Json::object());
  ASSERT_EQ(suspected_in(s.state, "n2").size(), 1U);
  EXPECT_EQ(suspected_in(s.state, "n2")[0].first, 2);
  EXPECT_EQ(open_cases_of(s.state, s.subject("c2").owner.uid), 1U);
  s.nodes("n2", "ALLOCATED");
  EXPECT_THAT(suspected_in(s.state, "n2"), IsEmpty());
  EXPECT_TRUE(s.state.suspected.empty());
}

TEST(Suspects, OtherNodesAndOtherTimesDoNotMatter) {
  Story s;
  s.open("c1", 7);
  s.nodes("n2", "IDLE+NOT_RESPONDING");
  s.nodes("n2", "IDLE");
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  s.nodes("n3", "ALLOCATED+NOT_RESPONDING");
  EXPECT_THAT(s.subject("c1").suspects, IsEmpty());
}

TEST(Suspects, ANodeThatWasSilentWhenTheRunWasFirstSeenIsOne) {
  Story s;
  s.open("c1", 7);
  s.nodes("n2", "ALLOCATED+NOT_RESPONDING");
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  EXPECT_EQ(s.subject("c1").suspects.size(), 1U);
}

// --- failed steps

TEST(FailedStep, IsToldOfACompletedJobAndFailsItWhereThatWasAskedFor) {
  for (const bool fails : {false, true}) {
    Story s;
    s.open("c1", 7, fails ? "fail" : "tell");
    JobInfo info;
    info.job_id = 7;
    info.state = "COMPLETED";
    info.nodes = "n1";
    info.start = s.now;
    info.end = s.now + 5s;
    info.step_exit_code = 139;
    s.say("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", info.to_json()}}));
    s.turn("c1");
    EXPECT_EQ(s.subject("c1").programs[0].symptom, Symptom::steps_failed);
    EXPECT_EQ(s.begun.contains("c1.r2.a1:submit"), fails);
    if (!fails) {
      EXPECT_EQ(s.subject("c1").verdict->sentence,
                "The job completed, but a step failed with exit code 139 (SIGSEGV).");
    }
  }
}

// --- what is said meanwhile

TEST(Provisional, AFailedJobHasAnAnswerAtOnceAndFewOfThem) {
  Story s;
  s.open("c1", 7);
  EXPECT_THAT(under_way(s.known(), s.subject("c1")), testing::Not(IsEmpty()));
  s.job("c1.r1", 7, "RUNNING", "n[1-2]");
  s.job("c1.r1", 7, "FAILED", "n[1-2]");
  s.turn("c1");
  ASSERT_TRUE(s.subject("c1").verdict);
  EXPECT_FALSE(s.subject("c1").verdict->final);
  EXPECT_EQ(s.subject("c1").verdict->confidence, Confidence::low);
  EXPECT_THAT(s.subject("c1").verdict->why, Contains(HasSubstr("ended as FAILED with exit code 1")));
  EXPECT_EQ(case_state(s.subject("c1")), "investigating");
  s.read("c1.r1.a1", "");
  s.turn("c1");
  s.now += 10min;
  s.turn("c1");
  EXPECT_THAT(under_way(s.known(), s.subject("c1")),
              Contains(HasSubstr("c1.r2 (job 500) waits for free nodes since 10 min")));
  s.job("c1.v1", s.job_of("c1", 0), "RUNNING", "n[1-2]");
  s.turn("c1");
  s.job("c1.r2", 500, "RUNNING", "n[3-4]");
  s.turn("c1");
  s.verified("c1.v1", s.job_of("c1", 0), "n[1-2]", "n1=ok n2=ok");
  s.turn("c1");
  EXPECT_LE(s.verdicts, 6);
}

// --- reservations and narrow wishes

TEST(Placement, EachRefusalGivesBackOneNodeMore) {
  Story s;
  s.failed("c1", 7, "n[1-4]");
  Names given;
  for (int refusals = 0; refusals <= kMostRefusals; ++refusals)
    given.push_back(compress_hostlist(place_rerun(s.known(), s.subject("c1"), 2, refusals).reused));
  EXPECT_THAT(given,
              ElementsAre("n[1-2]", "n[1-3]", "n[1-4]", "n[1-4]", "n[1-4]", "n[1-4]", "n[1-4]", "n[1-4]"));
}

// "srun: error: n2: task 0: Exited with exit code 1" names the first to exit, which on a job of all nodes of
// a partition must not keep its second run away for good.
TEST(Placement, ANodeThatSrunMerelyNamesIsGivenBackLast) {
  const auto given = [](const Story& s, int refusals = 0) {
    return compress_hostlist(place_rerun(s.known(), s.subject("c1"), 2, refusals).reused);
  };
  const auto failed_naming_n2 = [](Story& s, const std::string& on, int signal) {
    s.open("c1", 7);
    s.job("c1.r1", 7, "FAILED", on, 30s);
    s.say("c1", kDone,
          Json::object(
              {{"key", "c1.r1.a1:output"},
               {"verb", "read_output"},
               {"result", Json::object({{"trace", Json::object({{"node", "n2"}, {"signal", signal}})}})}}));
  };
  {
    Story s;
    failed_naming_n2(s, "n[1-6]", 0);
    EXPECT_EQ(given(s), "n[1-6]");
  }
  {
    Story s;
    failed_naming_n2(s, "n[1-4]", 0);
    EXPECT_EQ(given(s), "n[1,3]");
    EXPECT_EQ(given(s, 1), "n[1,3-4]");
    EXPECT_EQ(given(s, 2), "n[1-4]");
    s.state.records["n2"].passed_at = s.now + 1s;
    EXPECT_EQ(given(s), "n[1-2]");
  }
  {
    Story s;
    failed_naming_n2(s, "n[1-6]", 11);
    EXPECT_EQ(given(s, kMostRefusals), "n[1,3-6]") << "a rank died there of a fault of its own";
    s.state.records["n2"].passed_at = s.now + 1s;
    EXPECT_EQ(given(s), "n[1-6]");
    s.state.records["n2"].failed_at = s.now + 2s;
    EXPECT_EQ(given(s, kMostRefusals), "n[1,3-6]");
  }
}

TEST(Placement, AJobInAReservationLooksForNodesThere) {
  Story s;
  s.nodes("n[1-4]", "IDLE+RESERVED");
  s.failed("c1", 7, "n[1-2]", "mine");
  EXPECT_THAT(place_rerun(s.known(), s.subject("c1"), 2, 0).reused, IsEmpty());
  s.nodes("n4", "IDLE");
  EXPECT_EQ(place_rerun(s.known(), s.subject("c1"), 2, 0).reused.size(), 1U);
  // V goes where the run was.
  s.turn("c1");
  EXPECT_EQ(s.intents["c1.v1.a1:submit"]["reservation"].as_string(), "mine");
}

TEST(Advice, NamesOnlyFilesThatCanExist) {
  struct Row {
    const char *out, *err, *named;
  };
  for (const Row& row :
       {Row{"/h/slurm-7.out", "", "/h/slurm-7.out"}, Row{"/h/o", "/h/e", "/h/e"},
        Row{"/h/%x-%5j-%N-%t.out", "", "/h/solve-00007-n1-0.out"}, Row{"/dev/null", "/dev/null", ""},
        Row{"/h/o", "/dev/null", "/h/o"}, Row{"/h/%q", "", ""}, Row{"/h/100%%", "", "/h/100%"},
        Row{"/h/%5", "", ""}, Row{"", "", ""},
        // sbatch pads numbers alone.
        Row{"/h/%8x-%8N-%8s-%3t", "", "/h/solve-n1-batch-000"}, Row{"/h/%3A.%03n", "", "/h/007.000"}}) {
    identify::Run run;
    run.job.job_id = 7;
    run.job.name = "solve";
    run.nodes = {"n1", "n2"};
    run.job.std_out = row.out;
    run.job.std_err = row.err;
    EXPECT_EQ(output_to_look_at(run), row.named) << row.out << " " << row.err;
  }
}

TEST(Advice, ADeliveredRunTellsHowDependentsAreReleased) {
  Story s;
  s.failed("c1", 45, "n[1-2]");
  s.turn("c1");
  Case c = s.subject("c1");
  EXPECT_EQ(dependents_advice(c), "");
  c.options.deliver = true;
  EXPECT_THAT(dependents_advice(c), HasSubstr("scontrol update JobId=JOB Dependency=afterok:500"));
  EXPECT_THAT(dependents_advice(c), HasSubstr("is to be your result, once it has completed"));
  c.programs.back().outcome = Outcome::ok;
  EXPECT_THAT(dependents_advice(c), HasSubstr("is your result"));
}

// What V said of idle nodes is a word as that of another case.
TEST(Evidence, ARoundOfVerificationLeavesWords) {
  State state;
  const cluster::View view;
  const TimePoint began = from_unix_seconds(1'800'000'000);
  const auto said = [](const std::string& node, const std::string& peer, const std::string& result) {
    return Json::object(
        {{"node", node}, {"peer", peer}, {"result", result}, {"fault", ""}, {"reason", "why"}});
  };
  Event event = new_event(
      "p3", kVerified,
      Json::object(
          {{"run", "p3.v1"},
           {"began", to_micros(began)},
           {"alone", true},
           {"results", Json::array({said("n1", "", "ok"), said("n2", "", "failed"), said("n3", "", "ok"),
                                    said("n3", "n4", "slow"), said("n5", "", "unknown")})}}));
  event.at = began + std::chrono::minutes(1);
  apply(state, view, event);
  ASSERT_EQ(state.words.at("n1").size(), 1U);
  EXPECT_EQ(state.words.at("n1")[0].run, "p3.v1");
  EXPECT_EQ(state.words.at("n1")[0].began, began);
  EXPECT_EQ(state.words.at("n2")[0].result, "failed");
  EXPECT_FALSE(state.words.contains("n3")) << "an end of a link that is not well";
  EXPECT_FALSE(state.words.contains("n5"));
  EXPECT_EQ(state.records.at("n2").failed_at, event.at);
  EXPECT_EQ(state.records.at("n1").passed_at, event.at);
}

}  // namespace
}  // namespace sickbay::identify
