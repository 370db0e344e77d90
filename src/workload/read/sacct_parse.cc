// SPDX-License-Identifier: Apache-2.0
// One record of sacct's text to one row.
#include <fmt/format.h>

#include "base/text.h"
#include "workload/read/lines.h"
#include "workload/read/read_sacct.h"

namespace sickbay::workload::sacct {
namespace {

constexpr std::int64_t kMib = 1024 * 1024;

Num num_of(std::uint8_t field) { return static_cast<Num>(field); }

// "4", "2K": counts over 1024 are cut to units of it by an sacct without --noconvert.
bool parse_count(std::string_view text, std::int64_t& value) {
  return (parse_integer(text, value) || parse_bytes(text, 1, value)) && value >= 0;
}

// Joules: "54156", "1.50K" (of 1000).  Slurm's 2^64 - 2 is "none".
bool parse_energy(std::string_view text, Row& row, Num field) {
  std::int64_t value = 0;
  if (parse_integer(text, value)) {
    row.set(field, value);
    return true;
  }
  if (text.starts_with("184467440737")) return true;
  constexpr std::string_view kUnits = "KMGTP";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  if (unit == std::string_view::npos) return false;
  text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  std::int64_t fraction = 0, scale = 1000;
  for (std::size_t i = 0; i < unit; ++i) scale *= 1000;
  if (!parse_integer(text.substr(0, dot), value) || value < 0 || value > INT64_MAX / scale - 1) return false;
  value *= scale;
  if (dot != std::string_view::npos) {
    if (text.size() - dot > 7 || !parse_integer(text.substr(dot + 1), fraction) || fraction < 0) return false;
    std::int64_t power = 1;
    for (std::size_t i = dot + 1; i < text.size(); ++i) power *= 10;
    // At most six digits of the first unit, so that nothing overflows; joules below a thousandth do not
    // matter.
    value += scale / 1000 * (fraction * 1000 / power);
  }
  row.set(field, value);
  return true;
}

// "gres/gpu=2", "gres/gpu:a100=2": the sum of the kinds where no total is given.
struct Gpus {
  std::int64_t total = -1, kinds = 0;
  std::string_view kind;

  bool take(std::string_view key, std::string_view value) {
    std::int64_t n = 0;
    if (key == "gres/gpu") {
      if (!parse_count(value, n)) return false;
      total = n;
    } else if (key.starts_with("gres/gpu:")) {
      if (!parse_count(value, n)) return false;
      kinds += n;
      if (kind.empty()) kind = key.substr(9);
    }
    return true;
  }
  bool any() const { return total >= 0 || kinds > 0; }
  std::int64_t count() const { return total >= 0 ? total : kinds; }
};

bool read_alloc_tres(std::string_view text, Row& row) {
  Gpus gpus;
  bool good = true;
  const bool listed = for_each_tres(text, [&](std::string_view key, std::string_view value) {
    std::int64_t n = 0;
    if (key == "cpu" && !row.has(Num::cpus)) {
      if (parse_count(value, n)) row.set(Num::cpus, n);
    } else if (key == "node" && !row.has(Num::nodes)) {
      if (parse_count(value, n)) row.set(Num::nodes, n);
    } else {
      good = gpus.take(key, value) && good;
    }
  });
  if (gpus.any()) row.set(Num::gpus, gpus.count());
  if (!gpus.kind.empty()) row.set(Text::gpu_type, gpus.kind);
  return listed && good;
}

bool read_req_tres(std::string_view text, Row& row) {
  Gpus gpus;
  bool good = true;
  const bool has_mem =
      row.has(Num::req_mem) || row.has(Num::req_mem_per_node) || row.has(Num::req_mem_per_cpu);
  const bool listed = for_each_tres(text, [&](std::string_view key, std::string_view value) {
    std::int64_t n = 0;
    if (key == "cpu" && !row.has(Num::req_cpus)) {
      if (parse_count(value, n)) row.set(Num::req_cpus, n);
    } else if (key == "node" && !row.has(Num::req_nodes)) {
      if (parse_count(value, n)) row.set(Num::req_nodes, n);
    } else if (key == "mem" && !has_mem) {
      if (parse_bytes(value, kMib, n)) row.set(Num::req_mem, n);
    } else {
      good = gpus.take(key, value) && good;
    }
  });
  if (gpus.any()) row.set(Num::req_gpus, gpus.count());
  return listed && good;
}

// What a step used.  Of the four lists each has what Slurm's own columns do not.
bool read_usage(Op op, std::string_view text, Row& row) {
  bool good = true;
  const bool listed = for_each_tres(text, [&](std::string_view key, std::string_view value) {
    std::int64_t n = 0;
    const auto bytes = [&](Num field) {
      if (parse_bytes(value, 1, n))
        row.set(field, n);
      else
        good = false;
    };
    const auto percent = [&](std::int64_t tasks) {
      if (parse_integer(value, n) && n >= 0 && n < 1'000'000'000)
        row.set(Num::gpu_util_milli, n * 10 / tasks);
      else
        good = false;
    };
    if (op == Op::usage_in_tot) {
      if (key == "cpu") {
        if (parse_elapsed_ms(value, n))
          row.set(Num::usage_cpu, n);
        else
          good = false;
      } else if (key == "mem") {
        bytes(Num::usage_mem);
      } else if (key == "fs/disk") {
        bytes(Num::usage_disk_in);
      } else if (key == "gres/gpuutil" && !row.has(Num::gpu_util_milli) && row.get(Num::tasks) > 0) {
        percent(row.get(Num::tasks));  // a sum over the tasks
      }
    } else if (op == Op::usage_out_tot) {
      if (key == "fs/disk") bytes(Num::usage_disk_out);
    } else if (op == Op::usage_in_max) {
      if (key == "gres/gpumem") bytes(Num::gpu_mem);
    } else if (key == "gres/gpuutil") {
      percent(1);
    }
  });
  return listed && good;
}

std::string_view mended(std::string_view text, const Seen& seen, Arena& arena, Row& row) {
  if (!seen.high && !seen.nul) return text;
  bool changed = false;
  text = valid_utf8(text, arena, changed);
  if (changed) row.add_bits(Num::repairs, bit(Repair::bad_utf8));
  return text;
}

}  // namespace

// Puts a text that is there into `row`.  False: it is no such value, and not "Unknown" or the like either.
bool SacctReader::read(const Step& step, std::string_view text, const Seen& seen, Arena& arena,
                       Row& row) const {
  std::int64_t n = 0;
  bool good = false;
  switch (step.op) {
    case Op::none:
      return true;
    case Op::job_id:
      return parse_job_id(mended(text, seen, arena, row), row);
    case Op::job_id_raw: {
      if (!row.has(Text::job_id)) return parse_job_id(mended(text, seen, arena, row), row);
      good = parse_integer(job_part(text), n);
      if (good) row.set(Num::job_id_raw, n);
      break;
    }
    case Op::text:
      if (is_absent(text)) return true;
      [[fallthrough]];
    case Op::free_text:
      row.set(static_cast<Text>(step.field), mended(text, seen, arena, row));
      return true;
    case Op::count:
      good = parse_count(text, n);
      break;
    case Op::integer:
      good = parse_integer(text, n);
      break;
    case Op::raw_seconds:
      good = parse_integer(text, n) && n >= 0;
      break;
    case Op::energy:
      if (parse_energy(text, row, num_of(step.field))) return true;
      return is_absent(text);
    case Op::time:
      good = parse_timestamp(text, zone_, n);
      break;
    case Op::milliseconds:
      good = parse_elapsed_ms(text, n);
      break;
    case Op::seconds:
      good = parse_elapsed_ms(text, n);
      n /= 1000;
      break;
    case Op::limit:
      if (!parse_limit(text, n)) return is_absent(text);
      if (n >= 0) row.set(num_of(step.field), n);
      return true;
    case Op::bytes:
      good = parse_bytes(text, 1, n);
      break;
    case Op::req_mem:
      return parse_req_mem(text, row) || is_absent(text);
    case Op::exit:
      return parse_exit(text, row) || is_absent(text);
    case Op::derived_exit:
      good = parse_integer(text.substr(0, text.find(':')), n);
      break;
    case Op::state:
      if (!is_absent(text)) parse_state(mended(text, seen, arena, row), row);
      return true;
    case Op::alloc_gres:
      if (const GresGpus gpus = gpus_of_gres(text = mended(text, seen, arena, row)); gpus.count > 0) {
        row.set(Num::gpus, gpus.count);
        if (!gpus.kind.empty()) row.set(Text::gpu_type, gpus.kind);
      }
      return true;
    case Op::alloc_tres:
      return read_alloc_tres(mended(text, seen, arena, row), row) || is_absent(text);
    case Op::req_tres:
      return read_req_tres(text, row) || is_absent(text);
    case Op::usage_in_tot:
    case Op::usage_out_tot:
    case Op::usage_in_ave:
    case Op::usage_in_max:
      return read_usage(step.op, text, row) || is_absent(text);
  }
  if (!good) return is_absent(text);
  if (step.op != Op::job_id_raw) row.set(num_of(step.field), n);
  return true;
}

std::string SacctReader::why_not_cut(std::string_view record, std::size_t delimiters) const {
  if (find_column(record.substr(0, record.find(delimiter_.text()))) != nullptr)
    return "is another header than the log's first; give logs of different columns one by one";
  if (delimiters + 1 < columns_) return fmt::format("has {} of {} columns", delimiters + 1, columns_);
  return fmt::format(
      "has {} delimiters for {} columns, and no text in which the others fit",
      delimiters > 2 * kMaxColumns ? fmt::format("over {}", 2 * kMaxColumns) : std::to_string(delimiters),
      columns_);
}

bool SacctReader::parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const {
  if (!fit_to_read(record, reason)) return false;
  std::uint32_t at[2 * kMaxColumns];
  Seen seen;
  Fields fields;
  bool repaired = false;
  const std::size_t n = delimiter_.find(record, at, std::size(at), seen);
  if (n > std::size(at) || !cut(record, at, n, fields, repaired)) {
    reason = why_not_cut(record, n);
    return false;
  }
  Row& row = rows.add();
  bool bad_value = false;
  for (const Step& step : steps_) {
    const std::uint32_t begin = fields.begin[step.column], end = fields.end[step.column];
    if (begin == end) continue;
    if (step.if_absent && row.has(num_of(step.field))) continue;
    const std::string_view text(record.data() + begin, end - begin);
    if (read(step, text, seen, arena, row)) continue;
    // Without its id or with a wrong time a row would do harm; of other values only this one is lost.
    if (step.op == Op::job_id || step.op == Op::time ||
        (step.op == Op::job_id_raw && !row.has(Text::job_id))) {
      // (The log's own spelling of a column may hold anything: "JobID%30".)
      reason = fmt::format("{} is {}, which is no {}", find_column(layout_.names[step.column])->name,
                           quote_for_message(text), step.op == Op::time ? "time" : "job id");
      rows.drop_last();
      return false;
    }
    bad_value = true;
  }
  if (!row.has(Text::job_id)) {
    reason = fmt::format("{} is empty", find_column(layout_.names[job_column_])->name);
    rows.drop_last();
    return false;
  }
  if (bad_value) row.add_bits(Num::flaws, bit(Flaw::bad_value));
  if (repaired || seen.newline) row.add_bits(Num::repairs, bit(Repair::name_delimiter));
  if (!cluster_.empty() && !row.has(Text::cluster)) row.set(Text::cluster, cluster_);
  return true;
}

}  // namespace sickbay::workload::sacct
