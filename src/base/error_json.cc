// SPDX-License-Identifier: Apache-2.0
#include "base/error_json.h"

namespace sickbay {
namespace {

Json with_remedy(const Error& error, std::string_view remedy) {
  return Json::object({{"code", error_row(error.code).name},
                       {"what", error.line()},
                       {"cause", error.cause},
                       {"remedy", remedy}});
}

}  // namespace

Json error_json(const Error& error) { return with_remedy(error, error.remedy()); }

Json error_to_json(const Error& error) { return with_remedy(error, error.remedy_text); }

Error error_from_json(const Json& json) {
  Error error(error_code_from(json["code"].as_string()), json["what"].as_string());
  error.cause = json["cause"].as_string();
  error.remedy_text = json["remedy"].as_string();
  return error;
}

}  // namespace sickbay
