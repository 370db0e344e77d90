// SPDX-License-Identifier: Apache-2.0
// The table was read out of sbatch 22.05.8 itself (what it hands to getopt_long); the rows for later releases
// (container-id, tres-*, extra, oom-kill-step, resv-ports, segment, stepmgr, *-segments), and the value of
// requeue (25.11), are from their manuals.
#include "model/sbatch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sickbay {
namespace {

using enum OptionValue;
// clang-format off
constexpr auto kOptions = std::to_array<CommandOption>({
    {"account", 'A', required},
    {"acctg-freq", 0, required},
    {"array", 'a', required},
    {"batch", 0, required},
    {"bb", 0, required},
    {"bbf", 0, required},
    {"begin", 'b', required},
    {"chdir", 'D', required},
    {"cluster", 0, required, "clusters"},
    {"cluster-constraint", 0, required},
    {"clusters", 'M', required},
    {"comment", 0, required},
    {"consolidate-segments", 0, none},
    {"constraint", 'C', required},
    {"container", 0, required},
    {"container-id", 0, required},
    {"context", 0, required},
    {"contiguous", 0, none},
    {"core-spec", 'S', required},
    {"cores-per-socket", 0, required},
    {"cpu-freq", 0, required},
    {"cpus-per-gpu", 0, required},
    {"cpus-per-task", 'c', required},
    {"deadline", 0, required},
    {"delay-boot", 0, required},
    {"dependency", 'd', required},
    {"distribution", 'm', required},
    {"error", 'e', required},
    {"exclude", 'x', required},
    {"exclusive", 0, optional},
    {"export", 0, required},
    {"export-file", 0, required},
    {"extra", 0, required},
    {"extra-node-info", 'B', required},
    {"get-user-env", 0, optional},
    {"gid", 0, required},
    {"gpu-bind", 0, required},
    {"gpu-freq", 0, required},
    {"gpus", 'G', required},
    {"gpus-per-node", 0, required},
    {"gpus-per-socket", 0, required},
    {"gpus-per-task", 0, required},
    {"gres", 0, required},
    {"gres-flags", 0, required},
    {"help", 'h', none},
    {"hint", 0, required},
    {"hold", 'H', none},
    {"ignore-pbs", 0, none},
    {"input", 'i', required},
    {"job-name", 'J', required},
    {"kill-on-invalid-dep", 0, required},
    {"licenses", 'L', required},
    {"mail-type", 0, required},
    {"mail-user", 0, required},
    {"mcs-label", 0, required},
    {"mem", 0, required},
    {"mem-bind", 0, required},
    {"mem-per-cpu", 0, required},
    {"mem-per-gpu", 0, required},
    {"mincpus", 0, required},
    {"network", 0, required},
    {"nice", 0, optional},
    {"no-kill", 'k', optional},
    {"no-requeue", 0, none},
    {"nodefile", 'F', required},
    {"nodelist", 'w', required},
    {"nodes", 'N', required},
    {"ntasks", 'n', required},
    {"ntasks-per-core", 0, required},
    {"ntasks-per-gpu", 0, required},
    {"ntasks-per-node", 0, required},
    {"ntasks-per-socket", 0, required},
    {"ntasks-per-tres", 0, required},
    {"oom-kill-step", 0, optional},
    {"open-mode", 0, required},
    {"output", 'o', required},
    {"overcommit", 'O', none},
    {"oversubscribe", 's', none},
    {"parsable", 0, none},
    {"partition", 'p', required},
    {"power", 0, required},
    {"prefer", 0, required},
    {"priority", 0, required},
    {"profile", 0, required},
    {"propagate", 0, optional},
    {"qos", 'q', required},
    {"quiet", 'Q', none},
    {"reboot", 0, none},
    {"requeue", 0, optional},
    {"reservation", 0, required},
    {"resv-ports", 0, optional},
    {"segment", 0, required},
    {"signal", 0, required},
    {"sockets-per-node", 0, required},
    {"spread-job", 0, none},
    {"spread-segments", 0, none},
    {"stepmgr", 0, none},
    {"switches", 0, required},
    {"tasks-per-node", 0, required, "ntasks-per-node"},
    {"test-only", 0, none},
    {"thread-spec", 0, required},
    {"threads-per-core", 0, required},
    {"time", 't', required},
    {"time-min", 0, required},
    {"tmp", 0, required},
    {"tres-bind", 0, required},
    {"tres-per-task", 0, required},
    {"uid", 0, required},
    {"usage", 0, none},
    {"use-min-nodes", 0, none},
    {"verbose", 'v', none},
    {"version", 'V', none},
    {"wait", 'W', none},
    {"wait-all-nodes", 0, required},
    {"wckey", 0, required},
    {"wrap", 0, required},
});
// clang-format on
static_assert(std::ranges::is_sorted(kOptions, {}, &CommandOption::name), "looked up by bisection");

const CommandOption* find_letter(char letter) {
  for (const CommandOption& row : kOptions)
    if (row.letter != 0 && row.letter == letter) return &row;
  return nullptr;
}

std::string_view canonical_name(const CommandOption& row) { return row.means.empty() ? row.name : row.means; }

Error usage_error(std::string what) {
  return Error(ErrorCode::usage, std::move(what))
      .remedied_by("see 'sbatch --help' for sbatch's options and 'sickbay submit --help' for Sickbay's");
}

// The row of a long name as getopt_long finds it: whole, or cut to a start that fits one row only.
// Null: no row.  Rows that stand for the same option do not contradict each other.
Result<const CommandOption*> match_long(std::string_view name) {
  if (const CommandOption* row = find_sbatch_option(name)) return row;
  const CommandOption* found = nullptr;
  std::string candidates;
  bool ambiguous = false;
  auto at = std::ranges::lower_bound(kOptions, name, {}, &CommandOption::name);
  for (; at != kOptions.end() && at->name.starts_with(name); ++at) {
    candidates += fmt::format("{}--{}", candidates.empty() ? "" : ", ", at->name);
    if (found == nullptr) found = &*at;
    ambiguous |= canonical_name(*found) != canonical_name(*at);
  }
  if (ambiguous)
    return fail(usage_error(fmt::format("option '--{}' is ambiguous: {}", name, candidates))
                    .remedied_by("write the option's whole name"));
  return found;
}

// Reads options off the front of `words`; `at` is where the next word stands.
class OptionReader {
 public:
  OptionReader(std::span<const std::string> words, std::span<const CommandOption> own, SbatchLine& line)
      : words_(words), own_(own), line_(line) {}

  /// All up to the first word that is no option.  Afterwards at() is the index of that word.
  Status read_options() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_];
      // A single "-" is no option for getopt_long, and so the script.
      if (word.size() < 2 || word[0] != '-') {
        if (word != ":") break;  // parts the components of a heterogeneous job
        line_.heterogeneous = true;
        line_.passed.push_back(word);
        ++at_;
      } else if (word == "--") {
        ++at_;  // not passed on: the caller puts the script behind the options
        break;
      } else if (auto read = word[1] == '-' ? read_long(word) : read_cluster(word); !read) {
        return read;
      }
    }
    return {};
  }
  std::size_t at() const { return at_; }

 private:
  Status read_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string_view name =
        std::string_view(word).substr(2, equals == word.npos ? word.npos : equals - 2);
    GivenOption given;
    given.first = at_;
    if (equals != word.npos) given.value = word.substr(equals + 1);

    // Our own by their whole name only: a cut one is sbatch's.
    const auto mine = std::ranges::find(own_, name, &CommandOption::name);
    const bool is_own = mine != own_.end();
    if (is_own) {
      given.option = &*mine;
    } else if (auto row = match_long(name); !row) {
      return fail(row.error());
    } else {
      given.option = *row;
    }
    given.name = given.option != nullptr ? std::string(canonical_name(*given.option)) : std::string(name);

    if (given.option != nullptr && given.option->value == none && given.value)
      return fail(usage_error(fmt::format("option '--{}' takes no value, and was given {}", given.name,
                                          quote_for_message(*given.value))));
    if (given.option != nullptr && given.option->value == required && !given.value) {
      if (at_ + 1 >= words_.size())
        return fail(usage_error(fmt::format("option '--{}' needs a value", given.name)));
      given.value = words_[at_ + 1];
      given.count = 2;
    }
    if (!is_own)
      for (std::size_t i = 0; i < given.count; ++i) line_.passed.push_back(words_[at_ + i]);
    at_ += given.count;
    (is_own ? line_.own : line_.options).push_back(std::move(given));
    return {};
  }

  Status read_cluster(const std::string& word) {
    std::size_t count = 1;
    for (std::size_t i = 1; i < word.size(); ++i) {
      GivenOption given;
      given.first = at_;
      given.option = find_letter(word[i]);
      if (given.option == nullptr) {  // sbatch will say what it thinks of it
        given.name = word.substr(i);
        given.letters = true;
        line_.options.push_back(std::move(given));
        break;
      }
      given.name = canonical_name(*given.option);
      const std::string rest = word.substr(i + 1);
      // An optional value stands in the same word, or is none.
      if (given.option->value == optional && !rest.empty()) given.value = rest;
      if (given.option->value == required) {
        if (rest.empty() && at_ + 1 >= words_.size())
          return fail(usage_error(fmt::format("option '-{}' (--{}) needs a value", word[i], given.name)));
        given.value = rest.empty() ? words_[at_ + 1] : rest;
        if (rest.empty()) count = 2;
      }
      given.count = count;
      const bool ends = given.value.has_value();
      line_.options.push_back(std::move(given));
      if (ends) break;
    }
    for (std::size_t i = 0; i < count; ++i) line_.passed.push_back(words_[at_ + i]);
    at_ += count;
    return {};
  }

  std::span<const std::string> words_;
  std::span<const CommandOption> own_;
  SbatchLine& line_;
  std::size_t at_ = 0;
};

const GivenOption* last_of(const std::vector<GivenOption>& options, std::string_view name) {
  for (auto at = options.rbegin(); at != options.rend(); ++at)
    if (at->name == name) return &*at;
  return nullptr;
}

// Appends the words of one #SBATCH line.  As tried on 22.05: quotes keep blanks, a backslash takes the next
// character as it is, within quotes too, but does not keep a blank; a '#' outside quotes ends the line, also
// in the middle of a word.
Status append_directive_words(std::string_view text, int line_number, std::vector<std::string>& words) {
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (quote == 0 && c == '#') break;
    if (quote == 0 && is_blank) {
      if (word) words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == '\\' && i + 1 < text.size()) {
      if (quote != 0 || (text[i + 1] != ' ' && text[i + 1] != '\t')) *word += text[++i];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      *word += c;
    }
  }
  if (quote != 0)
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("line {} of the script: the quote {} does not end", line_number, quote))
                    .remedied_by("close the quote on the same #SBATCH line"));
  if (word) words.push_back(std::move(*word));
  return {};
}

}  // namespace

std::span<const CommandOption> sbatch_option_table() { return kOptions; }

const CommandOption* find_sbatch_option(std::string_view name) {
  const auto at = std::ranges::lower_bound(kOptions, name, {}, &CommandOption::name);
  return at != kOptions.end() && at->name == name ? &*at : nullptr;
}

std::string GivenOption::text() const {
  std::string text = (letters ? "-" : "--") + name;
  if (value) text += "=" + *value;
  return text;
}

const GivenOption* SbatchLine::last(std::string_view name) const { return last_of(options, name); }
const GivenOption* SbatchLine::last_own(std::string_view name) const { return last_of(own, name); }

Result<SbatchLine> parse_sbatch_line(std::span<const std::string> words, std::span<const CommandOption> own) {
  SbatchLine line;
  OptionReader reader(words, own, line);
  if (auto read = reader.read_options(); !read) return fail(read.error());
  std::size_t at = reader.at();
  if (at < words.size()) line.script = words[at++];
  for (; at < words.size(); ++at) line.script_args.push_back(words[at]);
  return line;
}

Result<std::vector<GivenOption>> parse_script_options(std::string_view script) {
  std::vector<std::string> words;  // of all lines: sbatch, too, reads them as one command line
  int line_number = 0;
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view text = script.substr(0, end);
    script.remove_prefix(end == script.npos ? script.size() : end + 1);
    ++line_number;
    constexpr std::string_view kMark = "#SBATCH";
    // From the first column only, and no blank before it: sbatch looks no further.
    if (text.starts_with(kMark)) {
      auto read = append_directive_words(text.substr(kMark.size()), line_number, words);
      if (!read) return fail(read.error());
    } else if (const std::string_view rest = trimmed(text); !rest.empty() && rest[0] != '#') {
      // Options end at the first command, as in sbatch: a later "#SBATCH" is a remark.
      break;
    }
  }
  auto line = parse_sbatch_line(words);
  if (!line) {
    Error error = line.error();
    return fail(std::move(error).in("reading the script's #SBATCH lines"));
  }
  return std::move(line->options);
}

bool has_heterogeneous_line(std::string_view script) {
  constexpr std::string_view kMark = "#SBATCH";
  while (!script.empty()) {
    const auto end = std::min(script.find('\n'), script.size());
    std::string_view line = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    if (const auto text = trimmed(line); !text.empty() && text[0] != '#') return false;  // options end here
    if (!line.starts_with(kMark)) continue;
    line = trimmed(line.substr(kMark.size()));
    if (line.starts_with("hetjob") || line.starts_with("packjob")) return true;
  }
  return false;
}

}  // namespace sickbay
