// SPDX-License-Identifier: Apache-2.0
// Who set a node DOWN: Slurm, which lost it, or a person, who had reasons of his own.
//
// Slurm keeps one reason for each node, in words, and does not say who set the state: only the words tell.
// A node that Slurm itself set DOWN was lost; one that a person set DOWN convicts nobody.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sickbay {

/// Why a node is drained or down, as Slurm shows it.
struct NodeReason {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  std::string text;
  std::uint32_t uid = 0;  ///< who set it: SlurmUser for Slurm's own, 0 for root
  friend bool operator==(const NodeReason&, const NodeReason&) = default;
};

/// A reason that Slurm writes by itself.
struct SlurmReasonRow {
  std::string_view begins;  ///< what the text begins with
  std::string_view source;  ///< which part of Slurm says so, and when
  bool no_launch = false;   ///< it drains a node on which a job could not be started, for the node's own sake
};
std::span<const SlurmReasonRow> slurm_reasons();
/// Whether these are Slurm's own words.
bool is_slurms_reason(std::string_view text);
/// Whether they are those of a node that could not start a job.
bool says_no_launch(std::string_view text);

enum class DownBy : std::uint8_t { nobody, slurm, operators };

/// Who set a node DOWN that shows `now` as its reason, had `before` until then ("" for none), and which Slurm
/// cannot reach any more where `silent`.  Where it is not sure, a person did.
DownBy who_set_down(std::string_view now, std::string_view before, bool silent);

/// The system's own words for a file system without room: in V's output, in a program's.
bool says_no_space(std::string_view text);
/// Those, or words of a program that it could not write.
bool speaks_of_writing(std::string_view text);

}  // namespace sickbay
