// SPDX-License-Identifier: Apache-2.0
// Where the parts of this installation are: beside each other in a build folder, else as `make install` puts
// them.
#pragma once
#include <string>

namespace sickbay {

/// The readable file `name` beside the running program, or under ../libexec/sickbay or ../share/sickbay; ""
/// when nowhere.
std::string installed_file(const std::string& name);

}  // namespace sickbay
