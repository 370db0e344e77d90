// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/record.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "apps/cli/cases/batch_script.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

constexpr int kRecordVersion = 1;
constexpr std::size_t kMostRecordBytes = 64 << 20;

std::string record_path(const Objects& objects, const std::string& case_name) {
  return fmt::format("{}/records/{}.json", objects.folder(), case_name);
}

// The file that sbatch reads the script from, as the kernel names it; "" for none.
std::string script_file(const SbatchLine& line, const std::string& work_dir) {
  if (!line.script) return {};
  const char* variable = std::getenv("PATH");
  char* real = ::realpath(script_path(line, work_dir, variable == nullptr ? "" : variable).c_str(), nullptr);
  std::string path = real == nullptr ? "" : real;
  std::free(real);
  return path;
}

}  // namespace

Json Record::to_json() const {
  Json kept = Json::array();
  for (const KeptFile& file : files)
    kept.push(Json::object({{"path", file.path}, {"digest", file.digest}, {"mode", file.mode}}));
  return Json::object({{"version", kRecordVersion},
                       {"case", case_name},
                       {"script_digest", script_digest},
                       {"script_path", script_path},
                       {"own", own},
                       {"submission", submission.to_json()},
                       {"files", std::move(kept)}});
}

Result<Record> Record::from_json(const Json& json) {
  if (json["version"].as_int() > kRecordVersion)
    return fail(ErrorCode::too_new, "a newer Sickbay recorded this submission");
  auto submission = Submission::from_json(json["submission"]);
  if (!submission) return fail(submission.error());
  Record record{json["case"].as_string(),        json["script_digest"].as_string(),
                json["script_path"].as_string(), json["own"].as_strings(),
                std::move(*submission),          {}};
  for (const Json& file : json["files"].items())
    record.files.push_back({file["path"].as_string(), file["digest"].as_string(),
                            static_cast<unsigned>(file["mode"].as_int()) & 0777U});
  return record;
}

Result<Record> keep_submission(const SbatchLine& line, const Submission& submission, const Inputs& inputs) {
  const Objects objects(submission.work_dir);
  if (auto made = objects.make(); !made) return fail(made.error());
  Record record{{}, inputs.script_digest, script_file(line, submission.work_dir), {}, submission, {}};
  for (const GivenOption& given : line.own)
    // (--json is of the one who asks, not of the submission.)
    if (given.name != "json") record.own.push_back(given.text());
  if (auto kept = objects.keep_text(submission.script); !kept) return fail(kept.error());
  for (const InputFile& file : inputs.files) {
    if (file.digest.empty()) {
      warn(Error(ErrorCode::conflict, file.path + " is too long to be kept")
               .because(fmt::format("it has {} bytes", file.size))
               .remedied_by("keep a copy of it yourself where you may want it back"));
      continue;
    }
    auto digest = objects.keep_file(file.path);
    if (!digest) return fail(digest.error());
    // The case is told of the digest that was taken first: both must be of the same contents.
    if (*digest != file.digest)
      return fail(Error(ErrorCode::conflict, file.path + " changed while it was recorded")
                      .remedied_by("wait for what writes to it, and submit again"));
    struct stat about = {};
    const bool seen = ::stat(file.path.c_str(), &about) == 0;
    record.files.push_back({file.path, *digest, seen ? about.st_mode & 0777U : 0644U});
  }
  return record;
}

Status write_record(const Objects& objects, const Record& record) {
  return write_durably(record_path(objects, record.case_name), record.to_json().pretty(), 0600);
}

Result<Record> read_record(const Objects& objects, const std::string& case_name,
                           const std::string& script_digest) {
  const std::string path = record_path(objects, case_name);
  auto text = read_file(path, kMostRecordBytes);
  if (!text && text.error().code == ErrorCode::not_found)
    return fail(
        Error(ErrorCode::not_found, fmt::format("what was submitted as {} was not recorded", case_name))
            .because("there is no " + path)
            .remedied_by("a job can be gone back in when it was submitted with 'sickbay submit "
                         "--record', where its folder is seen"));
  if (!text) return fail(text.error());
  auto json = Json::parse(*text);
  auto record = json ? Record::from_json(*json) : Result<Record>(fail(json.error()));
  if (!record) return fail(std::move(record.error()).in("reading " + path));
  // Case numbers begin anew where a journal was lost.
  if (record->case_name != case_name || record->script_digest != script_digest)
    return fail(
        Error(ErrorCode::conflict, fmt::format("{} is of another submission", path))
            .because("its script, arguments or options are not those that the history of this job has")
            .remedied_by("submit the job again, with --record"));
  return record;
}

}  // namespace sickbay::cli
