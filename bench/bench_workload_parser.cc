// SPDX-License-Identifier: Apache-2.0
// The reader of sacct -P on one thread: 200 MB of jobs with their steps in 40 columns, split and parsed.
//
// Figures are of the thread's own CPU time, since what is measured is a core's worth; a million bytes are one
// MB.  split_mb_s is the first pass of an import, parse_mb_s the second, and both_mb_s what the two make
// together.  `bench_workload_parser FILE` measures a log of one's own instead.  The log is made up in the
// shape of hb-sacct (test/fixtures/workload): empty columns in job rows, TRES and I/O in those of steps.  No
// peer: bench/workload has those.
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "figure.h"
#include "workload/read/reader.h"

namespace {

using namespace sickbay;
using namespace sickbay::workload;
using bench::figure;
using bench::require;

constexpr std::size_t kBytes = 200'000'000;
constexpr std::string_view kHeader =
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|"
    "Elapsed|"
    "TimelimitRaw|NNodes|AllocCPUS|ReqCPUS|NTasks|ReqMem|MaxRSS|AveRSS|MaxVMSize|TotalCPU|UserCPU|SystemCPU|"
    "CPUTimeRAW|ReqTRES|AllocTRES|TRESUsageInMax|TRESUsageInTot|TRESUsageOutTot|AveDiskRead|AveDiskWrite|"
    "NodeList|"
    "ConsumedEnergyRaw|Priority|MaxRSSNode|WorkDir\n";

std::string when(std::int64_t t) {
  const std::time_t seconds = t;
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  return text;
}
std::string span(std::int64_t s) {
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
  return s >= 86400 ? fmt::format("{}-{}", s / 86400, clock) : clock;
}

std::string make_log() {
  std::mt19937_64 random(1);
  std::string log(kHeader);
  log.reserve(kBytes + 4096);
  for (std::int64_t id = 20000000, now = 1650000000; log.size() < kBytes; ++id) {
    now += static_cast<std::int64_t>(random() % 20);
    const auto cpus = std::int64_t{1} << random() % 8, run = static_cast<std::int64_t>(random() % 200000);
    const std::int64_t start = now + static_cast<std::int64_t>(random() % 50000), end = start + run;
    const std::string user = fmt::format("user{}", random() % 400);
    const std::string node = fmt::format("node{:04}", random() % 2000);
    const std::string times =
        fmt::format("{}|{}|{}|{}|{}", when(now), when(start), when(end), run, span(run));
    const std::string state = random() % 8 == 0 ? "CANCELLED by 10304007" : "COMPLETED";
    const std::string alloc =
        fmt::format("billing={0},cpu={0},gres/gpu:a100=2,gres/gpu=2,mem={1}G,node=1", cpus, cpus * 4);
    log += fmt::format(
        "{0}|{0}|run_{1}_case|{2}|physics|gpumedium|normal|{3}|0:0|{4}|{5}|1440|1|{6}|{6}||{7}G|||||||{8}|{9}"
        "|{9}||||||"
        "{10}|54156|{11}||/scratch/{2}/project/run{1}\n",
        id, random() % 1000, user, state, when(now), times, cpus, cpus * 4, run * cpus, alloc, node,
        random() % 100000);
    for (const char* step : {"batch", "extern", "0"}) {
      const std::int64_t used = run * cpus * 9 / 10, kib = static_cast<std::int64_t>(random() % 30000000);
      const std::string usage = fmt::format("cpu={},energy=0,fs/disk={},mem={}K,pages=32,vmem={}K",
                                            span(used), random() % 100000000000, kib, kib * 2);
      log += fmt::format(
          "{0}.{1}|{0}.{1}|{1}||physics|||COMPLETED|0:0|{2}|{3}||1|{4}||1||{5}K|{5}K|{6}K|{7}|{7}|{8}.{9:03}|"
          "{10}||{11}|{12}|"
          "{12}|energy=0,fs/disk={13}|{14}.26M|{15}.18M|{16}|0||{16}|\n",
          id, step, when(start),
          fmt::format("{}|{}|{}|{}|{}", when(start), when(start), when(end), run, span(run)), cpus, kib,
          kib * 2, span(used), span(run % 3600).substr(3), run % 1000, run * cpus, alloc, usage,
          random() % 100000000, random() % 9000, random() % 9000, node);
    }
  }
  return log;
}

double cpu_ms() {
  std::timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  std::string log;
  if (argc > 1) {
    std::ifstream in(argv[1], std::ios::binary);
    log.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    log = make_log();
  }
  auto opened = open_reader(std::string_view(log).substr(0, 1 << 20), false, {});
  require(opened.has_value(), "the log opens");
  const std::string_view text = std::string_view(log).substr(opened->header_bytes);
  std::vector<RecordSpan> records;
  std::vector<double> split, parse, both;
  Arena arena;
  Rows rows;
  std::string reason;
  std::size_t parsed = 0, with_cpus = 0;
  for (int round = 0; round < 5; ++round) {
    records.clear();
    const double start = cpu_ms();
    require(opened->reader->split(text, true, records) == text.size(), "all of it is split");
    const double middle = cpu_ms();
    parsed = with_cpus = 0;
    for (const RecordSpan& span : records) {
      rows.clear();
      parsed += opened->reader->parse(text.substr(span.offset, span.length), arena, rows, reason) ? 1 : 0;
      with_cpus +=
          rows.size() == 1 && rows[0].has(Num::cpus) && !rows[0].has(Num::flaws) && !rows[0].has(Num::repairs)
              ? 1
              : 0;
    }
    const double end = cpu_ms();
    split.push_back(middle - start);
    parse.push_back(end - middle);
    both.push_back(end - start);
  }
  if (parsed != records.size()) std::fprintf(stderr, "bench: %s\n", reason.c_str());
  require(parsed == records.size(), "every row is read");
  require(argc > 1 || with_cpus == parsed, "every row is read without a flaw");
  const double mb = static_cast<double>(text.size()) / 1e6;
  const auto speed = [&](std::vector<double>& ms) {
    std::nth_element(ms.begin(), ms.begin() + 2, ms.end());
    return mb / ms[2] * 1e3;
  };
  figure("rows", static_cast<double>(records.size()), "rows");
  figure("bytes_a_row", static_cast<double>(text.size()) / static_cast<double>(records.size()), "bytes");
  figure("split_mb_s", speed(split), "MB/s");
  figure("parse_mb_s", speed(parse), "MB/s");
  figure("both_mb_s", speed(both), "MB/s");
  return 0;
}
