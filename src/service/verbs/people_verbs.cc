// SPDX-License-Identifier: Apache-2.0
// Verbs that tell people.  Telling twice is better than not at all, so nothing is looked up before a second
// try.
#include <array>

#include "model/verbs.h"
#include "ports/process_runner.h"
#include "service/config.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

// The site's own command hears of a finding on its standard input, as a user without rights.
void notify(VerbTools& tools, const Command& command, bool, Answer answer) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", tools.config.notify.command};
  spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  spec.input = command.args["finding"].dump() + "\n";
  spec.as_user = ProcessSpec::Credentials{tools.config.notify.user, tools.verification.notify_uid,
                                          tools.verification.notify_gid};
  tools.processes.run(std::move(spec), [answer](Result<ProcessOutcome> r) {
    if (!r) return answer(fail(r.error()));
    if (r->exit_code != 0)
      return answer(
          fail(Error(ErrorCode::os, "the command of notify.command failed")
                   .because(r->timed_out ? "it took over 30 s" : r->err.substr(0, r->err.find('\n')))));
    answer(Json::object());
  });
}

}  // namespace

std::span<const VerbRow> people_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({{verb::kNotify, notify}});
  return kRows;
}

}  // namespace sickbay
