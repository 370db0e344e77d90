// SPDX-License-Identifier: Apache-2.0
// One record of an accounting log, of any reader: a job's row or a step's, each field there or absent.
//
// A Row owns nothing: its texts point into the block that was read or into the Arena of the parse.  It is
// reused for the next record (clear() forgets all, touching two words), since millions of them pass through.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "workload/job/fields.h"

namespace sickbay::workload {

/// Some of the fields: those that a reader can tell, those that a table has.
struct FieldSet {
  std::uint64_t nums = 0, texts = 0;  ///< as Row::nums() and Row::texts()

  static constexpr std::uint64_t mask(Num f) { return std::uint64_t{1} << static_cast<int>(f); }
  static constexpr std::uint64_t mask(Text f) { return std::uint64_t{1} << static_cast<int>(f); }
  static constexpr FieldSet all() { return {~std::uint64_t{0}, ~std::uint64_t{0}}; }
  template <class... Fields>
  static constexpr FieldSet of(Fields... fields) {
    FieldSet set;
    (set.add(fields), ...);
    return set;
  }
  constexpr void add(Num f) { nums |= mask(f); }
  constexpr void add(Text f) { texts |= mask(f); }
  constexpr void add(const FieldSet& other) {
    nums |= other.nums;
    texts |= other.texts;
  }
  constexpr bool has(Num f) const { return (nums & mask(f)) != 0; }
  constexpr bool has(Text f) const { return (texts & mask(f)) != 0; }
  constexpr bool has_any(const FieldSet& other) const {
    return (nums & other.nums) != 0 || (texts & other.texts) != 0;
  }
  constexpr bool has_all(const FieldSet& other) const {
    return (other.nums & ~nums) == 0 && (other.texts & ~texts) == 0;
  }
};

enum class RowKind : std::uint8_t {
  job,
  step,     ///< "123.0"
  batch,    ///< "123.batch"
  extern_,  ///< "123.extern", "123.ext+"
  part,     ///< of a job of which another record tells more, as PBS writes them: S, T, D, A
  rerun,    ///< the end of a run of a job that runs again: PBS's R
  known,    ///< a job as an import before made it, where only that is left of its records
};

class Row {
 public:
  RowKind kind = RowKind::job;

  void clear() {
    nums_set_ = texts_set_ = 0;
    kind = RowKind::job;
  }
  void set(Num f, std::int64_t value) {
    nums_[at(f)] = value;
    nums_set_ |= mask(f);
  }
  void set(Text f, std::string_view value) {
    texts_[at(f)] = value;
    texts_set_ |= mask(f);
  }
  void drop(Num f) { nums_set_ &= ~mask(f); }
  void drop(Text f) { texts_set_ &= ~mask(f); }
  bool has(Num f) const { return (nums_set_ & mask(f)) != 0; }
  bool has(Text f) const { return (texts_set_ & mask(f)) != 0; }
  /// The value; 0 (or empty) when absent: ask has() where that matters.
  std::int64_t get(Num f) const { return has(f) ? nums_[at(f)] : 0; }
  std::string_view get(Text f) const { return has(f) ? texts_[at(f)] : std::string_view(); }
  std::optional<std::int64_t> find(Num f) const {
    return has(f) ? std::optional(nums_[at(f)]) : std::nullopt;
  }
  void add_bits(Num f, std::int64_t bits) { set(f, get(f) | bits); }
  /// One bit for each field that is there, by its number in its enum: to go over few of many fields.
  std::uint64_t nums() const { return nums_set_; }
  std::uint64_t texts() const { return texts_set_; }
  FieldSet fields() const { return {nums_set_, texts_set_}; }

 private:
  static constexpr std::size_t at(Num f) { return static_cast<std::size_t>(f); }
  static constexpr std::size_t at(Text f) { return static_cast<std::size_t>(f); }
  static constexpr std::uint64_t mask(Num f) { return FieldSet::mask(f); }
  static constexpr std::uint64_t mask(Text f) { return FieldSet::mask(f); }

  std::uint64_t nums_set_ = 0, texts_set_ = 0;
  std::int64_t nums_[kNums];
  std::string_view texts_[kTexts];
};

}  // namespace sickbay::workload
