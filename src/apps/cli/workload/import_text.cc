// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/import_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/size.h"
#include "base/text_table.h"

namespace sickbay::cli {

std::string import_text(const workload::ImportResult& result, const TextPage& page) {
  using Align = TextTable::Column::Align;
  TextTable sources({{"SOURCE", Align::left, true},
                     {"FORMAT"},
                     {"SIZE", Align::right},
                     {"RECORDS", Align::right},
                     {"REJECTED", Align::right}});
  TextTable rejects({{"REJECTED", Align::right}, {"LINE", Align::right}, {"REASON", Align::left, true}});
  std::vector<std::pair<std::string, std::vector<std::string>>>
      notes;  // of how many logs each is, in their order
  for (const workload::SourceResult& s : result.sources) {
    sources.add({for_terminal(s.name), s.format, describe_size({static_cast<std::int64_t>(s.bytes)}),
                 std::to_string(s.records), std::to_string(s.rejected)});
    for (const workload::RejectKind& r : s.rejects)
      rejects.add({std::to_string(r.records), std::to_string(r.first_line), for_terminal(r.example)});
    for (const std::string& note : s.notes) {
      const auto same =
          std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.first == note; });
      (same == notes.end() ? notes.emplace_back(note, std::vector<std::string>()) : *same)
          .second.push_back(s.name);
    }
  }
  TextTable::Page table;
  table.width = page.width;
  table.colours = page.colours;
  std::string text = sources.text(table);
  if (!rejects.empty()) text += "\n" + rejects.text(table);
  if (!notes.empty()) text += "\n";
  for (const auto& [note, names] : notes) {
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    text += paragraph("note: ", (result.sources.size() > 1 ? names.front() + more + ": " : "") + note, page);
  }
  text += fmt::format("\n{} jobs: {} new, {} changed, {} unchanged; {:.1f} s\n", result.jobs_seen,
                      result.jobs_new, result.jobs_changed, result.jobs_unchanged, result.seconds);
  return text;
}

Json import_json(const workload::ImportResult& result) {
  Json sources = Json::array();
  for (const workload::SourceResult& s : result.sources) {
    Json rejects = Json::array();
    for (const workload::RejectKind& r : s.rejects)
      rejects.push(Json::object({{"reason", r.reason},
                                 {"example", r.example},
                                 {"records", r.records},
                                 {"first_line", r.first_line}}));
    sources.push(Json::object({{"source", s.name},
                               {"format", s.format},
                               {"bytes", s.bytes},
                               {"lines", s.lines},
                               {"records", s.records},
                               {"rejected", s.rejected},
                               {"rejects", std::move(rejects)},
                               {"notes", Json(s.notes)}}));
  }
  return Json::object({{"sources", std::move(sources)},
                       {"jobs", Json::object({{"seen", result.jobs_seen},
                                              {"new", result.jobs_new},
                                              {"changed", result.jobs_changed},
                                              {"unchanged", result.jobs_unchanged}})},
                       {"seconds", result.seconds}});
}

}  // namespace sickbay::cli
