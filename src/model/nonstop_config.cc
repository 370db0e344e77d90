// SPDX-License-Identifier: Apache-2.0
#include "model/nonstop_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::wire {
namespace {

constexpr std::size_t kMaxText = 1024 * 1024;

// What a value must be, where it is not; "" where it is.
using Take = std::string (*)(NonstopConfig&, std::string_view);

template <class Number>
std::string take_number(Number& field, std::string_view value, Number least = 0) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), field);
  if (error == std::errc() && end == value.data() + value.size() && field >= least) return "";
  return fmt::format("a whole number from {} to {}", least, static_cast<Number>(~Number{0}));
}

// A host's name or address: what a resolver can be asked.
std::string take_address(std::string& field, std::string_view value) {
  const auto fits = [](char c) {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '.' || c == '-' || c == '_' ||
           c == ':';
  };
  if (value.size() > 255 || !std::all_of(value.begin(), value.end(), fits)) return "a host's name or address";
  field = value;
  return "";
}

// The parts of a list between commas, or nothing where one is empty.
std::optional<std::vector<std::string_view>> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto comma = std::min(list.find(','), list.size());
    parts.push_back(trimmed(list.substr(0, comma)));
    if (parts.back().empty()) return std::nullopt;
    if (comma == list.size()) return parts;
    list.remove_prefix(comma + 1);
  }
}

bool plain(std::string_view name) {
  return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c <= '~' && std::string_view(",:\"'=#\\").find(c) == std::string_view::npos;
  });
}

std::string take_spares(std::vector<HotSpare>& field, std::string_view value) {
  constexpr std::string_view kMust = "partition:nodes, and more of them behind commas";
  const auto parts = parts_of(value);
  if (!parts) return std::string(kMust);
  std::vector<std::string_view> seen;
  for (const std::string_view part : *parts) {
    const auto colon = part.find(':');
    if (colon == std::string_view::npos) return std::string(kMust);
    HotSpare spare;
    spare.partition = part.substr(0, colon);
    if (!plain(spare.partition) || !take_number(spare.count, part.substr(colon + 1)).empty())
      return std::string(kMust);
    const std::string_view partition = part.substr(0, colon);
    if (std::find(seen.begin(), seen.end(), partition) != seen.end())
      return fmt::format("each partition once, and {} stands there twice", quote_for_message(partition));
    seen.push_back(partition);
    // (0 is no pool, and stands for none.)
    if (spare.count > 0) field.push_back(std::move(spare));
  }
  return "";
}

std::string take_users(UserList& field, std::string_view value) {
  const auto parts = parts_of(value);
  if (!parts || !std::all_of(parts->begin(), parts->end(), plain))
    return "users' names behind commas, or ALL";
  for (const std::string_view part : *parts) {
    if (equal_ignoring_case(part, "ALL"))
      field.all = true;
    else
      field.names.emplace_back(part);
  }
  if (field.all && !field.names.empty()) return "users' names or ALL, not both";
  return "";
}

struct KeyRow {
  std::string_view name;
  Take take;
};
using Config = NonstopConfig;
constexpr std::array kKeys = {
    KeyRow{"ControlAddr", [](Config& c, std::string_view v) { return take_address(c.control_addr, v); }},
    KeyRow{"BackupAddr", [](Config& c, std::string_view v) { return take_address(c.backup_addr, v); }},
    KeyRow{"Port", [](Config& c, std::string_view v) { return take_number<std::uint16_t>(c.port, v, 1); }},
    KeyRow{"Debug", [](Config& c, std::string_view v) { return take_number(c.debug, v); }},
    KeyRow{"HotSpareCount", [](Config& c, std::string_view v) { return take_spares(c.hot_spares, v); }},
    KeyRow{"MaxSpareNodeCount",
           [](Config& c, std::string_view v) { return take_number(c.max_spare_nodes, v); }},
    KeyRow{"TimeLimitDelay",
           [](Config& c, std::string_view v) { return take_number(c.time_limit_delay, v); }},
    KeyRow{"TimeLimitDrop", [](Config& c, std::string_view v) { return take_number(c.time_limit_drop, v); }},
    KeyRow{"TimeLimitExtend",
           [](Config& c, std::string_view v) { return take_number(c.time_limit_extend, v); }},
    KeyRow{"UserDrainAllow", [](Config& c, std::string_view v) { return take_users(c.drain_allow, v); }},
    KeyRow{"UserDrainDeny", [](Config& c, std::string_view v) { return take_users(c.drain_deny, v); }},
    KeyRow{"ReadTimeout", [](Config& c, std::string_view v) { return take_number(c.read_timeout, v); }},
    KeyRow{"WriteTimeout", [](Config& c, std::string_view v) { return take_number(c.write_timeout, v); }},
};

tl::unexpected<Error> refuse(std::string_view source, std::size_t line, std::string what, std::string cause,
                             std::string remedy) {
  std::string where = line == 0 ? std::string(source) : fmt::format("{}:{}", source, line);
  return fail(Error(ErrorCode::bad_input, where + ": " + what)
                  .because(std::move(cause))
                  .remedied_by(std::move(remedy)));
}

// A line as Slurm joins it: without its comment, with those that a backslash at the end goes on in.
struct Line {
  std::size_t number = 0;  // of its first
  std::string text;
};

std::optional<Line> next_line(std::string_view& rest, std::size_t& number) {
  if (rest.empty()) return std::nullopt;
  Line line{number + 1, ""};
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (one.ends_with('\r')) one.remove_suffix(1);
    // "\#" is a '#'.
    std::string kept;
    bool comment = false;
    for (std::size_t i = 0; i < one.size() && !comment; ++i) {
      if (one[i] == '\\' && i + 1 < one.size() && one[i + 1] == '#')
        kept += one[++i];
      else if (one[i] == '#')
        comment = true;
      else
        kept += one[i];
    }
    // A backslash in a comment goes on with nothing.
    const bool goes_on = !comment && kept.ends_with('\\');
    if (goes_on) kept.pop_back();
    line.text += kept;
    if (!goes_on) break;
  }
  return line;
}

constexpr std::string_view kBlank = " \t";

// Cuts "Key = Value" or `Key="a value"` from the front; false where there is none.
bool next_pair(std::string_view& text, std::string_view& key, std::string_view& value) {
  const auto skip = [&text] { text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size())); };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  key = trimmed(text.substr(0, equals));
  text.remove_prefix(equals + 1);
  skip();
  if (text.starts_with('"')) {
    const auto end = text.find('"', 1);
    if (end == std::string_view::npos) return false;
    value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    // Key="a"b: whoever wrote that meant something else.
    if (!text.empty() && kBlank.find(text[0]) == std::string_view::npos) return false;
  } else {
    const auto end = std::min(text.find_first_of(kBlank), text.size());
    value = text.substr(0, end);
    text.remove_prefix(end);
  }
  skip();
  return !key.empty();
}

}  // namespace

std::string UserList::text() const { return all ? "ALL" : fmt::format("{}", fmt::join(names, ",")); }

std::string NonstopConfig::hot_spares_text() const {
  std::string out;
  for (const HotSpare& spare : hot_spares)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", spare.partition, spare.count);
  return out;
}

Result<NonstopConfig> parse_nonstop_config(std::string_view text, std::string_view source) {
  constexpr std::string_view kForm = "write each as Key=Value; doc/formats/nonstop.md has the keys";
  if (text.size() > kMaxText)
    return refuse(source, 0, fmt::format("a file of {} bytes", text.size()),
                  fmt::format("it may have {}", kMaxText), "give the right file");
  NonstopConfig config;
  std::array<std::size_t, kKeys.size()> given{};  // the line of each
  std::size_t number = 0;
  while (auto line = next_line(text, number)) {
    std::string_view rest = line->text;
    rest = trimmed(rest);
    while (!rest.empty()) {
      const std::string_view all = rest;
      std::string_view key, value;
      if (!next_pair(rest, key, value))
        return refuse(source, line->number, fmt::format("{} is no Key=Value", quote_for_message(all)),
                      "a name, '=' and a value are wanted, with closed quotes where there are any",
                      std::string(kForm));
      const auto row = std::find_if(kKeys.begin(), kKeys.end(),
                                    [&](const KeyRow& r) { return equal_ignoring_case(r.name, key); });
      if (row == kKeys.end()) {
        std::vector<std::string> known;
        for (const KeyRow& r : kKeys) known.emplace_back(r.name);
        const std::string meant = did_you_mean(key, known);
        return refuse(source, line->number, fmt::format("unknown key {}", quote_for_message(key)),
                      meant.empty() ? "nonstop.conf has no such key" : fmt::format("did you mean {}?", meant),
                      std::string(kForm));
      }
      std::size_t& before = given[static_cast<std::size_t>(row - kKeys.begin())];
      if (before != 0)
        return refuse(source, line->number, fmt::format("{} a second time", row->name),
                      fmt::format("it stands in line {} already", before), "take one of them out");
      before = line->number;
      const std::string must = value.empty() ? "something" : row->take(config, value);
      if (!must.empty())
        return refuse(source, line->number, fmt::format("{}={}", row->name, quote_for_message(value)),
                      fmt::format("its value must be {}", must), "change the value, or take the line out");
    }
  }
  if (config.control_addr.empty())
    return refuse(source, 0, "no ControlAddr", "nobody knows where the service runs", "add ControlAddr=HOST");
  if (!config.drain_deny.empty()) {
    // Who names only those that are denied means that all others may.
    if (config.drain_allow.empty()) config.drain_allow.all = true;
    if (!config.drain_allow.all)
      return refuse(source, 0, "UserDrainDeny beside UserDrainAllow",
                    "who is denied is of those that ALL allows",
                    "write UserDrainAllow=ALL, or take UserDrainDeny out");
  }
  return config;
}

std::string format_nonstop_config(const NonstopConfig& config) {
  std::string out;
  const auto text = [&out](std::string_view key, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}={}\n", key, value);
  };
  const auto number = [&out](std::string_view key, std::uint32_t value) {
    out += fmt::format("{}={}\n", key, value);
  };
  text("ControlAddr", config.control_addr);
  text("BackupAddr", config.backup_addr);
  number("Port", config.port);
  number("Debug", config.debug);
  text("HotSpareCount", config.hot_spares_text());
  number("MaxSpareNodeCount", config.max_spare_nodes);
  number("TimeLimitDelay", config.time_limit_delay);
  number("TimeLimitDrop", config.time_limit_drop);
  number("TimeLimitExtend", config.time_limit_extend);
  text("UserDrainAllow", config.drain_allow.text());
  text("UserDrainDeny", config.drain_deny.text());
  number("ReadTimeout", config.read_timeout);
  number("WriteTimeout", config.write_timeout);
  return out;
}

}  // namespace sickbay::wire
