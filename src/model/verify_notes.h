// SPDX-License-Identifier: Apache-2.0
// The notes that verify_report.cc makes of V's lines, and what verify_links.cc makes of those about pairs of
// nodes. For these two files only.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/verify_noise.h"
#include "model/verify_report.h"

namespace sickbay::verify_notes {

/// What a node said of its shared storage.
struct StorageNotes {
  bool told = false;
  std::map<std::string, std::string> places;  ///< mount points: "" it answered, else why not
  std::string folder, mount, folder_is;       ///< the job's folder, what it is mounted by, "there" or why not
};

/// What the lines said about one node.
struct NodeNotes {
  bool spoke = false;  ///< any line of sickbay-verify
  bool alone_done = false, net_started = false, net_done = false;
  std::string absent;             ///< others did not hear it in MPI, and it never came out of MPI_Init
  std::string silent, silent_in;  ///< V waited for its rank in vain: why, and in which mode
  std::string last_phase;         ///< the last one that reported
  std::string wrong, slow;
  std::string kind;         ///< what machine it is
  std::string unsure;       ///< a speed that is off the baseline and was taken while others had the processor
  std::string disk_crawls;  ///< the right bytes, and what they took was too long for any disk that works
  std::map<std::string, NodeFigure, std::less<>> figures;  ///< by phase
  VerifyFault wrong_in = VerifyFault::none;                ///< of the first wrong phase
  std::string launch, node_failure;
  std::string unreached;  ///< who could not launch there, and why; by itself it says nothing of the node
  int signal = 0;
  bool oom = false;
  int exit_code = 0;
  std::string net_wrong, net_slow;  ///< filled from the links
  StorageNotes storage;
  std::string storage_wrong;  ///< filled from what the others have
  std::string counted;        ///< by its kernel meanwhile
};

struct LinkNotes {
  VerifyResult result = VerifyResult::ok;
  std::string reason;
};

using Link = std::pair<std::size_t, std::size_t>;  ///< lower index first

/// What one end said about a pair.
struct PairNote {
  std::size_t self = 0, peer = 0;
  bool by_mpi = false;
  bool by_launch = false;  ///< Slurm was asked on `self` to start something on `peer`
  VerifyResult result = VerifyResult::ok;
  std::string reason{};
  bool lossy = false;                    ///< slow by what was lost, which noise may explain
  std::optional<LinkFigures> figures{};  ///< an older V tells none
};

struct Notes {
  const std::vector<std::string>& names;
  std::vector<NodeNotes> nodes;
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<PairNote> pairs;
  std::map<Link, LinkNotes> links;                             ///< gathered from the pairs
  std::optional<std::size_t> host;                             ///< where the script runs, and srun with it
  std::vector<std::pair<std::size_t, std::string>> unreached;  ///< by srun from there
  bool own_lines = false;
  bool time_limit = false, swept = false, oom_kill = false;
  std::string trouble;  ///< the first message that concerns all: could not start, cancelled

  explicit Notes(const std::vector<std::string>& all) : names(all), nodes(all.size()) {
    for (std::size_t i = 0; i < all.size(); ++i) index.emplace(all[i], i);
  }

  /// The node called `name`, also when one of the two names is a full domain name.
  NodeNotes* at(std::string_view name) {
    const auto i = place(name);
    return i ? &nodes[*i] : nullptr;
  }
  std::optional<std::size_t> place(std::string_view name) const {
    auto it = index.find(name);
    if (it == index.end()) it = index.find(name.substr(0, name.find('.')));
    return it == index.end() ? std::nullopt : std::optional(it->second);
  }
};

inline void keep_first(std::string& where, std::string text) {
  if (where.empty()) where = std::move(text);
}

/// Holds what each node said of its storage against the others, and writes who lacks what others have.
void judge_storage(Notes& notes);

/// Compares what is to be compared among the nodes and links of the run, and writes what the links say about
/// nodes into their notes; returns the links that no node explains.
std::vector<LinkVerification> judge_pairs(Notes& notes);

}  // namespace sickbay::verify_notes
