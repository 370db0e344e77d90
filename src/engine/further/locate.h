// SPDX-License-Identifier: Apache-2.0
// V fails on a set of nodes and names none of them: which node is it, or which link?
//
// Group testing by halves.  A half on which V fails is halved again; where both halves pass alone, the
// guilty pair lies across them and each end is narrowed down beside the whole other half.  At the end the
// answer is tried once more, and the rest without it: what does not hold then is `unknown`, for a V that
// fails now and then would lead a search by halves anywhere.
// Pure; the caller runs V on what is asked and comes back with all answers so far.
// Source: doc/design/identify.md, "Further identification".
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sickbay::further {

enum class Said : std::uint8_t { passed, failed, unknown };

/// V on some of the nodes.
struct Test {
  std::vector<int> nodes;  ///< ascending
  Said said = Said::unknown;
};

struct Located {
  enum class Stage : std::uint8_t {
    asks,     ///< `nodes`: V is to run there next
    node,     ///< it is nodes[0]
    link,     ///< it is the link between nodes[0] and nodes[1]; both pass alone
    unknown,  ///< the answers so far lead no further, see why
  };
  Stage stage = Stage::unknown;
  std::vector<int> nodes;
  /// Of a node: V fails on the others without it, too, so there is another fault among them.
  bool others_bad = false;
  std::string_view why = {};
};

/// `nodes` (ascending, at least one): V has failed on all of them together.  `tests`: what V said since, in
/// the order in which it was asked.  For one bad node it asks at most 2*ceil(log2 n)+2 times, for one bad
/// link at most 4*ceil(log2 n)+1 times.
Located locate(const std::vector<int>& nodes, const std::vector<Test>& tests);

}  // namespace sickbay::further
