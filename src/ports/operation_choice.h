// SPDX-License-Identifier: Apache-2.0
// One OperationRunner out of two: built-in operations and executables.
#pragma once
#include <memory>

#include "ports/operation_runner.h"

namespace sickbay {

/// Gives `builtin:NAME` to `builtin`, file names to `executables`, and those built-in operations that are
/// programs of the shipped folder (the table says which) to `executables` under their name.
std::unique_ptr<OperationRunner> make_operation_choice(std::unique_ptr<OperationRunner> builtin,
                                                       std::unique_ptr<OperationRunner> executables);

}  // namespace sickbay
