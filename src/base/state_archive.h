// SPDX-License-Identifier: Apache-2.0
// State archive: the state of an engine as bytes, and back (doc/design/snapshot.md).
//
// One walk for both ways.  An aggregate says how many members it has (`kFields`), a class with private ones
// lists them in `walk()`; all else (numbers, texts, optionals, containers, JSON) is known here.  Who adds a
// member to an aggregate and forgets the number has an error of the compiler, so that nothing is left out in
// silence.  The bytes are for the very program that wrote them: they have no versions, and whoever keeps them
// must see to it that they come back whole (service/snapshot.h has a digest of them).  Nevertheless no bytes,
// whatever they are, do harm here: a reader that runs out of them says so, and gives no more.
#pragma once
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace sickbay {

namespace state_archive {

template <class T, template <class...> class Of>
inline constexpr bool is_a = false;
template <template <class...> class Of, class... Args>
inline constexpr bool is_a<Of<Args...>, Of> = true;

template <class T>
inline constexpr bool is_sequence = is_a<T, std::vector> || is_a<T, std::deque>;
template <class T>
inline constexpr bool is_map = is_a<T, std::map> || is_a<T, std::unordered_map>;
template <class T>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;
template <class T>
inline constexpr bool is_time_point = false;
template <class Clock, class Of>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, Of>> = true;

template <class T, class Archive>
concept Walks = requires(T& value, Archive& archive) {
  value.walk(archive);
};
template <class T>
concept Counted = requires {
  T::kFields;
};

// clang-format off
#define SB_1 a1
#define SB_2 SB_1, a2
#define SB_3 SB_2, a3
#define SB_4 SB_3, a4
#define SB_5 SB_4, a5
#define SB_6 SB_5, a6
#define SB_7 SB_6, a7
#define SB_8 SB_7, a8
#define SB_9 SB_8, a9
#define SB_10 SB_9, a10
#define SB_11 SB_10, a11
#define SB_12 SB_11, a12
#define SB_13 SB_12, a13
#define SB_14 SB_13, a14
#define SB_15 SB_14, a15
#define SB_16 SB_15, a16
#define SB_17 SB_16, a17
#define SB_18 SB_17, a18
#define SB_19 SB_18, a19
#define SB_20 SB_19, a20
#define SB_21 SB_20, a21
#define SB_22 SB_21, a22
#define SB_23 SB_22, a23
#define SB_24 SB_23, a24
#define SB_25 SB_24, a25
#define SB_26 SB_25, a26
#define SB_27 SB_26, a27
#define SB_28 SB_27, a28
#define SB_29 SB_28, a29
#define SB_30 SB_29, a30
#define SB_31 SB_30, a31
#define SB_32 SB_31, a32
#define SB_33 SB_32, a33
#define SB_34 SB_33, a34
#define SB_35 SB_34, a35
#define SB_36 SB_35, a36
#define SB_37 SB_36, a37
#define SB_38 SB_37, a38
#define SB_39 SB_38, a39
#define SB_40 SB_39, a40
// clang-format on

/// Calls `each` with all members of an aggregate.  A wrong T::kFields does not compile.
template <class T, class Each>
void with_members(T& value, Each&& each) {
  constexpr int n = std::remove_const_t<T>::kFields;
  static_assert(n >= 1 && n <= 40, "a line for each number of members is needed here, and a name above");
#define SB_CASE(N)          \
  if constexpr (n == N) {   \
    auto& [SB_##N] = value; \
    each(SB_##N);           \
  }
  // clang-format off
  SB_CASE(1) SB_CASE(2) SB_CASE(3) SB_CASE(4) SB_CASE(5) SB_CASE(6) SB_CASE(7) SB_CASE(8) SB_CASE(9) SB_CASE(10)
  SB_CASE(11) SB_CASE(12) SB_CASE(13) SB_CASE(14) SB_CASE(15) SB_CASE(16) SB_CASE(17) SB_CASE(18) SB_CASE(19)
  SB_CASE(20) SB_CASE(21) SB_CASE(22) SB_CASE(23) SB_CASE(24) SB_CASE(25) SB_CASE(26) SB_CASE(27) SB_CASE(28)
  SB_CASE(29) SB_CASE(30) SB_CASE(31) SB_CASE(32) SB_CASE(33) SB_CASE(34) SB_CASE(35) SB_CASE(36) SB_CASE(37)
  SB_CASE(38) SB_CASE(39) SB_CASE(40)
  // clang-format on
#undef SB_CASE
}

}  // namespace state_archive

class StateWriter {
 public:
  static constexpr bool kReads = false;

  /// Appends each of them.
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void put_number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<char>(number | 0x80));
    bytes_.push_back(static_cast<char>(number));
  }
  void put_json(const Json& json);

  template <class T>
  void put(const T& value) {
    using namespace state_archive;
    if constexpr (std::is_enum_v<T>) {
      put_number(static_cast<std::uint64_t>(static_cast<std::underlying_type_t<T>>(value)));
    } else if constexpr (std::is_same_v<T, double>) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      char raw[sizeof bits];
      std::memcpy(raw, &bits, sizeof bits);
      bytes_.append(raw, sizeof raw);
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        const auto wide = static_cast<std::int64_t>(value);  // small ones of both signs are short
        put_number((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
      } else {
        put_number(value);
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      put_number(value.size());
      bytes_ += value;
    } else if constexpr (std::is_same_v<T, Json>) {
      put_json(value);
    } else if constexpr (is_duration<T>) {
      put(value.count());
    } else if constexpr (is_time_point<T>) {
      put(value.time_since_epoch());
    } else if constexpr (is_a<T, std::optional>) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (is_a<T, std::pair>) {
      put(value.first);
      put(value.second);
    } else if constexpr (is_a<T, std::unordered_map>) {
      // Sorted, so that one state has one text of bytes.
      std::vector<const typename T::value_type*> rows;
      rows.reserve(value.size());
      for (const auto& row : value) rows.push_back(&row);
      std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->first < b->first; });
      put_number(rows.size());
      for (const auto* row : rows) put(*row);
    } else if constexpr (is_sequence<T> || is_a<T, std::set> || is_a<T, std::map>) {
      put_number(value.size());
      for (const auto& item : value) put(item);
    } else if constexpr (Walks<T, StateWriter>) {
      const_cast<T&>(value).walk(*this);  // which changes nothing: operator() takes them as they are
    } else {
      static_assert(Counted<T>, "give the struct its number of members (kFields), or the class a walk()");
      with_members(value, [this](const auto&... members) { (put(members), ...); });
    }
  }

  std::string bytes_;
};

class StateReader {
 public:
  static constexpr bool kReads = true;

  /// Of what a StateWriter gave; `bytes` must outlive it.
  explicit StateReader(std::string_view bytes) : left_(bytes) {}
  /// Reads nothing and leaves containers empty: what is restored from it is as it was made.
  static StateReader of_nothing() {
    StateReader none("");
    none.good_ = false;
    return none;
  }

  /// Reads each of them.  After a fault containers are left empty, and all else as it was.
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Nothing was wrong, so far.
  bool good() const { return good_; }
  /// That, and nothing is left.
  bool done() const { return good_ && left_.empty(); }

 private:
  static constexpr int kMostDepth = 200;  // of JSON; what the parser takes is far less

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  // How many items follow: each takes a byte at least, so that no wrong number makes us ask for memory.
  std::size_t count() {
    const std::uint64_t n = good_ ? number() : 0;
    if (n > left_.size()) good_ = false;
    return good_ ? static_cast<std::size_t>(n) : 0;
  }
  std::string_view raw(std::size_t size) {
    if (size > left_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }
  Json json(int depth);

  template <class T>
  void get(T& value) {
    using namespace state_archive;
    if constexpr (is_sequence<T>) {
      value.clear();
      const std::size_t n = count();
      for (std::size_t i = 0; i < n && good_; ++i) {
        typename T::value_type item{};
        get(item);
        value.push_back(std::move(item));
      }
    } else if constexpr (is_a<T, std::set>) {
      value.clear();
      const std::size_t n = count();
      for (std::size_t i = 0; i < n && good_; ++i) {
        typename T::value_type item{};
        get(item);
        value.insert(value.end(), std::move(item));
      }
    } else if constexpr (is_map<T>) {
      value.clear();
      const std::size_t n = count();
      for (std::size_t i = 0; i < n && good_; ++i) {
        typename T::key_type key{};
        get(key);
        typename T::mapped_type mapped{};
        get(mapped);
        value.emplace_hint(value.end(), std::move(key), std::move(mapped));
      }
    } else if constexpr (Walks<T, StateReader>) {
      value.walk(*this);
    } else if constexpr (Counted<T>) {
      with_members(value, [this](auto&... members) { (get(members), ...); });
    } else if (!good_) {
      return;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(static_cast<std::underlying_type_t<T>>(number()));
    } else if constexpr (std::is_same_v<T, double>) {
      std::uint64_t bits = 0;
      const std::string_view bytes = raw(sizeof bits);
      if (!good_) return;
      std::memcpy(&bits, bytes.data(), sizeof bits);
      value = std::bit_cast<double>(bits);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = number() != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const std::uint64_t n = number();
      if constexpr (std::is_signed_v<T>)
        value = static_cast<T>(static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1));
      else
        value = static_cast<T>(n);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = std::string(raw(count()));
    } else if constexpr (std::is_same_v<T, Json>) {
      value = json(0);
    } else if constexpr (is_duration<T>) {
      typename T::rep n{};
      get(n);
      value = T(n);
    } else if constexpr (is_time_point<T>) {
      typename T::duration since{};
      get(since);
      value = T(since);
    } else if constexpr (is_a<T, std::optional>) {
      bool there = false;
      get(there);
      value.reset();
      if (there && good_) get(value.emplace());
    } else {
      static_assert(is_a<T, std::pair>,
                    "give the struct its number of members (kFields), or the class a walk()");
      get(value.first);
      get(value.second);
    }
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace sickbay
