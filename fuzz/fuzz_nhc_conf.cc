// SPDX-License-Identifier: Apache-2.0
// nhc.conf: what is taken becomes specifications that the reader reads, whatever the lines hold.
#include "base/hostlist.h"
#include "engine/diagnose/import_nhc.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  for (const auto& cluster :
       {std::vector<std::string>(), expand_hostlist("n[00-19],gpu[1-4],login1").value()}) {
    const auto made = diagnose::import_nhc(text, "nhc.conf", cluster);
    if (!made) {
      fuzz::check_refusal(made.error());
      continue;
    }
    for (const diagnose::NhcTaken& taken : made->lines)
      SB_CHECK(taken.how == diagnose::NhcTaken::How::whole || taken.how == diagnose::NhcTaken::How::setting ||
                   !taken.note.empty(),
               "what is left out has a reason");
    if (made->files.empty()) continue;
    // As every node that one of the files is for, and so all of them together.
    const auto read = diagnose::read_specifications(made->files, {"n01", {}});
    SB_CHECK(read.has_value(), read ? "" : read.error().what.c_str());
  }
  if (const auto here = diagnose::import_nhc_here(text, "nhc.conf", {"n01", "n01.site"});
      here && !here->files.empty()) {
    const auto read = diagnose::read_specifications(here->files, {"n01", {}});
    SB_CHECK(read.has_value(), read ? "" : read.error().what.c_str());
  }
  return 0;
}
