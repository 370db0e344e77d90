// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/things.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "adapters/posix/files.h"
#include "apps/cli/child.h"
#include "apps/folder/file_look.h"
#include "base/digest/sha256.h"

namespace sickbay::cli {
namespace {

constexpr std::string_view kFileKey = "file:";

std::string folder_above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What it holds now, and its mode; "" where there is none.
Status look_now(Thing& thing) {
  auto file = look_at_file(thing.path, std::numeric_limits<std::uint64_t>::max());
  if (!file && file.error().code == ErrorCode::not_found) {
    thing.now.clear();
    return {};
  }
  if (!file) return fail(file.error());
  thing.now = file->digest;
  struct stat about = {};
  if (::stat(thing.path.c_str(), &about) == 0) thing.mode = about.st_mode & 0777U;
  return {};
}

}  // namespace

Result<std::vector<Thing>> look_at_things(const Json& work, const Record& record) {
  std::vector<Thing> things;
  for (const auto& [key, value] : work.members()) {
    if (!key.starts_with(kFileKey)) continue;
    Thing thing{key, key.substr(kFileKey.size()), value.as_string(), {}};
    if (const auto kept = std::ranges::find(record.files, thing.path, &KeptFile::path);
        kept != record.files.end())
      thing.mode = kept->mode;
    things.push_back(std::move(thing));
  }
  const std::string script = work["script"].as_string();
  if (!record.script_path.empty() &&
      std::ranges::find(things, record.script_path, &Thing::path) == things.end())
    things.push_back(
        {"script", record.script_path, script.empty() ? sha256_hex(record.submission.script) : script, {}});
  for (Thing& thing : things)
    if (auto looked = look_now(thing); !looked) return fail(looked.error());
  return things;
}

Status can_put_back(const Objects& objects, const Thing& thing) {
  if (!thing.differs()) return {};
  if (!thing.digest.empty())
    if (auto there = objects.check(thing.digest); !there) {
      Error error = there.error();
      error.what = fmt::format("{} cannot be put back: {}", thing.path, error.what);
      if (error.code == ErrorCode::not_found)
        error.remedy_text = "put the file back yourself; 'sickbay submit --record' keeps what a job reads";
      return fail(std::move(error));
    }
  // The folder and not the file: it is replaced by a rename.
  if (::access(folder_above(thing.path).c_str(), W_OK | X_OK) != 0)
    return fail(file_error(errno, "change files of", folder_above(thing.path)));
  return {};
}

Status put_back(const Objects& objects, Thing& thing) {
  // (Again: the job may have written to it until it was ended.)
  if (auto looked = look_now(thing); !looked) return looked;
  if (!thing.differs()) return {};
  if (!thing.now.empty()) {
    auto kept = objects.keep_file(thing.path);
    if (!kept) return fail(std::move(kept.error()).in("keeping what is there before it is replaced"));
    thing.now = *kept;
  }
  if (!thing.digest.empty()) return objects.put_back(thing.digest, thing.path, thing.mode);
  if (::unlink(thing.path.c_str()) != 0) return fail(file_error(errno, "remove", thing.path));
  return {};
}

std::string diff_text(const Objects& objects, const std::string& from, const std::string& to,
                      const std::string& name, std::size_t most) {
  const auto side = [&](const std::string& digest) {
    return digest.empty() ? std::string("/dev/null") : objects.path_of(digest);
  };
  std::string text;
  const auto code = run_child({{"diff", "-u", "--label", name, "--label", name, side(from), side(to)}, {}},
                              [&](std::string_view line) {
                                if (text.size() < most) text += line;
                              });
  // diff ends with 1 where the files differ; more is an error, and then there is no text.
  if (!code || *code > 1) return {};
  return text.substr(0, most);
}

Json change_json(const std::string& key, const std::string& from, const std::string& to,
                 const std::string& diff) {
  Json json = Json::object({{"key", key}, {"from", from}, {"to", to}});
  if (!diff.empty()) json.set("diff", diff);
  return json;
}

}  // namespace sickbay::cli
