// SPDX-License-Identifier: Apache-2.0
// The places of jobs in the output of `sacct --json`: found by brackets and quotes alone, without parsing, so
// that a file of many gigabytes is never held as one value.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "workload/read/reader.h"

namespace sickbay::workload {

/// The offset behind the next `"jobs": [` of `text`, from `at` on, outside of strings; npos: there is none.
std::size_t find_jobs(std::string_view text, std::size_t at);

/// The value of the member `key` of an object's own level, as it stands there ("55978384", "\"narval\""); ""
/// where there is none.
std::string_view own_member(std::string_view object, std::string_view key);

/// The elements of "jobs", where `text` begins in one; returns what was used up.  What comes behind the array
/// ("meta", "errors") is skipped, up to the next "jobs", for files of several outputs.
/// A `text` without an end that `last` or the limit on records forces is given as it is, to be rejected.
std::size_t split_jobs(std::string_view text, bool last, std::vector<RecordSpan>& records);

}  // namespace sickbay::workload
