// SPDX-License-Identifier: Apache-2.0
#include "settings/config_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spelling.h"

namespace sickbay {

Status read_config(std::string_view text, std::string_view source, std::string_view page,
                   std::span<const ConfigKey> keys,
                   const std::function<std::string(std::size_t key, const Json& value)>& take) {
  Json::ParseOptions options;
  options.comments = true;
  options.source = source;
  auto json = Json::parse(text, options);
  if (!json)
    return fail(std::move(json.error()).remedied_by(fmt::format("correct the file; {} describes it", page)));
  const auto complain = [&](const Json& at, const std::string& what) {
    const auto [line, column] = line_and_column(text, at.offset());
    return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", source, line, column, what))
                    .remedied_by(fmt::format("correct the file; {} lists the keys", page)));
  };
  const auto hint = [](const std::string& near) {
    return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near);
  };
  if (!json->is_object())
    return complain(*json, fmt::format("the configuration must be an object, not {}", json->type_name()));
  for (const auto& [section, body] : json->members()) {
    std::vector<std::string> sections;
    bool known = false;
    for (const ConfigKey& row : keys) {
      if (sections.empty() || sections.back() != row.section) sections.emplace_back(row.section);
      known |= row.section == section;
    }
    if (!known)
      return complain(body,
                      fmt::format("unknown key '{}'{}", section, hint(did_you_mean(section, sections))));
    if (!body.is_object())
      return complain(body, fmt::format("'{}' must be an object, not {}", section, body.type_name()));
    for (const auto& [key, value] : body.members()) {
      std::size_t found = keys.size();
      std::vector<std::string> near;
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i].section == section) {
          near.emplace_back(keys[i].key);
          if (keys[i].key == key) found = i;
        }
      if (found == keys.size())
        return complain(
            value, fmt::format("unknown key '{}' in '{}'{}", key, section, hint(did_you_mean(key, near))));
      if (const std::string wrong = take(found, value); !wrong.empty())
        return complain(value, fmt::format("'{}.{}' {}", section, key, wrong));
    }
  }
  return {};
}

std::string describe_keys(std::span<const ConfigKey> keys) {
  std::string text;
  for (const ConfigKey& row : keys)
    text += fmt::format("| `{}.{}` | {} | {} |\n", row.section, row.key, row.type, row.meaning);
  return text;
}

std::string take_text(std::string& field, const Json& value) {
  if (!value.is_string()) return fmt::format("must be a string, not {}", value.type_name());
  field = value.as_string();
  return "";
}

std::string take_word(std::string& field, const Json& value, std::initializer_list<std::string_view> words) {
  if (value.is_string() && std::ranges::find(words, value.as_string()) != words.end()) {
    field = value.as_string();
    return "";
  }
  std::string wrong = "must be ";
  std::size_t left = words.size();
  for (const std::string_view word : words)
    wrong += fmt::format("\"{}\"{}", word, --left > 1 ? ", " : left == 1 ? " or " : "");
  return wrong;
}

std::string take_names(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array()) return fmt::format("must be a list of names, not {}", value.type_name());
  for (const Json& item : value.items())
    if (!item.is_string()) return fmt::format("must hold names only, not {}", item.type_name());
  field = value.as_strings();
  return "";
}

std::string take_flag(bool& field, const Json& value) {
  if (!value.is_bool()) return fmt::format("must be true or false, not {}", value.type_name());
  field = value.as_bool();
  return "";
}

std::string take_percent(double& field, const Json& value) {
  if (!value.is_number() || !(value.as_double() > 0 && value.as_double() < 100))
    return "must be a number over 0 and under 100";
  field = value.as_double() / 100;
  return "";
}

std::string take_count(int& field, const Json& value, int least, int most) {
  if (!value.is_int() || value.as_int() < least || value.as_int() > most)
    return fmt::format("must be a whole number from {} to {}", least, most);
  field = static_cast<int>(value.as_int());
  return "";
}

}  // namespace sickbay
