// SPDX-License-Identifier: Apache-2.0
// `sacct --json` of Slurm 21.08 to 25.05: a record is one element of "jobs", and gives the job's row and
// those of its steps.
//
// The shape changed with each data parser: numbers became {"set","infinite","number"} (v0.0.39), states
// arrays of words (v0.0.40), ids of steps texts.  Each value is read in every shape it had, whatever "meta"
// says. What Slurm calls tres.requested of a step is its TRESUsageIn, and tres.consumed its TRESUsageOut.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "workload/read/formats.h"
#include "workload/read/json_records.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// A number in any of its shapes; false where it is absent, "infinite", or none.
bool number_of(const Json& json, std::int64_t& value) {
  if (json.is_int()) {
    value = json.as_int();
    return true;
  }
  if (json.is_number()) {
    const double d = json.as_double();
    if (!(std::fabs(d) < 9e18)) return false;
    value = static_cast<std::int64_t>(d);
    return true;
  }
  if (json.is_string()) return parse_integer(json.as_string(), value);
  if (!json.is_object() || !json["set"].as_bool() || json["infinite"].as_bool()) return false;
  return !json["number"].is_object() && number_of(json["number"], value);
}
// The same where Slurm writes 0 for what is not there.
bool positive(const Json& json, std::int64_t& value) { return number_of(json, value) && value > 0; }

// Slurm's NO_VAL, INFINITE and their 64-bit forms, which slip through in places.
bool is_no_value(std::int64_t n) { return n == 0xfffffffe || n == 0xffffffff || n < 0; }

std::string_view text_of(const Json& json) {
  return json.is_string() ? json.as_string() : std::string_view();
}

// "COMPLETED" or ["CANCELLED", "COMPLETING"]: "CANCELLED,COMPLETING".
std::string words_of(const Json& json) {
  if (json.is_string()) return json.as_string();
  std::string all;
  for (const Json& item : json.items()) {
    if (!item.is_string()) continue;
    if (!all.empty()) all += ',';
    all += item.as_string();
  }
  return all;
}

class Filler {
 public:
  Filler(Row& row, Arena& arena) : row_(row), arena_(arena) {}

  void text(Text field, std::string_view text) {
    text = trimmed(text);
    if (!is_absent(text)) set_text(row_, field, arena_.copy(text), arena_);
  }
  void count(Num field, const Json& json) {
    std::int64_t n = 0;
    if (number_of(json, n) && !is_no_value(n)) row_.set(field, n);
  }
  void time(Num field, const Json& json) {
    std::int64_t n = 0;
    if (positive(json, n) && plausible_time(n) && !is_no_value(n)) row_.set(field, n);
  }
  // {"seconds": 3, "microseconds": 120000}
  void cpu(Num field, const Json& json, bool zero_counts) {
    std::int64_t seconds = 0, micros = 0, ms = 0;
    if (!number_of(json["seconds"], seconds) || seconds < 0) return;
    if (!number_of(json["microseconds"], micros) || micros < 0) micros = 0;
    if (multiply(seconds, 1000, ms) && add(ms, micros / 1000, ms) && (ms > 0 || zero_counts))
      row_.set(field, ms);
  }
  void state(const Json& json) {
    const std::string words = words_of(json);
    if (!words.empty()) parse_state(arena_.copy(words), row_);
  }
  void exit(const Json& json) {
    std::int64_t n = 0;
    if (number_of(json["return_code"], n) && !is_no_value(n)) row_.set(Num::exit_code, n);
    const Json& signal = json["signal"];
    if (number_of(signal.has("id") ? signal["id"] : signal["signal_id"], n) && !is_no_value(n))
      row_.set(Num::exit_signal, n);
    else if (row_.has(Num::exit_code))
      row_.set(Num::exit_signal, 0);
  }
  Row& row() { return row_; }
  Arena& arena() { return arena_; }

 private:
  Row& row_;
  Arena& arena_;
};

// [{"type":"gres","name":"gpu:a100","count":2}, ...]: calls back with type, name and count.
template <class F>
void for_each_item(const Json& list, F&& each) {
  for (const Json& item : list.items()) {
    std::int64_t count = 0;
    if (number_of(item["count"], count) && count >= 0)
      each(text_of(item["type"]), text_of(item["name"]), count);
  }
}

// What is allocated to a job or a step, or asked for; cpus of a list go before other counts.
void read_allocated(const Json& list, Num cpus, Num nodes, Num gpus, bool memory, Filler& fill) {
  Row& row = fill.row();
  std::int64_t any = 0, typed = 0, bytes = 0;
  for_each_item(list, [&](std::string_view type, std::string_view name, std::int64_t count) {
    if (type == "cpu") row.set(cpus, count);
    if (type == "node") row.set(nodes, count);
    if (type == "energy" && cpus == Num::cpus && count > 0) row.set(Num::energy, count);
    if (type == "mem" && memory && count > 0 && multiply(count, 1 << 20, bytes)) row.set(Num::req_mem, bytes);
    if (type != "gres") return;
    if (name == "gpu") any = count;
    if (name.starts_with("gpu:")) {
      add(typed, count, typed);
      if (cpus == Num::cpus && !row.has(Text::gpu_type)) fill.text(Text::gpu_type, name.substr(4));
    }
  });
  // gres/gpu counts all kinds; it is missing where only a kind is tracked.
  if (any > 0 || typed > 0) row.set(gpus, any > 0 ? any : typed);
}

// Name of a TRES in a step's lists, to the fields of its maximum, average and total.
void read_usage(const Json& tres, Row& row) {
  const Json& in = tres["requested"];
  const Json& out = tres["consumed"];
  const auto set = [&](Num field, std::int64_t value) { row.set(field, value); };
  for_each_item(in["max"], [&](std::string_view type, std::string_view name, std::int64_t n) {
    if (type == "mem") set(Num::max_rss, n);
    if (type == "vmem") set(Num::max_vmsize, n);
    if (type == "gres" && name == "gpumem") set(Num::gpu_mem, n);
  });
  for_each_item(in["average"], [&](std::string_view type, std::string_view name, std::int64_t n) {
    if (type == "mem") set(Num::ave_rss, n);
    if (type == "fs" && name == "disk") set(Num::ave_disk_read, n);
    if (type == "gres" && name == "gpuutil" && n <= 1'000'000) set(Num::gpu_util_milli, n * 10);  // percent
  });
  for_each_item(in["total"], [&](std::string_view type, std::string_view name, std::int64_t n) {
    if (type == "cpu") set(Num::usage_cpu, n);  // milliseconds
    if (type == "mem") set(Num::usage_mem, n);
    if (type == "fs" && name == "disk") set(Num::usage_disk_in, n);
  });
  for_each_item(out["average"], [&](std::string_view type, std::string_view name, std::int64_t n) {
    if (type == "fs" && name == "disk") set(Num::ave_disk_write, n);
  });
  for_each_item(out["total"], [&](std::string_view type, std::string_view name, std::int64_t n) {
    if (type == "fs" && name == "disk") set(Num::usage_disk_out, n);
  });
}

// The job as sacct prints it: "123", "123_4", "123_[5-9]", "123+1".
std::string printed_id(const Json& job, std::int64_t raw) {
  std::int64_t array = 0, task = 0, het = 0, offset = 0;
  const Json& a = job["array"];
  if (positive(a["job_id"], array)) {
    if (const auto tasks = text_of(a["task"]); !tasks.empty()) return fmt::format("{}_[{}]", array, tasks);
    if (number_of(a["task_id"], task) && !is_no_value(task)) return fmt::format("{}_{}", array, task);
  }
  if (positive(job["het"]["job_id"], het) && number_of(job["het"]["job_offset"], offset) &&
      !is_no_value(offset))
    return fmt::format("{}+{}", het, offset);
  return std::to_string(raw);
}

void read_times(const Json& time, bool job, Filler& fill) {
  if (job) {
    fill.time(Num::submit_time, time["submission"]);
    fill.time(Num::eligible_time, time["eligible"]);
    std::int64_t minutes = 0, seconds = 0;
    if (positive(time["limit"], minutes) && !is_no_value(minutes) && multiply(minutes, 60, seconds))
      fill.row().set(Num::time_limit, seconds);
  }
  fill.time(Num::start_time, time["start"]);
  fill.time(Num::end_time, time["end"]);
  fill.count(Num::elapsed, time["elapsed"]);
  fill.count(Num::suspended, time["suspended"]);
  // Of a job whose steps were not asked for (-X), Slurm writes 0: not known, rather than none.
  fill.cpu(Num::total_cpu, time["total"], !job);
  fill.cpu(Num::user_cpu, time["user"], !job);
  fill.cpu(Num::system_cpu, time["system"], !job);
}

void read_job(const Json& job, Filler& fill) {
  Row& row = fill.row();
  const Json& association = job["association"];
  fill.text(Text::job_name, text_of(job["name"]));
  fill.text(Text::cluster, text_of(job["cluster"]));
  const auto user = text_of(job["user"]);
  fill.text(Text::user_name, user.empty() ? text_of(association["user"]) : user);
  fill.text(Text::group_name, text_of(job["group"]));
  const auto account = text_of(job["account"]);
  fill.text(Text::account, account.empty() ? text_of(association["account"]) : account);
  fill.text(Text::partition, text_of(job["partition"]));
  fill.text(Text::qos, text_of(job["qos"]));
  fill.text(Text::reservation, text_of(job["reservation"]["name"]));
  fill.text(Text::reason, text_of(job["state"]["reason"]));
  fill.text(Text::node_list, text_of(job["nodes"]));
  fill.text(Text::work_dir, text_of(job["working_directory"]));
  fill.text(Text::submit_line, text_of(job["submit_line"]));
  fill.text(Text::comment, text_of(job["comment"]["job"]));
  fill.text(Text::constraints, text_of(job["constraints"]));
  fill.text(Text::failed_node, text_of(job["failed_node"]));
  fill.text(Text::flags, words_of(job["flags"]));
  fill.state(job["state"]["current"]);
  fill.exit(job["exit_code"]);
  std::int64_t n = 0, bytes = 0;
  if (number_of(job["derived_exit_code"]["return_code"], n) && !is_no_value(n))
    row.set(Num::derived_exit_code, n);
  read_times(job["time"], true, fill);
  fill.count(Num::priority, job["priority"]);
  fill.count(Num::restarts, job["restart_cnt"]);
  if (const Json& requester = job["kill_request_user"]; number_of(requester, n) && n >= 0)
    row.set(Num::cancelled_by, n);
  fill.count(Num::req_cpus, job["required"]["CPUs"]);
  const Json& tres = job["tres"];
  read_allocated(tres["requested"], Num::req_cpus, Num::req_nodes, Num::req_gpus, true, fill);
  read_allocated(tres["allocated"], Num::cpus, Num::nodes, Num::gpus, false, fill);
  if (!row.has(Num::nodes) && positive(job["allocation_nodes"], n) && !is_no_value(n)) row.set(Num::nodes, n);
  if (row.has(Num::req_mem)) return;
  // Without accounting of "mem": MiB of a node or of a core.
  const Json& required = job["required"];
  if (positive(required["memory_per_cpu"], n) && multiply(n, 1 << 20, bytes))
    row.set(Num::req_mem_per_cpu, bytes);
  else if (positive(required["memory_per_node"], n) && multiply(n, 1 << 20, bytes))
    row.set(Num::req_mem_per_node, bytes);
  else if (positive(required["memory"], n) && multiply(n, 1 << 20, bytes))
    row.set(Num::req_mem_per_node, bytes);
  else if (required["memory"].has("over") && positive(required["memory"]["over"], n) &&
           multiply(n, 1 << 20, bytes)) {
    row.set(Num::req_mem_per_cpu, bytes);
    row.add_bits(Num::repairs, bit(Repair::req_mem_flag));
  }
}

// "123.batch", "123.0", {"job_id":123,"step_id":"batch"} or {"job_id":123,"step_id":0}.
std::string step_of(const Json& id) {
  if (id.is_string()) {
    const auto& text = id.as_string();
    const std::size_t dot = text.find('.');
    return dot == std::string::npos ? text : text.substr(dot + 1);
  }
  std::int64_t n = 0;
  if (id["step_id"].is_string()) return id["step_id"].as_string();
  return number_of(id["step_id"], n) ? std::to_string(n) : std::string();
}

// False: it has no id.
bool read_step(const Json& step, std::string_view job_id, Filler& fill) {
  const std::string name = step_of(step["step"]["id"]);
  if (name.empty()) return false;
  if (!parse_job_id(fill.arena().copy(fmt::format("{}.{}", job_id, name)), fill.row())) return false;
  fill.text(Text::job_name, text_of(step["step"]["name"]));
  fill.text(Text::node_list, text_of(step["nodes"]["range"]));
  fill.state(step["state"].is_object() ? step["state"]["current"] : step["state"]);
  fill.exit(step["exit_code"]);
  read_times(step["time"], false, fill);
  fill.count(Num::tasks, step["tasks"]["count"]);
  fill.count(Num::nodes, step["nodes"]["count"]);
  read_allocated(step["tres"]["allocated"], Num::cpus, Num::nodes, Num::gpus, false, fill);
  read_usage(step["tres"], fill.row());
  std::int64_t joules = 0;
  if (positive(step["statistics"]["energy"]["consumed"], joules) && !is_no_value(joules))
    fill.row().set(Num::energy, joules);
  return true;
}

// Slurm prints 64 bits without sign: 2^63 as a mark (memory per core), 2^64 - 2 as "none".  Such integers,
// which no value of ours can hold, become {"over": N - 2^63}, or null where even that is too much.
std::string without_over_large(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size();) {
    std::size_t end = i + 1;
    if (json[i] == '"') {
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, json.size());
    } else if (is_digit(json[i])) {
      while (end < json.size() && is_digit(json[end])) ++end;
      const bool part =
          (i > 0 && std::string_view("-+.eE").find(json[i - 1]) != std::string_view::npos) ||
          (end < json.size() && std::string_view(".eE").find(json[end]) != std::string_view::npos);
      std::uint64_t n = 0;
      const auto [p, error] = std::from_chars(json.data() + i, json.data() + end, n);
      constexpr std::uint64_t kMark = std::uint64_t{1} << 63;
      if (!part && (error != std::errc() || n >= kMark)) {
        out += error == std::errc() ? fmt::format("{{\"over\":{}}}", n - kMark) : "null";
        i = end;
        continue;
      }
    }
    out += json.substr(i, end - i);
    i = end;
  }
  return out;
}

class SacctJsonReader : public Reader {
 public:
  explicit SacctJsonReader(std::string cluster) : cluster_(std::move(cluster)) {}
  std::size_t split(std::string_view text, bool last, std::vector<RecordSpan>& records) const override {
    return split_jobs(text, last, records);
  }
  // A '{' may stand in a string or deep in a job: no place is sure.
  std::size_t find_start(std::string_view) const override { return std::string_view::npos; }
  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  std::string describe() const override {
    return "all that sacct has of a job and its steps; nothing is lost";
  }

 private:
  std::string cluster_;
};

bool SacctJsonReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  Json::ParseOptions options;
  options.unique_keys = false;  // data parsers have repeated keys
  auto json = Json::parse(record, options);
  bool mended = false;
  if (!json) json = Json::parse(without_over_large(valid_utf8(record, arena, mended)), options);
  if (!json) {
    // It may quote the record, with line ends and worse.
    reason = json.error().what.substr(0, 200);
    for (char& c : reason)
      if (c < ' ' || c > '~') c = '?';
    return false;
  }
  const Json& job = *json;
  std::int64_t raw = 0;
  if (!job.is_object() || !positive(job["job_id"], raw)) {
    reason = fmt::format("the element of \"jobs\" has no job_id: {}", quote_for_message(record, 40));
    return false;
  }
  const std::size_t before = rows.size();
  Row& row = rows.add();
  Filler fill(row, arena);
  const std::string_view id = arena.copy(printed_id(job, raw));
  if (!parse_job_id(id, row)) {
    reason = fmt::format("{} is no job id", quote_for_message(id));
    rows.drop_last();
    return false;
  }
  row.set(Num::job_id_raw, raw);
  if (mended) row.add_bits(Num::repairs, bit(Repair::bad_utf8));
  read_job(job, fill);
  if (!row.has(Text::cluster) && !cluster_.empty()) row.set(Text::cluster, cluster_);
  for (const Json& step : job["steps"].items()) {
    Row& next = rows.add();
    Filler fill_step(next, arena);
    if (!read_step(step, id, fill_step)) {
      reason = fmt::format("a step of job {} has no id", raw);
      while (rows.size() > before) rows.drop_last();
      return false;
    }
    const auto& owner = rows[before];
    if (owner.has(Text::cluster)) next.set(Text::cluster, owner.get(Text::cluster));
  }
  return true;
}

}  // namespace

bool looks_like_sacct_json(std::string_view head, const ReadOptions&) {
  const auto text = trimmed(head);
  return !text.empty() && text.front() == '{' && find_jobs(text, 0) != std::string_view::npos;
}

Result<OpenedReader> open_sacct_json(std::string_view head, bool, const ReadOptions& options) {
  const std::size_t begin = find_jobs(head, 0);
  if (begin == std::string_view::npos)
    return fail(
        Error(ErrorCode::bad_input, "the JSON has no \"jobs\" in its first megabyte")
            .because("sacct --json prints {\"jobs\": [...]}")
            .remedied_by("give the output of sacct --json as it is, not that of sinfo, squeue or jq"));
  OpenedReader opened;
  opened.format = "sacct-json";
  opened.header_bytes = begin;
  opened.header_lines = static_cast<std::uint32_t>(std::count(head.begin(), head.begin() + begin, '\n'));
  opened.reader = std::make_unique<SacctJsonReader>(options.cluster);
  return opened;
}

}  // namespace sickbay::workload
