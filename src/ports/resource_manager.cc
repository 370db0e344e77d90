// SPDX-License-Identifier: Apache-2.0
#include "ports/resource_manager.h"

#include "base/json.h"

namespace sickbay {

Json JobHandle::to_json() const {
  return Json::object({{"job_id", job_id}, {"uid", uid}, {"submit", to_micros(submit)}, {"key", key}});
}

JobHandle JobHandle::from_json(const Json& json) {
  return {static_cast<JobId>(json["job_id"].as_int()), static_cast<std::uint32_t>(json["uid"].as_int()),
          from_micros(json["submit"].as_int()), json["key"].as_string()};
}

}  // namespace sickbay
