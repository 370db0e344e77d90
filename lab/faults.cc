// SPDX-License-Identifier: Apache-2.0
// The life of a fault: written down, injected, watched, timed, healed.
#include "lab/faults.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lab/cleanup.h"
#include "lab/fault_effects.h"
#include "lab/lab.h"
#include "lab/truth.h"
#include "lab/watch.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string fault_file(const Layout& l, const std::string& id) { return l.path("faults/" + id); }

int number_of(const std::string& id) { return std::atoi(id.c_str() + 1); }

// f1, f2, ... never used twice, also when the earlier ones are healed: the ground truth names them.
Result<std::string> next_id(const Layout& l) {
  int last = 0;
  if (auto text = read_text(l.path("state/last_fault"))) last = std::atoi(text->c_str());
  const std::string id = fmt::format("f{}", last + 1);
  if (auto kept = write_text(l.path("state/last_fault"), std::to_string(last + 1)); !kept)
    return tl::unexpected(kept.error());
  return id;
}

Json truth_body(const ActiveFault& fault) {
  const FaultSpec& s = fault.spec;
  Json body =
      Json::object({{"fault", fault.id}, {"kind", s.row().name}, {"value", s.value}, {"text", s.text()}});
  if (s.probability < 1) body.set("probability", s.probability);
  if (s.for_seconds > 0) body.set("for_seconds", s.for_seconds);
  if (s.pid > 0) body.set("pid", s.pid);
  if (s.row().takes_direction) body.set("direction", to_string(s.direction));
  body.set("waiting", !fault.fired);
  return body;
}

// Two faults of one kind would undo each other, unless their values keep them apart.
bool clash(const FaultSpec& a, const FaultSpec& b) {
  if (a.node != b.node || a.kind != b.kind) return false;
  const ValueKind v = a.row().value;
  const bool apart = v == ValueKind::machine || v == ValueKind::service || v == ValueKind::path;
  return !apart || a.value == b.value;
}

}  // namespace

std::string print_active(const ActiveFault& f) {
  std::string text =
      fmt::format("node {}\nfault {}\nfired {}\n", f.spec.node, f.spec.text(), f.fired ? 1 : 0);
  for (const auto& [name, p] : f.processes) text += fmt::format("process {} {} {}\n", name, p.pid, p.start);
  for (const auto& [name, value] : f.notes) text += fmt::format("note {} {}\n", name, value);
  return text;
}

Result<ActiveFault> parse_active(const std::string& id, const std::string& text) {
  ActiveFault f;
  f.id = id;
  std::string node;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string key, name;
    words >> key;
    if (key == "node") {
      words >> node;
    } else if (key == "fault") {
      std::string kind;
      words >> kind;
      auto spec = parse_fault(node, kind);
      if (!spec) return fail(std::move(spec.error()).in("reading fault " + id));
      f.spec = *spec;
      for (std::string option; words >> option;) {
        const std::size_t eq = option.find('=');
        if (auto set = set_fault_option(f.spec, option.substr(0, eq),
                                        eq == std::string::npos ? "" : option.substr(eq + 1));
            !set)
          return fail(std::move(set.error()).in("reading fault " + id));
      }
      words.clear();
    } else if (key == "fired") {
      words >> f.fired;
    } else if (key == "process") {
      Process p;
      words >> name >> p.pid >> p.start;
      f.processes[name] = p;
    } else if (key == "note") {
      words >> name >> std::ws;
      std::getline(words, f.notes[name]);
    } else {
      words.setstate(std::ios::failbit);
    }
    if (words.fail())
      return fail(ErrorCode::bad_input,
                  fmt::format("faults/{}:{}: '{}' is not understood", id, number, line));
  }
  if (f.spec.node.empty())
    return fail(ErrorCode::bad_input, fmt::format("faults/{}: no node or fault in it", id));
  return f;
}

std::vector<ActiveFault> active_faults(const Layout& l) {
  std::vector<ActiveFault> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(l.path("faults"), ignored)) {
    const std::string id = entry.path().filename().string();
    auto text = read_text(entry.path().string());
    if (!text) continue;
    if (auto fault = parse_active(id, *text)) found.push_back(std::move(*fault));
  }
  std::sort(found.begin(), found.end(),
            [](const ActiveFault& a, const ActiveFault& b) { return number_of(a.id) < number_of(b.id); });
  return found;
}

Status save_active(const Layout& l, const ActiveFault& f) {
  return write_text(fault_file(l, f.id), print_active(f));
}

Result<std::string> inject_fault(const Layout& l, const FaultSpec& spec) {
  if (auto root = need_root("breaking a node of a lab"); !root) return tl::unexpected(root.error());
  auto lock = LabLock::take(l.dir());
  if (!lock) return tl::unexpected(lock.error());
  ActiveFault fault;
  fault.spec = spec;
  auto target = target_of(l, fault);
  if (!target) return tl::unexpected(target.error());
  for (const ActiveFault& other : active_faults(l))
    if (clash(other.spec, spec))
      return fail(Error(ErrorCode::conflict,
                        fmt::format("{} has {} already ({})", spec.node, other.spec.text(), other.id))
                      .remedied_by(fmt::format("sickbay lab heal {} {}", spec.node, spec.row().name)));
  const EffectRow& effect = effect_row(spec.kind);
  if (effect.check != nullptr)
    if (auto possible = effect.check(*target); !possible) return tl::unexpected(possible.error());

  auto id = next_id(l);
  if (!id) return id;
  fault.id = *id;
  const bool waits = needs_watcher(spec);
  fault.fired = !waits;
  Status done = save_active(l, fault);
  // The truth first: a fault that strikes a moment before its record would count as a false alarm.
  if (done) done = write_truth(l, spec.node, "lab_fault", truth_body(fault));
  if (done && spec.for_seconds > 0) done = start_timer(l, fault);
  if (done && waits) done = start_watcher(l, fault);
  if (done && !waits) done = effect.inject(*target);
  if (done) done = save_active(l, fault);
  if (!done) {
    Error error = std::move(done.error());
    if (auto undone = heal_fault(l, fault.id); !undone) error.cause += "\nand then: " + undone.error().line();
    return fail(std::move(error).in(fmt::format("injecting {} on {}", spec.text(), spec.node)));
  }
  return fault.id;
}

Status heal_fault(const Layout& l, const std::string& id) {
  auto text = read_text(fault_file(l, id));
  if (!text) return {};
  auto fault = parse_active(id, *text);
  if (!fault) return tl::unexpected(fault.error());
  for (const auto& [name, process] : fault->processes)
    if (process.pid != ::getpid() &&
        !end_process(process, milliseconds{2000}))  // a timer does not end itself
      return fail(ErrorCode::timed_out, fmt::format("the {} of fault {} is still there", name, id));
  if (auto target = target_of(l, *fault))
    if (const EffectRow& effect = effect_row(fault->spec.kind); effect.heal != nullptr)
      if (auto healed = effect.heal(*target); !healed)
        return fail(std::move(healed.error())
                        .in(fmt::format("healing {} on {}", fault->spec.text(), fault->spec.node)));
  if (auto told = write_truth(l, fault->spec.node, "lab_heal",
                              Json::object({{"fault", id}, {"kind", fault->spec.row().name}}));
      !told)
    return told;
  ::unlink(fault_file(l, id).c_str());
  return {};
}

Result<std::vector<std::string>> heal_faults(const Layout& l, const HealWish& wish) {
  if (auto root = need_root("healing a node of a lab"); !root) return tl::unexpected(root.error());
  auto lock = LabLock::take(l.dir());
  if (!lock) return tl::unexpected(lock.error());
  const std::size_t eq = wish.kind.find('=');
  if (!wish.kind.empty())
    if (auto kind = parse_fault_kind(wish.kind.substr(0, eq)); !kind) return tl::unexpected(kind.error());
  if (!wish.node.empty())
    if (auto known = l.machine(wish.node); !known) return tl::unexpected(known.error());
  std::vector<std::string> healed;
  std::vector<ActiveFault> faults = active_faults(l);
  std::reverse(faults.begin(), faults.end());  // last in, first out: mounts lie on one another
  for (const ActiveFault& f : faults) {
    if (!wish.node.empty() && f.spec.node != wish.node) continue;
    if (!wish.kind.empty() && f.spec.row().name != wish.kind.substr(0, eq)) continue;
    if (eq != std::string::npos && f.spec.value != wish.kind.substr(eq + 1)) continue;
    if (auto done = heal_fault(l, f.id); !done) return tl::unexpected(done.error());
    healed.push_back(f.id);
  }
  if (healed.empty() && !wish.node.empty())
    return fail(Error(ErrorCode::not_found,
                      fmt::format("{} has no fault{}{}", wish.node, wish.kind.empty() ? "" : " ", wish.kind))
                    .remedied_by("'sickbay lab status' lists the active faults"));
  return healed;
}

}  // namespace sickbay::lab
