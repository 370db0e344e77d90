// SPDX-License-Identifier: Apache-2.0
// VerifyReport: what a run of the verification program V says about each node and link.
//
// V is any batch script.  Two things are read from its output: the JSON lines of sickbay-verify, and srun's
// own messages about tasks and nodes, which any script that uses srun leaves.  The rule is decisions.md 22:
// a node is failed only by a result or a launch error that names it; what is merely missing is unknown, and
// unknown blames nobody.  What is slow is measured by the other nodes and links of the same run
// (verify_noise.h), so that a busy machine makes nobody slow.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

enum class VerifyResult : std::uint8_t { ok, slow, unknown, failed };
/// "ok", "slow", "unknown" or "failed".
std::string_view to_string(VerifyResult result);

/// What is wrong where a result is failed or slow: not every fault explains every failure of a program.
enum class VerifyFault : std::uint8_t {
  none,     ///< nothing is, or V cannot say
  compute,  ///< arithmetic or memory gave something else than it must
  disk,     ///< what was written came back otherwise, or not at all
  storage,  ///< a shared file system that others have is not there, or does not answer
  space,    ///< a file system is full: a user's doing as a rule, and no fault of the machine
  network,  ///< data between nodes
  launch,   ///< Slurm could start nothing there
  died,     ///< V's rank died of a fault of its own, or was killed
  stopped,  ///< it did not come to its end in time, as others did
  lost,     ///< Slurm says that the node failed
  slow,     ///< all of its work was right
  other,    ///< another site's V says no more than failed
};
/// "compute", "space", ...; "" for none.
std::string_view to_string(VerifyFault fault);
/// The other way; `other` for a word that is none, since an older version told no fault.
VerifyFault verify_fault_from(std::string_view name);

/// V's word on one node.
struct NodeVerification {
  std::string node;
  VerifyResult result = VerifyResult::unknown;
  VerifyFault fault = VerifyFault::none;
  std::string reason;                          ///< one line for people; empty for ok
  std::string kind = {};                       ///< what machine it is, by its own word
  std::map<std::string, double> figures = {};  ///< by phase: speeds that were taken while it was not busy
};

/// V's word on the link between two nodes, where it is not good and no node is named for it.
struct LinkVerification {
  std::string node, peer;  ///< in the order of the node list
  VerifyResult result = VerifyResult::failed;
  std::string reason;
};

struct VerifyReport {
  std::vector<NodeVerification> nodes;           ///< as asked for, in that order
  std::vector<LinkVerification> links;           ///< failed and slow ones only
  VerifyResult overall = VerifyResult::unknown;  ///< failed before slow before unknown before ok
  std::string summary;                           ///< one sentence

  const NodeVerification* node(std::string_view name) const;
};

/// Reads the output of V on `nodes`.
///
/// `out_text` and `err_text` may each hold both kinds of lines, as a job that joins its outputs writes them.
/// Names outside `nodes` are ignored: V blames nobody that it did not run on.  `exit_code` of the job, where
/// known, speaks for a script without JSON lines: 0 is ok for all nodes; any other without a named node is
/// unknown.  Total: any bytes give a report.  O(text + nodes * links).
VerifyReport parse_verify_report(std::string_view out_text, std::string_view err_text,
                                 const std::vector<std::string>& nodes,
                                 std::optional<int> exit_code = std::nullopt);

}  // namespace sickbay
