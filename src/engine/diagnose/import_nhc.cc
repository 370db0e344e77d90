// SPDX-License-Identifier: Apache-2.0
// Each target becomes a file; all are the specification "nhc", so that they overlay each other on a node. The
// names of their entries end in the line of nhc.conf that they come from.
#include "engine/diagnose/import_nhc.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/diagnose/nhc_actions.h"
#include "engine/diagnose/nhc_checks.h"
#include "engine/diagnose/nhc_conf.h"
#include "model/builtin_operations.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kHow[] = {"whole", "in part", "stub", "setting", "elsewhere", "no"};

// A name out of a path, a device or a service.
std::string name_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char letter = is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ? c : '_';
    if (letter != '_' || (!name.empty() && name.back() != '_')) name += letter;
  }
  while (name.ends_with('_')) name.pop_back();
  if (name.empty() || is_digit(name[0])) name = "x" + name;
  name.resize(std::min<std::size_t>(name.size(), 40));
  return name == "filesystem" || name == "mount" ? name + "_root" : name;
}

// A line of nhc.conf has any length, a description 1024 characters at most (kMostDescription).
std::string in_short(std::string_view text) { return std::string(whole_characters(text, 400)); }

Json described(std::string_view text) { return Json::object({{"description", in_short(text)}}); }

// The file of one target while it grows.
class Target {
 public:
  Target(std::string path, const std::string& source, const NhcNodes& nodes, std::string tag)
      : path_(std::move(path)), tag_(std::move(tag)) {
    head_ = Json::object({{"specification", "nhc"},
                          {"version", 1},
                          {"description", fmt::format("Checks of {}", quote_for_message(source))}});
    if (!nodes.all) head_.set("nodes", compress_hostlist(nodes.names));
    characteristics_.set("repair", Json::object({{"type", "bool"}, {"description", "Repairs are allowed"}}));
    predicates_.set("always", Json::object({{"when", "true"}, {"description", "Every run"}}));
    operations_.set("take_out", Json::object({{"kind", "critical"},
                                              {"run", "builtin:drain"},
                                              {"description", "Take the node out of Slurm"}}));
    operations_.set("tell", Json::object({{"kind", "critical"},
                                          {"run", "builtin:notify"},
                                          {"arguments", Json::object({{"to", "operator"}})},
                                          {"description", "Tell the operator"}}));
  }

  void add(NhcRule rule, const std::string& number) {
    rule.description = in_short(rule.description);
    std::string fault = rule.fault, component;
    for (const NhcLook& look : rule.looks) {
      component = name_of(look.component);
      components_.set(component, described(look.component_description));
      const std::string ending = look_once(look);
      fault = with_characteristics(fault, look, ending, "look_" + look.builtin + ending);
    }
    const std::string out = rule.tells_only ? "tell" : "take_out";
    if (rule.repair.empty()) {
      const std::string bad = "bad_" + number;
      predicates_.set(bad, Json::object({{"when", fault}, {"description", rule.description}}));
      produce("out_" + number, bad, out, rule.description);
      return;
    }
    // Repaired where that is allowed, then looked at again; the node goes out only when it did not help.
    const NhcLook& look = rule.looks.front();
    const std::string mend = "mend_" + number, again = "again_" + number, spent = "spent_" + number;
    characteristics_.set(
        spent,
        Json::object({{"type", "bool"}, {"description", "It was repaired too often to try once more"}}));
    operations_.set(mend, Json::object({{"kind", "repair"},
                                        {"run", "builtin:" + rule.repair},
                                        {"components", Json::array({component})},
                                        {"outputs", Json::object({{"budget_spent", spent}})},
                                        {"arguments", rule.repair_arguments},
                                        {"description", "Repair: " + rule.repair},
                                        {"timeout", "60s"},
                                        {"budget", Json::object({{"runs", 3}, {"window", "24h"}})}}));
    operations_.set(again,
                    operation(look, "verify", "Look again at the " + in_short(look.component_description)));
    const std::string left = with_characteristics(rule.fault, look, "_" + again, again);
    predicates_.set("mend_" + number, Json::object({{"when", fmt::format("({}) AND repair", fault)},
                                                    {"description", rule.description}}));
    predicates_.set("mended_" + number, Json::object({{"when", fmt::format("NOT {}", spent)},
                                                      {"description", "A repair was tried"}}));
    predicates_.set("no_mend_" + number, Json::object({{"when", fmt::format("({}) AND NOT repair", fault)},
                                                       {"description", rule.description}}));
    predicates_.set(
        "left_" + number,
        Json::object({{"when", left}, {"description", rule.description + ", and the repair did not help"}}));
    predicates_.set(
        "spent_" + number,
        Json::object({{"when", spent}, {"description", rule.description + ", and was repaired too often"}}));
    produce(mend, mend, mend, rule.description);
    produce(again, "mended_" + number, again, "See whether the repair helped");
    produce("out_" + number, "no_mend_" + number, out, rule.description);
    produce("left_" + number, "left_" + number, out, rule.description);
    produce("spent_" + number, "spent_" + number, out, rule.description);
  }

  SpecificationFile file() {
    std::set<std::string> used;
    for (const auto& [name, body] : productions_.members()) used.insert(body["then"].as_string());
    Json operations = Json::object();
    for (const auto& [name, body] : operations_.members()) {
      if (!used.contains(name)) continue;
      Json operation = body;
      if (outputs_.contains(name)) operation.set("outputs", outputs_[name]);
      operations.set(name, std::move(operation));
    }
    head_.set("components", components_)
        .set("characteristics", characteristics_)
        .set("predicates", predicates_)
        .set("operations", operations)
        .set("productions", productions_)
        .set("periods",
             Json::object(
                 {{"always",
                   Json::object({{"description",
                                  "Every five minutes, as NHC is often run; no repairs until you say so"},
                                 {"every", "5m"},
                                 {"initial", Json::object({{"repair", false}})}})}}));
    return {path_, head_.pretty() + "\n"};
  }

 private:
  void produce(const std::string& name, const std::string& predicate, const std::string& operation,
               const std::string& description) {
    productions_.set(name,
                     Json::object({{"if", predicate}, {"then", operation}, {"description", description}}));
  }

  // One operation for equal looks; the ending of the names of what it gives.
  std::string look_once(const NhcLook& look) {
    const std::string key = fmt::format("{}{} {}", look.builtin, look.arguments.dump(), look.seconds);
    const std::string_view kind = look.acts ? "repair" : "collect";
    const auto known = std::ranges::find(looks_, key, &std::pair<std::string, std::string>::first);
    if (known != looks_.end()) return known->second;
    const auto same =
        std::ranges::count_if(looks_, [&](const auto& l) { return l.first.starts_with(look.builtin + "{"); });
    std::string ending = tag_ + (same == 0 ? "" : fmt::format("_{}", same + 1));
    looks_.emplace_back(key, ending);
    const std::string name = "look_" + look.builtin + ending;
    operations_.set(name, operation(look, kind, "Look at the " + look.component_description));
    produce(name, "always", name, "Every run");
    return ending;
  }
  static Json operation(const NhcLook& look, std::string_view kind, const std::string& description) {
    Json made = Json::object({{"kind", kind},
                              {"run", "builtin:" + look.builtin},
                              {"components", Json::array({name_of(look.component)})},
                              {"arguments", look.arguments},
                              {"description", in_short(description)}});
    if (look.seconds > 0) made.set("timeout", fmt::format("{}s", look.seconds));
    return made;
  }
  // "{memory_total} < 5" with the names of this look's characteristics, which so become outputs of
  // `operation`.
  std::string with_characteristics(std::string fault, const NhcLook& look, const std::string& ending,
                                   const std::string& operation) {
    for (const BuiltinOutput& output : builtin_operation(look.builtin)->outputs) {
      const std::string placeholder = fmt::format("{{{}}}", output.name),
                        name = std::string(output.name) + ending;
      if (fault.find(placeholder) == std::string::npos) continue;
      for (std::size_t i = 0; (i = fault.find(placeholder, i)) != std::string::npos;)
        fault.replace(i, placeholder.size(), name);
      outputs_[operation].set(std::string(output.name), name);
      Json json = Json::object({{"type", to_string(output.type)}});
      if (!output.unit.empty()) json.set("unit", std::string(output.unit));
      characteristics_.set(name, json.set("description", std::string(output.meaning)));
    }
    return fault;
  }

  std::string path_, tag_;  // tag: ends the names of looks, so that files laid over each other keep theirs
  Json head_, components_ = Json::object(), characteristics_ = Json::object(), predicates_ = Json::object(),
              operations_ = Json::object(), productions_ = Json::object();
  std::map<std::string, Json> outputs_;                     // by operation
  std::vector<std::pair<std::string, std::string>> looks_;  // what is looked at -> ending of its names
};

}  // namespace

std::string_view to_string(NhcTaken::How how) { return kHow[static_cast<std::size_t>(how)]; }

namespace {

// nhc.conf as it is read: what it has set, and for which targets.
class Importer {
 public:
  /// `here`: the names are those of one node, and no other's lines are taken.
  Importer(std::string_view source, std::vector<std::string> names, bool here)
      : source_(source), names_(sorted_hosts(std::move(names))), here_(here) {}

  void take(const NhcLine& line) {
    NhcTaken& taken = made_.lines.emplace_back();
    taken.line = line.line;
    taken.target = line.target;
    taken.check = line.check;
    NhcNodes nodes = resolve_nhc_target(line.target, names_);
    if (here_) {
      nodes.all = means_this_node(line.target);
      nodes.unresolved.clear();
    }
    if (here_ && !nodes.all) {
      taken.how = NhcTaken::How::elsewhere;
      taken.note = "its target does not mean this node";
      return;
    }
    const NhcSettings settings = settings_for(line.target);
    NhcWords words = split_nhc_check(line.check, settings.variables);
    if (is_setting(line.check, words)) return set(line, words, taken);
    if (asks_other_manager(line.check)) {
      taken.note = "it asks another resource manager";
      return;
    }
    NhcTranslation translation = translate(words, settings);
    taken.how = translation.note.empty() ? NhcTaken::How::whole : NhcTaken::How::in_part;
    if (translation.other_manager) {
      taken.how = NhcTaken::How::no;
      taken.note = translation.note;
      return;
    }
    if (translation.rules.empty() && !translation.never_fails) {
      translation = nhc_stub(line.check, shell_settings(line.target), settings, translation.note);
      taken.how = NhcTaken::How::stub;
    }
    mark_actions(line.check, translation);
    taken.note = translation.note;
    if (taken.how == NhcTaken::How::whole && !taken.note.empty()) taken.how = NhcTaken::How::in_part;
    if (!nodes.unresolved.empty()) {
      taken.how = NhcTaken::How::no;
      taken.note = nodes.unresolved;
      return;
    }
    Target& target = target_of(nodes);
    for (std::size_t i = 0; i < translation.rules.size(); ++i) {
      NhcRule& rule = translation.rules[i];
      rule.tells_only = rule.tells_only || settings.get("MARK_OFFLINE", "1") == "0";
      target.add(rule, i == 0 ? fmt::format("{}", line.line) : fmt::format("{}_{}", line.line, i + 1));
    }
  }

  NhcImport result() {
    for (auto& [key, target] : targets_) made_.files.push_back(target.file());
    return std::move(made_);
  }

 private:
  struct Setting {
    std::string target, name;
    std::optional<std::string> value;  // nothing: only a shell can tell
    bool exported = false;
    std::string line;  // as written
  };

  // By one of its names; by none of them where the target is negated.
  bool means_this_node(std::string_view target) const {
    const bool negated = target.starts_with('!');
    const NhcNodes nodes = resolve_nhc_target(target.substr(negated ? 1 : 0), names_);
    if (nodes.nobody) return negated;
    if (!nodes.unresolved.empty()) return false;
    const bool named = nodes.all || std::ranges::any_of(nodes.names, [this](const std::string& name) {
                         return std::ranges::find(names_, name) != names_.end();
                       });
    return named != negated;
  }

  static bool is_setting(std::string_view check, const NhcWords& words) {
    if (check.starts_with("export ") || nhc_assigned(check)) {
      // NAME=VALUE before a command is the command's.
      if (words.commands.size() != 1) return words.commands.empty();
      const auto& first = words.commands.front();
      return std::all_of(first.begin() + (first.front() == "export" ? 1 : 0), first.end(),
                         [](const std::string& w) { return nhc_assigned(w).has_value(); });
    }
    return false;
  }
  // Where the site's own words are run, they may do more than look.
  static void mark_actions(const std::string& check, NhcTranslation& translation) {
    const std::string action = nhc_action(check);
    if (action.empty()) return;
    bool acts = false;
    for (NhcRule& rule : translation.rules)
      for (NhcLook& look : rule.looks)
        if (look.builtin == "nhc_check" || look.builtin == "command") acts = look.acts = true;
    if (acts)
      translation.note += fmt::format("{}it acts ({}): a repair, which runs only where repairs are permitted",
                                      translation.note.empty() ? "" : "; ", action);
  }
  static bool asks_other_manager(std::string_view check) {
    for (const std::string_view name : {"$PBS_", "${PBS_", "$MOAB", "${MOAB", "$TORQUE"})
      if (check.find(name) != std::string_view::npos) return true;
    return false;
  }
  bool holds_for(const Setting& s, std::string_view target) const {
    return here_ || s.target == "*" || s.target == target;
  }

  NhcSettings settings_for(std::string_view target) const {
    // What every shell of NHC has.
    NhcSettings made;
    made.variables = {{"TIMEOUT", "30"}, {"NHC_RM", "slurm"}, {"PATH", std::string(kPath)}};
    std::vector<std::pair<std::string, std::string>> exported;
    for (const Setting& s : settings_) {
      made.variables.erase(s.name);
      std::erase_if(exported, [&](const auto& e) { return e.first == s.name; });
      // Set for other nodes only, or by a shell: nobody here can say what it is.
      if (!holds_for(s, target) || !s.value) continue;
      made.variables.insert_or_assign(s.name, *s.value);
      if (s.exported) exported.emplace_back(s.name, *s.value);
    }
    for (const auto& [name, value] : exported)
      if (value.find('\n') == std::string::npos) made.environment += name + "=" + value + "\n";
    return made;
  }
  std::string shell_settings(std::string_view target) const {
    std::string lines;
    for (const Setting& s : settings_)
      if (holds_for(s, target) && !lines.ends_with(s.line + "\n")) lines += s.line + "\n";
    return lines;
  }

  void set(const NhcLine& line, const NhcWords& words, NhcTaken& taken) {
    taken.how = NhcTaken::How::setting;
    const bool exported = line.check.starts_with("export ");
    if (words.commands.empty()) {
      taken.note = "only scripts of the site know its value: " + words.shell;
      std::string_view name = std::string_view(line.check).substr(exported ? 7 : 0);
      name = nhc_assigned(name).value_or("");
      settings_.push_back({line.target, std::string(name), std::nullopt, exported, line.check});
      return;
    }
    for (const std::string& word : words.commands.front()) {
      const auto name = nhc_assigned(word);
      if (!name) continue;
      std::string value = word.substr(name->size() + 1);
      if (*name == "NHC_RM" && value != "slurm") {
        taken.how = NhcTaken::How::no;
        taken.note = "it asks another resource manager";
        return;
      }
      settings_.push_back({line.target, std::string(*name), std::move(value), exported, line.check});
    }
  }

  static NhcTranslation translate(const NhcWords& words, const NhcSettings& settings) {
    NhcTranslation all;
    if (words.commands.empty()) {
      all.note = words.shell;
      return all;
    }
    for (const auto& command : words.commands) {
      NhcTranslation one = translate_nhc_check(command, settings);
      if (one.rules.empty() && !one.never_fails) return one;
      // What its operation would refuse must not cost the other lines their rules.
      for (const NhcRule& rule : one.rules)
        for (const NhcLook& look : rule.looks)
          if (const auto fit =
                  builtin_arguments(*builtin_operation(look.builtin), look.arguments, Json::object());
              !fit) {
            NhcTranslation none;
            none.note = fit.error().what;
            return none;
          }
      all.never_fails = all.never_fails || one.never_fails;
      all.rules.insert(all.rules.end(), one.rules.begin(), one.rules.end());
      if (!one.note.empty()) all.note += (all.note.empty() ? "" : "; ") + one.note;
    }
    return all;
  }

  Target& target_of(const NhcNodes& nodes) {
    const std::string key = nodes.all ? "*" : compress_hostlist(nodes.names);
    const auto at = std::ranges::find(targets_, key, &std::pair<std::string, Target>::first);
    if (at != targets_.end()) return at->second;
    const std::string path = targets_.empty() ? "nhc.json" : fmt::format("nhc_{}.json", targets_.size() + 1);
    const std::string tag = targets_.empty() ? "" : fmt::format("_t{}", targets_.size() + 1);
    return targets_.emplace_back(key, Target(path, source_, nodes, tag)).second;
  }

  static constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const std::string source_;
  const std::vector<std::string> names_;
  const bool here_;
  NhcImport made_;
  std::vector<Setting> settings_;
  std::vector<std::pair<std::string, Target>> targets_;  // by their nodes
};

Result<NhcImport> import_lines(std::string_view text, std::string_view source, Importer importer) {
  auto lines = parse_nhc_conf(text, source);
  if (!lines) return fail(lines.error());
  for (const NhcLine& line : *lines) importer.take(line);
  return importer.result();
}

}  // namespace

Result<NhcImport> import_nhc(std::string_view text, std::string_view source,
                             std::vector<std::string> cluster) {
  return import_lines(text, source, Importer(source, std::move(cluster), false));
}

Result<NhcImport> import_nhc_here(std::string_view text, std::string_view source,
                                  std::vector<std::string> names) {
  return import_lines(text, source, Importer(source, std::move(names), true));
}

std::string summary_of(const std::vector<NhcTaken>& lines) {
  using enum NhcTaken::How;
  constexpr std::pair<NhcTaken::How, std::string_view> kWords[] = {{whole, "whole"},
                                                                   {in_part, "in part"},
                                                                   {stub, "as stubs"},
                                                                   {setting, "settings"},
                                                                   {elsewhere, "for other nodes"}};
  std::string parts;
  const auto refused = std::ranges::count(lines, no, &NhcTaken::how);
  for (const auto& [how, word] : kWords)
    if (const auto n = std::ranges::count(lines, how, &NhcTaken::how); n > 0)
      parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", n, word);
  return fmt::format("{} of {} lines taken{}", static_cast<std::ptrdiff_t>(lines.size()) - refused,
                     lines.size(), parts);
}

Json to_json(const NhcTaken& t) {
  return Json::object({{"line", t.line},
                       {"target", t.target},
                       {"check", t.check},
                       {"taken", to_string(t.how)},
                       {"note", t.note}});
}

}  // namespace sickbay::diagnose
