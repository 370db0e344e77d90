// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/requeue_right.h"

#include <strings.h>

#include <cstdlib>

namespace sickbay::cli {
namespace {

// What sbatch takes a variable for that stands for an option without a value: set, or, with any other value
// than these, taken back (sbatch(1), INPUT ENVIRONMENT VARIABLES).
bool is_set(const char* value) {
  char* end = nullptr;
  return *value == '\0' || ::strcasecmp(value, "expedite") == 0 || ::strcasecmp(value, "yes") == 0 ||
         (std::strtol(value, &end, 10) != 0 && *end == '\0');
}

}  // namespace

bool allows_requeue(const SbatchLine& line, const std::vector<GivenOption>& in_script) {
  const GivenOption* yes = line.last("requeue");
  const GivenOption* no = line.last("no-requeue");
  // sbatch's order: the last word of the command line, then its variables, then the script.
  if (yes || no) return yes && (!no || yes->first > no->first);
  // Of the two this is the one that sbatch reads last.  One that is taken back leaves it to the site,
  // whatever the script says.
  if (const char* variable = std::getenv("SBATCH_REQUEUE")) return is_set(variable);
  if (std::getenv("SBATCH_NO_REQUEUE")) return false;
  bool allowed = false;  // in the script, too, the last one counts
  for (const GivenOption& option : in_script)
    if (option.name == "requeue" || option.name == "no-requeue") allowed = option.name == "requeue";
  return allowed;
}

}  // namespace sickbay::cli
