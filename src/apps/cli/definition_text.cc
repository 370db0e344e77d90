// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/definition_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/completion.h"
#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

// What every page says alike.
constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    "0 done; 1 the answer is no; 64 to 78 an error, whose cause and remedy are told on standard error:\n"
    "64 wrong command line, 65 bad input, 66 no such thing, 69 sickbayd, slurmctld or munged is away,\n"
    "70 a fault of Sickbay, 71 the operating system, 72 a program is missing, 74 storage, 75 try again,\n"
    "76 refused by Slurm, 77 not allowed.\n";
constexpr std::string_view kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n.B SICKBAY_ROOT\nstands before all paths of Sickbay; a lab sets it.\n"
    ".TP\n.B NO_COLOR\nkeeps colours off terminals; pipes never get any.\n"
    ".TP\n.B COLUMNS\nthe width to lay pages out for, where it is not that of the terminal.\n"
    ".SH FILES\n"
    ".TP\n.I /run/sickbay/sickbayd.sock\nwhere sickbayd answers.\n";

std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    // A dot or a quote at the begin of a line is a request of roff.
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_begins = c == '\n';
  }
  return out;
}

bool is_shown(const CLI::App* command) { return !command->get_group().empty(); }

std::vector<const CLI::App*> shown_commands(const CLI::App& app) { return app.get_subcommands(is_shown); }

std::vector<const CLI::Option*> shown_options(const CLI::App& app, bool positional) {
  return app.get_options(
      [&](const CLI::Option* o) { return !o->get_group().empty() && o->nonpositional() != positional; });
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

bool takes_value(const CLI::Option& option) {
  return option.get_expected_max() > 0 && option.get_items_expected_max() > 0;
}

// "NAME", "same|copy": what stands for the value.
std::string value_name(const CLI::Option& option) {
  if (!takes_value(option)) return {};
  std::string name = option.get_type_name();
  name = name.substr(0, name.find(':'));  // behind it CLI11 lists what a check allows
  return name.empty() ? "VALUE" : name;
}

std::string synopsis(const CLI::App& command) {
  std::string text = fmt::format(".B {}\n", roff(full_name(command)));
  if (!shown_options(command, false).empty()) text += "[\\fIOPTIONS\\fR]\n";
  for (const CLI::Option* o : shown_options(command, true))
    text += o->get_required() ? fmt::format("\\fI{}\\fR\n", roff(o->get_name(true)))
                              : fmt::format("[\\fI{}\\fR]\n", roff(o->get_name(true)));
  if (!shown_commands(command).empty()) text += "\\fICOMMAND\\fR ...\n";
  if (command.get_name() == "submit")
    text += "[\\fISBATCH\\-OPTIONS\\fR] [\\fISCRIPT\\fR [\\fIARGUMENTS\\fR]]\n";
  return text;
}

std::string option_entries(const CLI::App& command) {
  std::string text;
  for (const bool positional : {true, false})
    for (const CLI::Option* o : shown_options(command, positional)) {
      std::string names;
      if (positional) names = fmt::format("\\fI{}\\fR", roff(o->get_name(true)));
      for (const std::string& name : positional ? std::vector<std::string>() : o->get_snames())
        names += fmt::format("{}\\fB\\-{}\\fR", names.empty() ? "" : ", ", roff(name));
      for (const std::string& name : positional ? std::vector<std::string>() : o->get_lnames())
        names += fmt::format("{}\\fB\\-\\-{}\\fR", names.empty() ? "" : ", ", roff(name));
      if (const std::string value = value_name(*o); !positional && !value.empty())
        names += fmt::format(" \\fI{}\\fR", roff(value));
      text += fmt::format(".TP\n{}\n{}", names, roff(o->get_description()));
      if (!o->get_default_str().empty()) text += fmt::format(" (default {})", roff(o->get_default_str()));
      text += "\n";
    }
  return text;
}

std::string as_is(std::string_view text) {
  return text.empty() ? std::string() : ".PP\n.nf\n" + roff(trimmed(text)) + "\n.fi\n";
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : shown_commands(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

}  // namespace

Result<std::string> man_page(const CLI::App& app, std::string_view name) {
  const CLI::App* command = name.empty() || name == app.get_name() ? &app : find_command(app, name);
  if (command == nullptr) {
    std::vector<std::string> known;
    for (const CLI::App* c : shown_commands(app)) known.push_back(c->get_name());
    const std::string meant = did_you_mean(name, known);
    return fail(Error(ErrorCode::not_found, fmt::format("there is no command {}", quote_for_message(name)))
                    .remedied_by(meant.empty() ? "see 'sickbay --help'" : "did you mean '" + meant + "'?"));
  }
  std::string page = full_name(*command);
  std::ranges::replace(page, ' ', '-');
  std::string title = page;
  std::ranges::transform(title, title.begin(), to_upper);
  std::string text = ".\\\" Generated from the definition of the command line: test/cli/man.sh --rewrite\n";
  text += fmt::format(".TH {} 1 \"\" \"sickbay {}\" \"Sickbay\"\n", roff(title), SICKBAY_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(command->get_description()));
  text += ".SH SYNOPSIS\n" + synopsis(*command);
  for (const OtherName& other : kOtherNames)
    if (page == fmt::format("sickbay-{}", other.command))
      text += fmt::format(".br\n.B {}\n\\&...\n", other.name);
  if (!command->get_footer().empty()) text += ".SH DESCRIPTION\n" + as_is(command->get_footer());
  text += ".SH OPTIONS\n" + option_entries(*command);
  if (const auto inner = shown_commands(*command); !inner.empty()) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* c : inner) {
      if (command == &app) {
        text +=
            fmt::format(".TP\n.BR sickbay\\-{} (1)\n{}\n", roff(c->get_name()), roff(c->get_description()));
      } else {
        text +=
            fmt::format(".SS {}\n{}\n.PP\n{}", roff(full_name(*c)), roff(c->get_description()), synopsis(*c));
        text += option_entries(*c) + as_is(c->get_footer());
      }
    }
  }
  text += kExitStatus;
  text += kEnvironment;
  text += ".SH SEE ALSO\n";
  text += command == &app ? ".BR sbatch (1),\n.BR sacct (1)\n" : ".BR sickbay (1),\n.BR sbatch (1)\n";
  return text;
}

void add_definition_commands(CLI::App& app, Ending& ending) {
  CLI::App* completion = app.add_subcommand("completion", "print the completion script of a shell");
  auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  completion->footer(
      "bash:  sickbay completion bash > /etc/bash_completion.d/sickbay\n"
      "zsh:   sickbay completion zsh > /usr/share/zsh/site-functions/_sickbay\n"
      "fish:  sickbay completion fish > /etc/fish/completions/sickbay.fish\n"
      "Names of cases and nodes are completed, too, where sickbayd answers.\n");
  completion->callback([shell, &app, &ending] {
    auto script = completion_script(app, *shell);
    if (script)
      print(*script);
    else
      ending = {fail(script.error())};
  });

  CLI::App* man = app.add_subcommand("man", "print the man page of a command (roff)")->group("");
  auto name = std::make_shared<std::string>();
  man->add_option("COMMAND", *name, "the command; none: of sickbay itself");
  man->callback([name, &app, &ending] {
    auto page = man_page(app, *name);
    if (page)
      print(*page);
    else
      ending = {fail(page.error())};
  });

  CLI::App* words = app.add_subcommand("complete-words", "print words for completion")->group("");
  auto kind = std::make_shared<std::string>();
  words->add_option("KIND", *kind, "cases or nodes")->required();
  words->callback([kind] { print(completion_words(*kind)); });
}

}  // namespace sickbay::cli
