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
#include "engine/diagnose/nhc_checks.h"
#include "model/builtin_operations.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kHow[] = {"whole", "in part", "no"};

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

Json described(std::string_view text) {
  return Json::object({{"description", std::string(text).substr(0, 400)}});
}

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

  void add(const NhcRule& rule, const std::string& number) {
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
    operations_.set(again, operation(look, "verify", "Look again at the " + look.component_description));
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
    const std::string key = look.builtin + look.arguments.dump();
    const auto known = std::ranges::find(looks_, key, &std::pair<std::string, std::string>::first);
    if (known != looks_.end()) return known->second;
    const auto same =
        std::ranges::count_if(looks_, [&](const auto& l) { return l.first.starts_with(look.builtin + "{"); });
    std::string ending = tag_ + (same == 0 ? "" : fmt::format("_{}", same + 1));
    looks_.emplace_back(key, ending);
    const std::string name = "look_" + look.builtin + ending;
    operations_.set(name, operation(look, "collect", "Look at the " + look.component_description));
    produce(name, "always", name, "Every run");
    return ending;
  }
  static Json operation(const NhcLook& look, std::string_view kind, const std::string& description) {
    return Json::object({{"kind", kind},
                         {"run", "builtin:" + look.builtin},
                         {"components", Json::array({name_of(look.component)})},
                         {"arguments", look.arguments},
                         {"description", description}});
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

Result<NhcImport> import_nhc(std::string_view text, std::string_view source,
                             std::vector<std::string> cluster) {
  auto lines = parse_nhc_conf(text, source);
  if (!lines) return fail(lines.error());
  cluster = sorted_hosts(std::move(cluster));
  NhcImport made;
  std::vector<std::pair<std::string, Target>> targets;  // by their nodes
  for (const NhcLine& line : *lines) {
    NhcTaken& taken = made.lines.emplace_back();
    taken.line = line.line;
    taken.target = line.target;
    taken.check = line.check;
    if (line.setting || line.shell) {
      taken.note = line.setting
                       ? "it is a setting of NHC"
                       : "it is more than a check with plain arguments: the shell would have to read it";
      continue;
    }
    NhcTranslation translation = translate_nhc_check(line.words);
    taken.note = translation.note;
    if (translation.rules.empty()) continue;
    const NhcNodes nodes = resolve_nhc_target(line.target, cluster);
    if (!nodes.unresolved.empty()) {
      taken.note = nodes.unresolved;
      continue;
    }
    taken.how = translation.note.empty() ? NhcTaken::How::whole : NhcTaken::How::in_part;
    const std::string key = nodes.all ? "*" : compress_hostlist(nodes.names);
    auto at = std::ranges::find(targets, key, &std::pair<std::string, Target>::first);
    if (at == targets.end()) {
      const std::string path = targets.empty() ? "nhc.json" : fmt::format("nhc_{}.json", targets.size() + 1);
      targets.emplace_back(key, Target(path, std::string(source), nodes,
                                       targets.empty() ? "" : fmt::format("_t{}", targets.size() + 1)));
      at = targets.end() - 1;
    }
    for (std::size_t i = 0; i < translation.rules.size(); ++i)
      at->second.add(translation.rules[i],
                     i == 0 ? fmt::format("{}", line.line) : fmt::format("{}_{}", line.line, i + 1));
  }
  for (auto& [key, target] : targets) made.files.push_back(target.file());
  return made;
}

Json to_json(const NhcTaken& t) {
  return Json::object({{"line", t.line},
                       {"target", t.target},
                       {"check", t.check},
                       {"taken", to_string(t.how)},
                       {"note", t.note}});
}

}  // namespace sickbay::diagnose
