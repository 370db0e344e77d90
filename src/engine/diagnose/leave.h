// SPDX-License-Identifier: Apache-2.0
// Leave: whether a run can come to an active check, so that sickbayd is to be asked before it begins.
//
// Which productions fire depends on what a run finds, so nobody can know beforehand; but what the initial
// values alone make false stays out, and with rules that speak of modes that is all there is to a quick look.
// Pure.  Source: doc/design/diagnose.md, "Active checks".
#pragma once
#include "engine/diagnose/run.h"

namespace sickbay::diagnose {

/// Whether a run that begins with `initial` may come to an operation that is_active() and that nothing in
/// `permits` forbids but want of leave.  In doubt it may.
bool may_need_leave(const Rules& rules, const std::vector<std::pair<std::string, Value>>& initial,
                    Permits permits);

}  // namespace sickbay::diagnose
