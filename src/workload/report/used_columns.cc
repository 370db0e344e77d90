// SPDX-License-Identifier: Apache-2.0
#include "workload/report/used_columns.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

// DuckDB's "nowhere", which is no integer of ours.
constexpr std::string_view kNoLocation = "18446744073709551615";
constexpr int kDepth = 1000;  // of nested expressions

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

// A walk over the tree of the SQL.
class Walk {
 public:
  Walk() {
    for (const std::string& column : j_columns()) known_.insert(column);
  }

  std::optional<UsedOfJobs> of(const Json& tree) {
    Scope outermost;
    visit(tree, outermost);
    // `SELECT j FROM j` and `SELECT x FROM j AS x` are whole rows.
    const bool row = std::any_of(single_.begin(), single_.end(),
                                 [this](const std::string& name) { return rows_.contains(name); });
    if (all_ || row) return std::nullopt;
    return UsedOfJobs{std::move(named_), std::move(views_)};
  }

 private:
  // One SELECT, without those inside it.
  struct Scope {
    bool star = false, jobs = false;
  };

  void visit(const Json& node, Scope& scope) {
    for (const Json& item : node.items()) visit(item, scope);
    if (node.is_string())
      if (std::string name = lower(node.as_string()); known_.contains(name)) named_.insert(std::move(name));
    if (!node.is_object()) return;
    const std::string& type = node["type"].as_string();
    if (type == "SELECT_NODE") {
      Scope own;
      for (const auto& [key, value] : node.members()) visit(value, own);
      all_ = all_ || (own.star && own.jobs);
      return;
    }
    look(node, type, scope);
    for (const auto& [key, value] : node.members()) visit(value, scope);
  }

  void look(const Json& node, std::string_view type, Scope& scope) {
    if (type == "STAR") scope.star = true;
    if (type == "BASE_TABLE") table(node, scope);
    if (type == "COLUMN_REF" && node["column_names"].size() == 1)
      single_.insert(lower(node["column_names"].items().front().as_string()));
    if (node["ref_type"].as_string() == "NATURAL" || type == "SHOW_REF" || type == "TABLE_FUNCTION" ||
        type == "POSITIONAL_REFERENCE" || type == "PIVOT")
      all_ = true;
  }

  void table(const Json& node, Scope& scope) {
    const std::string name = lower(node["table_name"].as_string());
    if (name == "coverage") all_ = true;  // a view of ours over all columns of j
    if (name != "j" && name != "j2" && name != "j_all") return;
    scope.jobs = true;
    views_.insert(name);
    if (node["column_name_alias"].size() > 0) all_ = true;  // by their places
    const std::string alias = lower(node["alias"].as_string());
    rows_.insert(alias.empty() ? name : alias);
  }

  std::set<std::string> known_, named_, views_;
  std::set<std::string> single_;  // names that stand without a table
  std::set<std::string> rows_;    // names under which j, j2 or j_all are known
  bool all_ = false;
};

}  // namespace

std::optional<UsedOfJobs> used_columns(duck::Connection& connection, const std::string& sql) {
  auto asked = connection.query("SELECT json_serialize_sql(CAST($1 AS VARCHAR))", {sql});
  if (!asked || asked->rows.size() != 1) return std::nullopt;
  const auto* text = std::get_if<std::string>(&asked->rows[0].at(0));
  if (text == nullptr) return std::nullopt;
  std::string tree;
  for (std::size_t at = 0;;) {
    const std::size_t found = text->find(kNoLocation, at);
    tree.append(*text, at, found == text->npos ? text->npos : found - at);
    if (found == text->npos) break;
    tree += '0';
    at = found + kNoLocation.size();
  }
  Json::ParseOptions options;
  options.max_depth = kDepth;
  options.unique_keys = false;
  auto parsed = Json::parse(tree, options);
  if (!parsed || (*parsed)["error"].as_bool(true)) return std::nullopt;
  return Walk().of(*parsed);
}

}  // namespace sickbay::workload
