// SPDX-License-Identifier: Apache-2.0
// V fails on the nodes of a run and names none of them, as a script of a site's own may: V by halves.
//
// The search is engine/further/locate.h; here its questions become verifications of the case, and its answer
// one that names the node, or the link, like any other (verification.cc).  Source: doc/design/identify.md,
// "By halves".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/further/locate.h"
#include "engine/identify/identify.h"

namespace sickbay::identify {

struct Locating {
  std::vector<std::string> nodes;  ///< all of them; places in it are the search's numbers
  std::vector<const Run*> tests;   ///< verifications that answered, oldest first
  const Run* under_way = nullptr;  ///< one that has not answered
  further::Located found;
};
/// The search among the nodes of program run `n`; nothing where V named somebody by itself, never failed, or
/// there is one node only.
std::optional<Locating> locating(const Case& subject, int n);
/// It has a question that is not answered yet.
bool is_locating(const Known& known, const Case& subject, int n);

/// For apply(): the answer of a search.
void on_located(State& state, Case& subject, const Event& event);

inline constexpr std::string_view kLocated = "located";

}  // namespace sickbay::identify
