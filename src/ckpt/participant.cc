// SPDX-License-Identifier: Apache-2.0
#include "ckpt/participant.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::ckpt {
namespace {

constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;
constexpr std::size_t kMostSession = 100;

std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto number = to_integer(text);
  return number && *number >= 0 && *number <= kMostNumber ? number : std::nullopt;
}

// Fit for the name of a file.
bool is_session(std::string_view text) {
  return !text.empty() && text.size() <= kMostSession && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '.' || c == '-' ||
                  c == '_';
         });
}

class Reader {
 public:
  explicit Reader(const Variable& variable) : variable_(variable) {}
  // The first of these that is set.
  std::optional<std::int64_t> number(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const std::string text = variable_(name);
      if (text.empty()) continue;
      const auto read = whole_number(text);
      if (!read && wrong_.empty()) wrong_ = fmt::format("{} is {}", name, quote_for_message(text));
      return read;
    }
    return std::nullopt;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Variable& variable_;
  std::string wrong_;
};

tl::unexpected<Error> usage(std::string what, std::string remedy) {
  return fail(Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy)));
}

}  // namespace

Result<Participant> participant_from(const Variable& variable, const Known& known, std::uint32_t uid,
                                     const std::string& host, const std::string& unique) {
  Reader read(variable);
  Participant me;
  // (Second names are those of older versions of Slurm.)
  const auto in_job = read.number({"SLURM_JOB_ID", "SLURM_JOBID"});
  const auto job = known.job ? known.job : in_job;
  // The two highest numbers are Slurm's INFINITE and NO_VAL.
  if (job.value_or(0) < 1 || *job > 0xfffffffdLL)
    return usage(
        read.wrong().empty() ? "no job is named" : read.wrong(),
        "run it in a job of Slurm, or name the job: SICKBAY_CHECKPOINT_JOB=N (sickbay-ckpt: or --job N)");
  me.job = static_cast<JobId>(*job);
  me.in_job = static_cast<JobId>(in_job.value_or(*job));
  me.restart = read.number({"SLURM_RESTART_COUNT"}).value_or(0);
  me.uid = static_cast<std::uint32_t>(read.number({"SLURM_JOB_UID"}).value_or(uid));
  me.node = variable("SLURMD_NODENAME");
  if (me.node.empty()) me.node = host;
  me.node_number = read.number({"SLURM_NODEID"}).value_or(0);

  // In a step Slurm's numbers hold; those of PMI only where mpiexec starts the processes without a step.
  const auto step = read.number({"SLURM_STEP_ID", "SLURM_STEPID"});
  const bool slurms = in_job && step;
  const bool without = !variable("PMI_RANK").empty() && !step;
  const auto rank = slurms ? read.number({"SLURM_PROCID"})
                           : (without ? read.number({"PMI_RANK"}) : std::optional<std::int64_t>());
  const auto ranks = slurms ? read.number({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"})
                            : (without ? read.number({"PMI_SIZE"}) : std::optional<std::int64_t>());
  me.rank = known.rank.value_or(rank.value_or(0));
  me.ranks = known.ranks.value_or(ranks.value_or(1));
  me.nodes = std::max<std::int64_t>(
      slurms ? read.number({"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"}).value_or(1)
             : read.number({"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}).value_or(1),
      1);
  if (const auto end = read.number({"SLURM_JOB_END_TIME"}); end && *end > 0 && *end < (1LL << 40))
    me.job_end = from_unix_seconds(*end);
  if (!read.wrong().empty()) return usage(read.wrong(), "unset it, or let Slurm set it");
  if (me.ranks < 1 || me.ranks > kMostRanks || me.rank < 0 || me.rank >= me.ranks)
    return usage(fmt::format("rank {} of {} processes", me.rank, me.ranks),
                 "ranks begin at 0: --rank R --ranks N, or PMI_RANK and PMI_SIZE");

  me.session = known.session.empty() ? variable("SICKBAY_SESSION") : known.session;
  // Job, restart and step: no later step has that name again.
  if (me.session.empty() && slurms) me.session = fmt::format("{}.{}.{}", me.in_job, me.restart, *step);
  if (me.session.empty() && me.ranks == 1) me.session = unique;
  if (me.session.empty())
    return usage("several processes without a step of Slurm's: nothing tells which belong together",
                 "set SICKBAY_SESSION to a name that is the same for all of them and new for each start: "
                 "SICKBAY_SESSION=run-$(date +%s) mpiexec ...");
  if (!is_session(me.session))
    return usage(fmt::format("{} cannot be the name of a session", quote_for_message(me.session)),
                 "take up to 100 letters, digits, '.', '-' and '_'");
  return me;
}

Result<std::string> fill_in(const std::string& pattern, const Participant& me) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    const char letter = ++i < pattern.size() ? pattern[i] : '\0';
    if (letter == 't')
      text += fmt::format("{}", me.rank);
    else if (letter == 'n')
      text += fmt::format("{}", me.node_number);
    else if (letter == 'N')
      text += me.node;
    else if (letter == 'j')
      text += fmt::format("{}", me.job);
    else if (letter == '%')
      text += '%';
    else
      return usage(
          fmt::format("{}: there is no %{}", quote_for_message(pattern), letter == '\0' ? ' ' : letter),
          "%t is the rank, %n the number of the node, %N its name, %j the job, %% a percent sign");
  }
  return text;
}

bool differs_by_process(const std::string& pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
    if (pattern[i] == '%') {
      if (pattern[i + 1] == 't' || pattern[i + 1] == 'n' || pattern[i + 1] == 'N') return true;
      ++i;
    }
  return false;
}

}  // namespace sickbay::ckpt
