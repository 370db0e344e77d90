// SPDX-License-Identifier: Apache-2.0
// The states of Slurm's jobs and nodes: one base state and a set of flags, in Slurm's words.
//
// Each state is one row of a table: its word, its short word, and what Sickbay makes of it.  Values and
// bits are those of slurm.h (enum job_states, JOB_*, enum node_states, NODE_STATE_*; the same in 22.05,
// 24.11 and 26.05), spelled here anew because only adapters/slurm may include slurm.h; the words are those
// of scontrol and sacct 22.05, checked against libslurm.  Bits without a row (a newer Slurm) are kept, and
// printed as BIT27, so that nothing is lost on the way through the journal.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

// ---- jobs -------------------------------------------------------------------------------------------------

enum class JobBase : std::uint8_t {
  pending,
  running,
  suspended,
  completed,
  cancelled,
  failed,
  timeout,
  node_fail,
  preempted,
  boot_fail,
  deadline,
  out_of_memory,
};

/// Bits of the state word, above its base (0xff).
enum class JobFlag : std::uint32_t {
  launch_failed = 1U << 8,
  update_db = 1U << 9,
  requeued = 1U << 10,
  requeue_hold = 1U << 11,
  special_exit = 1U << 12,
  resizing = 1U << 13,
  configuring = 1U << 14,
  completing = 1U << 15,
  stopped = 1U << 16,
  reconfig_fail = 1U << 17,
  power_up_node = 1U << 18,
  revoked = 1U << 19,
  requeue_fed = 1U << 20,
  resv_del_hold = 1U << 21,
  signaling = 1U << 22,
  stage_out = 1U << 23,
  expediting = 1U << 24,  ///< since 25.11
};

/// What the end of a run means to a case (doc/design/identify.md, "The automatic flow", step 3).
enum class RunEnd : std::uint8_t {
  not_ended,  ///< still to come
  completed,  ///< exit code 0; --check and --expect-time may yet object
  answered,   ///< ended badly, and Slurm's own word is the answer: no experiment
  failed,     ///< a failure: the case goes on to its experiments
  waits,      ///< ended through no fault of anything; it comes again
};
std::string_view to_string(RunEnd end);

struct JobState {
  JobBase base = JobBase::pending;
  std::uint32_t flags = 0;  ///< JobFlag bits, and such as we have no row for

  bool has(JobFlag flag) const { return (flags & static_cast<std::uint32_t>(flag)) != 0; }
  std::uint32_t word() const { return flags | static_cast<std::uint32_t>(base); }
  friend bool operator==(const JobState&, const JobState&) = default;
};

struct JobBaseRow {
  JobBase base;
  std::string_view name;        ///< as on the wire
  std::string_view short_name;  ///< squeue's
  bool terminal;                ///< the run is over (nodes may still be completing)
  RunEnd end;
  std::string_view meaning;
};

struct JobFlagRow {
  JobFlag flag;
  std::string_view name;
  std::string_view short_name;   ///< empty: squeue has none
  std::optional<JobBase> alone;  ///< the base that the flag's word alone stands for, where that is certain
  std::optional<RunEnd> end;     ///< what it makes of an ended run, over the base's row
  std::string_view meaning;
};

std::span<const JobBaseRow> job_bases();  ///< one row per JobBase, in its order
std::span<const JobFlagRow> job_flags();  ///< by bit
const JobBaseRow& job_base_row(JobBase base);

/// From slurm.h's 32-bit word.  Errors: bad_input for a base that no known Slurm has.
Result<JobState> job_state_from_word(std::uint32_t word);

/// From text: "COMPLETED", "COMPLETED,COMPLETING", "CANCELLED by 1000", "OUT_OF_ME+" (sacct cuts at its
/// column's width), "NF", a flag alone where it tells the base ("REQUEUED"); the case does not matter.
/// Errors: bad_input, with the nearest word.
Result<JobState> parse_job_state(std::string_view text);
/// From a base word and flag words, as model/job.h keeps them.
Result<JobState> parse_job_state(std::string_view base, std::span<const std::string> flags);

/// "COMPLETED,COMPLETING": base, then flags by bit.  parse_job_state of it gives the state again.
std::string to_string(const JobState& state);
std::string_view base_name(const JobState& state);
std::vector<std::string> flag_names(const JobState& state);

/// The uid in sacct's "CANCELLED by 1000"; nothing for other texts.
std::optional<std::uint32_t> cancelled_by(std::string_view text);

/// The run is over.  Its nodes may still be busy with epilog: has(JobFlag::completing).
bool is_terminal(const JobState& state);
/// What it means to a case.  REQUEUED and the like on an ended run: waits; LAUNCH_FAILED: failed.
RunEnd run_end(const JobState& state);

// ---- nodes ------------------------------------------------------------------------------------------------

enum class NodeBase : std::uint8_t { unknown, down, idle, allocated, error, mixed, future };

/// Bits of the state word, above its base (0x0f).
enum class NodeFlag : std::uint32_t {
  external = 1U << 4,  ///< up to 23.11 the same bit was PERFCTRS, a matter of Cray's
  reserved = 1U << 5,
  undrain = 1U << 6,  ///< in requests only
  cloud = 1U << 7,
  resume = 1U << 8,  ///< in requests only
  drain = 1U << 9,
  completing = 1U << 10,
  not_responding = 1U << 11,
  powered_down = 1U << 12,
  fail = 1U << 13,
  powering_up = 1U << 14,
  maintenance = 1U << 15,
  reboot_requested = 1U << 16,
  reboot_canceled = 1U << 17,
  powering_down = 1U << 18,
  dynamic_future = 1U << 19,
  reboot_issued = 1U << 20,
  planned = 1U << 21,
  invalid_reg = 1U << 22,
  power_down = 1U << 23,
  power_up = 1U << 24,
  power_drain = 1U << 25,
  dynamic_norm = 1U << 26,
  blocked = 1U << 27,  ///< since 24.11
};

struct NodeState {
  NodeBase base = NodeBase::unknown;
  std::uint32_t flags = 0;  ///< NodeFlag bits, and such as we have no row for

  bool has(NodeFlag flag) const { return (flags & static_cast<std::uint32_t>(flag)) != 0; }
  std::uint32_t word() const { return flags | static_cast<std::uint32_t>(base); }
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

struct NodeBaseRow {
  NodeBase base;
  std::string_view name;        ///< scontrol's
  std::string_view short_name;  ///< sinfo's
  bool takes_work;              ///< now, or when the jobs on it end
  std::string_view meaning;
};

struct NodeFlagRow {
  NodeFlag flag;
  std::string_view name;
  std::string_view other_name;  ///< another word that Slurm has used for it; may be empty
  char mark;                    ///< behind the base in scontrol and sinfo: '*' in "DOWN*"; 0: none
  bool takes_work;
  std::string_view meaning;
};

std::span<const NodeBaseRow> node_bases();  ///< one row per NodeBase, in its order
std::span<const NodeFlagRow> node_flags();  ///< by bit
const NodeBaseRow& node_base_row(NodeBase base);

/// From slurm.h's 32-bit word.  Errors: bad_input for a base that no known Slurm has.
Result<NodeState> node_state_from_word(std::uint32_t word);

/// From text: "IDLE+DRAIN", "DOWN*+DRAIN", "MIXED", "ALLOC", sinfo's "drained" and "draining"; the case does
/// not matter.  A flag alone leaves the base unknown.  Errors: bad_input, with the nearest word.
Result<NodeState> parse_node_state(std::string_view text);
/// From a base word and flag words, as model/job.h keeps them.
Result<NodeState> parse_node_state(std::string_view base, std::span<const std::string> flags);

/// "DOWN+DRAIN+NOT_RESPONDING": base, then flags by bit.  parse_node_state of it gives the state again.
std::string to_string(const NodeState& state);
std::string_view base_name(const NodeState& state);
std::vector<std::string> flag_names(const NodeState& state);

/// Slurm would give it ordinary new work, now or when the jobs on it end: idle, mixed or allocated, and no
/// flag that keeps work away (drain, fail, silence, maintenance, reservation, reboot, powering down).
bool usable(const NodeState& state);
/// It answers, no job has any part of it, and it is not about to boot; it may be drained.
bool is_idle(const NodeState& state);

}  // namespace sickbay
