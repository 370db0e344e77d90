// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/heard_results.h"

#include "model/verify_report.h"

namespace sickbay::cluster {

Json hear_results(const View& view, Speeds& speeds, const Json& results) {
  Json heard = Json::array();
  for (const Json& said : results.items()) {
    Json r = said;
    const std::string& name = said["node"].as_string();
    if (const Node* shown = view.node(name);
        shown && shown->down_by == DownBy::operators &&
        verify_fault_from(said["fault"].as_string()) == VerifyFault::lost)
      r.set("result", "unknown").set("reason", "a person set it DOWN");
    if (said["figures"].is_object()) {
      const std::string& kind = said["kind"].as_string();
      if (const std::string slow = speeds.judge(kind, name, said["figures"]);
          r["result"].as_string() == "ok" && !slow.empty())
        r.set("result", "slow").set("fault", to_string(VerifyFault::slow)).set("reason", slow);
      speeds.keep(kind, name, said["figures"]);
    }
    heard.push(std::move(r));
  }
  return heard;
}

}  // namespace sickbay::cluster
