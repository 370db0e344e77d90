// SPDX-License-Identifier: Apache-2.0
// CaseStore on the file system: /var/lib/sickbay/cases/c17/submission.json.
#pragma once
#include <string>

#include "service/case_store.h"

namespace sickbay {

class CaseFolders : public CaseStore {
 public:
  explicit CaseFolders(std::string folder) : folder_(std::move(folder)) {}
  Status save(std::int64_t case_no, const Submission& submission) override;
  Result<Submission> load(std::int64_t case_no) override;
  Status remove(std::int64_t case_no) override;
  Result<std::vector<std::int64_t>> list() const override;

 private:
  std::string folder_of(std::int64_t case_no) const;
  std::string folder_;
};

}  // namespace sickbay
