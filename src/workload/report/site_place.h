// SPDX-License-Identifier: Apache-2.0
// Where a value stands in a site's file, for the errors of its readers.
#pragma once
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::workload {

/// The text of a file and its name; lives no longer than these.
struct SitePlace {
  std::string_view text;
  const std::string& source;

  /// bad_input: "FILE:LINE:COLUMN: what".
  tl::unexpected<Error> wrong(const Json& value, std::string_view what) const {
    const auto [line, column] = line_and_column(text, value.offset());
    return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", source, line, column, what))
                    .remedied_by("doc/formats/site.md describes the file"));
  }
  /// The same of a key that is not among `known`.
  tl::unexpected<Error> unknown(const Json& value, std::string_view key,
                                std::span<const std::string_view> known) const {
    const std::string meant = did_you_mean(key, known);
    return wrong(value, fmt::format("unknown key {}{}", quote_for_message(key),
                                    meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
  }
};

}  // namespace sickbay::workload
