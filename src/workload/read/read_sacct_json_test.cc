// SPDX-License-Identifier: Apache-2.0
// sacct --json in the shapes of Slurm 21.08 to 24.11.  test/fixtures/workload/sacct-json has real outputs of
// 21.08 to 23.11; made-24.11.json was made by hand from the documented shape of data parser v0.0.42.
#include <fmt/format.h>

#include "base/json.h"
#include "workload/read/fixture_test_parts.h"
#include "workload/read/json_records.h"
#include "workload/read/reader_test_parts.h"

namespace sickbay::workload {
namespace {

TEST(ReadSacctJson, ReadsSlurm2108) {
  const auto log = read_log(open_sacct_json, fixture("sacct-json/slurm_21_8_8.json"));
  ASSERT_EQ(log->rows.size(), 1U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(
      text_of(log->row(0)),
      "job_id=55978384\ncluster=cedar\njob_name=submitit\nuser_name=purah\ngroup_name=purah\n"
      "account=rrg-bengioy-ad_gpu\npartition=gpubackfill\nqos=normal\nstate=PENDING\nstate_text=REQUEUED\n"
      "node_list=cdr896\nwork_dir=/scratch/purah/meta_internship\nconstraints=[p100|p100l|v100l]\n"
      "flags=CLEAR_SCHEDULING,STARTED_ON_BACKFILL\njob_id_raw=55978384\nsubmit_time=1673275023\n"
      "eligible_time=1673275023\nstart_time=1673275023\nend_time=1673369386\nelapsed=86301\n"
      "time_limit=86400\nsuspended=0\nreq_cpus=4\ncpus=4\nreq_nodes=1\nnodes=1\nreq_gpus=1\ngpus=1\n"
      "req_mem=42949672960\nexit_code=0\nexit_signal=0\nderived_exit_code=0\npriority=1314155\n");
}

TEST(ReadSacctJson, ReadsSlurm2205To2311) {
  const auto array = read_log(open_sacct_json, fixture("sacct-json/slurm_22_5_9.json"));
  ASSERT_EQ(array->rows.size(), 1U);
  EXPECT_EQ(array->row(0).get(Text::job_id), "20247445_100");
  EXPECT_EQ(array->row(0).get(Num::array_task_id), 100);
  EXPECT_EQ(array->row(0).get(Text::state), "FAILED");
  EXPECT_EQ(array->row(0).get(Num::gpus), 16);
  std::string before;
  for (const char* name : {"slurm_23_2_6.json", "slurm_23_11_5.json"}) {
    const auto log = read_log(open_sacct_json, fixture(std::string("sacct-json/") + name));
    ASSERT_EQ(log->rows.size(), 1U) << name;
    const Row& row = log->row(0);
    EXPECT_EQ(row.get(Text::state), "RUNNING");
    EXPECT_FALSE(row.has(Num::end_time));
    EXPECT_FALSE(row.has(Num::energy)) << "-2 is no energy";
    EXPECT_EQ(row.get(Num::time_limit), 7200 * 60);
    EXPECT_EQ(row.get(Num::priority), 499522);
    EXPECT_EQ(row.get(Num::req_mem), std::int64_t{32} << 30);
    EXPECT_EQ(row.get(Text::work_dir), "/home/mila/m/masterkohga");
    EXPECT_TRUE(looks_like_sacct_json(log->text, {}));
    expect_same_in_pieces(*log);
  }
}

TEST(ReadSacctJson, ReadsSlurm2411WithItsSteps) {
  const auto log = read_log(open_sacct_json, fixture("sacct-json/made-24.11.json"));
  ASSERT_EQ(log->rows.size(), 4U) << (log->rejects.empty() ? "" : log->rejects[0]);
  const Row& job = log->row(0);
  EXPECT_EQ(job.get(Text::job_id), "812+1");
  EXPECT_EQ(job.get(Num::job_id_raw), 813);
  EXPECT_EQ(job.get(Text::state), "CANCELLED");
  EXPECT_EQ(job.get(Num::gpus), 4);
  EXPECT_EQ(job.get(Text::gpu_type), "a100");
  EXPECT_EQ(job.get(Num::restarts), 2);
  EXPECT_FALSE(job.has(Num::total_cpu)) << "0 of a job is not known";
  EXPECT_EQ(log->row(1).kind, RowKind::batch);
  EXPECT_EQ(log->row(2).kind, RowKind::extern_);
  const Row& step = log->row(3);
  EXPECT_EQ(
      text_of(step),
      "job_id=812+1\ncluster=made\njob_name=vasp_std\nstate=FAILED\nnode_list=n[1-2]\ngpu_type=a100\n"
      "step=0\nhet_job_id=812\nhet_offset=1\nstart_time=1730000100\nend_time=1730003700\nelapsed=3600\n"
      "suspended=0\ncpus=16\nnodes=2\ntasks=16\ngpus=4\ntotal_cpu=50000120\nuser_cpu=49000000\n"
      "system_cpu=1000120\nmax_rss=2147483648\nave_rss=1073741824\nmax_vmsize=8589934592\nenergy=54156\n"
      "gpu_util_milli=870\ngpu_mem=34359738368\nexit_code=0\nexit_signal=9\nave_disk_read=1000\n"
      "ave_disk_write=500\nusage_cpu=50000120\nusage_mem=17179869184\nusage_disk_in=16000\n"
      "usage_disk_out=8000\n");
}

TEST(ReadSacctJson, ReadsIdsOfStepsInEveryShape) {
  const auto log = read_log(open_sacct_json, R"({"jobs":[{"job_id":5,"steps":[
      {"step":{"id":"5.batch"}},{"step":{"id":{"job_id":5,"step_id":"extern"}}},{"step":{"id":{"job_id":5,"step_id":3}}},
      {"step":{"id":"5.interactive","name":"bash"},"state":["COMPLETED"]}]}]})");
  ASSERT_EQ(log->rows.size(), 5U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(1).get(Text::step), "batch");
  EXPECT_EQ(log->row(2).get(Text::step), "extern");
  EXPECT_EQ(log->row(3).get(Text::step), "3");
  EXPECT_EQ(log->row(4).get(Text::step), "interactive");
  EXPECT_EQ(log->row(4).get(Text::job_id), "5");
}

TEST(ReadSacctJson, ReadsWaitingArraysAndMemoryPerCore) {
  const auto log = read_log(open_sacct_json, R"({"jobs" : [
    {"job_id": 70, "array": {"job_id": 70, "task": "9-11,13%2", "task_id": {"set": false, "number": 0}},
     "required": {"CPUs": 2, "memory_per_cpu": {"set": true, "infinite": false, "number": 4000}},
     "time": {"limit": {"set": true, "infinite": true, "number": 0}}, "state": {"current": ["PENDING"]}},
    {"job_id": 71, "required": {"memory": 9223372036854779808}, "state": {"current": "A_NEW_ONE"}}]})");
  ASSERT_EQ(log->rows.size(), 2U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(0).get(Text::job_id), "70_[9-11,13%2]");
  EXPECT_EQ(log->row(0).get(Num::array_tasks), 4);
  EXPECT_FALSE(log->row(0).has(Num::time_limit));
  EXPECT_EQ(log->row(0).get(Num::req_mem_per_cpu), std::int64_t{4000} << 20);
  EXPECT_EQ(log->row(1).get(Num::req_mem_per_cpu), std::int64_t{4000} << 20);
  EXPECT_EQ(log->row(1).get(Num::repairs), bit(Repair::req_mem_flag));
  EXPECT_EQ(log->row(1).get(Num::flaws), bit(Flaw::unknown_state));
}

TEST(ReadSacctJson, ReadsOutputsOneBehindTheOther) {
  const std::string one = fixture("sacct-json/slurm_23_11_5.json"),
                    other = fixture("sacct-json/slurm_22_5_9.json");
  const auto log = read_log(open_sacct_json, one + "\n" + other + one);
  EXPECT_EQ(log->rows.size(), 3U);
  EXPECT_TRUE(log->rejects.empty());
  expect_same_in_pieces(*log);
}

TEST(ReadSacctJson, SplitsAtBracketsOutsideOfStringsOnly) {
  const auto log = read_log(open_sacct_json, R"({"note": "\"jobs\": [{", "jobs": [
    {"job_id": 1, "name": "a \"}] b", "comment": {"job": "\\"}}, {"job_id": 2, "name": "\\\"{["}], "meta": {"x": [{}]}})");
  ASSERT_EQ(log->rows.size(), 2U) << (log->rejects.empty() ? "" : log->rejects[0]);
  EXPECT_EQ(log->row(0).get(Text::job_name), "a \"}] b");
  EXPECT_EQ(log->row(1).get(Text::job_name), "\\\"{[");
  expect_same_in_pieces(*log);
}

TEST(ReadSacctJson, RejectsWhatCannotBeRead) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  const auto log = read_log(
      open_sacct_json,
      "{\"jobs\":[{\"name\":\"no id\"},{\"job_id\":-4},{\"job_id\":1e300},{\"job_id\":5,\"x\":" + deep +
          "},{\"job_id\":6,},7,{\"job_id\":8,\"steps\":[{}]},{\"job_id\":9},{\"job_id\":10");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_id), "9");
  EXPECT_EQ(log->rejects.size(), 8U);
}

TEST(ReadSacctJson, TakesGiganticNumbersForAbsent) {
  const auto log =
      read_log(open_sacct_json, R"({"jobs":[{"job_id": 1, "required": {"CPUs": 99999999999999999999},
    "time": {"start": 999999999999999, "limit": 9223372036854775807, "elapsed": 4294967294,
             "total": {"seconds": 9223372036854775807, "microseconds": 1}},
    "tres": {"requested": [{"type": "mem", "count": 9223372036854775807}]}}]})");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(text_of(log->row(0)), "job_id=1\njob_id_raw=1\n");
}

TEST(ReadSacctJson, MakesBadBytesUtf8) {
  const auto log = read_log(open_sacct_json, "{\"jobs\":[{\"job_id\":1,\"name\":\"caf\xe9\"}]}");
  ASSERT_EQ(log->rows.size(), 1U);
  EXPECT_EQ(log->row(0).get(Text::job_name), "caf\xEF\xBF\xBD");
  EXPECT_EQ(log->row(0).get(Num::repairs), bit(Repair::bad_utf8));
}

TEST(ReadSacctJson, RejectsARecordOverTheLimitAndGoesOn) {
  const auto log = read_log(open_sacct_json, "{\"jobs\":[{\"job_id\":1,\"name\":\"" +
                                                 std::string(kMaxRecord, 'x') + "\"},{\"job_id\":2}]}");
  EXPECT_EQ(log->rows.size(), 1U);
  expect_rejected(*log, "none may be over");
}

TEST(ReadSacctJson, RefusesOtherJson) {
  const auto opened = open_sacct_json("{\"nodes\":[]}", true, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::bad_input);
  EXPECT_FALSE(looks_like_sacct_json("{\"nodes\":[]}", {}));
  EXPECT_FALSE(looks_like_sacct_json("{\"jobs\":5}", {}));
}

// The whole output parsed as one value, and its jobs dumped again.
TEST(ReadSacctJson, AgreesWithAWholeParseOnRandomLogs) {
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    Json jobs = Json::array();
    for (unsigned i = random() % 6; i > 0; --i) {
      std::string name;
      for (unsigned c = random() % 12; c > 0; --c) name += std::string_view("ab\"\\{}[],: \n")[random() % 12];
      Json job = Json::object({{"name", name}, {"job_id", static_cast<int>(1 + random() % 1000)}});
      Json steps = Json::array();
      for (unsigned s = random() % 3; s > 0; --s)
        steps.push(Json::object({{"step", Json::object({{"id", fmt::format("1.{}", s)}, {"name", name}})}}));
      job.set("steps", steps);
      jobs.push(job);
    }
    const Json whole =
        Json::object({{"errors", Json::array({"jobs"})}, {"jobs", jobs}, {"meta", Json::object({{"a", 1}})}});
    const auto log = read_log(open_sacct_json, random() % 2 != 0 ? whole.dump() : whole.pretty());
    std::size_t at = 0;
    for (const Json& job : jobs.items()) {
      ASSERT_LT(at, log->rows.size());
      const Row& row = log->row(at++);
      EXPECT_EQ(row.get(Num::job_id_raw), job["job_id"].as_int());
      std::string name = job["name"].as_string();
      while (!name.empty() && (name.back() == ' ' || name.back() == '\n')) name.pop_back();
      while (!name.empty() && (name.front() == ' ' || name.front() == '\n')) name.erase(0, 1);
      EXPECT_EQ(row.get(Text::job_name), name);
      for (const Json& step : job["steps"].items()) {
        ASSERT_LT(at, log->rows.size());
        EXPECT_EQ("1." + std::string(log->row(at++).get(Text::step)), step["step"]["id"].as_string());
      }
    }
    EXPECT_EQ(at, log->rows.size());
    expect_same_in_pieces(*log);
  }
}

TEST(ReadSacctJson, SurvivesDamage) {
  survive_damage(open_sacct_json, fixture("sacct-json/made-24.11.json"));
}

}  // namespace
}  // namespace sickbay::workload
