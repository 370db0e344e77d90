// SPDX-License-Identifier: Apache-2.0
#include "workload/report/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "adapters/duckdb/database.h"
#include "base/words.h"
#include "workload/job/time_zone.h"
#include "workload/job/values.h"
#include "workload/report/site_place.h"

namespace sickbay::workload {
namespace {

constexpr auto kChargeUnits = std::to_array<std::string_view>({"SU", "core-h", "GPU-h", "node-h"});

// Slurm has an account above all others.
constexpr std::string_view kRoot = "root";

// Microseconds since 1970 of the begin of "2026-01-01"; nothing where it is no day.
std::optional<std::int64_t> day_of(std::string_view text) {
  static const TimeZone utc = *TimeZone::make("UTC");
  std::int64_t seconds = 0;
  if (text.size() != 10 || !parse_timestamp(std::string(text) + "T00:00:00", utc, seconds))
    return std::nullopt;
  return seconds * 1'000'000;
}

// ---- what belongs together --------------------------------------------------------------------------------

using ByName = std::map<std::string, std::size_t, std::less<>>;

ByName by_name(const std::vector<SiteAccount>& accounts) {
  ByName places;
  for (std::size_t i = 0; i < accounts.size(); ++i) places.emplace(accounts[i].account, i);
  return places;
}

// Adds those that are only named as parents, and gives each the nearest PI above it.  Gives back one that has
// a ring above it, where there is one.
std::string finish(std::vector<SiteAccount>& accounts) {
  std::set<std::string, std::less<>> known;
  for (const SiteAccount& one : accounts) known.insert(one.account);
  for (std::size_t i = 0; i < accounts.size(); ++i)
    if (const std::string parent = accounts[i].parent; !parent.empty() && known.insert(parent).second) {
      SiteAccount more;
      more.account = parent;
      accounts.push_back(std::move(more));
    }
  const ByName places = by_name(accounts);
  for (SiteAccount& one : accounts) {
    const SiteAccount* above = &one;
    for (std::size_t steps = 0; !above->parent.empty(); ++steps) {
      if (steps > accounts.size()) return one.account;
      above = &accounts[places.find(above->parent)->second];
      if (one.pi.empty()) one.pi = above->pi;
    }
  }
  return {};
}

// ---- accounts.json ----------------------------------------------------------------------------------------

Result<SiteAccount> read_account(const SitePlace& place, const std::string& name, const Json& about) {
  constexpr auto kKeys = std::to_array<std::string_view>({"parent", "pi", "budget", "unit", "from", "to"});
  if (!about.is_object())
    return place.wrong(about, fmt::format("what is said of the account '{}' must be an object", name));
  SiteAccount account;
  account.account = name;
  for (const auto& [key, value] : about.members()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return place.unknown(value, key, kKeys);
    if (key == "budget") {
      if (!value.is_number() || value.as_double() < 0)
        return place.wrong(value, "'budget' must be a number of 0 or more");
      account.budget = value.as_double();
      continue;
    }
    if (!value.is_string()) return place.wrong(value, fmt::format("'{}' must be a text", key));
    const std::string text = value.as_string();
    if (key == "unit" && std::find(kChargeUnits.begin(), kChargeUnits.end(), text) == kChargeUnits.end())
      return place.wrong(value,
                         fmt::format("there is no unit {} of budgets; known: SU, core-h, GPU-h, node-h",
                                     quote_for_message(text)));
    if ((key == "from" || key == "to") && !day_of(text))
      return place.wrong(value, fmt::format("'{}' must be a day as \"2026-01-01\"", key));
    (key == "parent" ? account.parent
     : key == "pi"   ? account.pi
     : key == "unit" ? account.budget_of
     : key == "from" ? account.since
                     : account.until) = text;
  }
  return account;
}

Result<std::vector<SiteAccount>> read_json(std::string_view text, const std::string& source) {
  auto json = Json::parse(text, {.comments = true, .source = source});
  if (!json) return fail(json.error());
  const SitePlace place{text, source};
  if (!json->is_object())
    return place.wrong(*json, "must be an object {\"account\": {\"parent\": ..., \"budget\": ...}}");
  std::vector<SiteAccount> accounts;
  for (const auto& [name, about] : json->members()) {
    auto account = read_account(place, name, about);
    if (!account) return fail(std::move(account.error()));
    accounts.push_back(std::move(*account));
  }
  if (const std::string ring = finish(accounts); !ring.empty())
    return place.wrong((*json)[ring], fmt::format("the accounts above '{}' make a ring", ring));
  return accounts;
}

// ---- sacctmgr dump ----------------------------------------------------------------------------------------

// "Account - 'cs':Description='a: b':GrpTRESMins=cpu=60" in its parts, cut at colons that no quotes hold.
std::vector<std::string> cut_at_colons(std::string_view line) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'')
      quoted = !quoted;
    else if (c == ':' && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// The budget in "cpu=6000,gres/gpu=60": in minutes.  What Slurm charges counts before what it counts.
void set_budget(std::string_view limits, SiteAccount& account) {
  struct Kind {
    std::string_view name, unit;
  };
  constexpr auto kKinds =
      std::to_array<Kind>({{"billing", "SU"}, {"cpu", "core-h"}, {"gres/gpu", "GPU-h"}, {"node", "node-h"}});
  std::size_t best = kKinds.size();
  while (!limits.empty()) {
    const std::string_view word = next_part(limits, ',');
    const std::size_t equals = word.find('=');
    std::int64_t minutes = 0;
    if (equals == word.npos || !parse_integer(word.substr(equals + 1), minutes)) continue;
    for (std::size_t i = 0; i < best; ++i)
      if (word.substr(0, equals) == kKinds[i].name) {
        best = i;
        account.budget = static_cast<double>(minutes) / 60;
        account.budget_of = kKinds[i].unit;
      }
  }
}

Result<std::vector<SiteAccount>> read_dump(std::string_view text, const std::string& source) {
  std::vector<SiteAccount> accounts;
  std::map<std::string, std::string, std::less<>> leads;  // account -> who coordinates it
  std::set<std::string, std::less<>> known;
  std::string parent;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = trimmed(next_part(text, '\n'));
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> parts = cut_at_colons(line);
    const std::size_t dash = parts[0].find(" - ");
    const std::string kind = parts[0].substr(0, dash);
    const std::string name =
        dash == std::string::npos ? std::string() : std::string(trimmed(parts[0].substr(dash + 3)));
    if (name.empty() || (kind != "Cluster" && kind != "Parent" && kind != "Account" && kind != "User"))
      return fail(
          Error(ErrorCode::bad_input, fmt::format("{}:{}: this is no line of sacctmgr's dump: {}", source,
                                                  line_number, quote_for_message(line)))
              .remedied_by("'sacctmgr dump CLUSTER File=FILE' writes one; doc/formats/site.md has the "
                           "form of accounts.json"));
    if (kind == "Parent") parent = name == kRoot ? std::string() : name;
    const bool account = kind == "Account" && name != kRoot && known.insert(name).second;
    if (account) {
      accounts.emplace_back();
      accounts.back().account = name;
      accounts.back().parent = parent;
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t equals = parts[i].find('=');
      if (equals == std::string::npos) continue;
      const std::string key = parts[i].substr(0, equals);
      std::string_view value = std::string_view(parts[i]).substr(equals + 1);
      if (account && (key == "GrpTRESMins" || key == "GrpCPUMins"))
        set_budget(key == "GrpCPUMins" ? fmt::format("cpu={}", value) : std::string(value), accounts.back());
      if (kind != "User" || key != "Coordinator") continue;
      while (!value.empty()) leads.emplace(next_part(value, ','), name);
    }
  }
  for (SiteAccount& one : accounts)
    if (const auto lead = leads.find(one.account); lead != leads.end()) one.pi = lead->second;
  if (const std::string ring = finish(accounts); !ring.empty())
    return fail(ErrorCode::bad_input, fmt::format("{}: the accounts above '{}' make a ring", source, ring));
  return accounts;
}

// ---- the tables -------------------------------------------------------------------------------------------

std::string text_sql(const std::string& text) { return text.empty() ? "NULL" : duck::quote(text); }

std::string day_sql(const std::string& text) {
  const auto micros = day_of(text);
  return micros ? fmt::format("make_timestamp({})", *micros) : std::string("NULL");
}

}  // namespace

Result<std::vector<SiteAccount>> parse_accounts(std::string_view text, const std::string& source) {
  const std::string_view all = trimmed(text);
  const bool json = all.empty() || all.front() == '{' || all.front() == '/' || all.front() == '[';
  return json ? read_json(text, source) : read_dump(text, source);
}

std::string accounts_sql(const std::vector<SiteAccount>& accounts) {
  const ByName places = by_name(accounts);
  std::string rows, tree;
  for (const SiteAccount& one : accounts) {
    std::string path = one.account;
    const SiteAccount* above = &one;
    for (std::size_t steps = 0;; ++steps) {
      tree += fmt::format("{}({}, {}, {})", tree.empty() ? "" : ", ", duck::quote(one.account),
                          duck::quote(above->account), steps);
      const auto next = places.find(above->parent);
      if (next == places.end() || steps > accounts.size()) break;
      above = &accounts[next->second];
      path = above->account + "/" + path;
    }
    rows +=
        fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {})", rows.empty() ? "" : ", ", duck::quote(one.account),
                    text_sql(one.parent), duck::quote(path), text_sql(one.pi),
                    one.budget ? fmt::format("{}::DOUBLE", *one.budget) : "NULL",
                    one.budget ? duck::quote(one.budget_of) : "NULL", day_sql(one.since), day_sql(one.until));
  }
  std::string sql =
      "CREATE OR REPLACE TEMP TABLE accounts(account VARCHAR, parent VARCHAR, path VARCHAR, pi VARCHAR, "
      "budget DOUBLE, budget_of VARCHAR, since TIMESTAMP, until TIMESTAMP);\n"
      "CREATE OR REPLACE TEMP TABLE account_tree(account VARCHAR, above VARCHAR, steps BIGINT);\n";
  if (!rows.empty())
    sql += "INSERT INTO accounts VALUES " + rows + ";\nINSERT INTO account_tree VALUES " + tree + ";\n";
  return sql;
}

}  // namespace sickbay::workload
