// SPDX-License-Identifier: Apache-2.0
#include "workload/import/rejects.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kMaxKinds = 200;  // a log of random bytes must not fill the memory with reasons

Error file_trouble(std::string_view doing, const std::string& path, int code) {
  const ErrorCode kind = code == ENOSPC || code == EDQUOT                   ? ErrorCode::storage_full
                         : code == EACCES || code == EPERM || code == EROFS ? ErrorCode::denied
                         : code == ENOENT                                   ? ErrorCode::not_found
                                                                            : ErrorCode::storage_broken;
  Error error(kind, fmt::format("cannot {} the rejects file {}: {}", doing, quote_for_message(path, 200),
                                std::strerror(code)));
  if (kind == ErrorCode::not_found) error.remedy_text = "check the path: its folder must be there";
  return error;
}

}  // namespace

std::string reason_kind(std::string_view reason) {
  std::string kind;
  for (std::size_t i = 0; i < reason.size();) {
    if (reason[i] == '\'') {
      std::size_t j = i + 1;
      while (j < reason.size() && reason[j] != '\'') j += reason[j] == '\\' ? 2 : 1;
      if (j < reason.size()) {
        kind += "'...'";
        i = j + 1;
        if (reason.substr(i).starts_with("...")) i += 3;  // quote_for_message cut it
        continue;
      }
    }
    if (is_digit(reason[i])) {
      kind += 'N';
      while (i < reason.size() && is_digit(reason[i])) ++i;
      continue;
    }
    kind += reason[i++];
  }
  return kind;
}

Result<std::unique_ptr<Rejects>> Rejects::make(const std::string& path, std::size_t sources) {
  std::unique_ptr<Rejects> made(new Rejects);
  made->by_source_.resize(sources);
  made->path_ = path;
  if (!path.empty()) {
    made->file_ = std::fopen(path.c_str(), "we");
    if (made->file_ == nullptr) return fail(file_trouble("make", path, errno));
  }
  return made;
}

Rejects::~Rejects() {
  if (file_ != nullptr) std::fclose(file_);
}

void Rejects::add(std::size_t source, const std::string& name, std::uint64_t line, std::string_view reason,
                  std::string_view record) {
  std::string text;
  if (file_ != nullptr)
    text = Json::object({{"source", name}, {"line", line}, {"reason", reason}, {"record", record}}).dump() +
           "\n";
  std::string kind = reason_kind(reason);
  const std::lock_guard held(lock_);
  if (file_ != nullptr) std::fwrite(text.data(), 1, text.size(), file_);  // close() tells what went wrong
  ++total_;
  ++by_source_[source];
  if (counts_.size() >= kMaxKinds && !counts_.contains({source, kind})) kind = "other reasons";
  RejectCount& count = counts_[{source, std::move(kind)}];
  if (count.records++ == 0 || line < count.first_line) {
    count.first_line = line;
    count.example = reason;
  }
}

Status Rejects::close() {
  if (file_ == nullptr) return {};
  const bool written = std::ferror(file_) == 0;
  errno = 0;
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!written || !closed) return fail(file_trouble("write", path_, errno == 0 ? ENOSPC : errno));
  return {};
}

}  // namespace sickbay::workload
