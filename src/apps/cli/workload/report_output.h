// SPDX-License-Identifier: Apache-2.0
// Where a report goes: a file by its ending (.html, .md, .json, .csv, .pdf), or a folder of CSV files.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/report/render.h"

namespace sickbay::cli {

/// The form that a name asks for: "html", "md", "json", "csv", "pdf", or "folder" for "NAME/" and for a
/// folder that is there.  Errors: usage.
Result<std::string> form_of_output(const std::string& path);

/// Writes the document there.  PDF is printed by Chromium.
/// Errors: missing_program (Chromium), not_found (a part of the page), storage_full, storage_broken, denied.
Status write_output(const workload::Document& document, const std::string& path);

}  // namespace sickbay::cli
