// SPDX-License-Identifier: GPL-2.0-or-later
// What a failed libslurm call means to Sickbay: one code per class of errno, and Slurm's own words.
//
// The one question that matters after a failed effect is whether it may have happened all the same.  Only a
// connection that never came up, and an answer that says no, are certain; a request that was sent and not
// answered is `timed_out`, after which nobody acts before find() has looked.
#pragma once
#include <string>

#include "base/result.h"

namespace sickbay::slurm {

enum class CallKind { look, effect };

/// The Error of a libslurm call that left `error_number` in errno.  `doing` says what was tried
/// ("releasing job 17").
Error slurm_error(int error_number, CallKind kind, std::string doing);

}  // namespace sickbay::slurm
