// SPDX-License-Identifier: Apache-2.0
// doc/operations.md, printed from the table.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "model/builtin_operations.h"

namespace sickbay {
namespace {

constexpr std::string_view kHead = R"(# Built-in operations
Printed from the table in src/model/builtin_*.cc; a test compares. A specification runs one by `"run": "builtin:NAME"`. What an operation
is, how to write one of your own, and what its answers mean: [formats/operation.md](formats/operation.md).

- *Where*: in the agent (files of /proc and /sys, no waiting), a thread of the agent, a child (another program is asked), a program (of
  the folder of shipped operations, by the same name), or sickbayd.
- *Cost*: processor time on an idle machine of two cores.
- *Needs*: where that is missing, the result is unknown and says so. It never is a fault.
- An output that is null is unknown; the others of the same operation hold. Counts "since the last call" are null at the first.
- An argument that is not given takes the input of the same name, else its default. One without a default must be given.
- An operation that collects may also verify a repair.
- *Stress*: a job beside it would feel it, so it runs on an idle node only, unless the specification says `"needs_idle": false`.
  It is an active check, too: unless that says `"active": false`, it runs on so many nodes at once as sickbayd gives leave.
)";

// As a diagnosis goes on; critical ones are its end, whatever their priority.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kKinds = {{
    {"collect", "Read what is there and change nothing"},
    {"test", "Put the node to work to see whether it can"},
    {"localise", "Find the part, process or job that a fault comes from"},
    {"repair", "Change the node to end a fault"},
    {"verify", "See whether a repair has helped"},
    {"critical", "Act on the node from outside"},
}};

void add(std::string& page, const BuiltinOperation& o) {
  page += fmt::format("\n### {}\n{}{}.\n\n", o.name, static_cast<char>(o.meaning[0] - 'a' + 'A'),
                      o.meaning.substr(1));
  page += fmt::format("Where: {}.{}{}\n", to_string(o.place),
                      o.cost.empty() ? "" : fmt::format(" Cost: {}.", o.cost),
                      o.needs.empty() ? "" : fmt::format(" Needs: {}.", o.needs));
  if (o.stress) page += "Stress: yes.\n";
  if (!o.arguments.empty()) {
    page += "\n| argument | type | default | meaning |\n|---|---|---|---|\n";
    for (const BuiltinArgument& a : o.arguments)
      page += fmt::format("| `{}` | {} | {} | {} |\n", a.name, to_string(a.type),
                          a.standard.empty() ? "must be given" : fmt::format("`{}`", a.standard), a.meaning);
  }
  if (!o.outputs.empty()) {
    page += "\n| output | type | unit | meaning | range |\n|---|---|---|---|---|\n";
    for (const BuiltinOutput& out : o.outputs)
      page += fmt::format("| `{}` | {} | {} | {} | {} |\n", out.name, to_string(out.type), out.unit,
                          out.meaning, out.range);
  }
}

}  // namespace

std::string builtin_operations_page() {
  std::string page(kHead);
  for (const auto& [kind, meaning] : kKinds) {
    page += fmt::format("\n## {}\n{}.\n", kind, meaning);
    for (const BuiltinOperation& o : builtin_operations())
      if (o.kind == kind) add(page, o);
  }
  return page;
}

}  // namespace sickbay
