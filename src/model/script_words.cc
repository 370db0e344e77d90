// SPDX-License-Identifier: Apache-2.0
#include "model/script_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace sickbay {
namespace {

constexpr std::string_view kWordEnds = " \t\r;|&<>()[]{}'\"`=";
constexpr std::string_view kBlanks = " \t\r";
// Behind these a word begins, for ~ and for NAME=.
constexpr std::string_view kBefore = " \t\r;|&<>()[]{}'\"`=:";
constexpr std::string_view kUserEnds = "/ \t\r;|&<>()[]{}'\"`=:";  // of ~USER
constexpr auto kOutputOptions = std::to_array<std::string_view>({"-o", "--output", "--out"});
constexpr auto kHarmlessRoots = std::to_array<std::string_view>({"/tmp", "/dev"});

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, is_letter);
}
bool in_file_name(char c) { return is_letter(c) || c == '-' || c == '.'; }

// Of the job's own folder, or of the job that somebody submitted from: another value in each run.
bool is_of_the_run(std::string_view name) {
  return name == "PWD" || name == "OLDPWD" || name.starts_with("SLURM_");
}

std::size_t name_length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_letter) - text.begin());
}

// Text in which a path has one form.
class PlainText {
 public:
  void add(char c) {
    if (c == '/' && text_.ends_with("/.")) text_.pop_back();
    if (c != '/' || !text_.ends_with('/')) text_ += c;
  }
  void add(std::string_view more) {
    for (const char c : more) add(c);
  }
  std::size_t size() const { return text_.size(); }
  std::string_view from(std::size_t at) const {
    return std::string_view(text_).substr(std::min(at, text_.size()));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  char before = ' ';  // the last end that is no blank, since the word before
  while (!line.empty()) {
    const auto length = std::min(line.find_first_of(kWordEnds), line.size());
    if (length > 0) {
      if (before != '>') words.emplace_back(line.substr(0, length));
      before = ' ';
      line.remove_prefix(length);
      continue;
    }
    // (">&1" and ">(...)" write to no file of that name.)
    if (line[0] != ' ' && line[0] != '\t' && !(before == '>' && (line[0] == '\'' || line[0] == '"')))
      before = line[0];
    line.remove_prefix(1);
  }
  return words;
}

ShellNames::ShellNames(const std::vector<std::string>& environment, std::string user)
    : user_(std::move(user)) {
  for (const std::string& one : environment)
    if (const auto mark = one.find('='); mark != std::string::npos && one.size() - mark <= kLongestValue)
      values_.emplace(one.substr(0, mark), one.substr(mark + 1));
}

const std::string* ShellNames::value_of(std::string_view name) const {
  if (is_of_the_run(name) || too_much()) return nullptr;
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string ShellNames::expand(std::string_view line) {
  PlainText out;
  std::size_t word = 0, value = 0;  // where they begin in `out`
  std::string setting;              // the name that the word gives a value to
  int defaults = 0;                 // "${NAME:-" that are open
  char quote = 0, before = ' ';
  const auto write = [&](const std::string& known) {
    // A line that doubles a variable again and again would grow without end: what was written out is counted
    // (too_much).
    written_ += known.size();
    out.add(known);
  };
  const auto end_of_word = [&] {
    if (!setting.empty()) {
      const std::string_view now = out.from(value);
      // What a command prints is not known, nor what has an unknown name in it.
      if (now.size() > kLongestValue || now.find_first_of("$`") != std::string_view::npos)
        values_.erase(setting);
      else
        values_.insert_or_assign(setting, std::string(now));
      setting.clear();
    }
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const std::string_view rest = line.substr(i + 1);
    // Names in '...' are written out as well, which the shell would not do: better a path too many
    // (script_words.h).
    if (c == '\'' || c == '"') {
      if (quote == 0)
        quote = c;
      else if (quote == c)
        quote = 0;
    } else if (c == '\\') {
      if (!rest.empty()) out.add(line[++i]);
    } else if (c == '~' && kBefore.find(before) != std::string_view::npos) {
      const auto user = std::min(rest.find_first_of(kUserEnds), rest.size());
      // Whose home ~OTHER is stands in no environment.
      const std::string* home = user == 0 || rest.substr(0, user) == user_ ? value_of("HOME") : nullptr;
      if (home != nullptr) {
        write(*home);
        i += user;
      } else {
        out.add(c);
      }
    } else if (c == '$' && (rest.starts_with('{') ? name_length(rest.substr(1)) : name_length(rest)) > 0) {
      const bool braces = rest.starts_with('{');
      const std::string_view name = rest.substr(braces ? 1 : 0, name_length(rest.substr(braces ? 1 : 0)));
      const std::string_view behind = rest.substr((braces ? 1 : 0) + name.size());
      const std::string* known = value_of(name);
      i += (braces ? 1 : 0) + name.size();
      if (known != nullptr) {
        write(*known);
        // Of "${NAME%/}" and the like the value alone.
        if (braces) i += std::min(behind.find('}'), behind.size()) + 1;
      } else if (braces && !is_of_the_run(name) && (behind.starts_with(":-") || behind.starts_with(":="))) {
        // Of an unknown name the default is what the shell takes: it is read on as text, up to its brace.
        i += 2;
        ++defaults;
      } else {
        out.add('$');
        if (braces) out.add('{');
        out.add(name);
      }
    } else if (c == '}' && defaults > 0) {
      --defaults;
    } else {
      const bool ends = quote == 0 && (kBlanks.find(c) != std::string_view::npos || c == ';' || c == '&' ||
                                       c == '|' || c == '<' || c == '>' || c == ')');
      if (ends) end_of_word();
      out.add(c);
      if (ends || (quote == 0 && c == '(')) word = out.size();
      // The first '=' of a word sets a name; further ones are of its value.
      if (c == '=' && quote == 0 && setting.empty()) {
        const std::string_view name = out.from(word);
        if (name.size() > 1 && is_name(name.substr(0, name.size() - 1))) {
          setting = std::string(name.substr(0, name.size() - 1));
          value = out.size();
        }
      }
    }
    before = i < line.size() ? line[i] : ' ';
  }
  end_of_word();
  return out.take();
}

bool names_path(std::string_view line, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  // "/" is named by every absolute path.
  if (folder.size() < 2 || folder[0] != '/') return false;
  for (auto at = line.find('/'); at != std::string_view::npos; at = line.find('/', at + 1)) {
    // A path begins at its first slash; only "-I/home" has letters before it.
    const bool option =
        at >= 2 && line[at - 2] == '-' && (at == 2 || kBefore.find(line[at - 3]) != std::string_view::npos);
    if (at > 0 && !option && (in_file_name(line[at - 1]) || line[at - 1] == '/' || line[at - 1] == '~'))
      continue;
    if (!line.substr(at).starts_with(folder)) continue;
    const std::string_view behind = line.substr(at + folder.size());
    // Whole, or as the start of a path: /home/alice is not named by /home/alice2.
    if (behind.empty() || !in_file_name(behind[0])) return true;
  }
  return false;
}

bool writes_elsewhere(std::string_view line) {
  // `text` begins where a path would stand.
  const auto is_elsewhere = [](std::string_view text) {
    const std::string_view path = text.substr(0, text.find_first_of(kWordEnds));
    if (!path.starts_with('/')) return false;
    // "/tmp/../home" only looks harmless.
    if (path.find("/..") != std::string_view::npos) return true;
    return std::ranges::none_of(kHarmlessRoots, [path](std::string_view root) {
      return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
    });
  };
  const auto skip = [](std::string_view text, std::string_view letters) {
    return text.substr(std::min(text.find_first_not_of(letters), text.size()));
  };
  char before = ' ';
  for (std::size_t i = 0; i < line.size(); before = line[i++]) {
    const std::string_view rest = line.substr(i);
    if (line[i] == '>') {  // of ">>" the first; "->" and "=>" are of other languages
      if (before != '-' && before != '=' && before != '>' && is_elsewhere(skip(skip(rest, ">|&"), " \t")))
        return true;
      continue;
    }
    if (line[i] != '-' || kBefore.find(before) == std::string_view::npos) continue;
    for (const std::string_view option : kOutputOptions) {
      if (!rest.starts_with(option)) continue;
      std::string_view behind = rest.substr(option.size());
      const bool apart = behind.starts_with(' ') || behind.starts_with('\t') || behind.starts_with('=');
      if (!apart && option != "-o") continue;
      if (apart) behind = behind[0] == '=' ? behind.substr(1) : skip(behind, " \t");
      if (is_elsewhere(behind)) return true;
    }
  }
  return false;
}

}  // namespace sickbay
