// SPDX-License-Identifier: Apache-2.0
// How a program's state is got hold of.  One way is built; the others have their names here, and what each
// would need, so that who asks for one is told, and who builds one sees where it goes.
#pragma once
#include <span>
#include <string_view>

#include "base/result.h"

namespace sickbay::ckpt {

struct Engine {
  std::string_view name;
  std::string_view how;    ///< the state is got
  std::string_view needs;  ///< what is not there; "": it is built
};
/// The one that is built first.
std::span<const Engine> engines();

/// Errors: usage: no such engine; missing_program: one that is not built, with what it would need.
Status check_engine(std::string_view name);

}  // namespace sickbay::ckpt
