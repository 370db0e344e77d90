// SPDX-License-Identifier: Apache-2.0
// Control files of checkpoints and heads of parity files: any text is read or refused, and one that was read
// has one form.
#include "checkpoint/control.h"
#include "checkpoint/parity.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  if (const auto head = checkpoint::parse_parity_head(text))
    SB_CHECK(checkpoint::format_parity_head(*head) == text, "the head of a parity file has one form");
  else if (head.error().code != ErrorCode::too_new)
    fuzz::check_refusal(head.error());

  const auto control = checkpoint::parse_control(text);
  if (!control) {
    if (control.error().code != ErrorCode::too_new) fuzz::check_refusal(control.error());
    return 0;
  }
  SB_CHECK(checkpoint::format_control(*control) == text, "a control file has one form");
  for (const checkpoint::Image& image : control->images)
    SB_CHECK(image.pack == checkpoint::pack_name(control->number, image.rank), "packs lie in the folder");
  return 0;
}
