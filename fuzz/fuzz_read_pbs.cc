// SPDX-License-Identifier: Apache-2.0
// Logs of PBS Pro and of TORQUE: any text is read or rejected line by line, however it is cut.
#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const bool pro = workload::looks_like_pbs(text, {}), torque = workload::looks_like_torque(text, {});
  SB_CHECK(!pro || !torque, "a log is of one of them");
  fuzz::check_reader(workload::open_pbs, text, {});
  fuzz::check_reader(workload::open_torque, text, {});
  return 0;
}
