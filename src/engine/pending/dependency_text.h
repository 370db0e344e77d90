// SPDX-License-Identifier: Apache-2.0
// A job's dependencies in words; for explain.cc.
#pragma once
#include <string>
#include <string_view>

namespace sickbay::pending {

/// "afterok:17(unfulfilled)" reads "job 17 has ended without an error"; several are joined by "and", or by
/// "or" where the job says so.  Fulfilled ones are left out.  What cannot be read stays as it is; "" for "".
std::string dependency_text(std::string_view dependency);

}  // namespace sickbay::pending
