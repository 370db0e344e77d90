// SPDX-License-Identifier: Apache-2.0
// sacct's records: any text is read or refused, and a record that a user's text tries to forge stays text.
#include <fmt/format.h>

#include "adapters/slurm/accounting.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  for (const std::string_view delimiter : {"|", "~@~"}) {
    if (const auto jobs = slurm::parse_sacct(text, delimiter); !jobs)
      SB_CHECK(jobs.error().code == ErrorCode::bad_input, "bytes from outside are bad_input");
  }
  const std::string d = "QWERTYUIOPASDFGHJKLZXCVB";
  if (text.find(d) != std::string_view::npos) return 0;
  const std::string record = fmt::format(
      "7{0}5{0}FAILED{0}3:0{0}1{0}2{0}1{0}n1{0}main{0}5{0}1{0}{1}{0}/{0}{1}{0}7{0}{1}{0}\n", d, text);
  const auto jobs = slurm::parse_sacct(record + record, d);
  SB_CHECK(jobs && jobs->size() == 2, "two records are two jobs");
  SB_CHECK((*jobs)[1].job.name == text && (*jobs)[1].submit_line == text, "a user's text is kept as it is");
  return 0;
}
