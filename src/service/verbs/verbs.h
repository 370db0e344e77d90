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
#include "model/job.h"
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
  Effects::Examine examine;        ///< may be empty
  Effects::AskNode ask_node;       ///< may be empty
  Effects::ActOnNode act_on_node;  ///< may be empty
  std::string folder_program = "sickbay-folder";
};

struct VerbRow {
  std::string_view verb;
  /// Answers with the `result` of the command's done event.
  void (*start)(VerbTools& tools, const Command& command, bool again, Done<Json> answer);
  /// Whether it is tried again while what it needs is busy; else its engine hears `busy` at once, and plans.
  bool outlasts_busy = true;
};
using Answer = Done<Json>;

/// What the user submitted for the case of a command; that of a task is kept with the case of its array.
Result<Submission> saved_submission(VerbTools& tools, const Command& command);

std::span<const VerbRow> run_verbs();      ///< run_verbs.cc
std::span<const VerbRow> output_verbs();   ///< output_verbs.cc
std::span<const VerbRow> node_verbs();     ///< node_verbs.cc
std::span<const VerbRow> recover_verbs();  ///< recover_verbs.cc
std::span<const VerbRow> nonstop_verbs();  ///< nonstop_verbs.cc
std::span<const VerbRow> people_verbs();   ///< people_verbs.cc
std::span<const VerbRow> folder_verbs();   ///< folder_verbs.cc

/// Has sickbay-folder do an order (apps/folder/folder_order.h) as the owner of a case.  Errors: those that it
/// answers with, missing_program, denied, storage_broken (the file system hangs).
void ask_folder(VerbTools& tools, const Submission& saved, Json order, Answer answer);

}  // namespace sickbay
