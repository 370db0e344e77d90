// SPDX-License-Identifier: Apache-2.0
#include "workload/label/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

// The one table of a record's texts: written and read by it.
struct TextColumn {
  std::string_view name;
  std::string AuditRecord::*text;
};
constexpr TextColumn kColumns[] = {
    {"cluster", &AuditRecord::cluster},         {"job_id", &AuditRecord::job_id},
    {"submit_time", &AuditRecord::submit_time}, {"user", &AuditRecord::user},
    {"job_name", &AuditRecord::job_name},       {"step_names", &AuditRecord::step_names},
    {"work_dir", &AuditRecord::work_dir},       {"submit_line", &AuditRecord::submit_line},
    {"comment", &AuditRecord::comment},         {"application", &AuditRecord::application},
    {"version", &AuditRecord::version},         {"labelled_by", &AuditRecord::labelled_by}};

}  // namespace

Share wilson(std::uint64_t hits, std::uint64_t of) {
  Share s{hits, of, 0, 0, 1};
  if (of == 0) return s;
  constexpr double z = 1.959963984540054;  // 97.5 % of the normal distribution
  const double n = static_cast<double>(of), p = static_cast<double>(hits) / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  s.value = p;
  s.low = hits == 0 ? 0 : std::max(0.0, middle - half);  // rounding must not leave a trace there
  s.high = hits == of ? 1 : std::min(1.0, middle + half);
  return s;
}

Json to_json(const AuditSheet& sheet) {
  Json records = Json::array();
  for (const AuditRecord& r : sheet.records) {
    Json record = Json::object();
    for (const TextColumn& c : kColumns)
      if (!(r.*c.text).empty()) record.set(std::string(c.name), r.*c.text);
    record.set("right", r.right ? Json(*r.right) : Json());
    records.push(std::move(record));
  }
  return Json::object(
      {{"seed", sheet.seed},
       {"how", "set \"right\" of each record to true or false, then: sickbay labels audit --marked FILE"},
       {"records", std::move(records)}});
}

Result<AuditSheet> parse_audit(std::string_view text, const std::string& source) {
  Json::ParseOptions options;
  options.comments = true;
  options.source = source;
  auto root = Json::parse(text, options);
  if (!root) return fail(root.error());
  const auto wrong = [&](const Json& at, const std::string& what, std::string_view remedy) {
    const auto [line, column] = line_and_column(text, at.offset());
    return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", source, line, column, what))
                    .remedied_by(std::string(remedy)));
  };
  if (!(*root)["records"].is_array())
    return wrong(*root, "there is no list \"records\"",
                 "give the file that 'sickbay labels audit --out FILE' wrote");
  AuditSheet sheet;
  sheet.seed = (*root)["seed"].as_int();
  for (const Json& item : (*root)["records"].items()) {
    if (!item.is_object()) return wrong(item, "a record is an object", "take the file as it was written");
    AuditRecord r;
    for (const auto& [key, value] : item.members()) {
      if (key == "right") {
        if (value.is_bool())
          r.right = value.as_bool();
        else if (!value.is_null())
          return wrong(value,
                       fmt::format("right: true, false or null is expected, not {}", value.type_name()),
                       "true without quotes, where the application is the right one");
        continue;
      }
      const auto column = std::find_if(std::begin(kColumns), std::end(kColumns),
                                       [&name = key](const TextColumn& c) { return c.name == name; });
      if (column != std::end(kColumns)) {
        r.*column->text = value.as_string();
      } else if (did_you_mean(key, {"right"}) == "right") {
        return wrong(value, fmt::format("unknown key {}", quote_for_message(key)), "did you mean 'right'?");
      }  // other keys are the marker's own notes
    }
    sheet.records.push_back(std::move(r));
  }
  return sheet;
}

AuditResult judge(const AuditSheet& sheet) {
  AuditResult result;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counts;
  std::set<std::string> users;
  std::uint64_t right = 0, marked = 0;
  for (const AuditRecord& r : sheet.records) {
    if (!r.right) {
      ++result.unmarked;
      continue;
    }
    users.insert(r.user);
    ++marked;
    right += *r.right;
    auto& [hits, of] = counts[r.labelled_by];
    hits += *r.right;
    ++of;
    if (!*r.right) result.wrong.push_back(r);
  }
  result.all = wilson(right, marked);
  for (const auto& [evidence, count] : counts)
    result.by_evidence[evidence] = wilson(count.first, count.second);
  result.users = users.size();
  return result;
}

}  // namespace sickbay::workload
