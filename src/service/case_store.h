// SPDX-License-Identifier: Apache-2.0
// The folder of a case: what is needed to run P again, and too secret or too big for the journal.
#pragma once
#include <cstdint>
#include <vector>

#include "model/job.h"

namespace sickbay {

/// cases/c17/submission.json (mode 0600 in a folder of mode 0700).  An abstract class, since files are an
/// adapter's matter; apps/ gives it adapters/posix.
class CaseStore {
 public:
  virtual ~CaseStore() = default;
  /// Durable on return; what fails leaves nothing behind.  Errors: storage_full, storage_broken, bad_input
  /// (too long to be read again).
  virtual Status save(std::int64_t case_no, const Submission& submission) = 0;
  /// Errors: not_found, storage_broken.
  virtual Result<Submission> load(std::int64_t case_no) = 0;
  /// One that is not there is no error.  Errors: denied, storage_broken.
  virtual Status remove(std::int64_t case_no) = 0;
  /// The numbers of all that are there, in no order.  Errors: denied, storage_broken.
  virtual Result<std::vector<std::int64_t>> list() const = 0;
};

}  // namespace sickbay
