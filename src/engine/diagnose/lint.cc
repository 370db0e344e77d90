// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/duration.h"
#include "base/spelling.h"
#include "engine/diagnose/truth.h"
#include "model/builtin_operations.h"

namespace sickbay::diagnose {
namespace {

constexpr std::chrono::milliseconds kLongTest = std::chrono::minutes(1);

class Linter {
 public:
  Linter(const Rules& rules, std::span<const std::string> restartable)
      : rules_(rules), s_(rules.specification), restartable_(restartable) {}

  std::vector<LintFinding> run() {
    reach();
    constants();
    builtins();
    unbounded();
    repairs();
    sources();
    cycles();
    unused();
    periods();
    std::ranges::stable_sort(found_, {}, [](const LintFinding& f) {
      return std::tie(f.place.file, f.place.line, f.place.column);
    });
    return std::move(found_);
  }

 private:
  void add(std::string_view code, const Place& place, std::string text) {
    const auto& known = lint_rules();
    const auto rule = std::ranges::find(known, code, &LintRule::code);
    SB_CHECK(rule != known.end(), "a finding is of a kind that lint_rules() names");
    found_.push_back({rule->code, rule->error, place, std::move(text)});
  }
  OperationKind kind(Index production) const {
    return rules_.operations[rules_.productions[production].operation].kind;
  }
  const std::string& name(Index z) const { return s_.characteristics[z].name; }

  // no_source, unreachable: walks the phases as a run does, with every predicate true.
  void reach() {
    std::vector<bool> given(s_.characteristics.size(), false), sourced = given,
                                                               reached(s_.productions.size(), false);
    for (const Period& p : s_.periods)
      for (const auto& [z, value] : p.initial) given[rules_.find_characteristic(z)] = true;
    sourced = given;
    for (const auto& o : rules_.operations)
      for (const auto& [own, z] : o.outputs) sourced[z] = true;
    for (Index z = 0; z < sourced.size(); ++z) {
      if (sourced[z]) continue;
      const bool input = std::ranges::any_of(
          rules_.operations, [&](const auto& o) { return std::ranges::find(o.inputs, z) != o.inputs.end(); });
      if (input || !rules_.characteristics[z].conditions.empty())
        add("no_source", s_.characteristics[z].place,
            fmt::format(
                "nothing gives '{}' a value: it is no output of an operation, and in no period initial",
                name(z)));
    }
    const auto close = [&](const std::function<bool(OperationKind)>& counts) {
      for (bool more = true; more;) {
        more = false;
        for (Index p = 0; p < s_.productions.size(); ++p) {
          const auto& zs = rules_.conditions[rules_.productions[p].condition].characteristics;
          if (reached[p] || !counts(kind(p)) || !std::ranges::all_of(zs, [&](Index z) { return given[z]; }))
            continue;
          reached[p] = more = true;
          for (const auto& [own, z] : rules_.operations[rules_.productions[p].operation].outputs)
            given[z] = true;
        }
      }
    };
    close([](OperationKind k) { return is_examination(k) || k == OperationKind::critical; });
    close([](OperationKind k) { return k == OperationKind::repair; });
    close([](OperationKind k) { return k == OperationKind::verify; });
    close([](OperationKind k) { return k == OperationKind::critical; });
    for (Index p = 0; p < s_.productions.size(); ++p) {
      if (reached[p]) continue;
      for (const Index z : rules_.conditions[rules_.productions[p].condition].characteristics)
        if (!given[z] || !is_examination_given(z)) {
          add("unreachable", s_.productions[p].place,
              fmt::format("production '{}' never fires: {} '{}' {}", s_.productions[p].name, "nothing gives",
                          name(z),
                          given[z] ? fmt::format("a value before the phase of its {} operation is over",
                                                 to_string(kind(p)))
                                   : "a value in any run"));
          break;
        }
    }
  }
  // Whether an examination or a period gives it.
  bool is_examination_given(Index z) const {
    for (const Period& p : s_.periods)
      for (const auto& [initial, value] : p.initial)
        if (initial == name(z)) return true;
    return std::ranges::any_of(rules_.operations, [&](const auto& o) {
      return is_examination(o.kind) &&
             std::ranges::any_of(o.outputs, [&](const auto& out) { return out.second == z; });
    });
  }

  void constants() {
    for (Index c = 0; c < s_.predicates.size(); ++c) {
      if (!rules_.conditions[c].characteristics.empty()) continue;
      std::vector<std::optional<Truth>> atoms(rules_.atoms.size());
      std::string why;
      if (evaluate(rules_, c, {}, atoms, why) == Truth::yes) continue;  // `true` is how one says "always"
      add("constant", s_.predicates[c].place,
          fmt::format("predicate '{}' is never true: no characteristic is in it", s_.predicates[c].name));
    }
  }

  // builtin, stress: against the table of what there is.
  void builtins() {
    constexpr std::string_view kBuiltin = "builtin:";
    for (Index o = 0; o < s_.operations.size(); ++o) {
      const OperationSpec& spec = s_.operations[o];
      if (!spec.run.starts_with(kBuiltin)) continue;
      const std::string called = spec.run.substr(kBuiltin.size());
      const BuiltinOperation* builtin = builtin_operation(called);
      const auto wrong = [&](const std::string& text) {
        add("builtin", spec.place, fmt::format("operation '{}': {}", spec.name, text));
      };
      if (builtin == nullptr) {
        std::vector<std::string_view> names;
        for (const BuiltinOperation& b : builtin_operations()) names.push_back(b.name);
        const std::string near = did_you_mean(called, names);
        wrong(fmt::format("there is no {}{}", spec.run,
                          near.empty() ? "" : fmt::format("; did you mean 'builtin:{}'?", near)));
        continue;
      }
      check_kind(spec, *builtin, wrong);
      check_arguments(spec, *builtin, wrong);
      check_outputs(spec, rules_.operations[o], *builtin, wrong);
      if (builtin->name == "restart") check_restart(spec, wrong);
      if (builtin->name == "command") check_values(spec);
      if (builtin->stress && !rules_.operations[o].needs_idle)
        add("stress", spec.place,
            fmt::format(
                "operation '{}': {} stresses the node, and 'needs_idle' is false: jobs beside it feel "
                "it",
                spec.name, spec.run));
    }
  }
  // no_input: {NAME} of a characteristic in a command that does not list it stays as it is.
  void check_values(const OperationSpec& spec) {
    for (const char* argument : {"command", "input"}) {
      const std::string_view text = spec.arguments[argument].as_string();
      for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
        const std::size_t end = text.find('}', open);
        if (end == text.npos) break;
        const std::string of(text.substr(open + 1, end - open - 1));
        if (of == "peer" && spec.peer) continue;
        if (rules_.find_characteristic(of) == kNone ||
            std::ranges::find(spec.inputs, of) != spec.inputs.end())
          continue;
        add("no_input", spec.place,
            fmt::format(
                "operation '{}': {{{}}} is given to the program as it stands, for '{}' is no input of it",
                spec.name, of, of));
      }
    }
  }
  void unbounded() {
    for (const OperationSpec& spec : s_.operations) {
      if (spec.active.value_or(true)) continue;
      OperationSpec by_itself = spec;
      by_itself.active.reset();
      if (is_active(by_itself))
        add("unbounded", spec.place,
            fmt::format(
                "operation '{}': it stresses its node, and 'active' is false: it may run on all nodes "
                "at once",
                spec.name));
    }
  }
  // What they do only the site knows: they may be a repair.
  static bool runs_words_of_the_site(const OperationSpec& spec) {
    return spec.run == "builtin:command" || spec.run == "builtin:nhc_check";
  }
  using Complain = std::function<void(const std::string&)>;
  static void check_kind(const OperationSpec& spec, const BuiltinOperation& builtin, const Complain& wrong) {
    const bool looks = builtin.kind == "collect" || builtin.kind == "test" || builtin.kind == "localise" ||
                       builtin.kind == "verify";
    const bool used_to_look = is_examination(spec.kind) || spec.kind == OperationKind::verify;
    if (spec.kind == OperationKind::repair && runs_words_of_the_site(spec)) return;
    if (looks ? !used_to_look : builtin.kind != to_string(spec.kind))
      wrong(fmt::format("{} is a {} operation and is used as {}", spec.run, builtin.kind,
                        to_string(spec.kind)));
  }
  void check_arguments(const OperationSpec& spec, const BuiltinOperation& builtin,
                       const Complain& wrong) const {
    // An argument may come from the input of its name: stand in a value of its type.
    Json inputs = Json::object();
    for (const BuiltinArgument& a : builtin.arguments)
      if (std::ranges::find(spec.inputs, a.name) != spec.inputs.end()) {
        const ValueType type = s_.characteristics[rules_.find_characteristic(a.name)].type;
        const ValueClass c = type_row(type).value_class;
        inputs.set(std::string(a.name), c == ValueClass::boolean  ? Json(true)
                                        : c == ValueClass::number ? Json(1)
                                                                  : Json("x"));
      }
    if (auto arguments = builtin_arguments(builtin, spec.arguments, inputs); !arguments)
      wrong(arguments.error().what +
            (arguments.error().remedy_text.empty() ? "" : "; " + arguments.error().remedy_text));
  }
  void check_outputs(const OperationSpec& spec, const Rules::OperationRule& rule,
                     const BuiltinOperation& builtin, const Complain& wrong) const {
    for (const auto& [own, z] : rule.outputs) {
      if (is_reserved_output(own)) continue;
      const auto output = std::ranges::find(builtin.outputs, own, &BuiltinOutput::name);
      if (output == builtin.outputs.end()) {
        std::vector<std::string_view> names;
        for (const BuiltinOutput& b : builtin.outputs) names.push_back(b.name);
        const std::string near = did_you_mean(own, names);
        wrong(fmt::format("{} has no output '{}'{}", spec.run, own,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
      } else if (const ValueType type = s_.characteristics[z].type; !holds(type, output->type)) {
        wrong(fmt::format("output '{}' of {} is {} and cannot be kept as {} in '{}'", own, spec.run,
                          to_string(output->type), to_string(type), name(z)));
      }
    }
  }
  // The class, and unknown_component.
  void check_restart(const OperationSpec& spec, const Complain& wrong) {
    if (const Json& of = spec.arguments["class"];
        of.is_string() && of.as_string() != "component" && of.as_string() != "network")
      wrong("argument 'class' of builtin:restart must be component or network");
    const std::string& component = spec.arguments["component"].as_string();
    if (spec.arguments.has("component") && component.empty())
      wrong("argument 'component' of builtin:restart names none");
    if (component.empty() || restartable_.empty() ||
        std::ranges::find(restartable_, component) != restartable_.end())
      return;
    const std::string near =
        did_you_mean(component, std::vector<std::string>(restartable_.begin(), restartable_.end()));
    add("unknown_component", spec.place,
        fmt::format("operation '{}' asks for the restart of '{}', which components.d of this node does not "
                    "describe{}",
                    spec.name, component, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  // Whether each value of type `given` is one of `type`.
  static bool holds(ValueType type, ValueType given) {
    if (type == given) return true;
    if (type_row(type).value_class != type_row(given).value_class) return false;
    if (type_row(type).value_class == ValueClass::text)
      return type_row(type).most_characters > type_row(given).most_characters;
    return type == ValueType::fraction || (type == ValueType::integer && given == ValueType::percent);
  }

  // unverified, no_component, critical_waits
  void repairs() {
    for (Index r = 0; r < s_.operations.size(); ++r) {
      const Rules::OperationRule& repair = rules_.operations[r];
      const OperationSpec& spec = s_.operations[r];
      if (repair.kind == OperationKind::repair && !repair.productions.empty()) {
        // (What a site's own words come to, they say themselves.)
        if (!is_verified(repair) && !runs_words_of_the_site(spec))
          add("unverified", spec.place,
              fmt::format("no operation of kind verify follows the repair '{}': none reads what it gives, or "
                          "works on its components",
                          spec.name));
        if (repair.components.empty())
          add("no_component", spec.place,
              fmt::format(
                  "the repair '{}' names no component: nothing keeps other operations from running beside it",
                  spec.name));
      }
      if (repair.kind != OperationKind::critical) continue;
      for (Index t = 0; t < s_.operations.size(); ++t) {
        if (rules_.operations[t].kind == OperationKind::critical || s_.operations[t].timeout <= kLongTest ||
            !share(repair.components, rules_.operations[t].components))
          continue;
        add("critical_waits", spec.place,
            fmt::format("'{}' may wait up to {} for '{}', which works on the same component", spec.name,
                        format_duration(s_.operations[t].timeout), s_.operations[t].name));
        break;
      }
    }
  }
  static bool share(const std::vector<Index>& a, const std::vector<Index>& b) {
    return std::ranges::any_of(a, [&](Index i) { return std::ranges::find(b, i) != b.end(); });
  }
  bool is_verified(const Rules::OperationRule& repair) const {
    for (const Rules::OperationRule& v : rules_.operations) {
      if (v.kind != OperationKind::verify || v.productions.empty()) continue;
      if (share(v.components, repair.components)) return true;
      for (const Index p : v.productions)
        for (const auto& [own, z] : repair.outputs)
          if (std::ranges::find(rules_.conditions[rules_.productions[p].condition].characteristics, z) !=
              rules_.conditions[rules_.productions[p].condition].characteristics.end())
            return true;
    }
    return false;
  }

  // two_sources: in one phase, chance says which value stays.
  void sources() {
    const auto phase = [](OperationKind k) { return is_examination(k) ? OperationKind::collect : k; };
    std::vector<std::vector<Index>> givers(s_.characteristics.size());
    for (Index o = 0; o < s_.operations.size(); ++o)
      for (const auto& [own, z] : rules_.operations[o].outputs) givers[z].push_back(o);
    for (Index z = 0; z < givers.size(); ++z)
      for (std::size_t i = 1; i < givers[z].size(); ++i) {
        const Index a = givers[z][i - 1], b = givers[z][i];
        if (phase(rules_.operations[a].kind) != phase(rules_.operations[b].kind)) continue;
        add("two_sources", s_.characteristics[z].place,
            fmt::format("'{}' and '{}' both give '{}' in one phase: which value stays is chance",
                        s_.operations[a].name, s_.operations[b].name, name(z)));
        break;
      }
  }

  // cycle: an operation whose answer leads to itself; as each production fires once, it ends, but was hardly
  // meant.
  void cycles() {
    enum class Mark : std::uint8_t { fresh, open, done };
    std::vector<Mark> marks(s_.operations.size(), Mark::fresh);
    struct Frame {
      Index operation;
      std::vector<Index> next;
    };
    const auto followers = [&](Index o) {
      std::vector<Index> next;
      for (const auto& [own, z] : rules_.operations[o].outputs)
        for (const Index c : rules_.characteristics[z].conditions)
          for (const Index p : rules_.conditions[c].productions)
            next.push_back(rules_.productions[p].operation);
      return next;
    };
    for (Index start = 0; start < marks.size(); ++start) {
      if (marks[start] != Mark::fresh) continue;
      std::vector<Frame> path = {{start, followers(start)}};
      marks[start] = Mark::open;
      while (!path.empty()) {
        if (path.back().next.empty()) {
          marks[path.back().operation] = Mark::done;
          path.pop_back();
          continue;
        }
        const Index next = path.back().next.back();
        path.back().next.pop_back();
        if (marks[next] == Mark::open) {
          std::string text;
          for (auto f = std::ranges::find(path, next, &Frame::operation); f != path.end(); ++f)
            text += s_.operations[f->operation].name + " -> ";
          add("cycle", s_.operations[next].place,
              fmt::format("the answers of operations lead back to themselves: {}{}", text,
                          s_.operations[next].name));
        } else if (marks[next] == Mark::fresh) {
          marks[next] = Mark::open;
          path.push_back({next, followers(next)});
        }
      }
    }
  }

  void unused() {
    const auto tell = [&](std::string_view noun, const std::string& entry, const Place& place,
                          std::string_view why) {
      add("unused", place, fmt::format("{} '{}' {}", noun, entry, why));
    };
    std::vector<bool> components(s_.components.size(), false),
        characteristics(s_.characteristics.size(), false);
    for (const auto& o : rules_.operations) {
      for (const Index c : o.components) components[c] = true;
      for (const Index z : o.inputs) characteristics[z] = true;
      for (const auto& [own, z] : o.outputs) characteristics[z] = true;
    }
    for (Index c = 0; c < components.size(); ++c)
      if (!components[c])
        tell("component", s_.components[c].name, s_.components[c].place, "is used by no operation");
    for (Index z = 0; z < characteristics.size(); ++z)
      if (!characteristics[z] && rules_.characteristics[z].conditions.empty())
        tell("characteristic", name(z), s_.characteristics[z].place, "is in no predicate, input or output");
    for (Index c = 0; c < s_.predicates.size(); ++c)
      if (rules_.conditions[c].productions.empty())
        tell("predicate", s_.predicates[c].name, s_.predicates[c].place, "is in no production");
    const auto helps = [&](const std::string& name) {
      return std::ranges::any_of(s_.operations,
                                 [&](const auto& o) { return o.peer && o.peer->runs == name; });
    };
    for (Index o = 0; o < s_.operations.size(); ++o)
      if (rules_.operations[o].productions.empty() && !helps(s_.operations[o].name))
        tell("operation", s_.operations[o].name, s_.operations[o].place, "is in no production");
  }

  // no_period, hidden_period
  void periods() {
    if (s_.periods.empty() && !s_.productions.empty()) {
      const Place& first = s_.productions.front().place;
      add("no_period", {first.file, 1, 1},
          fmt::format("specification '{}' has no period: it runs only when asked for", s_.name));
    }
    std::vector<bool> chosen(s_.periods.size(), false);
    for (int minute = 0; minute < 24 * 60; ++minute)
      for (const NodeUse use : {NodeUse::idle, NodeUse::busy, NodeUse::maintenance})
        for (const Period* p : find_periods(s_, std::chrono::minutes(minute), use))
          chosen[static_cast<std::size_t>(p - s_.periods.data())] = true;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (!chosen[i])
        add("hidden_period", s_.periods[i].place,
            fmt::format("period '{}' is never chosen: those of its mode before it hold at all its times",
                        s_.periods[i].name));
  }

  const Rules& rules_;
  const Specification& s_;
  const std::span<const std::string> restartable_;
  std::vector<LintFinding> found_;
};

}  // namespace

const std::vector<LintRule>& lint_rules() {
  static const std::vector<LintRule> kRows = {
      {"no_source", true, "a predicate or an input reads a characteristic that nothing gives"},
      {"unreachable", true, "a production that no run can fire"},
      {"constant", true, "a predicate without a characteristic that is never true"},
      {"builtin", true, "a built-in operation that does not exist, or is used in another way than it works"},
      {"stress", false, "a built-in operation that stresses the node, let loose beside jobs"},
      {"no_input", false, "a command that names a characteristic which is no input of it"},
      {"unbounded", false, "an operation that stresses the node, let loose on all nodes at once"},
      {"unknown_component", false,
       "the restart of a component that the node's components.d, where there is one, does not describe"},
      {"unverified", false, "a repair that no operation of kind verify follows"},
      {"no_component", false, "a repair without a component, which runs beside anything"},
      {"critical_waits", false, "a critical operation that may wait over a minute for its component"},
      {"two_sources", false, "two operations of one phase that give the same characteristic"},
      {"cycle", false, "operations whose answers lead back to themselves"},
      {"unused", false, "an entry that nothing refers to"},
      {"no_period", false, "a specification that never runs by itself"},
      {"hidden_period", false, "a period that is never chosen"},
  };
  return kRows;
}

std::vector<LintFinding> lint(const Rules& rules, std::span<const std::string> restartable) {
  return Linter(rules, restartable).run();
}

Json to_json(const LintFinding& f) {
  return Json::object({{"level", f.error ? "error" : "warning"},
                       {"code", f.code},
                       {"file", f.place.file},
                       {"line", f.place.line},
                       {"column", f.place.column},
                       {"text", f.text}});
}

}  // namespace sickbay::diagnose
