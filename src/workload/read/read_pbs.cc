// SPDX-License-Identifier: Apache-2.0
// The accounting logs of PBS Pro (OpenPBS) and TORQUE: "DATE TIME;KIND;JOB.SERVER;KEY=VALUE KEY=VALUE ...".
//
// Each record of a job is one row of what it knows; the merge makes them one, by the job's id and its ctime.
// A record that does not say ctime (D and A as a rule, Q of TORQUE) cannot be put to its job so, and is left
// out; and so is every Q, since a job that is deleted while it waits would wait for ever by it. What differs
// between the two is how they write resources_used.cput (seconds or HH:MM:SS; both are read in both) and
// exec_host, and what a negative Exit_status means (pbs_words.cc).
#include <fmt/format.h>

#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/lines.h"
#include "workload/read/pbs_words.h"

namespace sickbay::workload {
namespace {

struct Head {
  std::string_view time, kind, id, rest;
};

// "04/01/2021 00:05:12;E;123.server;...".
bool cut_head(std::string_view line, Head& head) {
  std::string_view* const parts[] = {&head.time, &head.kind, &head.id};
  for (std::string_view* part : parts) {
    const std::size_t end = line.find(';');
    if (end == std::string_view::npos) return false;
    *part = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  head.rest = line;
  const auto& t = head.time;
  return t.size() == 19 && t[2] == '/' && t[5] == '/' && t[10] == ' ' && t[13] == ':' && t[16] == ':' &&
         is_digit(t[0]) && is_digit(t[9]) && is_digit(t[18]) && head.kind.size() == 1;
}

// Records that tell of a job that began: started, restarted, ended, rerun; deleted and aborted, where they
// say which submission.  The others (licences, reservations, checkpoints, moves, provisioning) are no records
// to us.
bool is_of_job(const Head& head) {
  // Reservations have ids that begin with a letter; "123[]" is an array, whose tasks have records of their
  // own.
  if (head.id.empty() || !is_digit(head.id.front()) || head.id.find("[]") != std::string_view::npos)
    return false;
  if (std::string_view("STER").find(head.kind.front()) != std::string_view::npos) return true;
  return std::string_view("DA").find(head.kind.front()) != std::string_view::npos &&
         head.rest.find("ctime=") != std::string_view::npos;
}

std::string_view number_of(std::string_view id) { return id.substr(0, id.find('.')); }
std::string_view server_of(std::string_view id) {
  const std::size_t dot = id.find('.');
  return dot == std::string_view::npos ? std::string_view() : id.substr(dot + 1);
}

class PbsReader : public LineReader {
 public:
  PbsReader(PbsDialect dialect, TimeZone zone, std::string cluster)
      : dialect_(dialect), zone_(std::move(zone)), cluster_(std::move(cluster)) {}

  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  bool tells_runs() const override { return true; }

  std::string describe() const override {
    return "a job's times, user, group, account, queue, cores, GPUs, nodes, CPU time, memory of all its "
           "processes, "
           "limit, exit status; no steps, memory of single processes, disk traffic, energy or folders";
  }

 protected:
  bool is_record(std::string_view line, std::uint64_t& job) const override {
    Head head;
    if (!cut_head(line, head)) return true;  // for parse() to reject
    if (!is_of_job(head)) return false;
    job = hash_job(cluster_of(head.id), number_of(head.id));
    return true;
  }

 private:
  std::string_view cluster_of(std::string_view id) const {
    return cluster_.empty() ? server_of(id) : std::string_view(cluster_);
  }
  bool set_id(const Head& head, Arena& arena, Row& row) const;
  bool set_value(std::string_view key, std::string_view value, Arena& arena, Row& row, PbsFacts& facts) const;
  bool record_time(std::string_view time, std::int64_t& at) const;
  void set_life(char kind, std::int64_t at, const PbsFacts& facts, Arena& arena, Row& row) const;

  PbsDialect dialect_;
  TimeZone zone_;
  std::string cluster_;
};

// "123", "123[4]".
bool PbsReader::set_id(const Head& head, Arena& arena, Row& row) const {
  const auto id = number_of(head.id);
  const std::size_t bracket = id.find('[');
  std::int64_t number = 0, task = 0;
  if (!parse_integer(id.substr(0, bracket), number) || number < 0) return false;
  if (bracket == std::string_view::npos) {
    row.set(Num::job_id_raw, number);
  } else {
    const auto index = id.substr(bracket + 1);
    if (index.size() < 2 || index.back() != ']' || !parse_integer(index.substr(0, index.size() - 1), task))
      return false;
    row.set(Num::array_job_id, number);
    row.set(Num::array_task_id, task);
  }
  row.set(Text::job_id, id);
  set_text(row, Text::cluster, cluster_of(head.id), arena);
  return true;
}

// The record's own time: month first, and local.
bool PbsReader::record_time(std::string_view t, std::int64_t& at) const {
  char iso[] = "0000-00-00T00:00:00";
  t.copy(iso, 4, 6);
  t.copy(iso + 5, 2, 0);
  t.copy(iso + 8, 2, 3);
  t.copy(iso + 11, 8, 11);
  return parse_timestamp({iso, 19}, zone_, at);
}

// False when the value is none of its kind: then the record is rejected, for the times, and left out, for
// the rest, since sites add resources of their own under any name.
bool PbsReader::set_value(std::string_view key, std::string_view value, Arena& arena, Row& row,
                          PbsFacts& facts) const {
  std::int64_t n = 0;
  const auto number = [&](Num field) {
    if (parse_integer(value, n, true) && n >= 0) row.set(field, n);
    return true;
  };
  const auto seconds = [&](Num field) {
    if (parse_elapsed_ms(value, n)) row.set(field, n / 1000);
    return true;
  };
  const auto time = [&](Num field) {
    if (!parse_integer(value, n) || n < 0 || n > 99'999'999'999) return false;
    if (n > 0) row.set(field, n);
    return true;
  };
  const auto word = [&](Text field) {
    set_text(row, field, value, arena);
    return true;
  };
  constexpr std::string_view kAsked = "Resource_List.", kUsed = "resources_used.";
  if (key.starts_with(kAsked)) {
    key.remove_prefix(kAsked.size());
    if (key == "ncpus") return number(Num::req_cpus);
    if (key == "nodect") return number(Num::req_nodes);
    if (key == "ngpus") return number(Num::req_gpus);
    if (key == "walltime") return seconds(Num::time_limit);
    if (key == "nodes" || key == "select") return facts.asked = value, true;
    if (key == "mem" && parse_bytes(value, 1, n)) row.set(Num::req_mem, n);
    if (key == "pmem" && parse_bytes(value, 1, n)) row.set(Num::req_mem_per_cpu, n);
    return true;
  }
  if (key.starts_with(kUsed)) {
    key.remove_prefix(kUsed.size());
    if (key == "cput" && parse_elapsed_ms(value, n)) row.set(Num::total_cpu, n);
    if (key == "mem" && parse_bytes(value, 1, n)) row.set(Num::usage_mem, n);
    if (key == "walltime" && parse_elapsed_ms(value, n)) facts.walltime = n / 1000;
    if (key == "ncpus" && parse_integer(value, n) && n > 0) facts.used_cpus = n;
    if (key == "energy_used" && parse_integer(value, n) && n > 0) row.set(Num::energy, n);
    return true;
  }
  if (key == "user") return word(Text::user_name);
  if (key == "group") return word(Text::group_name);
  if (key == "account") return word(Text::account);
  // PBS Pro puts every job in a project, and nearly always in this one.
  if (key == "project")
    return value == "_pbs_project_default" || row.has(Text::account) || word(Text::account);
  if (key == "jobname") return word(Text::job_name);
  if (key == "queue") return word(Text::partition);
  if (key == "resvname") return word(Text::reservation);
  if (key == "submit_args") return word(Text::submit_line);
  if (key == "ctime") return time(Num::submit_time);
  if (key == "etime") return time(Num::eligible_time);
  if (key == "start") return time(Num::start_time);
  if (key == "end") return time(Num::end_time);
  if (key == "exec_host") return facts.exec_host = value, true;
  if (key == "exec_vnode") return facts.exec_vnode = value, true;
  if (key == "total_execution_slots" && parse_integer(value, n) && n > 0) facts.slots = n;
  if (key == "run_count" && parse_integer(value, n) && n > 0) row.set(Num::restarts, n - 1);
  if (key == "Exit_status" || key == "exit_status") {
    facts.has_exit = parse_integer(value, n);
    facts.exit_status = n;
  }
  return true;
}

void PbsReader::set_life(char kind, std::int64_t at, const PbsFacts& facts, Arena& arena, Row& row) const {
  switch (kind) {
    case 'S':
    case 'T':
      row.kind = RowKind::part;
      row.set(Text::state, "RUNNING");
      break;
    case 'R':  // a run that counts no more; another one follows (workload/merge/reruns.h)
      row.kind = RowKind::rerun;
      row.set(Text::state, "REQUEUED");
      if (!row.has(Num::end_time)) row.set(Num::end_time, at);
      break;
    case 'D':
    case 'A':
      row.kind = RowKind::part;
      // Where it ran, an E record follows, of the same or a later second, which tells more and so wins.
      row.set(Text::state, "CANCELLED");
      if (!row.has(Num::end_time)) row.set(Num::end_time, at);
      break;
    default:
      if (!row.has(Num::end_time)) row.set(Num::end_time, at);
      if (row.has(Num::start_time) && row.get(Num::end_time) >= row.get(Num::start_time))
        row.set(Num::elapsed, row.get(Num::end_time) - row.get(Num::start_time));
      else if (facts.walltime >= 0)
        row.set(Num::elapsed, facts.walltime);
      set_pbs_end(dialect_, facts, row);
  }
  set_pbs_places(facts, arena, row);
  // Of each record by its own cores: the merge would multiply those of one with the memory of another.
  const std::int64_t cpus = row.get(Num::cpus) > 0 ? row.get(Num::cpus) : row.get(Num::req_cpus);
  std::int64_t asked = 0;
  if (!row.has(Num::req_mem) && row.get(Num::req_mem_per_cpu) > 0 && cpus > 0 &&
      !__builtin_mul_overflow(row.get(Num::req_mem_per_cpu), cpus, &asked))
    row.set(Num::req_mem, asked);
}

bool PbsReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  Head head;
  if (!cut_head(record, head)) {
    reason =
        fmt::format("{} does not begin with a date, a kind and a job's id", quote_for_message(record, 40));
    return false;
  }
  std::int64_t at = 0;
  if (!record_time(head.time, at)) {
    reason = fmt::format("{} is no time", quote_for_message(head.time));
    return false;
  }
  if (!is_of_job(head)) return true;
  Row& row = rows.add();
  if (!set_id(head, arena, row)) {
    reason = fmt::format("{} is no job id", quote_for_message(head.id));
    rows.drop_last();
    return false;
  }
  PbsFacts facts;
  std::string_view rest = head.rest, key, value;
  while (take_pbs_value(rest, key, value)) {
    if (set_value(key, value, arena, row, facts)) continue;
    reason = fmt::format("{} is no value of {}", quote_for_message(value), quote_for_message(key));
    rows.drop_last();
    return false;
  }
  set_life(head.kind.front(), at, facts, arena, row);
  return true;
}

Result<OpenedReader> open_dialect(PbsDialect dialect, std::string_view name, const ReadOptions& options) {
  auto zone = TimeZone::make(options.time_zone);
  if (!zone) return fail(std::move(zone.error()));
  OpenedReader opened;
  opened.format = name;
  opened.notes.push_back(
      "PBS has no steps: memory is that of all processes of a job, and disk traffic is unknown.");
  opened.reader = std::make_unique<PbsReader>(dialect, std::move(*zone), options.cluster);
  return opened;
}

// What only PBS Pro writes.
bool says_pro(std::string_view head) {
  for (const std::string_view sign : {"exec_vnode=", "Resource_List.select=", "project=", "run_count="})
    if (head.find(sign) != std::string_view::npos) return true;
  return false;
}
bool is_pbs_at_all(std::string_view head) {
  Head cut;
  return cut_head(first_line(head), cut);
}

}  // namespace

bool looks_like_pbs(std::string_view head, const ReadOptions&) {
  return is_pbs_at_all(head) && says_pro(head);
}
bool looks_like_torque(std::string_view head, const ReadOptions&) {
  return is_pbs_at_all(head) && !says_pro(head);
}
Result<OpenedReader> open_pbs(std::string_view, bool, const ReadOptions& options) {
  return open_dialect(PbsDialect::pro, "pbs", options);
}
Result<OpenedReader> open_torque(std::string_view, bool, const ReadOptions& options) {
  return open_dialect(PbsDialect::torque, "torque", options);
}

}  // namespace sickbay::workload
