// SPDX-License-Identifier: Apache-2.0
#include "workload/label/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "base/spelling.h"
#include "base/text.h"
#include "workload/label/name.h"

namespace sickbay::workload {
namespace {

constexpr std::string_view kKinds[] = {"default_name", "interpreter", "other"};

// One file while it is laid over what came before it.
class Overlay {
 public:
  Overlay(const LabelFile& file, Lists& lists, std::unordered_set<std::string>& claimed)
      : file_(file), lists_(lists), claimed_(claimed) {}

  Status lay(const Json& root) {
    if (!root.is_object()) return wrong(root, "an object is expected");
    if (auto ok = known_keys(root, {"field", "cluster", "not", "applications", "ignore", "before", "after",
                                    "renames", "unknown", "remove", "remove_names"});
        !ok)
      return ok;
    std::string field, cluster;
    if (auto ok = text(root, "field", field); !ok) return ok;
    if (auto ok = text(root, "cluster", cluster); !ok) return ok;
    // Removals first, so that one file can take a thing away and put its own in its place.
    if (auto ok = remove(root); !ok) return ok;
    if (auto ok = not_of_file(root); !ok) return ok;
    if (auto ok = applications(root, field); !ok) return ok;
    for (auto [key, list] : {std::pair{"ignore", &lists_.ignore}, std::pair{"before", &lists_.before},
                             std::pair{"after", &lists_.after}}) {
      std::vector<std::string> more;
      if (auto ok = texts(root, key, more); !ok) return ok;
      for (std::string& name : more)
        if (std::find(list->begin(), list->end(), name) == list->end()) list->push_back(std::move(name));
    }
    if (auto ok = unknown(root); !ok) return ok;
    return renames(root, cluster);
  }

 private:
  tl::unexpected<Error> wrong(const Json& at, const std::string& what, std::string remedy = {}) const {
    const auto [line, column] = line_and_column(file_.text, at.offset());
    Error error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", file_.source, line, column, what));
    error.remedy_text = remedy.empty() ? "doc/formats/labels.md describes the lists" : std::move(remedy);
    return fail(std::move(error));
  }

  Status known_keys(const Json& object, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : object.members()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      const std::string meant = did_you_mean(key, keys);
      return wrong(value, fmt::format("unknown key {}", quote_for_message(key)),
                   meant.empty() ? "" : fmt::format("did you mean '{}'?", meant));
    }
    return {};
  }

  Status text(const Json& object, std::string_view key, std::string& to) const {
    const Json& value = object[key];
    if (value.is_null() && !object.has(key)) return {};
    if (!value.is_string()) return wrong(value, fmt::format("{}: a string is expected", key));
    to = value.as_string();
    return {};
  }

  Status texts(const Json& object, std::string_view key, std::vector<std::string>& to) const {
    const Json& value = object[key];
    if (!object.has(key)) return {};
    if (!value.is_array()) return wrong(value, fmt::format("{}: a list of strings is expected", key));
    for (const Json& item : value.items()) {
      if (!item.is_string() || item.as_string().empty())
        return wrong(item, fmt::format("{}: a string that is not empty is expected", key));
      to.push_back(item.as_string());
    }
    return {};
  }

  std::vector<std::string> application_names() const {
    std::vector<std::string> names;
    for (const Application& a : lists_.applications) names.push_back(a.name);
    return names;
  }
  auto find_application(std::string_view name) const {
    return std::find_if(lists_.applications.begin(), lists_.applications.end(),
                        [&](const Application& a) { return equal_ignoring_case(a.name, name); });
  }

  Status remove(const Json& root) {
    std::vector<std::string> gone;
    if (auto ok = texts(root, "remove", gone); !ok) return ok;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const auto at = find_application(gone[i]);
      if (at == lists_.applications.end()) {
        const std::string meant = did_you_mean(gone[i], application_names());
        return wrong(
            root["remove"].items()[i], fmt::format("there is no application {}", quote_for_message(gone[i])),
            meant.empty() ? "'sickbay labels list' names them" : fmt::format("did you mean '{}'?", meant));
      }
      lists_.applications.erase(at);
    }
    gone.clear();
    if (auto ok = texts(root, "remove_names", gone); !ok) return ok;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const auto same = [&](std::string_view name) { return equal_ignoring_case(name, gone[i]); };
      const std::size_t erased = std::erase_if(lists_.ignore, same) + std::erase_if(lists_.before, same) +
                                 std::erase_if(lists_.after, same) +
                                 std::erase_if(lists_.unknown, [&](const auto& u) { return same(u.first); }) +
                                 std::erase_if(lists_.renames, [&](const Rename& r) { return same(r.name); });
      if (erased == 0)
        return wrong(root["remove_names"].items()[i],
                     fmt::format("no list has the name {}", quote_for_message(gone[i])));
    }
    return {};
  }

  // Words that rule out every application of this file, as "plot" does those that simulate.
  Status not_of_file(const Json& root) {
    std::vector<std::string> words;
    if (auto ok = texts(root, "not", words); !ok || words.empty()) return ok;
    if (lists_.groups == kMostGroups)
      return wrong(root["not"], fmt::format("not: {} files have such words already", kMostGroups),
                   "give them to each application");
    group_ = lists_.groups++;
    for (std::string& word : words) lists_.not_of_group.emplace_back(std::move(word), group_);
    return {};
  }

  Status keyword(const Json& value, Match match, Keyword& to) const {
    to.match = match;
    if (value.is_string()) {
      to.text = value.as_string();
    } else if (value.is_object()) {
      if (auto ok = known_keys(value, {"text", "match", "needs", "version"}); !ok) return ok;
      if (auto ok = text(value, "text", to.text); !ok) return ok;
      if (auto ok = text(value, "version", to.version); !ok) return ok;
      std::string how;
      if (auto ok = text(value, "match", how); !ok) return ok;
      if (how == "whole")
        to.match = Match::whole;
      else if (how == "inside")
        to.match = Match::inside;
      else if (how == "executable")
        to.match = Match::executable;
      else if (!how.empty() && how != "word") {
        const std::string meant = did_you_mean(how, {"word", "whole", "inside", "executable"});
        return wrong(
            value["match"], fmt::format("match: {} is no way to match", quote_for_message(how)),
            meant.empty() ? "word, whole, inside or executable" : fmt::format("did you mean '{}'?", meant));
      }
    } else {
      return wrong(value, "a keyword is a string or an object with \"text\"");
    }
    if (to.text.empty()) return wrong(value, "a keyword must not be empty");
    if (to.match == Match::executable) return {};
    if (auto ok = needs(value, to); !ok) return ok;
    for (const char c : to.text)
      if (symbol_of(c) == 0)
        return wrong(value,
                     fmt::format("keyword {}: only letters, digits, '_', '-', '.', '+' and blanks can match",
                                 quote_for_message(to.text)));
    if (to.match == Match::inside && to.text.size() < 4)
      return wrong(value,
                   fmt::format("keyword {}: fewer than 4 letters are found inside too many words",
                               quote_for_message(to.text)),
                   "take \"match\": \"word\"");
    return {};
  }

  Status needs(const Json& value, Keyword& to) const {
    std::string what;
    if (value.is_object())
      if (auto ok = text(value, "needs", what); !ok) return ok;
    // So short a word stands in names of much else.
    if (what.empty()) what = to.match == Match::word && to.text.size() < 4 ? "alone" : "nothing";
    for (const auto& [name, needs] : {std::pair{"nothing", Needs::nothing}, std::pair{"alone", Needs::alone},
                                      std::pair{"sign", Needs::sign}})
      if (what == name) {
        to.needs = needs;
        return {};
      }
    const std::string meant = did_you_mean(what, {"nothing", "alone", "sign"});
    return wrong(value["needs"], fmt::format("needs: {} is nothing to need", quote_for_message(what)),
                 meant.empty() ? "nothing, alone or sign" : fmt::format("did you mean '{}'?", meant));
  }

  // A keyword means one application.  Two in one file are a mistake; a later file takes it over.
  Status claim(const Json& at, const Keyword& k, const std::string& application,
               std::vector<Application>& fresh) {
    const auto [found, unclaimed] = claims_.emplace(claim_of(k), application);
    if (!unclaimed)
      return wrong(at, fmt::format("{} is already a keyword of '{}' in this file", quote_for_message(k.text),
                                   found->second));
    if (claimed_.insert(found->first).second) return {};
    for (auto* list : {&lists_.applications, &fresh})
      for (Application& a : *list)
        // (clang 14 cannot capture a structured binding.)
        std::erase_if(a.keywords,
                      [&key = found->first](const Keyword& other) { return claim_of(other) == key; });
    return {};
  }

  Status applications(const Json& root, const std::string& field) {
    const Json& list = root["applications"];
    if (!root.has("applications")) return {};
    if (!list.is_array()) return wrong(list, "applications: a list is expected");
    std::vector<Application> fresh;
    for (const Json& item : list.items()) {
      if (!item.is_object()) return wrong(item, "an application is an object");
      if (auto ok = known_keys(
              item, {"name", "field", "keywords", "executables", "not", "signs", "wrapper", "add"});
          !ok)
        return ok;
      Application a;
      a.field = field;
      a.group = group_;
      if (auto ok = text(item, "name", a.name); !ok) return ok;
      if (a.name.empty()) return wrong(item, "an application needs a \"name\"");
      if (equal_ignoring_case(a.name, "unknown")) return wrong(item["name"], "'unknown' is no application");
      // "add": true puts words to an application that is there; else the later one replaces it.
      const auto old = find_application(a.name);
      if (!item["add"].is_null() && !item["add"].is_bool())
        return wrong(item["add"], "add: true or false is expected");
      if (item["add"].as_bool()) {
        if (old == lists_.applications.end()) {
          const std::string meant = did_you_mean(a.name, application_names());
          return wrong(item["name"],
                       fmt::format("there is no application {} to add to", quote_for_message(a.name)),
                       meant.empty() ? "leave \"add\" out" : fmt::format("did you mean '{}'?", meant));
        }
        a = *old;
      }
      if (old != lists_.applications.end()) lists_.applications.erase(old);
      if (auto ok = text(item, "field", a.field); !ok) return ok;
      if (auto ok = texts(item, "not", a.not_words); !ok) return ok;
      if (auto ok = texts(item, "signs", a.signs); !ok) return ok;
      if (item.has("wrapper") && !item["wrapper"].is_bool())
        return wrong(item["wrapper"], "wrapper: true or false is expected");
      if (item.has("wrapper")) a.wrapper = item["wrapper"].as_bool();
      for (auto [key, match] :
           {std::pair{"keywords", Match::word}, std::pair{"executables", Match::executable}}) {
        if (item.has(key) && !item[key].is_array())
          return wrong(item[key], fmt::format("{}: a list is expected", key));
        for (const Json& word : item[key].items()) {
          Keyword k;
          if (auto ok = keyword(word, match, k); !ok) return ok;
          if (auto ok = claim(word, k, a.name, fresh); !ok) return ok;
          a.keywords.push_back(std::move(k));
        }
      }
      if (a.keywords.empty()) return wrong(item, fmt::format("'{}' has no keywords", a.name));
      fresh.push_back(std::move(a));
    }
    for (Application& a : fresh) {
      if (find_application(a.name) != lists_.applications.end())
        return wrong(list, fmt::format("'{}' is listed twice in this file", a.name));
      lists_.applications.push_back(std::move(a));
    }
    return {};
  }

  Status unknown(const Json& root) {
    const Json& kinds = root["unknown"];
    if (!root.has("unknown")) return {};
    if (!kinds.is_object()) return wrong(kinds, "unknown: an object of lists by kind is expected");
    if (auto ok = known_keys(kinds, {kKinds[0], kKinds[1], kKinds[2]}); !ok) return ok;
    for (const std::string_view kind : kKinds) {
      std::vector<std::string> names;
      if (auto ok = texts(kinds, kind, names); !ok) return ok;
      for (std::string& name : names) {
        std::erase_if(lists_.unknown, [&](const auto& u) { return equal_ignoring_case(u.first, name); });
        lists_.unknown.emplace_back(std::move(name), std::string(kind));
      }
    }
    return {};
  }

  Status renames(const Json& root, const std::string& cluster) {
    const Json& list = root["renames"];
    if (!root.has("renames")) return {};
    if (!list.is_array()) return wrong(list, "renames: a list is expected");
    for (const Json& item : list.items()) {
      if (!item.is_object()) return wrong(item, "a rename is an object with \"name\" and \"application\"");
      if (auto ok = known_keys(item, {"name", "application", "field", "cluster", "user"}); !ok) return ok;
      Rename r;
      r.cluster = cluster;
      for (auto [key, to] :
           {std::pair{"name", &r.name}, std::pair{"application", &r.application},
            std::pair{"field", &r.field}, std::pair{"cluster", &r.cluster}, std::pair{"user", &r.user}})
        if (auto ok = text(item, key, *to); !ok) return ok;
      if (r.name.empty() || r.name == "*" || r.application.empty())
        return wrong(item, "a rename needs \"name\" and \"application\"");
      const auto at = find_application(r.application);
      if (at != lists_.applications.end()) {
        r.application = at->name;
        if (r.field.empty()) r.field = at->field;
      } else if (!item.has("field")) {
        const std::string meant = did_you_mean(r.application, application_names());
        return wrong(
            item["application"], fmt::format("there is no application {}", quote_for_message(r.application)),
            meant.empty() ? "list it, or give its \"field\" here" : fmt::format("did you mean '{}'?", meant));
      }
      std::erase_if(lists_.renames, [&](const Rename& old) {
        return equal_ignoring_case(old.name, r.name) && old.cluster == r.cluster && old.user == r.user;
      });
      lists_.renames.push_back(std::move(r));
    }
    return {};
  }

  const LabelFile& file_;
  Lists& lists_;
  std::uint8_t group_ = kNoGroup;
  std::unordered_map<std::string, std::string> claims_;  // by this file: keyword -> application
  std::unordered_set<std::string>& claimed_;             // by all files so far; saves a look at each keyword
};

}  // namespace

std::string claim_of(const Keyword& keyword) {
  if (keyword.match != Match::executable) return normal_form(keyword.text);
  std::string key = "executable ";
  for (const char c : keyword.text) key += to_lower(c);
  return key;
}

namespace {

Status lay_file(Lists& lists, const LabelFile& file, std::unordered_set<std::string>& claimed) {
  Json::ParseOptions options;
  options.comments = true;
  options.source = file.source;
  auto root = Json::parse(file.text, options);
  if (!root) return fail(root.error());
  return Overlay(file, lists, claimed).lay(*root);
}

}  // namespace

Result<Lists> parse_lists(std::span<const LabelFile> files) {
  Lists lists;
  std::unordered_set<std::string> claimed;
  for (const LabelFile& file : files)
    if (auto ok = lay_file(lists, file, claimed); !ok) return fail(ok.error());
  return lists;
}

Status lay_over(Lists& lists, const LabelFile& file) {
  std::unordered_set<std::string> claimed;
  for (const Application& a : lists.applications)
    for (const Keyword& k : a.keywords) claimed.insert(claim_of(k));
  return lay_file(lists, file, claimed);
}

}  // namespace sickbay::workload
