// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/report_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "adapters/posix/installed_file.h"
#include "apps/cli/workload/bounded_child.h"
#include "apps/cli/workload/temporary_folder.h"
#include "base/spelling.h"
#include "base/text.h"
#include "workload/report/catalog.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;
using workload::Document;

constexpr auto kForms = std::to_array<std::string_view>({"html", "md", "json", "csv", "pdf"});
constexpr std::chrono::seconds kPrintTime{180};

Status write_text(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool good = file != nullptr;
  int code = errno;
  if (good) {
    good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    code = errno;
    if (std::fclose(file) != 0 && good) good = false, code = errno;
  }
  if (good) return {};
  const ErrorCode kind = code == ENOSPC || code == EDQUOT  ? ErrorCode::storage_full
                         : code == EACCES || code == EROFS ? ErrorCode::denied
                                                           : ErrorCode::storage_broken;
  return fail(
      Error(kind, fmt::format("cannot write {}: {}", quote_for_message(path, 200), std::strerror(code)))
          .remedied_by("name another file with --out"));
}

Result<std::string> installed_text(const std::string& name) {
  const std::string path = installed_file(name);
  if (path.empty())
    return fail(Error(ErrorCode::not_found, fmt::format("the shipped file {} is not installed", name))
                    .remedied_by("install Sickbay again, or ask for .md, .csv or .json"));
  return workload::read_text(path);
}

bool has_chart(const Document& document) {
  return std::any_of(document.results.begin(), document.results.end(), [](const workload::ReportResult& one) {
    return one.outcome == workload::Outcome::made && one.spec.chart.kind != "none";
  });
}

Result<std::string> html_of(const Document& document) {
  workload::PageParts parts;
  const bool charts = has_chart(document);
  for (const auto& [name, part] : {std::pair{"reports/page/page.html", &parts.page_template},
                                   {"reports/page/page.css", &parts.css},
                                   {"reports/page/page.js", &parts.js},
                                   {"echarts.min.js", &parts.echarts}}) {
    if (part == &parts.echarts && !charts) continue;  // a megabyte for nothing
    auto text = installed_text(name);
    if (!text) return fail(text.error());
    *part = std::move(*text);
  }
  return workload::render_html(document, parts);
}

// The page as a browser prints it, its charts drawn.
Status write_pdf(const Document& document, const std::string& path) {
  auto html = html_of(document);
  if (!html) return fail(html.error());
  const TemporaryFolder folder;
  if (folder.path().empty())
    return fail(ErrorCode::storage_broken, "cannot make a folder for temporary files");
  const std::string page = folder.path() + "/report.html";
  if (auto written = write_text(page, *html); !written) return fail(written.error());
  BoundedChild print;
  print.time_limit = kPrintTime;
  print.most_bytes = 1 << 20;
  Result<std::string> printed = fail(ErrorCode::missing_program, "");
  for (const char* browser : {"chromium", "chromium-browser", "google-chrome"}) {
    print.argv = {browser,
                  "--headless",
                  "--no-sandbox",  // it reads our own page only, and root has no sandbox of Chromium's
                  "--disable-gpu",
                  "--user-data-dir=" + folder.path() + "/browser",
                  "--no-pdf-header-footer",
                  "--virtual-time-budget=20000",  // milliseconds of page time for the charts
                  "--print-to-pdf=" + fs::absolute(path).string(),
                  "file://" + page};
    printed = run_bounded(print);
    if (printed || printed.error().code != ErrorCode::missing_program) break;
  }
  if (!printed && printed.error().code == ErrorCode::missing_program)
    return fail(Error(ErrorCode::missing_program, "a PDF is printed by Chromium, which is not in PATH")
                    .remedied_by("install chromium, or write .html and print it in a browser"));
  if (!printed) return fail(std::move(printed.error()).in("printing the PDF"));
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return fail(ErrorCode::os, fmt::format("Chromium wrote no {}", quote_for_message(path, 200)));
  return {};
}

Status write_folder(const Document& document, const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return fail(ErrorCode::storage_broken,
                fmt::format("cannot make the folder {}: {}", quote_for_message(path, 200), error.message()));
  for (const auto& [name, text] : workload::render_csv_files(document))
    if (auto written = write_text((fs::path(path) / name).string(), text); !written) return written;
  return {};
}

}  // namespace

Result<std::string> form_of_output(const std::string& path) {
  std::error_code ignored;
  if (path.ends_with('/') || fs::is_directory(path, ignored)) return std::string("folder");
  const std::string ending = fs::path(path).extension().string();
  if (!ending.empty())
    for (const std::string_view form : kForms)
      if (equal_ignoring_case(ending.substr(1), form)) return std::string(form);
  const std::string meant = ending.empty() ? "" : did_you_mean(ending.substr(1), kForms);
  return fail(Error(ErrorCode::usage,
                    fmt::format("the ending of {} says no form of report", quote_for_message(path, 200)))
                  .remedied_by(meant.empty()
                                   ? "end it in .html, .md, .json, .csv or .pdf, or name a folder: 'NAME/'"
                                   : fmt::format("did you mean '.{}'?", meant)));
}

Status write_output(const Document& document, const std::string& path) {
  auto form = form_of_output(path);
  if (!form) return fail(form.error());
  if (*form == "folder") return write_folder(document, path);
  if (*form == "pdf") return write_pdf(document, path);
  if (*form == "md") return write_text(path, workload::render_markdown(document));
  if (*form == "json") return write_text(path, workload::render_json(document));
  if (*form == "csv") return write_text(path, workload::render_csv(document));
  auto html = html_of(document);
  if (!html) return fail(html.error());
  return write_text(path, *html);
}

}  // namespace sickbay::cli
