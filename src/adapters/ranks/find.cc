// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "adapters/ranks/mapped.h"
#include "base/words.h"
#include "model/task_ids.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostEnvironment = 1 << 20;
constexpr std::size_t kMostWorldName = 80;

std::optional<std::int64_t> count_in(std::string_view text) {
  const auto value = to_integer(text);
  if (!value || *value < 0 || *value > kMostTaskId) return std::nullopt;
  return value;
}

// One process that may be a rank.
struct Candidate {
  RankNumber number;
  const node::ProcessTable::Process* process = nullptr;
};

bool has_mpi(const node::Tree& tree, std::int64_t pid) {
  return std::ranges::any_of(mapped_by(tree, pid),
                             [](const Mapped& one) { return is_mpi_library(one.path); });
}

// Of the processes of one rank the one that computes; nullptr where that cannot be told.
const Candidate* choose(const node::Tree& tree, const std::vector<const Candidate*>& same) {
  const auto parent_in = [&](const Candidate* child) {
    return std::ranges::find_if(same, [&](const Candidate* c) {
             return c->process->stat.pid == child->process->stat.parent;
           }) != same.end();
  };
  std::vector<const Candidate*> tops;
  for (const Candidate* one : same)
    if (!parent_in(one)) tops.push_back(one);
  // Two trees: two programs have the same number.
  if (tops.size() != 1) return nullptr;
  // From the top down: srun starts a shell, that a wrapper, that the program, and all have the rank's
  // variables.
  for (const Candidate* at = tops[0];;) {
    if (same.size() == 1 || has_mpi(tree, at->process->stat.pid)) return at;
    const Candidate* child = nullptr;
    std::size_t children = 0;
    for (const Candidate* one : same)
      if (one->process->stat.parent == at->process->stat.pid) child = one, ++children;
    // A shell waits for its one child; whoever runs or has several is no mere shell.
    if (children != 1 || at->process->stat.state != 'S') return at;
    at = child;
  }
}

void sort_ranks(std::vector<FoundRank>& ranks) {
  std::ranges::sort(ranks, [](const FoundRank& a, const FoundRank& b) {
    return std::tie(a.number.world, a.number.rank, a.pid) < std::tie(b.number.world, b.number.rank, b.pid);
  });
}

std::string shown(const RankNumber& n) { return fmt::format("rank {} of {}", n.rank, n.world); }

// The worlds whose processes started ranks of another: Open MPI's mpirun has srun start an orted on each
// node, with srun's numbers, and the ranks below it have PMIx's.  An orted waits in no call of MPI; taken for
// a rank it would look like one that is busy, and no hang would ever be told.
std::set<std::string> worlds_of_servants(const std::vector<node::ProcessTable::Process>& list,
                                         const std::vector<Candidate>& candidates) {
  std::map<std::int64_t, std::int64_t> parents;
  for (const auto& process : list) parents.emplace(process.stat.pid, process.stat.parent);
  std::map<std::int64_t, const Candidate*> by_pid;
  for (const Candidate& one : candidates) by_pid.emplace(one.process->stat.pid, &one);
  std::set<std::string> worlds;
  for (const Candidate& one : candidates) {
    if (!one.number.by_mpi) continue;
    std::size_t steps =
        parents.size();  // (a table that was read while processes came and went may have a ring)
    for (auto at = parents.find(one.process->stat.parent); at != parents.end() && steps > 0;
         at = parents.find(at->second), --steps)
      if (const auto above = by_pid.find(at->first); above != by_pid.end() && !above->second->number.by_mpi &&
                                                     above->second->number.world != one.number.world)
        worlds.insert(above->second->number.world);
  }
  return worlds;
}

}  // namespace

RankNumber rank_number(std::string_view environment) {
  std::optional<std::int64_t> ompi, ompi_size, pmix, pmi, pmi_size, slurm, slurm_size;
  std::string_view step, space;
  const struct {
    std::string_view name;
    std::optional<std::int64_t>* number;
    std::string_view* text;
  } rows[] = {{"OMPI_COMM_WORLD_RANK", &ompi, nullptr},
              {"OMPI_COMM_WORLD_SIZE", &ompi_size, nullptr},
              {"PMIX_RANK", &pmix, nullptr},
              {"PMIX_NAMESPACE", nullptr, &space},
              {"PMI_RANK", &pmi, nullptr},
              {"PMI_SIZE", &pmi_size, nullptr},
              {"SLURM_PROCID", &slurm, nullptr},
              {"SLURM_STEP_NUM_TASKS", &slurm_size, nullptr},
              {"SLURM_STEP_ID", nullptr, &step}};
  while (!environment.empty()) {
    const std::string_view entry = next_part(environment, '\0');
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    for (const auto& row : rows) {
      if (entry.substr(0, equals) != row.name) continue;
      if (row.number != nullptr) *row.number = count_in(entry.substr(equals + 1));
      if (row.text != nullptr) *row.text = entry.substr(equals + 1, kMostWorldName);
    }
  }
  RankNumber found;
  // MPI's own number before srun's: mpirun may place ranks otherwise than srun counts its tasks.
  found.by_mpi = ompi || pmix || pmi;
  found.rank = ompi ? *ompi : pmix ? *pmix : pmi ? *pmi : -1;
  found.size = ompi ? ompi_size.value_or(-1) : pmi && !pmix ? pmi_size.value_or(-1) : -1;
  // srun's numbers are those of a launcher's own processes where that launcher gave numbers of its own; a
  // batch script has SLURM_PROCID=0, and is no rank.
  if (!found.by_mpi && slurm && !step.empty()) found.rank = *slurm;
  if (found.size < 0 && slurm && (!found.by_mpi || *slurm == found.rank))
    found.size = slurm_size.value_or(-1);
  // Two programs that run at once must not be taken for one.  PMIx names each; srun's own name is the step.
  if (found.rank >= 0)
    found.world = !space.empty() && (ompi || pmix) ? std::string(space)
                  : !step.empty()                  ? fmt::format("step {}", step)
                                                   : "script";
  return found;
}

Result<FoundRanks> find_ranks(node::ProcessTable& table, std::int64_t job, std::int64_t uid) {
  const auto list = table.all();
  if (!list) return fail(list.error());
  FoundRanks found;
  found.uid = uid;
  std::vector<Candidate> candidates;
  std::map<std::string, bool> launched_by_mpi;  // by world
  for (node::ProcessTable::Process& process : **list) {
    if (table.job(process) != job || process.stat.state == 'Z') continue;
    const auto owner = table.uid(process);
    if (!owner || (uid < 0 && *owner == 0)) continue;  // slurmstepd and its helpers
    if (found.uid < 0) found.uid = *owner;
    if (*owner != found.uid) {
      if (uid >= 0) continue;
      return fail(Error(ErrorCode::conflict, fmt::format("job {} has processes of several users here", job))
                      .remedied_by("name one with --uid"));
    }
    const auto environment =
        table.tree().read(fmt::format("/proc/{}/environ", process.stat.pid), kMostEnvironment);
    if (!environment) {
      // (Not found: it has ended meanwhile, which is nothing to be told.)
      if (environment.error().code != ErrorCode::not_found)
        found.unread.push_back({fmt::format("process {} ({})", process.stat.pid, process.stat.name),
                                "its environment: " + environment.error().what});
      continue;
    }
    Candidate one{rank_number(*environment), &process};
    if (one.number.rank < 0) continue;
    launched_by_mpi[one.number.world] |= one.number.by_mpi;
    candidates.push_back(std::move(one));
  }
  for (const std::string& world : worlds_of_servants(**list, candidates)) launched_by_mpi[world] = true;
  std::map<std::pair<std::string, std::int64_t>, std::vector<const Candidate*>> by_number;
  // In a world whose ranks have MPI's numbers, those with srun's alone are helpers of the launcher.
  for (const Candidate& one : candidates)
    if (one.number.by_mpi || !launched_by_mpi[one.number.world])
      by_number[{one.number.world, one.number.rank}].push_back(&one);
  for (const auto& [number, same] : by_number) {
    const Candidate* chosen = choose(table.tree(), same);
    if (chosen == nullptr) {
      found.unread.push_back(
          {shown(same[0]->number), fmt::format("{} programs here have this number", same.size())});
      continue;
    }
    const node::ProcessStat& stat = chosen->process->stat;
    found.ranks.push_back({chosen->number, stat.pid, stat.started, stat.name});
  }
  sort_ranks(found.ranks);
  if (found.ranks.size() > kMostRanksOfNode) {
    found.unread.push_back({fmt::format("{} ranks", found.ranks.size() - kMostRanksOfNode),
                            fmt::format("only {} of a node are looked at", kMostRanksOfNode)});
    found.ranks.resize(kMostRanksOfNode);
  }
  return found;
}

Result<FoundRanks> name_ranks(node::ProcessTable& table, const std::vector<std::int64_t>& pids) {
  const auto list = table.all();
  if (!list) return fail(list.error());
  FoundRanks found;
  std::int64_t place = -1;
  for (const std::int64_t pid : pids) {
    ++place;
    const auto process = std::ranges::find(**list, pid, [](const auto& p) { return p.stat.pid; });
    const auto owner = process == (*list)->end() ? std::nullopt : table.uid(*process);
    if (!owner) {
      found.unread.push_back({fmt::format("process {}", pid), "there is none"});
      continue;
    }
    if (found.uid >= 0 && *owner != found.uid)
      return fail(Error(ErrorCode::conflict, "the processes belong to several users")
                      .because("the files of a user are read with his rights")
                      .remedied_by("look at those of one user at a time"));
    found.uid = *owner;
    RankNumber number;
    if (const auto environment = table.tree().read(fmt::format("/proc/{}/environ", pid), kMostEnvironment))
      number = rank_number(*environment);
    if (number.rank < 0) number = {"processes", place, static_cast<std::int64_t>(pids.size()), false};
    found.ranks.push_back({number, pid, process->stat.started, process->stat.name});
  }
  sort_ranks(found.ranks);
  return found;
}

}  // namespace sickbay::ranks
