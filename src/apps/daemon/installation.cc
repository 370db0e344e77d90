// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/installation.h"

#include "adapters/posix/files.h"
#include "adapters/posix/installed_file.h"
#include "apps/daemon/accounts.h"

namespace sickbay {
namespace {
constexpr std::size_t kScriptBound = 4 << 20;
}  // namespace

Result<Effects::Verification> verification_for(const Config& config) {
  auto account = account_named(config.verify.user);
  if (!account) return fail(std::move(account.error()).in("looking for 'verify.user'"));
  const std::string path =
      config.verify.script.empty() ? installed_file("sickbay-verify.sh") : config.verify.script;
  if (path.empty())
    return fail(
        Error(ErrorCode::not_found, "the shipped verification script sickbay-verify.sh is not installed")
            .remedied_by("install Sickbay again, or name a script in 'verify.script'"));
  auto script = read_file(path, kScriptBound);
  if (!script)
    return fail(std::move(script.error())
                    .in("reading the verification script")
                    .remedied_by("correct 'verify.script' in the configuration"));
  if (!script->starts_with("#!"))
    return fail(Error(ErrorCode::bad_input, "the verification script " + path + " does not begin with #!")
                    .remedied_by("begin it with #!/bin/sh"));
  Effects::Verification v;
  v.uid = account->uid;
  v.gid = account->gid;
  if (!config.notify.command.empty()) {
    auto teller = account_named(config.notify.user);
    if (!teller) return fail(std::move(teller.error()).in("reading 'notify.user'"));
    v.notify_uid = teller->uid;
    v.notify_gid = teller->gid;
  }
  v.script = std::move(*script);
  v.environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
                   "SICKBAY_VERIFY_OPTS=" + config.verify.options};
  const std::string program =
      config.verify.program.empty() ? installed_file("sickbay-verify") : config.verify.program;
  if (!program.empty()) v.environment.push_back("SICKBAY_VERIFY=" + program);
  if (!config.verify.baseline.empty())
    v.environment.push_back("SICKBAY_VERIFY_BASELINE=" + config.verify.baseline);
  v.environment.insert(v.environment.end(), config.verify.environment.begin(),
                       config.verify.environment.end());
  return v;
}

}  // namespace sickbay
