// SPDX-License-Identifier: Apache-2.0
// Going back in a job's history, with its owner's own rights: sickbay undo JOB.
//
// Looked at first, all of it: the plan of sickbayd, what was kept, what the files hold now, the checkpoint,
// what still runs.  Only when all fits is anything done, in this order: jobs that would go on writing are
// ended; what files hold now is kept, and they get back what they held; the history is told.  Each may be
// done again: what was done already differs in nothing.
// Source: doc/design/undo.md.
#pragma once
#include <string>
#include <vector>

#include "apps/cli/undo/live_jobs.h"
#include "apps/cli/undo/record.h"
#include "apps/cli/undo/things.h"
#include "base/json.h"
#include "client/api_client.h"
#include "model/ids.h"

namespace sickbay::cli {

/// A job's history, and who asks.
struct JobHistory {
  JobId job = 0;
  Json view;
  std::vector<JobId> jobs;         ///< of the whole tree
  std::vector<std::string> cases;  ///< theirs
};
Result<JobHistory> fetch_history(ApiClient& api, JobId job);
/// Errors: denied, where the history is another user's: files and jobs are his.
Status must_be_own(const JobHistory& history);

/// The submission that a replay does again, and what is kept of it.
struct Kept {
  std::string work_dir;
  Record record;
};
/// Errors: conflict (it was not recorded, or its case is archived), those of read_record().
Result<Kept> kept_of(const JobHistory& history, const std::string& source);

struct Rewind {
  std::string what;  ///< "rewind", "drop", "edit", "insert"
  std::string op;    ///< as it was asked for
  JobHistory history;
  Json plan;  ///< sickbayd's
  Kept kept;
  std::vector<Thing> things;
  std::vector<LiveJob> ends;
  std::string images;  ///< how the checkpoint is: "whole", or why that is not known; "": none is gone back to
  bool only_crossed_out() const { return !plan["drops"].as_string().empty(); }
  Json to_json(bool done) const;
};

/// Looks, and changes nothing.  Errors: sickbayd's; conflict, not_found, denied with cause and remedy.
Result<Rewind> look_back(ApiClient& api, JobId job, const std::string& what, const std::string& op);
/// Does it.
Status go_back(ApiClient& api, Rewind& rewind);
/// For people: what is done, or (`done`) was.
std::string rewind_text(const Rewind& rewind, bool done);

/// Reads all of a checkpoint by sickbay-ckpt: "whole", or why that could not be looked at from here.  Errors:
/// conflict (it is damaged).
Result<std::string> look_at_images(const std::string& folder, std::int64_t checkpoint);

}  // namespace sickbay::cli
