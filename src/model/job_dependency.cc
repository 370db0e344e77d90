// SPDX-License-Identifier: Apache-2.0
#include "model/job_dependency.h"

#include <charconv>

#include "base/text.h"

namespace sickbay {

JobDependencies parse_job_dependencies(std::string_view text) {
  JobDependencies found;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(",?"), text.size());
    std::string_view one = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    // "afterok:17(unfulfilled)", as scontrol shows it.
    one = one.substr(0, one.find('('));
    if (equal_ignoring_case(one, "singleton")) found.singleton = true;
    // The first part is the kind; each further one a job, with _TASK or +MINUTES behind it.
    for (auto colon = one.find(':'); colon != std::string_view::npos; colon = one.find(':')) {
      one.remove_prefix(colon + 1);
      JobId id = 0;
      if (std::from_chars(one.data(), one.data() + one.size(), id).ec == std::errc() && id != 0)
        found.jobs.push_back(id);
    }
  }
  return found;
}

}  // namespace sickbay
