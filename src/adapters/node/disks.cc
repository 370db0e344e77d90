// SPDX-License-Identifier: Apache-2.0
// disks, disk_place, disk_smart: disks as the kernel and they themselves see them.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/words.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

// Block devices that are hardware: each has a device below it.
std::vector<std::string> hardware_disks(const Tree& tree) {
  std::vector<std::string> found;
  for (const std::string& name : tree.list("/sys/block"))
    if (tree.exists("/sys/block/" + name + "/device")) found.push_back(name);
  return found;
}

// "running", "offline" (SCSI), "live", "dead" (NVMe: of its controller); nothing where the driver has no
// state.
std::optional<std::string> state_of(const Tree& tree, const std::string& disk) {
  return tree.word("/sys/block/" + disk + "/device/state");
}

// A name as in /sys/block and not a path.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() < 64 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

}  // namespace

std::int64_t disks_of(const Tree& tree) { return static_cast<std::int64_t>(hardware_disks(tree).size()); }

OperationEnd disks(const Call& call) {
  const auto all = hardware_disks(*call.tree);
  if (all.empty()) return unknown("/sys/block has no disk");
  std::string first_dead;
  std::int64_t dead = 0;
  std::optional<std::int64_t> errors;
  for (const std::string& disk : all) {
    const std::string state = state_of(*call.tree, disk).value_or("");
    if (state == "offline" || state == "transport-offline" || state == "dead") {
      ++dead;
      if (first_dead.empty()) first_dead = disk;
    }
    // In hexadecimal, as SCSI writes it: 0x1a.
    const auto count = call.tree->word("/sys/block/" + disk + "/device/ioerr_cnt");
    if (count && count->starts_with("0x"))
      if (const auto value = to_integer(std::string_view(*count).substr(2), 16); value && *value >= 0)
        errors = errors.value_or(0) + std::min(*value, std::int64_t{1} << 40);
  }
  return found(Json::object({{"disks", all.size()},
                             {"disks_dead", dead},
                             {"disk_dead", first_dead},
                             {"disk_errors_new", errors ? call.since_last("errors", *errors) : Json()}}));
}

OperationEnd disk_place(const Call& call) {
  const std::string disk =
      call.text("disk_dead").empty() ? call.text("disk_failing") : call.text("disk_dead");
  if (!is_name(disk)) return unknown("no disk is named: disk_dead and disk_failing are empty");
  const std::string block = "/sys/block/" + disk;
  if (!call.tree->exists(block)) return unknown(fmt::format("/sys/block has no disk '{}'", disk));
  // By its path first: that names the slot of a controller, which stays when names such as sda move.
  std::string place;
  for (const std::string& name : call.tree->list("/dev/disk/by-path"))
    if (const auto target = call.tree->link("/dev/disk/by-path/" + name);
        target && target->substr(target->rfind('/') + 1) == disk)
      place = name;
  if (place.empty()) place = call.tree->link(block).value_or(disk);  // ../devices/pci0000:00/.../block/sda
  std::optional<std::string> slot;
  for (const std::string& name : call.tree->list(block + "/device"))
    if (name.starts_with("enclosure_device:")) slot = name.substr(17);
  // The end of a long path is kept: what tells one disk from its neighbours stands there.
  const auto shorter = [](std::string text) {
    if (text.size() > 250) text.erase(0, text.size() - 250);
    return text;
  };
  const auto word = [&](std::string_view file) {
    auto text = call.tree->word(fmt::format("{}/device/{}", block, file));
    if (text && text->empty()) text.reset();
    return text ? Json(shorter(*text)) : Json();
  };
  return found(Json::object({{"disk_place", shorter(place)},
                             {"disk_slot", slot ? Json(shorter(*slot)) : Json()},
                             {"disk_model", word("model")},
                             {"disk_serial", word("serial")}}));
}

ChildPlan disk_smart(const Call& call) {
  std::vector<std::string> all;
  if (const std::string& device = call.text("device"); device.empty()) {
    all = hardware_disks(*call.tree);
  } else {
    if (!is_name(device) || !call.tree->exists("/sys/block/" + device))
      return {{}, {}, unknown(fmt::format("/sys/block has no disk '{}'", device))};
    all = {device};
  }
  if (all.empty()) return {{}, {}, unknown("/sys/block has no disk")};
  ChildPlan plan;
  for (const std::string& disk : all)
    plan.programs.push_back(
        program_spec(call, {"smartctl", "--json", "-H", "-A", call.tree->path("/dev/" + disk)}));
  // Only disks with a judgement are counted; one that is mute (behind a RAID controller, say) is named and
  // does not make the others unknown.
  plan.read = [all](const std::vector<Result<ProcessOutcome>>& outcomes) {
    std::int64_t failing = 0, reallocated = 0, judged = 0;
    std::optional<std::int64_t> wear;
    std::string first, mute;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (auto missing = no_answer("smartctl", outcomes[i])) return *missing;
      // Its exit code is a set of bits, some of them findings: only the answer counts.
      const SmartAnswer answer = parse_smart(outcomes[i]->out);
      if (answer.wear_percent) wear = std::max(wear.value_or(0), *answer.wear_percent);
      reallocated = std::min(reallocated + answer.reallocated.value_or(0), kMostInteger);
      if (!answer.passed) {
        mute += fmt::format("{}{}: {}", mute.empty() ? "" : "; ", all[i],
                            answer.message.empty() ? "no judgement" : answer.message);
        continue;
      }
      ++judged;
      if (!*answer.passed) {
        ++failing;
        if (first.empty()) first = all[i];
      }
    }
    if (judged == 0) return unknown("no disk judges itself: " + mute);
    return found(Json::object({{"disks_failing", failing},
                               {"disk_failing", first},
                               {"disk_wear_percent", or_null(wear)},
                               {"disk_reallocated", reallocated}}),
                 mute.empty() ? "" : "without a judgement: " + mute);
  };
  return plan;
}

}  // namespace sickbay::node
