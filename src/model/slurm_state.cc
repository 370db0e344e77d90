// SPDX-License-Identifier: Apache-2.0
#include "model/slurm_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay {
namespace {

// As in slurm.h: a base in the low bits, flags above it, from bit 8 (jobs) and bit 4 (nodes) on.
constexpr std::uint32_t kJobBaseMask = 0xff;
constexpr std::uint32_t kNodeBaseMask = 0x0f;

// clang-format off
constexpr auto kJobBases = std::to_array<JobBaseRow>({
    {JobBase::pending,       "PENDING",       "PD",  false, RunEnd::not_ended, "waits for nodes"},
    {JobBase::running,       "RUNNING",       "R",   false, RunEnd::not_ended, "has its nodes and runs"},
    {JobBase::suspended,     "SUSPENDED",     "S",   false, RunEnd::not_ended, "stopped; its CPUs were given to others"},
    {JobBase::completed,     "COMPLETED",     "CD",  true,  RunEnd::completed, "ended with exit code 0"},
    {JobBase::cancelled,     "CANCELLED",     "CA",  true,  RunEnd::answered,  "cancelled by its owner or an operator"},
    {JobBase::failed,        "FAILED",        "F",   true,  RunEnd::failed,    "ended with another exit code, or could not start"},
    {JobBase::timeout,       "TIMEOUT",       "TO",  true,  RunEnd::failed,    "ran into its time limit"},
    {JobBase::node_fail,     "NODE_FAIL",     "NF",  true,  RunEnd::failed,    "lost a node"},
    {JobBase::preempted,     "PREEMPTED",     "PR",  true,  RunEnd::waits,     "had to make room for another job"},
    {JobBase::boot_fail,     "BOOT_FAIL",     "BF",  true,  RunEnd::failed,    "its nodes did not boot"},
    {JobBase::deadline,      "DEADLINE",      "DL",  true,  RunEnd::answered,  "ended at its deadline"},
    {JobBase::out_of_memory, "OUT_OF_MEMORY", "OOM", true,  RunEnd::answered,  "used more memory than it had asked for"},
});

constexpr auto kJobFlags = std::to_array<JobFlagRow>({
    {JobFlag::launch_failed, "LAUNCH_FAILED", "",   JobBase::failed,    RunEnd::failed, "could not be started on its nodes"},
    {JobFlag::update_db,     "UPDATE_DB",     "",   {},                 {},             "accounting is to be told again"},
    {JobFlag::requeued,      "REQUEUED",      "RQ", JobBase::pending,   RunEnd::waits,  "goes back to the queue"},
    {JobFlag::requeue_hold,  "REQUEUE_HOLD",  "RH", JobBase::pending,   RunEnd::waits,  "goes back to the queue, held"},
    {JobFlag::special_exit,  "SPECIAL_EXIT",  "SE", JobBase::pending,   RunEnd::waits,  "back in the queue, held, for its exit code"},
    {JobFlag::resizing,      "RESIZING",      "RS", JobBase::running,   {},             "about to have more or fewer nodes"},
    {JobFlag::configuring,   "CONFIGURING",   "CF", JobBase::running,   {},             "waits for its nodes to boot"},
    {JobFlag::completing,    "COMPLETING",    "CG", {},                 {},             "its nodes are not free yet (epilog)"},
    {JobFlag::stopped,       "STOPPED",       "ST", JobBase::running,   {},             "stopped by a signal, keeps its CPUs"},
    {JobFlag::reconfig_fail, "RECONFIG_FAIL", "",   {},                 {},             "its nodes could not be set up"},
    {JobFlag::power_up_node, "POWER_UP_NODE", "",   JobBase::running,   {},             "waits for powered-down nodes"},
    {JobFlag::revoked,       "REVOKED",       "RV", JobBase::cancelled, RunEnd::waits,  "runs on another cluster of the federation"},
    {JobFlag::requeue_fed,   "REQUEUE_FED",   "RF", JobBase::pending,   RunEnd::waits,  "requeued by the federation"},
    {JobFlag::resv_del_hold, "RESV_DEL_HOLD", "RD", JobBase::pending,   {},             "held, its reservation was deleted"},
    {JobFlag::signaling,     "SIGNALING",     "SI", JobBase::running,   {},             "a signal is on its way to it"},
    {JobFlag::stage_out,     "STAGE_OUT",     "SO", {},                 {},             "its output is being copied off the burst buffer"},
    {JobFlag::expediting,    "EXPEDITING",    "",   JobBase::pending,   {},             "Slurm puts it back, or looks whether to"},
});

constexpr auto kNodeBases = std::to_array<NodeBaseRow>({
    {NodeBase::unknown,   "UNKNOWN",   "UNK",   false, "slurmctld has not heard of it yet"},
    {NodeBase::down,      "DOWN",      "DOWN",  false, "failed; its jobs have lost it"},
    {NodeBase::idle,      "IDLE",      "IDLE",  true,  "free"},
    {NodeBase::allocated, "ALLOCATED", "ALLOC", true,  "all of it is in use"},
    {NodeBase::error,     "ERROR",     "ERR",   false, "in error; no Slurm since 22.05 sets it"},
    {NodeBase::mixed,     "MIXED",     "MIX",   true,  "a part of it is in use"},
    {NodeBase::future,    "FUTURE",    "FUTR",  false, "not there yet"},
});

constexpr auto kNodeFlags = std::to_array<NodeFlagRow>({
    {NodeFlag::external,         "EXTERNAL",         "PERFCTRS",   0,   true,  "not run by this Slurm alone"},
    {NodeFlag::reserved,         "RESERVED",         "RESV",       0,   false, "in a reservation"},
    {NodeFlag::undrain,          "UNDRAIN",          "",           0,   true,  "a request to lift a drain"},
    {NodeFlag::cloud,            "CLOUD",            "",           0,   true,  "comes from a cloud"},
    {NodeFlag::resume,           "RESUME",           "",           0,   true,  "a request to give it work again"},
    {NodeFlag::drain,            "DRAIN",            "DRAINED",    0,   false, "no new work; running jobs finish"},
    {NodeFlag::completing,       "COMPLETING",       "COMP",       0,   true,  "a job that ended is not gone yet"},
    {NodeFlag::not_responding,   "NOT_RESPONDING",   "NO_RESPOND", '*', false, "its slurmd is silent"},
    {NodeFlag::powered_down,     "POWERED_DOWN",     "",           '~', true,  "off; Slurm powers it up for work"},
    {NodeFlag::fail,             "FAIL",             "",           0,   false, "expected to fail; its jobs should leave"},
    {NodeFlag::powering_up,      "POWERING_UP",      "",           '#', true,  "on its way up"},
    {NodeFlag::maintenance,      "MAINTENANCE",      "MAINT",      '$', false, "in a maintenance reservation"},
    {NodeFlag::reboot_requested, "REBOOT_REQUESTED", "REBOOT",     '@', false, "to be rebooted"},
    {NodeFlag::reboot_canceled,  "REBOOT_CANCELED",  "",           0,   true,  "a request not to reboot it"},
    {NodeFlag::powering_down,    "POWERING_DOWN",    "",           '%', false, "on its way down"},
    {NodeFlag::dynamic_future,   "DYNAMIC_FUTURE",   "",           0,   true,  "took the place of a FUTURE node"},
    {NodeFlag::reboot_issued,    "REBOOT_ISSUED",    "",           '^', false, "rebooting"},
    {NodeFlag::planned,          "PLANNED",          "PLND",       '-', true,  "kept for a job that backfill has planned"},
    {NodeFlag::invalid_reg,      "INVALID_REG",      "INVAL",      0,   false, "its slurmd came with a wrong configuration"},
    {NodeFlag::power_down,       "POWER_DOWN",       "",           '!', false, "to be powered down"},
    {NodeFlag::power_up,         "POWER_UP",         "",           0,   true,  "to be powered up"},
    {NodeFlag::power_drain,      "POWER_DRAIN",      "",           0,   false, "to be powered down when its jobs end"},
    {NodeFlag::dynamic_norm,     "DYNAMIC_NORM",     "",           0,   true,  "joined by its own registration"},
    {NodeFlag::blocked,          "BLOCKED",          "BLOCK",      0,   false, "blocked by an exclusive topology"},
});
// clang-format on

template <class Rows>
constexpr bool rows_follow_enum(const Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].base) != i) return false;
  return true;
}
template <class Rows>
constexpr bool one_row_per_bit(const Rows& rows, unsigned first) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::uint32_t>(rows[i].flag) != 1U << (first + i)) return false;
  return true;
}
static_assert(rows_follow_enum(kJobBases) && rows_follow_enum(kNodeBases), "one row per base, in its order");
static_assert(one_row_per_bit(kJobFlags, 8) && one_row_per_bit(kNodeFlags, 4),
              "one row per bit, from the first");

// Words that sinfo makes of more than one part.
struct NodeWord {
  std::string_view word;
  NodeBase base;
  NodeFlag flag;
};
constexpr auto kNodeWords = std::to_array<NodeWord>({
    {"DRAINING", NodeBase::allocated, NodeFlag::drain},
    {"DRNG", NodeBase::allocated, NodeFlag::drain},
    {"FAILING", NodeBase::allocated, NodeFlag::fail},
    {"FAILG", NodeBase::allocated, NodeFlag::fail},
});

// "BIT27": a flag of a newer Slurm.  Only bits without a row, so that each state has one text.
template <class Rows>
std::optional<std::uint32_t> parse_bit(std::string_view word, const Rows& rows) {
  if (word.size() < 4 || word.size() > 5 || !equal_ignoring_case(word.substr(0, 3), "BIT")) return {};
  unsigned bit = 0;
  const char* end = word.data() + word.size();
  if (auto [p, ec] = std::from_chars(word.data() + 3, end, bit); p != end || ec != std::errc()) return {};
  const std::uint32_t known_last = static_cast<std::uint32_t>(rows.back().flag);
  if (bit > 31 || (1U << bit) <= known_last) return {};
  return 1U << bit;
}

template <class Rows>
std::vector<std::string> names_of(std::uint32_t flags, const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    if ((flags & static_cast<std::uint32_t>(row.flag)) != 0) names.emplace_back(row.name);
  const std::uint32_t known_last = static_cast<std::uint32_t>(rows.back().flag);
  for (unsigned bit = 0; bit < 32; ++bit)
    if ((1U << bit) > known_last && (flags >> bit & 1) != 0) names.push_back(fmt::format("BIT{}", bit));
  return names;
}

// One word of a job's state: a base, or a flag.
struct JobWord {
  std::optional<JobBase> base;
  std::uint32_t flag = 0;
  std::optional<JobBase> alone;
};

tl::unexpected<Error> unknown_word(std::string_view kind, std::string_view word,
                                   const std::vector<std::string_view>& known) {
  Error error(ErrorCode::bad_input, fmt::format("{} is no {} state of Slurm", quote_for_message(word), kind));
  if (const std::string near = did_you_mean(word, known); !near.empty())
    error.remedy_text = fmt::format("did you mean '{}'?", near);
  else
    error.remedy_text = fmt::format("write a {} state as scontrol shows it", kind);
  return fail(std::move(error));
}

Result<JobWord> parse_job_word(std::string_view word) {
  for (const JobBaseRow& row : kJobBases)
    if (equal_ignoring_case(word, row.name) || equal_ignoring_case(word, row.short_name))
      return JobWord{row.base, 0, {}};
  const auto flag_word = [](const JobFlagRow& row) {
    return JobWord{{}, static_cast<std::uint32_t>(row.flag), row.alone};
  };
  for (const JobFlagRow& row : kJobFlags)
    if (equal_ignoring_case(word, row.name) ||
        (!row.short_name.empty() && equal_ignoring_case(word, row.short_name)))
      return flag_word(row);
  if (const auto bit = parse_bit(word, kJobFlags)) return JobWord{{}, *bit, {}};

  // sacct cuts a word that is wider than its column and puts a '+' there.
  if (word.size() >= 4 && word.back() == '+') {
    const std::string_view head = word.substr(0, word.size() - 1);
    std::optional<JobWord> found;
    int fits = 0;
    for (const JobBaseRow& row : kJobBases)
      if (equal_ignoring_case(row.name.substr(0, head.size()), head))
        found = JobWord{row.base, 0, {}}, ++fits;
    for (const JobFlagRow& row : kJobFlags)
      if (equal_ignoring_case(row.name.substr(0, head.size()), head)) found = flag_word(row), ++fits;
    // One state only, or the cut word is refused: "COMP+" could be COMPLETED or COMPLETING.
    if (fits == 1) return *found;
    if (fits > 1)
      return fail(Error(ErrorCode::bad_input,
                        fmt::format("the cut word {} fits more than one job state", quote_for_message(word)))
                      .remedied_by("have sacct print the whole word: --parsable2, or State%20"));
  }
  std::vector<std::string_view> known;
  for (const JobBaseRow& row : kJobBases) known.push_back(row.name);
  for (const JobFlagRow& row : kJobFlags) known.push_back(row.name);
  return unknown_word("job", word, known);
}

// Puts one more word into `state`; `has_base` tells whether a base was seen.
Status add_job_word(std::string_view text, std::string_view word, JobState& state, bool& has_base,
                    std::optional<JobBase>& alone) {
  auto parsed = parse_job_word(word);
  if (!parsed) return fail(std::move(parsed).error());
  if (parsed->base) {
    if (has_base)
      return fail(Error(ErrorCode::bad_input,
                        fmt::format("the job state {} has two base states", quote_for_message(text)))
                      .remedied_by("write one base state and its flags: COMPLETED,COMPLETING"));
    state.base = *parsed->base;
    has_base = true;
  }
  state.flags |= parsed->flag;
  // The first flag that says what base it goes with: squeue shows a flag alone ("CF", "RQ").
  if (!alone) alone = parsed->alone;
  return {};
}

Result<JobState> finish_job_state(std::string_view text, JobState state, bool has_base,
                                  std::optional<JobBase> alone) {
  if (has_base) return state;
  if (!alone)
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("the job state {} does not tell whether and how the job ended",
                                  quote_for_message(text)))
                    .remedied_by("ask scontrol or sacct for the base state too"));
  state.base = *alone;
  return state;
}

// Splits at any of `separators`; calls take(word) for each, trimmed.
template <class Take>
Status for_each_word(std::string_view text, std::string_view separators, Take take) {
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    if (Status ok = take(trimmed(text.substr(0, end))); !ok) return ok;
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

// Puts one word of a node's state into `state`.
Status add_node_word(std::string_view text, std::string_view word, NodeState& state, bool& has_base) {
  const auto set_base = [&](NodeBase base) -> Status {
    if (has_base)
      return fail(Error(ErrorCode::bad_input,
                        fmt::format("the node state {} has two base states", quote_for_message(text)))
                      .remedied_by("write one base state and its flags: IDLE+DRAIN"));
    state.base = base;
    has_base = true;
    return {};
  };
  const auto set_flag = [&](NodeFlag flag) { state.flags |= static_cast<std::uint32_t>(flag); };

  const std::string_view whole = word;
  while (!word.empty()) {  // marks behind the word: DOWN*
    const auto row = std::find_if(kNodeFlags.begin(), kNodeFlags.end(),
                                  [&](const NodeFlagRow& r) { return r.mark != 0 && r.mark == word.back(); });
    if (row == kNodeFlags.end()) break;
    set_flag(row->flag);
    word.remove_suffix(1);
  }
  for (const NodeBaseRow& row : kNodeBases)
    if (equal_ignoring_case(word, row.name) || equal_ignoring_case(word, row.short_name))
      return set_base(row.base);
  for (const NodeFlagRow& row : kNodeFlags)
    if (equal_ignoring_case(word, row.name) ||
        (!row.other_name.empty() && equal_ignoring_case(word, row.other_name))) {
      set_flag(row.flag);
      return {};
    }
  for (const NodeWord& row : kNodeWords)
    if (equal_ignoring_case(word, row.word)) {
      set_flag(row.flag);
      return set_base(row.base);
    }
  if (const auto bit = parse_bit(word, kNodeFlags)) {
    state.flags |= *bit;
    return {};
  }
  std::vector<std::string_view> known;
  for (const NodeBaseRow& row : kNodeBases) known.push_back(row.name);
  for (const NodeFlagRow& row : kNodeFlags) known.push_back(row.name);
  return unknown_word("node", whole, known);
}

}  // namespace

std::string_view to_string(RunEnd end) {
  constexpr std::array<std::string_view, 5> kNames = {"not_ended", "completed", "answered", "failed",
                                                      "waits"};
  return kNames[static_cast<std::size_t>(end)];
}

// ---- jobs -------------------------------------------------------------------------------------------------

std::span<const JobBaseRow> job_bases() { return kJobBases; }
std::span<const JobFlagRow> job_flags() { return kJobFlags; }
const JobBaseRow& job_base_row(JobBase base) { return kJobBases[static_cast<std::size_t>(base)]; }

Result<JobState> job_state_from_word(std::uint32_t word) {
  const std::uint32_t base = word & kJobBaseMask;
  if (base >= kJobBases.size())
    return fail(Error(ErrorCode::bad_input, fmt::format("Slurm gave the unknown job state {}", base))
                    .because("this Slurm is newer than this Sickbay")
                    .remedied_by("update Sickbay"));
  return JobState{static_cast<JobBase>(base), word & ~kJobBaseMask};
}

Result<JobState> parse_job_state(std::string_view text) {
  // sacct's "CANCELLED by 1000".
  if (cancelled_by(text)) return JobState{JobBase::cancelled, 0};
  JobState state;
  bool has_base = false;
  std::optional<JobBase> alone;
  const auto take = [&](std::string_view word) { return add_job_word(text, word, state, has_base, alone); };
  if (Status ok = for_each_word(text, ",", take); !ok) return fail(std::move(ok).error());
  return finish_job_state(text, state, has_base, alone);
}

Result<JobState> parse_job_state(std::string_view base, std::span<const std::string> flags) {
  auto state = parse_job_state(base);
  if (!state) return state;
  for (const std::string& word : flags) {
    auto flag = parse_job_word(word);
    if (!flag) return fail(std::move(flag).error());
    if (flag->base)
      return fail(
          Error(ErrorCode::bad_input, fmt::format("{} is a base state, not a flag", quote_for_message(word)))
              .remedied_by("give the base state once, outside the flags"));
    state->flags |= flag->flag;
  }
  return state;
}

std::string to_string(const JobState& state) {
  std::string text(base_name(state));
  for (const std::string& name : flag_names(state)) text += "," + name;
  return text;
}
std::string_view base_name(const JobState& state) { return job_base_row(state.base).name; }
std::vector<std::string> flag_names(const JobState& state) { return names_of(state.flags, kJobFlags); }

std::optional<std::uint32_t> cancelled_by(std::string_view text) {
  constexpr std::string_view kWords = "CANCELLED by ";
  text = trimmed(text);
  if (!equal_ignoring_case(text.substr(0, kWords.size()), kWords)) return {};
  std::uint32_t uid = 0;
  const char* end = text.data() + text.size();
  if (auto [p, ec] = std::from_chars(text.data() + kWords.size(), end, uid); p != end || ec != std::errc())
    return {};
  return uid;
}

bool is_terminal(const JobState& state) {
  return job_base_row(state.base).terminal && !state.has(JobFlag::expediting);
}

RunEnd run_end(const JobState& state) {
  if (!is_terminal(state)) return RunEnd::not_ended;
  // A job that comes again is no failure, whatever ended this run; so "waits" goes before the rest.
  std::optional<RunEnd> end;
  for (const JobFlagRow& row : kJobFlags)
    if (row.end && state.has(row.flag) && (!end || *row.end == RunEnd::waits)) end = row.end;
  return end.value_or(job_base_row(state.base).end);
}

// ---- nodes ------------------------------------------------------------------------------------------------

std::span<const NodeBaseRow> node_bases() { return kNodeBases; }
std::span<const NodeFlagRow> node_flags() { return kNodeFlags; }
const NodeBaseRow& node_base_row(NodeBase base) { return kNodeBases[static_cast<std::size_t>(base)]; }

Result<NodeState> node_state_from_word(std::uint32_t word) {
  const std::uint32_t base = word & kNodeBaseMask;
  if (base >= kNodeBases.size())
    return fail(Error(ErrorCode::bad_input, fmt::format("Slurm gave the unknown node state {}", base))
                    .because("this Slurm is newer than this Sickbay")
                    .remedied_by("update Sickbay"));
  return NodeState{static_cast<NodeBase>(base), word & ~kNodeBaseMask};
}

Result<NodeState> parse_node_state(std::string_view text) {
  NodeState state;
  bool has_base = false;
  std::string_view words = trimmed(text);
  // sinfo's "ALLOCATED+": in use, and completing an earlier job.
  if (words.size() > 1 && words.back() == '+') {
    state.flags = static_cast<std::uint32_t>(NodeFlag::completing);
    words.remove_suffix(1);
  }
  const auto take = [&](std::string_view word) { return add_node_word(text, word, state, has_base); };
  if (Status ok = for_each_word(words, "+,", take); !ok) return fail(std::move(ok).error());
  return state;
}

Result<NodeState> parse_node_state(std::string_view base, std::span<const std::string> flags) {
  auto state = parse_node_state(base);
  for (const std::string& word : flags) {
    if (!state) break;
    bool has_base = true;  // so that a base among the flags is refused
    if (Status ok = add_node_word(word, word, *state, has_base); !ok) return fail(std::move(ok).error());
  }
  return state;
}

std::string to_string(const NodeState& state) {
  std::string text(base_name(state));
  for (const std::string& name : flag_names(state)) text += "+" + name;
  return text;
}
std::string_view base_name(const NodeState& state) { return node_base_row(state.base).name; }
std::vector<std::string> flag_names(const NodeState& state) { return names_of(state.flags, kNodeFlags); }

bool usable(const NodeState& state) {
  if (!node_base_row(state.base).takes_work) return false;
  return std::all_of(kNodeFlags.begin(), kNodeFlags.end(),
                     [&](const NodeFlagRow& row) { return row.takes_work || !state.has(row.flag); });
}

bool is_idle(const NodeState& state) {
  using enum NodeFlag;
  return state.base == NodeBase::idle && !state.has(completing) && !state.has(not_responding) &&
         !state.has(reboot_requested) && !state.has(reboot_issued);
}

}  // namespace sickbay
