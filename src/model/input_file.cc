// SPDX-License-Identifier: Apache-2.0
#include "model/input_file.h"

#include <algorithm>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::size_t kPathBound = 4096, kDigestLength = 64;

}  // namespace

bool is_digest(std::string_view text) {
  return text.empty() || (text.size() == kDigestLength && std::ranges::all_of(text, [](char c) {
                            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                          }));
}

Json InputFile::to_json() const {
  Json json = Json::object({{"path", path},
                            {"digest", digest},
                            {"size", static_cast<std::int64_t>(size)},
                            {"mtime", to_micros(mtime)}});
  if (program) json.set("program", true);
  return json;
}

InputFile InputFile::from_json(const Json& json) {
  return {json["path"].as_string(), json["digest"].as_string(),
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, json["size"].as_int())),
          from_micros(json["mtime"].as_int()), json["program"].as_bool()};
}

Result<std::vector<InputFile>> read_inputs(const Json& list) {
  const auto unfit = [](std::string what) {
    return fail(Error(ErrorCode::bad_input, std::move(what))
                    .because("the inputs of a case are files that are looked at again before a re-run")
                    .remedied_by("send what doc/formats/api.md says, or none"));
  };
  if (list.is_null()) return std::vector<InputFile>();
  if (!list.is_array() || list.size() > kMostInputs)
    return unfit("'inputs' of a case must be a list of at most " + std::to_string(kMostInputs) + " files");
  std::vector<InputFile> files;
  for (const Json& one : list.items()) {
    InputFile file = InputFile::from_json(one);
    // The path will be opened by a process of the owner, hours later: it must be one.
    if (!file.path.starts_with('/') || file.path.size() > kPathBound ||
        file.path.find('\0') != std::string::npos)
      return unfit("an input of a case has the path " + quote_for_message(file.path, 80));
    if (!is_digest(file.digest))
      return unfit("an input of a case has the digest " + quote_for_message(file.digest, 80));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace sickbay
