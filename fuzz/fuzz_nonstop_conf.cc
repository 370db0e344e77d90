// SPDX-License-Identifier: Apache-2.0
// nonstop.conf: any text is read or refused with its line, and what was read is the same written anew.
#include "model/nonstop_config.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const auto config = wire::parse_nonstop_config(fuzz::as_text(bytes, size));
  if (!config) {
    fuzz::check_refusal(config.error());
    return 0;
  }
  SB_CHECK(!config->control_addr.empty() && config->port != 0, "what must be there is there");
  const auto again = wire::parse_nonstop_config(wire::format_nonstop_config(*config));
  SB_CHECK(again && *again == *config, "what was read is written and read again");
  return 0;
}
