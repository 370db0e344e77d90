// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/program_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "adapters/slurm/command_error.h"
#include "adapters/slurm/key_comment.h"
#include "adapters/slurm/option_fates.h"
#include "adapters/slurm/script_options.h"
#include "base/text.h"
#include "model/sbatch_options.h"

namespace sickbay::slurm {
namespace {

// The descriptor by which sbatch gets the environment: no file of the user's secrets is on a disk.
constexpr int kExportFd = 9;
constexpr std::chrono::seconds kSbatchLimit{30};

/// Variables that are such options.
struct VariableRow {
  std::string_view name, option;
};
constexpr auto kVariables = std::to_array<VariableRow>({
    {"SBATCH_CLUSTERS", "clusters"},
    {"SBATCH_DEBUG", "verbose"},
    {"SBATCH_EXPORT", "export"},
    {"SBATCH_PRIORITY", "priority"},
    {"SBATCH_WAIT", "wait"},
});

std::string_view variable_of(std::string_view option) {
  for (const VariableRow& row : kVariables)
    if (row.option == option) return row.name;
  return {};
}

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

/// The user's variables by name, the first of each: he may have many, and his options may name as many.
using Environment = std::map<std::string_view, std::string_view>;

Environment by_name(const std::vector<std::string>& variables) {
  Environment environment;
  for (const std::string& one : variables)
    if (const std::string_view name = name_of(one); one.size() > name.size())
      environment.emplace(name, std::string_view(one).substr(name.size() + 1));
  return environment;
}

std::optional<std::string> variable(const Environment& environment, std::string_view name) {
  const auto it = environment.find(name);
  if (it == environment.end()) return {};
  return std::string(it->second);
}

const GivenOption* last_of(const std::vector<GivenOption>& options, std::string_view name) {
  for (auto it = options.rbegin(); it != options.rend(); ++it)
    if (it->name == name) return &*it;
  return nullptr;
}

/// The user's options of all three places.  sbatch lets the command line win, then variables, then the
/// script.
struct UserOptions {
  SbatchLine line;
  std::vector<GivenOption> script;
  Environment environment;  // into the submission

  bool wraps() const { return line.last("wrap") != nullptr; }
  /// The value that counts; `variable_name` is the option's variable, empty where it has none.
  std::optional<std::string> effective(std::string_view option, std::string_view variable_name = {}) const {
    if (const GivenOption* given = line.last(option)) return given->value.value_or("");
    if (!variable_name.empty())
      if (auto value = variable(environment, variable_name)) return value;
    if (const GivenOption* given = last_of(script, option)) return given->value.value_or("");
    return {};
  }
};

Result<UserOptions> read_options(const Submission& submission) {
  UserOptions options;
  auto line = parse_sbatch_line(submission.sbatch_options);
  if (!line) return fail(std::move(line.error()));
  options.line = std::move(*line);
  // sbatch looks for no options in a script that it makes itself.
  if (!options.wraps()) {
    auto script = parse_script_options(submission.script);
    if (!script) return fail(std::move(script.error()));
    options.script = std::move(*script);
  }
  options.environment = by_name(submission.environment);
  const auto refuse = [](std::string what) {
    return fail(Error(ErrorCode::bad_input, std::move(what))
                    .because("a re-run is one ordinary job of this cluster")
                    .remedied_by("run it again by hand, or ask for a verification of its nodes only"));
  };
  if (options.line.script)
    return refuse(
        fmt::format("{} among sbatch's options is no option", quote_for_message(*options.line.script)));
  if (options.line.heterogeneous || has_heterogeneous_line(submission.script))
    return refuse("a heterogeneous job cannot be run again");
  if (has_burst_buffer_line(submission.script))
    return refuse(
        "a job with a burst buffer (#BB, #DW) cannot be run again: it would be filled and emptied twice");
  for (const FateRow& row : option_fates())
    if (row.fate == Fate::refused && options.effective(row.name, variable_of(row.name)))
      return refuse(fmt::format("a job with --{} cannot be run again: {}", row.name, row.why));
  return options;
}

/// Words of a comma list, as sbatch reads --export: quotes keep commas, and are taken off.
std::vector<std::string> export_words(std::string_view text) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote && quote != 0)
      quote = 0;
    else if (quote == 0 && c == ',')
      words.emplace_back();
    else
      words.back() += c;
  }
  std::erase(words, "");
  return words;
}

bool in_list(std::string_view commas, std::string_view word) {
  while (!commas.empty()) {
    const auto comma = commas.find(',');
    if (equal_ignoring_case(trimmed(commas.substr(0, comma)), word)) return true;
    if (comma == std::string_view::npos) break;
    commas.remove_prefix(comma + 1);
  }
  return false;
}

/// A set of variables where a later one of the same name wins, in the place of the first.
class Variables {
 public:
  void set(std::string one) {
    const std::string name(name_of(one));
    if (name.empty() || one.find('=') == std::string::npos || one.find('\0') != std::string::npos) return;
    const auto [it, fresh] = places_.try_emplace(name, all_.size());
    if (fresh)
      all_.push_back(std::move(one));
    else
      all_[it->second] = std::move(one);
  }
  /// As --export-file reads it.
  std::string file() const {
    std::string text;
    for (const std::string& one : all_) text.append(one).push_back('\0');
    return text;
  }

 private:
  std::vector<std::string> all_;
  std::map<std::string, std::size_t> places_;
};

/// The user's limits as sbatch passes them to slurmd, as far as the site or the user lets them go.
void add_limits(const Submission& submission, const UserOptions& options, const SbatchSite& site,
                Variables& variables) {
  const auto asked = options.effective("propagate");
  for (const auto& [name, value] : submission.limits) {
    const bool by_user = asked && (asked->empty() || in_list(*asked, "ALL") || in_list(*asked, name));
    const bool by_site = site.propagate_except.empty()
                             ? in_list(site.propagate, "ALL") || in_list(site.propagate, name)
                             : !in_list(site.propagate_except, name);
    // (A wish of the user goes before what the site propagates.)
    if (!by_user && !(by_site && !asked)) continue;
    // RLIM_INFINITY, as sbatch prints it; 'U' makes slurmd complain where it cannot set it.
    const auto number = value < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(value);
    variables.set(fmt::format("SLURM_RLIMIT_{}={}{}", name, by_user ? "U" : "", number));
  }
}

/// The job's environment, and the --export that makes sbatch treat it as it did the first time.
struct JobEnvironment {
  std::string file;
  std::string export_option;
};

void set_exported(const std::vector<std::string>& words, const Submission& submission,
                  const UserOptions& options, Variables& variables) {
  const auto is_all = [](const std::string& word) { return equal_ignoring_case(word, "ALL"); };
  // Each ALL sets all of the user's variables, so only the last one counts, however many there are.
  const auto last_all = std::find_if(words.rbegin(), words.rend(), is_all);
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (is_all(*word)) {
      if (last_all.base() - 1 != word) continue;
      for (const std::string& one : submission.environment) variables.set(one);
    } else if (word->find('=') != std::string::npos) {
      variables.set(*word);
    } else if (const auto value = variable(options.environment, *word)) {
      variables.set(*word + "=" + *value);
    }
  }
}

JobEnvironment job_environment(const ProgramOrder& order, const UserOptions& options, const SbatchSite& site,
                               const std::string& job_name) {
  const Submission& submission = order.submission;
  const auto asked = options.effective("export", "SBATCH_EXPORT");
  const bool all = !asked || asked->empty() || equal_ignoring_case(*asked, "ALL");
  Variables variables;
  if (all) {
    for (const std::string& one : submission.environment) variables.set(one);
  } else {
    // SLURM_* and SPANK_* go to the job whatever --export says.
    for (const std::string& one : submission.environment)
      if (one.starts_with("SLURM_") || one.starts_with("SPANK_")) variables.set(one);
    if (!equal_ignoring_case(*asked, "NONE") && !equal_ignoring_case(*asked, "NIL"))
      set_exported(export_words(*asked), submission, options, variables);
    variables.set("SLURM_EXPORT_ENV=" + *asked);  // srun inside the job obeys it
  }
  variables.set("SLURM_JOB_NAME=" + job_name);
  if (const auto hint = options.effective("hint", "SBATCH_HINT")) variables.set("SLURM_HINT=" + *hint);
  add_limits(submission, options, site, variables);
  // sbatch sets it to where it runs, but not over a value in the file: that of the job that the user
  // submitted from would lead a copy back to his own folder (tried on 22.05).  So would PWD in what is no
  // shell.
  const bool moved = !order.work_dir.empty();
  variables.set("SLURM_SUBMIT_DIR=" + (moved ? order.work_dir : submission.work_dir));
  if (moved) variables.set("PWD=" + order.work_dir);
  const std::string run = fmt::format("SICKBAY_RUN={}", order.run_number);
  variables.set(run);
  // Any list but ALL makes slurmd add the user's login environment, as it did at first; a bare NONE would
  // make sbatch leave our file unread.  So does 26.05 where nothing is said; ALL is what 22.05 and 24.11 then
  // take.
  return {variables.file(), all ? "ALL" : run};
}

std::string default_job_name(const Submission& submission) {
  if (submission.script_name.empty() || submission.script_name == "stdin") return "sbatch";
  return submission.script_name.substr(submission.script_name.rfind('/') + 1);
}

// --requeue=expedite (25.11): Slurm holds such a job where it fails by itself, and a re-run must come to an
// end. It may be put back into the queue all the same.
bool is_expedited(const GivenOption& given) { return given.name == "requeue" && given.value; }

}  // namespace

std::string as_pattern(std::string_view path) {
  std::string out;
  for (const char c : path) out.append(c == '%' ? 2 : 1, c);
  return out;
}

Result<ProgramSubmission> program_submission(const ProgramOrder& order, const SbatchSite& site) {
  const Submission& submission = order.submission;
  auto options = read_options(submission);
  if (!options) return fail(std::move(options.error()).in("preparing " + order.key));

  ProgramSubmission result;
  ProcessSpec& spec = result.spec;
  spec.argv = {site.sbatch};
  const bool moved = !order.work_dir.empty(), away = !moved && !site.folder_is_here;
  // The user's options in their order; what has a fate of ours is left out here and set below.
  for (const GivenOption& given : options->line.options) {
    const auto fate = fate_of(given.name);
    if (fate == Fate::dropped) result.dropped.push_back(given.text());
    if (fate || ((moved || away) && given.name == "chdir") || (order.array_task && given.name == "array"))
      continue;
    spec.argv.push_back(is_expedited(given) ? "--requeue" : given.text());
  }

  // (An option of ours on the command line wins over the script's; those without one must go from its text.)
  const auto goes = [](const GivenOption& given) {
    const auto fate = fate_of(given.name);
    return fate == Fate::dropped || fate == Fate::silent || is_expedited(given);
  };
  bool script_drops = false, script_expedites = false;
  for (const GivenOption& given : options->script) {
    if (given.name == "requeue" || given.name == "no-requeue") script_expedites = is_expedited(given);
    script_drops = script_drops || goes(given);
    if (fate_of(given.name) == Fate::dropped) result.dropped.push_back("#SBATCH " + given.text());
  }
  // Before the user's own words, which win over his script's.
  if (script_expedites) spec.argv.insert(spec.argv.begin() + 1, "--requeue");
  spec.input = submission.script;
  if (script_drops)
    spec.input = with_script_options(submission.script, options->script,
                                     [&](const GivenOption& given) { return !goes(given); });

  // sbatch's own environment: nothing of the user's but his SBATCH_* options.
  spec.environment = {"SLURM_CONF=" + site.slurm_conf};
  for (const std::string& one : submission.environment) {
    if (!one.starts_with("SBATCH_")) continue;
    const auto row = std::ranges::find(kVariables, name_of(one), &VariableRow::name);
    const auto fate = row != kVariables.end() ? fate_of(row->option) : std::nullopt;
    if (fate == Fate::dropped) result.dropped.push_back(one);
    if (!fate) spec.environment.push_back(one == "SBATCH_REQUEUE=expedite" ? "SBATCH_REQUEUE=1" : one);
  }

  const std::string own_name = options->effective("job-name", "SBATCH_JOB_NAME").value_or("");
  const std::string job_name = own_name.empty() ? default_job_name(submission) : own_name;
  const JobEnvironment environment = job_environment(order, *options, site, job_name);
  spec.extra_fds = {{kExportFd, environment.file}};

  std::vector<std::string> exclude;
  if (const auto own = options->effective("exclude")) {
    // A file name, which sbatch would read: it cannot be joined with a list.
    if (own->find('/') != std::string::npos)
      result.dropped.push_back("--exclude=" + *own);
    else if (!own->empty())
      exclude.push_back(*own);
  }
  exclude.insert(exclude.end(), order.exclude.begin(), order.exclude.end());

  // Where the nodes have no such folder either, the output cannot be opened, and the run never begins.
  const std::string output = as_pattern(order.output_dir) + (away ? "-%j" : "/slurm-%j");
  const auto add = [&](std::string_view name, std::string_view value) {
    spec.argv.push_back(fmt::format("--{}={}", name, value));
  };
  // Whether Slurm may requeue it stays as it was: a program may requeue itself.
  spec.argv.insert(spec.argv.end(), {"--parsable", "--hold"});
  add("comment", comment_with_key(options->effective("comment").value_or(""), order.key));
  if (own_name.empty()) add("job-name", job_name);
  if (!exclude.empty()) add("exclude", fmt::format("{}", fmt::join(exclude, ",")));
  // (The user's own list was dropped.  Where the job takes more nodes than these, Slurm adds others.)
  if (!order.include.empty()) add("nodelist", fmt::format("{}", fmt::join(order.include, ",")));
  add("output", output + ".out");
  add("error", output + ".err");
  add("export-file", std::to_string(kExportFd));
  add("export", environment.export_option);
  if (moved) add("chdir", order.work_dir);
  // It wins over the script's and over SBATCH_ARRAY_INX, and gives the task its SLURM_ARRAY_TASK_ID again.
  if (order.array_task) add("array", std::to_string(*order.array_task));
  if (away) {
    const std::string asked = options->effective("chdir").value_or("");
    add("chdir", asked.starts_with('/') ? asked
                 : asked.empty()        ? submission.work_dir
                                        : submission.work_dir + "/" + asked);
  }
  if (options->wraps()) {
    spec.input.clear();  // sbatch makes its text again, and takes no other beside it
  } else {
    // By a name, because without one sbatch takes no arguments for the script.
    spec.argv.push_back("/dev/stdin");
    spec.argv.insert(spec.argv.end(), submission.script_args.begin(), submission.script_args.end());
  }

  // (An sbatch in "/" where this host does not have the folder: --chdir says where the job runs.)
  spec.folder = moved ? order.work_dir : away ? "/" : submission.work_dir;
  spec.as_user = ProcessSpec::Credentials{submission.owner.user, submission.owner.uid, submission.owner.gid};
  spec.umask = submission.umask;
  spec.limits = submission.limits;
  spec.time_limit = kSbatchLimit;
  return result;
}

Result<JobId> parse_parsable(std::string_view out) {
  const std::string_view line = trimmed(out);
  const std::string_view number = line.substr(0, line.find(';'));
  JobId id = 0;
  const auto [end, bad] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (bad != std::errc() || end != number.data() + number.size() || id == 0)
    return fail(ErrorCode::bad_input,
                fmt::format("sbatch printed {} where a job id was expected", quote_for_message(line)));
  return id;
}

Error sbatch_error(const ProcessOutcome& outcome) {
  return command_error(outcome, "sbatch", "the job may have been submitted all the same");
}

}  // namespace sickbay::slurm
