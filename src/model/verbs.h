// SPDX-License-Identifier: Apache-2.0
// The verbs of commands: what engines can ask for.  What each does stands in service/verbs.
#pragma once
#include <string_view>

namespace sickbay::verb {

// Runs of a case.
inline constexpr std::string_view kSubmitProgram = "submit_program";
inline constexpr std::string_view kSubmitVerification = "submit_verification";
inline constexpr std::string_view kRelease = "release";
inline constexpr std::string_view kCancel = "cancel";
inline constexpr std::string_view kReadOutput = "read_output";
// Nodes.
inline constexpr std::string_view kDrain = "drain";
inline constexpr std::string_view kUndrain = "undrain";
inline constexpr std::string_view kReboot = "reboot";
inline constexpr std::string_view kDiagnose = "diagnose";
// People.
inline constexpr std::string_view kNotify = "notify";

}  // namespace sickbay::verb
