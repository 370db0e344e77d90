// SPDX-License-Identifier: Apache-2.0
// V's output: any bytes give a report on exactly the nodes asked for, and a node that is not mentioned is
// never blamed.  A NUL parts output and error.
#include "model/verify_report.h"

#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const std::size_t cut = std::min(text.find('\0'), size);
  const std::string_view out = text.substr(0, cut), err = text.substr(std::min(cut + 1, size));
  const std::vector<std::string> nodes = {"n1", "n2", "n3", "n4", "unmentioned"};
  for (const std::optional<int> exit_code :
       {std::optional<int>(), std::optional<int>(0), std::optional<int>(1)}) {
    const VerifyReport report = parse_verify_report(out, err, nodes, exit_code);
    SB_CHECK(report.nodes.size() == nodes.size(), "one word on each node");
    VerifyResult worst = VerifyResult::ok;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeVerification& node = report.nodes[i];
      SB_CHECK(node.node == nodes[i], "in the order asked for");
      SB_CHECK(node.reason.empty() == (node.result == VerifyResult::ok), "every other result has its reason");
      SB_CHECK(std::none_of(node.reason.begin(), node.reason.end(),
                            [](char c) { return static_cast<unsigned char>(c) < ' '; }),
               "a reason is one line without controls");
      worst = std::max(worst, node.result);
    }
    for (const LinkVerification& link : report.links) {
      SB_CHECK(link.node < link.peer, "two nodes of those asked for, in their order");
      SB_CHECK(link.result == VerifyResult::failed || link.result == VerifyResult::slow, "only bad links");
      worst = std::max(worst, link.result);
    }
    const bool failed = worst == VerifyResult::failed;
    SB_CHECK((report.overall == VerifyResult::failed) == failed, "failed overall when something is");
    SB_CHECK((report.overall == VerifyResult::ok) == (worst == VerifyResult::ok), "ok only when all is");
    if (text.find("unmentioned") != text.npos) continue;
    const VerifyResult stranger = report.nodes.back().result;
    SB_CHECK(stranger != VerifyResult::failed && stranger != VerifyResult::slow,
             "nobody is blamed without being named");
  }
  return 0;
}
