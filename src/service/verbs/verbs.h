// SPDX-License-Identifier: Apache-2.0
// Verbs: how each becomes an act.  One file for what is acted on, one row for each verb (model/verbs.h).
//
// A verb may be met twice: `again` says that it may have been done before, by a try that got no answer or by
// a sickbayd that is no more.  How each is made safe then stands at its function, and in
// doc/formats/journal.md. What fails because something is away is tried again by effects.cc, not here.
// Source: doc/design/decisions.md 16, 17.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "model/event.h"
#include "ports/loop.h"
#include "service/effects.h"

namespace sickbay {

/// What verbs act with.
struct VerbTools {
  Loop& loop;
  ResourceManager& manager;
  ProcessRunner& processes;
  CaseStore& cases;
  const Config& config;
  Effects::Verification verification;
  Effects::Examine examine;  ///< may be empty
};

struct VerbRow {
  std::string_view verb;
  /// Answers with the `result` of the command's done event.
  void (*start)(VerbTools& tools, const Command& command, bool again, Done<Json> answer);
};
using Answer = Done<Json>;

std::span<const VerbRow> run_verbs();     ///< run_verbs.cc
std::span<const VerbRow> output_verbs();  ///< output_verbs.cc
std::span<const VerbRow> node_verbs();    ///< node_verbs.cc
std::span<const VerbRow> people_verbs();  ///< people_verbs.cc

}  // namespace sickbay
