// SPDX-License-Identifier: Apache-2.0
// The black hole engine on accounting logs: which nodes it would have called black holes, how often per
// node-month, and after how many jobs it finds one that is put into the log.
//
//   blackhole_replay [--columns A,B,...] [--delimiter D] [--holes N] [--seed S] LOG...
//
// Figures on stdout as of any benchmark (README.md); on stderr what the log holds and, of each alarm, the
// rows behind it.  A log that names no nodes has its jobs placed here, each at its real start on the first
// node of its partition with cores free (32 to a node): then no alarm can be right, and the rate is one of
// false alarms under real failures, in the order of a scheduler that makes it hardest.  Users are accounts
// where the log has no users; programs are requests of one shape where it has no job names.
//
// A hole put in: from the start of some job on, whatever starts on its node dies within 10 s; and as the node
// is free at once, each job of one node that starts in its partition goes there, too, one of two.  What else
// happens stays as it was: no verification is run.  Where the node comes under suspicion before it is told,
// patrol would have it verified, and from then on it would get no job: so it is said, too, how many it had
// eaten by then.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/archive/input.h"
#include "engine/blackhole/blackhole.h"
#include "figure.h"
#include "model/ids.h"
#include "workload/merge/merge.h"
#include "workload/read/reader.h"

namespace {

using namespace sickbay;
using std::chrono::hours;
using std::chrono::seconds;
using workload::Num;
using workload::Text;

struct Row {
  std::string cluster, id;
  JobInfo info;
  std::int64_t cpus = 1, nodes = 1;
};

std::string read_all(const Input& input) {
  std::string text(input.size(), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const auto got = input.read_at(at, text.data() + at, text.size() - at);
    bench::require(got.has_value() && *got > 0, "the log cannot be read");
    at += *got;
  }
  return text;
}

// Users get numbers as they come.
struct Numbers {
  std::unordered_map<std::string, std::uint32_t> of;
  std::uint32_t operator()(std::string_view name) {
    return of.try_emplace(std::string(name), static_cast<std::uint32_t>(of.size() + 1)).first->second;
  }
};

void add_job(const workload::Row& job, Numbers& users, std::vector<Row>& rows) {
  if (!job.has(Num::start_time) || !job.has(Num::end_time)) return;
  Row row;
  row.cluster = job.get(Text::cluster);
  row.id = job.has(Text::job_id) ? std::string(job.get(Text::job_id))
                                 : fmt::format("{}", job.get(Num::job_id_raw));
  row.info.job_id = static_cast<JobId>(rows.size() + 1);
  row.info.uid = users(job.has(Text::user_name) ? job.get(Text::user_name) : job.get(Text::account));
  row.info.partition = job.get(Text::partition);
  row.info.state = job.get(Text::state);
  row.info.start = from_unix_seconds(job.get(Num::start_time));
  row.info.end = from_unix_seconds(job.get(Num::end_time));
  row.info.nodes = job.get(Text::node_list);
  row.cpus = std::max<std::int64_t>(1, job.has(Num::cpus) ? job.get(Num::cpus) : job.get(Num::req_cpus));
  row.nodes = std::max<std::int64_t>(1, job.has(Num::nodes) ? job.get(Num::nodes) : job.get(Num::req_nodes));
  // (A shape has letters for its digits: program_kind() would make all of them one.)
  std::string shape =
      fmt::format("cpus={} mem={} limit={}", row.cpus, job.get(Num::req_mem), job.get(Num::time_limit));
  for (char& c : shape)
    if (c >= '0' && c <= '9') c = static_cast<char>('A' + (c - '0'));
  row.info.name = job.has(Text::job_name) ? std::string(job.get(Text::job_name)) : shape;
  rows.push_back(std::move(row));
}

std::vector<Row> read_log(const std::string& path, const workload::ReadOptions& options, Numbers& users) {
  auto input = Input::open(path);
  bench::require(input.has_value(), "the log cannot be opened");
  const std::string text = read_all(*input);
  const std::size_t head = std::min<std::size_t>(text.size(), 1 << 20);
  auto opened = workload::open_reader(std::string_view(text).substr(0, head), head == text.size(), options);
  if (!opened) fmt::print(stderr, "{}: {}\n", path, opened.error().line());
  bench::require(opened.has_value(), "no reader for the log");
  const std::string_view records = std::string_view(text).substr(opened->header_bytes);
  std::vector<workload::RecordSpan> spans;
  opened->reader->split(records, true, spans);
  std::ranges::stable_sort(spans, {}, &workload::RecordSpan::job);
  std::vector<Row> rows;
  workload::Arena arena;
  workload::Rows parsed, jobs;
  std::string reason;
  std::size_t rejected = 0;
  for (std::size_t i = 0; i < spans.size();) {
    const std::uint64_t job = spans[i].job;
    parsed.clear(), jobs.clear(), arena.clear();
    for (; i < spans.size() && spans[i].job == job; ++i)
      rejected +=
          opened->reader->parse(records.substr(spans[i].offset, spans[i].length), arena, parsed, reason) ? 0
                                                                                                         : 1;
    workload::merge(parsed, arena, jobs);
    for (std::size_t k = 0; k < jobs.size(); ++k) add_job(jobs[k], users, rows);
  }
  fmt::print(stderr, "{}: {} jobs that ran, {} records not read\n", path, rows.size(), rejected);
  return rows;
}

// Gives nodes to jobs of a log that names none.  `rows` in order of their starts.
void place(std::vector<Row>& rows) {
  constexpr std::int64_t kCores = 32;
  struct Pool {
    std::vector<std::int64_t> free;
    std::priority_queue<std::pair<TimePoint, std::pair<std::size_t, std::int64_t>>,
                        std::vector<std::pair<TimePoint, std::pair<std::size_t, std::int64_t>>>,
                        std::greater<>>
        ends;
  };
  std::map<std::string, Pool> pools;
  for (Row& row : rows) {
    const std::string name = fmt::format("{}-{}", row.cluster, row.info.partition);
    Pool& pool = pools[name];
    for (; !pool.ends.empty() && pool.ends.top().first <= row.info.start; pool.ends.pop())
      pool.free[pool.ends.top().second.first] += pool.ends.top().second.second;
    const std::int64_t cores = std::min(kCores, (row.cpus + row.nodes - 1) / row.nodes);
    std::int64_t left = row.nodes;
    std::string list;
    for (std::size_t node = 0; left > 0; ++node) {
      if (node == pool.free.size()) pool.free.push_back(kCores);
      if (pool.free[node] < cores) continue;
      pool.free[node] -= cores;
      pool.ends.push({row.info.end, {node, cores}});
      list += fmt::format("{}{}.{}", list.empty() ? "" : ",", name, node + 1);
      --left;
    }
    row.info.nodes = std::move(list);
  }
}

// One moment at which something is told of a job.
struct Moment {
  TimePoint at;
  std::size_t job;
  bool ends;
};

struct Hole {
  std::string node, partition, cluster;
  TimePoint at;
};

struct Replay {
  std::size_t told = 0, failed_early = 0, suspicions = 0;
  std::vector<std::string> alarms;  // nodes that are not the hole
  // How many jobs the hole had eaten ...
  std::optional<int> eaten;         // when it was found
  std::optional<int> eaten_before;  // when it was first suspected or found
  std::optional<int> second_user;  // with the first one of a second user: until then it can only be suspected
};

// All that happens in rows[first, last), in the order of time, told to an engine that knows nothing yet.
Replay replay(const std::vector<Row>& rows, std::size_t first, std::size_t last, const Hole* hole,
              std::mt19937_64& random, bool aloud) {
  std::vector<JobInfo> jobs;
  std::vector<Moment> moments;
  std::vector<std::size_t> eaten;  // jobs, by the order of their starts
  for (std::size_t i = first; i < last; ++i) {
    jobs.push_back(rows[i].info);
    JobInfo& job = jobs.back();
    if (hole != nullptr && job.start >= hole->at && rows[i].nodes == 1 && job.partition == hole->partition &&
        rows[i].cluster == hole->cluster && (job.nodes == hole->node || random() % 2 == 0)) {
      job.nodes = hole->node;
      job.state = "FAILED";
      job.end = job.start + seconds(1 + random() % 10);
      eaten.push_back(jobs.size() - 1);
    }
    for (const int life : {5, 15, 45, 180})
      if (job.start + seconds(life) < job.end)
        moments.push_back({job.start + seconds(life), jobs.size() - 1, false});
    moments.push_back({job.end, jobs.size() - 1, true});
  }
  std::ranges::stable_sort(moments, {}, &Moment::at);

  Replay result;
  for (std::size_t i = 0; i < eaten.size() && !result.second_user; ++i)
    if (jobs[eaten[i]].uid != jobs[eaten.front()].uid) result.second_user = static_cast<int>(i + 1);

  blackhole::State state;
  const cluster::View view;
  const auto eaten_until = [&](TimePoint at) {
    return static_cast<int>(
        std::ranges::count_if(eaten, [&](std::size_t job) { return jobs[job].start <= at; }));
  };
  const auto take = [&](Event event, TimePoint at, auto& self) -> void {
    event.at = at;
    for (const std::string& node : apply(state, view, event))
      for (Event& record : decide(state, node).records) {
        const bool is_the_hole = hole != nullptr && node == hole->node && at >= hole->at;
        if (record.kind == kBlackHole) {
          if (is_the_hole) {
            result.eaten = eaten_until(at);
            result.eaten_before = result.eaten_before.value_or(*result.eaten);
          } else {
            result.alarms.push_back(node);
            if (aloud)
              fmt::print(stderr, "ALARM {} {}\n", format_time(at), record.body["sentence"].as_string());
            for (const Json& id : record.body["jobs"].items()) {
              const auto row = std::ranges::find(rows, static_cast<JobId>(id.as_int()),
                                                 [](const Row& r) { return r.info.job_id; });
              if (aloud && row != rows.end())
                fmt::print(stderr, "  {} user={} program='{}' {} start={} lived={}s {}\n", row->id,
                           row->info.uid, row->info.name, row->info.nodes, format_time(row->info.start),
                           (row->info.end - row->info.start) / seconds(1), row->info.state);
            }
          }
        }
        if (record.kind == kBlackHoleSuspected && is_the_hole)
          result.eaten_before = result.eaten_before.value_or(eaten_until(at));
        else if (record.kind == kBlackHoleSuspected) {
          ++result.suspicions;
          if (aloud)
            fmt::print(stderr, "SUSPICION {} {}\n", format_time(at), record.body["sentence"].as_string());
        }
        self(std::move(record), at, self);
      }
  };
  for (const Moment& moment : moments) {
    JobInfo told = jobs[moment.job];
    if (!moment.ends) told.state = "RUNNING";
    const auto outcome = outcome_of(told, moment.at);
    if (!outcome) continue;
    if (!moment.ends && outcome->lived < wants_lives(state, moment.at).value_or(kEarly)) continue;
    ++result.told;
    result.failed_early += outcome->failed_early() ? 1 : 0;
    take(new_event("jobs", kJobsEnded, Json::object({{"outcomes", Json::array({outcome->to_json()})}})),
         moment.at, take);
    if (result.eaten) break;
  }
  return result;
}

double node_months(const std::vector<Row>& rows, std::size_t& nodes) {
  struct Span {
    TimePoint from = kNever, to = kNoTime;
  };
  std::map<std::string, Span> clusters;
  std::map<std::string, std::set<std::string>> names;
  for (const Row& row : rows) {
    Span& span = clusters[row.cluster];
    span.from = std::min(span.from, row.info.start);
    span.to = std::max(span.to, row.info.end);
    if (const auto outcome = outcome_of(row.info, row.info.end))
      names[row.cluster].insert(outcome->nodes.begin(), outcome->nodes.end());
  }
  double months = 0;
  for (const auto& [cluster, span] : clusters) {
    nodes += names[cluster].size();
    months += static_cast<double>(names[cluster].size()) *
              std::chrono::duration<double>(span.to - span.from).count() / (720 * 3600);
  }
  return months;
}

void put_holes_in(const std::vector<Row>& rows, int holes, std::mt19937_64& random) {
  std::vector<int> eaten, eaten_before, second_user;
  int tried = 0;
  std::size_t others = 0;
  for (int tries = 0; tried < holes && tries < holes * 50; ++tries) {
    const std::size_t at = random() % rows.size();
    const Row& row = rows[at];
    // On a node of its own and with three days before it, so that the engine knows what it would know.
    if (row.nodes != 1 || row.info.nodes.empty() ||
        row.info.start < rows.front().info.start + blackhole::kFresh)
      continue;
    const Hole hole{row.info.nodes, row.info.partition, row.cluster, row.info.start};
    const auto until = [&](TimePoint t) {
      return static_cast<std::size_t>(
          std::ranges::lower_bound(rows, t, {}, [](const Row& r) { return r.info.start; }) - rows.begin());
    };
    const std::size_t first = until(hole.at - blackhole::kFresh), last = until(hole.at + hours(24));
    const Replay result = replay(rows, first, last, &hole, random, false);
    ++tried;
    others += result.alarms.size();
    if (result.second_user) second_user.push_back(*result.second_user);
    if (result.eaten_before) eaten_before.push_back(*result.eaten_before);
    if (result.eaten) eaten.push_back(*result.eaten);
  }
  bench::figure("holes", tried, "put in");
  bench::figure("holes_other_alarms", static_cast<double>(others), "nodes");
  const auto say = [tried](const std::string& what, std::vector<int> counts) {
    bench::figure(("holes_" + what).c_str(), static_cast<double>(counts.size()), "within 24 h");
    if (counts.empty()) return;
    std::ranges::sort(counts);
    bench::figure(("hole_" + what + "_after_median").c_str(), counts[counts.size() / 2], "jobs");
    bench::figure(("hole_" + what + "_after_p95").c_str(), counts[counts.size() * 95 / 100], "jobs");
    const auto before_ten = std::ranges::count_if(counts, [](int n) { return n < 10; });
    bench::figure(("hole_" + what + "_before_ten").c_str(), 100.0 * static_cast<double>(before_ten) / tried,
                  "%");
  };
  say("of_two_users", second_user);
  say("told", eaten);
  say("told_or_suspected", eaten_before);
}

}  // namespace

int main(int argc, char** argv) {
  workload::ReadOptions options;
  std::vector<std::string> logs;
  int holes = 0;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      bench::require(i + 1 < argc, "an option lacks its value");
      return std::string(argv[++i]);
    };
    if (word == "--columns") {
      const std::string list = value();
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        options.columns.push_back(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (word == "--delimiter") {
      options.delimiter = value();
    } else if (word == "--holes") {
      holes = std::atoi(value().c_str());
    } else if (word == "--seed") {
      seed = std::strtoull(value().c_str(), nullptr, 10);
    } else {
      logs.push_back(word);
    }
  }
  bench::require(!logs.empty(),
                 "usage: blackhole_replay [--columns LIST] [--delimiter D] [--holes N] [--seed S] LOG...");

  Numbers users;
  std::vector<Row> rows;
  for (const std::string& log : logs)
    for (Row& row : read_log(log, options, users)) {
      row.info.job_id = static_cast<JobId>(rows.size() + 1);
      rows.push_back(std::move(row));
    }
  bench::require(!rows.empty(), "no job of the log ran");
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.info.start; });
  const bool named = std::ranges::any_of(rows, [](const Row& row) { return !row.info.nodes.empty(); });
  if (!named) {
    fmt::print(stderr, "the log names no nodes: its jobs were placed, and every alarm is false\n");
    place(rows);
  }
  std::size_t nodes = 0;
  const double months = node_months(rows, nodes);
  std::mt19937_64 random(seed);
  const Replay result = replay(rows, 0, rows.size(), nullptr, random, true);
  bench::figure("jobs", static_cast<double>(rows.size()), "jobs");
  bench::figure("users", static_cast<double>(users.of.size()), "users");
  bench::figure("nodes_placed", named ? 0 : 1, "(1: the log names none)");
  bench::figure("failed_early", static_cast<double>(result.failed_early), "jobs");
  bench::figure("nodes", static_cast<double>(nodes), "nodes");
  bench::figure("node_months", months, "node-months");
  bench::figure("alarms", static_cast<double>(result.alarms.size()), "nodes");
  bench::figure("alarms_per_node_month", static_cast<double>(result.alarms.size()) / months, "1/node-month");
  bench::figure("suspicions", static_cast<double>(result.suspicions), "nodes to be verified");
  bench::figure("suspicions_per_node_month", static_cast<double>(result.suspicions) / months, "1/node-month");
  if (holes > 0) put_holes_in(rows, holes, random);
}
