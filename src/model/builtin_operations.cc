// SPDX-License-Identifier: Apache-2.0
// The table of built-in operations, made of the rows that stand beside this file, and their arguments.
#include "model/builtin_operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spelling.h"
#include "model/builtin_operation_rows.h"

namespace sickbay {
namespace {

// Whether an argument has its type.
bool fits(const Json& value, ValueType type) {
  switch (type_row(type).value_class) {
    case ValueClass::boolean:
      return value.is_bool();
    case ValueClass::number:
      if (type == ValueType::fraction) return value.is_number();
      return value.is_int() && (type != ValueType::percent || (value.as_int() >= 0 && value.as_int() <= 100));
    case ValueClass::text:
      return value.is_string() && value.as_string().size() <= type_row(type).most_characters;
  }
  return false;
}

}  // namespace

std::string_view to_string(BuiltinPlace place) {
  switch (place) {
    case BuiltinPlace::inline_:
      return "in the agent";
    case BuiltinPlace::thread:
      return "a thread of the agent";
    case BuiltinPlace::child:
      return "a child";
    case BuiltinPlace::program:
      return "a program";
    case BuiltinPlace::agent:
      return "sickbayd";
  }
  return "";
}

const std::vector<BuiltinOperation>& builtin_operations() {
  static const std::vector<BuiltinOperation> all = [] {
    std::vector<BuiltinOperation> rows;
    for (const auto& part : {builtin_hardware_rows(), builtin_system_rows(), builtin_process_rows(),
                             builtin_site_rows(), builtin_act_rows()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

const BuiltinOperation* builtin_operation(std::string_view name) {
  const auto& all = builtin_operations();
  const auto row = std::find_if(all.begin(), all.end(), [name](const auto& o) { return o.name == name; });
  return row == all.end() ? nullptr : &*row;
}

Result<Json> builtin_arguments(const BuiltinOperation& operation, const Json& given, const Json& inputs) {
  std::vector<std::string> names;
  for (const BuiltinArgument& a : operation.arguments) names.emplace_back(a.name);
  for (const auto& [name, value] : given.members())
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Error error(ErrorCode::bad_input, fmt::format("builtin:{} has no argument '{}'", operation.name, name));
      const std::string near = did_you_mean(name, names);
      if (!near.empty()) error.remedy_text = fmt::format("did you mean '{}'?", near);
      return fail(std::move(error));
    }
  Json all = Json::object();
  for (const BuiltinArgument& a : operation.arguments) {
    Json value;
    if (given.has(a.name))
      value = given[a.name];
    else if (!inputs[a.name].is_null())
      value = inputs[a.name];
    else if (!a.standard.empty())
      value = Json::parse(a.standard).value();
    else
      return fail(ErrorCode::bad_input,
                  fmt::format("builtin:{} needs the argument '{}' ({})", operation.name, a.name, a.meaning));
    if (!fits(value, a.type))
      return fail(ErrorCode::bad_input, fmt::format("argument '{}' of builtin:{} must be {}", a.name,
                                                    operation.name, type_row(a.type).range));
    all.set(std::string(a.name), std::move(value));
  }
  return all;
}

}  // namespace sickbay
