// SPDX-License-Identifier: Apache-2.0
#include "service/agent/config.h"

#include <array>

#include "settings/config_table.h"

namespace sickbay::agent {
namespace {

std::string take_pauses(Overrides& field, const Json& value) {
  if (!value.is_object()) return "must be an object, as {\"node/day\": \"5m\"}";
  for (const auto& [name, pause] : value.members())
    if (std::string wrong = take_duration(field[name], pause); !wrong.empty())
      return "'" + name + "' " + wrong;
  return "";
}

// clang-format off
constexpr auto kKeys = std::to_array<ConfigRow<Config>>({
    {{"controller", "host", "name", "sickbayd's host; without it findings wait in the spool"},
     [](Config& c, const Json& v) { return take_text(c.controller.host, v); }},
    {{"controller", "port", "number", "its TCP port, 6830"},
     [](Config& c, const Json& v) { return take_count(c.controller.port, v, 1, 65535); }},
    {{"controller", "from", "text", "address of this node to call from, where it has several: Slurm's NodeAddr"},
     [](Config& c, const Json& v) { return take_text(c.controller.from, v); }},
    {{"controller", "standby", "name", "host of the second sickbayd, where there are two (design/standby.md)"},
     [](Config& c, const Json& v) { return take_text(c.controller.standby, v); }},
    {{"controller", "standby_port", "number", "its TCP port, 6830"},
     [](Config& c, const Json& v) { return take_count(c.controller.standby_port, v, 1, 65535); }},
    {{"controller", "witness", "yes or no", "true on the nodes that sickbayd's 'standby.witnesses' names"},
     [](Config& c, const Json& v) { return take_flag(c.controller.witness, v); }},
    {{"node", "name", "name", "Slurm's name of this node; default: the host's name up to its first dot"},
     [](Config& c, const Json& v) { return take_text(c.node.name, v); }},
    {{"node", "features", "names", "its features, for specifications that name some"},
     [](Config& c, const Json& v) { return take_names(c.node.features, v); }},
    {{"rules", "folders", "names", "folders of specifications, in their order; default: the shipped one, /etc/sickbay/rules.d"},
     [](Config& c, const Json& v) { return take_names(c.rules.folders, v); }},
    {{"periods", "every", "object", "other pauses between runs, {\"SPECIFICATION/PERIOD\": \"5m\"}"},
     [](Config& c, const Json& v) { return take_pauses(c.periods.every, v); }},
    {{"periods", "facts", "duration", "pause between two readings of what nodes are compared by, 2m; sickbayd hears of it with the next poll, up to 30 s later"},
     [](Config& c, const Json& v) { return take_duration(c.periods.facts, v); }},
    {{"repair", "allowed", "yes or no", "repairs may run where a specification wants them and its period and the request permit them; false, the default: none runs, whatever a specification calls them"},
     [](Config& c, const Json& v) { return take_flag(c.repair.allowed, v); }},
    {{"munge", "socket", "path", "socket of munged; default: libmunge's own"},
     [](Config& c, const Json& v) { return take_text(c.munge.socket, v); }},
});
// clang-format on

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view source) {
  return read_config<Config>(text, source, "doc/formats/agent.md", kKeys);
}

std::string describe_config() { return describe_rows<Config>(kKeys); }

}  // namespace sickbay::agent
