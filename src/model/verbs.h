// SPDX-License-Identifier: Apache-2.0
// The verbs of commands: what engines can ask for.  What each does stands in service/verbs.
#pragma once
#include <string_view>

#include "base/result.h"

namespace sickbay::verb {

// Runs of a case.
inline constexpr std::string_view kSubmitProgram = "submit_program";
inline constexpr std::string_view kSubmitVerification = "submit_verification";
inline constexpr std::string_view kRelease = "release";
inline constexpr std::string_view kCancel = "cancel";
inline constexpr std::string_view kReadOutput = "read_output";
// What comes before and after re-runs of the program.
inline constexpr std::string_view kFindDependents = "find_dependents";
inline constexpr std::string_view kPrepareRerun = "prepare_rerun";
inline constexpr std::string_view kCleanFolder = "clean_folder";
// Nodes.
inline constexpr std::string_view kDrain = "drain";
inline constexpr std::string_view kUndrain = "undrain";
inline constexpr std::string_view kReboot = "reboot";
inline constexpr std::string_view kDiagnose = "diagnose";
inline constexpr std::string_view kAskNode = "ask_node";
inline constexpr std::string_view kSetDown = "set_down";
// Recoveries (engine/recover).
inline constexpr std::string_view kRestartComponent =
    "restart_component";  ///< {node, components (in this order), check} -> {restarted, cured, took_us, said}
inline constexpr std::string_view kCheckComponent =
    "check_component";  ///< {node, components; none: all} -> {well, said}; may be repeated
inline constexpr std::string_view kRequeueJob =
    "requeue_job";  ///< {job_id, uid, submit, restart_cnt, level, nodes, exclude} -> {requeued, did,
                    ///< excluded, said}; done where Slurm's count is higher
inline constexpr std::string_view kBeginNow =
    "begin_now";  ///< {job_id, uid, submit} -> {begins (false: it waits for no begin time)}; may be repeated
// Running jobs that lose nodes (ports/node_replacement.h).
inline constexpr std::string_view kAllocateDonor = "allocate_donor";
inline constexpr std::string_view kGiveDonor = "give_donor";
inline constexpr std::string_view kCancelDonor = "cancel_donor";
inline constexpr std::string_view kDropNodes = "drop_nodes";
inline constexpr std::string_view kSetTimeLimit = "set_time_limit";
inline constexpr std::string_view kFailNode = "fail_node";
inline constexpr std::string_view kUnfailNode = "unfail_node";
inline constexpr std::string_view kSetSparePool = "set_spare_pool";
// People.
inline constexpr std::string_view kNotify = "notify";

}  // namespace sickbay::verb

namespace sickbay {

/// Whether a command that failed so may be answered later, when nothing but time has passed: what was asked
/// is away or busy, and nobody has said no.
constexpr bool passes_by_itself(ErrorCode code) {
  return code == ErrorCode::slurm_away || code == ErrorCode::munge_away || code == ErrorCode::timed_out ||
         code == ErrorCode::busy;
}

}  // namespace sickbay
