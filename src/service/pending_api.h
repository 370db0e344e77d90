// SPDX-License-Identifier: Apache-2.0
// The endpoint that says why a job waits; its row stands in api.cc.
#pragma once
#include "service/api_call.h"

namespace sickbay {

struct PendingEndpoints {
  /// GET /v1/jobs/*/pending, of any job that slurmctld knows: for its owner and for operators.
  static void explain(Api& api, Api::Call& c);
};

}  // namespace sickbay
