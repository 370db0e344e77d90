// SPDX-License-Identifier: Apache-2.0
// command, nhc_check, ping, dmi, memory_errors: what other programs are asked for a site's own checks.
//
// A command is run as the agent, under the limits of an operation; what it starts ends with it.  Values of
// inputs are put into its arguments when these are parted already, so that no value is ever two of them, nor
// an option; what has no value keeps the program from being run, for it would look at something else.  A
// program that is not there ends a command with 127, as in a shell, for that is an answer to somebody who
// asks for its exit code; but where the program is only our means (ping, dmidecode), its absence is unknown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "adapters/node/families.h"
#include "adapters/node/parse_site.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

constexpr std::size_t kOutput = 1 << 20;               // bytes
constexpr std::int64_t kData = std::int64_t{1} << 30;  // bytes of a child's own memory

std::vector<std::string> words_of(std::string_view lines) {
  std::vector<std::string> words;
  if (lines.empty()) return words;
  for (std::string_view rest = lines;;) {
    words.emplace_back(next_part(rest, '\n'));
    if (rest.empty()) break;
  }
  return words;
}

// Lines NAME=VALUE over the environment of the system.
Status add_environment(ProcessSpec& spec, std::string_view lines) {
  for (const std::string_view line : lines_of(lines)) {
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return fail(ErrorCode::bad_input, fmt::format("{} is no NAME=VALUE", quote_for_message(line)));
    // Of two entries of one name a program takes either: the site's is to be the only one.
    std::erase_if(spec.environment,
                  [&](const std::string& known) { return known.starts_with(line.substr(0, equals + 1)); });
    spec.environment.emplace_back(line);
  }
  return {};
}

ProcessSpec bounded_spec(const Call& call, std::vector<std::string> argv) {
  ProcessSpec spec = program_spec(call, std::move(argv));
  // No core files: a command that crashes at each look would fill a disk.
  spec.limits = {{"CORE", 0}, {"DATA", kData}};
  spec.output_limit = kOutput;
  // What it started in the background ends with it.
  spec.kill_strays = true;
  return spec;
}

std::string first_line(std::string_view text) {
  return std::string(trimmed(text.substr(0, text.find('\n')))).substr(0, kMostShown);
}

// A whole number is written as one, whatever its type: a program that counts knows no "8.0".
std::string number_text(const Json& value) {
  const double number = value.as_double();
  const bool whole =
      value.is_number() && !value.is_int() && std::abs(number) <= 1e15 && std::trunc(number) == number;
  return whole ? fmt::format("{:.0f}", number) : value.dump();
}

// `word` with the values of inputs in the place of {NAME}.  Braces around what is no input stay: programs
// have such of their own.  Errors: not_found (it has no value), bad_input.
enum class Of : std::uint8_t { argument, input };
Result<std::string> filled(const Call& call, std::string_view word, Of what) {
  std::string text;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t open = word.find('{', at), end = word.find('}', open);
    const bool known =
        end != word.npos &&
        std::ranges::find(call.input_names, word.substr(open + 1, end - open - 1)) != call.input_names.end();
    if (!known) {
      // From the brace on anything may still be one.
      const std::size_t next = open == word.npos ? word.size() : open + 1;
      text += word.substr(at, next - at);
      at = next;
      continue;
    }
    text += word.substr(at, open - at);
    const std::string name(word.substr(open + 1, end - open - 1));
    const Json& value = call.inputs[name];
    if (value.is_null())
      return fail(
          ErrorCode::not_found,
          fmt::format("the input '{}' {}", name, call.inputs.has(name) ? "is unknown" : "has no value yet"));
    const std::string said = value.is_string() ? value.as_string() : number_text(value);
    if (said.find('\0') != said.npos)
      return fail(ErrorCode::bad_input, fmt::format("the input '{}' holds a zero byte", name));
    // What others chose (the name of a file, say) must not choose what the program does.
    if (what == Of::argument && text.empty() && value.is_string() && said.starts_with('-'))
      return fail(ErrorCode::bad_input,
                  fmt::format("the input '{}' is {}, which the program would take for an option", name,
                              quote_for_message(said, 80)));
    text += said;
    at = end + 1;
  }
  return text;
}

// "3,127".  Errors: bad_input.
Result<std::vector<std::int64_t>> exits_of(std::string_view list) {
  std::vector<std::int64_t> exits;
  while (!list.empty()) {
    const std::string_view one = trimmed(next_part(list, ','));
    const auto code = to_integer(one);
    if (!code || *code < 0 || *code > 255)
      return fail(ErrorCode::bad_input, quote_for_message(one) + " is no exit code");
    exits.push_back(*code);
  }
  return exits;
}

// What is made of a command that has run.
struct CommandReading {
  std::string program;
  Patterns patterns;
  std::optional<Pattern> take;
  std::vector<std::int64_t> unknown_exits;

  OperationEnd answer(const Json& exit, bool late, std::optional<std::string_view> out,
                      bool truncated) const {
    if (!exit.is_null() && std::ranges::find(unknown_exits, exit.as_int()) != unknown_exits.end())
      return unknown(fmt::format("{} ended with {}: it cannot tell{}", program, exit.as_int(),
                                 out && !out->empty() ? ": " + first_line(*out) : ""));
    const std::vector<std::string_view> lines = lines_of(out.value_or(""));
    const auto missed = late ? std::nullopt : patterns.missed_by(lines);
    // What lies beyond the bound may hold what is missed.
    const bool cut = truncated && missed.has_value();
    Json told = Json::object({{"command_exit", exit},
                              {"command_timed_out", late},
                              {"command_as_expected", late || cut ? Json() : Json(!missed)},
                              {"command_missed", missed.value_or("").substr(0, kMostShown)},
                              {"command_output", first_line(out.value_or(""))}});
    if (take) add_value(told, late ? std::vector<std::string_view>() : lines);
    return found(std::move(told));
  }

 private:
  void add_value(Json& told, const std::vector<std::string_view>& lines) const {
    std::optional<std::string_view> part;
    for (std::size_t i = 0; i < lines.size() && !part; ++i) part = take->part_of(lines[i]);
    told.set("command_value", part ? Json(std::string(part->substr(0, kMostShown))) : Json());
    const auto number = part ? to_fraction(trimmed(*part)) : std::nullopt;
    told.set("command_number", number && std::isfinite(*number) ? Json(*number) : Json());
  }
};

}  // namespace

ChildPlan command(const Call& call) {
  std::vector<std::string> argv = words_of(call.text("command"));
  if (argv.empty() || argv[0].empty()) return {{}, {}, unknown("no command is given")};
  // The program itself is the specification's.
  for (std::size_t i = 1; i < argv.size(); ++i) {
    auto word = filled(call, argv[i], Of::argument);
    if (!word) return {{}, {}, unknown(word.error().what)};
    argv[i] = std::move(*word);
  }
  CommandReading reading;
  reading.program = argv[0];
  auto patterns = Patterns::parse(call.text("expect"));
  if (!patterns) return {{}, {}, unknown(patterns.error().what)};
  reading.patterns = std::move(*patterns);
  if (!call.text("take").empty()) {
    auto take = Pattern::parse(call.text("take"), true);
    if (!take) return {{}, {}, unknown(take.error().what)};
    reading.take = std::move(*take);
  }
  auto exits = exits_of(call.text("unknown_exits"));
  if (!exits) return {{}, {}, unknown(exits.error().what)};
  reading.unknown_exits = std::move(*exits);
  ChildPlan plan;
  plan.programs.push_back(bounded_spec(call, std::move(argv)));
  auto input = filled(call, call.text("input"), Of::input);
  if (!input) return {{}, {}, unknown(input.error().what)};
  plan.programs[0].input = std::move(*input);
  if (Status added = add_environment(plan.programs[0], call.text("environment")); !added)
    return {{}, {}, unknown(added.error().what)};
  plan.read = [reading = std::move(reading)](const std::vector<Result<ProcessOutcome>>& ended) {
    const auto& outcome = ended[0];
    if (!outcome) {
      if (outcome.error().code != ErrorCode::missing_program) return unknown(outcome.error().line());
      return reading.answer(Json(127), false, std::nullopt, false);
    }
    if (outcome->ended_early) return unknown(reading.program + " was ended before its time");
    // An answer, and not unknown: who asks may want to know that it hangs.
    if (outcome->timed_out) return reading.answer(Json(), true, outcome->out, false);
    // 128 and the signal, as a shell says it.
    return reading.answer(outcome->signal != 0 ? Json(128 + outcome->signal) : Json(outcome->exit_code),
                          false, outcome->out, outcome->truncated);
  };
  return plan;
}

// The words of NHC that its scripts call, as far as they say what a check found.  Standard output is for the
// verdict alone.
constexpr const char* kNhcHarness = R"(exec 3>&1 1>&2 </dev/null
NHC_PID=$$ NAME=nhc HELPERDIR=/nonexistent RUNDIR=/run OFFLINE_NODE=: ONLINE_NODE=:
export NHC_RM=slurm MARK_OFFLINE=0 DEBUG=0 VERBOSE=0 SILENT=0 NHC_CHECK_ALL=0 FAIL_CNT=0 NHC_PID
HOSTNAME_S=${HOSTNAME%%.*} INCDIR=$1 CONFDIR=${1%/*}
shopt -s extglob
for word in dbg dbgf vlog vlogf kill_watchdog nhcmain_watchdog_timer syslog_flush; do eval "$word() { :; }"; done
for word in log logf out outf oecho eecho syslog err warn; do eval "$word() { printf '%s\n' \"\$*\"; }"; done
die() {
  case "${1-}" in ''|*[!0-9]*) ;; *) shift ;; esac
  printf 'failed\n%s\n' "$*" >&3
  exit 0
}
for script in "$1"/*.nhc; do [ -e "$script" ] && . "$script"; done
set -f
eval "$2"
eval "$3"
code=$?
case $code in
  0) echo passed >&3 ;;
  126|127) printf 'missing\nthere is no such check or command in %s\n' "$1" >&3 ;;
  *) printf 'failed\nit ended with %s\n' "$code" >&3 ;;
esac
exit 0)";

ChildPlan nhc_check(const Call& call) {
  const std::string& line = call.text("line");
  if (line.empty()) return {{}, {}, unknown("no line is given")};
  if (!call.tree->is_this_machine() && !call.tree->exists(call.text("scripts")))
    return {{}, {}, unknown("there is no " + call.text("scripts"))};
  ChildPlan plan;
  plan.programs.push_back(
      bounded_spec(call, {"bash", "--noprofile", "--norc", "-c", kNhcHarness, "nhc",
                          call.tree->path(call.text("scripts")), call.text("settings"), line}));
  // NHC's own variable: the seconds that a check may take.
  plan.programs[0].environment.push_back(
      fmt::format("TIMEOUT={}", std::max<std::int64_t>(call.time_limit.count() / 1000, 1)));
  plan.read = [](const std::vector<Result<ProcessOutcome>>& ended) {
    if (auto missing = no_answer("bash", ended[0])) return *missing;
    const std::vector<std::string_view> lines = lines_of(ended[0]->out);
    const std::string_view verdict = lines.empty() ? "" : lines[0];
    const std::string text = lines.size() > 1 ? std::string(lines[1]).substr(0, kMostShown) : "";
    if (verdict == "passed")
      return found(Json::object({{"nhc_check_failed", false}, {"nhc_check_text", ""}}));
    if (verdict == "failed")
      return found(Json::object({{"nhc_check_failed", true}, {"nhc_check_text", text}}), text);
    // A check that is not there is no verdict: else a node that lost NHC would be taken out.
    if (verdict == "missing") return unknown(text);
    return unknown("the script ended without a verdict: " + quote_for_message(trimmed(ended[0]->err), 200));
  };
  return plan;
}

ChildPlan ping(const Call& call) {
  const std::vector<std::string> hosts = words_of(call.text("hosts"));
  if (hosts.empty() || hosts.size() > 100) return {{}, {}, unknown("1 to 100 hosts are asked")};
  ChildPlan plan;
  for (const std::string& host : hosts) {
    if (host.empty() || host.starts_with('-'))
      return {{}, {}, unknown(quote_for_message(host) + " is no name of a host")};
    std::vector<std::string> argv = {"ping", "-q", "-n"};
    constexpr std::pair<const char*, const char*> kOptions[] = {
        {"count", "-c"}, {"ttl", "-t"}, {"deadline", "-w"}, {"wait", "-W"}, {"size", "-s"}};
    for (const auto& [name, letter] : kOptions)
      if (call.integer(name) > 0) argv.insert(argv.end(), {letter, std::to_string(call.integer(name))});
    if (const double every = call.arguments["interval"].as_double(); every > 0)
      argv.insert(argv.end(), {"-i", fmt::format("{}", every)});
    if (!call.text("device").empty()) argv.insert(argv.end(), {"-I", call.text("device")});
    argv.push_back(host);
    plan.programs.push_back(bounded_spec(call, std::move(argv)));
  }
  plan.read = [hosts](const std::vector<Result<ProcessOutcome>>& ended) {
    for (std::size_t i = 0; i < ended.size(); ++i) {
      if (auto missing = no_answer("ping", ended[i])) return *missing;
      if (ended[i]->exit_code == 0) continue;
      return found(Json::object({{"ping_answered", false}, {"ping_silent", hosts[i].substr(0, kMostShown)}}),
                   first_line(ended[i]->err));
    }
    return found(Json::object({{"ping_answered", true}, {"ping_silent", ""}}));
  };
  return plan;
}

ChildPlan dmi(const Call& call) {
  auto pattern = Pattern::parse(call.text("match"));
  if (!pattern) return {{}, {}, unknown(pattern.error().what)};
  ChildPlan plan;
  plan.programs.push_back(bounded_spec(call, {"dmidecode"}));
  plan.read = [pattern = std::move(*pattern), raw = call.flag("raw"), handle = call.text("handle"),
               type = call.text("type")](const std::vector<Result<ProcessOutcome>>& ended) {
    if (auto missing = no_answer("dmidecode", ended[0])) return *missing;
    const auto all = parse_dmidecode(ended[0]->out);
    if (all.empty())
      return unknown("dmidecode tells nothing: " + quote_for_message(trimmed(ended[0]->err), 200));
    std::int64_t matches = 0, looked = 0;
    if (raw) {
      for (const std::string_view line : lines_of(ended[0]->out)) {
        ++looked;
        matches += pattern.fits(line);
      }
    } else {
      for (const DmiStructure& one : all) {
        if (!handle.empty() && handle != one.handle) continue;
        if (!type.empty() && type != one.title && type != std::to_string(one.type)) continue;
        ++looked;
        for (const std::string& line : one.lines) matches += pattern.fits(line);
      }
    }
    return found(Json::object({{"dmi_matches", matches}, {"dmi_looked_at", looked}}));
  };
  return plan;
}

ChildPlan memory_errors(const Call& call) {
  ChildPlan plan;
  plan.programs.push_back(bounded_spec(call, {"mcelog", "--client"}));
  // rasdaemon counts by days: since yesterday's midnight is a day at least.
  const std::string since = format_time(call.now - std::chrono::hours(24)).substr(0, 10);
  plan.programs.push_back(bounded_spec(call, {"ras-mc-ctl", "--summary", "--since=" + since}));
  plan.read = [](const std::vector<Result<ProcessOutcome>>& ended) {
    std::optional<MemoryErrors> errors;
    std::string source;
    if (ended[0] && ended[0]->signal == 0) {
      errors = parse_mcelog(ended[0]->out);
      source = "mcelog";
      // A daemon that runs and has seen no error says nothing.
      if (!errors && ended[0]->exit_code == 0 && trimmed(ended[0]->out).empty() &&
          trimmed(ended[0]->err).empty())
        errors = MemoryErrors{};
    }
    if (!errors && ended[1] && ended[1]->exit_code == 0) {
      errors = parse_ras_summary(ended[1]->out);
      source = "rasdaemon";
    }
    if (!errors) return unknown("neither the daemon of mcelog nor rasdaemon tells of memory errors");
    return found(Json::object({{"memory_corrected_day", errors->corrected},
                               {"memory_uncorrected_day", errors->uncorrected}}),
                 source);
  };
  return plan;
}

}  // namespace sickbay::node
