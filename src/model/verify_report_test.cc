// SPDX-License-Identifier: Apache-2.0
// Each test is a small piece of V's output and what follows from it for each node.
#include "model/verify_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kFour = {"n1", "n2", "n3", "n4"};

std::string line(const std::string& node, const std::string& phase, const std::string& more = "") {
  return fmt::format(R"({{"sickbay_verify":1,"node":"{}","rank":0,"phase":"{}"{}}})", node, phase,
                     more.empty() ? "" : "," + more) +
         "\n";
}

std::string good(const std::string& node, const std::string& phase) {
  return line(node, phase,
              R"("ok":true,"slow":false,"value":1,"unit":"x","expected":[null,null],"detail":"")");
}

std::string alone(const std::string& node) {
  return line(node, "start", R"("mode":"node")") + good(node, "cpu") + good(node, "memory") +
         line(node, "done", R"("mode":"node","ok":true,"slow":false)");
}

/// Both ends of a pair; `how` is "ok", "slow" or "bad".
std::string pair(const std::string& a, const std::string& b, const std::string& how = "ok") {
  std::string text;
  for (const auto& [node, peer] : {std::pair(a, b), std::pair(b, a)})
    text += line(node, "net",
                 fmt::format(R"("peer":"{}","ok":{},"slow":{},"value":1,"unit":"MB/s","detail":"{}")", peer,
                             how != "bad", how == "slow", how == "ok" ? "" : "why"));
  return text;
}

std::string starts(const std::vector<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) text += line(node, "start", R"("mode":"net")");
  return text;
}

std::string ends(const std::vector<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) text += line(node, "done", R"("mode":"net","ok":true)");
  return text;
}

std::string net_of(const std::vector<std::string>& nodes, const std::string& victim = "",
                   const std::string& how = "ok") {
  std::string text;
  text += starts(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = i + 1; j < nodes.size(); ++j)
      text += pair(nodes[i], nodes[j], nodes[i] == victim || nodes[j] == victim ? how : "ok");
  for (const std::string& node : nodes) text += line(node, "done", R"("mode":"net","ok":true)");
  return text;
}

std::string alone_on(const std::vector<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) text += alone(node);
  return text;
}

std::string results(const VerifyReport& report) {
  std::string text;
  for (const NodeVerification& node : report.nodes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", node.node, to_string(node.result));
  for (const LinkVerification& link : report.links)
    text += fmt::format(" {}-{}={}", link.node, link.peer, to_string(link.result));
  return text;
}

TEST(VerifyReport, AllWell) {
  const auto report = parse_verify_report("Lmod loaded\n" + alone_on(kFour) + net_of(kFour), "", kFour);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=ok n4=ok");
  EXPECT_EQ(report.overall, VerifyResult::ok);
  EXPECT_EQ(report.summary, "ok on all 4 nodes");
}

TEST(VerifyReport, AWrongResultFailsItsNode) {
  const auto report = parse_verify_report(
      alone_on({"n1", "n2", "n4"}) + line("n3", "start", R"("mode":"node")") +
          line("n3", "memory", R"("ok":false,"slow":false,"detail":"1 words came back wrong")") +
          line("n3", "done", R"("mode":"node","ok":false,"slow":false)"),
      "srun: error: n3: task 2: Exited with exit code 1\n", kFour, 1);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=failed n4=ok");
  EXPECT_EQ(report.node("n3")->reason, "wrong result in phase memory: 1 words came back wrong");
  EXPECT_EQ(report.overall, VerifyResult::failed);
  EXPECT_EQ(report.summary, "failed on n3");
}

TEST(VerifyReport, ARankThatDiesNamesItsNodeAndTheSweepingNamesNobody) {
  const std::string out =
      alone_on({"n1", "n2", "n4"}) + line("n3", "start", R"("mode":"node")") + good("n3", "cpu");
  const auto report = parse_verify_report(
      out, "srun: error: n3: task 2: Bus error\nsrun: error: n[1-2]: tasks 0-1: Killed\n", kFour, 1);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=failed n4=ok");
  EXPECT_EQ(report.node("n3")->reason, "its rank died of SIGBUS after phase cpu");
}

std::string silent(const std::string& node, const std::string& mode) {
  return line(node, "silent",
              fmt::format(R"("mode":"{}","ok":false,"slow":false,"detail":"nothing was heard of it")", mode));
}
const char* const kEnded =
    "srun: forcing job termination\nsrun: Job step aborted: Waiting up to 32 seconds for job step to "
    "finish.\n"
    "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 ***\n";

TEST(VerifyReport, WhoIsWaitedForInVainFailsWhereOthersCameToTheirEnd) {
  const std::string begun = line("n3", "start", R"("mode":"node")") + line("n3", "alive", R"("ticks":7)");
  const auto report =
      parse_verify_report(alone_on({"n1", "n2", "n4"}) + begun + good("n3", "cpu") + silent("n3", "node"),
                          std::string(kEnded) + "srun: error: n3: task 2: Killed\n", kFour, 1);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=failed n4=ok");
  EXPECT_EQ(report.node("n3")->fault, VerifyFault::stopped);
  EXPECT_EQ(report.node("n3")->reason, "it fell silent: nothing was heard of it");
  // Nobody else came to an end: it may be what all wait for.
  EXPECT_EQ(results(parse_verify_report(begun + silent("n3", "node"), kEnded, {"n3"}, 1)), "n3=unknown");
  EXPECT_EQ(results(parse_verify_report(
                line("n1", "start", R"("mode":"node")") + silent("n1", "node") + begun + silent("n3", "node"),
                kEnded, {"n1", "n3"}, 1)),
            "n1=unknown n3=unknown");
}

TEST(VerifyReport, ItsOwnDeathSaysMoreThanItsSilence) {
  const std::string out = alone_on({"n1", "n2", "n4"}) + line("n3", "start", R"("mode":"node")");
  const auto report = parse_verify_report(
      out + silent("n3", "node"), "srun: error: n3: task 2: Bus error\n" + std::string(kEnded), kFour, 1);
  EXPECT_EQ(report.node("n3")->reason, "its rank died of SIGBUS in its first phase");
}

TEST(VerifyReport, SilenceBetweenTwoNodesSaysNothingOfTheirLink) {
  const std::vector<std::string> two = {"n1", "n2"};
  const std::string both = alone_on(two) + starts(two);
  EXPECT_EQ(
      results(parse_verify_report(both + pair("n1", "n2", "bad") + silent("n2", "net"), kEnded, two, 1)),
      "n1=unknown n2=unknown");
  // With all others it is the node.
  std::string out = alone_on(kFour) + starts(kFour) + pair("n1", "n2") + pair("n1", "n4") + pair("n2", "n4");
  for (const char* other : {"n1", "n2", "n4"}) out += pair("n3", other, "bad");
  EXPECT_EQ(
      results(parse_verify_report(out + ends({"n1", "n2", "n4"}) + silent("n3", "net"), kEnded, kFour, 1)),
      "n1=ok n2=ok n3=failed n4=ok");
}

std::string storage(const std::string& node, const std::string& places, const std::string& mount,
                    const std::string& is) {
  return line(node, "start", R"("mode":"node")") +
         line(
             node, "storage",
             fmt::format(
                 R"("ok":true,"slow":false,"places":{{{}}},"folder":"/home/a/run","mount":"{}","folder_is":"{}")",
                 places, mount, is)) +
         line(node, "done", R"("mode":"node","ok":true,"slow":false)");
}

TEST(VerifyReport, WhoseStorageIsAwayByWhatTheOthersHave) {
  const char *const kHangs = "no answer within 20 s", *const kMissing = "No such file or directory";
  const auto place = [](const char* says) { return fmt::format(R"("/home":"{}")", says); };
  struct Row {
    std::string_view what;
    std::string n1, n2;  // of two nodes
    std::string_view results, reason;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"all is there", storage("n1", place(""), "/home", "there"),
            storage("n2", place(""), "/home", "there"), "n1=ok n2=ok", ""},
           {"stale on one", storage("n1", place(""), "/home", "there"),
            storage("n2", place("Stale file handle"), "/home", "Stale file handle"), "n1=ok n2=failed",
            "its storage is away: /home: Stale file handle; it answers on 1 other"},
           {"the server is away", storage("n1", place(kHangs), "/home", kHangs),
            storage("n2", place(kHangs), "/home", kHangs), "n1=ok n2=ok", ""},
           {"not mounted on one", storage("n1", place(""), "/home", "there"),
            storage("n2", "", "/", kMissing), "n1=ok n2=failed",
            "its storage is away: it lacks /home, which 1 other mounts, with the job's folder /home/a/run "
            "(No such "
            "file or directory)"},
           {"the folder was removed", storage("n1", place(""), "/home", kMissing),
            storage("n2", place(""), "/home", kMissing), "n1=ok n2=ok", ""},
           {"a local folder that one node has", storage("n1", "", "/", "there"),
            storage("n2", "", "/", kMissing), "n1=ok n2=ok", ""},
           {"removed, and another has a local one", storage("n1", "", "/", "there"),
            storage("n2", place(""), "/home", kMissing), "n1=ok n2=ok", ""},
           {"hangs, on no shared mount of its own", storage("n1", "", "/x", "there"),
            storage("n2", "", "/x", kHangs), "n1=ok n2=failed",
            "its storage is away: /home/a/run: no answer within 20 s; it is there on 1 other"},
           {"a mount that the job does not need", storage("n1", R"("/scratch":"")", "/", "there"),
            storage("n2", "", "/", "there"), "n1=ok n2=ok", ""},
           {"one says nothing of it", alone("n1"), storage("n2", place(kHangs), "/home", kHangs),
            "n1=ok n2=ok", ""},
       }) {
    const auto report = parse_verify_report(row.n1 + row.n2, "", {"n1", "n2"}, 0);
    EXPECT_EQ(results(report), row.results) << row.what;
    if (!row.reason.empty()) {
      EXPECT_EQ(report.node("n2")->reason, row.reason) << row.what;
      EXPECT_EQ(report.node("n2")->fault, VerifyFault::storage) << row.what;
    }
  }
}

TEST(VerifyReport, SrunsLinesCountForAnyScript) {
  const struct {
    const char* what;
    const char* err;
    std::optional<int> exit_code;
    const char* results;
  } rows[] = {
      {"ended well", "", 0, "n1=ok n2=ok n3=ok n4=ok"},
      {"ended badly, nobody named", "solver: wrong checksum\n", 1,
       "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"exit code not known", "", {}, "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"one rank's exit code", "srun: error: n2: task 1: Exited with exit code 3\n", 3,
       "n1=unknown n2=failed n3=unknown n4=unknown"},
      {"all ranks' exit codes", "srun: error: n[1-4]: tasks 0-3: Exited with exit code 3\n", 3,
       "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"a signal", "srun: error: n2: task 1: Illegal instruction\n", 132,
       "n1=unknown n2=failed n3=unknown n4=unknown"},
      {"killed alone", "srun: error: n2: task 1: Killed\n", 137,
       "n1=unknown n2=failed n3=unknown n4=unknown"},
      {"killed for memory", "srun: error: n2: task 1: Out Of Memory\n", 137,
       "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"launch",
       "srun: error: Task launch for StepId=12.0 failed on node n4: Communication connection failure\n", 1,
       "n1=unknown n2=unknown n3=unknown n4=unknown n1-n4=failed"},
      {"launch, refused by the far slurmd",
       "srun: error: Task launch for StepId=12.0 failed on node n4: Invalid job credential\n", 1,
       "n1=unknown n2=unknown n3=unknown n4=failed"},
      {"node failure", "srun: error: Node failure on n1\n", 1, "n1=failed n2=unknown n3=unknown n4=unknown"},
      {"program not there",
       "slurmstepd: error: execve(): /nfs/v: No such file or directory\nsrun: error: n2: task 1: Exited with "
       "exit code 2\n",
       2, "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"cancelled",
       "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 ***\nsrun: error: n2: task "
       "1: Terminated\n",
       15, "n1=unknown n2=unknown n3=unknown n4=unknown"},
      {"a stranger's node", "srun: error: n9: task 1: Bus error\n", 135,
       "n1=unknown n2=unknown n3=unknown n4=unknown"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(results(parse_verify_report("", row.err, kFour, row.exit_code)), row.results) << row.what;
}

TEST(VerifyReport, TheLimitNamesWhoeverAloneDidNotComeToTheEnd) {
  const std::string limit =
      "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***\n"
      "srun: error: n3: task 2: Terminated\n";
  const std::string stuck = line("n3", "start", R"("mode":"node")") + good("n3", "cpu");
  const auto report = parse_verify_report(alone_on({"n1", "n2", "n4"}) + stuck, limit, kFour);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=failed n4=ok");
  EXPECT_THAT(report.node("n3")->reason, HasSubstr("within the limit"));
  // Nobody came to the end: the limit was too short, or storage was away.
  const auto all = parse_verify_report(stuck, limit, kFour);
  EXPECT_EQ(results(all), "n1=unknown n2=unknown n3=unknown n4=unknown");
}

TEST(VerifyReport, MissingLinesBlameNobody) {
  const auto report = parse_verify_report(alone_on({"n1", "n2"}) + line("n3", "start"), "", kFour);
  EXPECT_EQ(results(report), "n1=ok n2=ok n3=unknown n4=unknown");
  EXPECT_EQ(report.overall, VerifyResult::unknown);
  EXPECT_EQ(report.node("n4")->reason, "it did not report before its first line");
}

TEST(VerifyReport, AStepThatCouldNotWorkAcquitsNobody) {
  const auto report = parse_verify_report(
      alone_on(kFour), "srun: error: n[1-4]: tasks 0-3: Exited with exit code 2\n", kFour, 1);
  EXPECT_EQ(results(report), "n1=unknown n2=unknown n3=unknown n4=unknown");
}

TEST(VerifyReport, SlowIsNotFailed) {
  const auto report = parse_verify_report(
      alone_on({"n1", "n3", "n4"}) + line("n2", "cpu", R"("ok":true,"slow":true,"detail":"1.4 times")") +
          line("n2", "done", R"("mode":"node")"),
      "", kFour, 3);
  EXPECT_EQ(results(report), "n1=ok n2=slow n3=ok n4=ok");
  EXPECT_EQ(report.overall, VerifyResult::slow);
}

TEST(VerifyReport, ANodeInMostBadPairsIsNamedElseTheLink) {
  const std::vector<std::string> two = {"n1", "n2"}, three = {"n1", "n2", "n3"};
  const auto after = [](const std::vector<std::string>& nodes, const std::string& net) {
    return results(parse_verify_report(alone_on(nodes) + starts(nodes) + net + ends(nodes), "", nodes));
  };
  EXPECT_EQ(after(kFour, net_of(kFour, "n3", "bad")), "n1=ok n2=ok n3=failed n4=ok");
  EXPECT_EQ(after(kFour, net_of(kFour, "n3", "slow")), "n1=ok n2=ok n3=slow n4=ok");
  EXPECT_EQ(after(three, net_of(three, "n2", "bad")), "n1=ok n2=failed n3=ok");
  // One bad link between good nodes, and two nodes alone: the link.
  EXPECT_EQ(after(three, pair("n1", "n2", "bad") + pair("n2", "n3") + pair("n1", "n3")),
            "n1=ok n2=ok n3=ok n1-n2=failed");
  EXPECT_EQ(after(two, net_of(two, "n1", "slow")), "n1=ok n2=ok n1-n2=slow");
  // Two bad nodes of four.
  EXPECT_EQ(after(kFour, net_of(kFour, "n3", "bad") + net_of(kFour, "n1", "bad")),
            "n1=failed n2=ok n3=failed n4=ok");
  // All bad: a switch, or everything; nobody stands out.
  EXPECT_EQ(after(three, pair("n1", "n2", "bad") + pair("n2", "n3", "bad") + pair("n1", "n3", "bad")),
            "n1=ok n2=ok n3=ok n1-n2=failed n1-n3=failed n2-n3=failed");
}

std::string reach(const std::string& a, const std::string& b, bool ok) {
  return line(a, "reach", fmt::format(R"("peer":"{}","ok":{},"slow":false,"detail":"why")", b, ok));
}

TEST(VerifyReport, ReachCountsWithoutMpi) {
  std::string out = alone_on(kFour);
  for (const auto& a : kFour)
    for (const auto& b : kFour)
      if (a != b && a != "n3") out += reach(a, b, b != "n3");  // n3's own lines are lost with its network
  EXPECT_EQ(results(parse_verify_report(out, "", kFour)), "n1=ok n2=ok n3=failed n4=ok");
  out = alone_on(kFour);
  for (const auto& a : kFour)
    for (const auto& b : kFour)
      if (a != b) out += reach(a, b, !(a == "n2" && b == "n3") && !(a == "n3" && b == "n2"));
  EXPECT_EQ(results(parse_verify_report(out, "", kFour)), "n1=ok n2=ok n3=ok n4=ok n2-n3=failed");
}

TEST(VerifyReport, WhoIsStillInMpiInitIsNotBlamedForItsSilence) {
  // As seen with the link n2-n3 cut: both hung in MPI_Init, and n1 and n4 heard nothing from either.
  std::string out = alone_on(kFour) + starts({"n1", "n4"}) + pair("n1", "n4");
  for (const auto& [a, b] :
       {std::pair("n1", "n2"), std::pair("n1", "n3"), std::pair("n4", "n2"), std::pair("n4", "n3")})
    out += line(a, "net", fmt::format(R"("peer":"{}","ok":false,"slow":false,"detail":"nothing heard")", b));
  out += ends({"n1", "n4"});
  const std::string err =
      "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n"
      "srun: error: n3: task 2: Killed\nsrun: error: n2: task 1: Killed\n";
  EXPECT_EQ(results(parse_verify_report(out, err, kFour)), "n1=ok n2=unknown n3=unknown n4=ok");
}

TEST(VerifyReport, IgnoresLinesThatAreNotOurs) {
  const std::string junk =
      "{\n{\"sickbay_verify\":1\n{\"sickbay_verify\":2,\"node\":\"n1\",\"phase\":\"cpu\",\"ok\":false}\n" +
      line("n9", "cpu", R"("ok":false)") + std::string(70'000, '{') + "\n\xff\xfe\n";
  EXPECT_EQ(results(parse_verify_report(junk + alone_on(kFour), junk, kFour)), "n1=ok n2=ok n3=ok n4=ok");
  EXPECT_EQ(parse_verify_report("", "", {}).overall, VerifyResult::unknown);
}

TEST(VerifyReport, TakesTheShortNameOfALongOne) {
  EXPECT_EQ(results(parse_verify_report(alone("n1.cluster.example"), "", {"n1"})), "n1=ok");
}

TEST(VerifyReport, SaysWhatIsWrong) {
  const auto wrong = [](const std::string& phase, const std::string& detail) {
    return line("n1", "start", R"("mode":"node")") +
           line("n1", phase, fmt::format(R"("ok":false,"slow":false,"detail":"{}")", detail)) +
           line("n1", "done", R"("mode":"node","ok":false)");
  };
  const struct {
    std::string out, err;
    VerifyFault fault;
  } rows[] = {
      {alone("n1"), "", VerifyFault::none},
      {wrong("memory", "1 words came back wrong"), "", VerifyFault::compute},
      {wrong("cpu", "sums differ"), "", VerifyFault::compute},
      {wrong("disk", "byte 0 read back differs"), "", VerifyFault::disk},
      {wrong("disk", "cannot write in /tmp: Input/output error"), "", VerifyFault::disk},
      {wrong("disk", "cannot write in /tmp: No space left on device"), "", VerifyFault::space},
      {wrong("disk", "cannot write in /tmp: Disk quota exceeded"), "", VerifyFault::space},
      // What is broken besides goes before what is full.
      {wrong("disk", "cannot write in /tmp: No space left on device"), "srun: error: n1: task 0: Bus error\n",
       VerifyFault::died},
      {"", "srun: error: n1: task 0: Segmentation fault\n", VerifyFault::died},
  };
  for (const auto& row : rows) {
    const VerifyReport report = parse_verify_report(row.out, row.err, {"n1"});
    EXPECT_EQ(to_string(report.nodes[0].fault), to_string(row.fault)) << row.out << row.err;
  }
  EXPECT_EQ(parse_verify_report(net_of({"n1", "n2", "n3", "n4"}, "n2", "slow") + alone_on(kFour), "", kFour)
                .node("n2")
                ->fault,
            VerifyFault::slow);
  for (int i = 1; i <= static_cast<int>(VerifyFault::other); ++i)
    EXPECT_EQ(verify_fault_from(to_string(static_cast<VerifyFault>(i))), static_cast<VerifyFault>(i));
  EXPECT_EQ(verify_fault_from(""), VerifyFault::other) << "an older version told none";
}

/// Both ends of a pair with figures; `lossy`: V's own bound calls it slow.
std::string counted(const std::string& a, const std::string& b, double lost, bool busy, bool lossy) {
  std::string text;
  for (const auto& [node, peer] : {std::pair(a, b), std::pair(b, a)})
    text +=
        line(node, "net",
             fmt::format(R"("peer":"{}","ok":true,"slow":{},"value":1,"unit":"MB/s","busy":{},"lossy":{},)"
                         R"("segments":3254,"sent_again":40,"lost":{},"from":100,"to":102,"detail":"why")",
                         peer, lossy, busy, lossy, lost));
  return text;
}

TEST(VerifyReport, WhatTheKernelCountedIsEvidence) {
  const std::string out = alone("n1") + line("n2", "start", R"("mode":"node")") +
                          line("n2", "cpu", R"("ok":true,"slow":true,"detail":"1.4 times")") +
                          line("n2", "done", R"("mode":"node","counted":"3 core_throttles")");
  const auto report = parse_verify_report(out, "", {"n1", "n2"}, 3);
  EXPECT_EQ(report.node("n2")->reason,
            "slow in phase cpu: 1.4 times (its kernel counted meanwhile: 3 core_throttles)");
  EXPECT_EQ(report.node("n1")->reason, "");
}

std::string host(const std::string& node) { return line(node, "host"); }
std::string launch(const std::string& from, const std::string& to, bool ok) {
  return line(from, "launch", fmt::format(R"("peer":"{}","ok":{},"slow":false,"detail":"why")", to, ok));
}

TEST(VerifyReport, ALaunchThatDoesNotArriveNamesAPair) {
  const std::string cut =
      "srun: error: Task launch for StepId=12.0 failed on node n4: Communication connection failure\n";
  const struct {
    const char* what;
    std::string out;
    const char* results;
  } rows[] = {
      {"nobody else tried it", host("n1") + alone_on({"n1", "n2", "n3"}),
       "n1=ok n2=ok n3=ok n4=unknown n1-n4=failed"},
      {"others reach it", host("n1") + alone_on({"n1", "n2", "n3"}) + launch("n2", "n4", true) + alone("n4"),
       "n1=ok n2=ok n3=ok n4=ok n1-n4=failed"},
      {"another does not either", host("n1") + alone_on({"n1", "n2", "n3"}) + launch("n2", "n4", false),
       "n1=ok n2=ok n3=ok n4=failed"},
      {"one does and one does not",
       host("n1") + alone_on(kFour) + launch("n2", "n4", false) + launch("n3", "n4", true),
       "n1=ok n2=ok n3=ok n4=failed"},
      {"the script ran elsewhere", host("n2") + alone_on({"n1", "n2", "n3"}),
       "n1=ok n2=ok n3=ok n4=unknown n2-n4=failed"},
      {"it does not reach itself", host("n4"), "n1=unknown n2=unknown n3=unknown n4=failed"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(results(parse_verify_report(row.out, cut, kFour, 1)), row.results) << row.what;
  const auto report = parse_verify_report(rows[0].out, cut, kFour, 1);
  EXPECT_EQ(report.node("n4")->reason,
            "n1 could not reach it: could not launch: Communication connection failure");
  EXPECT_EQ(report.links[0].reason, "could not launch: Communication connection failure");
}

TEST(VerifyReport, WhatTheMachinesNoiseExplainsIsNotSlow) {
  const std::vector<std::string> six = {"n1", "n2", "n3", "n4", "n5", "n6"};
  const auto after = [&](double n1_n2, double others, double of_n3, bool busy) {
    std::string net = starts(six);
    for (std::size_t i = 0; i < six.size(); ++i)
      for (std::size_t j = i + 1; j < six.size(); ++j) {
        const double lost = six[i] == "n3" || six[j] == "n3" ? of_n3 : i == 0 && j == 1 ? n1_n2 : others;
        net += counted(six[i], six[j], lost, busy, lost >= 7);
      }
    return results(parse_verify_report(alone_on(six) + net + ends(six), "", six));
  };
  const std::string well = "n1=ok n2=ok n3=ok n4=ok n5=ok n6=ok";
  EXPECT_EQ(after(23, 20, 21, true), well) << "all lose alike on a busy machine";
  EXPECT_EQ(after(23, 0, 0, true), well + " n1-n2=slow") << "only this link loses";
  EXPECT_EQ(after(1, 1, 40, true), "n1=ok n2=ok n3=slow n4=ok n5=ok n6=ok") << "1 % on a busy machine";
  EXPECT_EQ(after(2, 1, 160, false), "n1=ok n2=ok n3=slow n4=ok n5=ok n6=ok");
  EXPECT_THAT(after(23, 20, 21, false), HasSubstr("n1-n2=slow")) << "nobody was busy: the network loses";
}

std::string speed_of(const std::string& node, double value, bool busy, const std::string& kind) {
  return line(node, "start", fmt::format(R"("mode":"node","kind":"{}")", kind)) +
         line(node, "cpu",
              fmt::format(R"("ok":true,"slow":false,"value":{},"unit":"Mpairs/s","busy":{})", value, busy)) +
         line(node, "done", R"("mode":"node","ok":true,"slow":false)");
}

TEST(VerifyReport, ANodeIsMeasuredByItsKind) {
  const std::vector<std::string> six = {"n1", "n2", "n3", "n4", "n5", "n6"};
  const auto after = [&](double of_n3, bool busy, const std::string& kind) {
    std::string out;
    for (const std::string& node : six)
      out += node == "n3" ? speed_of(node, of_n3, busy, kind) : speed_of(node, 80, false, "A");
    return parse_verify_report(out, "", six);
  };
  EXPECT_EQ(after(78, false, "A").overall, VerifyResult::ok);
  EXPECT_EQ(results(after(50, false, "A")), "n1=ok n2=ok n3=slow n4=ok n5=ok n6=ok");
  EXPECT_EQ(after(50, false, "A").node("n3")->reason,
            "slow in phase cpu: 50 Mpairs/s, where 5 others of its kind have 80 (at least 64 is usual)");
  EXPECT_EQ(after(50, true, "A").overall, VerifyResult::ok) << "it waited for others";
  EXPECT_EQ(after(50, false, "B").overall, VerifyResult::ok) << "an older machine";
  EXPECT_EQ(after(50, false, "").overall, VerifyResult::ok) << "an older V";
}

TEST(VerifyReport, ADiskThatStoodStillIsSlowWhereMostOthersWorked) {
  const auto after = [](const std::vector<std::string>& nodes, const std::vector<std::string>& crawling,
                        const std::string& full = "") {
    std::string out;
    for (const std::string& node : nodes) {
      const bool crawls = std::find(crawling.begin(), crawling.end(), node) != crawling.end();
      out +=
          line(node, "start", R"("mode":"node")") +
          line(node, "disk",
               node == full ? R"("ok":false,"slow":false,"detail":"cannot write in /tmp: Input/output error")"
               : crawls ? R"("ok":true,"slow":false,"value":0.2,"crawls":true,"detail":"34 MB took 160 s")"
                        : R"("ok":true,"slow":false,"value":90,"detail":"")") +
          line(node, "done", R"("mode":"node","ok":true,"slow":false)");
    }
    return parse_verify_report(out, "", nodes);
  };
  const auto pair = after({"n1", "n2"}, {"n2"});
  EXPECT_EQ(results(pair), "n1=ok n2=slow");
  EXPECT_EQ(pair.node("n2")->reason,
            "slow in phase disk: 34 MB took 160 s, where 1 other did not stand still");
  EXPECT_EQ(pair.node("n2")->fault, VerifyFault::slow);
  EXPECT_EQ(results(after({"n1", "n2", "n3", "n4"}, {"n2", "n4"})), "n1=ok n2=slow n3=ok n4=slow");
  EXPECT_EQ(results(after({"n1", "n2", "n3"}, {"n1", "n2"})), "n1=ok n2=ok n3=ok") << "what they share";
  EXPECT_EQ(results(after({"n1"}, {"n1"})), "n1=ok") << "nothing to hold it against";
  EXPECT_EQ(results(after({"n1", "n2"}, {"n2"}, "n1")), "n1=failed n2=ok") << "nor is a broken one a measure";
}

TEST(VerifyReport, OffTheBaselineWhileBusyIsUnknown) {
  const auto report = parse_verify_report(
      alone("n1") + line("n2", "start", R"("mode":"node")") +
          line("n2", "cpu",
               R"("ok":true,"slow":false,"busy":true,"off_while_busy":true,"detail":"cpu of 20")") +
          line("n2", "done", R"("mode":"node","ok":true,"slow":false)"),
      "", {"n1", "n2"}, 0);
  EXPECT_EQ(results(report), "n1=ok n2=unknown");
  EXPECT_EQ(report.node("n2")->reason, "busy: others had the processor in phase cpu: cpu of 20");
}

}  // namespace
}  // namespace sickbay
