// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/option_fates.h"

#include <algorithm>
#include <array>

namespace sickbay::slurm {
namespace {

using enum Fate;
// clang-format off
constexpr auto kFates = std::to_array<FateRow>({
    {"account", kept, "the same budget pays"},
    {"acctg-freq", kept, "how it is measured"},
    {"array", kept, "whoever orders says which task"},
    {"batch", kept, "what it needs"},
    {"bb", refused, "its burst buffer would be filled and emptied a second time"},
    {"bbf", refused, "its burst buffer would be filled and emptied a second time"},
    {"begin", dropped, "it starts now"},
    {"chdir", kept, "where it runs; a copy of the folder takes its place"},
    {"cluster-constraint", refused, "it is for jobs that are sent to other clusters"},
    {"clusters", refused, "a re-run is a job of this cluster"},
    {"comment", replaced, "ours has its key behind the user's own"},
    {"consolidate-segments", kept, "where it may run"},
    {"constraint", kept, "what it needs"},
    {"container", kept, "what it runs in"},
    {"container-id", kept, "what it runs in"},
    {"context", kept, "what it runs in"},
    {"contiguous", kept, "where it may run"},
    {"core-spec", kept, "what it needs"},
    {"cores-per-socket", kept, "what it needs"},
    {"cpu-freq", kept, "how fast it runs"},
    {"cpus-per-gpu", kept, "what it needs"},
    {"cpus-per-task", kept, "what it needs"},
    {"deadline", dropped, "it may have passed"},
    {"delay-boot", kept, "how long its nodes may take"},
    {"dependency", dropped, "what it waited for is over, or waits for its first run"},
    {"distribution", kept, "where its tasks are"},
    {"error", replaced, "a file of the case, never one of the user's"},
    {"exclude", replaced, "ours has more nodes"},
    {"exclusive", kept, "what it needs"},
    {"export", replaced, "by the saved environment"},
    {"export-file", dropped, "the file may have changed; the saved environment takes its place"},
    {"extra", kept, "words for the site"},
    {"extra-node-info", kept, "what it needs"},
    {"get-user-env", kept, "what it runs in"},
    {"gid", dropped, "it runs as its owner"},
    {"gpu-bind", kept, "where its tasks are"},
    {"gpu-freq", kept, "how fast it runs"},
    {"gpus", kept, "what it needs"},
    {"gpus-per-node", kept, "what it needs"},
    {"gpus-per-socket", kept, "what it needs"},
    {"gpus-per-task", kept, "what it needs"},
    {"gres", kept, "what it needs"},
    {"gres-flags", kept, "what it needs"},
    {"help", replaced, "nobody reads it"},
    {"hint", kept, "where its tasks are"},
    {"hold", dropped, "we release it ourselves"},
    {"ignore-pbs", kept, "how its script is read"},
    {"input", kept, "it is only read"},
    {"job-name", kept, "programs read it"},
    {"kill-on-invalid-dep", silent, "it depends on nothing"},
    {"licenses", kept, "what it needs"},
    {"mail-type", silent, "a re-run is nobody's mail"},
    {"mail-user", silent, "a re-run is nobody's mail"},
    {"mcs-label", kept, "who may see it"},
    {"mem", kept, "what it needs"},
    {"mem-bind", kept, "where its tasks are"},
    {"mem-per-cpu", kept, "what it needs"},
    {"mem-per-gpu", kept, "what it needs"},
    {"mincpus", kept, "what it needs"},
    {"network", kept, "what it needs"},
    {"nice", kept, "it waits as long"},
    {"no-kill", kept, "what a lost node does to it"},
    {"no-requeue", kept, "what Slurm may do with it; a program may requeue itself"},
    {"nodefile", dropped, "it runs elsewhere"},
    {"nodelist", dropped, "it runs elsewhere"},
    {"nodes", kept, "what it needs"},
    {"ntasks", kept, "what it needs"},
    {"ntasks-per-core", kept, "where its tasks are"},
    {"ntasks-per-gpu", kept, "what it needs"},
    {"ntasks-per-node", kept, "where its tasks are"},
    {"ntasks-per-socket", kept, "where its tasks are"},
    {"ntasks-per-tres", kept, "what it needs"},
    {"oom-kill-step", kept, "what a lack of memory does to it"},
    {"open-mode", kept, "of files of the case"},
    {"output", replaced, "a file of the case, never one of the user's"},
    {"overcommit", kept, "what it needs"},
    {"oversubscribe", kept, "what it needs"},
    {"parsable", replaced, "we read what sbatch says"},
    {"partition", kept, "where it may run"},
    {"power", kept, "how fast it runs"},
    {"prefer", kept, "where it may run"},
    {"priority", silent, "our release gives it the usual one anyway"},
    {"profile", kept, "how it is measured"},
    {"propagate", kept, "the limits that it runs under"},
    {"qos", kept, "the same budget pays"},
    {"quiet", replaced, "we read what sbatch says"},
    {"reboot", dropped, "no node is booted for a re-run"},
    {"requeue", kept, "what Slurm may do with it; a program may requeue itself (not 'expedite': program_order.cc)"},
    {"reservation", kept, "where it may run"},
    {"resv-ports", kept, "what it needs"},
    {"segment", kept, "where it may run"},
    {"signal", kept, "it reaches its own processes only"},
    {"sockets-per-node", kept, "what it needs"},
    {"spread-job", kept, "where it may run"},
    {"spread-segments", kept, "where it may run"},
    {"stepmgr", kept, "how its steps start"},
    {"switches", kept, "where it may run"},
    {"test-only", dropped, "it is to run"},
    {"thread-spec", kept, "what it needs"},
    {"threads-per-core", kept, "what it needs"},
    {"time", kept, "as long as the first time"},
    {"time-min", kept, "as long as the first time"},
    {"tmp", kept, "what it needs"},
    {"tres-bind", kept, "where its tasks are"},
    {"tres-per-task", kept, "what it needs"},
    {"uid", dropped, "it runs as its owner"},
    {"usage", replaced, "nobody reads it"},
    {"use-min-nodes", kept, "what it needs"},
    {"verbose", silent, "we read what sbatch says"},
    {"version", replaced, "nobody reads it"},
    {"wait", dropped, "nobody waits for it"},
    {"wait-all-nodes", kept, "when it begins"},
    {"wckey", kept, "the same budget pays"},
    {"wrap", kept, "it is the program"},
});
// clang-format on
static_assert(std::ranges::is_sorted(kFates, {}, &FateRow::name), "looked up by bisection");

const FateRow* row_of(std::string_view option) {
  const auto at = std::ranges::lower_bound(kFates, option, {}, &FateRow::name);
  return at != kFates.end() && at->name == option ? &*at : nullptr;
}

}  // namespace

std::span<const FateRow> option_fates() { return kFates; }

std::optional<Fate> fate_of(std::string_view option) {
  const FateRow* row = row_of(option);
  if (row == nullptr || row->fate == kept) return {};
  return row->fate;
}

std::string_view reason_of(std::string_view option) {
  const FateRow* row = row_of(option);
  return row == nullptr ? std::string_view() : row->why;
}

}  // namespace sickbay::slurm
