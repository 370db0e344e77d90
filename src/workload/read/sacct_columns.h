// SPDX-License-Identifier: Apache-2.0
// The columns that sacct of Slurm 18 to 25 can print: which field each feeds, how its text is read, and what
// it looks like.
//
// Where two columns say the same, the one with the higher rank counts, and the other only in rows where that
// one says nothing.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "workload/job/row.h"

namespace sickbay::workload::sacct {

/// How a text becomes a value of a row.
enum class Op : std::uint8_t {
  none,           ///< not wanted
  job_id,         ///< JobID
  job_id_raw,     ///< JobIDRaw
  free_text,      ///< a text that users write: as it is
  text,           ///< a text of Slurm's: "None" and the like are absent
  count,          ///< a whole number; also "2K", as sacct cuts large ones
  integer,        ///< a whole number
  energy,         ///< joules; K, M, G are thousands
  time,           ///< a date and time
  milliseconds,   ///< a run time, kept in milliseconds
  seconds,        ///< a run time, kept in seconds
  raw_seconds,    ///< a whole number of seconds
  limit,          ///< Timelimit; TimelimitRaw has minutes, which parse_limit takes bare numbers for
  bytes,          ///< a size
  req_mem,        ///< ReqMem
  exit,           ///< ExitCode
  derived_exit,   ///< DerivedExitCode: the code of it
  state,          ///< State
  alloc_gres,     ///< AllocGRES, which Slurm had until 20.11
  alloc_tres,     ///< AllocTRES
  req_tres,       ///< ReqTRES
  usage_in_tot,   ///< TRESUsageInTot
  usage_out_tot,  ///< TRESUsageOutTot
  usage_in_ave,   ///< TRESUsageInAve
  usage_in_max,   ///< TRESUsageInMax
};

/// What a column's text looks like: by this a row is put together again after a delimiter in a name.
enum class Shape : std::uint8_t {
  any,       ///< nothing to tell
  free,      ///< users write it: it may hold delimiters and newlines
  path,      ///< the same, but begins with '/' when there
  command,   ///< the same, but begins with sbatch, srun or salloc
  word,      ///< no blank in it
  state,     ///< a word of Slurm's for states
  id,        ///< a JobID
  time,      ///< a date and time
  duration,  ///< a run time
  limit,     ///< a time limit
  number,    ///< a number, with or without unit
  exit,      ///< "0:9"
  tres,      ///< "cpu=1,mem=2G"
};
/// Shapes that a wrong cut can be told by for sure.
constexpr bool is_hard(Shape s) { return s >= Shape::id; }
constexpr bool is_free(Shape s) { return s == Shape::free || s == Shape::path || s == Shape::command; }

struct Column {
  std::string_view name;
  Op op = Op::none;
  std::uint8_t field = 0;  ///< Num or Text, as op has it
  Shape shape = Shape::any;
  std::uint8_t rank = 1;  ///< among the columns of the same field
};

/// All columns that sacct knows, by name.
std::span<const Column> columns();
/// The column of that name, in any case, also with a width ("State%20"); nullptr: sacct has no such.
const Column* find_column(std::string_view name);

/// The fields that `column` may set.
FieldSet fields_of(const Column& column);

/// The op's result is a text (then `field` is a Text).
constexpr bool is_text(Op op) { return op == Op::free_text || op == Op::text; }

/// `text` could stand in a column of the shape; absent texts can stand in each.
bool fits(Shape shape, std::string_view text);

}  // namespace sickbay::workload::sacct
