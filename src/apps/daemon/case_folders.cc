// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/case_folders.h"

#include <cerrno>
#include <filesystem>

#include "adapters/posix/files.h"

namespace sickbay {
namespace {
constexpr std::size_t kSubmissionBound = 16 << 20;
constexpr const char* kFile = "/submission.json";
}  // namespace

std::string CaseFolders::folder_of(std::int64_t case_no) const { return folder_ + "/" + case_name(case_no); }

Status CaseFolders::save(std::int64_t case_no, const Submission& submission) {
  const std::string text = submission.to_json().dump();
  if (text.size() > kSubmissionBound)
    return fail(Error(ErrorCode::bad_input, "what was submitted takes over 16 MiB to keep")
                    .because("control characters take six bytes each")
                    .remedied_by("put them into a file that the script reads"));
  Status saved = make_folder(folder_of(case_no), 0700);
  if (saved) saved = write_durably(folder_of(case_no) + kFile, text, 0600);
  if (!saved) (void)remove(case_no);  // a case that was never opened has no folder
  return saved;
}

Result<Submission> CaseFolders::load(std::int64_t case_no) {
  auto text = read_file(folder_of(case_no) + kFile, kSubmissionBound);
  if (!text) return fail(std::move(text.error()).in("looking for what was submitted"));
  auto json = Json::parse(*text);
  if (!json)
    return fail(ErrorCode::storage_broken, folder_of(case_no) + kFile + " is damaged: " + json.error().what);
  return Submission::from_json(*json);
}

Status CaseFolders::remove(std::int64_t case_no) {
  // All of it: a write that a crash cut short has left its beginning beside the file.
  std::error_code failed;
  std::filesystem::remove_all(folder_of(case_no), failed);
  if (failed) return fail(file_error(failed.value(), "remove", folder_of(case_no)));
  return {};
}

Result<std::vector<std::int64_t>> CaseFolders::list() const {
  std::vector<std::int64_t> numbers;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder_, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    // What has another name is not ours.
    if (const auto no = parse_case_name(entry->path().filename().string())) numbers.push_back(*no);
  if (failed) return fail(file_error(failed.value(), "read the folder", folder_));
  return numbers;
}

}  // namespace sickbay
