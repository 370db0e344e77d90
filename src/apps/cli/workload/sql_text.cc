// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/sql_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/csv.h"
#include "base/json.h"
#include "base/text_table.h"
#include "base/time.h"

namespace sickbay::cli {
namespace {

using duck::ResultColumn;
using duck::Type;
using duck::Value;

// Integer, real, boolean and time as text; texts as they are; NULL is empty.
std::string plain(const Value& value, Type type) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* n = std::get_if<std::int64_t>(&value))
    return type == Type::time ? format_time(from_micros(*n)) : std::to_string(*n);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{}", *d);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  return {};
}

class Table final : public SqlText {
 public:
  Table(const TextPage& page, Sink sink) : page_(page), sink_(std::move(sink)) {}
  void head(const std::vector<ResultColumn>& columns) override {
    columns_ = columns;
    std::vector<TextTable::Column> made;
    for (const ResultColumn& column : columns) {
      const bool number = column.type == Type::integer || column.type == Type::real;
      made.push_back({for_terminal(column.name),
                      number ? TextTable::Column::Align::right : TextTable::Column::Align::left,
                      column.type == Type::text});
    }
    table_.emplace(std::move(made));
  }
  bool row(const std::vector<Value>& values) override {
    cut_ = table_->size() >= kTableRows;
    if (cut_) return false;
    std::vector<TextTable::Cell> cells;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string text = for_terminal(plain(values[i], columns_[i].type));
      // An empty cell would not tell which of the two it is, and a column of them would be left out.
      if (text.empty()) text = std::holds_alternative<std::monostate>(values[i]) ? "NULL" : "''";
      cells.emplace_back(std::move(text));
    }
    table_->add(std::move(cells));
    return true;
  }
  void end() override {
    if (table_)
      sink_(table_->empty() ? "no rows\n" : table_->text({.width = page_.width, .colours = page_.colours}));
  }
  bool cut() const override { return cut_; }

 private:
  const TextPage page_;
  const Sink sink_;
  std::vector<ResultColumn> columns_;
  std::optional<TextTable> table_;
  bool cut_ = false;
};

class Csv final : public SqlText {
 public:
  explicit Csv(Sink sink) : sink_(std::move(sink)) {}
  void head(const std::vector<ResultColumn>& columns) override {
    columns_ = columns;
    line_.clear();
    for (const ResultColumn& column : columns) {
      append_csv_text(line_, column.name);
      line_ += ',';
    }
    give();
  }
  bool row(const std::vector<Value>& values) override {
    line_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&values[i]))
        append_csv_text(line_, *text);
      else
        line_ += plain(values[i], columns_[i].type);
      line_ += ',';
    }
    give();
    return true;
  }
  void end() override {}

 private:
  void give() {
    if (!line_.empty()) line_.back() = '\n';
    sink_(line_);
  }
  const Sink sink_;
  std::vector<ResultColumn> columns_;
  std::string line_;
};

class JsonText final : public SqlText {
 public:
  JsonText(bool array, Sink sink) : array_(array), sink_(std::move(sink)) {}
  void head(const std::vector<ResultColumn>& columns) override {
    columns_ = columns;
    std::set<std::string> seen;  // SQL may name two columns alike, JSON may not
    for (ResultColumn& column : columns_) {
      const std::string name = column.name;
      for (int n = 2; !seen.insert(column.name).second; ++n) column.name = fmt::format("{}_{}", name, n);
    }
    if (array_) sink_("[");
    begun_ = true;
  }
  bool row(const std::vector<Value>& values) override {
    Json::Object object;
    object.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      object.emplace_back(columns_[i].name, json(values[i], columns_[i].type));
    const char* before = !array_ ? "" : first_ ? "\n" : ",\n";
    first_ = false;
    sink_(before + Json(std::move(object)).dump() + (array_ ? "" : "\n"));
    return true;
  }
  void end() override {
    if (array_ && begun_) sink_(first_ ? "]\n" : "\n]\n");
  }

 private:
  static Json json(const Value& value, Type type) {
    if (const auto* n = std::get_if<std::int64_t>(&value); n && type != Type::time) return *n;
    if (const auto* d = std::get_if<double>(&value)) return std::isfinite(*d) ? Json(*d) : Json();
    if (const auto* b = std::get_if<bool>(&value)) return *b;
    if (std::holds_alternative<std::monostate>(value)) return {};
    return plain(value, type);
  }
  const bool array_;
  const Sink sink_;
  std::vector<ResultColumn> columns_;
  bool first_ = true, begun_ = false;
};

}  // namespace

std::unique_ptr<SqlText> SqlText::make(std::string_view format, const TextPage& page, Sink sink) {
  if (format == "table") return std::make_unique<Table>(page, std::move(sink));
  if (format == "csv") return std::make_unique<Csv>(std::move(sink));
  if (format == "json" || format == "jsonl")
    return std::make_unique<JsonText>(format == "json", std::move(sink));
  return nullptr;
}

}  // namespace sickbay::cli
