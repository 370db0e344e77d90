// SPDX-License-Identifier: Apache-2.0
// Are the labels right?  A sheet of sampled jobs for a person to mark, and what the marks say.
//
// The sheet is JSON: {"seed", "users", "records": [{..., "application", "right": null}]}; whoever marks it
// sets "right" to true or false.  Source: paper 003, section 3.2 (20 users, 300 records).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace sickbay::workload {

struct AuditRecord {
  std::string cluster, job_id, submit_time, user, job_name, step_names, work_dir, submit_line, comment;
  std::string application, version, labelled_by;
  std::optional<bool> right;
};
struct AuditSheet {
  std::int64_t seed = 0;
  std::vector<AuditRecord> records;
};

/// A share with its bounds.
struct Share {
  std::uint64_t hits = 0, of = 0;
  double value = 0, low = 0, high = 1;
};
/// hits / of with Wilson's score interval at 95 % (E. B. Wilson, 1927), which holds also near 0 and 1.
Share wilson(std::uint64_t hits, std::uint64_t of);

struct AuditResult {
  Share all;
  std::map<std::string, Share> by_evidence;  ///< labelled_by
  std::uint64_t unmarked = 0, users = 0;
  std::vector<AuditRecord> wrong;
};

Json to_json(const AuditSheet& sheet);
/// Errors: bad_input with file:line:column.
Result<AuditSheet> parse_audit(std::string_view text, const std::string& source);
AuditResult judge(const AuditSheet& sheet);

}  // namespace sickbay::workload
