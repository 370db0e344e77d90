// SPDX-License-Identifier: Apache-2.0
// Specifications and rule tests: what was read has one text, which is read as the same; what is refused says
// where.
#include "engine/diagnose/rule_tests.h"
#include "engine/diagnose/specification.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string text(fuzz::as_text(bytes, size));
  const diagnose::SpecificationFile file[] = {{"fuzz.json", text}};
  if (const auto read = diagnose::read_specifications(file, {"n1", {"gpu"}}); !read) {
    fuzz::check_refusal(read.error());
    SB_CHECK(read.error().what.starts_with("fuzz.json:"), "a refusal says where");
  } else if (!read->empty()) {
    const diagnose::Specification& s = read->front();
    const std::string canonical = diagnose::to_json(s).dump();
    const diagnose::SpecificationFile written[] = {{"again.json", canonical}};
    const auto again = diagnose::read_specifications(written, {"n1", {}});
    SB_CHECK(again.has_value(), "what was written is read");
    SB_CHECK(again->size() == 1 && diagnose::to_json(again->front()).dump() == canonical, "as the same");
    SB_CHECK(diagnose::digest(again->front()) == diagnose::digest(s), "with the same digest");
    for (int hour = 0; hour < 24; ++hour)
      diagnose::find_period(s, std::chrono::hours(hour), diagnose::NodeUse::idle);
  }
  if (const auto tests = diagnose::parse_rule_tests({"fuzz.json", text}); !tests)
    fuzz::check_refusal(tests.error());
  return 0;
}
