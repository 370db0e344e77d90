// SPDX-License-Identifier: Apache-2.0
#include "workload/report/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/text.h"
#include "workload/report/site_place.h"

namespace sickbay::workload {
namespace {

// "2-8", "over 8,192": a class of sizes by its bounds.
std::string size_name(std::int64_t least, std::int64_t most) {
  if (most < 0) return fmt::format("over {}", least - 1);
  return least == most ? std::to_string(most) : fmt::format("{}-{}", least, most);
}

std::string length_text(std::int64_t seconds) {
  if (seconds % 86400 == 0) return fmt::format("{} d", seconds / 86400);
  if (seconds % 3600 == 0) return fmt::format("{} h", seconds / 3600);
  if (seconds % 60 == 0) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} s", seconds);
}

// "up to 1 min", "10-30 min", "30 min-2 h", "over 7 d".
std::string run_time_name(std::int64_t over, std::int64_t most) {
  if (most < 0) return "over " + length_text(over);
  if (over == 0) return "up to " + length_text(most);
  const std::string from = length_text(over), to = length_text(most);
  const std::string unit = to.substr(to.find(' '));
  return (from.ends_with(unit) ? from.substr(0, from.find(' ')) : from) + "-" + to;
}

// Both lists have the same form; what a bound is and how a class is named differs.
template <class ReadBound, class Name>
Result<std::vector<SiteClass>> read_classes(const SitePlace& place, const Json& list, ReadBound read_bound,
                                            Name name_of) {
  constexpr auto kKeys = std::to_array<std::string_view>({"name", "most"});
  if (!list.is_array() || list.size() == 0) return place.wrong(list, "must be a list of classes");
  std::vector<SiteClass> classes;
  std::int64_t before = 0;
  for (const Json& item : list.items()) {
    const Json& bound = item.is_object() ? item["most"] : item;
    for (const auto& [key, value] : item.members())
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return place.unknown(value, key, kKeys);
    if (!classes.empty() && classes.back().most < 0)
      return place.wrong(item, "only the last class has no bound");
    SiteClass one;
    if (!bound.is_null()) {
      auto most = read_bound(bound);
      if (!most) return place.wrong(bound, most.error().what);
      if (*most <= before) return place.wrong(bound, "the bounds must rise");
      one.most = *most;
    }
    one.name = item["name"].is_string() ? item["name"].as_string() : name_of(before, one.most);
    before = one.most;
    classes.push_back(std::move(one));
  }
  // What is over the last bound is a class too.
  if (before >= 0) classes.push_back({name_of(before, -1), -1});
  return classes;
}

Result<std::int64_t> read_cores(const Json& value) {
  if (!value.is_int()) return fail(ErrorCode::bad_input, "must be a number of cores");
  return value.as_int();
}
Result<std::int64_t> read_length(const Json& value) {
  if (value.is_int()) return value.as_int();
  auto length = parse_duration(value.as_string());
  if (!length || !value.is_string())
    return fail(ErrorCode::bad_input, "must be a duration like \"30m\", \"2h\" or \"3d\", or seconds");
  return std::chrono::duration_cast<std::chrono::seconds>(*length).count();
}

Result<std::vector<SiteClass>> read_sizes(const SitePlace& place, const Json& list) {
  return read_classes(place, list, read_cores,
                      [](std::int64_t over, std::int64_t most) { return size_name(over + 1, most); });
}
Result<std::vector<SiteClass>> read_run_times(const SitePlace& place, const Json& list) {
  return read_classes(place, list, read_length, run_time_name);
}

// {"*": "CPU=1.0", "gpu": "CPU=1.0,GRES/gpu=8"}: weights by partition.
Result<std::vector<ChargeRate>> read_charges(const SitePlace& place, const Json& weights) {
  if (!weights.is_object())
    return place.wrong(weights,
                       "must be an object {\"partition\": \"CPU=1.0,Mem=0.25G\"}; \"*\" is any other");
  std::vector<ChargeRate> rates;
  for (const auto& [partition, value] : weights.members()) {
    if (!value.is_string()) return place.wrong(value, "weights are a text, as \"CPU=1.0,Mem=0.25G\"");
    auto rate = parse_charge_rate(partition, value.as_string());
    if (!rate) return place.wrong(value, rate.error().what);
    rates.push_back(std::move(*rate));
  }
  return rates;
}

}  // namespace

Site default_site() {
  Site site;
  const auto take = [](auto read, std::string_view text) {
    const std::string source = "defaults";
    auto json = Json::parse(text);
    auto classes = read({text, source}, *json);
    SB_CHECK(classes.has_value(), "the default classes are right");
    return *classes;
  };
  site.size_classes = take(read_sizes, "[1, 15, 63, 255, 1023, 4095]");
  site.run_time_classes = take(read_run_times, R"(["1m", "10m", "30m", "1h", "6h", "24h", "3d"])");
  return site;
}

Result<Site> parse_site(std::string_view text, const std::string& source) {
  constexpr auto kKeys = std::to_array<std::string_view>({"title", "time_zone", "language", "size_classes",
                                                          "run_time_classes", "debug_length", "users",
                                                          "accounts", "charges", "charge_by", "parameters"});
  auto json = Json::parse(text, {.comments = true, .source = source});
  if (!json) return fail(json.error());
  const SitePlace place{text, source};
  if (!json->is_object()) return place.wrong(*json, "must be an object");
  Site site = default_site();
  for (const auto& [key, value] : json->members()) {
    if (key == "size_classes" || key == "run_time_classes") {
      auto classes = key == "size_classes" ? read_sizes(place, value) : read_run_times(place, value);
      if (!classes) return fail(classes.error());
      (key == "size_classes" ? site.size_classes : site.run_time_classes) = std::move(*classes);
    } else if (key == "debug_length") {
      auto length = read_length(value);
      if (!length) return place.wrong(value, length.error().what);
      site.debug_length = std::chrono::seconds(*length);
    } else if (key == "charges") {
      auto rates = read_charges(place, value);
      if (!rates) return fail(rates.error());
      site.charges.rates = std::move(*rates);
    } else if (key == "charge_by") {
      const std::string how = value.is_string() ? value.as_string() : "";
      if (how != "sum" && how != "most")
        return place.wrong(value, "'charge_by' is \"sum\" or, for the dearest resource alone, \"most\"");
      site.charges.most = how == "most";
    } else if (key == "parameters") {
      if (!value.is_object()) return place.wrong(value, "must be an object {\"plugin.report.name\": value}");
      for (const auto& [name, of] : value.members()) {
        if (!of.is_string() && !of.is_number())
          return place.wrong(of, fmt::format("the parameter '{}' must be a number or a text", name));
        site.parameters.emplace_back(name, of.is_string() ? of.as_string() : of.dump());
      }
    } else if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return place.unknown(value, key, kKeys);
    } else {
      if (!value.is_string()) return place.wrong(value, fmt::format("'{}' must be a text", key));
      (key == "title"       ? site.title
       : key == "time_zone" ? site.time_zone
       : key == "language"  ? site.language
       : key == "accounts"  ? site.accounts_file
                            : site.users_file) = value.as_string();
    }
  }
  return site;
}

Result<std::vector<SiteUser>> parse_users(std::string_view text, const std::string& source) {
  constexpr auto kKeys = std::to_array<std::string_view>({"name", "team", "research_field"});
  auto json = Json::parse(text, {.comments = true, .source = source});
  if (!json) return fail(json.error());
  const SitePlace place{text, source};
  if (!json->is_object())
    return place.wrong(*json, "must be an object {\"user\": {\"name\": ..., \"team\": ...}}");
  std::vector<SiteUser> users;
  for (const auto& [user, about] : json->members()) {
    if (!about.is_object())
      return place.wrong(about, fmt::format("what is said of '{}' must be an object", user));
    for (const auto& [key, value] : about.members()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return place.unknown(value, key, kKeys);
      if (!value.is_string()) return place.wrong(value, fmt::format("'{}' must be a text", key));
    }
    users.push_back(
        {user, about["name"].as_string(), about["team"].as_string(), about["research_field"].as_string()});
  }
  return users;
}

}  // namespace sickbay::workload
