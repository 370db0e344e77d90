// SPDX-License-Identifier: Apache-2.0
#include "model/finding_action.h"

#include "base/json.h"

namespace sickbay {

std::string rule_of_finding(const Json& body) {
  return body["specification"].as_string() + "/" + body["rule"].as_string();
}

}  // namespace sickbay
