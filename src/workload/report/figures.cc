// SPDX-License-Identifier: Apache-2.0
// What all renderers share: messages, headings, and figures as people read them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

// Digits behind the point that are worth reading: a share of 12.3 %, 4,711 core-hours, 0.042 GiB/s.
int decimals_of(double value, std::string_view unit) {
  const double size = std::abs(value);
  if (unit == "%") return 1;
  if (size >= 100) return 0;
  if (size >= 10) return 1;
  if (size >= 1) return 2;
  return 3;
}

// Groups of three in `text`, whose integer part may have a sign, with the marks of the language.
std::string grouped(std::string_view text, std::string_view thousands, std::string_view decimal) {
  std::string out;
  if (!text.empty() && text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t i = 0; i < point; ++i) {
    if (i > 0 && (point - i) % 3 == 0) out += thousands;
    out += text[i];
  }
  if (point < text.size()) {
    out += decimal;
    out += text.substr(point + 1);
  }
  return out;
}

std::string number_text(double value, std::string_view unit, std::string_view thousands,
                        std::string_view decimal) {
  if (!std::isfinite(value)) return "";
  std::string text = fmt::format("{:.{}f}", value, decimals_of(value, unit));
  if (text.find('.') != text.npos && unit != "%") {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  if (text == "-0") text = "0";
  return grouped(text, thousands, decimal);
}

// Microseconds since 1970, already in the zone of the report.
std::string time_text(std::int64_t micros) {
  std::string text = format_time(from_micros(micros));  // 2021-05-01T10:00:00[.ffffff]Z
  text.resize(std::min<std::size_t>(text.size() - 1, 19));
  if (text.ends_with("T00:00:00")) return text.substr(0, 10);
  if (text.ends_with(":00")) text.resize(16);
  text[10] = ' ';
  return text;
}

}  // namespace

double number_of(const duck::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return NAN;
}

std::string_view message(const Document& document, std::string_view key, std::string_view fallback) {
  const auto found = document.messages.find(std::string(key));
  return found == document.messages.end() ? fallback : std::string_view(found->second);
}

std::string unit_text(const Document& document, std::string_view unit) {
  if (unit.empty() || unit == "none") return "";
  return std::string(message(document, "unit." + std::string(unit), unit));
}

std::string value_text(const Document& document, const duck::Value& value, duck::Type type,
                       std::string_view unit) {
  if (duck::is_null(value)) return "";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value))
    return std::string(*yes ? message(document, "page.yes", "yes") : message(document, "page.no", "no"));
  const std::string_view thousands = message(document, "number.thousands", ",");
  const std::string_view decimal = message(document, "number.decimal", ".");
  if (const auto* real = std::get_if<double>(&value)) return number_text(*real, unit, thousands, decimal);
  const std::int64_t number = std::get<std::int64_t>(value);
  if (type == duck::Type::time) return time_text(number);
  // A year, an hour or an id is a number, but no figure.
  if (unit == "none") return std::to_string(number);
  return grouped(std::to_string(number), thousands, decimal);
}

namespace {

// "3 d 4 h": seconds are told as people say them, as page.js does.
std::string duration_text(const Document& document, double seconds) {
  struct Unit {
    std::string_view key;
    std::int64_t size;
  };
  constexpr std::array<Unit, 4> kUnits = {
      {{"page.d", 86400}, {"page.h", 3600}, {"page.min", 60}, {"page.s", 1}}};
  const auto part = [&](const std::string& count, std::string_view key) {
    return count + "\u00a0" + std::string(message(document, key, key.substr(5)));
  };
  if (std::abs(seconds) < 60) return part(value_text(document, seconds, duck::Type::real, ""), "page.s");
  const std::int64_t whole = std::llround(std::abs(seconds));
  std::size_t at = 0;
  while (whole < kUnits[at].size) ++at;
  std::string text = seconds < 0 ? "−" : "";
  text += part(value_text(document, whole / kUnits[at].size, duck::Type::integer, ""), kUnits[at].key);
  const std::int64_t second = whole % kUnits[at].size / kUnits[at + 1].size;
  if (second > 0) text += " " + part(std::to_string(second), kUnits[at + 1].key);
  return text;
}

}  // namespace

std::string cell_text(const Document& document, const duck::Value& value, duck::Type type,
                      std::string_view unit, bool plain_number) {
  const bool figure = type == duck::Type::integer || type == duck::Type::real;
  if (figure && unit == "s" && std::isfinite(number_of(value)))
    return duration_text(document, number_of(value));
  return value_text(document, value, type, plain_number ? "none" : unit);
}

std::vector<std::pair<std::string, std::vector<std::size_t>>> chapters(const Document& document) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> all;
  for (std::size_t i = 0; i < document.plugins.size(); ++i) {
    if (all.empty() || all.back().first != document.plugins[i].chapter)
      all.emplace_back(document.plugins[i].chapter, std::vector<std::size_t>());
    all.back().second.push_back(i);
  }
  return all;
}

}  // namespace sickbay::workload
