// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/case_folders.h"

#include <unistd.h>

#include "adapters/posix/files.h"

namespace sickbay {
namespace {
constexpr std::size_t kSubmissionBound = 16 << 20;
constexpr const char* kFile = "/submission.json";
}  // namespace

std::string CaseFolders::folder_of(std::int64_t case_no) const { return folder_ + "/" + case_name(case_no); }

Status CaseFolders::save(std::int64_t case_no, const Submission& submission) {
  if (auto made = make_folder(folder_of(case_no), 0700); !made) return made;
  return write_durably(folder_of(case_no) + kFile, submission.to_json().dump(), 0600);
}

Result<Submission> CaseFolders::load(std::int64_t case_no) {
  auto text = read_file(folder_of(case_no) + kFile, kSubmissionBound);
  if (!text) return fail(std::move(text.error()).in("looking for what was submitted"));
  auto json = Json::parse(*text);
  if (!json)
    return fail(ErrorCode::storage_broken, folder_of(case_no) + kFile + " is damaged: " + json.error().what);
  return Submission::from_json(*json);
}

void CaseFolders::remove(std::int64_t case_no) {
  ::unlink((folder_of(case_no) + kFile).c_str());
  ::rmdir(folder_of(case_no).c_str());
}

}  // namespace sickbay
