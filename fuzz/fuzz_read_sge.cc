// SPDX-License-Identifier: Apache-2.0
// Grid Engine's accounting file: any text is read or rejected line by line, however it is cut.
#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  workload::looks_like_sge(text, {});
  fuzz::check_reader(workload::open_sge, text, {});
  return 0;
}
