// SPDX-License-Identifier: Apache-2.0
// PBS Pro and TORQUE, in records of the shapes that both write, and compared with a naive reader.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

constexpr const char* kTorqueEnd =
    "08/26/2014 17:08:04;E;11923.napali;user=dbeer group=company account=phys jobname=STDIN queue=batch "
    "ctime=1409094464 qtime=1409094464 etime=1409094465 start=1409094470 owner=dbeer@napali "
    "exec_host=napali/0+napali/1+node3/0+node3/1 Resource_List.neednodes=2:ppn=2 Resource_List.nodect=2 "
    "Resource_List.nodes=2:ppn=2 Resource_List.walltime=00:16:40 session=10615 end=1409094484 Exit_status=0 "
    "resources_used.cput=56 resources_used.mem=1024kb resources_used.vmem=4kb "
    "resources_used.walltime=00:00:14\n";
constexpr const char* kProEnd =
    "01/26/2016 00:00:37;E;2994[4].pbs;user=ann group=\"RConsole Users\" project=_pbs_project_default "
    "jobname=my job "
    "queue=workq ctime=1453756297 qtime=1453756297 etime=1453756297 start=1453766281 "
    "exec_host=c1/0*13+c2/0*13 exec_vnode=(c1:ncpus=13:ngpus=2:mem=300kb)+(c2:ncpus=13:ngpus=2) "
    "Resource_List.mem=10gb Resource_List.ncpus=26 Resource_List.ngpus=4 Resource_List.nodect=2 "
    "Resource_List.place=scatter:excl Resource_List.select=2:ncpus=13:ngpus=2 "
    "Resource_List.walltime=00:02:43 "
    "session=17927 end=1453766437 Exit_status=271 resources_used.cpupercent=0 resources_used.cput=01:00:01 "
    "resources_used.mem=664kb resources_used.ncpus=26 resources_used.vmem=10704kb "
    "resources_used.walltime=00:02:36 "
    "run_count=2\n";

TEST(ReadPbs, ReadsTorque) {
  const auto log = read_log(open_torque, kTorqueEnd);
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=11923\ncluster=napali\njob_name=STDIN\nuser_name=dbeer\ngroup_name=company\naccount=phys\n"
      "partition=batch\nstate=COMPLETED\nnode_list=napali,node3\njob_id_raw=11923\nsubmit_time=1409094464\n"
      "eligible_time=1409094465\nstart_time=1409094470\nend_time=1409094484\nelapsed=14\ntime_limit=1000\n"
      "req_cpus=4\ncpus=4\nreq_nodes=2\nnodes=2\ntotal_cpu=56000\nexit_code=0\nexit_signal=0\n"
      "usage_mem=1048576\n");
  EXPECT_TRUE(looks_like_torque(log->text, {}));
  EXPECT_FALSE(looks_like_pbs(log->text, {}));
}

TEST(ReadPbs, ReadsPbsPro) {
  const auto log = read_log(open_pbs, kProEnd);
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=2994[4]\ncluster=pbs\njob_name=my job\nuser_name=ann\ngroup_name=RConsole Users\n"
      "partition=workq\nstate=CANCELLED\nnode_list=c[1-2]\narray_job_id=2994\narray_task_id=4\n"
      "submit_time=1453756297\neligible_time=1453756297\nstart_time=1453766281\nend_time=1453766437\n"
      "elapsed=156\ntime_limit=163\nreq_cpus=26\ncpus=26\nreq_nodes=2\nnodes=2\nreq_gpus=4\ngpus=4\n"
      "total_cpu=3601000\nreq_mem=10737418240\nexit_code=0\nexit_signal=15\nrestarts=1\nusage_mem=679936\n");
  EXPECT_TRUE(looks_like_pbs(log->text, {}));
  EXPECT_FALSE(looks_like_torque(log->text, {}));
}

std::string state_of(Result<OpenedReader> (*open)(std::string_view, bool, const ReadOptions&), int status,
                     int seconds = 100) {
  const auto log =
      read_log(open, fmt::format("08/26/2014 17:08:04;E;1.s;ctime=1409094464 start=1409094470 end={} "
                                 "Resource_List.walltime=01:00:00 Exit_status={}\n",
                                 1409094470 + seconds, status));
  return log->rows.size() == 1 ? std::string(log->row(0).get(Text::state)) : "none";
}

TEST(ReadPbs, TellsHowAJobEnded) {
  EXPECT_EQ(state_of(open_pbs, 0), "COMPLETED");
  EXPECT_EQ(state_of(open_pbs, 1), "FAILED");
  EXPECT_EQ(state_of(open_pbs, 139), "FAILED");     // the shell saw a SIGSEGV
  EXPECT_EQ(state_of(open_pbs, 267), "FAILED");     // a SIGSEGV
  EXPECT_EQ(state_of(open_pbs, 271), "CANCELLED");  // qdel's SIGTERM
  EXPECT_EQ(state_of(open_pbs, 265), "CANCELLED");
  EXPECT_EQ(state_of(open_torque, 271, 3600), "TIMEOUT");  // the same signal at the limit
  EXPECT_EQ(state_of(open_torque, 143, 3605), "TIMEOUT");
  EXPECT_EQ(state_of(open_torque, 1, 3600), "FAILED");
  EXPECT_EQ(state_of(open_pbs, -29), "TIMEOUT");
  EXPECT_EQ(state_of(open_pbs, -27), "OUT_OF_MEMORY");
  EXPECT_EQ(state_of(open_pbs, -11), "BOOT_FAIL");
  EXPECT_EQ(state_of(open_torque, -11), "TIMEOUT");
  EXPECT_EQ(state_of(open_torque, -10), "OUT_OF_MEMORY");
  EXPECT_EQ(state_of(open_torque, -3), "REQUEUED");
  EXPECT_EQ(state_of(open_torque, -4), "NODE_FAIL");
  EXPECT_EQ(state_of(open_torque, -99), "FAILED");
}

TEST(ReadPbs, GivesEachRecordOfAJobThatSaysItsSubmission) {
  const std::string end(kTorqueEnd),
      body = end.substr(end.find("user="), end.find(" session=") - end.find("user="));
  const auto log = read_log(open_torque,
                            "08/26/2014 17:07:44;Q;11923.napali;queue=batch\n"
                            "08/26/2014 17:07:50;S;11923.napali;" +
                                body + "\n" + "08/26/2014 17:07:55;R;11923.napali;" + body + "\n" +
                                "08/26/2014 17:08:04;D;11923.napali;requestor=dbeer@napali\n" + end);
  ASSERT_EQ(log->rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(log->spans[i].job, log->spans[0].job);
    EXPECT_EQ(log->row(i).get(Num::submit_time), 1409094464);
  }
  EXPECT_EQ(log->row(0).get(Text::state), "RUNNING");
  EXPECT_EQ(log->row(1).get(Text::state), "REQUEUED");
  EXPECT_EQ(log->row(1).kind, RowKind::rerun);
  EXPECT_EQ(log->row(1).get(Num::end_time), 1409072875) << "the record's own time";
  EXPECT_EQ(log->row(0).kind, RowKind::part);
  EXPECT_EQ(log->row(2).get(Text::state), "COMPLETED");
}

TEST(ReadPbs, LeavesOutWhatIsNoJobsRecord) {
  const auto log = read_log(open_pbs,
                            "04/01/2021 00:00:00;L;license;floating license hour:3 day:3\n"
                            "04/01/2021 00:05:12;B;R12.server;owner=x\n"
                            "04/01/2021 00:05:12;Q;77[].server;ctime=5\n"
                            "04/01/2021 00:05:12;K;R12.server;requestor=a\n");
  EXPECT_TRUE(log->spans.empty());
}

TEST(ReadPbs, ReadsSlotsOfTorqueSix) {
  const auto log = read_log(open_torque,
                            "04/01/2021 00:05:12;S;5.s;ctime=1617235000 exec_host=n1/0-15,20+n2/3 "
                            "Resource_List.nodes=n1:ppn=17+1:ppn=1:gpus=2\n");
  EXPECT_EQ(log->row(0).get(Num::cpus), 18);
  EXPECT_EQ(log->row(0).get(Num::req_cpus), 18);
  EXPECT_EQ(log->row(0).get(Num::gpus), 2);
  EXPECT_EQ(log->row(0).get(Text::state), "RUNNING");
}

TEST(ReadPbs, ReadsLocalTimesOfRecordsInTheZone) {
  ReadOptions options;
  options.time_zone = "Europe/Berlin";
  const auto log = read_log(open_pbs, "08/01/2021 12:00:00;A;5.s;ctime=1627800000 user=x\n", options);
  EXPECT_EQ(log->row(0).get(Num::end_time), 1627812000);  // 10:00 UTC
  EXPECT_EQ(log->row(0).get(Text::state), "CANCELLED");
}

TEST(ReadPbs, RejectsWhatCannotBeRead) {
  const auto log = read_log(open_pbs,
                            "hello\n"
                            "99/99/2021 00:05:12;E;5.s;user=x\n"
                            "04/01/2021 00:05:12;E;5x.s;user=x\n"
                            "04/01/2021 00:05:12;E;5[.s;user=x\n"
                            "04/01/2021 00:05:12;E;99999999999999999999.s;user=x\n"
                            "04/01/2021 00:05:12;E;5.s;start=yesterday\n"
                            "04/01/2021 00:05:12;E;5.s;ctime=99999999999999999999 Exit_status=0\n" +
                                std::string("04/01/2021 00:05:12;E;5.s;user=\0\n", 33));
  EXPECT_EQ(log->rows.size(), 0U);
  ASSERT_EQ(log->rejects.size(), 8U);
  EXPECT_EQ(log->rejects[5], "'yesterday' is no value of 'start'");
}

TEST(ReadPbs, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(
      open_torque, "04/01/2021 00:05:12;E;5.s;x=" + std::string(kMaxRecord, 'x') + "\n" + kTorqueEnd);
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

TEST(ReadPbs, MakesBadBytesUtf8) {
  const auto log = read_log(open_pbs, "04/01/2021 00:05:12;S;5.s;ctime=1617235000 jobname=caf\xe9 queue=q\n");
  EXPECT_EQ(log->row(0).get(Text::job_name), "caf\xEF\xBF\xBD");
  EXPECT_EQ(log->row(0).get(Num::repairs), bit(Repair::bad_utf8));
}

TEST(ReadPbs, AgreesWithANaiveReaderOnRandomLogs) {
  std::mt19937 random(5);
  std::string text;
  std::vector<std::map<std::string, std::string>> expected;
  for (int i = 0; i < 400; ++i) {
    std::map<std::string, std::string> v;
    const auto ctime = 1'600'000'000 + static_cast<int>(random() % 1000000),
               run = static_cast<int>(random() % 5000);
    v["user"] = "u" + std::to_string(random() % 9);
    v["queue"] = random() % 2 != 0 ? "long" : "short queue";
    v["ctime"] = std::to_string(ctime);
    v["start"] = std::to_string(ctime + 10);
    v["end"] = std::to_string(ctime + 10 + run);
    v["Resource_List.ncpus"] = std::to_string(1 + random() % 64);
    v["resources_used.cput"] = std::to_string(random() % 100000);
    v["resources_used.mem"] = std::to_string(random() % 100000) + "kb";
    std::vector<std::string> keys;
    for (const auto& [key, value] : v) keys.push_back(key);
    std::shuffle(keys.begin(), keys.end(), random);
    text += fmt::format("04/01/2021 00:05:12;E;{}.s;", i);
    for (const auto& key : keys) text += fmt::format("{}={} ", key, v[key]);
    text += "Exit_status=0\n";
    expected.push_back(v);
  }
  const auto log = read_log(open_torque, text);
  ASSERT_EQ(log->rows.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto& v = expected[i];
    const Row& row = log->row(i);
    EXPECT_EQ(row.get(Text::user_name), v["user"]);
    EXPECT_EQ(row.get(Text::partition), v["queue"]);
    EXPECT_EQ(row.get(Num::submit_time), std::stoll(v["ctime"]));
    EXPECT_EQ(row.get(Num::elapsed), std::stoll(v["end"]) - std::stoll(v["start"]));
    EXPECT_EQ(row.get(Num::req_cpus), std::stoll(v["Resource_List.ncpus"]));
    EXPECT_EQ(row.get(Num::total_cpu), 1000 * std::stoll(v["resources_used.cput"]));
    EXPECT_EQ(row.get(Num::usage_mem), 1024 * std::stoll(v["resources_used.mem"]));
  }
  expect_same_in_pieces(*log);
}

TEST(ReadPbs, SurvivesDamage) {
  survive_damage(open_pbs, std::string(kProEnd) + kTorqueEnd);
  survive_damage(open_torque, std::string(kProEnd) + kTorqueEnd);
}

}  // namespace
}  // namespace sickbay::workload
