// SPDX-License-Identifier: Apache-2.0
#include "base/state_archive.h"

namespace sickbay {
namespace {

enum class Type : std::uint8_t { null, no, yes, integer, number, text, array, object };

}  // namespace

// (Not as text: what is parsed costs ten times as much, and states are full of JSON.)
void StateWriter::put_json(const Json& json) {
  if (json.is_bool()) {
    put(json.as_bool() ? Type::yes : Type::no);
  } else if (json.is_int()) {
    put(Type::integer);
    put(json.as_int());
  } else if (json.is_number()) {
    put(Type::number);
    put(json.as_double());
  } else if (json.is_string()) {
    put(Type::text);
    put(json.as_string());
  } else if (json.is_array()) {
    put(Type::array);
    put(json.items());
  } else if (json.is_object()) {
    put(Type::object);
    put(json.members());
  } else {
    put(Type::null);
  }
}

Json StateReader::json(int depth) {
  Type type = Type::null;
  get(type);
  if (depth > kMostDepth || type > Type::object) good_ = false;
  if (!good_) return {};
  switch (type) {
    case Type::null:
      return {};
    case Type::no:
      return false;
    case Type::yes:
      return true;
    case Type::integer: {
      std::int64_t n = 0;
      get(n);
      return n;
    }
    case Type::number: {
      double n = 0;
      get(n);
      return n;
    }
    case Type::text: {
      std::string text;
      get(text);
      return text;
    }
    case Type::array: {
      Json::Array items(count());
      for (Json& item : items) item = json(depth + 1);
      return items;
    }
    case Type::object: {
      Json::Object members(count());
      for (auto& [name, value] : members) {
        get(name);
        value = json(depth + 1);
      }
      return members;
    }
  }
  return {};
}

}  // namespace sickbay
