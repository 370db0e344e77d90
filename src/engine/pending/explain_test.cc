// SPDX-License-Identifier: Apache-2.0
// Every kind of answer, one row each: what Slurm says, what there is, and what the user reads.
#include "engine/pending/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/pending/dependency_text.h"

namespace sickbay::pending {
namespace {

using testing::HasSubstr;
using enum NodeHurdle;

const TimePoint kNow = parse_time("2026-11-22T12:00:00Z").value();
TimePoint clock(const char* text) { return parse_time(std::string("2026-11-22T") + text + ":00Z").value(); }

/// Job 17 wants 2 of the 4 idle nodes of batch for an hour.
PendingFacts facts(const std::string& reason) {
  PendingFacts f;
  f.job_id = 17;
  f.state = "PENDING";
  f.reason = reason;
  f.request.min_nodes = 2;
  f.request.time_limit_s = 3600;
  f.request.account = "physics";
  f.request.qos = "normal";
  f.partition_names = "batch";
  PendingPartition batch;
  batch.name = "batch";
  batch.state = "UP";
  batch.total_nodes = 4;
  f.partitions = {batch};
  f.nodes = {{idle, "n[1-4]", 4, ""}};
  return f;
}

struct Row {
  const char* reason;
  std::function<void(PendingFacts&)> change;
  const char* codes;  ///< of all hindrances, in order
  const char* sentence;
  const char* remedy;  ///< of the first, a part
  PendingCure who;
};

const Row kRows[] = {
    // --- nodes are there, and in use
    {"Resources",
     [](auto& f) {
       f.nodes = {{idle, "n1", 1, ""}, {busy, "n[2-4]", 3, ""}};
     },
     "busy",
     "Job 17 waits: it needs 2 nodes, and of the 4 that fit 1 is idle, 3 are in use, wholly or in part.",
     "enough running jobs have ended", PendingCure::time},
    {"Resources",
     [](auto& f) {
       f.nodes = {{busy, "n[1-2]", 2, ""}, {planned, "n3", 1, ""}, {down, "n4", 1, "x"}};
     },
     "busy",
     "Job 17 waits: it needs 2 nodes, and of the 4 that fit 0 are idle, 2 are in use, wholly or in part, 1 "
     "is kept "
     "for a job before it, 1 is out of service.",
     "enough running jobs have ended", PendingCure::time},
    {"Resources", [](auto&) {}, "slurm_reason",
     "Job 17 waits: it is among the first in partition batch, and the nodes it needs are in use.",
     "enough running jobs", PendingCure::time},
    {"Priority",
     [](auto& f) {
       f.nodes = {{busy, "n[1-4]", 4, ""}};
     },
     "turn",
     "Job 17 waits: jobs with a higher priority are before it in partition batch; it needs 2 nodes, and of "
     "the 4 "
     "that fit 0 are idle, 4 are in use, wholly or in part.",
     "its turn has come", PendingCure::time},
    {"Priority", [](auto&) {}, "turn",
     "Job 17 waits: jobs with a higher priority are before it in partition batch.", "its turn has come",
     PendingCure::time},
    {"None", [](auto&) {}, "slurm_reason", "Job 17 waits: the scheduler has not looked at it yet.",
     "ask again in a minute", PendingCure::time},

    // --- nodes are out of service
    {"Resources",
     [](auto& f) {
       f.nodes = {{idle, "n1", 1, ""}, {drained, "n[2-3]", 2, "disk"}, {down, "n4", 1, "Not responding"}};
     },
     "out_of_service",
     "Job 17 waits: it needs 2 nodes, and of the 4 that fit n[2-3] are drained (disk), n4 is down (Not "
     "responding).",
     "back in service", PendingCure::operators},
    {"ReqNodeNotAvail",
     [](auto& f) {
       f.request.required = {"n3"}, f.request.min_nodes = 1;
       f.nodes = {{drained, "n3", 1, "disk"},
                  {unfit, "n[1-2,4]", 3, "not among the nodes that the job names"}};
     },
     "required_out out_of_service",
     "Job 17 waits: it asks for nodes by name, and of these n3 is drained (disk).",
     "reqnodelist=", PendingCure::operators},
    {"ReqNodeNotAvail",
     [](auto& f) {
       f.request.required = {"n3"};
       f.nodes = {{idle, "n[1-2]", 2, ""}, {drained, "n[3-4]", 2, ""}};
     },
     "required_out", "Job 17 waits: it asks for nodes by name, and of these n3 is drained.",
     "reqnodelist=", PendingCure::operators},
    {"ReqNodeNotAvail", [](auto&) {}, "slurm_reason",
     "Job 17 waits: nodes that it needs are out of service or kept for a reservation.", "come back",
     PendingCure::operators},

    // --- nodes that are not there
    {"BadConstraints",
     [](auto& f) {
       f.held = true, f.request.min_nodes = 4, f.request.features = "gpu";
       f.nodes = {
           {idle, "n[1-2]", 2, ""}, {drained, "n3", 1, "disk"}, {unfit, "n4", 1, "without feature gpu"}};
     },
     "too_few_fit",
     "Job 17 will not start as it is: it needs 4 nodes with feature gpu, and 3 of the 4 in partition batch "
     "are what "
     "it asks for (1 without feature gpu); of these n3 is drained (disk).",
     "then 'scontrol release 17'", PendingCure::user},
    {"BadConstraints", [](auto& f) { f.held = true; }, "slurm_reason",
     "Job 17 will not start as it is: no set of nodes that this cluster has is what it asks for.",
     "scontrol release 17", PendingCure::user},
    {"Resources",
     [](auto& f) {
       f.nodes = {{unfit, "n[1-4]", 4, "fewer than 5 CPUs"}};
     },
     "too_few_fit",
     "Job 17 waits: it needs 2 nodes, and 0 of the 4 in partition batch are what it asks for (4 fewer than 5 "
     "CPUs).",
     "scontrol update jobid=17", PendingCure::user},
    {"Resources", [](auto& f) { f.nodes.clear(), f.partitions.clear(); }, "slurm_reason",
     "Job 17 waits: it is among the first in partition batch, and the nodes it needs are in use.", "",
     PendingCure::time},

    // --- reservations, now and ahead
    {"Resources",
     [](auto& f) {
       f.nodes = {{idle, "n1", 1, ""}, {reserved, "n[2-4]", 3, ""}};
       f.reservations = {{"maint", clock("11:00"), clock("14:00"), "n[2-4]", 3, true}};
     },
     "reserved_now",
     "Job 17 waits: it needs 2 nodes, and of the 4 that fit reservation maint holds n[2-4] until "
     "2026-11-22T14:00:00Z.",
     "it starts after 2026-11-22T14:00:00Z at the latest", PendingCure::time},
    {"Resources",
     [](auto& f) {
       f.nodes = {{idle, "n1", 1, ""}, {reserved, "n[2-4]", 3, ""}};
     },
     "reserved_now", "Job 17 waits: it needs 2 nodes, and of the 4 that fit a reservation holds n[2-4].",
     "that reservation has ended", PendingCure::time},
    {"ReqNodeNotAvail",
     [](auto& f) {
       f.request.time_limit_s = 5 * 3600;
       f.reservations = {{"maint", clock("14:10"), clock("18:00"), "n[1-4]", 4, true}};
     },
     "reservation_ahead",
     "Job 17 waits: reservation maint takes n[1-4] from 2026-11-22T14:10:00Z to 2026-11-22T18:00:00Z, and "
     "with a "
     "time limit of 5 h it would not end before.",
     "a time limit under 2 h 10 min would fit before it: 'scontrol update jobid=17 timelimit=02:09:00'; else "
     "it can "
     "start after 2026-11-22T18:00:00Z",
     PendingCure::user},
    {"Resources",
     [](auto& f) {
       f.request.time_limit_s = 0;
       f.reservations = {{"maint", clock("12:01"), clock("18:00"), "n[1-4]", 4, true}};
     },
     "reservation_ahead",
     "Job 17 waits: reservation maint takes n[1-4] from 2026-11-22T12:01:00Z to 2026-11-22T18:00:00Z, and "
     "with no "
     "time limit it would not end before.",
     "it can start after 2026-11-22T18:00:00Z", PendingCure::user},
    // A name that is not for the asker.
    {"Resources",
     [](auto& f) {
       f.reservations = {{"", clock("12:30"), clock("18:00"), "n[1-4]", 4, true}};
     },
     "reservation_ahead",
     "Job 17 waits: a reservation takes n[1-4] from 2026-11-22T12:30:00Z to 2026-11-22T18:00:00Z, and with a "
     "time "
     "limit of 1 h it would not end before.",
     "a time limit under 30 min", PendingCure::user},
    // It would end in time, or enough other nodes are left: the reservation is no reason.
    {"Resources",
     [](auto& f) {
       f.reservations = {{"maint", clock("14:00"), clock("18:00"), "n[1-4]", 4, true}};
     },
     "slurm_reason",
     "Job 17 waits: it is among the first in partition batch, and the nodes it needs are in use.", "",
     PendingCure::time},
    {"Resources",
     [](auto& f) {
       f.reservations = {{"small", clock("12:30"), clock("18:00"), "n[1-2]", 2, true}};
     },
     "slurm_reason",
     "Job 17 waits: it is among the first in partition batch, and the nodes it needs are in use.", "",
     PendingCure::time},
    // Reserved, and the rest in use.
    {"Resources",
     [](auto& f) {
       f.nodes = {{busy, "n[1-4]", 4, ""}};
       f.reservations = {{"maint", clock("12:30"), clock("18:00"), "n[1-4]", 4, true}};
     },
     "reservation_ahead busy",
     "Job 17 waits: reservation maint takes n[1-4] from 2026-11-22T12:30:00Z to 2026-11-22T18:00:00Z, and "
     "with a "
     "time limit of 1 h it would not end before.",
     "a time limit under 30 min", PendingCure::user},

    // --- the partition
    {"PartitionTimeLimit",
     [](auto& f) {
       f.request.time_limit_s = 5 * 86400;
       f.partitions[0].max_time_s = 3600;
     },
     "partition_time", "Job 17 will not start as it is: it asks for 5 d, and partition batch allows 1 h.",
     "'scontrol update jobid=17 timelimit=01:00:00'", PendingCure::user},
    {"PartitionTimeLimit",
     [](auto& f) {
       f.request.time_limit_s = 0;
       f.partitions[0].max_time_s = 3600;
     },
     "partition_time",
     "Job 17 will not start as it is: it asks for no time limit, and partition batch allows 1 h.",
     "timelimit=", PendingCure::user},
    {"PartitionTimeLimit", [](auto&) {}, "slurm_reason",
     "Job 17 will not start as it is: its time limit (1 h) is longer than partition batch allows (no limit).",
     "timelimit=", PendingCure::user},
    {"PartitionNodeLimit", [](auto& f) { f.partitions[0].max_nodes = 1; }, "partition_nodes",
     "Job 17 will not start as it is: it asks for 2 nodes, and partition batch allows 1 at most.",
     "numnodes=1-1'", PendingCure::user},
    {"PartitionNodeLimit", [](auto& f) { f.partitions[0].min_nodes = 3; }, "partition_nodes",
     "Job 17 will not start as it is: it asks for 2 nodes, and partition batch demands 3 at least.",
     "numnodes=3-3'", PendingCure::user},
    {"PartitionNodeLimit", [](auto& f) { f.partitions[0].total_nodes = 1; }, "partition_nodes",
     "Job 17 will not start as it is: it asks for 2 nodes, and partition batch has 1.", "numnodes=1-1'",
     PendingCure::user},
    {"PartitionNodeLimit", [](auto& f) { f.partitions[0].max_nodes = 2, f.request.max_nodes = 3; },
     "partition_nodes",
     "Job 17 will not start as it is: it asks for 2 to 3 nodes, and partition batch allows 2 at most.",
     "numnodes=2-2'", PendingCure::user},
    // Slurm says so of nodes that are out of service, too.
    {"PartitionNodeLimit",
     [](auto& f) {
       f.nodes = {{drained, "n[1-4]", 4, "power"}};
     },
     "out_of_service", "Job 17 waits: it needs 2 nodes, and of the 4 that fit n[1-4] are drained (power).",
     "back in service", PendingCure::operators},
    {"PartitionDown", [](auto& f) { f.partitions[0].state = "DOWN"; }, "slurm_reason",
     "Job 17 will not start as it is: operators have set partition batch down: no job starts there.",
     "operators set it up again", PendingCure::operators},
    {"Priority", [](auto& f) { f.partitions[0].state = "INACTIVE"; }, "partition_state turn",
     "Job 17 will not start as it is: operators have set partition batch inactive: no job starts there.",
     "partition=...", PendingCure::operators},
    // One of its partitions is enough.
    {"Priority",
     [](auto& f) {
       f.partitions.push_back(f.partitions[0]);
       f.partitions[0].state = "DOWN";
     },
     "turn", "Job 17 waits: jobs with a higher priority are before it in partition batch.", "its turn",
     PendingCure::time},

    // --- hold, dependency, begin, and what only the word says
    {"JobHeldUser", [](auto& f) { f.held = true; }, "slurm_reason",
     "Job 17 will not start as it is: its owner holds it.", "'scontrol release 17'", PendingCure::user},
    {"JobHeldAdmin",
     [](auto& f) {
       f.nodes = {{busy, "n[1-4]", 4, ""}};
     },
     "slurm_reason", "Job 17 will not start as it is: an operator holds it.", "", PendingCure::operators},
    {"Dependency", [](auto& f) { f.request.dependency = "afterok:16(unfulfilled)"; }, "dependency",
     "Job 17 waits: it is to start when job 16 has ended without an error.",
     "dependency=", PendingCure::time},
    {"Dependency", [](auto&) {}, "slurm_reason",
     "Job 17 waits: it depends on other jobs (not told), and they are not that far.", "", PendingCure::time},
    {"DependencyNeverSatisfied", [](auto& f) { f.request.dependency = "afterok:16(failed)"; }, "dependency",
     "Job 17 will not start as it is: it was to start when job 16 has ended without an error, and that will "
     "not "
     "come to pass any more.",
     "scancel 17", PendingCure::user},
    {"DependencyNeverSatisfied", [](auto&) {}, "slurm_reason",
     "Job 17 will not start as it is: a job that it depends on (not told) did not end as it had to, and will "
     "not do "
     "so any more.",
     "scancel 17", PendingCure::user},
    {"Reservation", [](auto&) {}, "slurm_reason",
     "Job 17 waits: the reservation that it asks for (none) cannot be used yet, or another one is in its "
     "way.",
     "scontrol show reservations", PendingCure::time},
    {"BeginTime", [](auto& f) { f.request.begin = clock("14:00"); }, "slurm_reason",
     "Job 17 waits: it is not to start before 2026-11-22T14:00:00Z.", "starttime=now", PendingCure::time},
    {"Priority", [](auto& f) { f.request.begin = clock("14:00"); }, "turn begin_time",
     "Job 17 waits: jobs with a higher priority are before it in partition batch.", "", PendingCure::time},
    {"Licenses", [](auto& f) { f.request.licenses = "matlab:2"; }, "slurm_reason",
     "Job 17 waits: other jobs, or a reservation, hold licences that it asks for (matlab:2).",
     "show licenses", PendingCure::time},
    {"JobArrayTaskLimit", [](auto& f) { f.request.array_job = 15, f.request.array_throttle = 3; },
     "slurm_reason", "Job 17 waits: the job array 15 runs 3 of its tasks at one time, and that many run.",
     "jobid=15 arraytaskthrottle=", PendingCure::time},
    {"QOSMaxJobsPerUserLimit", [](auto&) {}, "slurm_reason",
     "Job 17 waits: as many jobs of its user run in QOS normal as one user may run at one time.", "",
     PendingCure::time},
    {"AssocMaxWallDurationPerJobLimit", [](auto&) {}, "slurm_reason",
     "Job 17 will not start as it is: its time limit (1 h) is longer than account physics allows a job.",
     "timelimit=", PendingCure::user},
    {"SomethingNew",
     [](auto& f) {
       f.nodes = {{busy, "n[1-4]", 4, ""}};
     },
     "slurm_reason", "Job 17 waits: Slurm gives the reason 'SomethingNew', which this Sickbay does not know.",
     "man squeue", PendingCure::time},
};

TEST(PendingExplain, SaysWhyAndWhatWouldLetItRun) {
  for (const Row& row : kRows) {
    PendingFacts f = facts(row.reason);
    row.change(f);
    const Explanation e = explain(f, kNow);
    std::string codes;
    for (const Hindrance& h : e.hindrances) codes += (codes.empty() ? "" : " ") + h.code;
    EXPECT_EQ(codes, row.codes) << e.sentence;
    EXPECT_EQ(e.sentence, row.sentence);
    ASSERT_FALSE(e.hindrances.empty());
    EXPECT_THAT(e.hindrances.front().remedy, HasSubstr(row.remedy)) << e.sentence;
    EXPECT_EQ(e.hindrances.front().cure, row.who) << e.sentence;
  }
}

// Whatever Slurm says, there is an answer, and waiting alone is never told to cure what lasts.
TEST(PendingExplain, AnswersEveryReason) {
  for (const PendingReason& reason : pending_reasons()) {
    const Explanation e = explain(facts(reason.word), kNow);
    ASSERT_FALSE(e.hindrances.empty()) << reason.word;
    EXPECT_EQ(e.sentence.find_first_of("{}"), std::string::npos) << e.sentence;
    EXPECT_EQ(e.lasting, pending_reason(reason.word).lasting) << e.sentence;
  }
}

TEST(PendingExplain, JsonHasAllOfIt) {
  PendingFacts f = facts("JobHeldUser");
  EXPECT_EQ(
      explain(f, kNow).to_json().dump(),
      R"({"sentence":"Job 17 will not start as it is: its owner holds it.","lasting":true,"reasons":[)"
      R"({"code":"slurm_reason","text":"its owner holds it","remedy":"release it: 'scontrol release 17'",)"
      R"("who":"user","lasting":true}]})");
}

TEST(DependencyText, ReadsWhatScontrolShows) {
  const struct {
    const char* dependency;
    const char* text;
  } rows[] = {
      {"", ""},
      {"afterok:17(unfulfilled)", "job 17 has ended without an error"},
      {"afterany:17", "job 17 has ended"},
      {"afternotok:17(unfulfilled)", "job 17 has failed"},
      {"after:17+5(unfulfilled)", "job 17+5 has started or was cancelled"},
      {"aftercorr:17_*(unfulfilled)", "the same task of job array 17_* has ended without an error"},
      {"singleton(unfulfilled)", "no other job of its name and user runs or waits before it"},
      {"afterok:17(unfulfilled),afterany:18(unfulfilled)",
       "job 17 has ended without an error and job 18 has ended"},
      {"afterok:17(unfulfilled)?afterany:18(unfulfilled)",
       "job 17 has ended without an error or job 18 has ended"},
      {"afterok:17(unfulfilled),afterok:18(fulfilled)", "job 17 has ended without an error"},
      {"afterok:17(fulfilled)", ""},
      {"beforeok:17(unfulfilled)", "beforeok:17(unfulfilled)"},
      {"nonsense", "nonsense"},
  };
  for (const auto& row : rows) EXPECT_EQ(dependency_text(row.dependency), row.text) << row.dependency;
}

}  // namespace
}  // namespace sickbay::pending
