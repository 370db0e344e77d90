// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/journal_file.h"

#include "adapters/sqlite/journal.h"
#include "apps/cli/answer.h"

namespace sickbay::cli {

Status read_journal_file(const std::string& path, const std::string& subject, std::int64_t after,
                         const std::function<bool(const Event&)>& each) {
  auto journal = open_journal_reader(path);
  if (!journal) return fail(about_path(std::move(journal.error())));
  return subject.empty() ? (*journal)->read(after, each) : (*journal)->read_subject(subject, after, each);
}

}  // namespace sickbay::cli
