// SPDX-License-Identifier: Apache-2.0
#include "service/agent/components.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "engine/diagnose/strict_json.h"

namespace sickbay::agent {
namespace {

using diagnose::Taken;
using diagnose::Wrong;

constexpr std::size_t kMostArguments = 64, kMostArgument = 4096;
constexpr std::chrono::seconds kLeast{1}, kMost{3600};

Taken take_program(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array() || value.size() == 0 || value.size() > kMostArguments)
    return Wrong{&value, "must be a list: a program by its absolute path, and its arguments"};
  std::vector<std::string> words;
  for (const Json& word : value.items()) {
    if (!word.is_string() || word.as_string().size() > kMostArgument ||
        word.as_string().find('\0') != std::string::npos)
      return Wrong{&word, "must be a text"};
    words.push_back(word.as_string());
  }
  // A name would be looked for in a PATH that nobody has in mind.
  if (!words[0].starts_with('/')) return Wrong{&value.items()[0], "must be an absolute path"};
  field = std::move(words);
  return {};
}

struct ComponentKey {
  diagnose::Key<ComponentSpec> key;
  std::string_view what;
};
const auto kComponentKeys = std::to_array<ComponentKey>({
    {{"component", true, [](ComponentSpec& c, const Json& v) { return diagnose::take_name(c.name, v); }},
     "its name: letters, digits and '_'"},
    {{"description", false,
      [](ComponentSpec& c, const Json& v) { return diagnose::take_description(c.description, v); }},
     "for people"},
    {{"check", true, [](ComponentSpec& c, const Json& v) { return take_program(c.check, v); }},
     "a program by its absolute path, and its arguments; exit code 0: the component is well"},
    {{"restart", true, [](ComponentSpec& c, const Json& v) { return take_program(c.restart, v); }},
     "likewise; it restarts the component, and leaves no process that keeps its standard output open"},
    {{"needs", false, [](ComponentSpec& c, const Json& v) { return diagnose::take_names(c.needs, v); }},
     "components of this node without which it does not run: they restart with it where they do"},
    {{"takes", false,
      [](ComponentSpec& c, const Json& v) { return diagnose::take_duration(c.takes, v, kLeast, kMost); }},
     "what a restart takes, \"5s\", before any was measured"},
    {{"timeout", false,
      [](ComponentSpec& c, const Json& v) { return diagnose::take_duration(c.timeout, v, kLeast, kMost); }},
     "of the restart, and of each check; default \"60s\""},
    {{"within", false,
      [](ComponentSpec& c, const Json& v) { return diagnose::take_duration(c.within, v, kLeast, kMost); }},
     "after a restart it is asked each second, and must be well before so long; default \"30s\""},
});

struct Read {
  ComponentSpec spec;
  std::shared_ptr<const diagnose::SourceText> source;
};

// Whether `name` leads back to `goal` by what is needed.
bool leads_to(const std::map<std::string, Read>& all, const std::string& name, const std::string& goal,
              std::set<std::string>& seen) {
  if (!seen.insert(name).second) return false;
  for (const std::string& need : all.at(name).spec.needs)
    if (need == goal || leads_to(all, need, goal, seen)) return true;
  return false;
}

}  // namespace

Result<std::vector<ComponentSpec>> read_components(const std::vector<diagnose::SpecificationFile>& files) {
  std::vector<diagnose::Key<ComponentSpec>> keys;
  for (const ComponentKey& row : kComponentKeys) keys.push_back(row.key);
  std::map<std::string, Read> all;
  for (const diagnose::SpecificationFile& file : files) {
    auto source = diagnose::SourceText::parse(file);
    if (!source) return fail(std::move(source.error()));
    Read read{{}, *source};
    if (auto wrong = diagnose::take_object<ComponentSpec>(read.spec, (*source)->root(), keys))
      return (*source)->refuse(wrong);
    all.insert_or_assign(read.spec.name, std::move(read));
  }
  std::vector<std::string> names;
  for (const auto& [name, read] : all) names.push_back(name);
  for (const auto& [name, read] : all) {
    const Json& needs = read.source->root()["needs"];
    for (const std::string& need : read.spec.needs)
      if (!all.contains(need))
        return read.source->refuse(needs, fmt::format("component {} needs {}, which no file describes{}",
                                                      name, need, diagnose::meant(need, names)));
    std::set<std::string> seen;
    if (leads_to(all, name, name, seen))
      return read.source->refuse(needs, fmt::format("component {} needs itself, by what it needs", name));
  }
  std::vector<ComponentSpec> components;
  for (auto& [name, read] : all) components.push_back(std::move(read.spec));
  return components;
}

Json components_view(const std::vector<ComponentSpec>& components) {
  Json list = Json::array();
  for (const ComponentSpec& c : components) {
    Json needs = Json::array();
    for (const std::string& need : c.needs) needs.push(need);
    list.push(
        Json::object({{"name", c.name}, {"needs", std::move(needs)}, {"takes_us", Micros(c.takes).count()}}));
  }
  return list;
}

std::string describe_component_keys() {
  std::string text;
  for (const ComponentKey& row : kComponentKeys)
    text += fmt::format("| `{}` | {} | {} |\n", row.key.key, row.key.required ? "yes" : "no", row.what);
  return text;
}

}  // namespace sickbay::agent
