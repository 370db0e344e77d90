// SPDX-License-Identifier: Apache-2.0
// What `sickbay plan` found, and its three forms: text, JSON and one HTML page.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/page.h"
#include "base/json.h"
#include "plan/answers.h"
#include "plan/validate.h"

namespace sickbay::cli {

struct PlanResult {
  std::string source;       ///< the file of the list
  std::string system;       ///< of the list; "" where it has no such column
  std::string from, until;  ///< of the list
  plan::Model model;
  plan::Question question;
  plan::Overview overview;
  std::optional<plan::SparesAnswer> spares;
  std::optional<plan::IntervalAnswer> interval;
  std::optional<plan::RepairAnswer> repair;
};

std::string plan_text(const PlanResult& result, const TextPage& page);
Json plan_json(const PlanResult& result);
/// `css`: reports/page/page.css, the looks of all pages of ours.  The page is one file and has no script.
std::string plan_page(const PlanResult& result, std::string_view css);

std::string validation_text(const plan::Validation& result, const TextPage& page);
Json validation_json(const plan::Validation& result);

/// "2.5 h", "45 min", "30 s": hours as people say them.
std::string hours_text(double hours);
/// Three digits that count, thousands apart: "12,300", "4.56".
std::string number_text(double value);
/// "99.53 %".
std::string share_text(double share);
/// "LOW to HIGH" of a figure's 90 %.
std::string between(const plan::Figure& figure, std::string (*written)(double));

}  // namespace sickbay::cli
