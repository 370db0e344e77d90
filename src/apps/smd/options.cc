// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/smd/policy.h"
#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::smd {
namespace {

constexpr std::size_t kMostNodes = 4096;  // as the service takes in one request (model/nonstop_wire.h)

Error usage(std::string what, std::string remedy = "see 'smd --help'") {
  return Error(ErrorCode::usage, std::move(what)).remedied_by(std::move(remedy));
}

const OptionRow* row_of(char letter) {
  const auto row = std::ranges::find(option_rows(), letter, &OptionRow::letter);
  return row == option_rows().end() ? nullptr : &*row;
}
const OptionRow* row_of(std::string_view word) {
  const auto row = std::ranges::find_if(option_rows(), [word](const OptionRow& r) { return r.word == word; });
  return row == option_rows().end() ? nullptr : &*row;
}

Error unknown(const std::string& word) {
  std::vector<std::string> known;
  for (const OptionRow& row : option_rows()) known.push_back(std::string("--") + row.word);
  const std::string meant = word.starts_with("--") ? did_you_mean(word, known) : "";
  return usage(
      fmt::format("unknown option {}", quote_for_message(word)),
      meant.empty() ? "see 'smd --help'" : fmt::format("did you mean '{}'?  See 'smd --help'", meant));
}

// One action at a time, but for -H with -G.
Status choose(Wish& wish, Action action, const std::string& as) {
  if (wish.action != Action::none && !(wish.action == action && action == Action::handle))
    return fail(usage(fmt::format("{} is one thing too many", as), "ask smd for one thing after the other"));
  wish.action = action;
  return {};
}

Status take_nodes(Wish& wish, const std::string& as, const std::string& value) {
  auto names = expand_hostlist(value, kMostNodes);
  if (!names || names->empty())
    return fail(
        usage(fmt::format("{} {}: {}", as, quote_for_message(value), names ? "no node" : names.error().what),
              "give a node, or several as n[1-3],m7"));
  wish.nodes = sorted_hosts(std::move(*names));
  return {};
}

Status take_minutes(Wish& wish, const std::string& as, const std::string& value) {
  if (value.empty() || value.size() > 6 || !std::ranges::all_of(value, is_digit) ||
      std::stoul(value) > kMostPolicyMinutes)
    return fail(usage(fmt::format("{} {}: not a number of minutes", as, quote_for_message(value)),
                      fmt::format("give a whole number up to {}; 0 is all the credit", kMostPolicyMinutes)));
  wish.minutes = static_cast<std::uint32_t>(std::stoul(value));
  return {};
}

Status take(Wish& wish, const OptionRow& row, const std::string& as, const std::string& value) {
  const std::string_view word = row.word;
  const auto nodes = [&](Action action) {
    const Status chosen = choose(wish, action, as);
    return chosen ? take_nodes(wish, as, value) : chosen;
  };
  if (word == "faulty") return choose(wish, Action::faulty, as);
  if (word == "job") return choose(wish, Action::job, as);
  if (word == "config") return choose(wish, Action::config, as);
  if (word == "check-policy") return choose(wish, Action::check_policy, as);
  // (Help and version go before what was asked for otherwise.)
  if (word == "help") return wish.action = Action::help, Status();
  if (word == "version") return wish.action = Action::version, Status();
  if (word == "drain") return nodes(Action::drain);
  if (word == "replace") return nodes(Action::replace);
  if (word == "drop") return nodes(Action::drop);
  if (word == "extend") {
    const Status chosen = choose(wish, Action::extend, as);
    return chosen ? take_minutes(wish, as, value) : chosen;
  }
  if (word == "handle-failed" || word == "handle-failing") {
    (word == "handle-failed" ? wish.failed : wish.failing) = true;
    return choose(wish, Action::handle, as);
  }
  if (word == "reason") wish.reason = value;
  if (word == "folder") wish.folder = value;
  if (word == "exports") wish.exports = true;
  if (word == "json") wish.json = true;
  if (word == "verbose") wish.verbose = true;
  if (word == "reason" || word == "folder")
    if (value.empty()) return fail(usage(fmt::format("{} is empty", as)));
  return {};
}

Status agree(Wish& wish) {
  if (wish.action == Action::none && wish.exports) wish.action = Action::exports;
  if (wish.action == Action::none)
    return fail(usage("nothing is asked for", "say what: -f shows the faulty nodes; see 'smd --help'"));
  if (!wish.reason.empty() && wish.action != Action::drain)
    return fail(
        usage("-R is there without -d", "a reason belongs to the draining of a node: -d NODE -R TEXT"));
  const bool changes =
      wish.action == Action::replace || wish.action == Action::drop || wish.action == Action::handle;
  if (wish.exports && !changes && wish.action != Action::exports)
    return fail(usage("-E does not go with it", "give -E alone, or with -r, -D, -H or -G"));
  if (wish.exports && wish.json)
    return fail(usage("-E and --json both want standard output", "--json has the new nodes in new_set"));
  const bool needs_job = wish.action != Action::config && wish.action != Action::check_policy &&
                         wish.action != Action::drain && wish.action != Action::help &&
                         wish.action != Action::version;
  if (needs_job && wish.job == 0)
    return fail(usage("which job?", "give its id, or run smd in the job, where SLURM_JOB_ID is set"));
  return {};
}

}  // namespace

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> rows = {
      {'f', "faulty", nullptr, "show the faulty nodes of the job"},
      {'r', "replace", "NODE", "replace a faulty node; of several (n[1-3]) all or none"},
      {'D', "drop", "NODE", "go on without a faulty node"},
      {'e', "extend", "MIN", "extend the time limit by minutes of the job's credit; 0: all of it"},
      {'d', "drain", "NODE", "say that a node is failing"},
      {'R', "reason", "TEXT", "why, with -d"},
      {'j', "job", nullptr, "show what the service knows of the job"},
      {'c', "config", nullptr, "show the configuration of the service"},
      {'H', "handle-failed", nullptr, "do what SMD_NONSTOP_FAILED says about FAILED nodes"},
      {'G', "handle-failing", nullptr, "do what SMD_NONSTOP_FAILING says about FAILING nodes"},
      {'E', "exports", nullptr, "print the job's new environment as shell commands"},
      {'o', "folder", "DIR", "where the nodes file lies, in place of /tmp"},
      {0, "check-policy", nullptr, "see whether SMD_NONSTOP_FAILED and SMD_NONSTOP_FAILING can be read"},
      {0, "json", nullptr, "answer in JSON"},
      {'v', "verbose", nullptr, "tell on standard error what is asked and answered"},
      {'h', "help", nullptr, "print this"},
      {'V', "version", nullptr, "print the version"},
  };
  return rows;
}

Result<std::uint32_t> parse_job(const std::string& text) {
  const auto wrong = [&](std::string remedy) {
    return fail(usage(fmt::format("{} is no job id", quote_for_message(text)), std::move(remedy)));
  };
  const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  // What people copy from squeue or sacct: "17.0", "17_3", "17+1"; each gets its own remedy.
  if (digits > 0 && digits < text.size() && text[digits] == '.')
    return wrong(fmt::format("give the job without its step: {}", text.substr(0, digits)));
  if (digits > 0 && digits < text.size() && (text[digits] == '_' || text[digits] == '+'))
    return wrong("give the job id of the task or component itself, which squeue -o %A prints");
  if (digits == 0 || digits < text.size() || text.size() > 10)
    return wrong("give a number, as squeue shows it");
  const unsigned long long number = std::stoull(text);
  // (The two highest numbers are Slurm's NO_VAL and INFINITE.)
  if (number == 0 || number > 0xfffffffdULL) return wrong("give a number, as squeue shows it");
  return static_cast<std::uint32_t>(number);
}

Result<Wish> parse_options(const std::vector<std::string>& words, const std::string& slurm_job_id) {
  Wish wish;
  std::string job;
  bool only_job = false;  // behind "--"
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!only_job && word == "--") {
      only_job = true;
      continue;
    }
    if (only_job || word.size() < 2 || word[0] != '-') {
      if (!job.empty())
        return fail(
            usage(fmt::format("{} is one word too many", quote_for_message(word)), "give one job id"));
      job = word;
      if (job.empty()) return fail(usage("the job id is empty"));
      continue;
    }
    // The value of an option that wants one: behind "=", behind its letter, or the next word.
    const auto value_of = [&](const OptionRow& row, const std::string& as, std::string_view attached,
                              bool is_attached) -> Result<std::string> {
      if (is_attached) return std::string(attached);
      if (++i < words.size()) return words[i];
      return fail(
          usage(fmt::format("{} wants {}", as, row.value), fmt::format("write {} {}", as, row.value)));
    };
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const OptionRow* row = row_of(std::string_view(name).substr(2));
      if (row == nullptr) return fail(unknown(name));
      std::string value;
      if (row->value != nullptr) {
        auto found =
            value_of(*row, name, equals == word.npos ? "" : std::string_view(word).substr(equals + 1),
                     equals != word.npos);
        if (!found) return fail(std::move(found.error()));
        value = std::move(*found);
      } else if (equals != word.npos) {
        return fail(usage(fmt::format("{} takes no value", name)));
      }
      if (const Status taken = take(wish, *row, name, value); !taken) return fail(taken.error());
      continue;
    }
    // Letters may stand together (-Hv); one that wants a value takes the rest of the word.
    for (std::size_t at = 1; at < word.size(); ++at) {
      const OptionRow* row = row_of(word[at]);
      const std::string as = std::string("-") + word[at];
      if (row == nullptr) return fail(unknown(as));
      std::string value;
      if (row->value != nullptr) {
        auto found = value_of(*row, as, std::string_view(word).substr(at + 1), at + 1 < word.size());
        if (!found) return fail(std::move(found.error()));
        value = std::move(*found);
        at = word.size();
      }
      if (const Status taken = take(wish, *row, as, value); !taken) return fail(taken.error());
    }
  }
  // Whatever the job's number is.
  if (wish.action == Action::help || wish.action == Action::version) return wish;
  if (job.empty()) job = slurm_job_id;
  if (!job.empty()) {
    auto number = parse_job(job);
    if (!number) return fail(std::move(number.error()));
    wish.job = *number;
  }
  if (const Status agreed = agree(wish); !agreed) return fail(agreed.error());
  return wish;
}

std::string help_text() {
  std::string text =
      "usage: smd [OPTIONS] [JOBID]\n"
      "Asks what became of a running job's nodes, and for others instead of those it lost.\n"
      "JOBID: default SLURM_JOB_ID, then SLURM_JOBID.\n\n";
  for (const OptionRow& row : option_rows()) {
    const std::string letter = row.letter == 0 ? "    " : fmt::format("-{}, ", row.letter);
    const std::string word = row.value == nullptr ? row.word : fmt::format("{} {}", row.word, row.value);
    text += fmt::format("  {}--{:<16}{}\n", letter, word, row.help);
  }
  return text +
         "\nPolicies (SMD_NONSTOP_FAILED, SMD_NONSTOP_FAILING): a list with colons, worked from left to "
         "right, of\n"
         "  REPLACE, TIME_LIMIT_DELAY=MIN, TIME_LIMIT_EXTEND=MIN, DROP, TIME_LIMIT_DROP=MIN, EXIT_JOB\n"
         "  as in SMD_NONSTOP_FAILED=REPLACE:TIME_LIMIT_DELAY=4:DROP:TIME_LIMIT_DROP=10\n\n"
         "Exit codes: 0 done, the job may go on; 1 it may not (-H, -G); 75 not now, ask again; others "
         "smd(1).\n";
}

}  // namespace sickbay::smd
