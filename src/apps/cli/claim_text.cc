// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/claim_text.h"

namespace sickbay::cli {

std::string claim_text(const Json& claim, std::string_view on, const TextPage& page) {
  if (!claim.is_object()) return {};
  std::string text = claim["holder"].as_string();
  if (const std::string& by = claim["by"].as_string(); by != on) text += " for " + by;
  text += since_text(claim["since"], page.now);
  if (claim["until"].is_int()) text += " until " + local_time(from_micros(claim["until"].as_int()));
  if (const std::string& reason = claim["reason"].as_string(); !reason.empty()) text += ": " + reason;
  return text;
}

}  // namespace sickbay::cli
