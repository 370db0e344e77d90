// SPDX-License-Identifier: Apache-2.0
// Specification: what a node is to examine and what to do about it, S = <O, Z, T, C, F, R, P, Q, L, I> of the
// paper as one JSON document; O Z C F P I are here, T in model/value.h, R below, Q and L in run.h.
//
// Files of the same specification overlay each other, in the order given: an entry replaces the entry of its
// name, null removes it.  Each file is checked by itself (keys, types, bounds), names are looked up in the
// whole; every error names file:line:column.  Entries keep the order of the files, which is the order of
// firing. Source: doc/design/diagnose.md, "A specification"; rules/specification.schema.json says the same to
// editors.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/value.h"

namespace sickbay::diagnose {

/// R: kinds of operations.
enum class OperationKind : std::uint8_t { critical, collect, test, localise, repair, verify };
struct OperationKindRow {
  OperationKind kind;
  std::string_view name;   ///< as in a specification
  std::string_view paper;  ///< r1 to r6
  int priority;            ///< in the queue; 0 goes first
  std::string_view meaning;
};
inline constexpr auto kOperationKinds = std::to_array<OperationKindRow>({
    {OperationKind::critical, "critical", "r6", 0,
     "acts on the node from outside: out of Slurm, notify, reboot"},
    {OperationKind::collect, "collect", "r1", 1, "reads the state of a component"},
    {OperationKind::test, "test", "r2", 2, "tries a component out"},
    {OperationKind::localise, "localise", "r3", 3, "finds which part is at fault"},
    {OperationKind::repair, "repair", "r4", 4, "changes the node to mend a fault"},
    {OperationKind::verify, "verify", "r5", 5, "sees whether a repair helped"},
});
constexpr const OperationKindRow& kind_row(OperationKind k) {
  return kOperationKinds[static_cast<std::size_t>(k)];
}
constexpr std::string_view to_string(OperationKind k) { return kind_row(k).name; }
/// Phase 1 of a run: collect, test or localise.
constexpr bool is_examination(OperationKind k) {
  return k == OperationKind::collect || k == OperationKind::test || k == OperationKind::localise;
}

/// Where an entry stands: for messages.
struct Place {
  std::string file;
  int line = 0, column = 0;
  std::string text() const;  ///< "FILE:LINE:COLUMN"
};

struct Component {  // O
  std::string name, description;
  Place place;
};
struct Characteristic {  // Z
  std::string name;
  ValueType type = ValueType::boolean;
  std::string unit;  ///< "B", "degC"; empty: none
  std::string description;
  Place place;
};
struct Condition {  // C; `when` is checked by expression.h
  std::string name, when, description;
  Place place;  ///< of the expression
};
/// How often a repair may run.
struct Budget {
  int runs = 0;
  std::chrono::seconds window{0};
};
/// The helper that an operation needs on another node while it runs.
struct PeerSpec {
  std::string runs;  ///< the operation that is run there
  std::string node;  ///< "": whichever sickbayd takes
};
struct OperationSpec {  // F
  std::string name;
  OperationKind kind = OperationKind::collect;
  std::string run;  ///< "builtin:NAME", or the file name of an executable of the operations folders
  std::vector<std::string> components, inputs;
  std::vector<std::pair<std::string, std::string>> outputs;  ///< its own name -> characteristic
  Json arguments = Json::object();
  std::string description;
  std::chrono::milliseconds timeout{5000};
  std::int64_t memory = std::int64_t{64} << 20;  ///< bytes
  std::int64_t output = std::int64_t{64} << 10;  ///< bytes of its answer
  std::optional<Budget> budget;                  ///< of repairs
  std::optional<bool> needs_idle;                ///< as the specification says; see needs_idle()
  std::optional<bool> active;                    ///< likewise; see is_active()
  std::optional<PeerSpec> peer = {};
  std::int64_t listens = 0;  ///< as a helper it is ready when something listens on this TCP port; 0: at once
  Place place;
};
/// Whether it changes the node: by its kind, and whatever its kind where it runs a built-in repair.
bool repairs(const OperationSpec& operation);
/// Whether it may run on a node without jobs only: what the specification says, else whether the built-in
/// operation that it runs stresses the node.
bool needs_idle(const OperationSpec& operation);
/// Whether it burdens its node, or what nodes share, so that it must not run on many nodes at once: what the
/// specification says, else whether it needs an idle node or a peer, or the built-in operation that it runs
/// stresses it.
bool is_active(const OperationSpec& operation);
struct ProductionSpec {  // P
  std::string name, condition, operation, description;
  Place place;
};
/// What a node is doing, for the choice of a period.
enum class NodeUse : std::uint8_t { any, idle, busy, maintenance };
std::string_view to_string(NodeUse use);
std::optional<NodeUse> parse_node_use(std::string_view name);
struct Period {  // I
  std::string name, description;
  std::chrono::minutes from{0}, to{24 * 60};  ///< of the day, local time; from > to: over midnight
  NodeUse node = NodeUse::any;
  std::chrono::seconds every{0};
  std::vector<std::pair<std::string, Value>> initial;  ///< characteristics: modes, permission to repair
  Place place;
};

struct Specification {
  std::string name, description;
  std::int64_t version = 0;
  std::vector<Component> components;
  std::vector<Characteristic> characteristics;
  std::vector<Condition> predicates;
  std::vector<OperationSpec> operations;
  std::vector<ProductionSpec> productions;
  std::vector<Period> periods;
};

/// The initial value, a bool, by which a period permits or forbids repairs.  A specification may read it, and
/// need not: the permission is by kind (Permits of run.h).
inline constexpr std::string_view kMayRepair = "repair";

/// Reserved outputs that the engine itself gives, where `outputs` maps them to a characteristic, a bool.
inline constexpr std::string_view kFaultOutput = "fault";               ///< the operation's result is fault
inline constexpr std::string_view kBudgetSpentOutput = "budget_spent";  ///< it was not run: budget used up
/// An integer: how often in a row, with this run, it could not be told; 0: it answered.
inline constexpr std::string_view kUnknownRunsOutput = "unknown_in_a_row";
/// Whether it is one of them.
constexpr bool is_reserved_output(std::string_view name) {
  return name == kFaultOutput || name == kBudgetSpentOutput || name == kUnknownRunsOutput;
}

inline constexpr std::size_t kMostSpecificationBytes = std::size_t{16} << 20;  ///< of one file
inline constexpr std::size_t kMostEntries = 100'000;                           ///< of one kind
inline constexpr std::size_t kMostName = 64;           ///< bytes of a name; names are ECMAScript identifiers
inline constexpr std::size_t kMostDescription = 1024;  ///< characters

struct SpecificationFile {
  std::string path, text;
};
/// The node for which files are chosen by their `nodes`.
struct NodeIdentity {
  std::string name;
  std::vector<std::string> features;
};

/// The specifications of a node out of all files that may matter, in their order (shipped first, then the
/// site's): by name; files whose `nodes` do not fit are left out, though checked.
/// Errors: bad_input: all that is wrong, a line with file:line:column for each fault, but for what follows
/// from another one (a name in a section that cannot be read).
Result<std::vector<Specification>> read_specifications(std::span<const SpecificationFile> files,
                                                       const NodeIdentity& node);

/// The whole as one JSON document of canonical form: equal specifications have equal texts.
Json to_json(const Specification& specification);
/// Sixteen hex digits over that text: tells nodes whose specifications differ.
std::string digest(const Specification& specification);

/// The mode that initial values are: a text, or of several bools that are true the deepest; "" for none.
std::string mode_of(const std::vector<std::pair<std::string, Value>>& initial);
/// The periods in which a node of this use is at this time of day: the first of each mode, in their order. So
/// the quick looks go on under deep ones, and one that is more special, and stands before, takes the place of
/// its like.
std::vector<const Period*> find_periods(const Specification& specification, std::chrono::minutes time_of_day,
                                        NodeUse use);
/// The first of them; null: none.
const Period* find_period(const Specification& specification, std::chrono::minutes time_of_day, NodeUse use);

/// The period that is meant where none is named: the only one, or the first of the quick mode; null: people
/// must say.
const Period* default_period(const Specification& specification);

/// The keys that the reader takes, for the test that the published schema has the same.
struct KeyRow {
  std::string_view section;  ///< "specification", "component", ...
  std::string_view key;
  bool required;  ///< in each entry
};
std::span<const KeyRow> specification_keys();

}  // namespace sickbay::diagnose
