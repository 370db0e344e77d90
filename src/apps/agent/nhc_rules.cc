// SPDX-License-Identifier: Apache-2.0
#include "apps/agent/nhc_rules.h"

#include <fmt/format.h>

#include "adapters/posix/files.h"
#include "base/text.h"
#include "engine/diagnose/nhc_conf.h"

namespace sickbay::agent {

Result<diagnose::NhcImport> read_nhc(const std::string& path, const std::vector<std::string>& names) {
  auto text = read_file(path, diagnose::kMostNhcBytes);
  if (!text) return fail(std::move(text.error()).in("reading " + path));
  return diagnose::import_nhc_here(*text, path, names);
}

std::string describe(const diagnose::NhcImport& made) {
  using How = diagnose::NhcTaken::How;
  std::string text;
  for (const diagnose::NhcTaken& t : made.lines) {
    if (t.how == How::whole || t.how == How::setting || t.how == How::elsewhere) continue;
    text += fmt::format("line {}: {}: {} ({})\n", t.line, to_string(t.how), quote_for_message(t.check, 200),
                        t.note);
  }
  return text + summary_of(made.lines) + "\n";
}

}  // namespace sickbay::agent
