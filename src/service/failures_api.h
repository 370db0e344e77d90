// SPDX-License-Identifier: Apache-2.0
// The endpoint that says why a job without a case failed; its row stands in api.cc.
#pragma once
#include "service/api_call.h"

namespace sickbay {

struct FailureEndpoints {
  /// GET /v1/jobs/*/failure, of a job that was looked at because of `identify.jobs: all`: for its owner and
  /// for operators.  Errors: not_found (no such job is kept), conflict (it did not fail), denied.
  static void explain(Api& api, Api::Call& c);
};

}  // namespace sickbay
