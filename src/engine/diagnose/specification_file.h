// SPDX-License-Identifier: Apache-2.0
// One file of a specification: keys, types and bounds, not yet the names that lead to other entries, for
// these may stand in another file.  For specification_reader.cc; everybody else reads specification.h.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/diagnose/strict_json.h"

namespace sickbay::diagnose {

/// An entry as a file gives it; no value: `null`, the entry is removed.
template <class T>
struct LayerEntry {
  std::string name;
  std::optional<T> value;
  const Json* body = nullptr;  ///< for the places of what is in it
  bool faulty = false;         ///< something in it is wrong: only its name is to be relied on
};
template <class T>
using LayerEntries = std::vector<LayerEntry<T>>;

struct SpecificationLayer {
  std::shared_ptr<const SourceText> source;
  std::string name;
  std::optional<std::int64_t> version;
  std::optional<std::string> description;
  std::optional<std::vector<std::string>> nodes;     ///< only these, sorted
  std::optional<std::vector<std::string>> features;  ///< only nodes with one of these
  /// What the hardware of these nodes is expected to be: arguments of builtin:parts by their names; null
  /// takes one back.
  std::vector<std::pair<std::string, Json>> expects;
  const Json* expects_at = nullptr;
  LayerEntries<Component> components;
  LayerEntries<Characteristic> characteristics;
  LayerEntries<Condition> predicates;
  LayerEntries<OperationSpec> operations;
  LayerEntries<ProductionSpec> productions;
  LayerEntries<Period> periods;  ///< `initial` is read when the types are known
  bool lacks_names = false;      ///< a section could not be read: names that others lead to may be in it
};

/// The file, as far as it can be read; nothing where it is no JSON or does not say of which specification it
/// is. What is wrong with it, by file:line:column, is added to `faults`.
std::optional<SpecificationLayer> read_layer(const SpecificationFile& file, Faults& faults);

}  // namespace sickbay::diagnose
