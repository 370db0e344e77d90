// SPDX-License-Identifier: Apache-2.0
#include "workload/store/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return quote_for_message(path.string(), 4096); }

// The month a job counts to, as in reports (their column `month`), but in UTC.
constexpr std::string_view kMonthOf = "coalesce(end_time, start_time, submit_time)";

// Removes what is there of an export that failed.
struct Partial {
  fs::path folder;
  bool kept = false;
  ~Partial() {
    std::error_code ignored;
    if (!kept) fs::remove_all(folder, ignored);
  }
};

}  // namespace

Result<ExportResult> export_parquet(Store& store, const std::string& folder) {
  fs::path target = fs::path(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "folder/"
  std::error_code wrong;
  if (fs::exists(target, wrong) && (!fs::is_directory(target, wrong) || !fs::is_empty(target, wrong)))
    return fail(
        Error(ErrorCode::already_exists, fmt::format("{} is there, and no empty folder", shown(target)))
            .remedied_by("name another folder, or empty this one"));
  auto count = store.connection().query("SELECT count(*) FROM jobs");
  if (!count) return fail(std::move(count.error()));
  ExportResult result;
  result.jobs = static_cast<std::uint64_t>(std::get<std::int64_t>(count->rows.at(0).at(0)));
  if (result.jobs == 0)
    return fail(Error(ErrorCode::not_found, "the store holds no jobs").remedied_by("import a log first"));

  // Beside the target, so that one rename puts it there; what another run left behind has another number.
  Partial partial{fmt::format("{}.partial-{}", target.string(), ::getpid())};
  if (!fs::create_directory(partial.folder, wrong)) {
    const ErrorCode code = wrong == std::errc::permission_denied           ? ErrorCode::denied
                           : wrong == std::errc::no_such_file_or_directory ? ErrorCode::not_found
                           : wrong == std::errc::no_space_on_device        ? ErrorCode::storage_full
                                                                           : ErrorCode::storage_broken;
    return fail(Error(code, fmt::format("cannot make the folder {}", shown(partial.folder)))
                    .because(wrong ? wrong.message() : "it is there already")
                    .remedied_by("check the folder above it"));
  }
  auto written = store.connection().execute(
      fmt::format("COPY (SELECT *, year({0}) AS year, month({0}) AS month FROM jobs) TO {1} "
                  "(FORMAT parquet, COMPRESSION zstd, PARTITION_BY (year, month), OVERWRITE_OR_IGNORE)",
                  kMonthOf, duck::quote(partial.folder.string())));
  if (!written) return fail(std::move(written.error()).in("writing " + partial.folder.string()));

  for (const auto& entry : fs::recursive_directory_iterator(partial.folder, wrong))
    if (entry.is_regular_file(wrong)) {
      ++result.files;
      result.bytes += entry.file_size(wrong);
    }
  fs::rename(partial.folder, target, wrong);  // over an empty folder, too
  if (wrong)
    return fail(Error(ErrorCode::storage_broken, fmt::format("cannot put the export to {}", shown(target)))
                    .because(wrong.message()));
  partial.kept = true;
  return result;
}

}  // namespace sickbay::workload
