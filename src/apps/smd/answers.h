// SPDX-License-Identifier: Apache-2.0
// What the nonstop service answers, as values: libsmd's structures without their pointers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::smd {

/// Which faults: FAILED nodes are DOWN and out of the job already, FAILING ones are still in it.
enum class Fault : std::uint8_t { failed, failing };
/// "FAILED", "FAILING"
constexpr const char* fault_name(Fault fault) { return fault == Fault::failed ? "FAILED" : "FAILING"; }

/// Whether it helps to ask for a replacement again.
enum class Hope : std::uint8_t {
  again,  ///< there may be one in 20 seconds
  next,   ///< never for this node: on to the next word of the policy
  none,   ///< nothing can be done for this job: it has ended, or is another user's
};

/// A call that failed.
struct Trouble {
  int number = 0;    ///< ENSTOP_* of smd.h, or an errno of the system
  std::string text;  ///< of smd_nonstop_errstr: "Failed to replace the node"
  std::string why;   ///< what the service said more; may be empty
  Hope hope = Hope::again;
};
template <class T>
using Answer = tl::expected<T, Trouble>;

struct FaultyNode {
  std::string name;
  int cpus = 0;  ///< that the job has, or had, on it
  Fault fault = Fault::failed;
};

/// The job's nodes from now on.
struct NodeSet {
  std::string nodes;  ///< hostlist, for SLURM_JOB_NODELIST; "": unchanged
  int count = 0;      ///< for SLURM_JOB_NUM_NODES
  std::string cpus;   ///< "8(x3),4", for SLURM_JOB_CPUS_PER_NODE; "": not told
};

struct Replaced {
  std::string by;         ///< node or hostlist; "": later
  std::int64_t when = 0;  ///< Unix seconds at which to expect it; 0: not known
  NodeSet set;
};

}  // namespace sickbay::smd
