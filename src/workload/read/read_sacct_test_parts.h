// SPDX-License-Identifier: Apache-2.0
// A slow reader of sacct's rows that is obviously right, and what the tests and the fuzz target ask of the
// fast one.
//
// It splits a row into strings, and reads each with the parsers of base and model, by its own table of names;
// nothing of the fast reader is in it.  Rows with delimiters in their names it does not know.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "base/time.h"
#include "model/slurm_state.h"
#include "workload/job/values.h"
#include "workload/read/reader.h"

namespace sickbay::workload::reference {

using Fields = std::map<std::string, std::string>;  // by name of the store

inline std::vector<std::string> split_row(std::string_view row, std::string_view delimiter) {
  std::vector<std::string> parts;
  std::size_t begin = 0, end = 0;
  while ((end = row.find(delimiter, begin)) != std::string_view::npos) {
    parts.emplace_back(row.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.emplace_back(row.substr(begin));
  return parts;
}

/// What a Row holds, as text.
inline Fields fields_of(const Row& row) {
  Fields fields;
  for (const NumField& f : kNumFields)
    if (const auto value = row.find(f.field)) fields[std::string(f.name)] = std::to_string(*value);
  for (const TextField& f : kTextFields)
    if (row.has(f.field)) fields[std::string(f.name)] = row.get(f.field);
  fields["kind"] = std::to_string(static_cast<int>(row.kind));
  return fields;
}

inline std::string show(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + "=" + value + "\n";
  return text;
}

/// One row, read slowly.  Nothing: it is refused.  With a field "unsure" the row names something twice, and
/// which of the two counts is nobody's promise.
class SlowRow {
 public:
  static std::optional<Fields> read(const std::vector<std::string>& names,
                                    const std::vector<std::string>& texts) {
    SlowRow row;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (texts[i].find('\0') != std::string::npos) return {};
      std::string name = names[i];
      std::transform(name.begin(), name.end(), name.begin(), to_lower);
      row.by_name_.try_emplace(name, texts[i]);
    }
    if (!row.read_all()) return {};
    return row.out_;
  }

 private:
  static bool absent(const std::string& t) {
    for (const char* word : {"", "Unknown", "None", "N/A", "None assigned", "(null)", "INVALID"})
      if (t == word) return true;
    return false;
  }
  std::string text(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::string() : found->second;
  }
  void bad() { flaws_ |= bit(Flaw::bad_value); }
  void put(const std::string& field, std::int64_t value) { out_[field] = std::to_string(value); }

  static std::optional<std::int64_t> whole(std::string t) {
    const bool minus = t.starts_with("-");
    if (minus) t.erase(0, 1);
    if (t.empty() || t.find_first_not_of("0123456789") != std::string::npos) return {};
    __extension__ unsigned __int128 value = 0;
    for (const char c : t) {
      value = value * 10 + static_cast<unsigned>(c - '0');
      if (value > INT64_MAX) return {};
    }
    return minus ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }
  static std::optional<std::int64_t> count(const std::string& t) {
    if (const auto n = whole(t)) return *n >= 0 ? n : std::nullopt;
    const auto size = parse_size(t, BareUnit::bytes);
    return size ? std::optional(size->count) : std::nullopt;
  }
  static std::optional<std::int64_t> duration(const std::string& t) {  // milliseconds
    if (!t.empty() && t.size() <= 15 && t.find_first_not_of("0123456789") == std::string::npos)
      return std::stoll(t) * 1000;
    const auto value = parse_elapsed(t);
    return value ? std::optional(value->count() / 1000) : std::nullopt;
  }
  static std::optional<std::int64_t> bytes(const std::string& t) {
    const auto size = parse_size(t, BareUnit::bytes);
    return size ? std::optional(size->count) : std::nullopt;
  }

  template <class Parse>
  void number(const std::string& column, const std::string& field, Parse parse, std::int64_t divide = 1) {
    const std::string t = text(column);
    if (t.empty() || out_.contains(field)) return;
    if (const auto value = parse(t))
      put(field, *value / divide);
    else if (!absent(t))
      bad();
  }
  // False: no time, the row is refused.
  bool time(const std::string& column, const std::string& field) {
    const std::string t = text(column);
    if (absent(t)) return true;
    if (t.find_first_not_of("0123456789") == std::string::npos && t.size() <= 11) {
      put(field, std::stoll(t));
      return true;
    }
    const auto value = parse_time(t + "Z");
    if (!value || t.size() != 19) return false;
    put(field, to_unix_seconds(*value));
    return true;
  }
  std::string mended(const std::string& t) {
    Arena arena;
    bool changed = false;
    std::string whole_text(valid_utf8(t, arena, changed));
    if (changed) repairs_ |= bit(Repair::bad_utf8);
    return whole_text;
  }
  void words(const std::string& column, const std::string& field, bool free = false) {
    const std::string t = text(column);
    if (t.empty() || (!free && absent(t))) return;
    out_[field] = mended(t);
  }
  bool job() {
    Row row;
    row.clear();
    const bool has_id = !text("jobid").empty();
    const std::string id = mended(has_id ? text("jobid") : text("jobidraw"));
    if (!parse_job_id(id, row)) return false;
    out_ = fields_of(row);
    if (const std::string raw = text("jobidraw"); has_id && !raw.empty()) {
      if (const auto n = whole(raw.substr(0, raw.find('.'))))
        put("job_id_raw", *n);
      else if (!absent(raw))
        bad();
    }
    return true;
  }
  void state() {
    const std::string t = text("state");
    if (absent(t)) return;
    if (const auto state = parse_job_state(t)) {
      out_["state"] = base_name(*state);
      if (const auto uid = cancelled_by(t))
        put("cancelled_by", *uid);
      else if (!equal_ignoring_case(t, out_["state"]))
        out_["state_text"] = mended(t);
    } else if (t.starts_with("CANCELLED by ")) {
      out_["state"] = "CANCELLED";
      out_["state_text"] = mended(t);
    } else {
      out_["state"] = mended(t);
      flaws_ |= bit(Flaw::unknown_state);
    }
  }
  std::map<std::string, std::string> tres(const std::string& column) {
    std::map<std::string, std::string> items;
    std::string t = text(column);
    if (absent(t)) return items;
    if (t.ends_with(',')) t.pop_back();
    if (t.empty()) return items;
    for (const std::string& item : split_row(t, ",")) {
      const std::size_t equals = item.find('=');
      if (equals == std::string::npos) {
        bad();
        continue;
      }
      const std::string key = item.substr(0, equals);
      if (!items.try_emplace(key, item.substr(equals + 1)).second) out_["unsure"] = "twice " + key;
      if (column == "alloctres" && key.starts_with("gres/gpu:"))
        out_.try_emplace("gpu_type", mended(key.substr(9)));
    }
    return items;
  }
  void gpus(const std::map<std::string, std::string>& items, const std::string& field) {
    std::int64_t sum = 0;
    for (const auto& [key, value] : items) {
      if (!key.starts_with("gres/gpu:")) continue;
      sum += count(value).value_or(0);
    }
    if (items.contains("gres/gpu"))
      put(field, count(items.at("gres/gpu")).value_or(0));
    else if (sum > 0)
      put(field, sum);
  }
  bool read_all() {
    if (!job()) return false;
    for (const auto& [column, field] : std::map<std::string, std::string>{{"submit", "submit_time"},
                                                                          {"eligible", "eligible_time"},
                                                                          {"start", "start_time"},
                                                                          {"end", "end_time"}})
      if (!time(column, field)) return false;
    const auto raw_seconds = [](const std::string& t) {
      const auto n = whole(t);
      return n.value_or(-1) >= 0 ? n : std::nullopt;
    };
    number("elapsedraw", "elapsed", raw_seconds);
    number("elapsed", "elapsed", duration, 1000);
    number("cputimeraw", "cpu_time", raw_seconds);
    number("cputime", "cpu_time", duration, 1000);
    number("suspended", "suspended", duration, 1000);
    number("alloccpus", "cpus", count);
    number("ncpus", "cpus", count);
    number("reqcpus", "req_cpus", count);
    number("allocnodes", "nodes", count);
    number("nnodes", "nodes", count);
    number("reqnodes", "req_nodes", count);
    number("ntasks", "tasks", count);
    number("totalcpu", "total_cpu", duration);
    number("usercpu", "user_cpu", duration);
    number("systemcpu", "system_cpu", duration);
    number("maxrss", "max_rss", bytes);
    number("averss", "ave_rss", bytes);
    number("maxvmsize", "max_vmsize", bytes);
    number("avediskread", "ave_disk_read", bytes);
    number("avediskwrite", "ave_disk_write", bytes);
    number("priority", "priority", whole);
    number("uid", "uid", whole);
    number("consumedenergyraw", "energy", whole);
    for (const std::string column : {"timelimitraw", "timelimit"}) {
      const std::string t = text(column);
      if (t.empty() || out_.contains("time_limit")) continue;
      if (const auto limit = parse_time_limit(t)) {
        if (limit->kind == TimeLimit::Kind::limited) put("time_limit", limit->length.count());
      } else if (!absent(t) && !trimmed(t).empty()) {
        bad();
      }
    }
    if (const std::string t = text("reqmem"); !absent(t)) {
      Row row;  // its flag has no parser in base
      row.clear();
      if (!parse_req_mem(t, row)) bad();
      repairs_ |= row.get(Num::repairs);
      row.drop(Num::repairs);
      for (const auto& [name, value] : fields_of(row))
        if (name != "kind") out_[name] = value;
    }
    if (const std::string t = text("exitcode"); !t.empty()) {
      const auto parts = split_row(t, ":");
      const auto code = whole(parts[0]);
      const auto signal = parts.size() == 2 ? whole(parts[1]) : std::nullopt;
      if (parts.size() > 2 || !code || (parts.size() == 2 && !signal)) {
        if (!absent(t)) bad();
      } else {
        put("exit_code", *code);
        if (signal) put("exit_signal", *signal);
      }
    }
    number("derivedexitcode", "derived_exit_code",
           [](const std::string& t) { return whole(split_row(t, ":")[0]); });
    state();
    words("jobname", "job_name", true);
    words("comment", "comment", true);
    words("workdir", "work_dir", true);
    words("submitline", "submit_line", true);
    for (const auto& [column, field] : std::map<std::string, std::string>{{"user", "user_name"},
                                                                          {"group", "group_name"},
                                                                          {"account", "account"},
                                                                          {"partition", "partition"},
                                                                          {"qos", "qos"},
                                                                          {"cluster", "cluster"},
                                                                          {"nodelist", "node_list"},
                                                                          {"reservation", "reservation"},
                                                                          {"constraints", "constraints"},
                                                                          {"reason", "reason"}})
      words(column, field);
    const auto alloc = tres("alloctres");
    gpus(alloc, "gpus");
    const auto requested = tres("reqtres");
    gpus(requested, "req_gpus");
    const auto from = [&](const auto& items, const std::string& key, const std::string& field, auto parse) {
      if (items.contains(key) && !out_.contains(field))
        if (const auto value = parse(items.at(key))) put(field, *value);
    };
    from(alloc, "cpu", "cpus", count);
    from(alloc, "node", "nodes", count);
    from(requested, "cpu", "req_cpus", count);
    from(requested, "node", "req_nodes", count);
    if (!out_.contains("req_mem_per_node") && !out_.contains("req_mem_per_cpu"))
      from(requested, "mem", "req_mem", [](const std::string& t) -> std::optional<std::int64_t> {
        const auto size = parse_size(t, BareUnit::mib);
        return size ? std::optional(size->count) : std::nullopt;
      });
    const auto in = tres("tresusageintot"), outs = tres("tresusageouttot");
    from(in, "cpu", "usage_cpu", duration);
    from(in, "mem", "usage_mem", bytes);
    from(in, "fs/disk", "usage_disk_in", bytes);
    from(outs, "fs/disk", "usage_disk_out", bytes);
    from(tres("tresusageinmax"), "gres/gpumem", "gpu_mem", bytes);
    if (const auto ave = tres("tresusageinave"); ave.contains("gres/gpuutil"))
      put("gpu_util_milli", whole(ave.at("gres/gpuutil")).value_or(0) * 10);
    if (in.contains("gres/gpuutil") && !out_.contains("gpu_util_milli") && out_.contains("tasks"))
      if (const std::int64_t tasks = std::stoll(out_["tasks"]); tasks > 0)
        put("gpu_util_milli", whole(in.at("gres/gpuutil")).value_or(0) * 10 / tasks);
    if (flaws_ != 0) put("flaws", flaws_);
    if (repairs_ != 0) put("repairs", repairs_);
    return true;
  }

  std::map<std::string, std::string> by_name_;
  Fields out_;
  std::int64_t flaws_ = 0, repairs_ = 0;
};

}  // namespace sickbay::workload::reference
