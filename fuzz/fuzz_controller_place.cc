// SPDX-License-Identifier: Apache-2.0
// Where sickbayd is, in people's words and Slurm's: what is read says again the same place.
#include "client/controller_place.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  if (const auto place = parse_controller(text))
    SB_CHECK(parse_controller(place->text()).value() == *place, "a place is read as it is printed");
  else
    fuzz::check_refusal(place.error());
  for (const ControllerPlace& place : slurm_controllers(text, kSickbaydPort))
    SB_CHECK(parse_controller(place.text()).value() == place, "Slurm's hosts are places");
  return 0;
}
