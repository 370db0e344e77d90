// SPDX-License-Identifier: Apache-2.0
// sacct's own layout: any text is read or rejected line by line, however it is cut.
#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  workload::looks_like_sacct_fixed(text, {});
  fuzz::check_reader(workload::open_sacct_fixed, text, {});
  return 0;
}
