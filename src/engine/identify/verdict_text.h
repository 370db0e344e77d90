// SPDX-License-Identifier: Apache-2.0
// The words of a verdict: what `sickbay why` prints of it.  Which verdict it is: verdict.h.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/identify/verdict.h"

namespace sickbay::identify {

/// What a verdict tells besides its row.
struct Told {
  std::vector<std::string> links;                  ///< "n1 and n2": network links that V convicts
  bool unwitnessed = false;                        ///< no third node could say which end of them it is
  std::map<int, std::vector<std::string>> reused;  ///< by re-run: nodes of earlier runs that it ran on again
  std::string full;                ///< the cause is no more than that this folder of a node is full
  std::string starved;             ///< the cause is that processes got no processor: what was seen of it
  bool starved_each_time = false;  ///< and so they did in each failed run, on whatever nodes
  bool lost = false;               ///< a node of the first run went down
  bool acquitted = false;          ///< V passes on the nodes of the first run
};

/// Fills in sentence, why, missing and next of `verdict`, whose cause and nodes stand.  Pure.
void put_in_words(const Case& subject, const Row& row, const Told& told, Verdict& verdict);

/// One line for each run that has ended, of P and of V.
void add_run_lines(const Case& subject, std::vector<std::string>& why);

}  // namespace sickbay::identify
