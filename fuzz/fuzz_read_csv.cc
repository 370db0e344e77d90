// SPDX-License-Identifier: Apache-2.0
// CSV: any text is read or rejected record by record, however it is cut; so with a map of columns.
#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  workload::looks_like_csv(text, {});
  fuzz::check_reader(workload::open_csv, text, {});
  workload::ReadOptions mapped;
  mapped.column_map = R"({"job_id": "a", "user_name": "b", "submit_time": "c", "time_limit": "d"})";
  fuzz::check_reader(workload::open_csv, text, mapped);
  return 0;
}
