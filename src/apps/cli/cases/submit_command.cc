// SPDX-License-Identifier: Apache-2.0
// sickbay submit (mybatch): the user's own sbatch, with a case around it.
//
// Order matters (doc/design/decisions.md 18): the case is opened first, then sbatch runs exactly as the user
// asked, then the job id binds the case.  A crash in between leaves a case without a job, which expires;
// never a job that somebody else submitted.  The user's work comes first: where a case cannot be kept, the
// job is submitted all the same, with a warning, unless --require-case was given.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>

#include "apps/cli/answer.h"
#include "apps/cli/cases/batch_script.h"
#include "apps/cli/cases/inputs.h"
#include "apps/cli/cases/requeue_right.h"
#include "apps/cli/child.h"
#include "apps/cli/command_line.h"
#include "apps/cli/commands.h"
#include "apps/cli/undo/record.h"
#include "base/duration.h"
#include "base/error_json.h"
#include "base/text.h"
#include "model/output_compare.h"
#include "model/sbatch_array.h"
#include "model/sbatch_reply.h"

namespace sickbay::cli {
namespace {

struct SubmitOptions {
  bool deliver = false, no_rerun = false, require_case = false, until_verdict = false, recover = false,
       record = false, json = false;
  std::string check, expect_time, rerun, workdir, steps, compare, tolerance, learn, hang;

  /// How the program may run again; empty: as the site says.
  std::string way() const { return !rerun.empty() ? rerun : no_rerun ? "never" : workdir; }
};

void define(CLI::App& c, SubmitOptions& o) {
  c.add_flag("--deliver", o.deliver, "if a node was guilty, keep the program's run elsewhere as your result");
  c.add_option(
       "--rerun", o.rerun,
       "how the program may run again if it fails: in the same folder, in a copy of it, only when you say "
       "so, or never; without it as the site decides")
      ->type_name("same|copy|ask|never")
      ->check(CLI::IsMember({"same", "copy", "ask", "never"}).description(""));
  c.add_flag("--no-rerun", o.no_rerun, "the old word for --rerun=never");
  c.add_option(
       "--check", o.check,
       "command that judges a completed job, whose output is in the file $SICKBAY_OUTPUT: exit 0 is right")
      ->type_name("CMD");
  c.add_option(
       "--compare", o.compare,
       "output of a good run: a completed job whose output (or OUT, a file that it writes) is another "
       "result has failed; the nodes must have sickbay")
      ->type_name("GOOD[=OUT]");
  c.add_option("--tolerance", o.tolerance, "how far numbers may differ there (sickbay compare)")
      ->type_name("REL[,ABS]");
  c.add_option("--learn", o.learn, "output of a second good run: what differs there may differ")
      ->type_name("FILE");
  c.add_option("--expect-time", o.expect_time, "longest time a good run takes (as sbatch's --time)")
      ->type_name("TIME");
  c.add_option("--workdir", o.workdir, "the old word for --rerun=same and --rerun=copy")
      ->type_name("same|copy")
      ->check(CLI::IsMember({"same", "copy"}).description(""));
  c.add_option(
       "--steps", o.steps,
       "a failed step of a job that completed: tell of it, or take it for a failure (default: the site's)")
      ->type_name("tell|fail")
      ->check(CLI::IsMember({"tell", "fail"}).description(""));
  c.add_flag("--until-verdict", o.until_verdict,
             "if the failure does not repeat, run it again on chosen nodes until it is known why (sickbay "
             "requeue)");
  c.add_option("--hang", o.hang,
               "look whether the job's ranks go on: not at all, tell when they do not, or end the job where "
               "it is proven that none of them can, and find out why (default: the site's)")
      ->type_name("off|notify|cancel")
      ->check(CLI::IsMember({"off", "notify", "cancel"}).description(""));
  c.add_flag(
      "--recover", o.recover,
      "if a node was guilty, put the job back into the queue without that node (sbatch gets --requeue)");
  c.add_flag("--record", o.record,
             "keep script, environment and declared files in .sickbay of this folder, so that the job can be "
             "gone back in (sickbay undo)");
  c.add_flag("--require-case", o.require_case, "do not submit when no case can be kept");
  c.add_flag("--json", o.json, "print {\"job_id\", \"case\"}");
  add_controller_option(c);
}

constexpr CommandOption kOwn[] = {
    {"deliver", 0, OptionValue::none},       {"no-rerun", 0, OptionValue::none},
    {"check", 0, OptionValue::required},     {"expect-time", 0, OptionValue::required},
    {"workdir", 0, OptionValue::required},   {"require-case", 0, OptionValue::none},
    {"rerun", 0, OptionValue::required},     {"controller", 0, OptionValue::required},
    {"steps", 0, OptionValue::required},     {"until-verdict", 0, OptionValue::none},
    {"json", 0, OptionValue::none},          {"compare", 0, OptionValue::required},
    {"tolerance", 0, OptionValue::required}, {"learn", 0, OptionValue::required},
    {"hang", 0, OptionValue::required},      {"recover", 0, OptionValue::none},
    {"record", 0, OptionValue::none},
};

// Options with which sbatch submits nothing, or prints and leaves: no case, nothing to say.
constexpr std::string_view kNoSubmission[] = {"test-only", "version", "usage"};

// Why a job of this kind gets no case, and what to do instead; nothing: it gets one.
std::optional<Error> kind_without_case(const SbatchLine& line, const BatchScript& script,
                                       const std::vector<GivenOption>& in_script) {
  const auto given = [&](std::string_view name) {
    for (const GivenOption& option : in_script)
      if (option.name == name) return true;
    return line.last(name) != nullptr;
  };
  const Error no_case(ErrorCode::conflict, "no case is kept for this job");
  if (line.heterogeneous || has_heterogeneous_line(script.text))
    return Error(no_case)
        .because("a heterogeneous job cannot be run again: its components need each other")
        .remedied_by("where you need to know why it fails, submit each component as a job of its own");
  if (given("clusters") || std::getenv("SBATCH_CLUSTERS") || std::getenv("SLURM_CLUSTERS"))
    return Error(no_case)
        .because("a job for another cluster has no case here")
        .remedied_by("submit it on a login host of that cluster");
  return std::nullopt;
}

// By inode: $PWD may lead there through a link.
bool same_folder(const std::string& one, const std::string& other) {
  struct stat a = {}, b = {};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

Result<std::string> absolute_path(const std::string& file) {
  char* found = ::realpath(file.c_str(), nullptr);
  if (found == nullptr)
    return fail(Error(ErrorCode::not_found, "there is no file " + quote_for_message(file))
                    .remedied_by("--compare and --learn take the outputs of good runs"));
  std::string path(found);
  std::free(found);
  return path;
}

// What judges a completed job: the user's own command, or `sickbay compare` with a known good output.
Result<std::string> check_command(const SubmitOptions& o) {
  const auto refuse = [](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy)));
  };
  if (o.compare.empty()) {
    if (!o.tolerance.empty() || !o.learn.empty())
      return refuse("--tolerance and --learn are for --compare", "give --compare, too");
    return o.check;
  }
  if (!o.check.empty())
    return refuse("--check and --compare both judge the result",
                  "give --check alone: its command may run sickbay compare");
  const std::size_t sign = o.compare.find('=');
  // Whole: the check runs in the folder of the run, which need not be this one.
  auto good = absolute_path(o.compare.substr(0, sign));
  if (!good) return fail(good.error());
  std::string command =
      "sickbay compare " + shell_quoted(*good) + " " +
      (sign == o.compare.npos ? "\"$SICKBAY_OUTPUT\"" : shell_quoted(o.compare.substr(sign + 1)));
  if (!o.tolerance.empty()) {
    // Now, and not hours later in the check job.
    if (auto tolerance = parse_tolerance(o.tolerance); !tolerance) return fail(tolerance.error());
    command += " --tolerance=" + shell_quoted(o.tolerance);
  }
  if (!o.learn.empty()) {
    auto second = absolute_path(o.learn);
    if (!second) return fail(second.error());
    command += " --learn=" + shell_quoted(*second);
  }
  // What could not be compared is no other result: a check that was cancelled says nothing.
  return command + "\ncode=$?\n[ $code -le 1 ] && exit $code\nscancel \"$SLURM_JOB_ID\"\nsleep 60\n";
}

// One submission on its way.
class SubmitRun {
 public:
  SubmitRun(SubmitOptions options, SbatchLine line, Json replays)
      : options_(std::move(options)), line_(std::move(line)), replays_(std::move(replays)) {}

  Result<int> run() {
    for (const std::string_view name : kNoSubmission)
      if (line_.last(name)) return run_sbatch(std::nullopt, false);
    auto expect = expected_seconds();
    if (!expect) return fail(expect.error());
    auto check = check_command(options_);
    if (!check) return fail(check.error());
    options_.check = std::move(*check);
    auto script = read_batch_script(line_);
    if (!script) return fail(script.error());
    auto in_script = parse_script_options(script->text);
    // What sbatch makes of a directive that we cannot read, it will say itself.
    const std::vector<GivenOption> directives = in_script ? *in_script : std::vector<GivenOption>();
    if (auto fit = recover_fits(directives); !fit) return fail(fit.error());
    requeue_ = options_.recover || allows_requeue(line_, directives);

    if (auto kind = kind_without_case(line_, *script, directives)) {
      if (auto going = go_without(std::move(*kind)); !going) return fail(going.error());
    } else if (auto opened = open_case(*script, *expect); !opened) {
      Error error = opened.error();
      error.what = "no case is kept for this job: " + error.what;
      if (auto going = go_without(std::move(error)); !going) return fail(going.error());
    }
    return run_sbatch(script->from_stdin ? std::optional(script->text) : std::nullopt, true);
  }

 private:
  Result<std::int64_t> expected_seconds() const {
    if (options_.expect_time.empty()) return 0;
    auto limit = parse_time_limit(options_.expect_time);
    if (limit && limit->kind == TimeLimit::Kind::limited && limit->length.count() > 0)
      return limit->length.count();
    return fail(Error(ErrorCode::usage, fmt::format("--expect-time {} is no time that a run can take",
                                                    quote_for_message(options_.expect_time)))
                    .remedied_by("give minutes, MM:SS, HH:MM:SS or D-HH:MM, as with sbatch --time"));
  }

  // Whether the job can be put back into the queue, and is not carried to its end in another way.
  Status recover_fits(const std::vector<GivenOption>& in_script) const {
    if (!options_.recover) return {};
    const auto refuse = [](std::string_view other, std::string_view why) {
      return fail(Error(ErrorCode::usage, fmt::format("--recover does not go with {}", other))
                      .because(std::string(why))
                      .remedied_by("leave one of the two out"));
    };
    if (options_.deliver) return refuse("--deliver", "each gets you a result where a node was guilty");
    const auto is_there = [&](std::string_view name) {
      return line_.last(name) != nullptr ||
             std::ranges::find(in_script, name, &GivenOption::name) != in_script.end();
    };
    if (is_there("no-requeue") && !allows_requeue(line_, in_script))
      return refuse("--no-requeue", "the job is put back into the queue");
    if (is_there("array") || std::getenv("SBATCH_ARRAY_INX"))
      return refuse("--array", "a job array is not put back as a whole");
    return {};
  }

  // Warns and lets the submission go on, or, with --require-case, ends it.
  Status go_without(Error error) const {
    if (options_.require_case) {
      error.what += "; nothing was submitted (--require-case)";
      return fail(std::move(error));
    }
    error.what += "; submitting it all the same";
    warn(error);
    return {};
  }

  Status open_case(const BatchScript& script, std::int64_t expect_time_s) {
    auto submission = collect_submission(line_, script);
    if (!submission) return fail(submission.error());
    auto api = connect_to_sickbayd();
    if (!api) return fail(api.error());
    api_.emplace(std::move(*api));
    // Digests before sbatch runs: afterwards the job may have changed its own inputs.
    const Inputs inputs = find_inputs(line_, *submission, names_of_folder(submission->work_dir));
    Json files = Json::array();
    for (const InputFile& file : inputs.files) files.push(file.to_json());
    Json options = Json::object({{"deliver", options_.deliver},
                                 {"check", options_.check},
                                 {"expect_time_s", expect_time_s},
                                 {"requeue", requeue_}});
    if (const std::string way = options_.way(); !way.empty()) options.set("rerun", way);
    if (!options_.steps.empty()) options.set("steps", options_.steps);
    // (Named only where it is asked for: an older sickbayd does not know it.)
    if (options_.until_verdict) options.set("until_verdict", true);
    if (options_.recover) options.set("recover", true);
    if (!options_.hang.empty()) options.set("hang", options_.hang);
    Json body = Json::object({{"inputs", std::move(files)},
                              {"script_digest", inputs.script_digest},
                              {"names_folder", inputs.names_folder},
                              {"submits_jobs", inputs.submits_jobs},
                              {"submission", submission->to_json()},
                              {"options", std::move(options)}});
    const bool array = array_of(*submission).has_value();
    if (array) body.set("notes", notes_on_array());
    std::optional<Record> record;
    if (options_.record && !array) {
      auto kept = keep_submission(line_, *submission, inputs);
      if (!kept) {
        if (auto going = go_unrecorded(kept.error()); !going) return going;
      } else {
        record = std::move(*kept);
        body.set("recorded", true);
      }
    }
    if (!replays_.is_null()) body.set("replays", replays_);
    auto answer = api_->post("/v1/cases", body, new_idempotency_key());
    if (!answer) return fail(answer.error());
    case_ = (*answer)["case"].as_string();
    if (case_.empty()) return fail(ErrorCode::internal, "sickbayd opened a case and did not name it");
    if (record) {
      record->case_name = case_;
      // Last, for only sickbayd knows the number of the case.
      if (auto written = write_record(Objects(submission->work_dir), *record); !written) {
        auto going = go_unrecorded(written.error());
        // With --require-case nothing is submitted, and the case would stay without a job.
        if (!going) abandon();
        return going;
      }
    }
    return {};
  }

  Status go_unrecorded(Error error) const {
    error.what = "the submission is not recorded: " + error.what;
    if (options_.require_case) return fail(std::move(error));
    error.what += "; submitting it all the same";
    warn(error);
    return {};
  }

  // What was asked for and is not done for the tasks of an array: said now and in the case.
  Json notes_on_array() const {
    Json notes = Json::array();
    const auto add = [&notes](std::string what, std::string_view cause, std::string_view remedy) {
      notes.push(what);
      warn(Error(ErrorCode::conflict, std::move(what))
               .because(std::string(cause))
               .remedied_by(std::string(remedy)));
    };
    if (!options_.check.empty())
      add("--check is not run for the tasks of a job array", "it would be one more job for each task",
          "have the script check the result, and end with an exit code other than 0");
    if (options_.until_verdict)
      add("--until-verdict does not count for the tasks of a job array",
          "it would run each of several tasks again many times",
          "ask for the case of one task with 'sickbay requeue' while that of its array is open");
    if (options_.record)
      add("--record does not count for a job array",
          "its tasks have no one course that could be gone back in",
          "submit a task that you want to go back in as a job of its own");
    if (options_.steps == "fail")
      add("--steps=fail does not count for the tasks of a job array",
          "of each task only its own end is looked at, not its steps",
          "have the script end with the exit code of its steps: set -e, or || exit");
    return notes;
  }

  // The working folder as the kernel names it, and as the user's shell does.
  static std::vector<std::string> names_of_folder(const std::string& folder) {
    std::vector<std::string> names{folder};
    if (const char* pwd = std::getenv("PWD"); pwd && folder != pwd && same_folder(folder, pwd))
      names.emplace_back(pwd);
    return names;
  }

  // Runs the user's own sbatch, its words as given.
  Result<int> run_sbatch(std::optional<std::string> input, bool submits) {
    ChildSpec child;
    child.argv.push_back("sbatch");
    // Quiet sbatch does not tell the job id; we ask it to speak and keep silent ourselves.
    const bool quiet = submits && !case_.empty() && line_.last("quiet") != nullptr;
    if (quiet)
      for (const GivenOption& option : line_.options) {
        if (option.name != "quiet") child.argv.push_back(option.text());
      }
    else
      child.argv.insert(child.argv.end(), line_.passed.begin(), line_.passed.end());
    if (options_.recover && submits) child.argv.push_back("--requeue");
    if (line_.script) {
      if (line_.script->starts_with('-')) child.argv.push_back("--");
      child.argv.push_back(*line_.script);
    }
    child.argv.insert(child.argv.end(), line_.script_args.begin(), line_.script_args.end());
    // A script that came by standard input was read here already; sbatch gets it once more.
    child.input = std::move(input);

    const bool parsable = line_.last("parsable") != nullptr;
    auto code = run_child(child, [&](std::string_view said) {
      if (!options_.json && !quiet) {
        print(said);
        std::fflush(stdout);
      }
      // At once, not at the end: with --wait sbatch lives as long as the job.
      if (const auto job_id = parse_sbatch_reply(said, parsable); job_id && job_id_ == 0)
        bind(*job_id, quiet);
    });
    if (!code) {
      abandon();
      return fail(code.error());
    }
    if (!submits) return *code;
    if (job_id_ == 0) {
      abandon();
      if (options_.json)
        print_json(error_json(
            Error(ErrorCode::refused_by_slurm, fmt::format("sbatch failed with exit code {}", *code))));
    } else if (options_.json) {
      print_json(Json::object({{"job_id", job_id_}, {"case", bound_ ? Json(case_) : Json()}}));
    }
    return *code;
  }

  void bind(JobId job_id, bool quiet) {
    job_id_ = job_id;
    if (case_.empty()) return;
    // The key stays the same over the attempts, so that a repeated one binds nothing twice.
    const std::string key = new_idempotency_key();
    const Json body = Json::object({{"job_id", job_id}});
    auto answer = api_->post("/v1/cases/" + case_ + "/job", body, key);
    for (int attempt = 1; attempt < 4 && !answer && may_pass(answer.error().code); ++attempt) {
      ::sleep(1);  // a restart of sickbayd takes about as long
      answer = api_->post("/v1/cases/" + case_ + "/job", body, key);
    }
    if (!answer) {
      Error error = answer.error();
      error.what = fmt::format("job {} is submitted, but case {} could not be bound to it: {}", job_id, case_,
                               error.what);
      warn(error);
      return;
    }
    bound_ = true;
    if (!quiet) fmt::print(stderr, "sickbay: case {} (sickbay why {})\n", case_, job_id);
  }

  static bool may_pass(ErrorCode code) {
    return code == ErrorCode::daemon_away || code == ErrorCode::busy || code == ErrorCode::slurm_away ||
           code == ErrorCode::timed_out;
  }

  // sbatch submitted nothing: the case has no subject.  Where this fails it expires by itself.
  void abandon() {
    if (!case_.empty() && api_)
      if (auto done = api_->post("/v1/cases/" + case_ + "/cancel", Json::object(), new_idempotency_key());
          !done)
        warn(done.error());
  }

  SubmitOptions options_;
  SbatchLine line_;
  Json replays_;  // where a replay goes on from (sickbay redo); else null
  bool requeue_ = false;
  std::optional<ApiClient> api_;
  std::string case_;
  JobId job_id_ = 0;
  bool bound_ = false;
};

constexpr std::string_view kSubmitFooter =
    "Everything else on the command line is sbatch's: its options (see sbatch --help), then the script and "
    "its\n"
    "arguments.  Options of sickbay submit must be written in full, and stand before the script.\n"
    "--check CMD runs as a job of one task in the folder of the run; $SICKBAY_OUTPUT names the file that "
    "holds the\n"
    "output of the run.\n"
    "A job that Slurm starts again, or that requeues itself, does so as under sbatch; its case goes on with "
    "it.\n"
    "A job array has one case, and one more for each of a few tasks that fail: 'sickbay why 1234' lists the\n"
    "tasks, 'sickbay why 1234_7' tells of one.  --check is not run for them,\n"
    "and --steps=fail does not count.\n"
    "\n"
    "The job is submitted by your own sbatch, whose output and exit code are kept; the line that names the "
    "case\n"
    "goes to standard error.  When sickbayd is away the job is submitted all the same, with a warning.\n";

}  // namespace

void add_submit_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("submit", "submit a batch job as sbatch does, and find out why if it fails");
  auto options = std::make_shared<SubmitOptions>();
  define(*c, *options);
  c->footer(std::string(kSubmitFooter));
  // Reached for --help only: run_submit reads the words itself (see main).
  c->callback([&ending] { ending = run_submit({}); });
}

Ending run_submit(const std::vector<std::string>& words, const Json& replays) {
  auto line = parse_sbatch_line(words, kOwn);
  if (!line) return {fail(line.error())};
  SubmitOptions options;
  if (line->last("help")) return {parse_command_line({"submit", "--help"})};
  CLI::App own("", "submit");
  define(own, options);
  std::vector<std::string> own_words;
  for (auto given = line->own.rbegin(); given != line->own.rend(); ++given)
    own_words.push_back(given->text());
  try {
    own.parse(own_words);  // CLI11 takes them last first
  } catch (const CLI::ParseError& e) {
    return {fail(Error(ErrorCode::usage, e.what()).remedied_by("see 'sickbay submit --help'"))};
  }
  const bool json = options.json;
  return {SubmitRun(std::move(options), std::move(*line), replays).run(), json};
}

}  // namespace sickbay::cli
