// SPDX-License-Identifier: Apache-2.0
// /metrics in Prometheus' text format.
#pragma once
#include <string>

#include "service/controller.h"

namespace sickbay {

class Agents;
struct NonstopCounts;

/// All figures, each with HELP and TYPE.  Names and labels are described in doc/formats/api.md, "Metrics".
/// `agents`, `nonstop` null: not served.
std::string metrics_text(const Controller& controller, const ResourceManager& manager, const Agents* agents,
                         const NonstopCounts* nonstop = nullptr);

}  // namespace sickbay
