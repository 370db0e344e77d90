// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/report_statements.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "apps/cli/workload/report_output.h"
#include "base/text.h"
#include "workload/report/statement.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return fail(
      Error(ErrorCode::storage_broken, fmt::format("cannot make the folder {}: {}",
                                                   quote_for_message(path.string(), 200), error.message()))
          .remedied_by("name another folder with --out"));
}

}  // namespace

Status check_statements(const StatementWords& words, const std::vector<std::string>& folder) {
  if (auto unit = workload::parse_statement_unit(words.unit); !unit) return fail(unit.error());
  if (auto of = workload::parse_statement_of(words.of); !of) return fail(of.error());
  for (const std::string& form : words.forms)
    if (auto known = form_of_output("statement." + form); !known)
      return fail(Error(ErrorCode::usage, fmt::format("{} is no form of a report", quote_for_message(form)))
                      .remedied_by("write one or more of html, md, json, csv, pdf: --as html,csv"));
  if (folder.size() != 1)
    return fail(Error(ErrorCode::usage, "statements go into one folder").remedied_by("name it: --out DIR"));
  return {};
}

Status write_statements(const StatementWords& words, const std::string& folder, const std::string& store_path,
                        workload::RunOrder run, TimePoint now, int threads) {
  auto unit = workload::parse_statement_unit(words.unit);
  if (!unit) return fail(unit.error());
  auto of = workload::parse_statement_of(words.of);
  if (!of) return fail(of.error());
  auto zone = workload::TimeZone::make(run.time_zone);
  if (!zone) return fail(zone.error());
  const workload::StatementOrder order{*unit, *of, std::move(run)};
  return workload::make_statements(
      store_path, order, *zone, now, threads, [&](const workload::Statement& statement) -> Status {
        const fs::path place = fs::path(folder) / statement.period;
        if (auto made = make_folder(place); !made) return made;
        // The list is for programs that send the files.
        const auto forms = statement.file == "_index" ? std::vector<std::string>{"csv"} : words.forms;
        for (const std::string& form : forms) {
          const std::string path = (place / (statement.file + "." + form)).string();
          if (auto written = write_output(statement.document, path); !written) return written;
        }
        return {};
      });
}

}  // namespace sickbay::cli
