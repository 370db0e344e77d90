// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/leaving_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "adapters/posix/files.h"
#include "model/leaving.h"

namespace sickbay {

std::optional<TimePoint> LeavingFile::shown() const {
  const auto text = read_file(path_, kMostLeavingBytes);
  const auto since = text ? parse_leaving(*text) : Result<TimePoint>(tl::unexpected<Error>(text.error()));
  return since ? std::optional(*since) : std::nullopt;
}

Status LeavingFile::show(std::optional<TimePoint> since) const {
  if (!since) {
    if (::unlink(path_.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
    return fail(file_error(errno, "remove", path_));
  }
  const std::string folder = path_.substr(0, path_.rfind('/'));
  if (auto made = make_folder(folder, 0755); !made) return made;
  // (Whatever umask the agent was started with.)
  if (::chmod(folder.c_str(), 0755) != 0) return fail(file_error(errno, "open to all the folder", folder));
  return write_durably(path_, format_leaving(*since), 0644);
}

}  // namespace sickbay
